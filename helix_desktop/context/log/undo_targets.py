"""What undo and redo of the context change: the newest change, what goes together, what is refused."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence

from helix_desktop.context.log.rewrite_state import Undoable
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import Cover, PinnedCopy, active_covers, build_covers, cover_over
from helix_desktop.domain.errors import CompactionRefused
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import (
    ATTACHED_SWEEP_REASONS,
    Excluded,
    FormChosen,
    Pinned,
    SweepMade,
    Undone,
    Unpinned,
)
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade
from helix_desktop.domain.translatable_text import TextContext, TranslatableText

_text = TextContext("Session")


def covers_around(transcript: Transcript) -> Mapping[int, int]:
    """Return the rewrites that stand, or would stand if redone, inside a wider one, each with its seq.

    Not what changed a message or a summary that stands in the window, wherever its own event lies.
    """
    rewrites = transcript.rewrites
    active = transcript.window.covers
    covers = build_covers(rewrites.handovers, rewrites.placements, rewrites.folds)
    candidates = [cover for cover in covers if rewrites.is_active(cover.seq)]
    in_window = {cover.seq for cover in active}
    wide: dict[int, int] = {}
    for inner in covers:
        if inner.seq in in_window:
            continue
        if inner.seq in rewrites.undone:
            replaced = inner.event.replaces if isinstance(inner.event, HandoverMade) else ()
            others = [cover for cover in candidates if cover.seq not in replaced]
            outer = cover_over(inner, active_covers(others) if replaced else active, others)
        else:
            outer = next((c.seq for c in active if c.after < inner.upto and inner.after < c.upto), 0)
        if outer:
            wide[inner.seq] = outer
    shown = {entry.seq for entry in transcript.window.entries() if not isinstance(entry, PinnedCopy)}
    around = dict.fromkeys(shown | in_window, 0) | wide
    for seq, rewrite in rewrites.by_seq.items():
        match rewrite:
            case SweepMade(swept=targets) | Excluded(targets=targets, part=0):
                changed = targets
            case FormChosen(target=target) if target not in rewrites.pinned:
                changed = (target,)
            case _:
                continue
        outers = [around[target] if target in around else _cover_of(target, active) for target in changed]
        if outers and all(outers):
            wide[seq] = outers[0]
    return wide


def _cover_of(seq: int, covers: Sequence[Cover]) -> int:
    """Return which of the covers, in log order, stands for a message; 0 for none."""
    at = bisect_left(covers, seq, key=lambda cover: cover.upto)
    return covers[at].seq if at < len(covers) and covers[at].after < seq else 0


def seqs_to_undo(transcript: Transcript, seqs: Sequence[int]) -> list[int]:
    """Return which of these rewrites an undo takes back, the last first.

    Raise CompactionRefused where all stand inside a wider one: that one has to be undone first. Also where
    none of them is a change that holds or was undone.
    """
    active = [seq for seq in reversed(seqs) if transcript.can_undo(seq)]
    what = _text("Nothing to undo here.")
    _refuse_covered(transcript, active, what)
    if not active and transcript.rewrites.undone.keys().isdisjoint(seqs):
        why = _text("The context doesn't contain this change anymore.")
        raise CompactionRefused(what, why, _text("The timeline lists the changes that you can undo."))
    return active


def seqs_to_redo(transcript: Transcript, seqs: Sequence[int]) -> list[int]:
    """Return what a redo of these rewrites lets hold again: for a sweep, the rewrite that it fell with.

    Raise CompactionRefused where all stand inside a wider one, as no request would change.
    """
    _refuse_covered(transcript, seqs, _text("Nothing to redo here."))
    can_redo = transcript.can_redo
    recorded_with = transcript.rewrites.recorded_with
    targets = (seq if can_redo(seq) else recorded_with(seq) for seq in seqs)
    return [target for target in targets if can_redo(target)]


def _refuse_covered(transcript: Transcript, seqs: Sequence[int], what: TranslatableText) -> None:
    if seqs and covers_around(transcript).keys() >= set(seqs):
        raise CompactionRefused(
            what,
            _text("A later compaction covers this part of the conversation."),
            _text("Undo the later one first."),
        )


def has_change(transcript: Transcript) -> bool:
    """Return True if undo has something to take back; read at each change, so nothing is compared for it."""
    rewrites = transcript.rewrites
    return bool(rewrites.pinned) or any(
        transcript.can_undo(seq) and not _is_attached(rewrite)
        for seq, rewrite in reversed(rewrites.by_seq.items())
    )


def has_undone(transcript: Transcript) -> bool:
    rewrites = transcript.rewrites
    return bool(rewrites.unpinned) or any(map(transcript.can_redo, rewrites.undone))


def sweep_of_one(transcript: Transcript, seq: int) -> int:
    """Return the sweep whose undo alone sends a message in full again, 0 for none."""
    rewrites = transcript.rewrites
    item = transcript.messages.item(seq)
    shown = rewrites.chosen_forms.get(seq) or (item.event if item is not None else None)
    is_part = isinstance(shown, ToolAnswered | FormChosen) and shown.form != "full"
    if seq not in rewrites.swept or is_part:
        return 0
    alone = [at for at, sweep in rewrites.sweeps.items() if sweep.swept == (seq,)]
    return max(filter(transcript.can_undo, alone), default=0)


def summaries_of_block(transcript: Transcript, seq: int) -> tuple[int, ...]:
    """Return the summaries that stand as one message with a summary: that one, or all observations."""
    covers = transcript.window.covers
    observed = tuple(cover.seq for cover in covers if isinstance(cover.event, ObservationsMade))
    return observed if seq in observed else (seq,)


def last_change(transcript: Transcript) -> int:
    """Return the newest change of the context that can be undone, 0 for none.

    A sweep that was recorded with another rewrite does not count: it is undone with that one. Nor does what
    stands inside a wider rewrite: its undo would change no request.
    """
    inside = covers_around(transcript)
    active_seqs = (
        seq
        for seq, rewrite in reversed(transcript.rewrites.by_seq.items())
        if not _is_attached(rewrite) and transcript.can_undo(seq) and seq not in inside
    )
    return next(active_seqs, 0)


def _is_attached(rewrite: Undoable) -> bool:
    """Return True for a sweep that was recorded with another rewrite, and is undone with it."""
    return isinstance(rewrite, SweepMade) and rewrite.reason in ATTACHED_SWEEP_REASONS


def newest_change(
    log: Sequence[RecordedEvent], kind: type[Undone | Pinned | Unpinned], counts: Callable[[int], bool]
) -> tuple[int, int]:
    """Return the newest event of a kind whose target `counts`, and that target; zeros for none."""
    for entry in reversed(log):
        if isinstance(entry.event, kind) and counts(entry.event.target):
            return entry.seq, entry.event.target
    return 0, 0
