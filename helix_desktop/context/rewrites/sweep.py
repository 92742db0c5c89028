"""Sweep: which old content becomes markers, and when that pays."""

from __future__ import annotations

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.domain.events.session import AssistantSpoke, ToolAnswered, UserSpoke

MIN_PROTECTED_STEPS = 2  # the newest model calls that are protected whatever the policy says
CACHED_PRICE = 0.1  # price of a token the provider has cached, against a fresh one
REWRITE_PRICE = (
    1.15  # extra price of a token that must be sent again (1.25 written, less 0.1 it would have cost)
)


class SweepPlan(msgspec.Struct, frozen=True):
    """Turn the content of these messages into markers now; `rent` is what waiting has cost, in tokens."""

    masked: tuple[int, ...]
    saved: int
    rent: float = 0.0


class SweepCandidate(msgspec.Struct, frozen=True):
    """A message whose markers would save `saving` tokens, and the model calls it has waited for a sweep."""

    seq: int
    saving: int
    waited_steps: int


def sweep_candidates(
    transcript: Transcript, policy: ContextPolicy, protected_steps: int | None = None
) -> list[SweepCandidate]:
    """The outputs and arguments that may become markers now, oldest first.

    Protected is the newest tail: `protect_steps` model calls and `protect_tokens` tokens, whichever ends
    first, at least two calls; arguments have their own number of steps. With `newest`, only so many model
    calls are. What the person pinned, and the newest copy of what was recalled often, is never taken; nor is
    what they said, whose images have a rung of their own. Masked is a state: what is a marker never comes up
    again (invariant 5).
    """
    found = []
    least = MIN_PROTECTED_STEPS if protected_steps is None else protected_steps
    smallest, last_step = max(policy.least_saving, 1), transcript.steps - least
    for item in transcript.window_entries():
        if not isinstance(item, LogItem) or item.step > last_step:
            continue
        if item.saving < smallest and item.seq not in transcript.rewrites.chosen_forms:
            continue
        if isinstance(item.event, UserSpoke):
            continue
        saving = masking_savings(transcript, item)
        if saving < smallest or item.seq in transcript.rewrites.pinned:
            continue
        since = (
            _eligible_since(item, transcript, policy)
            if protected_steps is None
            else _closed_since(item, transcript)
        )
        if since is not None and since <= transcript.steps:
            found.append(SweepCandidate(item.seq, saving, transcript.steps - since))
    return found


def image_messages(transcript: Transcript) -> tuple[int, ...]:
    """Seqs of the person's messages that show images and could show text and hash instead, oldest first."""
    live = (
        one
        for one in transcript.window_entries()
        if isinstance(one, LogItem) and isinstance(one.event, UserSpoke)
    )
    return tuple(one.seq for one in live if masking_savings(transcript, one) > 0)


def masking_savings(transcript: Transcript, item: LogItem) -> int:
    """Tokens that the markers of a message would save; 0 when it has none, or is masked already."""
    if item.seq in transcript.masked:
        return 0
    chosen = transcript.rewrites.chosen_forms.get(item.seq)
    if chosen is not None and isinstance(item.event, ToolAnswered):
        return chosen.tokens - item.event.marker_tokens
    return item.saving


def _closed_since(item: LogItem, transcript: Transcript) -> int | None:
    is_open = isinstance(item.event, AssistantSpoke) and item.step == transcript.steps
    return None if is_open and transcript.open_calls else item.step


def _eligible_since(item: LogItem, transcript: Transcript, policy: ContextPolicy) -> int | None:
    """The model call from which on a message may become markers; None while it may not."""
    if isinstance(item.event, AssistantSpoke):
        steps = policy.protect_argument_steps
        return item.step + max(steps, MIN_PROTECTED_STEPS) if steps else None
    if _is_recalled_often(item, transcript, policy):
        return None
    by_age = item.step + max(policy.protect_steps, MIN_PROTECTED_STEPS)
    by_distance = transcript.step_beyond(item, policy.protect_tokens)
    return by_age if by_distance is None else min(by_age, max(by_distance, item.step + MIN_PROTECTED_STEPS))


def _is_recalled_often(item: LogItem, transcript: Transcript, policy: ContextPolicy) -> bool:
    """Whether it is the newest copy of content that was recalled at least as often as the policy says."""
    event = item.event
    if not isinstance(event, ToolAnswered) or not event.recalled or not policy.protect_recalls:
        return False
    return (
        transcript.recall_counts[event.recalled] >= policy.protect_recalls
        and transcript.newest_recall_seqs.get(event.recalled) == item.seq
    )


def sweep_with_rewrite(transcript: Transcript, policy: ContextPolicy) -> SweepPlan | None:
    """Everything ripe: what rides on another rewrite of the same request costs nothing more.

    What the person took back stays out.
    """
    if not policy.enabled:
        return None
    found = [one for one in sweep_candidates(transcript, policy) if one.seq not in transcript.sweep_exempt]
    if not found:
        return None
    saved = sum(one.saving for one in found)
    return SweepPlan(tuple(one.seq for one in found), saved, rent_of(found))


def pays_off(transcript: Transcript, policy: ContextPolicy, plan: SweepPlan) -> bool:
    """Whether everything ripe is to be swept now, for its own sake."""
    if policy.sweep == "at once":
        return True
    if policy.sweep == "fixed":
        return plan.saved >= policy.sweep_fixed
    if plan.saved < policy.sweep_min:
        return False
    price = REWRITE_PRICE * (tokens_resent(transcript, plan.masked[0]) - plan.saved)
    return plan.saved >= policy.sweep_max or plan.rent >= price


def rent_of(candidates: list[SweepCandidate]) -> float:
    """What keeping these in the window has cost since they were ripe, in fresh tokens."""
    return CACHED_PRICE * sum(one.saving * (one.waited_steps + 1) for one in candidates)


def tokens_resent(transcript: Transcript, seq: int) -> int:
    """Tokens from an event on: the part of the prefix that a rewrite there makes the provider read afresh."""
    tokens = 0
    for entry in reversed(transcript.window_entries()):
        tokens += transcript.entry_tokens(entry)
        if isinstance(entry, LogItem) and entry.seq == seq:
            break
    return tokens


def tokens_saved(transcript: Transcript, seqs: tuple[int, ...]) -> int:
    """Tokens that masking these messages saves."""
    items = (item for seq in seqs if (item := transcript.item(seq)) is not None)
    return sum(masking_savings(transcript, item) for item in items)
