"""The demo model at work without the engine: a small loop, the real tools, markers for old outputs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from helix_desktop.agent.ports import Tools
from helix_desktop.context.intake.marker import marker
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.messages import Message, ModelRequest, ModelResponse, TextDelta, ToolCall
from helix_desktop.domain.text_format import first_line
from helix_desktop.providers.demo.model import DemoModel
from helix_desktop.services.samples import RecordedCommands, read_commands
from tests.support.tool_rig import MemoryCache, make_tools

DEMO_DIR = Path(__file__).parents[2] / "resources" / "demo"
DENIED = "The user did not allow this call. Do not repeat it; ask what to do instead, or go on without it."


def copy_sample_project(name: str, folder: Path) -> Path:
    return Path(shutil.copytree(DEMO_DIR / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")))


class DemoLoop:
    """Runs turns; all but the `recent_outputs` become markers if they are long.

    With `recorded`, the commands of the sample get what they printed when they were recorded.
    """

    def __init__(
        self,
        root: Path,
        recent_outputs: int = 1000,
        is_allowed: Callable[[ToolCall], bool] = lambda _: True,
        recorded: bool = False,
    ) -> None:
        self.model = DemoModel(DEMO_DIR, pause_s=0)
        self.cache = MemoryCache()
        self.messages: list[Message] = [Message("system", "You are an agent.")]
        self.calls: list[ToolCall] = []
        self._tools: Tools = make_tools(root, self.cache)
        if recorded:
            self._tools = RecordedCommands(self._tools, read_commands(DEMO_DIR, root.name), root)
        self._recent_outputs = recent_outputs
        self._is_allowed = is_allowed
        self._markers: dict[str, str] = {}

    async def run_turn(self, prompt: str) -> str:
        """Send a message; return the text that ends the turn."""
        self.messages.append(Message("user", prompt))
        while True:
            answer = await self.request_response()
            self.messages.append(Message("assistant", answer.text, answer.calls))
            if not answer.calls:
                return answer.text
            for call in answer.calls:
                self.calls.append(call)
                text = await self._run(call) if self._is_allowed(call) else DENIED
                self.messages.append(Message("tool", text, call_id=call.id, name=call.name))

    async def request_response(self) -> ModelResponse:
        """One request as it would be sent; checks that the pieces join to the answer."""
        request = ModelRequest(tuple(self._window()), self._tools.specs)
        pieces = [arrival async for arrival in self.model.stream(request)]
        answer = pieces.pop()
        assert isinstance(answer, ModelResponse)
        assert "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)) == answer.text
        return answer

    def _window(self) -> list[Message]:
        tools = [message.call_id for message in self.messages if message.role == "tool"]
        old = set(tools[: -self._recent_outputs])
        return [
            Message("tool", self._markers[message.call_id], call_id=message.call_id, name=message.name)
            if message.call_id in old and message.call_id in self._markers
            else message
            for message in self.messages
        ]

    async def _run(self, call: ToolCall) -> str:
        try:
            result = await self._tools.run(call)
        except ToolError as error:
            return str(error)
        text = result.content.decode(errors="replace")
        digest = result.recalled or await self.cache.put(result.content, call.name, result.target)
        if len(text) > 400:  # shorter ones would save nothing as markers
            self._markers[call.id] = marker(digest, call.name, result.target, len(text), first_line(text))
        return result.model_text or text
