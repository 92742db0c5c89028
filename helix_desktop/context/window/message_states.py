"""The state of a message in the window now: shown, a marker, or covered; and what covers a rewrite."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import Cover, build_covers
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.rewrite import Excluded, FoldMade, FormChosen, SweepMade
from helix_desktop.domain.events.summary import ObservationsMade


def covers_around(transcript: Transcript) -> Mapping[int, int]:
    """Return the rewrites that hold inside a wider one, each with the seq of that one."""
    rewrites, active = transcript.rewrites, transcript.window.covers
    in_window = {cover.seq for cover in active}
    covers = build_covers(rewrites.active_handovers, rewrites.placed_observations, rewrites.active_folds)
    inner = (cover for cover in covers if cover.seq not in in_window)
    wide = {
        cover.seq: around
        for cover in inner
        if (around := next((c.seq for c in active if c.after < cover.upto and cover.after < c.upto), 0))
    }
    small = {seq: _cover_of_targets(rewrite, active) for seq, rewrite in rewrites.by_seq.items()}
    return wide | {seq: around for seq, around in small.items() if around and rewrites.is_active(seq)}


def _cover_of_targets(rewrite: object, covers: Sequence[Cover]) -> int:
    """Return the first cover of the messages that a rewrite changed, 0 unless all of them are covered."""
    match rewrite:
        case SweepMade(masked=targets) | Excluded(targets=targets, part=0):
            changed = targets
        case FormChosen(target=target):
            changed = (target,)
        case _:
            return 0
    around = [_cover_of(seq, covers) for seq in changed]
    return around[0] if around and all(around) else 0


def _cover_of(seq: int, covers: Sequence[Cover]) -> int:
    """Return which of the covers, in log order, stands for a message; 0 for none."""
    at = bisect_left(covers, seq, key=lambda cover: cover.upto)
    return covers[at].seq if at < len(covers) and covers[at].after < seq else 0


MessageState: TypeAlias = Literal[
    "in_window", "cached", "excluded", "folded", "left_out", "observed", "handed_over", "pinned"
]


class MessageStates:
    """The message states for one state of a transcript."""

    def __init__(self, transcript: Transcript) -> None:
        self._rewrites = transcript.rewrites
        self._covers = transcript.window.covers  # none overlaps another
        self._ends = [cover.upto for cover in self._covers]

    def state_of(self, seq: int) -> MessageState:
        """Return the state of the message recorded as `seq`."""
        if seq in self._rewrites.pinned:
            return "pinned"
        cover = self.cover_of(seq)
        if cover is not None:
            return _state_of_cover(cover)
        if seq in self._rewrites.excluded:
            return "excluded"
        return "cached" if seq in self._rewrites.masked else "in_window"

    def cover_of(self, seq: int) -> Cover | None:
        """Return the active rewrite that covers a message, if any."""
        index = bisect_left(self._ends, seq)
        cover = self._covers[index] if index < len(self._covers) else None
        if cover is None or seq <= cover.after or getattr(cover.event, "kept", 0) == seq:
            return None
        return cover


def is_in_full(seq: int, output: ToolAnswered, transcript: Transcript) -> bool:
    """Return True if an output in the window is shown in full, not as a preview, an extract or some lines."""
    chosen_form = transcript.rewrites.chosen_forms.get(seq)
    if chosen_form is not None:
        return chosen_form.form == "full"
    return output.whole or (output.form == "full" and _is_recalled_in_full(output))


def _is_recalled_in_full(output: ToolAnswered) -> bool:
    """Return True if a recall shows a whole content, below its heading, or as an image."""
    if not output.recalled or output.images:
        return bool(output.recalled)
    content = output.text.partition("\n")[2]  # lines of a part have numbers: they may be longer than all
    return digest_of(content.encode("utf-8", "surrogatepass")) == output.recalled


def _state_of_cover(cover: Cover) -> MessageState:
    match cover.event:
        case FoldMade(how="truncate"):
            return "left_out"
        case FoldMade():
            return "folded"
        case ObservationsMade():
            return "observed"
        case _:
            return "handed_over"
