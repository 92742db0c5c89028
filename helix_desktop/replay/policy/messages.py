"""What window and worker process say to each other about policy replays, as MessagePack."""

from __future__ import annotations

import msgspec

from helix_desktop.context.policy import ContextPolicy
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.translatable_text import plain_text
from helix_desktop.replay.policy.session import SessionFacts
from helix_desktop.replay.policy_replay import FieldEffect, PolicyReplay


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


class PrepareReplays(msgspec.Struct, frozen=True, tag="prepare"):
    """The policies that may be chosen next, likeliest first: they are replayed while nothing is requested."""

    policies: list[ContextPolicy]


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


Request = OpenSession | AddEvents | StartReplay | PrepareReplays | StopReplay
Reply = ReplayDone | EffectDone | ReplayEnded
encode = msgspec.msgpack.Encoder(enc_hook=plain_text).encode
decode_request = msgspec.msgpack.Decoder(Request).decode
decode_reply = msgspec.msgpack.Decoder(Reply).decode
