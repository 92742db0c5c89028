"""The turn engine: runs one turn, from the user's message to the end of the agent's answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from helix_desktop.agent.budget import SessionBudget
from helix_desktop.agent.changes.recorder import ChangeRecorder
from helix_desktop.agent.instructions import SessionInstructions
from helix_desktop.agent.intake.intake import Intake
from helix_desktop.agent.message_queue import TurnStart, UserMessage
from helix_desktop.agent.response_stream import ResponseStream
from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.agent.session_updates import ErrorRaised, TurnChanged
from helix_desktop.agent.tool_calls.approvals import SessionPermissions
from helix_desktop.agent.tool_calls.file_version_tracker import FileVersionTracker
from helix_desktop.agent.tool_calls.runner import LOOKUPS, ToolRunner
from helix_desktop.agent.window.manager import ContextManager
from helix_desktop.context.log.notes import files_note, mode_note
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.window.provider_cache import hash_layers
from helix_desktop.context.window.request_validation import describe_rejection, suspect_messages
from helix_desktop.context.window.window import Window
from helix_desktop.domain.digest import is_marker
from helix_desktop.domain.errors import (
    UNNAMED_CALL,
    BudgetExhausted,
    ContextWindowExceeded,
    HelixError,
    ImagesRejected,
    InvalidInput,
    InvalidModelResponse,
    ReadingLost,
)
from helix_desktop.domain.events.conversation import TurnEnded, TurnRetried, UserSpoke
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.session import NEW_TITLE, EffortRefused, SessionRenamed, WindowLearned
from helix_desktop.domain.messages import (
    ModelInfo,
    ModelResponse,
    TurnOutcome,
)
from helix_desktop.domain.text_format import title_line
from helix_desktop.domain.tool_call_target import tool_kind
from helix_desktop.domain.translatable_text import TextContext

_text = TextContext("Agent")

_MAX_UNNAMED_STEPS = 3  # in a row, in which no call names a tool
_MAX_LOST_STEPS = 2  # steps in a row whose outputs left the window before the model saw them


class TurnEngine:
    """The loop that runs the turns of one session: request, tool calls, next request."""

    def __init__(
        self,
        runtime: SessionRuntime,
        tools: ToolRunner,
        context_manager: ContextManager,
        budget: SessionBudget,
        permissions: SessionPermissions,
        file_versions: FileVersionTracker,
        changes: ChangeRecorder,
        instructions: SessionInstructions,
        is_unattended: bool = False,
    ) -> None:
        """`is_unattended` is True if no user is there to decide what to do about a rejected image."""
        self._is_unattended = is_unattended
        self._runtime, self._tools, self._context_manager = runtime, tools, context_manager
        self.response = ResponseStream(runtime)
        self._budget, self._permissions, self._file_versions = budget, permissions, file_versions
        self._changes, self._instructions = changes, instructions
        self._intake = Intake(runtime.counter)
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

    async def close_interrupted(self) -> bool:
        """Close what a crash left open, with what came of an answer. Return True if there was anything."""
        await self._runtime.session.drain()
        await self.response.recover_partial()
        await self._tools.recover_outputs()
        return await self._runtime.session.close_interrupted(self.response.take_unrecorded())

    async def _run(self, begin: Callable[[], Awaitable[None]]) -> TurnEnded:
        self._runtime.session.publish(TurnChanged(running=True))
        try:
            ended = await self._run_safely(begin)
        finally:
            self.response.cancel_retry()
            self._runtime.session.publish(TurnChanged(running=False))
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
        if isinstance(error, ImagesRejected) and error.seqs:
            label = self._runtime.frame.info.label
            return msgspec.structs.replace(ended, cause="image", images=error.seqs, refused_by=label)
        return ended

    async def _start(self, message: UserMessage, start: TurnStart) -> None:
        try:
            await self.close_interrupted()
            await self._omit_refused_images()
            changed = await self._file_versions.record()  # the user may have edited files meanwhile
            changed += await self._changes.outside_changes({file.path for file in changed})
            instructions = await self._instructions.before_message()
            mode = self._permissions.mode
            updates = files_note(changed, await self._changes.file_updates(changed))
            of_mode = mode_note(self._runtime.transcript.announced_mode, mode)
            note = "\n".join(filter(None, (of_mode, await self._changes.reverts_note(), updates)))
            uncounted = [message.text] if message.tokens is None else []
            counts = await self._runtime.counter.count([note, *uncounted] if note else uncounted)
            tokens = sum(counts, message.tokens or 0)
            titled = _first_title(self._runtime.transcript, message)
            event = UserSpoke(
                message.text,
                tokens,
                message.attachments,
                message.queued_seq,
                mode,
                note,
                prompt=message.prompt,
            )
            *_, recorded = await self._runtime.session.record(*titled, *instructions, event)
            start.end(recorded.seq)
            if any(attachment.version for attachment in message.attachments):
                await self._file_versions.record()  # they may have changed since they were attached
        finally:
            start.end()

    async def _omit_refused_images(self) -> None:
        """Mask the images that this model's server rejected: it would reject every request with them."""
        refused = self._runtime.transcript.image_refusal
        if refused is not None and refused.refused_by == self._runtime.frame.info.label:
            await self._context_manager.rewriter.mask_messages(refused.images)

    async def _restart(self, start: TurnStart) -> None:
        try:
            await self.close_interrupted()

            def decide() -> list[TurnRetried]:
                event = self._runtime.transcript.retry_event()
                if event is None:
                    raise InvalidInput(
                        _text("No turn to retry."),
                        _text("The last turn is complete."),
                        _text("Send a new message."),
                    )
                return [event]

            await self._runtime.session.record_decided(decide)
            await self._file_versions.record()
            self._changes.scan_in_background()
        finally:
            start.end()

    async def _run_steps(self) -> None:
        read_ids, lost_steps, unnamed_steps = frozenset[str](), 0, 0
        while True:
            window, answer = await self._run_step()
            lost_steps = lost_steps + 1 if read_ids and not read_ids & _shown_outputs(window) else 0
            if lost_steps >= _MAX_LOST_STEPS and answer.calls:
                raise _reading_lost(self._runtime.frame.info)
            is_unnamed = answer.calls and all(call.name == UNNAMED_CALL for call in answer.calls)
            unnamed_steps = unnamed_steps + 1 if is_unnamed else 0
            if unnamed_steps >= _MAX_UNNAMED_STEPS:
                raise InvalidModelResponse(
                    _text("The tool calls of {model} have no name.", model=self._runtime.frame.info.label),
                    _text("The model or its server can't call tools correctly."),
                    _text("Send the message again, or choose another model."),
                )
            is_reading = all(tool_kind(call.name) in LOOKUPS for call in answer.calls)
            read_ids = frozenset(call.id for call in answer.calls) if is_reading else frozenset()
            answered_seq = self._runtime.transcript.last_seq
            if answer.calls:
                self._context_manager.early_rewrites.start()
            await self._tools.run_calls(answer.calls, self._context_manager.early_rewrites)
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
            for seq, message in self._runtime.transcript.queued_messages.items()
            if message.steer
        ]
        if not queued:
            return False
        mode = self._permissions.mode
        note = mode_note(self._runtime.transcript.announced_mode, mode)
        note_tokens, *counts = await self._runtime.counter.count(
            [note, *(message.text for _, message in queued)]
        )

        def decide() -> list[UserSpoke]:
            still_queued = (
                self._runtime.transcript.queued_messages
            )  # a message may have been changed or withdrawn meanwhile
            events = [
                UserSpoke(
                    message.text,
                    tokens,
                    message.attachments,
                    seq,
                    mode,
                    steered=True,
                    prompt=message.prompt,
                )
                for (seq, message), tokens in zip(queued, counts, strict=True)
                if still_queued.get(seq) == message
            ]
            if note and events:
                events[0] = msgspec.structs.replace(
                    events[0], note=note, tokens=events[0].tokens + note_tokens
                )
            return events

        return bool(await self._runtime.session.record_decided(decide))

    async def _run_step(self) -> tuple[Window, ModelResponse]:
        await self._budget.ensure_available()
        started_at_ms = self._runtime.clock()
        window, answer = await self._request()
        frame = self._runtime.frame
        duration_ms = self._runtime.elapsed_ms(started_at_ms)
        event, contents = await self._intake.from_response(
            answer, frame.info, window.estimate, duration_ms, self._runtime.policy.handle_digits
        )
        self.response.clear()
        event = msgspec.structs.replace(self.response.estimated(event), layers=hash_layers(window))
        refusals = _new_refusals(self._runtime.transcript, answer, frame.info)

        def decide() -> list[Event]:
            reached = self._runtime.transcript.rewritten_after(self.response.sent_after)
            return [msgspec.structs.replace(event, sent_after=reached), *refusals]

        await self._runtime.session.record_decided(decide, contents, ends_partial_answer=True)
        self.response.forget_saved()
        return window, answer

    async def _request(self) -> tuple[Window, ModelResponse]:
        """Call the model; if it rejects the request as too large, make room and call once more.

        What left the window for that comes back if the smaller request is rejected too. In an unattended run,
        rejected images are replaced by text and hash.
        """
        rewrites: Sequence[int] | None = None
        while True:
            window = await self._context_manager.prepare_window()
            try:
                return window, await self.response.receive(window, self._runtime.transcript.last_seq)
            except ContextWindowExceeded as error:
                await self._record_learned(error)
                if rewrites is not None:
                    await self._context_manager.put_back(rewrites)
                    raise
                rewrites = await self._context_manager.make_room_after_overflow(error)
                if rewrites is None:
                    raise
                if error.is_rate:
                    smaller = _text("It is made smaller and sent again.")
                    self._runtime.session.publish(
                        ErrorRaised(error.what, error.why, smaller, is_warning=True)
                    )
            except ImagesRejected as error:
                await self._omit_images(error)

    async def _record_learned(self, error: ContextWindowExceeded) -> None:
        """Record that an error has shown a smaller window, if it has."""
        if error.believed:
            label, believed, error.believed = self._runtime.frame.info.label, error.believed, 0
            await self._runtime.session.record(WindowLearned(label, error.window_size, believed, error.why))

    async def _omit_images(self, rejection: ImagesRejected) -> None:
        """Mask rejected images in an unattended run; else raise ImagesRejected naming the suspects."""
        policy, frame = self._runtime.policy, self._runtime.frame
        transcript = self._runtime.transcript
        suspects = suspect_messages(transcript, frame.info.label)
        error = describe_rejection(rejection, suspects, transcript, frame.info)
        if not (error.seqs and self._is_unattended and policy.enabled):
            raise error from rejection
        # Each time fewer images are left, so the repetitions end.
        await self._context_manager.rewriter.mask_messages(error.seqs)
        left_out = _text("It was left out, and the turn continues.")
        self._runtime.session.publish(ErrorRaised(error.what, error.why, left_out, is_warning=True))

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
            await self._context_manager.early_rewrites.cancel()
            await self._tools.record_again()
            await self._runtime.session.close_calls(ended.how)
            await self._changes.end_open_calls()
            if await self._runtime.session.end_turn(ended):
                self._context_manager.after_turn()
            elif ended.how == "failed":
                failure = ErrorRaised(ended.what, ended.why, ended.fix, ended.remedies, details=ended.details)
                self._runtime.session.publish(error_raised or failure)
        except HelixError as error:
            self._runtime.session.publish(ErrorRaised.from_error(error))
        return ended


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
    title = title_line(message.prompt.typed_text if message.prompt else message.text)
    if transcript.messages.turns or transcript.title not in ("", NEW_TITLE) or not title:
        return []
    return [SessionRenamed(title, "message")]
