"""Which rewrite of the context stands inside a wider one, whose messages it no longer changes; no Qt."""

from __future__ import annotations

from collections.abc import Mapping

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import build_covers
from helix_desktop.domain.events.rewrite import Excluded, FormChosen, SweepMade


def covers_around(transcript: Transcript) -> Mapping[int, int]:
    """Return the handovers, facts and notes that hold inside a wider one, each with the seq of that one."""
    rewrites, active = transcript.rewrites, transcript.covers
    in_window = {cover.seq for cover in active}
    covers = build_covers(rewrites.active_handovers, rewrites.placed_observations, rewrites.active_folds)
    inner = (cover for cover in covers if cover.seq not in in_window)
    return {
        cover.seq: around
        for cover in inner
        if (around := next((c.seq for c in active if c.after < cover.upto and cover.after < c.upto), 0))
    }


def cover_around(transcript: Transcript, seq: int) -> int:
    """Return the rewrite that must be undone before the undo of `seq` changes a request; 0 for none."""
    match transcript.rewrites.by_seq.get(seq):
        case SweepMade(masked=targets) | Excluded(targets=targets, part=0):
            changed = targets
        case FormChosen(target=target):
            changed = (target,)
        case _:
            return covers_around(transcript).get(seq, 0)
    around = [next((c.seq for c in transcript.covers if c.after < at <= c.upto), 0) for at in changed]
    return around[0] if around and all(around) else 0
