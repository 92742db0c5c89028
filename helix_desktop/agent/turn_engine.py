"""The turn engine: runs one turn, from the user's message to the end of the agent's streamed answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing, suppress

import msgspec

from helix_desktop.agent.attachments import attachments_as_sent
from helix_desktop.agent.budget import SessionBudget
from helix_desktop.agent.change_recorder import ChangeRecorder
from helix_desktop.agent.compaction.context_compaction import ContextCompaction
from helix_desktop.agent.instructions import SessionInstructions
from helix_desktop.agent.intake import Intake
from helix_desktop.agent.message_queue import TurnStart, UserMessage
from helix_desktop.agent.session import (
    ErrorRaised,
    ModelCalled,
    ResponseDelta,
    RetryEnded,
    Session,
    ToolsRefused,
    TurnChanged,
    with_cache_hints,
)
from helix_desktop.agent.tool_calls.approvals import SessionPermissions
from helix_desktop.agent.tool_calls.file_version_tracker import FileVersionTracker
from helix_desktop.agent.tool_calls.runner import LOOKUPS, ToolRunner
from helix_desktop.context.log.file_notes import files_note
from helix_desktop.context.log.mode_notes import SENT_DURING_TURN, mode_note
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.rewrites.sweep_plans import is_prompt_cache_cold
from helix_desktop.context.window.provider_cache import next_request_cost
from helix_desktop.context.window.request_validation import (
    describe_rejection,
    filtered_output,
    last_answered_seq,
    suspect_messages,
)
from helix_desktop.context.window.used_tokens import is_plausible, measure_usage, silent_cut
from helix_desktop.context.window.window import Window
from helix_desktop.domain.answer_bounds import MAX_PART_BYTES, TextBuffer
from helix_desktop.domain.choices import PermissionMode
from helix_desktop.domain.cost import Spending, call_cost, spending_of, step_cost, step_unpriced, unused_calls
from helix_desktop.domain.digest import is_marker
from helix_desktop.domain.errors import (
    UNNAMED_CALL,
    BudgetExhausted,
    ContextWindowExceeded,
    HelixError,
    ImagesRejected,
    InputFiltered,
    InvalidInput,
    InvalidModelResponse,
    ReadingLost,
    StoreError,
)
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    Attachment,
    ToolAnswered,
    TurnEnded,
    TurnRetried,
    UserSpoke,
)
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.session import NEW_TITLE, EffortRefused, SessionRenamed, WindowLearned
from helix_desktop.domain.files.file_use import tool_kind
from helix_desktop.domain.listeners import Listeners
from helix_desktop.domain.messages import (
    ModelInfo,
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
    RequestState,
    RetryScheduled,
    TextDelta,
    TurnOutcome,
    Usage,
    no_wait,
)
from helix_desktop.domain.model_spec import LEAST_WINDOW
from helix_desktop.domain.text_format import title_line
from helix_desktop.domain.translatable_text import ByteSize, TextContext
from helix_desktop.domain.typed_text import typed_text

_text = TextContext("Agent")
_LEFT_OUT = _text("It was left out, and the turn continues.")
_log = logging.getLogger(__name__)
_UNREPORTED = 0.8  # of our count of a request, what it has at least in the model's tokens
_SAVE_EVERY_MS = 1_000  # so much of an answer on screen a crash may take at most
_CHARS_PER_INTERVAL = 500_000  # of an answer: each so many make the interval a second longer


class ResponseStream:
    """The answers of one session's main model, one at a time.

    `text` is what came so far of an answer that is not recorded yet; `waiting_since_ms` when the model was
    called, until it begins to answer, else 0; `sent_after` the last event before the newest request. What
    requests cost whose answer is not recorded is estimated, as no provider reports it. What came so far is
    saved in the session's draft, not as events: it is history only once the answer ends or is cut off.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.waiting_since_ms = 0
        self._text = TextBuffer()
        self._reasoning = TextBuffer()
        self._request = AssistantSpoke("", "", tokens=0, stop="stopped")  # as it counts without an answer
        self._is_sent = False
        self._unrecorded = Spending()
        self.sent_after = 0
        self._retry: tuple[RetryScheduled, float] | None = None  # with the event loop's time when it is due
        self._skip_wait: Callable[[], None] = no_wait
        self._saved_at_ms = 0
        self._is_saved = False
        self._answered = dict[str, int]()  # by model, the largest input in tokens that it answered
        self._read_events = 0  # events of the log that were read for it

    async def receive(self, window: Window, last_seq: int) -> ModelResponse:
        """Call the model, publish its answer as it comes, and return it. Raises ModelError.

        `last_seq` is the event of the session that the window was made after.
        """
        await self._record_lost()  # of a request that the model refused in the middle of its answer
        self._text.clear()
        self._retry = None
        self.sent_after = last_seq
        self._request = self._unanswered(window)
        request = with_cache_hints(window.request, window, self._session)
        request = msgspec.structs.replace(
            request, report_state=self._on_request_state, answered=self._largest_answered()
        )
        self.waiting_since_ms = self._saved_at_ms = self._session.clock()
        self._session.publish(ModelCalled())
        try:
            return await self._receive(request)
        finally:
            self.waiting_since_ms = 0

    @property
    def text(self) -> str:
        return str(self._text)

    def _largest_answered(self) -> int:
        """Return the largest input, in tokens of the model, that it has answered in this session.

        What no provider reported counts for less: our count may be above the model's.
        """
        log = self._session.log
        label = self._session.frame.info.label
        for recorded in log[self._read_events :]:
            match recorded.event:
                case AssistantSpoke(usage=usage, estimate=estimate, ratio=ratio, model=model) as answer:
                    if answer.stop != "stopped":
                        tokens = round(estimate * ratio * _UNREPORTED)
                        if usage is not None and is_plausible(answer):
                            tokens = usage.input
                        self._answered[model] = max(self._answered.get(model, 0), tokens)
        self._read_events = len(log)
        return self._answered.get(label, 0)

    async def _receive(self, request: ModelRequest) -> ModelResponse:
        session = self._session
        async with aclosing(self._session.roles.main.stream(request)) as items:
            async for item in items:
                was_retrying = self._retry is not None
                self._retry = None
                self.waiting_since_ms = 0
                if was_retrying and not isinstance(item, RetryScheduled):
                    session.publish(RetryEnded())
                match item:
                    case TextDelta(text=text):
                        self._text.add(text)
                        session.publish(ResponseDelta(text))
                        await self._save_partial()
                    case ReasoningDelta(text=text):
                        self._reasoning.add(text)
                        session.publish(ResponseDelta(text, is_reasoning=True))
                    case RetryScheduled() as retry:
                        await self._record_lost()
                        self._skip_wait = retry.skip
                        self._publish_retry(retry)
                    case ModelResponse() as response if response.text.strip() or response.calls:
                        return response
        raise InvalidModelResponse(
            _text("Empty response from the model."),
            _text("It ended without text or a tool call."),
            _text("Send the message again, or choose another model."),
        )

    @property
    def retry_state(self) -> RetryScheduled | None:
        """The pending retry of the model call with the seconds left; None once the model answers."""
        if self._retry is None:
            return None
        state, retries_at = self._retry
        return msgspec.structs.replace(state, wait_s=max(0.0, retries_at - asyncio.get_running_loop().time()))

    @property
    def retry_reason(self) -> str:
        """Why the model call is being repeated; empty if it isn't."""
        return self._retry[0].reason if self._retry is not None else ""

    def _publish_retry(self, retry_state: RetryScheduled) -> None:
        self.waiting_since_ms = self._session.clock() + round(retry_state.wait_s * 1_000)
        self._retry = retry_state, asyncio.get_running_loop().time() + retry_state.wait_s
        self._session.publish(retry_state)

    def retry_now(self) -> None:
        if self._retry is not None:
            self._publish_retry(msgspec.structs.replace(self._retry[0], wait_s=0.0))
            self._skip_wait()

    def cancel_retry(self) -> None:
        self._retry = None

    def clear(self) -> None:
        """Drop the answer: it is being recorded."""
        self._text.clear()
        self._reasoning.clear()
        self._is_sent = False

    def take_unrecorded(self) -> Spending:
        """Return, once, what the requests cost since the last call whose answers are not recorded."""
        spent = self._unrecorded
        self._unrecorded = Spending()
        return spent

    async def _on_request_state(self, state: RequestState) -> None:
        """Save that a request was sent: after a crash nothing else would say that it is billed."""
        self._is_sent = state == "sent"
        if self._is_sent:
            await self._save()
        else:
            await self.discard_saved()

    async def _record_lost(self) -> None:
        """Record what a lost answer cost while the turn goes on: a kill must not take it."""
        await self._count_lost()
        spent = self.take_unrecorded()
        if spent.tokens:
            lost = unused_calls(spent)
            try:
                await self._session.record(lost, ends_partial_answer=True)
            except StoreError:  # it is recorded with the end of the turn
                self._unrecorded += spent
            else:
                self.forget_saved()
        await self.discard_saved()

    async def _count_lost(self) -> None:
        if self._is_sent:
            answer = msgspec.structs.replace(self._partial_answer(), text=str(self._reasoning) + self.text)
            self._unrecorded += spending_of(await self._counted(answer))
        self.clear()

    async def record_partial(self) -> None:
        if self.text.strip():
            answer = await self._counted(self._partial_answer())
            self.clear()
            await self._session.record_decided(lambda: [self._with_reach(answer)], ends_partial_answer=True)
            self.forget_saved()
        elif self._is_sent:
            await self._count_lost()
            await self.discard_saved()
        elif self._is_saved:
            await self._session.drain()  # all of it may be on its way to the log
            await self.recover_partial()

    async def recover_partial(self) -> None:
        """Record what came of an answer before a crash, or before it could not be recorded."""
        self._text.clear()
        session = self._session
        try:
            saved = (await session.draft()).partial_answer
        except StoreError as error:  # a damaged draft must not keep its session closed
            _log.warning("what a crash left of an answer cannot be read: %s", error)
            return
        if saved is not None and isinstance(saved.event, AssistantSpoke) and session.is_unanswered(saved.seq):
            self._is_saved = True
            seq = saved.seq
            session.shown.saved_at_ms = saved.at
            answer = await self._counted(saved.event)
            if answer.text.strip():
                await session.record_decided(
                    lambda: [self._with_reach(answer)] if session.is_unanswered(seq) else []
                )
            else:
                self._unrecorded += spending_of(answer)
        await self.discard_saved()

    def forget_saved(self) -> None:
        """Note that the commit that recorded the answer deleted what was saved of it."""
        self._is_saved = False

    async def discard_saved(self) -> None:
        """Delete what was saved of an answer: all of it is recorded now."""
        if self._is_saved:
            with suppress(StoreError):  # what stays is seen to be recorded
                await self._session.save_partial_answer(None)
            self._is_saved = False

    def estimated(self, answer: AssistantSpoke) -> AssistantSpoke:
        """Return the answer to the newest request; unreported, it counts as that request was shown."""
        if answer.usage is not None:
            return answer
        request = self._request
        info = self._session.frame.info
        cost = request.cost + call_cost(info, Usage(0, answer.tokens))
        return msgspec.structs.replace(answer, ratio=request.ratio, cost=cost)

    async def _counted(self, answer: AssistantSpoke) -> AssistantSpoke:
        tokens = await self._session.count_tokens(answer.text)
        info = self._session.frame.info
        answer = msgspec.structs.replace(answer, tokens=tokens)
        if answer.model != info.label:  # the prices of another are not known
            return answer
        if not answer.cost:  # what a version before saved of an answer has no cost of its request
            return msgspec.structs.replace(answer, cost=step_cost(info, answer))
        return msgspec.structs.replace(answer, cost=answer.cost + call_cost(info, Usage(0, tokens)))

    def _with_reach(self, answer: AssistantSpoke) -> AssistantSpoke:
        reached = self._session.transcript.rewritten_after(answer.sent_after)
        return msgspec.structs.replace(answer, sent_after=reached)

    async def _save_partial(self) -> None:
        interval_ms = _SAVE_EVERY_MS * (1 + len(self._text) // _CHARS_PER_INTERVAL)
        if self._session.elapsed_ms(self._saved_at_ms) >= interval_ms and self.text.strip():
            await self._save()

    async def _save(self) -> None:
        self._is_saved = True  # also if the turn is stopped meanwhile: the store goes on
        try:
            await self._session.save_partial_answer(self._partial_answer())
        except StoreError as error:  # the answer goes on; recording it reports what is wrong
            _log.warning("what came so far of an answer was not saved: %s", error)
        self._saved_at_ms = self._session.clock()

    def _partial_answer(self) -> AssistantSpoke:
        """Return what came so far of the answer, as one that was stopped; its tokens are not counted."""
        return msgspec.structs.replace(self._request, text=self.text)

    def _unanswered(self, window: Window) -> AssistantSpoke:
        """Return an empty answer: the request's tokens, and its cost by what the provider has cached."""
        session = self._session
        transcript = self._session.transcript
        frame = self._session.frame
        gauge = measure_usage(window, transcript, session.policy, frame)
        is_cold = is_prompt_cache_cold(transcript, session.policy, frame.info.label, session.clock())
        return AssistantSpoke(
            "",
            frame.info.label,
            tokens=0,
            estimate=window.estimate,
            stop="stopped",
            demo=frame.info.demo,
            window=frame.info.window,
            managed_window=_managed_part(session),
            sent_after=self.sent_after,
            ratio=gauge.used / window.estimate if window.estimate else gauge.ratio,
            cost=next_request_cost(window, gauge, transcript, frame.info, is_cold).cost or 0.0,
            unpriced=step_unpriced(frame.info),
        )


_MAX_UNNAMED_STEPS = 3  # in a row, in which no call names a tool
_MAX_CUT_STEPS = 3  # in a row, in which the arguments of a call were too long
_MAX_IMAGE_TRIES = 3  # of one request, in which the oldest images leave because it has too many
_MAX_FILTERED_OUTPUTS = 3  # that leave in one turn
_MAX_LOST_STEPS = 2  # steps in a row whose outputs left the window before the model saw them


class TurnEngine:
    def __init__(
        self,
        session: Session,
        tools: ToolRunner,
        compaction: ContextCompaction,
        budget: SessionBudget,
        permissions: SessionPermissions,
        file_versions: FileVersionTracker,
        changes: ChangeRecorder,
        instructions: SessionInstructions,
        before_request: Listeners[[], Awaitable[None]],
        is_unattended: bool = False,
    ) -> None:
        """`is_unattended` is True if no user is there to decide what to do about a rejected image or output.

        The listeners of `before_request` are awaited before each step.
        """
        self._is_unattended = is_unattended
        self._session = session
        self._tools = tools
        self._compaction = compaction
        self.response = ResponseStream(session)
        self._budget = budget
        self._permissions = permissions
        self._file_versions = file_versions
        self._changes = changes
        self._instructions = instructions
        self._before_request = before_request
        self._intake = Intake(session.counter)
        self._refused_outputs: set[str] = set()  # by their calls: they left, not for want of room
        self._filtered_outputs = 0  # that left in this turn because a filter refused them
        self._cut_models: set[str] = set()  # of which was told that their servers cut long requests
        self.canceled_as: TurnOutcome = (
            "stopped"  # the outcome of a canceled turn; closing the app sets "interrupted"
        )

    async def run_turn(self, message: UserMessage, start: TurnStart) -> TurnEnded:
        """Run one turn and return how it ended. Canceling the call is the user's stop.

        `start` ends once the message is recorded, or failed to be. A HelixError becomes the turn's end with
        what, why and fix; nothing recorded is lost.
        """
        return await self._run(lambda: self._start(message, start))

    async def retry_turn(self, start: TurnStart) -> TurnEnded:
        """Repeat the last step of an unfinished turn and run on to the turn's end."""
        return await self._run(lambda: self._restart(start))

    async def show_interrupted(self) -> None:
        """Show what a crash left open as closed, with what came of an answer and of outputs.

        It is stored with the user's next act in the session, and stays saved until then.
        """
        with self._session.showing():
            await self._close_interrupted()

    async def close_interrupted(self) -> None:
        """Close what could not be recorded of the turn before, unless all of it is shown as closed."""
        if not self._session.shown.events:
            await self._close_interrupted()

    async def _close_interrupted(self) -> None:
        await self._session.drain()
        await self.response.recover_partial()
        await self._tools.recover_outputs()
        await self._session.close_interrupted(self.response.take_unrecorded())

    async def _run(self, begin: Callable[[], Awaitable[None]]) -> TurnEnded:
        self._session.publish(TurnChanged(running=True))
        try:
            ended = await self._run_safely(begin)
        finally:
            self.response.cancel_retry()
            self._session.publish(TurnChanged(running=False))
        return ended

    async def _run_safely(self, begin: Callable[[], Awaitable[None]]) -> TurnEnded:
        try:
            await begin()
            await self._run_steps()
            return await self._end(TurnEnded("done"))
        except asyncio.CancelledError:
            is_closed = self.canceled_as == "interrupted"
            why = self.response.retry_reason
            await self._end(TurnEnded(self.canceled_as, why=why, cause="closed" if is_closed else ""))
            raise
        except HelixError as error:
            return await self._end(self._failed_end(error), ErrorRaised.from_error(error))
        except Exception as error:
            ended = TurnEnded(
                "failed", _text("Something went wrong."), repr(error), _text("Open the log for details.")
            )
            await self._end(msgspec.structs.replace(ended, remedies=("open_log",)))
            raise

    def _failed_end(self, error: HelixError) -> TurnEnded:
        ended = TurnEnded(
            "failed", error.what, error.why, error.fix, remedies=error.remedies, details=error.details
        )
        if isinstance(error, BudgetExhausted):
            return msgspec.structs.replace(ended, cause="budget")
        if isinstance(error, ImagesRejected | InputFiltered) and error.seqs:
            label = self._session.frame.info.label
            cause = "image" if isinstance(error, ImagesRejected) else "filter"
            return msgspec.structs.replace(ended, cause=cause, images=error.seqs, refused_by=label)
        return ended

    async def _start(self, message: UserMessage, start: TurnStart) -> None:
        try:
            await self.close_interrupted()
            refused = self._session.transcript.refusal  # every request with them would be rejected
            if refused is not None and refused.refused_by == self._session.frame.info.label:
                await self._compaction.rewriter.leave_out_refused(refused)
            instructions = await self._instructions.before_message()
            mode = self._permissions.mode
            note = await self._note(mode)
            uncounted = [message.text] if message.tokens is None else []
            counts = await self._session.counter.count([note, *uncounted] if note else uncounted)
            tokens = sum(counts, message.tokens or 0)
            titled = _first_title(self._session.transcript, message)
            attachments = await self._attachments_as_sent(message.attachments)
            digits = self._session.policy.handle_digits
            short, contents = await self._intake.shorten(message.text, digits)
            event = UserSpoke(
                *(message.text, tokens, attachments, message.queued_seq, mode, note),
                prompt=message.prompt,
                short=short,
            )
            *_, recorded = await self._session.record(*titled, *instructions, event, contents=contents)
            start.end(recorded.seq)
            if any(attachment.version for attachment in message.attachments):
                await self._file_versions.record()  # they may have changed since they were attached
        finally:
            start.end()

    async def _note(self, mode: PermissionMode) -> str:
        """Return what comes with a message: the mode, if it is new, and what happened to files."""
        changed = await self._file_versions.record()
        changed += await self._changes.outside_changes({file.path for file in changed})
        updates = await self._changes.file_updates(changed)
        of_mode = mode_note(self._session.transcript.announced_mode, mode)
        of_reverts = await self._changes.reverts_note({update.path for update in updates if update.text})
        return "\n".join(filter(None, (of_mode, of_reverts, files_note(changed, updates))))

    async def _attachments_as_sent(self, attachments: Sequence[Attachment]) -> tuple[Attachment, ...]:
        return await attachments_as_sent(attachments, self._session.transcript, self._session.counter)

    async def _restart(self, start: TurnStart) -> None:
        try:
            await self.close_interrupted()

            def decide() -> list[TurnRetried]:
                event = self._session.transcript.retry_event()
                if event is None:
                    raise InvalidInput(
                        _text("No turn to retry."),
                        _text("The last turn is complete."),
                        _text("Send a new message."),
                    )
                return [event]

            await self._session.record_decided(decide)
            await self._file_versions.record()
            self._changes.scan_in_background()
        finally:
            start.end()

    async def _run_steps(self) -> None:
        read_ids = frozenset[str]()
        lost_steps = 0
        unnamed_steps = 0
        cut_steps = 0
        self._filtered_outputs = 0
        while True:
            window, answer = await self._run_step()
            are_lost = read_ids and not read_ids & (_shown_outputs(window) | self._refused_outputs)
            lost_steps = lost_steps + 1 if are_lost else 0
            if lost_steps >= _MAX_LOST_STEPS and answer.calls:
                raise _reading_lost(self._session.frame.info)
            is_unnamed = answer.calls and all(call.name == UNNAMED_CALL for call in answer.calls)
            unnamed_steps = unnamed_steps + 1 if is_unnamed else 0
            if unnamed_steps >= _MAX_UNNAMED_STEPS:
                raise InvalidModelResponse(
                    _text("The tool calls of {model} have no name.", model=self._session.frame.info.label),
                    _text("The model or its server can't call tools correctly."),
                    _text("Send the message again, or choose another model."),
                )
            cut_steps = cut_steps + 1 if answer.cut_calls else 0
            if cut_steps >= _MAX_CUT_STEPS:
                raise InvalidModelResponse(
                    _text("The answers of {model} are too long.", model=self._session.frame.info.label),
                    _text(
                        "In {count} answers in a row, the arguments of a call had more than {size}.",
                        count=_MAX_CUT_STEPS,
                        size=ByteSize(MAX_PART_BYTES),
                    ),
                    _text("Ask for smaller parts, or choose another model."),
                )
            is_reading = all(tool_kind(call.name) in LOOKUPS for call in answer.calls)
            read_ids = frozenset(call.id for call in answer.calls) if is_reading else frozenset()
            answered_seq = self._session.transcript.last_seq
            if answer.calls:
                self._compaction.early_rewrites.start()
            await self._tools.run_calls(answer.calls, self._compaction.early_rewrites, answer.cut_calls)
            await self._instructions.record_nested(answered_seq)
            if not await self._apply_steering() and not answer.calls:
                return

    async def _apply_steering(self) -> bool:
        """Record the queued steering messages, now that a step is closed. Return True if there were any.

        They are recorded together, in order. A message that arrives later waits for the next step, or starts
        a turn.
        """
        queued = [
            (seq, message)
            for seq, message in self._session.transcript.queued_messages.items()
            if message.steer
        ]
        if not queued:
            return False
        mode = self._permissions.mode
        note = "\n".join(filter(None, (await self._note(mode), SENT_DURING_TURN)))
        note_tokens, *counts = await self._session.counter.count(
            [note, *(message.text for _, message in queued)]
        )
        attachments = [await self._attachments_as_sent(message.attachments) for _, message in queued]
        digits = self._session.policy.handle_digits
        shortened = [await self._intake.shorten(message.text, digits) for _, message in queued]
        shorts = [short for short, _ in shortened]
        contents = [content for _, stored in shortened for content in stored]

        def decide() -> list[UserSpoke]:
            still_queued = (
                self._session.transcript.queued_messages
            )  # a message may have been changed or withdrawn meanwhile
            events = [
                UserSpoke(
                    *(message.text, tokens, attached, seq, mode),
                    steered=True,
                    prompt=message.prompt,
                    short=short,
                )
                for (seq, message), tokens, attached, short in zip(
                    queued, counts, attachments, shorts, strict=True
                )
                if still_queued.get(seq) == message
            ]
            if events:
                events[0] = msgspec.structs.replace(
                    events[0], note=note, tokens=events[0].tokens + note_tokens
                )
            return events

        return bool(await self._session.record_decided(decide, contents))

    async def _run_step(self) -> tuple[Window, ModelResponse]:
        for listener in self._before_request:
            await listener()
        await self._budget.ensure_available()
        started_at_ms = self._session.clock()
        window, answer = await self._request()
        frame = self._session.frame
        duration_ms = self._session.elapsed_ms(started_at_ms)
        event, contents = await self._intake.from_response(
            answer, frame.info, window.estimate, duration_ms, self._session.policy.handle_digits
        )
        self.response.clear()
        event = msgspec.structs.replace(
            self.response.estimated(event),
            managed_window=_managed_part(self._session),
        )
        refusals = _new_refusals(self._session.transcript, answer, frame.info)
        learned = self._window_from_counts(answer, window.estimate)

        def decide() -> list[Event]:
            reached = self._session.transcript.rewritten_after(self.response.sent_after)
            return [msgspec.structs.replace(event, sent_after=reached), *refusals, *learned]

        await self._session.record_decided(decide, contents, ends_partial_answer=True)
        self.response.forget_saved()
        for refused in answer.tool_refusals:
            what = _text(
                "{provider} refused the tool {tool} of an MCP server.",
                provider=frame.info.provider,
                tool=refused.tool,
            )
            left_out = _text(
                "It is left out of the requests to this model until its schema changes or Helix starts again."
            )
            self._session.publish(ErrorRaised(what, refused.reason, left_out, is_warning=True))
        if answer.tool_refusals:
            self._session.publish(ToolsRefused())
        return window, answer

    def _window_from_counts(self, answer: ModelResponse, estimate: int) -> list[WindowLearned]:
        """Return the event of a window to which the server cuts requests without a word; else nothing.

        A window that has hardly room for the tools is told once, and the session goes on as it is.
        """
        info = self._session.frame.info
        counted = silent_cut(self._session.transcript, answer.usage, estimate, info)
        if not counted:
            return []
        why = _text(
            "The server counted {counted} of about {estimate} tokens, and reported no error.",
            counted=counted,
            estimate=round(estimate, -2),
        )
        if counted >= LEAST_WINDOW:
            return [WindowLearned(info.label, counted, info.window, why, from_counts=True)]
        if info.label not in self._cut_models:
            self._cut_models.add(info.label)
            what = _text("{model} reads only the end of long requests.", model=info.label)
            fix = _text("Set a larger context window at its server: with Ollama, num_ctx.")
            self._session.publish(ErrorRaised(what, why, fix, is_warning=True))
        return []

    async def _request(self) -> tuple[Window, ModelResponse]:
        """Call the model; if it rejects the request as too large, make room and call once more.

        What left the window for that comes back if the smaller request is rejected too. Rejected images that
        the model has seen before are replaced by text and hash, in an unattended run all of them.
        """
        rewrites: Sequence[int] | None = None
        image_tries = 0
        while True:
            window = await self._compaction.prepare_window()
            try:
                return window, await self.response.receive(window, self._session.transcript.last_seq)
            except ContextWindowExceeded as error:
                if error.believed:
                    label = self._session.frame.info.label
                    believed = error.believed
                    error.believed = 0
                    await self._session.record(WindowLearned(label, error.window_size, believed, error.why))
                if rewrites is not None:
                    await self._compaction.put_back(rewrites)
                    raise
                rewrites = await self._compaction.make_room_after_overflow(error)
                if rewrites is None:
                    raise
                if error.is_rate:
                    smaller = _text("It is made smaller and sent again.")
                    self._session.publish(ErrorRaised(error.what, error.why, smaller, is_warning=True))
            except ImagesRejected as error:
                image_tries += 1 if error.refused.excess else 0
                await self._omit_images(error, may_try=image_tries <= _MAX_IMAGE_TRIES)
            except InputFiltered as error:
                await self._omit_filtered(error)

    async def _omit_images(self, rejection: ImagesRejected, *, may_try: bool) -> None:
        """Sweep rejected images and return, or raise ImagesRejected naming the messages that may hold them.

        It is raised if they are new and a user is there to decide, if not `may_try`, and without a policy.
        """
        policy = self._session.policy
        label = self._session.frame.info.label
        transcript = self._session.transcript
        suspects = suspect_messages(transcript, label, rejection.refused)
        error = describe_rejection(rejection, suspects, transcript, self._session.frame.info)
        answered_seq = last_answered_seq(transcript, label)
        are_seen = any(rejection.refused) and all(item.seq < answered_seq for item in suspects)
        is_decided = self._is_unattended or are_seen
        if not (error.seqs and is_decided and may_try and policy.enabled):
            raise error from rejection

        # Each time fewer images are left, so the repetitions end.
        await self._compaction.rewriter.sweep_messages(error.seqs)
        self._note_refused(error.seqs)
        self._session.publish(ErrorRaised(error.what, error.why, _LEFT_OUT, is_warning=True))

    async def _omit_filtered(self, refusal: InputFiltered) -> None:
        """Leave the newest output out in an unattended run; else raise InputFiltered, which names it."""
        error = filtered_output(refusal, self._session.transcript, self._session.frame.info)
        self._filtered_outputs += 1
        may_try = self._filtered_outputs <= _MAX_FILTERED_OUTPUTS and self._session.policy.enabled
        if not (error.seqs and self._is_unattended and may_try):
            raise error from refusal

        await self._compaction.rewriter.leave_out_filtered(error.seqs)
        self._note_refused(error.seqs)
        self._session.publish(ErrorRaised(error.what, error.why, _LEFT_OUT, is_warning=True))

    def _note_refused(self, seqs: Sequence[int]) -> None:
        """Note outputs that left because a server refused them, not for want of room."""
        items = [self._session.transcript.messages.item(seq) for seq in seqs]
        self._refused_outputs.update(
            item.event.call_id for item in items if item is not None and isinstance(item.event, ToolAnswered)
        )

    async def _end(self, ended: TurnEnded, error_raised: ErrorRaised | None = None) -> TurnEnded:
        """Record the partial answer, answers for open calls, and the turn's end; `error_raised` caused it.

        A failure to record, such as a full disk, is published and not raised. Work due at a turn's end starts
        only behind a recorded one: what it costs would be lost too.
        """
        try:
            await self.response.record_partial()
            spent = self.response.take_unrecorded()
            ended = msgspec.structs.replace(
                ended, spent=spent.tokens, cost=spent.cost, unpriced=spent.unpriced if spent.tokens else None
            )
            await self._compaction.early_rewrites.cancel()
            await self._tools.record_again()
            await self._session.close_calls(ended.how)
            await self._changes.end_open_calls()
            if await self._session.end_turn(ended):
                self._compaction.after_turn()
            elif ended.how == "failed":
                failure = ErrorRaised(ended.what, ended.why, ended.fix, ended.remedies, details=ended.details)
                self._session.publish(error_raised or failure)
        except HelixError as error:
            self._session.publish(ErrorRaised.from_error(error))
        return ended


def _managed_part(session: Session) -> int:
    """Return the tokens of the model's window that the policy manages; 0: all of it."""
    managed = session.managed_window
    return managed if managed < session.frame.info.window else 0


def _shown_outputs(window: Window) -> frozenset[str]:
    """Return the ids of the calls whose output a window shows, and not a marker in its place."""
    return frozenset(
        message.call_id
        for message in window.request.messages
        if message.role == "tool" and not is_marker(message.text)
    )


def _reading_lost(info: ModelInfo) -> ReadingLost:
    return ReadingLost(
        _text("The turn stopped: {model} can't hold what the agent reads.", model=info.label),
        _text(
            "In {count} steps in a row, what was read left the context ({window} tokens) before the answer.",
            count=_MAX_LOST_STEPS,
            window=info.window,
        ),
        _text("Choose a model with a larger context window, or ask for smaller parts."),
    )


def _new_refusals(transcript: Transcript, response: ModelResponse, info: ModelInfo) -> list[EffortRefused]:
    """Return the event of a refused effort; empty if the session has it: the user is informed once."""
    refusal = response.effort_refusal
    if refusal is None or transcript.refused_effort == (info.label, refusal.level):
        return []
    return [EffortRefused(info.label, refusal.level, refusal.reason)]


def _first_title(transcript: Transcript, message: UserMessage) -> list[SessionRenamed]:
    """Return the event that titles an untitled session after its first message; empty if it has a title."""
    title = title_line(message.prompt.typed_text if message.prompt else typed_text(message.text))
    if transcript.messages.turns or transcript.title not in ("", NEW_TITLE) or not title:
        return []
    return [SessionRenamed(title, "message")]
