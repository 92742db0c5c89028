"""Which outputs are swept now, and what is truncated as the last resort."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_entries import UNSHOWN_NOTE_TOKENS
from helix_desktop.context.log.window_layout import (
    LogItem,
    SummaryBlock,
    crosses_edge,
    edges_of,
)
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.rewrites import caching
from helix_desktop.context.rewrites.caching import SweepCandidate, SweepPlan
from helix_desktop.context.rewrites.early_compaction import FoldPlan
from helix_desktop.context.summaries.legal_ranges import closed_positions
from helix_desktop.context.window.used_tokens import UsageGauge
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade


def plan_truncations(transcript: Transcript, tokens: int) -> list[FoldPlan]:
    """Return the ranges to leave out: the oldest closed steps that free these tokens of ours, else all.

    Summaries, pins, first and newest user message stay. Each ends at a closed position. The newest step
    stays: without it the agent would repeat it.
    """
    live = [entry for entry in transcript.window.entries() if isinstance(entry, LogItem | SummaryBlock)]
    preserved = _preserved_positions(live)
    end = _end_of_truncation(transcript, live, preserved, tokens)
    edges = edges_of(transcript.window.covers)
    stretches: list[list[LogItem | SummaryBlock]] = [[]]
    for position, entry in enumerate(live[:end]):
        if position in preserved:
            stretches.append([])
            continue
        if stretches[-1] and crosses_edge(stretches[-1][-1].upto, entry.upto, edges):
            stretches.append([])
        stretches[-1].append(entry)
    plans = [_truncation(transcript, entries) for entries in stretches if entries]
    return [plan for plan in plans if plan.gain > 0]


def _end_of_truncation(
    transcript: Transcript, entries: list[LogItem | SummaryBlock], preserved: set[int], tokens: int
) -> int:
    """Return the first closed position before which enough can be left out; else the last one."""
    freed = [
        0 if position in preserved else transcript.window.entry_tokens(entry) * _FREED_SHARE
        for position, entry in enumerate(entries)
    ]
    before = [0.0, *accumulate(freed)]
    closed = closed_positions(entries)
    return next((position for position in closed if before[position] >= tokens), max(closed, default=0))


def _preserved_positions(entries: list[LogItem | SummaryBlock]) -> set[int]:
    """Return the positions of handover and observations, and of the user's first and newest messages."""
    users = [
        n
        for n, entry in enumerate(entries)
        if isinstance(entry, LogItem) and isinstance(entry.event, UserSpoke)
    ]
    summaries = [
        n for n, entry in enumerate(entries) if isinstance(entry.event, HandoverMade | ObservationsMade)
    ]
    return {*summaries, *users[:1], *users[-1:]}


def _truncation(transcript: Transcript, entries: list[LogItem | SummaryBlock]) -> FoldPlan:
    first = entries[0]
    last = entries[-1]
    return FoldPlan(
        first.after, last.upto, sum(map(transcript.window.entry_tokens, entries)) - _NOTE_TOKENS, "truncate"
    )


_NOTE_TOKENS = 70  # tokens of the note that stands for what was left out
_FREED_SHARE = 0.6  # of what is left out: the user's words in the note take up to 3/8 of it


def sweep_due(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, is_cold: bool = False
) -> SweepPlan | None:
    """Return the sweep that pays off now, if any; with a cold provider cache each batch does."""
    ride = caching.sweep_with_rewrite(transcript, policy, gauge)
    return ride if ride is not None and sweep_pays_off(transcript, policy, ride, gauge, is_cold) else None


def sweep_pays_off(
    transcript: Transcript, policy: ContextPolicy, plan: SweepPlan, gauge: UsageGauge, is_cold: bool
) -> bool:
    """Return True if sweeping all candidates pays off now without another rewrite to share the cost.

    With a cold provider cache a batch waits for nothing. A smaller one saves nothing that can be measured,
    and often the next request brings the rest of the batch, and with it another rewrite.
    """
    is_free = is_cold and plan.saved >= policy.sweep_min
    return is_free or caching.pays_off(transcript, policy, plan, gauge)


def sweep_now(
    transcript: Transcript,
    policy: ContextPolicy,
    protected_steps: int = caching.MIN_PROTECTED_STEPS,
    tokens: int | None = None,
    restored: bool = True,
    last: bool = True,
) -> SweepPlan | None:
    """Return a sweep of all but the newest steps, or of what frees so many `tokens`, by our count, of them.

    What is superseded goes first, what the running turn works on last; else the oldest. Of the newest step's
    outputs as few as possible go: several that are too large together were asked for together. What the user
    brought back goes only if `restored`, the newest output only if `last`.
    """
    staying = set() if restored else set(transcript.rewrites.restored)
    if not last:
        staying.add(_newest_seq(transcript, ToolAnswered))
    closed = caching.closed_candidates(transcript, policy, protected_steps)
    candidates = [candidate for candidate in _with_notes(transcript, closed) if candidate.seq not in staying]
    candidates.sort(
        key=lambda candidate: (
            candidate.seq in transcript.in_work,
            candidate.seq not in transcript.superseded,
            candidate.seq,
        )
    )
    if tokens is not None:
        newest = [candidate for candidate in candidates if not candidate.waited_steps]
        candidates = [candidate for candidate in candidates if candidate.waited_steps]
        needed = tokens - sum(candidate.saving for candidate in candidates)
        while newest:
            enough = [candidate for candidate in newest if candidate.saving >= needed]
            largest = max(newest, key=lambda candidate: candidate.saving)
            chosen = min(enough, key=lambda candidate: candidate.saving, default=largest)
            newest.remove(chosen)
            candidates.append(chosen)
            needed -= chosen.saving
    return _first_that_free({candidate.seq: candidate.saving for candidate in candidates}, tokens)


def _with_notes(transcript: Transcript, candidates: Sequence[SweepCandidate]) -> list[SweepCandidate]:
    """Return what saves tokens even where the markers of outputs say that these were not shown."""
    not_sent = set(transcript.outputs_not_sent(candidate.seq for candidate in candidates))
    noted = [
        msgspec.structs.replace(candidate, saving=candidate.saving - UNSHOWN_NOTE_TOKENS)
        if candidate.seq in not_sent
        else candidate
        for candidate in candidates
    ]
    return [candidate for candidate in noted if candidate.saving > 0]


def sweep_newest_call(transcript: Transcript, policy: ContextPolicy) -> SweepPlan | None:
    """Return a sweep of what the newest calls were given, unless an older content would free more.

    They were carried out, and nothing before them has to be sent again.
    """
    call_seq = _newest_seq(transcript, AssistantSpoke)
    savings = {each.seq: each.saving for each in caching.closed_candidates(transcript, policy, 0)}
    largest = max((saving for seq, saving in savings.items() if seq <= call_seq), default=0)
    if call_seq in transcript.rewrites.restored or savings.get(call_seq) != largest:
        return None
    return SweepPlan((call_seq,), largest)


def _newest_seq(transcript: Transcript, kind: type[AssistantSpoke | ToolAnswered]) -> int:
    """Return the event of the newest message of a kind; 0: there is none."""
    items = transcript.messages.items
    return next((item.seq for item in reversed(items) if isinstance(item.event, kind)), 0)


def sweep_images(
    transcript: Transcript, include_newest: bool = False, tokens: int | None = None, restored: bool = True
) -> SweepPlan | None:
    """Return a sweep of the user's images, the oldest first; the newest message's with `include_newest`.

    Those that the user brought back go only if `restored`.
    """
    last = transcript.messages.user_items[-1].seq if transcript.messages.user_items else 0
    staying = set() if include_newest else {last}
    staying |= set() if restored else transcript.rewrites.restored
    images = [seq for seq in caching.image_messages(transcript) if seq not in staying]
    return _first_that_free({seq: caching.tokens_saved(transcript, (seq,)) for seq in images}, tokens)


_UNFIT_SHARE = 0.5  # of the room for messages: an older one over that leaves none for all others
_UNFIT_NEWEST_SHARE = 0.9  # the newest is what the user asks about: it is cut only where it cannot be sent


def sweep_unfitting(transcript: Transcript, room: int) -> SweepPlan | None:
    """Return a sweep of each message that has no place in `room` tokens, by our count; None: all have.

    Each is cut by itself, whatever it is: older ones need not leave for it. The newest step's outputs have
    forms of their own.
    """
    newest = transcript.messages.user_items[-1].seq if transcript.messages.user_items else 0
    swept: list[int] = []
    for entry in transcript.window.entries():
        if not isinstance(entry, LogItem) or isinstance(entry.event, AssistantSpoke):
            continue
        share = _UNFIT_NEWEST_SHARE if entry.seq >= newest else _UNFIT_SHARE
        if (
            transcript.window.entry_tokens(entry) > share * room
            and transcript.window.sweep_savings(entry) > 0
        ):
            swept.append(entry.seq)
    return SweepPlan(tuple(swept), caching.tokens_saved(transcript, tuple(swept))) if swept else None


def _first_that_free(savings: Mapping[int, int], tokens: int | None) -> SweepPlan | None:
    """Return the sweep of the first of these messages that free so many tokens together; None: of all."""
    swept = list[int]()
    saved = 0
    for seq, saving in savings.items():
        if tokens is not None and saved >= tokens:
            break
        swept.append(seq)
        saved += saving
    return SweepPlan(tuple(sorted(swept)), saved) if swept else None


def is_prompt_cache_cold(transcript: Transcript, policy: ContextPolicy, model: str, now_ms: int) -> bool:
    """Return True if the provider caches nothing of this conversation: idle too long, or another model."""
    if not transcript.messages.steps:
        return False
    idle = now_ms - transcript.last_answer_at_ms
    lifetime_s = transcript.cache_lifetime_s or policy.cache_ttl_s
    return model != transcript.last_model or idle > lifetime_s * 1000
