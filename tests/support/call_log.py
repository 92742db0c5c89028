"""A log of calls as any agent makes them, applied event by event."""

from __future__ import annotations

import json
from collections.abc import Mapping

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import AssistantSpoke, SweptCall, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.messages import ToolCall


class CallLog:
    """A log that is written call by call; the transcript is applied event by event."""

    def __init__(self) -> None:
        self.events: list[RecordedEvent] = []
        self.transcript = Transcript()
        self.add(UserSpoke("go", 1))

    def add(self, event: Event) -> int:
        """Record an event; return its seq."""
        recorded = RecordedEvent(len(self.events) + 1, 0, event)
        self.events.append(recorded)
        self.transcript = self.transcript.fork()
        self.transcript.apply(recorded)
        return recorded.seq

    def call(
        self,
        tool: str,
        output: str = "",
        ok: bool = True,
        whole: bool = True,
        recalled: str = "",
        **args: object,
    ) -> int:
        """Record a step with one call and its output; return the output's seq."""
        return self.calls((tool, args), output=output, ok=ok, whole=whole, recalled=recalled)

    def calls(
        self,
        *calls: tuple[str, Mapping[str, object]],
        output: str = "",
        ok: bool = True,
        whole: bool = True,
        recalled: str = "",
    ) -> int:
        """Record a step with these calls and their outputs; return the last output's seq.

        Arguments over 40 characters can be markers. `recalled` is the digest of a content that they recall.
        """
        tool_calls = [ToolCall(f"c{n}", tool, json.dumps(args)) for n, (tool, args) in enumerate(calls)]
        short = tuple(
            SweptCall(call.id, "{}", (digest_of(call.arguments.encode()),), (1,))
            for call in tool_calls
            if len(call.arguments) > 40
        )
        short_tokens = 1 if short else 0
        seq = self.add(AssistantSpoke("", "m", 1, tuple(tool_calls), short=short, short_tokens=short_tokens))
        for call in tool_calls:
            text = output or f"output {seq} {call.id}"
            seq = self.add(
                ToolAnswered(
                    call.id, call.name, text, digest_of(text.encode()), len(text), 1, 1,
                    first_line=text.split("\n")[0], ok=ok, whole=whole, recalled=recalled,
                    form="full" if whole else "preview",
                )
            )  # fmt: skip
        return seq

    @property
    def superseded(self) -> dict[int, int]:
        return dict(self.transcript.superseded)
