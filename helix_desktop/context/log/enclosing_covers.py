"""Which rewrite of the context stands inside a wider one, whose messages it no longer changes; no Qt."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import Cover, build_covers
from helix_desktop.domain.events.rewrite import Excluded, FormChosen, SweepMade


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
