"""Subagents: the tool that delegates, their conversations, and how they are watched."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Protocol, TypeVar, get_args

import msgspec

from helix_desktop.agent.context_window import ContextWindow
from helix_desktop.agent.ports import Model, Tools
from helix_desktop.agent.session import (
    ApprovalRequested,
    CallStarted,
    ErrorRaised,
    EventRecorded,
    QuestionAsked,
    Session,
    SubagentActivity,
    SubagentProgress,
    SummaryAwaited,
    TurnChanged,
)
from helix_desktop.agent.tool_calls.approvals import UserAsk, UserReply
from helix_desktop.context.log.running_calls import running_target
from helix_desktop.context.policy_numbers import ContextPolicy, policy_fields
from helix_desktop.domain.errors import SubagentFailed, ToolError
from helix_desktop.domain.events.conversation import AssistantSpoke, SubagentStarted, TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import (
    NEW_TITLE,
    EffortChosen,
    ModelChosen,
    ModelRole,
    SessionStarted,
)
from helix_desktop.domain.messages import ModelInfo, StopReason, ToolCall, ToolSpec, TurnOutcome
from helix_desktop.domain.question import Question
from helix_desktop.domain.text_format import title_line
from helix_desktop.domain.tool_arguments import Arguments, parse, schema
from helix_desktop.domain.tools import (
    STOPPED,
    TURN_ENDED,
    ApprovalRequest,
    OutputCallback,
    SubagentUsage,
    ToolResult,
    ignore_output,
)

Ask = TypeVar("Ask", bound=UserAsk)
_ENDED_PHASES = get_args(TurnOutcome)


class SubagentConversation(Protocol):
    session: Session
    window: ContextWindow

    @property
    def asks(self) -> list[UserAsk]: ...

    @property
    def model(self) -> ModelInfo: ...

    async def start(self, task: str) -> None:
        """Send it its task; return once that is recorded."""
        ...

    def answer(self, call_id: str, reply: UserReply) -> bool: ...

    async def stop(self) -> None: ...

    async def close(self) -> None: ...


_Reported = (
    ApprovalRequested
    | QuestionAsked
    | EventRecorded
    | CallStarted
    | ErrorRaised
    | SummaryAwaited
    | TurnChanged
)


class SubagentMonitor:
    """The observer of one subagent that reports its progress to the parent session.

    `ended` is set when its turn is over; `should_run` is True until its parent stops it. `last_progress` is
    the newest report.
    """

    def __init__(self, subagent: SubagentConversation, parent: Session, call_id: str) -> None:
        self.subagent = subagent
        self._parent = parent
        self._call_id = call_id
        self.ended = asyncio.Event()
        self.should_run = True
        self.error: ErrorRaised | None = None
        self.last_progress: SubagentProgress | None = None
        self._tool = ""
        self._started_at_ms = 0
        self._is_full = False
        self._unsubscribe = subagent.session.on(_Reported, self._on_update)

    def _on_update(self, update: _Reported) -> None:
        match update:
            case ApprovalRequested(ask=ask):
                self.report("waiting")
                self._parent.publish(ApprovalRequested(as_parent_ask(self.subagent, ask)))
            case QuestionAsked(ask=question):
                self.report("waiting")
                self._parent.publish(QuestionAsked(as_parent_ask(self.subagent, question)))
            case EventRecorded(recorded=RecordedEvent(event=TurnEnded(how=how))):
                self.report(how)
            case EventRecorded(recorded=RecordedEvent(at=at, event=UserSpoke())):
                self._started_at_ms = self._started_at_ms or at
                self.report(self._activity())
            case EventRecorded(recorded=RecordedEvent(event=SessionStarted())):
                pass  # it may have to wait for a slot first
            case CallStarted(call=call):
                target = running_target(call, self.subagent.session.transcript)
                self._tool = f"{call.name} {target}".strip()
                self.report(self._activity())
            case EventRecorded():
                self.report(self._activity())
            case ErrorRaised() as error:
                self._on_error(error)
            case SummaryAwaited(is_active=is_active):
                self._is_full = is_active
                self.report(self._activity())
                title = self.subagent.session.transcript.title or NEW_TITLE
                self._parent.publish(SummaryAwaited(is_active, title))
            case TurnChanged(running=False):
                self.ended.set()
            case _:
                pass

    def _on_error(self, error: ErrorRaised) -> None:
        if error.is_warning:
            self._parent.publish(error)
        else:
            self.error = error

    def close(self) -> None:
        """Unsubscribe; report the end even if it could not be recorded."""
        if self.subagent.session.log and (
            self.last_progress is None or self.last_progress.phase not in _ENDED_PHASES
        ):
            self.report("failed" if self.error else "stopped")
        self._unsubscribe()

    def _activity(self) -> SubagentActivity:
        if self.subagent.asks:
            return "waiting"
        if self._is_full:
            return "full"
        return "working" if self.subagent.session.transcript.open_calls else "thinking"

    def report(self, phase: SubagentActivity | TurnOutcome) -> None:
        """Publish the subagent's progress in the parent session, if it has changed."""
        session = self.subagent.session
        transcript = session.transcript
        _, gauge = self.subagent.window.measure()
        progress = SubagentProgress(
            session.id,
            phase,
            gauge.used,
            gauge.window,
            transcript.messages.steps,
            transcript.title,
            self._call_id,
            self._tool,
            transcript.spending.tokens,
            transcript.spending.cost,
            self._started_at_ms,
            transcript.spending.estimated,
        )
        if progress != self.last_progress:
            self.last_progress = progress
            self._parent.publish(progress)


def as_parent_ask(subagent: SubagentConversation, ask: Ask) -> Ask:
    """Return a subagent's approval request or question as its parent's, with a unique id.

    Two models may give two calls the same id, so the session id is part of it.
    """
    session = subagent.session
    asker = session.transcript.title or NEW_TITLE
    return msgspec.structs.replace(ask, call_id=f"{session.id}/{ask.call_id}", subagent_title=asker)


MAX_PARALLEL_SUBAGENTS = 4
"""How many subagents of one conversation work at the same time; the others wait for a slot."""

_CUT_OFF: dict[StopReason, str] = {
    "length": "it reached the limit of tokens for one answer",
    "context": "the context window of its model was full",
    "filter": "the provider's content filter ended it",
    "refusal": "its model refused to continue",
    "paused": "the provider paused it",
    "malformed": "the server couldn't read its model's tool call",
    "written-call": "its model wrote a tool call as text, and nothing ran",
    "no-call": "it ended for a tool call, and none came",
    "no-end-mark": "its server didn't mark the end, so something may be missing",
}
"""Why the answer that a parent gets is not whole."""


class SubagentResult(msgspec.Struct, frozen=True):
    """A subagent's result: its session, its last text, its number of model calls, how it ended.

    `tokens` is input plus output, as the provider reported it or else by our count, which `estimated` says;
    `cost` is in US dollars. `stop` is why its last answer ended.
    """

    session_id: str
    text: str
    steps: int
    tokens: int
    ended: TurnOutcome
    cost: float = 0.0
    estimated: bool = False
    stop: StopReason = "end"

    @property
    def output(self) -> ToolResult:
        calls = "1 model call" if self.steps == 1 else f"{self.steps} model calls"
        parts = [self.text, f"[The subagent's log: session {self.session_id}, {calls}]"]
        if self.ended != "done":
            parts.insert(0, self._stopped_text)
        elif reason := _CUT_OFF.get(self.stop):
            parts.insert(0, f"[The subagent's answer is not whole: {reason}. Delegate what is missing.]")
        text = "\n\n".join(part for part in parts if part)
        return ToolResult(
            text.encode("utf-8", "surrogatepass"),
            self.ended == "done",
            subagent=self.session_id,
            delegated=SubagentUsage(self.ended, self.steps, self.tokens, self.cost, self.estimated),
        )

    @property
    def _stopped_text(self) -> str:
        parts = ["The subagent was stopped before it was done."]
        if self.ended == "stopped":
            parts.append("Ask the user what to do instead, or go on without it.")
        if self.text:
            parts.append("Its last words:")
        return " ".join(parts)


class SubagentFactory(msgspec.Struct, frozen=True):
    """Creates and releases the conversations of one session's subagents.

    `create` returns one without a log; default: the workspace's policy and the model of the role. `release`
    takes the session of a subagent that has ended. `policy` returns what the workspace's policy says for
    subagents; None: they share it.
    """

    create: Callable[[ContextPolicy | None, Model | None, ModelRole], Awaitable[SubagentConversation]]
    release: Callable[[str], Awaitable[None]]
    policy: Callable[[], ContextPolicy | None]


class SubagentRunner:
    """The subagents of one conversation. None outlives the turn that started it."""

    def __init__(self, session: Session, factory: SubagentFactory | None) -> None:
        """`factory` is None if the session is a subagent's itself: then every task is refused."""
        self._session = session
        self._factory = factory
        self._running: dict[str, SubagentMonitor] = {}
        self._slots = asyncio.Semaphore(MAX_PARALLEL_SUBAGENTS)
        self.canceled_as: TurnOutcome = (
            "stopped"  # the outcome of canceled subagents; closing the app sets "interrupted"
        )

    async def run(
        self,
        task: str,
        policy: ContextPolicy | None = None,
        model: Model | None = None,
        title: str = "",
        call_id: str = "",
        role: ModelRole = "main",
    ) -> SubagentResult:
        """Run a task in a session of its own; `call_id` is the id of the call that started it.

        While MAX_PARALLEL_SUBAGENTS run, it waits for a slot and reports "queued".

        Canceling stops the subagent, and ends once its log is closed; with the message STOPPED or
        TURN_ENDED, what it did until then is the result. Raises SubagentFailed with the session of its log;
        ToolError without a task, or where subagents are not allowed; StoreError.
        """
        factory = self._factory
        if factory is None:
            raise ToolError(
                "A subagent cannot start subagents.",
                "Only the session that a user works in can.",
                "Do this part yourself, or end with what is left to do.",
            )
        if not task.strip():
            raise ToolError("The subagent was given no task.", fix="Say what to do and what to bring back.")
        policy = policy or factory.policy()
        subagent = await factory.create(policy, model, role)
        monitor = self._running[subagent.session.id] = SubagentMonitor(subagent, self._session, call_id)
        try:
            await self._begin(
                subagent, title_line(" ".join(title.split())) or NEW_TITLE, call_id, role, policy
            )
            async with self._slot(monitor):
                if monitor.should_run:
                    await subagent.start(task)
                    await monitor.ended.wait()
        except asyncio.CancelledError as canceled:
            if not subagent.session.log or canceled.args not in ((STOPPED,), (TURN_ENDED,)):
                raise
        finally:
            release = self._session.scope.start(
                self._release(factory, monitor), f"subagent {subagent.session.id}"
            )
            await asyncio.shield(release)
        return _outcome(subagent, monitor.error)

    async def _begin(
        self,
        subagent: SubagentConversation,
        title: str,
        call_id: str,
        role: ModelRole,
        policy: ContextPolicy | None,
    ) -> None:
        """Record the start in its own log, and in the parent's log for the call that started it."""
        policy_overrides = policy_fields(policy) if policy is not None else {}
        await subagent.session.record(
            SessionStarted(title, self._session.id, call_id, role, policy_overrides)
        )
        chosen_label = self._session.transcript.chosen_model
        if (
            chosen_label and subagent.model.label == chosen_label
        ):  # so that it keeps the model when opened later
            await subagent.session.record(ModelChosen(chosen_label))
        chosen_effort = self._session.transcript.chosen_effort
        if chosen_effort and role == "main":
            await subagent.session.record(EffortChosen(chosen_effort))
        if call_id:
            display_title = "" if title == NEW_TITLE else title
            await self._session.record(SubagentStarted(call_id, subagent.session.id, display_title, role))

    @asynccontextmanager
    async def _slot(self, monitor: SubagentMonitor) -> AsyncIterator[None]:
        if self._slots.locked():
            monitor.report("queued")
        async with self._slots:
            yield

    async def _release(self, factory: SubagentFactory, monitor: SubagentMonitor) -> None:
        subagent = monitor.subagent
        if not monitor.ended.is_set():
            await self._end(subagent)
        monitor.close()
        del self._running[subagent.session.id]
        await factory.release(subagent.session.id)

    async def _end(self, subagent: SubagentConversation) -> None:
        await (subagent.stop() if self.canceled_as == "stopped" else subagent.close())

    async def stop(self) -> None:
        """Stop all running subagents; return once their logs are closed."""
        for monitor in tuple(self._running.values()):
            monitor.should_run = False
            await self._end(monitor.subagent)

    @property
    def session_ids(self) -> tuple[str, ...]:
        return tuple(self._running)

    @property
    def progress(self) -> list[SubagentProgress]:
        """The progress of each running subagent, oldest first."""
        return [
            monitor.last_progress for monitor in self._running.values() if monitor.last_progress is not None
        ]

    @property
    def asks(self) -> list[UserAsk]:
        """The open approval requests and questions of subagents' calls, under unique ids."""
        return [request for request, _, _ in self._open_requests()]

    def answer(self, call_id: str, reply: UserReply) -> bool:
        for request, subagent, ask in self._open_requests():
            if request.call_id == call_id:
                return subagent.answer(ask.call_id, reply)
        return False

    def _open_requests(self) -> Iterator[tuple[UserAsk, SubagentConversation, UserAsk]]:
        for monitor in self._running.values():
            for ask in monitor.subagent.asks:
                yield as_parent_ask(monitor.subagent, ask), monitor.subagent, ask


def _outcome(subagent: SubagentConversation, error: ErrorRaised | None) -> SubagentResult:
    log = subagent.session.log
    session_id = subagent.session.id
    spent = subagent.session.transcript.spending
    ended = next(
        (recorded.event for recorded in reversed(log) if isinstance(recorded.event, TurnEnded)), None
    )
    if ended is None:  # not recorded, or the turn never started
        ended = TurnEnded("stopped")
        if error is not None:
            ended = TurnEnded("failed", error.what, error.why, error.fix, details=error.details)
    if ended.how == "failed":
        why = " ".join(part for part in (ended.what, ended.why, ended.details) if part)
        fix = " ".join(part for part in (ended.fix, f"Its log is session {session_id}.") if part)
        steps = subagent.session.transcript.messages.steps
        usage = SubagentUsage("failed", steps, spent.tokens, spent.cost, spent.estimated)
        raise SubagentFailed("The subagent could not do its task.", session_id, why, fix, usage)
    responses = [recorded.event for recorded in log if isinstance(recorded.event, AssistantSpoke)]
    text = next((response.text for response in reversed(responses) if response.text.strip()), "")
    stop = responses[-1].stop if responses else "end"
    return SubagentResult(
        session_id, text, len(responses), spent.tokens, ended.how, spent.cost, spent.estimated, stop
    )


DELEGATE = "delegate"
"""The name of the tool that starts subagents; subagents do not have it."""


class DelegateArguments(Arguments, frozen=True):
    task: str
    title: str = ""
    model: ModelRole = "main"


def delegate_spec(description: str, argument_descriptions: Mapping[str, str]) -> ToolSpec:
    return ToolSpec(DELEGATE, description, schema(DelegateArguments, argument_descriptions))


class DelegatingTools:
    """The tools of a conversation, followed by `delegate`.

    Starting a subagent needs no approval: it changes nothing by itself, and its calls ask for approval in the
    chat of the session that started it.
    """

    def __init__(self, tools: Tools, spec: ToolSpec, subagents: SubagentRunner) -> None:
        self._tools = tools
        self._spec = spec
        self._subagents = subagents

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return (*self._tools.specs, self._spec)

    async def approval(self, call: ToolCall) -> ApprovalRequest | Question | None:
        return None if call.name == DELEGATE else await self._tools.approval(call)

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """Run a call; of a subagent, only the result is returned. Raises ToolError."""
        if call.name != DELEGATE:
            return await self._tools.run(call, on_output)
        args = parse(DELEGATE, call.arguments, DelegateArguments)
        result = await self._subagents.run(args.task, title=args.title, call_id=call.id, role=args.model)
        return msgspec.structs.replace(result.output, target=args.title)


class SubagentTools:
    """A workspace's tools without the one that starts subagents."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(spec for spec in self._tools.specs if spec.name != DELEGATE)

    async def approval(self, call: ToolCall) -> ApprovalRequest | Question | None:
        _refuse(call)
        return await self._tools.approval(call)

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        _refuse(call)
        return await self._tools.run(call, on_output)


def _refuse(call: ToolCall) -> None:
    if call.name == DELEGATE:
        raise ToolError("A subagent cannot start subagents.", fix="Do this part yourself.")
