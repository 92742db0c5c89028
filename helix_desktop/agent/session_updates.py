"""Updates that a session sends its listeners. Recorded events must arrive; the rest may coalesce."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from helix_desktop.domain.choices import Remedy
from helix_desktop.domain.cost import CostEstimate, SpendRequest
from helix_desktop.domain.errors import HelixError, StoreWriteFailed
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.messages import ToolCall, TurnOutcome
from helix_desktop.domain.question import Question
from helix_desktop.domain.tools import ApprovalRequest
from helix_desktop.domain.translatable_text import OptionalText, TextContext

_text = TextContext("Agent")

Phase = Literal["idle", "read", "summarize", "check", "write"]
SubagentActivity = Literal["queued", "thinking", "working", "waiting", "full"]


class EventRecorded(msgspec.Struct, frozen=True):
    """An event was recorded."""

    recorded: RecordedEvent


class ModelCalled(msgspec.Struct, frozen=True):
    """A request went to the model; nothing of its answer is there yet."""


class ResponseDelta(msgspec.Struct, frozen=True):
    """A chunk of the model's answer."""

    text: str
    is_reasoning: bool = False


class ResponseReset(msgspec.Struct, frozen=True):
    """The partial answer is void: the call is repeated after `wait_s` seconds.

    It ends after `patience_s` seconds of failures; `remedies` are what the app can do about its error.
    """

    attempt: int
    wait_s: float
    reason: str
    patience_s: float = 0.0
    remedies: tuple[Remedy, ...] = ()


class ApprovalRequested(msgspec.Struct, frozen=True):
    """A call waits for the user's approval."""

    ask: ApprovalRequest


class QuestionAsked(msgspec.Struct, frozen=True):
    """A call waits for the user's reply to its question."""

    ask: Question


class AutoRunPut(msgspec.Struct, frozen=True):
    """The user restored what was taken back of calls (`restore`), or took it back; by its ids."""

    change_ids: tuple[str, ...]
    restore: bool


class CallStarted(msgspec.Struct, frozen=True):
    """An approved call started."""

    call: ToolCall


class CallOutput(msgspec.Struct, frozen=True):
    """A chunk of a running call's output."""

    call_id: str
    text: str


class TurnChanged(msgspec.Struct, frozen=True):
    """A turn started or ended."""

    running: bool


class CompactionProgress(msgspec.Struct, frozen=True):
    """A handover entered a phase; `text` is the summary so far.

    `estimate` is its cost estimate, once a model is called.
    """

    phase: Phase
    text: str = ""
    estimate: CostEstimate | None = None


class SummaryAwaited(msgspec.Struct, frozen=True):
    """The context is full: the next request waits for the summary being written, or no longer does.

    It is the session's own, or that of its subagent of this title.
    """

    is_active: bool
    subagent_title: str = ""


class IntakeProgress(msgspec.Struct, frozen=True):
    """The forms of large outputs are being chosen ("ask"), or extracts written ("extract").

    `call_ids` are the calls that returned them; "idle" means done.
    """

    phase: Literal["idle", "ask", "extract"]
    call_ids: tuple[str, ...] = ()

    @property
    def text(self) -> OptionalText:
        """The display text of the phase; empty when idle."""
        count = len(self.call_ids)
        match self.phase:
            case "ask":
                return _text.plural(
                    count, "Choosing how to keep %n large output…", "Choosing how to keep %n large outputs…"
                )
            case "extract":
                return _text.plural(
                    count, "Extracting from %n large output…", "Extracting from %n large outputs…"
                )
        return ""


class ObservationProgress(msgspec.Struct, frozen=True):
    """Observations, or a reflection, entered a phase; `text` and `estimate` as in CompactionProgress."""

    phase: Phase
    text: str = ""
    estimate: CostEstimate | None = None


class SpendRequestsChanged(msgspec.Struct, frozen=True):
    """The open spend requests of background work changed to these."""

    requests: tuple[SpendRequest, ...]


class SpendDecided(msgspec.Struct, frozen=True):
    """In an unattended run, the budget decided a spend request of background work."""

    request: SpendRequest
    allowed: bool


class SubagentProgress(msgspec.Struct, frozen=True):
    """A subagent's progress, sent to its parent's listeners. `session_id` is the subagent's session.

    `phase`: it waits for a slot, calls its model, runs tools, waits for the user, waits for the summary that
    makes room in its full context, or has ended. `used` counts
    the tokens of its next request, `window` those that fit. `call_id` is the call that started it,
    `current_tool` its newest tool call, `spent_tokens` its tokens in and out, `cost` in US dollars
    (`estimated`: some of both by our count), `started_at_ms` when it got its task (milliseconds since 1970;
    0: not yet).
    """

    session_id: str
    phase: SubagentActivity | TurnOutcome
    used: int
    window: int
    steps: int
    title: str = ""
    call_id: str = ""
    current_tool: str = ""
    spent_tokens: int = 0
    cost: float = 0.0
    started_at_ms: int = 0
    estimated: bool = False


class SideQuestionProgress(msgspec.Struct, frozen=True):
    """A side question is being answered: `answer` is what came so far. Not running: none is."""

    question: str = ""
    answer: str = ""
    is_running: bool = False


class RequestChanged(msgspec.Struct, frozen=True):
    """The model, the tools or the policy of a session's next request changed; nothing was recorded."""


class ExternalChange(msgspec.Struct, frozen=True):
    """Another process stored something in this session; without a session id, in any."""


class ErrorRaised(msgspec.Struct, frozen=True):
    """An error that could not be recorded as an event; `is_warning`: the work goes on all the same.

    `is_unsaved`: nothing could be saved. It is over with the next event that is recorded.
    """

    what: str
    why: str = ""
    fix: str = ""
    remedies: tuple[str, ...] = ()
    is_warning: bool = False
    is_unsaved: bool = False
    details: str = ""

    @classmethod
    def from_error(cls, error: HelixError) -> ErrorRaised:
        """Return what an error says."""
        is_unsaved = isinstance(error, StoreWriteFailed)
        return cls(
            error.what, error.why, error.fix, error.remedies, is_unsaved=is_unsaved, details=error.details
        )


Update = (
    ErrorRaised
    | EventRecorded
    | ModelCalled
    | ResponseDelta
    | ResponseReset
    | ApprovalRequested
    | QuestionAsked
    | AutoRunPut
    | CallStarted
    | CallOutput
    | TurnChanged
    | CompactionProgress
    | SummaryAwaited
    | ObservationProgress
    | SpendRequestsChanged
    | SpendDecided
    | IntakeProgress
    | SubagentProgress
    | SideQuestionProgress
    | RequestChanged
    | ExternalChange
)
Listener = Callable[[Update], None]
