"""The newest events of a log that nobody has stored yet: what a crash left, or how an import ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from msgspec.structs import replace

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.store import Commit, Content

OnStored = Callable[[], Awaitable[object]]
"""Called once what is shown is stored: it may then leave the place that kept it."""


class ShownEvents:
    """To look at a session stores nothing: these are stored in one commit with the user's next act in it.

    Until then a draft, or the file history, keeps what they were made from.
    """

    def __init__(self) -> None:
        self.events: list[RecordedEvent] = []
        self.saved_at_ms = 0  # when the newest of what a crash left was saved
        self.contents: list[Content] = []
        self._recalls: list[str] = []
        self._on_stored: list[OnStored] = []

    def add(
        self,
        log: list[RecordedEvent],
        transcript: Transcript,
        events: Sequence[Event],
        now_ms: int,
        contents: Sequence[Content] = (),
        recalls: Sequence[str] = (),
    ) -> list[RecordedEvent]:
        """Append events to a log and its transcript, at the time at which the log or the draft ends."""
        at_ms = self.saved_at_ms or now_ms
        if log:
            at_ms = max(self.saved_at_ms, log[-1].at)
        first = transcript.last_seq + 1
        shown = [RecordedEvent(first + n, at_ms, event) for n, event in enumerate(events)]
        for recorded in shown:
            transcript.apply(recorded)
        log += shown
        self.events += shown
        self.contents += contents
        self._recalls += recalls
        return shown

    def call_when_stored(self, on_stored: OnStored) -> None:
        self._on_stored.append(on_stored)

    def before(self, commit: Commit) -> Commit:
        """Return a commit with what is shown before what it has; what was saved of an answer ends with it."""
        if not self.events:
            return commit
        return replace(
            commit,
            events=(*self.events, *commit.events),
            contents=(*self.contents, *commit.contents),
            recalls=(*self._recalls, *commit.recalls),
            ends_partial_answer=True,
        )

    async def end(self) -> tuple[RecordedEvent, ...]:
        """Note that all of it is stored, and return it."""
        stored = tuple(self.events)
        waiting = self._on_stored
        self.events = []
        self.contents = []
        self._recalls = []
        self._on_stored = []
        for on_stored in waiting:
            with suppress(HelixError):  # what stays there is seen to be stored
                await on_stored()
        return stored
