"""Tools whose calls change files in memory, and a conversation with a history of these files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from helix_desktop.agent.change_recorder import record_unrecorded
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.question import Question
from helix_desktop.domain.tools import ApprovalRequest, OutputCallback, ToolResult, ignore_output
from tests.support.agent_rig import AgentRig, ScriptedTools
from tests.support.memory_file_history import MemoryFileHistory
from tests.support.memory_files import MemoryFiles
from tests.support.scripted_model import ScriptedModel, replies_in_order, text_reply, tool_call_reply


def writes(then: str = "", kind: str = "command", **files: str | None) -> tuple[str, dict[str, Any]]:
    """Return a call that writes `a_txt="text"` into `a.txt`, or removes it (None); then waits or fails."""
    texts = {name.replace("_", "."): text for name, text in files.items()}
    subject = next(iter(texts), "")
    name = "edit" if kind == "edit" else "ask"
    return name, {"kind": kind, "subject": subject, "path": subject, "files": texts, "then": then}


def reads(path: str) -> tuple[str, dict[str, Any]]:
    return "read", {"path": path, "text": f"the text of {path}"}


class ChangingTools(ScriptedTools):
    """The scripted tools, of which `ask` changes files."""

    files: MemoryFiles

    async def approval(self, call: ToolCall) -> ApprovalRequest | Question | None:
        """Return what is asked: of an edit as of `ask`."""
        return self.approval_request(call) if call.name == "edit" else await super().approval(call)

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        arguments = json.loads(call.arguments)
        for path, text in arguments.get("files", {}).items():
            if text is not None:
                self.files.write(path, text.encode())
            elif self.files.read(path) is not None:
                self.files.remove(path)
        match arguments.get("then"):
            case "wait":
                await self._wait(call)
            case "fail":
                raise ToolError("It broke off.")
            case "crash":
                raise ZeroDivisionError("division by zero")
        result = await super().run(call, on_output)
        is_read = call.name == "read"
        is_edit = arguments.get("kind") == "edit"
        if is_read or is_edit:
            version = self.files.version(arguments["path"])
            return msgspec.structs.replace(result, files=(version,), target=version.path)
        return result


class ChangesRig(AgentRig):
    """A conversation whose calls change files; `history` has seen `a.txt` and `b.txt`."""

    history: MemoryFileHistory

    def __init__(self, *turns: Sequence[tuple[str, dict[str, Any]]]) -> None:
        """Each turn makes its calls, one a step, and then says that it is done."""
        tools = ChangingTools()
        replies = []
        for number, calls in enumerate(turns):
            replies += [
                tool_call_reply(call, id_prefix=f"t{number}s{step}_") for step, call in enumerate(calls)
            ]
            replies.append(text_reply("done"))
        model = ScriptedModel(replies_in_order(*replies))
        super().__init__(model, approver=FixedApprover("once"), tools=tools, has_history=True)
        tools.files = self.files

    async def start(self) -> None:
        """Begin, with two files there."""
        self.files.write("a.txt", b"one\ntwo\n")
        self.files.write("b.txt", b"b\n")
        await self.history.start()
        await self.begin()

    async def run(self, text: str = "Go.") -> None:
        """Run a turn to its end; what it found is on record."""
        assert (await self.conversation.run(text)).how == "done"
        await record_unrecorded(self.conversation.session, self.history)

    @property
    def recorded(self) -> list[ChangesRecorded]:
        return self.events(ChangesRecorded)


async def started(*turns: Sequence[tuple[str, dict[str, Any]]]) -> ChangesRig:
    """Return a conversation that has begun, with two files there."""
    rig = ChangesRig(*turns)
    await rig.start()
    return rig
