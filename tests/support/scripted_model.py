"""A small real model that answers by a script, and a counter of words: what turns are tested with."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from helix_desktop.context.distil import OBSERVE, REFINE
from helix_desktop.context.errors import ModelError
from helix_desktop.context.event import SECTIONS
from helix_desktop.context.message import Answer, Arrival, ModelInfo, Request, Retrying, TextArrived, ToolCall
from helix_desktop.context.summary import OPENING

Play = Sequence[Arrival | ModelError | asyncio.Event]
"""What one call does, in order: yields arrivals, raises an error, waits for an event."""
Script = Callable[[Request], Play]


class ScriptedModel:
    """Answers each request by its script, and keeps the requests.

    Handovers have a script of their own, and so have observations and reflections.
    """

    def __init__(
        self,
        script: Script,
        info: ModelInfo | None = None,
        summary: Script | None = None,
        observing: Script | None = None,
    ) -> None:
        self.info = info or ModelInfo("test", "scripted", window=8_000, reserve=400)
        self.script, self.summary = script, summary or (lambda _: said(SUMMARY))
        self.observing = observing or (lambda _: said(OBSERVATIONS))
        self.requests: list[Request] = []
        self.summary_requests: list[Request] = []
        self.observing_requests: list[Request] = []
        self.closed = 0

    async def stream(self, request: Request) -> AsyncGenerator[Arrival, None]:
        """Play the script for this request."""
        try:
            for part in self._play(request):
                await asyncio.sleep(0)  # as a real stream, it gives way before each piece
                if isinstance(part, ModelError):
                    raise part
                if isinstance(part, asyncio.Event):
                    await part.wait()
                    continue
                yield part
        finally:
            self.closed += 1

    def _play(self, request: Request) -> Play:
        asked = request.messages[-1].text
        if asked.startswith(OPENING):
            self.summary_requests.append(request)
            return self.summary(request)
        if asked.startswith((OBSERVE, REFINE)):
            self.observing_requests.append(request)
            return self.observing(request)
        self.requests.append(request)
        return self.script(request)


class WordCounter:
    """Counts words, and at least one token for every twelve characters, off nobody's thread."""

    async def count(self, texts: Sequence[str]) -> list[int]:
        """The words of each text."""
        await asyncio.sleep(0)
        return [max(len(text.split()), len(text) // 12) for text in texts]


def said(text: str) -> Play:
    """An answer in words, arriving in pieces."""
    half = len(text) // 2
    return [TextArrived(text[:half]), TextArrived(text[half:]), Answer(text)]


def called(*calls: tuple[str, dict[str, Any]], text: str = "", key: str = "c") -> Play:
    """An answer that calls tools: names with arguments. Ids begin with `key`."""
    made = tuple(
        ToolCall(f"{key}{number}", name, json.dumps(given)) for number, (name, given) in enumerate(calls)
    )
    pieces: list[Arrival] = [TextArrived(text)] if text else []
    return [*pieces, Answer(text, made, stop="calls")]


def in_turn(*plays: Play) -> Script:
    """Play these, one per request; then say `Done.` for ever."""
    left = list(plays)
    return lambda _: left.pop(0) if left else said("Done.")


def answers_of(request: Request) -> list[str]:
    """The texts of the tools' answers in a request, in order."""
    return [message.text for message in request.messages if message.role == "tool"]


SUMMARY = "\n".join(f"## {title}\n- A fact about {title.lower()} [e4]" for title in SECTIONS)
OBSERVATIONS = "- (1) The user wants it built [e3]\n- (2) src/app.py was read [e4, e5]"
VOIDED: Play = [TextArrived("half of"), Retrying(1, 0.0, "The server closed the connection.")]
