"""The tool runner: approves, runs, stores and records the calls of one step; running ones can be stopped."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import msgspec

from helix_desktop.agent.change_recorder import ChangeRecorder
from helix_desktop.agent.compaction.rewriter import EarlyRewrites
from helix_desktop.agent.intake import Intake, ReceivedOutput
from helix_desktop.agent.intake_gate import HeldOutput, IntakeGate
from helix_desktop.agent.ports import Tools
from helix_desktop.agent.session import (
    ApprovalRequested,
    CallOutput,
    CallStarted,
    ErrorRaised,
    QuestionAsked,
    Session,
)
from helix_desktop.agent.tool_calls.approvals import (
    ApprovalOutcome,
    ApprovalService,
    AutoRunDecisions,
    UserAsk,
    named_changes,
)
from helix_desktop.agent.tool_calls.file_version_tracker import FileVersionTracker
from helix_desktop.context.log.file_notes import refused_edit
from helix_desktop.domain.answer_bounds import MAX_PART_BYTES
from helix_desktop.domain.builtin_tools import ToolKind
from helix_desktop.domain.deferred_tools import near_names, request_tools
from helix_desktop.domain.errors import HelixError, StoreError, SubagentFailed, ToolError, UnknownTool
from helix_desktop.domain.events.conversation import ApprovalGiven, ToolAnswered
from helix_desktop.domain.files.file_use import call_target, mcp_call_target, tool_kind
from helix_desktop.domain.messages import CALL_TOOL, FIND_TOOLS, ToolCall
from helix_desktop.domain.question import (
    CORRECTED,
    CORRECTED_ALONE,
    DENIED,
    DENIED_TOO,
    AskUser,
    Question,
    ServerQuestion,
    ServerReply,
    denial_reason,
    reply_text,
)
from helix_desktop.domain.redaction import redaction_mark
from helix_desktop.domain.store import PartialOutput
from helix_desktop.domain.text_format import ellipsize, format_bytes, one_line
from helix_desktop.domain.tools import (
    STOPPED,
    TURN_ENDED,
    AllowedCall,
    ApprovalRequest,
    PermissionRule,
    ProgressText,
    ToolResult,
)

log = logging.getLogger(__name__)

_REASON_CHARS = 200  # of why the user denied a call, in the first line of its result
_MAX_TAIL = 16_384  # characters kept of a call's latest output, for a view opened later
HALTED = "The user stopped this call before it had an answer. Ask what to do instead, or go on without it."


class RunningCall:
    """A running call; `started_at_ms` is in milliseconds since 1970, `tail` the end of its output so far.

    `share`: how much of it is done, from 0 to 1, if it says so.
    """

    def __init__(self, call: ToolCall, started_at_ms: int) -> None:
        self.call = call
        self.started_at_ms = started_at_ms
        self.tail = ""
        self.share: float | None = None
        self.stopped = self.is_cut_off = False  # by the user alone, or with its turn

    def append_output(self, text: str) -> None:
        self.tail = (self.tail + text)[-_MAX_TAIL:]
        if isinstance(text, ProgressText):
            self.share = text.share


class RunningCalls:
    """The running calls, from start to end. Stopping one does not affect its turn or other calls."""

    def __init__(self) -> None:
        self._running: dict[str, tuple[RunningCall, asyncio.Task[ToolResult]]] = {}
        self._is_step_stopped = False

    def find(self, call_id: str) -> RunningCall | None:
        running = self._running.get(call_id)
        return running[0] if running else None

    @property
    def running(self) -> tuple[RunningCall, ...]:
        """Return those that run now, the first started first."""
        return tuple(call for call, _ in self._running.values())

    async def run(self, running: RunningCall, work: Coroutine[Any, Any, ToolResult]) -> ToolResult:
        """Await a call's work. Raises what it raises; ToolError if it was stopped without a result.

        Canceling ends the work. If it has a result even so, that is returned, and the call `is_cut_off`.
        """
        if self._is_step_stopped:
            work.close()
            running.stopped = True
            raise ToolError(HALTED)
        key = running.call.id
        task = asyncio.create_task(work, name=f"call {key}")  # noqa: TID251 - awaited here, whatever happens
        self._running[key] = running, task
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            running.is_cut_off = True
            if not running.stopped:  # else it is ending already, and would lose its output
                task.cancel(TURN_ENDED)
            await _wait_for_end(task, task.cancel)
            if task.cancelled():
                raise
        finally:
            del self._running[key]
        if task.cancelled():
            raise ToolError(HALTED)
        return task.result()

    def stop(self, call_id: str) -> bool:
        """Stop one call; its output so far is its answer. Return False if it does not run."""
        running = self._running.get(call_id)
        if running is None or not running[1].cancel(STOPPED):
            return False
        running[0].stopped = True
        return True

    def begin_step(self) -> None:
        """Let calls run again after `stop_step`."""
        self._is_step_stopped = False

    def stop_step(self) -> None:
        """Stop all running calls; those that would start before `begin_step` aren't run."""
        self._is_step_stopped = True
        for call_id in tuple(self._running):
            self.stop(call_id)


async def run_to_end(work: Coroutine[Any, Any, None], on_cancel: Callable[[], object]) -> None:
    """Await work to its end, also when canceled: each cancel calls `on_cancel`, and is raised afterwards.

    Raises what the work raises.
    """
    task = asyncio.create_task(work)  # noqa: TID251 - awaited here, whatever happens
    is_canceled = await _wait_for_end(task, on_cancel)
    task.result()
    if is_canceled:
        raise asyncio.CancelledError


async def _wait_for_end(task: asyncio.Task[Any], on_cancel: Callable[[], object]) -> bool:
    """Wait until a task has ended; each cancel meanwhile calls `on_cancel`. Return True if one came."""
    is_canceled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            is_canceled = True
            on_cancel()
    return is_canceled


_SAVE_EVERY_S = 1.0  # quicker calls are never saved


class PartialOutputs:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._calls: dict[str, RunningCall] = {}
        self._saved: dict[str, str] | None = {}  # None: not known, for saving failed
        self._task: asyncio.Task[None] | None = None

    def start(self, running: RunningCall) -> None:
        """Save each second from now on, a call's output too, until `end`."""
        self._calls[running.call.id] = running
        if self._task is None or self._task.done():
            name = f"save outputs {self._session.id}"
            self._task = self._session.scope.start(self._save_each_second(), name)

    async def end(self) -> None:
        """Delete what was saved, but of calls whose answer could not be recorded."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        await self._save()

    async def read_unanswered(self) -> list[PartialOutput]:
        """Return what was saved of the outputs of calls that never had an answer."""
        try:
            saved = (await self._session.draft()).partial_outputs
        except StoreError as error:  # a damaged draft must not keep its session closed
            log.warning("what a crash left of outputs cannot be read: %s", error)
            return []
        self._saved = {output.call_id: output.text for output in saved}
        return [output for output in saved if self._is_unanswered(output.call_id)]

    def _is_unanswered(self, call_id: str) -> bool:
        transcript = self._session.transcript
        return call_id in transcript.open_calls and call_id not in transcript.pending_outputs

    async def _save_each_second(self) -> None:
        while True:
            await asyncio.sleep(_SAVE_EVERY_S)
            await self._save()

    async def _save(self) -> None:
        self._calls = {key: running for key, running in self._calls.items() if self._is_unanswered(key)}
        outputs = {key: running.tail for key, running in self._calls.items() if running.tail}
        if outputs == self._saved:
            return
        is_first_try = self._saved is not None
        self._saved = outputs  # also if this is canceled meanwhile: the store goes on
        elapsed_ms = self._session.elapsed_ms
        saved = [
            PartialOutput(key, text, elapsed_ms(self._calls[key].started_at_ms))
            for key, text in outputs.items()
        ]
        try:
            await self._session.save_partial_outputs(saved)
        except StoreError as error:  # the call goes on; recording its answer reports what is wrong
            self._saved = None
            if is_first_try:
                log.warning("the output of running calls was not saved: %s", error)


CUT_ARGUMENTS = (
    "This call did not run: its arguments did not arrive as a whole, for the answer was too long. The calls "
    f"of an answer can have {format_bytes(MAX_PART_BYTES)} of arguments together. Do it in smaller parts."
)
WITHHELD = (
    "The output is one that the user had removed for good: it is neither shown nor stored. Do not try to get "
    "it in another way; ask the user if you cannot go on without it."
)
CRASHED = (
    "no exit code: the app stopped before this call ended. It may or may not have taken effect: check before "
    "repeating it. This is the end of its output until then."
)
LOOKUPS: tuple[ToolKind, ...] = ("read", "list", "search")
"""Kinds of tools that only look at files."""


class _CallProgress:
    """What later calls of a step wait for.

    `is_asked` is set once the call's approval request or question is shown or none is needed, `is_settled`
    once the call ran or was denied, or if it needs no approval or only reads. `has_read` is set once the call
    looks at nothing any more: at once, unless it only reads.
    """

    def __init__(self) -> None:
        self.is_asked = asyncio.Event()
        self.is_settled = asyncio.Event()
        self.has_read = asyncio.Event()

    def end(self) -> None:
        self.is_asked.set()
        self.is_settled.set()
        self.has_read.set()


class _Step(msgspec.Struct):
    rewrites: EarlyRewrites
    call_count: int
    cut_calls: Sequence[str] = ()
    held_outputs: list[HeldOutput] = []
    has_denial_reason: bool = False


class ToolRunner:
    """Answers every call of a step: those that may change something run in the order of the calls.

    A call that only reads waits for earlier changes, and a change for earlier calls that only read: a search
    must not find what a later edit writes. Calls that read, subagents and the like run in parallel.

    All approval requests and questions are shown together, in the order of the calls, so that the user sees
    everything that waits. An approved call, and one that looks at files, still waits for an earlier one
    without a decision: tests must not run before the edit that they are for, nor its file be read, although
    nobody has to allow them.
    """

    def __init__(
        self,
        session: Session,
        tools: Tools,
        approvals: ApprovalService,
        gate: IntakeGate,
        file_versions: FileVersionTracker,
        changes: ChangeRecorder,
        auto_run: AutoRunDecisions,
    ) -> None:
        self._session = session
        self._tools = tools
        self._approvals = approvals
        self._gate = gate
        self._file_versions = file_versions
        self._changes = changes
        self._auto_run = auto_run
        self._intake = Intake(session.counter)
        self.running_calls = RunningCalls()
        self._partial_outputs = PartialOutputs(session)
        self._unrecorded: dict[str, ReceivedOutput] = {}

    async def run_calls(
        self, calls: Sequence[ToolCall], rewrites: EarlyRewrites, cut_calls: Sequence[str] = ()
    ) -> None:
        """Record an answer to each call; return once all have one. Those in `cut_calls` do not run.

        Canceling stops what runs; what came of its output until then is recorded. No output is recorded
        while `rewrites` are being made.
        """
        self.running_calls.begin_step()
        step = _Step(rewrites, len(calls), cut_calls)
        progress = [_CallProgress() for _ in calls]
        try:
            async with asyncio.TaskGroup() as group:
                for i, call in enumerate(calls):
                    work = self._run_call(call, step, progress[:i], progress[i])
                    group.create_task(work, name=f"tool {call.name}")
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from errors
        finally:
            await self._partial_outputs.end()
        await self._gate.record_batch(step.held_outputs)

    async def record_again(self) -> None:
        """Record the outputs that could not be recorded, as on a full disk."""
        for call_id in tuple(self._unrecorded):
            if call_id in self._session.transcript.open_calls:
                await self._gate.receive(self._unrecorded[call_id], [])
            del self._unrecorded[call_id]

    async def recover_outputs(self) -> None:
        """Record, as answers, the outputs that could not be recorded, and what a crash left of others."""
        await self.record_again()
        for output in await self._partial_outputs.read_unanswered():
            call = self._session.transcript.open_calls[output.call_id]
            printed = f"{CRASHED}\n{output.text}".encode("utf-8", "surrogatepass")
            result = ToolResult(printed, ok=False, stopped=True)
            started_at_ms = self._session.clock() - output.duration_ms
            received = await self._received(call, result, started_at_ms)
            answer = msgspec.structs.replace(
                received.event, outcome="interrupted"
            )  # the user stopped nothing
            await self._gate.receive(msgspec.structs.replace(received, event=answer), [])
        await self._partial_outputs.end()

    async def _run_call(
        self, call: ToolCall, step: _Step, earlier: Sequence[_CallProgress], own: _CallProgress
    ) -> None:
        """Approve, run and record one call; `earlier` is the progress of the calls before it."""
        if call.id in step.cut_calls:
            own.end()
            await self._record(call, _failed(ToolError(CUT_ARGUMENTS)), self._session.clock(), step)
            return

        ask = await self._user_ask(call)
        if isinstance(ask, ApprovalRequest):
            ask = await self._refusal(ask) or ask
        only_reads = _only_reads(call, ask)
        if only_reads or not isinstance(ask, ApprovalRequest):
            own.is_settled.set()
        if not only_reads:
            own.has_read.set()
        if ask is None or isinstance(ask, ToolResult):
            own.is_asked.set()

        try:
            await self._answer(call, ask, step, earlier, own)
        finally:
            own.end()

    async def _answer(
        self,
        call: ToolCall,
        ask: UserAsk | ToolResult | None,
        step: _Step,
        earlier: Sequence[_CallProgress],
        own: _CallProgress,
    ) -> None:
        """Run and record a call; before that, show what the user is asked, and wait for the reply."""
        if ask is None and earlier and _only_reads(call, ask):
            await _settled(earlier)
            ask = await self._user_ask(call)  # where a link leads, they may have changed
        if isinstance(ask, ToolResult):
            await self._record(call, ask, self._session.clock(), step)
            return
        if ask is None:
            await self._run(call, None, ApprovalOutcome("once"), step)
            return
        for other in earlier:
            await other.is_asked.wait()
        if isinstance(ask, Question):
            await self._ask_question(call, ask, own.is_asked, step)
            return
        ask, outcome = await self._ask_approval(call, ask, earlier, own.is_asked)
        if outcome.decision == "deny":
            await self._deny(call, outcome.model_text, step)
            return
        await _settled(earlier)
        if not _only_reads(call, ask):
            await _have_read(earlier)
        await self._run(call, ask, outcome, step)

    async def _user_ask(self, call: ToolCall) -> UserAsk | ToolResult | None:
        """Return what the user is asked before a call, None if nothing; the result if it is refused."""
        try:
            return await self._tools.approval(call)
        except UnknownTool:  # raised by one source, which knows its own tools only
            tools = [spec.name for spec in request_tools(self._tools.specs)]
            others = {spec.name for spec in self._tools.specs}.difference(tools, (FIND_TOOLS, CALL_TOOL))
            return _failed(UnknownTool(call.name, tools, near_names(call.name, sorted(others))))
        except HelixError as error:
            return _failed(error)
        except Exception as error:
            log.warning("asking about tool %s failed unexpectedly", call.name, exc_info=True)
            return _unexpected_failure(call, error)

    async def _refusal(self, request: ApprovalRequest | None) -> ToolResult | None:
        """Return the answer to an edit of files that changed since the agent saw them, unawares."""
        files = await self._file_versions.before_edit(request)
        if not files:
            return None
        updates = await self._changes.file_updates(files)
        return _failed(ToolError(refused_edit(files, updates)))

    async def _ask_question(
        self, call: ToolCall, question: Question, question_shown: asyncio.Event, step: _Step
    ) -> None:
        """Wait for the user's reply and record it as the call's output; where no user is, run the call.

        Asked as an approval is, before the call: one wait, one order of cards, one list of what is open.
        """
        session = self._session
        started_at_ms = self._session.clock()
        session.publish(QuestionAsked(question))
        question_shown.set()
        reply = await self._approvals.reply(session.id, question)
        if reply is None:
            await self._run(call, None, ApprovalOutcome("once"), step)
            return
        target = " ".join(question.text.split())
        result = ToolResult(reply_text(reply).encode("utf-8", "surrogatepass"), target=target, reply=reply)
        await self._record(call, result, started_at_ms, step)

    async def _ask_approval(
        self,
        call: ToolCall,
        request: ApprovalRequest,
        earlier: Sequence[_CallProgress],
        question_shown: asyncio.Event,
    ) -> tuple[ApprovalRequest, ApprovalOutcome]:
        """Return what is decided on a call, recorded, and the request that it was decided on.

        What mode auto would run is decided once more when the calls before it have run: they may have made
        a link that it writes through, or the script that it runs, and the mode may be another. So is a call
        of an MCP tool that its server has come to describe differently meanwhile.
        """
        is_after_others = not all(other.is_settled.is_set() for other in earlier)
        outcome = await self._decide(request, question_shown)
        if outcome.mode == "auto" and is_after_others:
            await _settled(earlier)
            again = await self._user_ask(call)
            if isinstance(again, ApprovalRequest):
                request = again
                outcome = await self._decide(again, question_shown)
        while outcome.decision != "deny" and (changed := await self._changed_request(call, request)):
            request = changed
            outcome = await self._decide(changed, question_shown)
        if outcome.is_unasked:
            return request, outcome
        saved_rule = await self._save_rule(outcome.rule_to_save)
        await self._session.record(
            ApprovalGiven(
                request.call_id,
                request.tool,
                request.subject,
                outcome.decision,
                outcome.rule,
                outcome.mode,
                outcome.user_reason,
                saved_rule,
            )
        )
        return request, outcome

    async def _changed_request(self, call: ToolCall, request: ApprovalRequest) -> ApprovalRequest | None:
        """Return the request of a call of an MCP tool that is not what it was described as any more."""
        again = await self._user_ask(call) if request.kind == "mcp" else None
        if not isinstance(again, ApprovalRequest) or _described_tool(again) == _described_tool(request):
            return None
        return msgspec.structs.replace(again, mcp_change="tool")

    async def _decide(self, request: ApprovalRequest, question_shown: asyncio.Event) -> ApprovalOutcome:
        def on_ask(pending_request: ApprovalRequest) -> None:
            self._session.publish(ApprovalRequested(pending_request))
            question_shown.set()

        covered = await self._changes.with_coverage(request)
        outcome = await self._approvals.decide(self._session.id, covered, on_ask)
        question_shown.set()
        return outcome

    async def _save_rule(self, rule: PermissionRule | None) -> str:
        """Save the rule of an answer, if any. Return its text; empty if it could not be saved."""
        if rule is None:
            return ""
        try:
            await self._approvals.save_rule(rule)
        except HelixError as error:  # the call itself was answered all the same
            self._session.publish(ErrorRaised.from_error(error))
            return ""
        return rule.text

    async def _deny(self, call: ToolCall, model_text: str, step: _Step) -> None:
        reason = ellipsize(one_line(denial_reason(model_text)), _REASON_CHARS)
        if model_text == DENIED and step.has_denial_reason:
            model_text = DENIED_TOO
        elif step.call_count > 1:
            model_text = model_text.replace(CORRECTED, CORRECTED_ALONE, 1)
        step.has_denial_reason |= bool(reason)
        tokens = await self._session.count_tokens(model_text)
        read_target = mcp_call_target if call.is_mcp else call_target
        answer = ToolAnswered(
            call.id,
            call.name,
            model_text,
            "",
            0,
            tokens,
            tokens,
            read_target(call.arguments),
            first_line=f"denied, the user says: {reason}" if reason else "denied",
            ok=False,
            outcome="denied",
        )
        await step.rewrites.wait()
        await self._session.record(answer)

    async def _run(
        self, call: ToolCall, request: ApprovalRequest | None, outcome: ApprovalOutcome, step: _Step
    ) -> None:
        outside = await self._changes.begin_call(call, request)
        if refusal := await self._refusal(request):  # it may have changed while the user was asked
            await self._changes.record(call.id, await self._changes.end_call(call.id))
            await self._record(call, refusal, self._session.clock(), step)
            return
        if outside:
            await self._file_versions.record_unannounced(outside)
        self._session.publish(CallStarted(call))
        started_at_ms = self._session.clock()
        running = RunningCall(call, self._session.clock())

        def on_output(text: str) -> None:
            running.append_output(text)
            self._partial_outputs.start(running)
            self._session.publish(CallOutput(call.id, text))

        allowed = _as_allowed(call, request, self._make_ask_user(call))
        try:
            result = await self.running_calls.run(running, self._tools.run(allowed, on_output))
        except HelixError as error:
            result = _failed(error)
        except Exception as error:
            log.warning("tool %s failed unexpectedly", call.name, exc_info=True)
            result = _unexpected_failure(call, error)
        if (running.stopped or running.is_cut_off) and not result.ok:
            result = msgspec.structs.replace(result, stopped=True)
        if running.is_cut_off:
            step.rewrites.interrupt()

        # It ran: a stop from now on comes too late for it, and must not take its output.
        def on_cancel() -> None:
            step.rewrites.interrupt()
            self._auto_run.give_up()

        await run_to_end(self._record_end(call, request, outcome, result, started_at_ms, step), on_cancel)
        if running.is_cut_off:
            raise asyncio.CancelledError

    def _make_ask_user(self, call: ToolCall) -> AskUser:
        """Return what puts the questions of a call's server to the user, one after the other."""
        session = self._session
        one_at_a_time = asyncio.Lock()

        async def ask(question: ServerQuestion) -> ServerReply | None:
            async with one_at_a_time:
                question = msgspec.structs.replace(question, call_id=call.id)
                session.publish(QuestionAsked(question))
                try:
                    reply = await self._approvals.reply(session.id, question)
                finally:
                    session.publish(CallStarted(call))  # it goes on
            return reply if isinstance(reply, ServerReply) else None

        return ask

    async def _record_end(
        self,
        call: ToolCall,
        request: ApprovalRequest | None,
        outcome: ApprovalOutcome,
        result: ToolResult,
        started_at_ms: int,
        step: _Step,
    ) -> None:
        """Record the output of a call that has ended, and what it changed.

        What runs by itself of that is decided on before: the user may keep it or take it back.
        """
        ended_at_ms = self._session.clock()
        result = await self._auto_run.decide(call.id, outcome, result)
        started_at_ms += max(0, self._session.clock() - ended_at_ms)  # the call took no time meanwhile
        captured = await self._changes.end_call(call.id)
        if captured is not None and request is not None and request.kind != "edit":
            named = named_changes(captured.list.changes, result.auto_run)
            result = msgspec.structs.replace(result, auto_run=(*result.auto_run, *named))
        result = await self._file_versions.with_versions(call, request, result)
        await self._record(call, result, started_at_ms, step)
        await self._changes.record(call.id, captured)
        await self._file_versions.record_after(call.id, request, result)

    async def _record(self, call: ToolCall, result: ToolResult, started_at_ms: int, step: _Step) -> None:
        received = await self._received(call, result, started_at_ms)
        await step.rewrites.wait()
        try:
            await self._gate.receive(received, step.held_outputs)
        except StoreError:
            self._unrecorded[call.id] = received
            raise

    async def _received(self, call: ToolCall, result: ToolResult, started_at_ms: int) -> ReceivedOutput:
        """Return a result as it is to be recorded, without what the user had removed."""
        digits = self._session.policy.handle_digits
        duration_ms = self._session.elapsed_ms(started_at_ms)
        received = await self._intake.from_tool_result(call, result, duration_ms, digits)
        if received.content is None:
            return received
        redacted_at_ms = await self._session.redacted_at(received.content.digest)
        if not redacted_at_ms:
            return received
        # Redacted content must not come back by running the same call again.
        mark = f"{redaction_mark(redacted_at_ms)} {WITHHELD}".encode()
        withheld = msgspec.structs.replace(result, content=mark, model_text="")
        return await self._intake.from_tool_result(call, withheld, duration_ms, digits)


def _unexpected_failure(call: ToolCall, error: Exception) -> ToolResult:
    return _failed(ToolError(f"{call.name} failed.", f"{type(error).__name__}: {error}"))


def _described_tool(request: ApprovalRequest) -> tuple[str, str]:
    return request.definition, request.description_digest


def _as_allowed(call: ToolCall, request: ApprovalRequest | None, ask: AskUser) -> ToolCall:
    """Return the call, bound to what it was when it was allowed: an MCP tool's description, or reading."""
    if request is None or not (request.kind == "mcp" or request.is_reading):
        return call
    return AllowedCall(
        call.id, call.name, call.arguments, request.description_digest, is_reading=request.is_reading, ask=ask
    )


def _only_reads(call: ToolCall, ask: UserAsk | ToolResult | None) -> bool:
    """Return True for a look at files that nobody has to allow, and for an MCP call that is said to read.

    A reading command isn't one of these: once earlier calls have run, it may be another.
    """
    if isinstance(ask, ApprovalRequest):
        return ask.kind == "mcp" and ask.claims_read_only
    return ask is None and tool_kind(call.name) in LOOKUPS


async def _settled(calls: Sequence[_CallProgress]) -> None:
    """Return once these calls ran, were denied, need no approval or only read."""
    for call in calls:
        await call.is_settled.wait()


async def _have_read(calls: Sequence[_CallProgress]) -> None:
    """Return once those of these calls that only read have ended."""
    for call in calls:
        await call.has_read.wait()


def _failed(error: HelixError) -> ToolResult:
    if isinstance(error, SubagentFailed):
        return ToolResult(str(error).encode(), False, subagent=error.session_id, delegated=error.delegated)
    return ToolResult(str(error).encode(), ok=False)
