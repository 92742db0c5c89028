"""The planner: what to do about the window before the next request."""

from __future__ import annotations

import msgspec

from helix_desktop.context import cut as cuts
from helix_desktop.context import observation, sweep
from helix_desktop.context.budget import Gauge
from helix_desktop.context.cut import Cut
from helix_desktop.context.handover import user_text_tokens
from helix_desktop.context.layout import Item
from helix_desktop.context.observation import Stretch
from helix_desktop.context.policy import Policy
from helix_desktop.context.sweep import Sweep
from helix_desktop.context.transcript import PINNED_LABEL, Transcript

BREAKER = 3  # failures in a row after which only the person can start a handover (invariant 6)
_LONGEST_BACKOFF = 2  # the cooldown doubles twice at most: 60, 120, 240 s
SUMMARY_TOKENS = 1_200  # what the six sections and the index line are taken to need


class Handover(msgspec.Struct, frozen=True):
    """Hand over up to this cut."""

    cut: Cut


def sweep_due(transcript: Transcript, policy: Policy, cold: bool = False) -> Sweep | None:
    """The sweep that pays now, if any; with a cold provider cache a small one pays too."""
    ride = sweep.riding(transcript, policy)
    return ride if ride is not None and sweep_pays(transcript, policy, ride, cold) else None


def sweep_pays(transcript: Transcript, policy: Policy, ride: Sweep, cold: bool) -> bool:
    """Whether everything ripe is to be swept now though no other rewrite carries it."""
    small = cold and ride.saved >= policy.sweep_min // 4
    return small or sweep.pays(transcript, policy, ride)


def sweep_all(transcript: Transcript, policy: Policy, newest: int = sweep.LEAST_STEPS) -> Sweep | None:
    """Everything but the newest steps: for a request that does not fit, or a person who asks."""
    masked = tuple(one.seq for one in sweep.ripe(transcript, policy, newest))
    return Sweep(masked, sweep.saved_by(transcript, masked)) if masked else None


def sweep_images(transcript: Transcript, newest: bool = False) -> Sweep | None:
    """The images the person sent as text and hash; those of their newest message only with `newest`."""
    last = transcript.users[-1].seq if transcript.users else 0
    masked = tuple(seq for seq in sweep.pictured(transcript) if newest or seq != last)
    return Sweep(masked, sweep.saved_by(transcript, masked)) if masked else None


def cold(transcript: Transcript, policy: Policy, model: str, now: int) -> bool:
    """Whether the provider has nothing of this conversation cached: idle too long, or another model."""
    if not transcript.steps:
        return False
    idle = now - transcript.last_answer_at
    return model != transcript.last_model or idle > policy.cache_ttl_s * 1000


def handover_due(transcript: Transcript, policy: Policy, gauge: Gauge, now: int) -> Handover | None:
    """The handover whose four conditions hold, if any; `now` in milliseconds.

    Pressure; none in progress (the caller's to know); the cooldown since the last one, doubled per failure;
    enough closed messages before the cut.
    """
    if not policy.enabled or gauge.pressure != "compact" or breaker_open(transcript):
        return None
    waited = now - transcript.last_compaction_at
    if 0 <= waited < cooldown_ms(transcript, policy):  # below 0 the clock was set back: nobody knows
        return None
    cut = cuts.choose(transcript, int(gauge.window * policy.handover_keep / gauge.ratio))
    if cut is None or cut.messages < policy.handover_least_messages:
        return None
    return Handover(cut)


def handover_now(transcript: Transcript, policy: Policy, gauge: Gauge) -> Handover | None:
    """The handover that is possible, whatever time and size say: by hand, or because nothing else fits."""
    cut = cuts.choose(transcript, int(gauge.window * policy.handover_keep / gauge.ratio))
    return Handover(cut) if cut is not None else None


def worth(transcript: Transcript, policy: Policy, gauge: Gauge, cut: Cut) -> bool:
    """Whether a handover at this cut can free its least share of the window (invariant 6)."""
    return gain(transcript, policy, gauge, cut) >= gauge.window * policy.handover_least_gain


def gain(transcript: Transcript, policy: Policy, gauge: Gauge, cut: Cut) -> int:
    """Tokens that a handover at this cut is expected to free, by the deterministic bounds of its parts."""
    held = transcript.handover
    standing = 0
    if held is not None:
        upto, kept = held[1].upto, held[1].kept
        standing = held[1].tokens + user_text_tokens(
            transcript, upto, kept, policy.user_text_tokens, gauge.window
        )
    newly = SUMMARY_TOKENS + policy.ledger_tokens
    newly += user_text_tokens(transcript, cut.upto, cut.kept, policy.user_text_tokens, gauge.window)
    newly += _pinned_beside(transcript, cut.upto)
    return round((cut.tokens + standing - newly) * gauge.ratio)


def _pinned_beside(transcript: Transcript, upto: int) -> int:
    """Tokens of the pinned outputs that stand raw up to `upto`: they stay beside what covers their calls."""
    pinned = transcript.rewrites.pinned
    if not pinned:
        return 0
    raw = (one for one in transcript.live() if isinstance(one, Item) and one.seq <= upto)
    return sum(transcript.shown_tokens(one) + PINNED_LABEL for one in raw if one.seq in pinned)


def cooldown_ms(transcript: Transcript, policy: Policy) -> int:
    """Milliseconds to wait since the last handover, undo or failure; doubled for each failure in a row."""
    return _cooldown_ms(policy, transcript.failures)


def _cooldown_ms(policy: Policy, failures: int) -> int:
    return policy.handover_cooldown_s * 1000 << min(failures, _LONGEST_BACKOFF)


def observing_due(transcript: Transcript, policy: Policy, gauge: Gauge, now: int) -> Stretch | None:
    """The stretch to observe or to refine at the end of a turn, if any; `now` in milliseconds.

    After failures it waits as a handover does, and three in a row leave it to the person.
    """
    failures = transcript.observation_failures
    waited = now - transcript.last_observation_at
    if failures >= BREAKER or (failures and 0 <= waited < _cooldown_ms(policy, failures)):
        return None
    room = gauge.window / gauge.ratio
    return observation.reflection_due(transcript, policy, room) or observation.due(transcript, policy, room)


def breaker_open(transcript: Transcript) -> bool:
    """Whether failures in a row have stopped handovers until the person starts one."""
    return transcript.failures >= BREAKER
