"""The engine: one turn from the person's words to the end of the agent's answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing

import msgspec

from helix_desktop.agent.budget import SessionBudget
from helix_desktop.agent.intake.intake import Intake
from helix_desktop.agent.models.roles import RunSettingsSource
from helix_desktop.agent.ports import Clock, TokenCounter
from helix_desktop.agent.session import Session
from helix_desktop.agent.tool_calls.runner import ToolRunner
from helix_desktop.agent.updates import ErrorRaised, ResponseDelta, ResponseReset, TurnChanged
from helix_desktop.agent.window.manager import ContextManager
from helix_desktop.context.log.mode_notes import mode_note
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.window.rejected_images import describe_rejection, suspect_messages
from helix_desktop.context.window.window import Window
from helix_desktop.domain.cost import step_cost
from helix_desktop.domain.digest import title_line
from helix_desktop.domain.errors import (
    BudgetExhausted,
    ContextWindowExceeded,
    HelixError,
    ImagesRejected,
    InvalidInput,
    InvalidModelResponse,
)
from helix_desktop.domain.events.session import (
    NEW_TITLE,
    AssistantSpoke,
    Attachment,
    SessionRenamed,
    TurnEnded,
    TurnRetried,
    UserSpoke,
)
from helix_desktop.domain.messages import (
    ModelResponse,
    ReasoningDelta,
    RetryScheduled,
    TextDelta,
    TurnOutcome,
    no_wait,
)
from helix_desktop.domain.tools import PermissionMode


class TurnEngine:
    """Runs the turns of one session."""

    def __init__(
        self,
        session: Session,
        tools: ToolRunner,
        context_manager: ContextManager,
        counter: TokenCounter,
        clock: Clock,
        settings: RunSettingsSource,
        budget: SessionBudget,
        mode: Callable[[], PermissionMode] = lambda: "ask",
        is_unattended: bool = False,
    ) -> None:
        """`unattended` says that nobody is there who could decide what to do about a refused image."""
        self._is_unattended = is_unattended
        self._session, self._tools, self._context_manager, self._budget = (
            session,
            tools,
            context_manager,
            budget,
        )
        self._counter, self._clock, self._settings, self._mode = counter, clock, settings, mode
        self._intake = Intake(counter)
        self.partial_text, self._request_tokens = "", 0  # and the tokens of the request that it answers
        self._retry_state: tuple[ResponseReset, float] | None = (
            None  # and by the loop's clock, when that will be
        )
        self._skip_wait: Callable[[], None] = no_wait
        self.started = asyncio.Event()  # set when the person's words are on record, or could not be
        self.cancelled_as: TurnOutcome = (
            "stopped"  # what a cancelled turn ended by; closing the app interrupts it
        )

    @property
    def retry_state(self) -> ResponseReset | None:
        """That the model is about to be asked again, with the seconds left; None once it answers."""
        if self._retry_state is None:
            return None
        told, at = self._retry_state
        return msgspec.structs.replace(told, wait_s=max(0.0, at - asyncio.get_running_loop().time()))

    async def run_turn(
        self, text: str, attachments: Sequence[Attachment] = (), queued_seq: int = 0
    ) -> TurnEnded:
        """Run one turn to its end, whatever that is; being cancelled is the person's stop.

        Errors become the turn's end with what, why and what to do; nothing recorded is lost.
        """
        return await self._run(lambda: self._start(text, attachments, queued_seq))

    async def retry_turn(self) -> TurnEnded:
        """Repeat the last step of a turn that was not done, and go on from there to the turn's end."""
        return await self._run(self._restart)

    async def _run(self, begin: Callable[[], Awaitable[None]]) -> TurnEnded:
        self._session.publish(TurnChanged(running=True))
        try:
            ended = await self._run_safely(begin)
        finally:
            self._retry_state = None
            self._session.publish(TurnChanged(running=False))
        return ended

    async def _run_safely(self, begin: Callable[[], Awaitable[None]]) -> TurnEnded:
        try:
            await begin()
            await self._run_steps()
            return await self._end(TurnEnded("done"))
        except asyncio.CancelledError:
            await self._end(TurnEnded(self.cancelled_as))
            raise
        except HelixError as error:
            return await self._end(self._failed_end(error))
        except Exception as error:
            ended = TurnEnded("failed", "Something went wrong.", repr(error), "See the log.")
            await self._end(msgspec.structs.replace(ended, remedies=("open_log",)))
            raise

    def _failed_end(self, error: HelixError) -> TurnEnded:
        ended = TurnEnded("failed", error.what, error.why, error.fix, remedies=error.remedies)
        if isinstance(error, BudgetExhausted):
            return msgspec.structs.replace(ended, cause="budget")
        if isinstance(error, ImagesRejected) and error.seqs:
            label = self._settings()[1].info.label
            return msgspec.structs.replace(ended, cause="image", images=error.seqs, refused_by=label)
        return ended

    async def _start(self, text: str, attachments: Sequence[Attachment], queued_seq: int) -> None:
        self.partial_text = ""
        try:
            await self._session.close_interrupted()
            await self._omit_refused_images()
            mode = self._mode()
            note = mode_note(self._session.transcript.announced_mode, mode)
            tokens = sum(await self._counter.count([note, text] if note else [text]))
            titled = _first_title(self._session.transcript, text)
            said = UserSpoke(text, tokens, tuple(attachments), queued_seq, mode, note)
            await self._session.record(*titled, said)
        finally:
            self.started.set()

    async def _omit_refused_images(self) -> None:
        """Send no image again that the same model's server refused: it would refuse every request."""
        refused = self._session.transcript.image_refusal
        if refused is not None and refused.refused_by == self._settings()[1].info.label:
            await self._context_manager.mask_messages(refused.images)

    async def _restart(self) -> None:
        self.partial_text = ""
        try:
            await self._session.close_interrupted()

            def retried() -> list[TurnRetried]:
                found = self._session.transcript.retry_event()
                if found is None:
                    raise InvalidInput("There is no turn to retry.", "The newest turn is done.")
                return [found]

            await self._session.record_decided(retried)
        finally:
            self.started.set()

    async def _run_steps(self) -> None:
        while True:
            answer = await self._run_step()
            await self._tools.answer(answer.calls)
            if not await self._apply_steering() and not answer.calls:
                return

    async def _apply_steering(self) -> bool:
        """Let what the person sent to steer the turn into the window, now that a step is closed.

        All of it at once and in its order; whether there was any. What comes a moment later waits for the
        next step, or begins a turn.
        """
        waiting = [(seq, one) for seq, one in self._session.transcript.queued_messages.items() if one.steer]
        if not waiting:
            return False
        mode = self._mode()
        note = mode_note(self._session.transcript.announced_mode, mode)
        told, *counts = await self._counter.count([note, *(one.text for _, one in waiting)])

        def said() -> list[UserSpoke]:
            now = (
                self._session.transcript.queued_messages
            )  # it may have been changed, or taken back, meanwhile
            spoken = [
                UserSpoke(one.text, tokens, one.attachments, seq, mode, steered=True)
                for (seq, one), tokens in zip(waiting, counts, strict=True)
                if now.get(seq) == one
            ]
            if note and spoken:
                spoken[0] = msgspec.structs.replace(spoken[0], note=note, tokens=spoken[0].tokens + told)
            return spoken

        return bool(await self._session.record_decided(said))

    async def _run_step(self) -> ModelResponse:
        await self._budget.ensure_available()
        began = self._clock()
        window, answer = await self._request()
        _, frame, _ = self._settings()
        took = max(0, self._clock() - began)
        spoken, contents = await self._intake.from_response(answer, frame.info, window.estimate, took)
        self.partial_text = ""
        await self._session.record(spoken, contents=contents)
        return answer

    async def _request(self) -> tuple[Window, ModelResponse]:
        """Ask the model; when it says that the request does not fit, make room and ask once more.

        Of a refused image, text and hash are sent where nobody is there to decide it.
        """
        overflowed = False
        while True:
            window = await self._context_manager.prepare_window()
            try:
                return window, await self._stream_answer(window)
            except ContextWindowExceeded as refused:
                if overflowed or not await self._context_manager.make_room_after_overflow(refused):
                    raise
                overflowed = True
            except ImagesRejected as refused:
                await self._omit_images(refused)

    async def _omit_images(self, rejection: ImagesRejected) -> None:
        """Let text stand for the images that were refused, unattended; else raise which they may be."""
        policy, frame, _ = self._settings()
        transcript = self._session.transcript
        found = suspect_messages(transcript, frame.info.label)
        error = describe_rejection(rejection, found, transcript, frame.info)
        if not (error.seqs and self._is_unattended and policy.enabled):
            raise error from rejection
        await self._context_manager.mask_messages(error.seqs)  # each time fewer images are left, so this ends

    async def _stream_answer(self, window: Window) -> ModelResponse:
        _, _, roles = self._settings()
        self.partial_text, self._request_tokens, self._retry_state = "", window.estimate, None
        async with aclosing(roles.main.stream(window.request)) as arrivals:
            async for arrival in arrivals:
                self._retry_state = None
                match arrival:
                    case TextDelta(text=text):
                        self.partial_text += text
                        self._session.publish(ResponseDelta(text))
                    case ReasoningDelta(text=text):
                        self._session.publish(ResponseDelta(text, is_reasoning=True))
                    case RetryScheduled(attempt=attempt, wait_s=wait_s, reason=reason, skip=skip):
                        self.partial_text, self._skip_wait = "", skip
                        self._publish_retry(ResponseReset(attempt, wait_s, reason))
                    case ModelResponse() as answer if answer.text.strip() or answer.calls:
                        return answer
        raise InvalidModelResponse(
            "The model answered nothing.",
            "Neither text nor a tool call came.",
            "Send again, or try another model.",
        )

    def _publish_retry(self, retry_state: ResponseReset) -> None:
        self._retry_state = retry_state, asyncio.get_running_loop().time() + retry_state.wait_s
        self._session.publish(retry_state)

    def retry_now(self) -> None:
        """Make a call that failed again at once, if one waits for that."""
        if self._retry_state is not None:
            self._publish_retry(msgspec.structs.replace(self._retry_state[0], wait_s=0.0))
            self._skip_wait()

    async def _end(self, ended: TurnEnded) -> TurnEnded:
        """Record what was said so far, answers for open calls, the end; a full disk is told, not raised."""
        try:
            if self.partial_text.strip():
                await self._record_partial()
            await self._session.close_calls(ended.how)
            if not await self._session.end_turn(ended) and ended.how == "failed":
                self._session.publish(ErrorRaised(ended.what, ended.why, ended.fix, ended.remedies))
        except HelixError as error:
            self._session.publish(ErrorRaised(error.what, error.why, error.fix, error.remedies))
        self._context_manager.after_turn()
        return ended

    async def _record_partial(self) -> None:
        (tokens,) = await self._counter.count([self.partial_text])
        _, frame, _ = self._settings()
        info = frame.info
        said = AssistantSpoke(
            self.partial_text,
            info.label,
            tokens,
            estimate=self._request_tokens,
            stop="stopped",
            demo=info.demo,
            window=info.window,
        )
        self.partial_text = ""
        await self._session.record(msgspec.structs.replace(said, cost=step_cost(info, said)))


def _first_title(transcript: Transcript, text: str) -> list[SessionRenamed]:
    """A session that nobody named yet is named after its first message."""
    title = title_line(text)
    if transcript.turns or transcript.title not in ("", NEW_TITLE) or not title:
        return []
    return [SessionRenamed(title)]
