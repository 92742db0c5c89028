"""The session that policies are replayed on: its facts, its events and outputs without its own policy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from helix_desktop.agent.intake import Intake
from helix_desktop.agent.ports import TokenCounter
from helix_desktop.agent.session_window import SessionWindow
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.window.usage_gauge import first_tokenizer_ratio
from helix_desktop.domain.digest import CACHE_TOOLS
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    MessageQueued,
    QueueChanged,
    ToolAnswered,
    TurnEnded,
)
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import Excluded, FoldMade, FormChosen, Redone, SweepMade, Undone
from helix_desktop.domain.events.summary import (
    HandoverFailed,
    HandoverMade,
    ObservationsFailed,
    ObservationsMade,
    ObservationsPlaced,
)
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.request_extras import NO_EXTRAS

_OF_POLICY = (SweepMade, FoldMade, HandoverFailed, ObservationsFailed, ObservationsMade, ObservationsPlaced)
_OF_QUEUE = (MessageQueued, QueueChanged)  # they change no window, and name events by their number


class SessionFacts(msgspec.Struct, frozen=True):
    """What a replay has to know besides the log: the model, and what stands in every request.

    `fixed_tokens` are those of system prompt and tools, `ratio` the model's tokens per token of ours until
    its first report.
    """

    info: ModelInfo
    fixed_tokens: int = 0
    ratio: float = 1.0


def facts_of(window: SessionWindow, transcript: Transcript) -> SessionFacts:
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
        """Return what is replayed of the next events."""
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


class OutputForms:
    """Gives outputs the form that a policy would have given them; previews are made once for all policies."""

    def __init__(self, counter: TokenCounter) -> None:
        self._intake = Intake(counter)
        self._previews: dict[tuple[str, int, int], ToolAnswered] = {}

    async def under(self, policy: ContextPolicy, output: ToolAnswered, window_size: int) -> ToolAnswered:
        """Return an output as it would come.

        What came in a short form and would not, has all its tokens, but only the names of the short form:
        the log has no others. For the same reason a preview may become shorter, but not longer.
        """
        more, may_shorten = omitted_tokens(output), may_be_shortened(output)
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
