"""What a session would be under a policy: its window over time, what was sent and billed, the rewrites.

At the end: what window and worker process say to each other about that, as MessagePack.
"""

from __future__ import annotations

import msgspec

from helix_desktop.context.policy import ContextPolicy
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.translatable_text import plain_text
from helix_desktop.replay.policy.session import SessionFacts


class WindowPoint(msgspec.Struct, frozen=True, array_like=True):
    """The window of one request of the session.

    `seq` and `at` (Unix seconds) are those of the last event before it, `tokens` are by our count, scaled as
    the gauge scales them.
    """

    seq: int
    at: int
    tokens: int


class PolicyRewrite(msgspec.Struct, frozen=True, array_like=True):
    """A rewrite that the policy would have made behind the event `seq`: its kind and the window around it.

    `kind` is the tag of the rewrite's event. The first request with it is the first whose `seq` is no less.
    """

    seq: int
    at: int
    kind: str
    tokens_before: int
    tokens_after: int


class PolicyReplay(msgspec.Struct, frozen=True):
    """A session as one policy would have managed it.

    Tokens. `sent` adds up the requests, `billed` what they cost in fresh input tokens at the provider's cache
    prices (as `replay/totals.py`), `coverage` is the share of what the agent used next that was in the window
    (0..1; None: nothing was used again). `window` is the model's, `handover_at` the threshold in tokens.
    `is_exact`: by the live engine's own decisions at each request; otherwise an approximate picture, of which
    the first `exact_points` are exact. `first_too_large` numbers the first request, from 1, that the engine
    would have stopped; 0: none, or not known yet. `sent` and `billed` count it and all after it, `coverage`
    only requests that fit.
    """

    points: tuple[WindowPoint, ...]
    rewrites: tuple[PolicyRewrite, ...]
    window: int
    handover_at: int
    sent: int
    billed: float
    coverage: float | None
    is_exact: bool
    exact_points: int = 0
    first_too_large: int = 0


def partly_exact(partial: PolicyReplay, estimate: PolicyReplay) -> PolicyReplay:
    """Return what an exact replay came to so far, and the rest of the session as the estimate has it."""
    count = len(partial.points)
    if not count:
        return estimate
    rest = estimate.points[count:]
    sent, last = sum(point.tokens for point in rest), partial.points[-1].seq
    return msgspec.structs.replace(
        estimate,
        points=partial.points + rest,
        rewrites=partial.rewrites + tuple(it for it in estimate.rewrites if it.seq > last),
        sent=partial.sent + sent,
        billed=partial.billed + (estimate.billed * sent / estimate.sent if estimate.sent else 0.0),
        exact_points=count,
    )


class FieldEffect(msgspec.Struct, frozen=True):
    """What a field of a policy changes in a session, against the value that the field has in its profile.

    `billed` in tokens, `coverage` as a share (None: nothing was used again), `rewrites`: how many more.
    """

    field: str
    billed: float
    coverage: float | None
    rewrites: int


def effect_of(field: str, own: PolicyReplay, default: PolicyReplay) -> FieldEffect:
    """Return what differs between a policy and the same with one field as its profile has it."""
    coverage = None
    if own.coverage is not None and default.coverage is not None:
        coverage = own.coverage - default.coverage
    return FieldEffect(
        field, own.billed - default.billed, coverage, len(own.rewrites) - len(default.rewrites)
    )


class OpenSession(msgspec.Struct, frozen=True, tag="open"):
    """Forget the session before: the events of another one follow."""

    facts: SessionFacts


class AddEvents(msgspec.Struct, frozen=True, tag="add"):
    """The next events of the session."""

    events: list[RecordedEvent]


class StartReplay(msgspec.Struct, frozen=True, tag="replay"):
    """Replay a policy; the replay before it ends.

    One `in_background` ends none, and waits for all others. With `field` the effect of that is asked, which
    is in the background too.
    """

    number: int
    policy: ContextPolicy
    field: str = ""
    in_background: bool = False


class StopReplay(msgspec.Struct, frozen=True, tag="stop"):
    """Nobody waits for a replay any more."""

    number: int


class ReplayDone(msgspec.Struct, frozen=True, tag="done"):
    """A picture of a replay; the exact one is the last."""

    number: int
    replay: PolicyReplay


class EffectDone(msgspec.Struct, frozen=True, tag="effect"):
    """The effect of a field."""

    number: int
    effect: FieldEffect


class ReplayEnded(msgspec.Struct, frozen=True, tag="ended"):
    """A replay ended without a result: it was called off, or it failed with these words."""

    number: int
    failure: str = ""


Request = OpenSession | AddEvents | StartReplay | StopReplay
Reply = ReplayDone | EffectDone | ReplayEnded
encode = msgspec.msgpack.Encoder(enc_hook=plain_text).encode
decode_request = msgspec.msgpack.Decoder(Request).decode
decode_reply = msgspec.msgpack.Decoder(Reply).decode
