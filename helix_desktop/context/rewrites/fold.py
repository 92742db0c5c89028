"""Fold: old closed steps become one note, without a model and without loss."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.transcript import PINNED_LABEL_TOKENS, Transcript
from helix_desktop.context.log.window_layout import (
    LogItem,
    PinnedCopy,
    SummaryBlock,
    WindowEntry,
    crosses_edge,
    edges_of,
)
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.rewrites.sweep import CACHED_PRICE, REWRITE_PRICE, SweepPlan, tokens_resent
from helix_desktop.domain.events.rewrite import FoldKind, FoldMade
from helix_desktop.domain.events.session import ToolAnswered, UserSpoke

PHRASE_TOKENS = 8  # tokens that a call takes in a note, as measured on recorded sessions
HEADER_TOKENS = 60  # tokens of a note's first line


class FoldPlan(msgspec.Struct, frozen=True):
    """A stretch to fold: events behind `after`, up to and with `upto`, and about the tokens it frees."""

    after: int
    upto: int
    gain: int
    how: FoldKind = "fold"


class _Foldable(msgspec.Struct, frozen=True):
    """A message that may be folded, the tokens that frees, and the model calls it has waited."""

    item: LogItem
    gain: int
    waited_steps: int


def due_folds(
    transcript: Transcript,
    policy: ContextPolicy,
    sweep_plan: SweepPlan | None = None,
    rewritten_from_seq: int = 0,
    is_cold: bool = False,
    edges: Sequence[int] = (),
) -> list[FoldPlan]:
    """The stretches whose folding pays now, oldest first; empty while it does not.

    Folded are closed steps older than `fold_after_steps` calls and farther back than `protect_tokens`. The
    newest message of the person stays outside, so there may be two. Waiting costs rent, as for a sweep, and
    the sweep that would ride on the same rewrite (`riding`) helps to pay. From `sweeping` on (0: nothing) the
    request is written afresh anyway. No fold reaches across one of the `edges`, where observations will begin
    or end.
    """
    if not (policy.enabled and policy.fold_after_steps):
        return []
    runs = _foldable_runs(transcript, policy, edges)
    gain = sum(_run_gain(run) for run in runs)
    if not runs or gain < (policy.fold_least // 4 if is_cold else policy.fold_least):
        return []
    if not is_cold and not _pays_off(transcript, runs, gain, sweep_plan, rewritten_from_seq):
        return []
    return [FoldPlan(run[0].item.seq - 1, run[-1].item.seq, _run_gain(run)) for run in runs]


def _pays_off(
    transcript: Transcript,
    runs: list[list[_Foldable]],
    gain: int,
    sweep_plan: SweepPlan | None,
    rewritten_from_seq: int,
) -> bool:
    rent = CACHED_PRICE * sum(old.gain * old.waited_steps for run in runs for old in run)
    behind = tokens_resent(transcript, runs[0][0].item.seq) - gain
    if rewritten_from_seq:
        return rent >= REWRITE_PRICE * (behind - tokens_resent(transcript, rewritten_from_seq))
    if sweep_plan is not None:
        rent += sweep_plan.rent
        behind -= sweep_plan.saved
    return rent >= REWRITE_PRICE * behind


def _foldable_runs(
    transcript: Transcript, policy: ContextPolicy, edges: Sequence[int]
) -> list[list[_Foldable]]:
    """The stretches of old closed steps that stand raw in the window, split where something else stands."""
    newest = _newest_user_seq(transcript)
    stay = _undone_folds(transcript)
    edges = (*edges, *edges_of(transcript.covers))
    runs: list[list[_Foldable]] = [[]]
    for entry in _old_entries(transcript, policy):
        if not isinstance(entry, LogItem) or entry.seq == newest or _is_inside(entry.seq, stay):
            runs.append([])
        else:
            if edges and runs[-1] and crosses_edge(runs[-1][-1].item.seq, entry.seq, edges):
                runs.append([])
            runs[-1].append(_foldable(transcript, policy, entry))
    return [run for run in runs if run and _run_gain(run) > HEADER_TOKENS]


def _old_entries(transcript: Transcript, policy: ContextPolicy) -> list[WindowEntry]:
    """The entries before the protected tail, up to the end of a closed step."""
    last_step = transcript.steps - policy.fold_after_steps
    far = transcript.total_tokens - policy.protect_tokens
    live = transcript.window_entries()
    end = 0
    for position, entry in enumerate(live):
        if isinstance(entry, LogItem) and (entry.step > last_step or entry.cumulative_tokens > far):
            break
        following = live[position + 1] if position + 1 < len(live) else None
        if not (isinstance(following, LogItem) and isinstance(following.event, ToolAnswered)):
            end = position + 1
    return live[:end]


def _foldable(transcript: Transcript, policy: ContextPolicy, item: LogItem) -> _Foldable:
    by_distance = transcript.step_beyond(item, policy.protect_tokens) or transcript.steps
    since = max(item.step + policy.fold_after_steps, by_distance)
    return _Foldable(item, _item_gain(transcript, item), transcript.steps - since + 1)


def _newest_user_seq(transcript: Transcript) -> int:
    return transcript.user_items[-1].seq if transcript.user_items else 0


def _undone_folds(transcript: Transcript) -> list[FoldMade]:
    """Folds that the person undid: not made again by the program."""
    rewrites = transcript.rewrites
    return [one for seq in rewrites.undone if isinstance(one := rewrites.by_seq[seq], FoldMade)]


def _run_gain(run: Sequence[_Foldable]) -> int:
    """Tokens that folding these messages frees, about."""
    return sum(old.gain for old in run) - HEADER_TOKENS


def _item_gain(transcript: Transcript, item: LogItem) -> int:
    if isinstance(item.event, UserSpoke):
        return FRAMING_TOKENS
    if item.seq in transcript.rewrites.pinned:
        return -PINNED_LABEL_TOKENS
    line = PHRASE_TOKENS if isinstance(item.event, ToolAnswered) else 2
    return max(0, transcript.entry_tokens(item) - item.word_tokens - line)


def tokens_freed(transcript: Transcript, plan: FoldPlan, tokens: int) -> int:
    """Tokens that a note of so many tokens frees in the place of a stretch; pinned outputs stay beside it."""
    stood = 0
    for entry in transcript.window_entries():
        if isinstance(entry, LogItem) and plan.after < entry.seq <= plan.upto:
            pinned = entry.seq in transcript.rewrites.pinned
            stood += -PINNED_LABEL_TOKENS if pinned else transcript.entry_tokens(entry)
        elif isinstance(entry, SummaryBlock) and plan.after < entry.upto <= plan.upto:
            stood += transcript.entry_tokens(entry)
    return stood - tokens - FRAMING_TOKENS


def due_condensation(
    transcript: Transcript, policy: ContextPolicy, window: int, edges: Sequence[int] = ()
) -> FoldPlan | None:
    """The older notes to replace by one shorter note, when all notes outgrow their share of the window."""
    if not (policy.enabled and policy.fold_after_steps and policy.condense_at):
        return None
    newest = _newest_user_seq(transcript)
    notes = [
        one for one in transcript.window_entries() if is_fold_note(one) or _is_older_user_message(one, newest)
    ]
    while notes and isinstance(notes[-1], LogItem):
        notes.pop()
    cap = policy.condense_at * window
    if sum(transcript.entry_tokens(one) for one in notes) <= cap:
        return None
    kept, count = 0, len(notes)
    while count and kept + transcript.entry_tokens(notes[count - 1]) <= policy.condense_keep * cap:
        count -= 1
        kept += transcript.entry_tokens(notes[count])
    stay = [one for one in _undone_folds(transcript) if one.how == "condense"]
    old = {
        one.seq for one in notes[:count] if isinstance(one, SummaryBlock) and not _is_inside(one.upto, stay)
    }
    found = [
        _condensation(transcript, policy, segment, window) for segment in _segments(transcript, old, edges)
    ]
    best = max(found, key=lambda one: one.gain, default=None)
    return best if best is not None and best.gain >= policy.fold_least else None


def condensed_tokens(policy: ContextPolicy, window: int) -> int:
    """Tokens that the agent's own words may take in a condensed note."""
    return int(policy.condense_at * policy.condense_keep * 0.5 * window)


def _is_older_user_message(entry: WindowEntry, newest: int) -> bool:
    return isinstance(entry, LogItem) and isinstance(entry.event, UserSpoke) and entry.seq != newest


def _segments(
    transcript: Transcript, old: set[int], edges: Sequence[int]
) -> list[list[LogItem | SummaryBlock]]:
    """Stretches of these notes, with the messages between them that were too few for a note of their own."""
    newest, stay = _newest_user_seq(transcript), _undone_folds(transcript)
    edges = (*edges, *edges_of(transcript.covers))
    segments: list[list[LogItem | SummaryBlock]] = [[]]
    for entry in transcript.window_entries():
        if isinstance(entry, PinnedCopy):
            continue
        is_old = isinstance(entry, SummaryBlock) and entry.seq in old
        if not is_old and (
            isinstance(entry, SummaryBlock) or entry.seq == newest or _is_inside(entry.seq, stay)
        ):
            segments.append([])
            continue
        if segments[-1] and crosses_edge(segments[-1][-1].upto, entry.upto, edges):
            segments.append([])
        if is_old or segments[-1]:
            segments[-1].append(entry)
    for segment in segments:
        while segment and isinstance(segment[-1], LogItem):
            segment.pop()
    return [one for one in segments if one]


def _is_inside(seq: int, folds: Iterable[FoldMade]) -> bool:
    return any(one.after < seq <= one.upto for one in folds)


def _condensation(
    transcript: Transcript, policy: ContextPolicy, segment: list[LogItem | SummaryBlock], window: int
) -> FoldPlan:
    first, last = segment[0], segment[-1]
    assert isinstance(first, SummaryBlock)  # a segment begins and ends with a note
    assert isinstance(last, SummaryBlock)
    after, upto = first.after, last.upto
    said = [min(one.tokens, policy.condense_message) for one in transcript.users_between(after, upto)]
    new = min(sum(said), policy.user_text_tokens) + condensed_tokens(policy, window) + policy.ledger_tokens
    return FoldPlan(after, upto, sum(transcript.entry_tokens(one) for one in segment) - new, "condense")


def is_fold_note(entry: WindowEntry) -> bool:
    """Whether an entry is the note of a fold."""
    return isinstance(entry, SummaryBlock) and isinstance(entry.event, FoldMade)
