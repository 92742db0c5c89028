"""Whether the conversation is compacted now, a checkpoint or observations are due, and if not, why."""

from __future__ import annotations

from typing import Literal

import msgspec

from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_entries import PINNED_LABEL_TOKENS
from helix_desktop.context.log.window_layout import AddedInstructions, LogItem, newest_instructions
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.summaries import observation
from helix_desktop.context.summaries.handover import (
    newest_checkpoint,
    newest_turn_words,
    user_text_budget,
    user_text_tokens,
)
from helix_desktop.context.summaries.legal_ranges import HandoverRange, furthest_range
from helix_desktop.context.summaries.observation import EventRange
from helix_desktop.context.window.used_tokens import USUAL_STEPS_TOKENS, UsageGauge
from helix_desktop.context.window.window import handover_tokens
from helix_desktop.domain.cost import BackgroundWork
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import NO_MODEL, HandoverMade

BREAKER_FAILURES = 3  # failures in a row after which only the user can start a handover (invariant 6)
MAX_REPLACEMENTS = 3  # tries to have a model write again what was made without one
LAST_TRY = BREAKER_FAILURES - 1  # failures after which a fallback without a model is taken
_MAX_DOUBLINGS = 2  # the cooldown doubles twice at most
SUMMARY_TOKENS = 1_200  # what the sections and the index line are taken to need
OBSERVATION_TOKENS = 1_200  # the same of observations: sixty facts at most
_NEW_TOKENS = 10_000  # of history after a failed writing before a model reads what that one had read
_NEW_SHARE = 0.08  # of the window: enough where that is less, so that small windows get a second try
_REFINED_SHARE = 0.5  # of observations that refining frees, at least: the prompt asks for half


CompactionState = Literal[
    "off", "hold", "room", "full", "facts", "gave_up", "waiting", "failed", "too_little", "due"
]


class CompactionOutlook(msgspec.Struct, frozen=True):
    """Whether a handover is due before the next request, and if not why; the one judgment of it.

    `off`: the policy makes none; `hold`: the user stopped it; `room`: the window is below the threshold;
    `full`: room is made at once, without a model; `facts`: observations make the room; `gave_up`: failures in
    a row opened the breaker; `waiting`: the cooldown since the last one, `pause_ms`, runs; `failed`: the last
    one failed, and little came after what it had read; `too_little`: it
    would free `freed` tokens and has to free `least`, as the provider counts them (`freed` is None with too
    few messages to cover); `due`: up to `range`.
    """

    state: CompactionState
    pause_ms: int = 0
    freed: int | None = None
    least: float = 0
    range: HandoverRange | None = None

    @property
    def is_coming(self) -> bool:
        """True if the conversation is compacted by itself with what it holds now, at once or later."""
        return self.state in ("full", "facts", "waiting", "failed", "due")


NO_COMPACTION = CompactionOutlook("off")


def compaction_outlook(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, now_ms: int
) -> CompactionOutlook:
    if not policy.enabled:
        return NO_COMPACTION
    if must_make_room(transcript, policy, gauge):
        return CompactionOutlook("full")
    if transcript.on_hold or not gauge.is_due:
        return CompactionOutlook("hold" if transcript.on_hold else "room")
    # A handover here dropped facts that were just short of being put in place.
    if observation_relief(transcript, policy, gauge, now_ms) is not None:
        return CompactionOutlook("facts")
    return _handover_outlook(transcript, policy, gauge, now_ms)


def must_make_room(transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge) -> bool:
    """Return True if the next request is not sent before room is made for it.

    On hold nothing is freed while it fits: that is where undoing a rewrite leads.
    """
    return policy.enabled and (not gauge.fits or (gauge.is_full and not transcript.on_hold))


def is_unsent_import(transcript: Transcript) -> bool:
    """Return True for another agent's session to which no model of this app has answered."""
    answers = (item.event for item in reversed(transcript.messages.items))
    newest = next((event for event in answers if isinstance(event, AssistantSpoke)), None)
    return newest is not None and bool(newest.agent)


def handover_due(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, now_ms: int
) -> HandoverRange | None:
    """Return where the handover to make now ends, if one is due; `now_ms` in milliseconds.

    Its trigger is due; no failures in a row hold it up; the cooldown since the last one has passed, doubled
    per failure; the range has enough: closed messages, and tokens that it frees. That none is being
    written the caller checks.
    """
    if not policy.enabled or not gauge.is_due or gauge.is_full:
        return None
    return _handover_outlook(transcript, policy, gauge, now_ms).range


def _handover_outlook(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, now_ms: int
) -> CompactionOutlook:
    if is_breaker_open(transcript):
        return CompactionOutlook("gave_up")
    waited = now_ms - transcript.last_compaction_at_ms
    cooldown = cooldown_ms(transcript, policy)
    is_waiting = 0 <= waited < cooldown  # below 0 the clock was set back: the wait is unknown
    if is_waiting and not _fills_soon(transcript, gauge):
        return CompactionOutlook("waiting", cooldown)
    if not _has_new_history(transcript, "handover", _least_new_tokens(gauge)):
        return CompactionOutlook("failed")
    range_ = _furthest_range(transcript, policy, gauge)
    if range_ is None or range_.messages < policy.handover_least_messages:
        return CompactionOutlook("too_little")
    freed = expected_savings(transcript, policy, gauge, range_)
    least = least_gain(policy, gauge)
    is_due = freed >= least
    return CompactionOutlook(
        "due" if is_due else "too_little", freed=freed, least=least, range=range_ if is_due else None
    )


def _least_new_tokens(gauge: UsageGauge) -> float:
    """Return the tokens that have to come before a model reads again what a failed writing had read."""
    return min(_NEW_TOKENS, gauge.window * _NEW_SHARE)


def _fills_soon(transcript: Transcript, gauge: UsageGauge) -> bool:
    """Return True if the next request would have to wait for a handover that is held up now.

    In a small window a minute is enough to fill it again. After a failure or an undo the wait holds.
    """
    is_calm = transcript.handover_failures == 0 and not transcript.was_compaction_undone
    return is_calm and gauge.limit - gauge.used < USUAL_STEPS_TOKENS


def handover_now(transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge) -> HandoverRange | None:
    """Return where a handover ends that frees enough, regardless of time and messages, if there is one."""
    range_ = _furthest_range(transcript, policy, gauge)
    if range_ is None or expected_savings(transcript, policy, gauge, range_) < least_gain(policy, gauge):
        return None
    return range_


def _furthest_range(transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge) -> HandoverRange | None:
    return furthest_range(transcript, int(gauge.window * policy.handover_keep / gauge.ratio))


def least_gain(policy: ContextPolicy, gauge: UsageGauge) -> float:
    """Return the tokens that a handover has to free, unless the user asks for it: a share of the window."""
    return gauge.window * policy.handover_least_gain


def expected_savings(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, range_: HandoverRange
) -> int:
    """Return the tokens a handover of this range should free, by the deterministic bounds of its parts."""
    current_tokens = 0
    if transcript.window.handover is not None:
        current_tokens = handover_tokens(transcript, policy, gauge.window) - FRAMING_TOKENS
    added_tokens = SUMMARY_TOKENS + policy.ledger_tokens
    added_tokens += user_text_tokens(
        transcript, range_.upto, range_.kept_seq, policy.user_text_tokens, gauge.window
    )
    added_tokens += _pinned_tokens(transcript, range_.upto)
    budget = user_text_budget(policy.user_text_tokens, gauge.window)
    words = (transcript.messages.item(seq) for seq in newest_turn_words(transcript, range_.upto, budget))
    added_tokens += sum(item.word_tokens for item in words if item is not None)
    left_out = range_.tokens + current_tokens + _replaced_instruction_tokens(transcript, range_.upto)
    return round((left_out - added_tokens) * gauge.ratio)


def _replaced_instruction_tokens(transcript: Transcript, upto: int) -> int:
    """Return the tokens of instructions up to `upto` that newer ones replaced: a handover leaves them out."""
    if not transcript.window.added_instructions:
        return 0
    newest = newest_instructions(transcript.window.added_instructions)
    return sum(
        transcript.window.entry_tokens(entry)
        for entry in transcript.window.entries()
        if isinstance(entry, AddedInstructions) and entry.seq <= upto and entry.seq not in newest
    )


def _pinned_tokens(transcript: Transcript, upto: int) -> int:
    """Return the tokens of pinned outputs up to `upto` shown raw: they stay when their calls are covered."""
    pinned = transcript.rewrites.pinned
    if not pinned:
        return 0
    raw = (item for item in transcript.window.entries() if isinstance(item, LogItem) and item.seq <= upto)
    return sum(
        transcript.window.entry_tokens(item) + PINNED_LABEL_TOKENS for item in raw if item.seq in pinned
    )


def handover_to_replace(transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge) -> int:
    """Return the active handover, by its event, that a model should write again; 0 if there is none.

    It was made without one because none could write it, and the user did not change it. In a later turn a
    model answered. Where the user undid that it was written again, and after three failures, it stays; after
    one that brought text, enough has to come before all of it is read again.
    """
    seq, handover = transcript.window.handover or (0, None)
    if handover is None or not (policy.enabled and policy.prepare_early) or transcript.on_hold:
        return 0
    is_fallback = handover.model == NO_MODEL and bool(handover.fallback)
    if not is_fallback or handover.edited or handover.origin:
        return 0
    if any(seq in other.replaces for other in transcript.rewrites.handovers.values()):
        return 0
    failed = transcript.failed_replacements.get(seq, ())
    if len(failed) >= MAX_REPLACEMENTS or not _was_answered_after(transcript, seq):
        return 0
    read_seq = max(failed, default=0)
    is_read = read_seq and transcript.messages.full_tokens_after(read_seq) < _least_new_tokens(gauge)
    return 0 if is_read else seq


def _was_answered_after(transcript: Transcript, seq: int) -> bool:
    """Return True if a model answered in the newest turn, and that began after an event."""
    is_answered = False
    for item in reversed(transcript.messages.items):
        if item.turn != transcript.messages.turns:
            break
        if item.seq < seq:
            return False
        is_answered = is_answered or isinstance(item.event, AssistantSpoke)
    return is_answered


def newest_summary(transcript: Transcript) -> tuple[int, HandoverMade] | None:
    """Return what the next checkpoint updates, with its event: the newest one, or the active handover."""
    return newest_checkpoint(transcript) or transcript.window.handover


def checkpoint_due(transcript: Transcript, policy: ContextPolicy, now_ms: int) -> int:
    """Return the event up to which a checkpoint is due, 0 if none is; `now_ms` in milliseconds.

    The history since the last checkpoint or handover, an undone one too, counts with outputs in full. The
    cooldown of handovers has passed since either, or since a checkpoint failed. While calls run, one is due
    behind a result of theirs only. It ends before a request that has no answer yet: that stands in the window
    beside it, and would read as open once it is answered. After three texts in a row that were not used, none
    is due until a handover was made.
    """
    items = transcript.messages.items
    if not (policy.enabled and policy.prepare_early and policy.checkpoint_tokens and items):
        return 0
    if transcript.unused_checkpoints >= BREAKER_FAILURES:
        return 0
    if transcript.open_calls and not isinstance(items[-1].event, ToolAnswered):
        return 0
    upto = next((item.seq for item in reversed(items) if not isinstance(item.event, UserSpoke)), 0)
    waited = now_ms - max(transcript.last_compaction_at_ms, transcript.last_checkpoint_at_ms)
    cooldown = backoff_ms(policy, transcript.checkpoint_failures)
    if transcript.on_hold or 0 <= waited < cooldown:
        return 0
    if not _has_new_history(transcript, "checkpoint", min(_NEW_TOKENS, policy.checkpoint_tokens)):
        return 0
    newest = newest_summary(transcript)
    done = max(newest[1].upto if newest is not None else 0, observation.undone_upto(transcript))
    history = transcript.messages.full_tokens_after(done)
    return upto if history >= policy.checkpoint_tokens and upto > done else 0


def _has_new_history(transcript: Transcript, work: BackgroundWork, least: float) -> bool:
    """Return True if no writing of this kind failed, or if `least` tokens came after what it had read."""
    upto = transcript.failed_reads.get(work, 0)
    return not upto or transcript.messages.full_tokens_after(upto) >= least


def cooldown_ms(transcript: Transcript, policy: ContextPolicy) -> int:
    """Return the milliseconds to wait after a handover, undo or failure; doubled per failure in a row."""
    return backoff_ms(policy, transcript.handover_failures)


def backoff_ms(policy: ContextPolicy, failures: int) -> int:
    return policy.handover_cooldown_s * 1000 << min(failures, _MAX_DOUBLINGS)


def observation_due(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, now_ms: int
) -> EventRange | None:
    """Return the range to observe or refine at the end of a turn, if any; `now_ms` in milliseconds.

    After failures it waits as a handover does; after three in a row only the user can start it. A range
    that is hardly longer than the facts about it waits for more. None is due where the policy prepares
    nothing early.
    """
    if not policy.prepare_early or _is_observing_paused(transcript, policy, gauge, now_ms):
        return None
    room = gauge.window / gauge.ratio
    due = observation.due_reflection(transcript, policy, room)
    due = due or observation.due_observation(transcript, policy, room)
    return due if due is not None and observation_savings(transcript, policy, gauge, due) > 0 else None


def observation_relief(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, now_ms: int
) -> EventRange | None:
    """Return what to observe or refine in place of a handover at the threshold; None if that is not enough.

    Observations that are put in place anyway must not be lost to a handover a moment before: they are taken
    where they free at least what is over the threshold, and the least gain of a handover.
    """
    if not (policy.enabled and policy.observe_at) or gauge.used < gauge.handover_threshold:
        return None
    if _is_observing_paused(transcript, policy, gauge, now_ms) or observation.pending_observations(
        transcript
    ):
        return None
    needed = max(gauge.used - gauge.handover_threshold, gauge.window * policy.handover_least_gain)
    ranges = observation.unobserved_range(transcript), observation.refinable_range(transcript)
    for event_range in ranges:
        if event_range is not None and observation_savings(transcript, policy, gauge, event_range) >= needed:
            return event_range
    return None


def observation_savings(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, event_range: EventRange
) -> float:
    if event_range.replaces:
        return event_range.tokens * _REFINED_SHARE * gauge.ratio
    words = sum(
        item.word_tokens for item in transcript.messages.users_between(event_range.after, event_range.upto)
    )
    added = policy.ledger_tokens + OBSERVATION_TOKENS
    added += min(words, user_text_budget(policy.user_text_tokens, gauge.window))
    return (event_range.tokens - added) * gauge.ratio


def _is_observing_paused(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, now_ms: int
) -> bool:
    """Return True while failures keep observations from being tried.

    That is during the backoff, until enough came after what the last try had read, and after three in a row.
    """
    failures = transcript.observation_failures
    if not failures:
        return False
    waited = now_ms - transcript.last_observation_at_ms
    if failures >= BREAKER_FAILURES or 0 <= waited < backoff_ms(policy, failures):
        return True
    return not _has_new_history(transcript, "observations", _least_new_tokens(gauge))


def is_breaker_open(transcript: Transcript) -> bool:
    """Return True if failures in a row have stopped handovers until the user starts one."""
    return transcript.handover_failures >= BREAKER_FAILURES
