"""The session that policies are replayed on, and what it would be under one: window, bill, rewrites.

At the end: what window and worker process say to each other about that, as MessagePack.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from helix_desktop.agent.context_window import ContextWindow
from helix_desktop.agent.intake import Intake
from helix_desktop.agent.ports import TokenCounter
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.window.used_tokens import first_tokenizer_ratio
from helix_desktop.domain.digest import CACHE_TOOLS
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    MessageQueued,
    QueueChanged,
    ToolAnswered,
    TurnEnded,
)
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import (
    Excluded,
    FoldMade,
    FormChosen,
    HandoverTrigger,
    PlacementReason,
    Redone,
    SweepMade,
    SweepReason,
    Undone,
)
from helix_desktop.domain.events.summary import (
    HandoverDiscarded,
    HandoverFailed,
    HandoverMade,
    ObservationsFailed,
    ObservationsMade,
    ObservationsPlaced,
)
from helix_desktop.domain.request_extras import NO_EXTRAS
from helix_desktop.domain.translatable_text import plain_text
from helix_desktop.replay.recording import SessionFacts

_OF_POLICY = (
    SweepMade,
    FoldMade,
    HandoverDiscarded,  # a checkpoint or draft names events by their number
    HandoverFailed,
    ObservationsFailed,
    ObservationsMade,
    ObservationsPlaced,
)
_OF_QUEUE = (MessageQueued, QueueChanged)  # they change no window, and name events by their number


def facts_of(window: ContextWindow, transcript: Transcript) -> SessionFacts:
    """Return the facts of an open session; as it goes on, they stay as long as model and tools do."""
    frame = window.frame
    info = msgspec.structs.replace(frame.info, extras=NO_EXTRAS)  # headers are no business of a replay
    ratio = first_tokenizer_ratio(transcript, info.label, frame.ratio)
    return SessionFacts(info, frame.fixed_tokens, ratio)


def replayed_part(log: Sequence[RecordedEvent]) -> Sequence[RecordedEvent]:
    """Return the log up to its last request or end of a turn: what comes behind changes no replay yet."""
    count = len(log)
    while count and not isinstance(log[count - 1].event, AssistantSpoke | TurnEnded):
        count -= 1
    return log[:count]


def is_user_rewrite(event: Event) -> bool:
    """Return True for a compaction or an undo by the user, which a replay leaves out."""
    match event:
        case Undone(refused=refused):
            return not refused
        case SweepMade(reason=reason):
            return reason is SweepReason.MANUAL
        case ObservationsPlaced(reason=reason):
            return reason is PlacementReason.MANUAL
        case HandoverMade(trigger=trigger):
            return trigger is HandoverTrigger.MANUAL
    return False


class ReplayableEvents:
    """Takes from a log, read part by part, the events that any policy would have met.

    Messages, and what the user did to single ones. Left out is what the session's own policy did, with undo,
    redo and exclusion of that; handovers by hand too. The handover by which the session continues another
    one stays.
    """

    def __init__(self) -> None:
        self._undoable: set[int] = set()  # what the user did, and may have undone
        self._left_out: set[int] = set()

    def take(self, log: Iterable[RecordedEvent]) -> list[RecordedEvent]:
        events = []
        for recorded in log:
            if self._is_of_policy(recorded.event):
                self._left_out.add(recorded.seq)
                continue
            if isinstance(recorded.event, FormChosen | Excluded):
                self._undoable.add(recorded.seq)
            events.append(recorded)
        return events

    def _is_of_policy(self, event: Event) -> bool:
        match event:
            case HandoverMade(origin=origin):
                return not origin
            case Undone(target=target) | Redone(target=target):
                return target not in self._undoable
            case Excluded(targets=targets):
                return not self._left_out.isdisjoint(targets)
        return isinstance(event, _OF_POLICY + _OF_QUEUE)


def omitted_tokens(output: ToolAnswered) -> int:
    """Return the tokens that an output would have more in full; 0 where no policy shortened it."""
    is_short = output.form != "full" and output.chosen != "user"
    return max(0, output.full_tokens - output.tokens) if is_short else 0


def may_be_shortened(output: ToolAnswered) -> bool:
    """Return True if an output came in full because the policy in force let it: nobody chose that form."""
    is_in_full = output.form == "full" and output.chosen == "rule" and bool(output.digest)
    return is_in_full and not (output.recalled or output.images or output.name in CACHE_TOOLS)


class ReplayedForms:
    """Gives outputs the form that a policy would have given them; previews are made once for all policies."""

    def __init__(self, counter: TokenCounter) -> None:
        self._intake = Intake(counter)
        self._previews: dict[tuple[str, int, int], ToolAnswered] = {}

    async def under(self, policy: ContextPolicy, output: ToolAnswered, window_size: int) -> ToolAnswered:
        """Return an output as it would come.

        What came in a short form and would not, has all its tokens, but only the names of the short form:
        the log has no others. For the same reason a preview may become shorter, but not longer.
        """
        more = omitted_tokens(output)
        may_shorten = may_be_shortened(output)
        if not more and not may_shorten:
            return output
        if not ContextPolicy.is_large(policy, output.full_tokens or output.tokens, window_size):
            return replace(output, tokens=output.tokens + more, form="full") if more else output
        is_longer = output.form == "preview" and output.tokens > policy.preview_tokens and not output.images
        return await self._preview(output, policy.preview_tokens) if may_shorten or is_longer else output

    async def _preview(self, output: ToolAnswered, max_tokens: int) -> ToolAnswered:
        key = output.call_id, output.tokens, max_tokens
        preview = self._previews.get(key)
        if preview is None:
            text, tokens = await self._intake.preview(output.text, output, max_tokens)
            preview = replace(
                output,
                text=text,
                tokens=tokens,
                whole=False,
                form="preview",
                full_tokens=output.full_tokens or output.tokens,
            )
            self._previews[key] = preview
        return preview


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
    sent = sum(point.tokens for point in rest)
    last = partial.points[-1].seq
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
    events: list[RecordedEvent]


class StartReplay(msgspec.Struct, tag="replay"):
    """Replay a policy: pictures of it, of which more and more is exact, if it `is_growing`.

    With `field` the effect of that is asked. `number` is given as it is sent.
    """

    policy: ContextPolicy
    field: str = ""
    is_growing: bool = False
    number: int = 0


class StopReplay(msgspec.Struct, frozen=True, tag="stop"):
    """End what runs, as any other message does: nobody waits for it."""


class ReplayDone(msgspec.Struct, frozen=True, tag="done"):
    """A picture of a replay; the exact one is the last."""

    number: int
    replay: PolicyReplay


class EffectDone(msgspec.Struct, frozen=True, tag="effect"):
    number: int
    effect: FieldEffect


class ReplayFailed(msgspec.Struct, frozen=True, tag="failed"):
    number: int
    reason: str


Request = OpenSession | AddEvents | StartReplay | StopReplay
Reply = ReplayDone | EffectDone | ReplayFailed
encode = msgspec.msgpack.Encoder(enc_hook=plain_text).encode
decode_request = msgspec.msgpack.Decoder(Request).decode
decode_reply = msgspec.msgpack.Decoder(Reply).decode
