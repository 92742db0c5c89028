"""Where a message stands in the window now: itself, as a marker, or inside something that stands for it."""

from __future__ import annotations

from bisect import bisect_left
from typing import Literal, TypeAlias

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import Cover
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.session import ToolAnswered
from helix_desktop.domain.events.summary import ObservationsMade

MessageState: TypeAlias = Literal[
    "in window", "cached", "folded", "left out", "observed", "handed over", "pinned"
]


class MessageStates:
    """Answers for one state of a transcript."""

    def __init__(self, transcript: Transcript) -> None:
        self._rewrites = transcript.rewrites
        self._covers = transcript.covers  # none overlaps another
        self._ends = [cover.upto for cover in self._covers]

    def state_of(self, seq: int) -> MessageState:
        """Where the message recorded as `seq` stands."""
        if seq in self._rewrites.pinned:
            return "pinned"
        cover = self.cover_of(seq)
        if cover is not None:
            return _state_of_cover(cover)
        return "cached" if seq in self._rewrites.masked else "in window"

    def cover_of(self, seq: int) -> Cover | None:
        """The rewrite in force that stands for a message, if there is one."""
        at = bisect_left(self._ends, seq)
        found = self._covers[at] if at < len(self._covers) else None
        if found is None or seq <= found.after or getattr(found.event, "kept", 0) == seq:
            return None
        return found


def is_in_full(seq: int, answer: ToolAnswered, transcript: Transcript) -> bool:
    """Whether an output that stands in the window stands there whole, and not as a preview or an extract."""
    chosen = transcript.rewrites.chosen_forms.get(seq)
    return (
        chosen.form == "full"
        if chosen is not None
        else answer.whole or (answer.form == "full" and bool(answer.recalled))
    )


def _state_of_cover(cover: Cover) -> MessageState:
    match cover.event:
        case FoldMade(how="truncate"):
            return "left out"
        case FoldMade():
            return "folded"
        case ObservationsMade():
            return "observed"
        case _:
            return "handed over"
