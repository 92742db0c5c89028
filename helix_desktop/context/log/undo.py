"""What undo and redo can change: which rewrites stand inside a wider one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import Cover, build_covers, cover_over
from helix_desktop.domain.events.rewrite import Excluded, FormChosen, SweepMade


def covers_around(transcript: Transcript) -> Mapping[int, int]:
    """Return the rewrites that stand, or would stand if redone, inside a wider one, each with its seq."""
    rewrites, active = transcript.rewrites, transcript.window.covers
    covers = build_covers(rewrites.handovers, rewrites.placements, rewrites.folds)
    candidates = [cover for cover in covers if rewrites.is_active(cover.seq)]
    in_window = {cover.seq for cover in active}
    wide: dict[int, int] = {}
    for inner in covers:
        if inner.seq in in_window:
            continue
        if inner.seq in rewrites.undone:
            outer = cover_over(inner, active, candidates)
        else:
            outer = next((c.seq for c in active if c.after < inner.upto and inner.after < c.upto), 0)
        if outer:
            wide[inner.seq] = outer
    small = {seq: _cover_of_targets(rewrite, active) for seq, rewrite in rewrites.by_seq.items()}
    return wide | {seq: around for seq, around in small.items() if around}


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
