"""A session: the only place that records events: apply, store, then append to the log and publish."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import takewhile
from types import MappingProxyType, UnionType
from typing import Any, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from helix_desktop.agent.model_roles import ModelRoles, RunSettingsSource
from helix_desktop.agent.ports import Store, TokenCounter
from helix_desktop.agent.shown_events import OnStored, ShownEvents
from helix_desktop.agent.trust import FindPolicyError, require_policy
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import ContextPolicy, managed_window
from helix_desktop.context.window.provider_cache import cache_prices, layer_ends, measured_gaps, prefers_long
from helix_desktop.context.window.used_tokens import count_window, used_tokens
from helix_desktop.context.window.window import PromptFrame, Window
from helix_desktop.domain.builtin_tools import BUILTIN_TOOLS
from helix_desktop.domain.choices import SentEffort
from helix_desktop.domain.cost import CostEstimate, Spending, SpendRequest, unused_calls
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import (
    HelixError,
    ModelNotChosen,
    StoreError,
    StoreLocked,
    StoreWriteFailed,
)
from helix_desktop.domain.events.conversation import (
    ApprovalGiven,
    AssistantSpoke,
    ToolAnswered,
    TurnEnded,
    TurnRetried,
    UserSpoke,
)
from helix_desktop.domain.events.foreign import ForeignRecords
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.summary import SavedHandoverDraft
from helix_desktop.domain.listeners import TypedListeners
from helix_desktop.domain.messages import (
    CacheHints,
    ModelInfo,
    ModelRequest,
    RetryScheduled,
    ToolCall,
    TurnOutcome,
)
from helix_desktop.domain.question import ASK_USER, UNANSWERED, Question
from helix_desktop.domain.store import Commit, Content, Draft, PartialOutput, SessionSummary, is_no_use
from helix_desktop.domain.tools import ApprovalRequest
from helix_desktop.domain.translatable_text import OptionalText, TextContext
from helix_desktop.system.clock import ClockMs, WaitSeconds
from helix_desktop.system.task_scope import TaskScope

_text = TextContext("Agent")

Phase = Literal["idle", "read", "summarize", "check", "write"]
SubagentActivity = Literal["queued", "thinking", "working", "waiting", "full"]


class EventRecorded(msgspec.Struct, frozen=True):
    """An event stands in the log; it `is_stored`, or it is shown and stored with the next act of the user."""

    recorded: RecordedEvent
    is_stored: bool = True


class ShownEventsStored(msgspec.Struct, frozen=True):
    """Events that were only shown since the session was opened are stored now."""

    recorded: tuple[RecordedEvent, ...]


class ModelCalled(msgspec.Struct, frozen=True):
    """A request went to the model; nothing of its answer is there yet."""


class ResponseDelta(msgspec.Struct, frozen=True):
    text: str
    is_reasoning: bool = False


class ApprovalRequested(msgspec.Struct, frozen=True):
    ask: ApprovalRequest


class QuestionAsked(msgspec.Struct, frozen=True):
    ask: Question


class AutoRunPut(msgspec.Struct, frozen=True):
    """The user restored what was taken back of calls (`restore`), or took it back; by its ids."""

    change_ids: tuple[str, ...]
    restore: bool


class CallStarted(msgspec.Struct, frozen=True):
    call: ToolCall


class CallOutput(msgspec.Struct, frozen=True):
    call_id: str
    text: str


class TurnChanged(msgspec.Struct, frozen=True):
    running: bool


class RetryEnded(msgspec.Struct, frozen=True):
    """The model answers again: no repetition of its call is pending."""


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
    """The forms of large outputs are being chosen, or extracts written.

    `call_ids` are the calls that returned them; none when done.
    """

    call_ids: tuple[str, ...] = ()

    @property
    def text(self) -> OptionalText:
        """The display text; empty when done."""
        if not self.call_ids:
            return ""
        return _text.plural(len(self.call_ids), "Shortening %n large output…", "Shortening %n large outputs…")


class ObservationProgress(msgspec.Struct, frozen=True):
    """Observations, or a reflection, entered a phase; `text` and `estimate` as in CompactionProgress.

    `turns` are those of the messages that they are about. `is_early`: nothing waits for them, and nobody
    asked for them.
    """

    phase: Phase
    text: str = ""
    estimate: CostEstimate | None = None
    turns: OptionalText = ""
    is_early: bool = False


class PreparationProgress(msgspec.Struct, frozen=True):
    """A checkpoint or a title is being written beside the turns; without an `estimate` it no longer is."""

    work: Literal["checkpoint", "title"]
    estimate: CostEstimate | None = None


class SpendRequestsChanged(msgspec.Struct, frozen=True):
    requests: tuple[SpendRequest, ...]


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
    """A session's next request changed without an event: its model, tools or policy, or a save failed."""


class ToolsRefused(msgspec.Struct, frozen=True):
    """The server of a session's model refused tools of MCP servers: they leave its requests."""


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
        is_unsaved = isinstance(error, StoreWriteFailed)
        return cls(
            error.what, error.why, error.fix, error.remedies, is_unsaved=is_unsaved, details=error.details
        )


Update = (
    ErrorRaised
    | EventRecorded
    | ShownEventsStored
    | ModelCalled
    | ResponseDelta
    | RetryScheduled
    | RetryEnded
    | ApprovalRequested
    | QuestionAsked
    | AutoRunPut
    | CallStarted
    | CallOutput
    | TurnChanged
    | CompactionProgress
    | SummaryAwaited
    | ObservationProgress
    | PreparationProgress
    | SpendRequestsChanged
    | IntakeProgress
    | SubagentProgress
    | SideQuestionProgress
    | RequestChanged
    | ToolsRefused
    | ExternalChange
)
T = TypeVar("T")
_DEMO = "demo/"


INTERRUPTED = (
    "The app stopped before this call's result was recorded. It may or may not have taken effect: check "
    "before repeating it."
)

_UNANSWERED_TEXTS = {
    "stopped": "The user stopped the turn before this call ended.",
    "failed": "The turn failed before this call ended. It may or may not have taken effect.",
}
_SUBAGENT_TEXTS = {
    "failed": "The turn failed before the subagent ended. What it changed until then stays changed.",
    "interrupted": "The app stopped before the subagent ended. What it changed until then stays changed: "
    "check the files before you delegate again.",
}
_NOT_RUN = "This call did not run: "
_NOT_RUN_TEXTS = {
    "stopped": f"{_NOT_RUN}the user stopped the turn while it waited for approval.",
    "failed": f"{_NOT_RUN}the turn failed while it waited for approval.",
    "interrupted": f"{_NOT_RUN}the app stopped while it waited for approval.",
}


class ModelChange(msgspec.Struct, frozen=True):
    """A change of models that the user has to agree to; `label` is the model that the session had.

    `is_chosen` is True if that one was chosen for this session, else it gave the last answer.
    `is_configured` is True if it is set up here.
    """

    label: str
    is_chosen: bool
    is_configured: bool


def pending_change(
    transcript: Transcript, now: ModelInfo, accepted: str, is_configured: Callable[[str], bool]
) -> ModelChange | None:
    """Return the change that the user has to agree to before `now` answers; None if there is none.

    `accepted` is the label of a model that the user agreed to, besides the one on record. A running turn goes
    on. Subagents work with the model of a role, so for them only a choice counts.
    """
    if transcript.turn_open or now.label in (accepted, transcript.accepted_model):
        return None
    label = transcript.chosen_model
    last = transcript.last_model
    if label:
        return ModelChange(label, True, is_configured(label)) if label != now.label else None
    if now.demo and not last:  # any other model goes on with another agent's session
        last = transcript.foreign_model
    if transcript.parent or last in ("", now.label) or last.startswith(_DEMO):
        return None
    is_here = is_configured(last)
    return ModelChange(last, False, is_here) if now.demo or not is_here else None


class ModelChoice:
    """Whether the session's model may answer now, or the user has to decide or mend something first.

    `is_overridden` returns True while one model answers in every session, whatever was chosen.
    """

    def __init__(
        self,
        session: Session,
        is_configured: Callable[[str], bool] = lambda _: True,
        is_overridden: Callable[[], bool] = lambda: True,
        find_policy_error: FindPolicyError = lambda: None,
    ) -> None:
        self._session = session
        self._is_configured = is_configured
        self._is_overridden = is_overridden
        self._find_policy_error = find_policy_error
        self._accepted = ""

    @property
    def pending(self) -> ModelChange | None:
        """The change of models that the user has to agree to; None if the model may answer."""
        if self._is_overridden():
            return None
        info = self._session.frame.info
        return pending_change(self._session.transcript, info, self._accepted, self._is_configured)

    def accept(self) -> None:
        """Let the model that would answer now go on, as long as this session is open."""
        self._accepted = self._session.frame.info.label

    @property
    def may_answer(self) -> bool:
        """Return True if `require` raises nothing."""
        return self.pending is None and self._find_policy_error() is None

    def require(self) -> None:
        """Raise ModelNotChosen while the user has to agree to a change, SettingsDamaged of the policy."""
        require_policy(self._find_policy_error)
        change = self.pending
        if change is not None:
            raise ModelNotChosen(change.label, is_chosen=change.is_chosen)


class UnusedCalls:
    """Records what calls of one session spent whose answers are not used, as of canceled summaries.

    What the disk refuses is recorded after the next event that it takes.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._unrecorded = Spending()
        self._unrecorded_draft: SavedHandoverDraft | None = None
        session.on(EventRecorded, self._record_with_next)

    async def record(self, spent: Spending, draft: SavedHandoverDraft | None = None) -> None:
        """Record what was spent, with the draft of a handover that the user left.

        Does nothing if there is neither. Raises StoreError.
        """
        total = self._unrecorded + spent
        self._unrecorded = Spending()
        draft = draft or self._unrecorded_draft
        self._unrecorded_draft = None
        if not total.tokens and draft is None:
            return
        try:
            discarded = replace(unused_calls(total), draft=draft)
            await self._session.record(discarded)
        except StoreError as error:
            self._unrecorded += total
            self._unrecorded_draft = self._unrecorded_draft or draft
            if not isinstance(error, StoreWriteFailed):
                raise
            raise StoreWriteFailed(
                _text("A summary wasn't used. The conversation is unchanged. The cost isn't saved yet."),
                error.why or error.what,
                _text("Free up disk space. The cost is saved with the next change of the conversation."),
            ) from error

    def _record_with_next(self, _: EventRecorded) -> None:
        if self._unrecorded.tokens or self._unrecorded_draft:
            self._session.scope.start(self._record_again(), f"unused calls {self._session.id}")

    async def _record_again(self) -> None:
        with suppress(StoreError):  # it is tried again after the next event
            await self.record(Spending())


class Session:
    """One session: its log and what follows from it, the settings it works with, and who follows it.

    While events are being stored, the transcript has them already and the log has not; if the store refuses
    them, the transcript is again as the log says. `drain` waits for that. What is only `shown` stands in
    both, and is stored with what is recorded next.

    `prompts` are by name, `prompt_versions` says the version of each that events record.
    """

    def __init__(
        self,
        session_id: str,
        store: Store,
        counter: TokenCounter,
        clock: ClockMs,
        scope: TaskScope,
        log: list[RecordedEvent],
        transcript: Transcript,
        settings: RunSettingsSource,
        ratios: Mapping[str, float] = MappingProxyType({}),
        prompts: Mapping[str, str] = MappingProxyType({}),
        prompt_versions: Mapping[str, str] = MappingProxyType({}),
        wait_s: WaitSeconds = asyncio.sleep,
    ) -> None:
        """`transcript` is the reduction of `log`; the session owns both from now on.

        `ratios` are those measured in it so far.
        """
        self.id = session_id
        self.counter = counter
        self.clock = clock
        self.scope = scope
        self.wait_s = wait_s
        self.prompts = prompts
        self.prompt_versions = prompt_versions
        self.model_choice = ModelChoice(self)
        self.log = log
        self.transcript = transcript
        self.shown = ShownEvents()
        self._is_showing = False
        self._has_recorded = False
        self._is_failing = False  # whether the newest events were refused by the store
        self.ratios = dict(ratios)
        self.seen_interruption = 0  # the newest end of an interrupted turn that the user knows of
        self.settings = settings
        self.has_budget: Callable[[Transcript], bool] = lambda _: False  # asked after a budget was spent
        self._store = store
        self._lock = asyncio.Lock()
        self._loaded_seq = transcript.last_seq
        self._pending: set[asyncio.Task[list[RecordedEvent] | HelixError]] = set()
        self._listeners = TypedListeners()
        self.unused = UnusedCalls(self)

    @property
    def policy(self) -> ContextPolicy:
        return self.settings()[0]

    @property
    def frame(self) -> PromptFrame:
        return self.settings()[1]

    @property
    def managed_window(self) -> int:
        """The tokens that the shares of the policy count from."""
        policy, frame, _ = self.settings()
        return managed_window(policy, frame.info.window)

    @property
    def roles(self) -> ModelRoles:
        return self.settings()[2]

    @property
    def effort(self) -> SentEffort:
        """The level of reasoning that requests to the main model ask for; empty: none, or it was refused."""
        info = self.frame.info
        level = info.fit_effort(self.transcript.chosen_effort or info.effort)
        return "" if self.transcript.refused_effort == (info.label, level) else level

    async def count_tokens(self, text: str) -> int:
        (tokens,) = await self.counter.count([text])
        return tokens

    def elapsed_ms(self, since_ms: int) -> int:
        """Return the milliseconds since a time; 0 if the clock was set back."""
        return max(0, self.clock() - since_ms)

    @property
    def failed_end(self) -> TurnEnded | None:
        """The newest turn's end if it failed; one for want of budget only until there is budget again."""
        return self._failed_end(self.transcript)

    def _failed_end(self, state: Transcript) -> TurnEnded | None:
        ended = state.failed_end
        is_over = ended is not None and ended.cause == "budget" and self.has_budget(state)
        return None if is_over else ended

    async def redacted_at(self, digest: str) -> int:
        """Return when the user redacted a content, in milliseconds since 1970; 0 if it was not redacted."""
        return await self._store.redaction.redacted_at(digest)

    async def record(
        self,
        *events: Event,
        contents: Sequence[Content] = (),
        recalls: Sequence[str] = (),
        ends_partial_answer: bool = False,
    ) -> list[RecordedEvent]:
        """Record events: applied, durable, published. Canceling the call does not undo or split that.

        Raises StoreError if the store failed; then nothing stays applied.
        """
        return await self.record_decided(lambda: events, contents, recalls, ends_partial_answer)

    async def record_decided(
        self,
        decide: Callable[[], Sequence[Event]],
        contents: Sequence[Content] = (),
        recalls: Sequence[str] = (),
        ends_partial_answer: bool = False,
    ) -> list[RecordedEvent]:
        """Record the events that `decide` returns under the lock; do nothing if it returns none.

        With `ends_partial_answer`, what was saved of an answer is deleted in the same commit.
        See `record`. Raises the HelixError that `decide` raises.
        """
        if self._is_showing:
            return await self._show(decide(), contents, recalls)
        return await self._finish(self._record(decide, contents, recalls, ends_partial_answer))

    @contextmanager
    def showing(self) -> Iterator[None]:
        """Only show what is recorded meanwhile: as the session is opened."""
        self._is_showing = True
        try:
            yield
        finally:
            self._is_showing = False

    async def _show(
        self, events: Sequence[Event], contents: Sequence[Content], recalls: Sequence[str]
    ) -> list[RecordedEvent]:
        now_ms = self.clock()
        shown = self.shown.add(self.log, self.transcript, events, now_ms, contents=contents, recalls=recalls)
        if contents:
            with suppress(StoreError):  # the process that owns the store may have ended: the log shows them
                await self._store.show_contents(self.id, self.shown.contents, now_ms)
        return shown

    async def hide_shown(self) -> None:
        """Let the store show nothing that it has not stored: the session is closed."""
        if self.shown.contents:
            with suppress(StoreError):  # as above
                await self._store.show_contents(self.id, (), 0)

    async def show_or_record(self, decide: Callable[[], Sequence[Event]], on_stored: OnStored) -> None:
        """Show events that a look found; record them if something was recorded since the session was opened.

        `on_stored` is called once they are stored, also if `decide` returns none. Raises StoreError.
        """
        shown = []
        async with self._lock:
            is_shown = not self._has_recorded
            if is_shown:
                shown = self.shown.add(self.log, self.transcript, decide(), self.clock())
                self.shown.call_when_stored(on_stored)
        for recorded in shown:
            self.publish(EventRecorded(recorded, is_stored=False))
        if not is_shown:
            await self.record_decided(decide)
            await on_stored()

    async def record_shown(self) -> None:
        """Store what is only shown, as for a branch of it. Raises StoreError."""
        if self.shown.events:
            await self._finish(self._record_shown())

    async def _finish(
        self, recording: Coroutine[Any, Any, list[RecordedEvent] | HelixError]
    ) -> list[RecordedEvent]:
        task = self.scope.start(recording, f"record {self.id}")
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)
        outcome = await asyncio.shield(task)
        if isinstance(outcome, HelixError):
            raise outcome
        return outcome

    async def drain(self) -> None:
        """Wait until every pending `record` has succeeded or failed, even if its caller was canceled."""
        while self._pending:
            await asyncio.wait(tuple(self._pending))

    async def _record(
        self,
        decide: Callable[[], Sequence[Event]],
        contents: Sequence[Content],
        recalls: Sequence[str],
        ends_partial_answer: bool,
    ) -> list[RecordedEvent] | HelixError:
        async with self._lock:
            try:
                events = decide()
            except HelixError as error:  # a value, not a failed task: the caller expects it
                return error
            if not (events or contents or recalls):
                return []
            now = self.clock()
            first = self.transcript.last_seq + 1
            recorded = [RecordedEvent(first + n, now, event) for n, event in enumerate(events)]
            used_at_ms = now if _is_use(events) else self._used_at_ms(now)
            # To copy it for each commit costs ever more; to read the log again on each refusal, too.
            before = self.transcript.fork() if self._is_failing else None
            try:
                for recorded_event in recorded:
                    self.transcript.apply(recorded_event)
                summary = self._summary(self.transcript, used_at_ms)
                commit = Commit(self.id, recorded, contents, recalls, summary, ends_partial_answer)
                await self._store.commit(self.shown.before(commit))
            except BaseException as error:
                if recorded:
                    self._is_failing = True
                    self.transcript.become(before or Transcript(self.log))
                    self.publish(RequestChanged())
                if isinstance(error, StoreLocked):  # another process writes the session: nothing has failed
                    return error
                raise
            self._is_failing = False
            self._has_recorded = True
            self.log += recorded
            self.ratios = summary.ratios
            stored = await self.shown.end()
        if stored:
            self.publish(ShownEventsStored(stored))
        for recorded_event in recorded:
            self.publish(EventRecorded(recorded_event))
        return recorded

    async def _record_shown(self) -> list[RecordedEvent] | HelixError:
        async with self._lock:
            summary = self._summary(self.transcript, self._used_at_ms(self.clock()))
            try:
                await self._store.commit(self.shown.before(Commit(self.id, summary=summary)))
            except StoreLocked as error:  # as above
                return error
            self._has_recorded = True
            stored = await self.shown.end()
        self.publish(ShownEventsStored(stored))
        return list(stored)

    def _used_at_ms(self, now_ms: int) -> int:
        """Return when the session was last used, not only moved in the list; now if it was not yet."""
        uses = (recorded.at for recorded in reversed(self.log) if _is_use((recorded.event,)))
        return next(uses, now_ms)

    def _summary(self, state: Transcript, used_at_ms: int) -> SessionSummary:
        """Return the session's summary for the session list, with usage counted as the gauge counts it."""
        policy, frame, _ = self.settings()
        count = count_window(state, policy, frame.info.window)
        answering = frame.info.label if state.messages.turns else ""
        failed_end = self._failed_end(state)
        return SessionSummary(
            id=self.id,
            title=state.title,
            created=state.created_at_ms or used_at_ms,
            updated=used_at_ms,
            messages=state.messages.counts().messages,
            calls=state.messages.counts().calls,
            used=used_tokens(count, frame),
            window=managed_window(policy, frame.info.window),
            model=state.last_model or answering,
            events=state.last_seq,
            parent=state.parent,
            ratios=self.ratios | {label: report.ratio for label, report in count.reported.items()},
            spent=state.spending.tokens,
            cost=state.spending.cost,
            count=count,
            origin=state.origin.origin if state.origin is not None else "",
            branch_of=state.branch.parent if state.branch is not None else "",
            branch_seq=state.branch.seq if state.branch is not None else 0,
            branch_how=state.branch.how if state.branch is not None else "",
            pinned=state.place.pinned,
            archived=state.place.archived,
            estimated=state.spending.estimated,
            unpriced=state.spending.unpriced,
            failure=(failed_end.what, failed_end.why) if failed_end is not None else (),
            budget_spent=failed_end is not None and failed_end.cause == "budget",
            stopped=state.was_stopped,
            interrupted=state.turn_open or state.interrupted_seq > self.seen_interruption,
        )

    async def require_writable(self) -> None:
        """Raise StoreError if nothing can be recorded: as while another process writes the session."""
        async with self._lock:
            await self._store.commit(Commit(self.id))

    async def close_interrupted(self, spent: Spending) -> bool:
        """Close calls and a turn that a crash or a failed save left open. Return True if there were any.

        `spent` is what the turn's requests cost that no answer is recorded for.
        """
        await self.drain()
        if not (self.transcript.turn_open or self.transcript.open_calls):
            return False
        is_imported = isinstance(self.log[-1].event, ForeignRecords)  # the records end there
        await self.close_calls("interrupted")
        later = takewhile(lambda recorded: recorded.seq > self._loaded_seq, reversed(self.log))
        began_here = any(isinstance(recorded.event, UserSpoke | TurnRetried) for recorded in later)
        interruption: Literal["", "unsaved", "crash"] = "unsaved"
        if not began_here:
            interruption = "" if is_imported else "crash"
        ended = TurnEnded(
            "interrupted",
            interruption=interruption,
            spent=spent.tokens,
            cost=spent.cost,
            unpriced=spent.unpriced if spent.tokens else None,
        )
        await self.end_turn(ended)
        return True

    async def draft(self) -> Draft:
        """Return what was saved for the session beside its log. Raise StoreError."""
        return await self._store.draft(self.id)

    async def save_partial_outputs(self, outputs: Sequence[PartialOutput]) -> None:
        """Save what running calls printed so far, for after a crash; empty: delete it. Raise StoreError.

        What is only shown stays saved.
        """
        save = partial(self._store.save_partial_outputs, self.id, outputs)
        if self._is_showing:
            self.shown.call_when_stored(save)
        else:
            await save()

    def is_unanswered(self, seq: int) -> bool:
        """Return True if the turn is open, and no answer was recorded in it after event `seq`."""
        later = takewhile(lambda recorded: recorded.seq > seq, reversed(self.log))
        return self.transcript.turn_open and not any(
            isinstance(recorded.event, AssistantSpoke | TurnEnded) for recorded in later
        )

    async def save_partial_answer(self, answer: AssistantSpoke | None) -> None:
        """Save what came so far of an answer, for after a crash; None: delete it. Raise StoreError.

        What is only shown stays saved.
        """
        if self._is_showing:
            return
        recorded = RecordedEvent(len(self.log), self.clock(), answer) if answer is not None else None
        await self._store.save_partial_answer(self.id, recorded)

    async def close_calls(self, reason: TurnOutcome) -> None:
        """Record an answer for every open call, so that the transcript stays valid.

        An output that arrived and was held gets its preview; other calls are recorded as interrupted, or as
        not run where they still waited for approval.
        """

        def answer(call: ToolCall) -> ToolAnswered:
            text = self._unanswered_text(call, reason)
            return self.transcript.pending_outputs.get(call.id) or ToolAnswered(
                call.id,
                call.name,
                text,
                "",
                0,
                30,
                30,
                first_line=text[:60],
                ok=False,
                outcome="interrupted",
                subagent=self.transcript.subagent_sessions.get(call.id, ""),
            )

        await self.record_decided(lambda: [answer(call) for call in self.transcript.open_calls.values()])

    def _unanswered_text(self, call: ToolCall, reason: TurnOutcome) -> str:
        if call.name == ASK_USER:
            return UNANSWERED
        builtin = BUILTIN_TOOLS.get(call.name)
        needs_approval = call.is_mcp or (builtin is not None and builtin.asks)
        if needs_approval and not self._was_decided(call.id):
            return _NOT_RUN_TEXTS.get(reason, _NOT_RUN_TEXTS["interrupted"])
        if call.id in self.transcript.subagent_sessions and reason in _SUBAGENT_TEXTS:
            return _SUBAGENT_TEXTS[reason]
        return _UNANSWERED_TEXTS.get(reason, INTERRUPTED)

    def _was_decided(self, call_id: str) -> bool:
        events = takewhile(
            lambda event: not isinstance(event, AssistantSpoke), (entry.event for entry in reversed(self.log))
        )  # open calls are those of the last answer
        return any(isinstance(event, ApprovalGiven) and event.call_id == call_id for event in events)

    async def end_turn(self, ended: TurnEnded) -> bool:
        """Record the end of the turn, once. Return True if a turn was open."""
        return bool(await self.record_decided(lambda: [ended] if self.transcript.turn_open else []))

    def on(self, kind: type[T] | UnionType, handler: Callable[[T], object]) -> Callable[[], None]:
        """Call `handler` with each update, or each recorded event, of a type or of one of a union.

        Call the returned function to unsubscribe.
        """
        return self._listeners.on(kind, handler)

    def publish(self, update: Update) -> None:
        """Send an update to who wants it; of a recorded event also to who wants that event."""
        event = (update.recorded.event,) if isinstance(update, EventRecorded) else ()
        self._listeners.notify(update, *event)


def did_not_run(model_text: str) -> bool:
    return model_text.startswith(_NOT_RUN)


def _is_use(events: Sequence[Event]) -> bool:
    """Return True if events, or contents without an event, are a use of the session."""
    return not events or not all(map(is_no_use, events))


_KEY_DIGITS = 16


def with_cache_hints(request: ModelRequest, window: Window, session: Session) -> ModelRequest:
    """Return a request that begins as a window does with what it asks of the provider's cache.

    It asks for the session's effort too: with another one a provider would not find what it has stored.
    """
    transcript = session.transcript
    info = session.frame.info
    next_input = round(window.estimate * session.frame.ratio)
    gaps = measured_gaps(transcript, info.label, session.clock(), next_input)
    tree = next(iter(transcript.ancestors), session.id)  # branches begin with what their parent has cached
    hints = CacheHints(
        key=digest_of(tree.encode())[:_KEY_DIGITS],
        ends=layer_ends(window, transcript, session.policy),
        keep_long=prefers_long(gaps, cache_prices(info)),
    )
    return replace(request, cache=hints, effort=session.effort)
