"""Sweep: which old outputs become markers, and when that pays (CONTEXT.md 3.1)."""

from __future__ import annotations

import msgspec

from helix_desktop.context.event import ToolAnswered
from helix_desktop.context.policy import Policy
from helix_desktop.context.transcript import Item, Transcript

LEAST_STEPS = 2  # the newest model calls that are protected whatever the policy says
CACHED_PRICE = 0.1  # price of a token the provider has cached, against a fresh one
REWRITE_PRICE = (
    1.15  # extra price of a token that must be sent again (1.25 written, less 0.1 it would have cost)
)


class Ripe(msgspec.Struct, frozen=True):
    """An output whose marker would save `saving` tokens, and the model calls it has waited for a sweep."""

    seq: int
    saving: int
    waited: int


def ripe(transcript: Transcript, policy: Policy, protect_steps: int | None = None) -> list[Ripe]:
    """The outputs that may become markers now, oldest first.

    Protected is the newest tail: `protect_steps` model calls and `protect_tokens` tokens, whichever ends
    first, at least two calls. Masked is a state: what is a marker never comes up again (invariant 5).
    """
    steps = policy.protect_steps if protect_steps is None else protect_steps
    found = []
    live = transcript.live()
    for item in live:
        if not isinstance(item.event, ToolAnswered) or item.seq in transcript.masked or not item.event.digest:
            continue
        saving = item.event.tokens - item.event.marker_tokens
        if saving < max(policy.least_saving, 1):
            continue
        age = transcript.steps - item.step
        distance = live[-1].cumulative - item.cumulative
        if age >= LEAST_STEPS and (age >= max(steps, LEAST_STEPS) or distance >= policy.protect_tokens):
            found.append(Ripe(item.seq, saving, _waited(item, live, transcript, policy, steps)))
    return found


def _waited(item: Item, live: list[Item], transcript: Transcript, policy: Policy, steps: int) -> int:
    """Model calls since the output left the protected tail."""
    by_age = item.step + max(steps, LEAST_STEPS)
    by_distance = by_age
    for other in reversed(live):
        if other.cumulative - item.cumulative < policy.protect_tokens:
            break
        by_distance = min(by_distance, max(other.step, item.step + LEAST_STEPS))
    return max(0, transcript.steps - min(by_age, by_distance))


def due(transcript: Transcript, policy: Policy) -> tuple[int, ...]:
    """The seqs to sweep now; empty while it does not pay yet. What the person took back stays out."""
    if not policy.enabled:
        return ()
    found = [one for one in ripe(transcript, policy) if one.seq not in transcript.released]
    saving = sum(one.saving for one in found)
    if not found or not _pays(transcript, policy, found, saving):
        return ()
    return tuple(one.seq for one in found)


def _pays(transcript: Transcript, policy: Policy, found: list[Ripe], saving: int) -> bool:
    if policy.sweep == "at once":
        return True
    if policy.sweep == "fixed":
        return saving >= policy.sweep_fixed
    if saving < policy.sweep_min:
        return False
    rent = CACHED_PRICE * sum(one.saving * one.waited for one in found)
    return saving >= policy.sweep_max or rent >= REWRITE_PRICE * _resent(transcript, found)


def _resent(transcript: Transcript, found: list[Ripe]) -> int:
    """Tokens behind the first rewritten output: the part of the prefix that has to be sent afresh."""
    behind = [item for item in transcript.live() if item.seq >= found[0].seq]
    return sum(transcript.shown_tokens(item) for item in behind) - sum(one.saving for one in found)


def saving_of(transcript: Transcript, seqs: tuple[int, ...]) -> int:
    """Tokens that masking these outputs saves."""
    events = (item.event for seq in seqs if (item := transcript.item(seq)))
    return sum(one.tokens - one.marker_tokens for one in events if isinstance(one, ToolAnswered))
