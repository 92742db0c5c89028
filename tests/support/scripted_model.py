"""A small real model with scripted answers, and a word counter, for tests of turns."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any

import msgspec

from helix_desktop.context.intake.output_forms import EXTRACT_OPENING as EXTRACT
from helix_desktop.context.intake.output_forms import FORMS_OPENING as QUESTION
from helix_desktop.context.summaries.observation import OBSERVE, REFINE
from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.context.summaries.summary_task import OPENING
from helix_desktop.context.window.side_question_text import SIDE_QUESTION_OPENING as SIDE_QUESTION
from helix_desktop.context.window.side_question_text import TITLE_OPENING
from helix_desktop.domain.messages import (
    ModelInfo,
    ModelRequest,
    ModelResponse,
    RetryScheduled,
    StreamItem,
    TextDelta,
    ToolCall,
)

ScriptedReply = Sequence[StreamItem | Exception | asyncio.Event]
"""What one call does, in order: yields arrivals, raises an error, waits for an event."""
Script = Callable[[ModelRequest], ScriptedReply]


class ScriptedModel:
    """Answers each request by its script, and records the requests.

    Handovers, observations (and reflections), intake questions, side questions and extracts have scripts of
    their own.
    """

    def __init__(
        self,
        script: Script,
        info: ModelInfo | None = None,
        summary_script: Script | None = None,
        observation_script: Script | None = None,
    ) -> None:
        self.info = info or ModelInfo("test", "scripted", window=8_000, reserve=400)
        self.script = script
        self.summary_script = summary_script or (lambda _: text_reply(SUMMARY))
        self.observation_script = observation_script or (lambda _: text_reply(OBSERVATIONS))
        self.question_script: Script = lambda _: text_reply("1: preview")
        self.side_script: Script = lambda _: text_reply("A side answer.")
        self.extract_script: Script = lambda _: text_reply("An extract.")
        self.title_script: Script = lambda _: text_reply("A title")
        self.requests: list[ModelRequest] = []
        self.title_requests: list[ModelRequest] = []
        self.summary_requests: list[ModelRequest] = []
        self.observation_requests: list[ModelRequest] = []
        self.question_requests: list[ModelRequest] = []
        self.extract_requests: list[ModelRequest] = []
        self.side_requests: list[ModelRequest] = []
        self.closed_streams = 0

    def _route(self, request: ModelRequest) -> tuple[list[ModelRequest], Script]:
        prompt = request.messages[-1].text if request.messages[-1].role == "user" else ""
        if prompt.startswith(TITLE_OPENING):
            return self.title_requests, self.title_script
        if prompt.startswith(OPENING):
            return self.summary_requests, self.summary_script
        if prompt.startswith((OBSERVE, REFINE)):
            return self.observation_requests, self.observation_script
        if prompt.startswith(QUESTION):
            return self.question_requests, self.question_script
        if prompt.startswith(SIDE_QUESTION):
            return self.side_requests, self.side_script
        if prompt.startswith(EXTRACT):
            return self.extract_requests, self.extract_script
        return self.requests, self.script

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        request_index, script = self._route(request)
        request_index.append(msgspec.structs.replace(request, report_state=None))
        try:
            for part in script(request):
                await asyncio.sleep(0)  # like a real stream, it yields to the loop before each piece
                if isinstance(part, Exception):
                    raise part
                if isinstance(part, asyncio.Event):
                    await part.wait()
                    continue
                yield part
        finally:
            self.closed_streams += 1


class SendingModel(ScriptedModel):
    """A model whose server has each request at once."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Report the request as sent and play its script."""
        assert request.report_state is not None
        await request.report_state("sent")
        async with aclosing(super().stream(request)) as items:
            async for item in items:
                yield item


class WordCounter:
    """Counts words, and at least one token for every twelve characters, without a thread."""

    async def count(self, texts: Sequence[str]) -> list[int]:
        await asyncio.sleep(0)
        return [max(len(text.split()), len(text) // 12) for text in texts]


def text_reply(text: str) -> ScriptedReply:
    """Return a text answer that arrives in pieces."""
    half = len(text) // 2
    return [TextDelta(text[:half]), TextDelta(text[half:]), ModelResponse(text)]


def tool_call_reply(
    *calls: tuple[str, dict[str, Any]], text: str = "", id_prefix: str = "c"
) -> ScriptedReply:
    """An answer that calls tools: names with arguments. Ids begin with `key`."""
    tool_calls = tuple(
        ToolCall(f"{id_prefix}{number}", name, json.dumps(arguments))
        for number, (name, arguments) in enumerate(calls)
    )
    pieces: list[StreamItem] = [TextDelta(text)] if text else []
    return [*pieces, ModelResponse(text, tool_calls, stop="calls")]


def replies_in_order(*replies: ScriptedReply) -> Script:
    """Play these, one per request; then say `Done.` for ever."""
    left = list(replies)
    return lambda _: left.pop(0) if left else text_reply("Done.")


def thinking_script(steps: int, word_count: int = 600) -> Script:
    """Return `steps` steps of a model that thinks aloud, which no sweep can shorten."""
    return replies_in_order(
        *(
            tool_call_reply(("say", {}), text=f"word{at} " * word_count, id_prefix=f"t{at}-")
            for at in range(steps)
        )
    )


def tool_result_texts(request: ModelRequest) -> list[str]:
    return [message.text for message in request.messages if message.role == "tool"]


_PATH = "/".join(["src", *(f"a-part-of-the-work-that-says-enough-of-it-{number}" for number in range(9))])
SUMMARY = "\n".join(
    [f"## {title}\n- A fact about {title.lower()} [e4]" for title in TITLES]
    + [f"- What was asked for is in {_PATH}/{number}.py [e3, e5]" for number in range(4)]
)
"""Long enough, and with the user's own message among its sources, so that it may stand for a long history."""
OBSERVATIONS = "- (1) The user wants it built; never touch main [e3]\n- (2) src/app.py was read [e4, e5]"
HALF_REPLY_THEN_RETRY: ScriptedReply = [
    TextDelta("half of"),
    RetryScheduled(1, 0.0, "The server closed the connection."),
]
