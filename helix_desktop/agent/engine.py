"""The engine: one turn from the person's words to the end of the agent's answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing

import msgspec

from helix_desktop.agent.intake import Intake
from helix_desktop.agent.ports import Clock, Counter
from helix_desktop.agent.purse import Purse
from helix_desktop.agent.roles import Settings
from helix_desktop.agent.session import Session
from helix_desktop.agent.steward import Steward
from helix_desktop.agent.tool_runner import ToolRunner
from helix_desktop.agent.update import ArrivalVoided, Arriving, Trouble, TurnChanged
from helix_desktop.context.digest import title_line
from helix_desktop.context.errors import (
    BudgetSpent,
    HelixError,
    ImagesRefused,
    InputUnusable,
    ModelNonsense,
    ModelOverflow,
)
from helix_desktop.context.event import (
    NEW_TITLE,
    AssistantSpoke,
    Attachment,
    SessionRenamed,
    TurnEnded,
    TurnRetried,
    UserSpoke,
)
from helix_desktop.context.message import (
    Answer,
    Ended,
    ReasoningArrived,
    Retrying,
    TextArrived,
    no_wait,
)
from helix_desktop.context.mode import note_of
from helix_desktop.context.refused_image import named, suspects
from helix_desktop.context.spending import step_cost
from helix_desktop.context.tool import Mode
from helix_desktop.context.transcript import Transcript
from helix_desktop.context.window import Window


class Engine:
    """Runs the turns of one session."""

    def __init__(
        self,
        session: Session,
        tools: ToolRunner,
        steward: Steward,
        counter: Counter,
        clock: Clock,
        settings: Settings,
        purse: Purse,
        mode: Callable[[], Mode] = lambda: "ask",
        unattended: bool = False,
    ) -> None:
        """`unattended` says that nobody is there who could decide what to do about a refused image."""
        self._unattended = unattended
        self._session, self._tools, self._steward, self._purse = session, tools, steward, purse
        self._counter, self._clock, self._settings, self._mode = counter, clock, settings, mode
        self._intake = Intake(counter)
        self.partial, self._asked = "", 0  # and the tokens of the request that it answers
        self._again: tuple[ArrivalVoided, float] | None = None  # and by the loop's clock, when that will be
        self._skip_wait: Callable[[], None] = no_wait
        self.opened = asyncio.Event()  # set when the person's words are on record, or could not be
        self.cut_off: Ended = "stopped"  # what a cancelled turn ended by; closing the app interrupts it

    @property
    def again(self) -> ArrivalVoided | None:
        """That the model is about to be asked again, with the seconds left; None once it answers."""
        if self._again is None:
            return None
        told, at = self._again
        return msgspec.structs.replace(told, wait_s=max(0.0, at - asyncio.get_running_loop().time()))

    async def run_turn(self, text: str, attachments: Sequence[Attachment] = (), queued: int = 0) -> TurnEnded:
        """Run one turn to its end, whatever that is; being cancelled is the person's stop.

        Errors become the turn's end with what, why and what to do; nothing recorded is lost.
        """
        return await self._run(lambda: self._open(text, attachments, queued))

    async def retry_turn(self) -> TurnEnded:
        """Repeat the last step of a turn that was not done, and go on from there to the turn's end."""
        return await self._run(self._reopen)

    async def _run(self, begin: Callable[[], Awaitable[None]]) -> TurnEnded:
        self._session.publish(TurnChanged(running=True))
        try:
            ended = await self._guarded(begin)
        finally:
            self._again = None
            self._session.publish(TurnChanged(running=False))
        return ended

    async def _guarded(self, begin: Callable[[], Awaitable[None]]) -> TurnEnded:
        try:
            await begin()
            await self._steps()
            return await self._end(TurnEnded("done"))
        except asyncio.CancelledError:
            await self._end(TurnEnded(self.cut_off))
            raise
        except HelixError as error:
            return await self._end(self._failure(error))
        except Exception as error:
            ended = TurnEnded("failed", "Something went wrong.", repr(error), "See the log.")
            await self._end(msgspec.structs.replace(ended, remedies=("open_log",)))
            raise

    def _failure(self, error: HelixError) -> TurnEnded:
        ended = TurnEnded("failed", error.what, error.why, error.fix, remedies=error.remedies)
        if isinstance(error, BudgetSpent):
            return msgspec.structs.replace(ended, cause="budget")
        if isinstance(error, ImagesRefused) and error.seqs:
            label = self._settings()[1].info.label
            return msgspec.structs.replace(ended, cause="image", images=error.seqs, refused_by=label)
        return ended

    async def _open(self, text: str, attachments: Sequence[Attachment], queued: int) -> None:
        self.partial = ""
        try:
            await self._session.mend()
            await self._leave_out_refused()
            mode = self._mode()
            note = note_of(self._session.transcript.told_mode, mode)
            tokens = sum(await self._counter.count([note, text] if note else [text]))
            titled = _first_title(self._session.transcript, text)
            said = UserSpoke(text, tokens, tuple(attachments), queued, mode, note)
            await self._session.record(*titled, said)
        finally:
            self.opened.set()

    async def _leave_out_refused(self) -> None:
        """Send no image again that the same model's server refused: it would refuse every request."""
        refused = self._session.transcript.refused
        if refused is not None and refused.refused_by == self._settings()[1].info.label:
            await self._steward.leave_out(refused.images)

    async def _reopen(self) -> None:
        self.partial = ""
        try:
            await self._session.mend()

            def retried() -> list[TurnRetried]:
                found = self._session.transcript.retry()
                if found is None:
                    raise InputUnusable("There is no turn to retry.", "The newest turn is done.")
                return [found]

            await self._session.record_decided(retried)
        finally:
            self.opened.set()

    async def _steps(self) -> None:
        while True:
            answer = await self._step()
            await self._tools.answer(answer.calls)
            if not await self._steered() and not answer.calls:
                return

    async def _steered(self) -> bool:
        """Let what the person sent to steer the turn into the window, now that a step is closed.

        All of it at once and in its order; whether there was any. What comes a moment later waits for the
        next step, or begins a turn.
        """
        waiting = [(seq, one) for seq, one in self._session.transcript.queued.items() if one.steer]
        if not waiting:
            return False
        mode = self._mode()
        note = note_of(self._session.transcript.told_mode, mode)
        told, *counts = await self._counter.count([note, *(one.text for _, one in waiting)])

        def said() -> list[UserSpoke]:
            now = self._session.transcript.queued  # it may have been changed, or taken back, meanwhile
            spoken = [
                UserSpoke(one.text, tokens, one.attachments, seq, mode, steered=True)
                for (seq, one), tokens in zip(waiting, counts, strict=True)
                if now.get(seq) == one
            ]
            if note and spoken:
                spoken[0] = msgspec.structs.replace(spoken[0], note=note, tokens=spoken[0].tokens + told)
            return spoken

        return bool(await self._session.record_decided(said))

    async def _step(self) -> Answer:
        await self._purse.ready()
        began = self._clock()
        window, answer = await self._answered()
        _, frame, _ = self._settings()
        took = max(0, self._clock() - began)
        spoken, contents = await self._intake.spoken(answer, frame.info, window.estimate, took)
        self.partial = ""
        await self._session.record(spoken, contents=contents)
        return answer

    async def _answered(self) -> tuple[Window, Answer]:
        """Ask the model; when it says that the request does not fit, make room and ask once more.

        Of a refused image, text and hash are sent where nobody is there to decide it.
        """
        overflowed = False
        while True:
            window = await self._steward.ready()
            try:
                return window, await self._ask(window)
            except ModelOverflow as refused:
                if overflowed or not await self._steward.overflowed(refused):
                    raise
                overflowed = True
            except ImagesRefused as refused:
                await self._without_images(refused)

    async def _without_images(self, refused: ImagesRefused) -> None:
        """Let text stand for the images that were refused, unattended; else raise which they may be."""
        policy, frame, _ = self._settings()
        transcript = self._session.transcript
        found = suspects(transcript, frame.info.label)
        error = named(refused, found, transcript, frame.info)
        if not (error.seqs and self._unattended and policy.enabled):
            raise error from refused
        await self._steward.leave_out(error.seqs)  # each time fewer images are left, so this ends

    async def _ask(self, window: Window) -> Answer:
        _, _, roles = self._settings()
        self.partial, self._asked, self._again = "", window.estimate, None
        async with aclosing(roles.main.stream(window.request)) as arrivals:
            async for arrival in arrivals:
                self._again = None
                match arrival:
                    case TextArrived(text=text):
                        self.partial += text
                        self._session.publish(Arriving(text))
                    case ReasoningArrived(text=text):
                        self._session.publish(Arriving(text, reasoning=True))
                    case Retrying(attempt=attempt, wait_s=wait_s, reason=reason, skip=skip):
                        self.partial, self._skip_wait = "", skip
                        self._announce(ArrivalVoided(attempt, wait_s, reason))
                    case Answer() as answer if answer.text.strip() or answer.calls:
                        return answer
        raise ModelNonsense(
            "The model answered nothing.",
            "Neither text nor a tool call came.",
            "Send again, or try another model.",
        )

    def _announce(self, voided: ArrivalVoided) -> None:
        self._again = voided, asyncio.get_running_loop().time() + voided.wait_s
        self._session.publish(voided)

    def try_now(self) -> None:
        """Make a call that failed again at once, if one waits for that."""
        if self._again is not None:
            self._announce(msgspec.structs.replace(self._again[0], wait_s=0.0))
            self._skip_wait()

    async def _end(self, ended: TurnEnded) -> TurnEnded:
        """Record what was said so far, answers for open calls, the end; a full disk is told, not raised."""
        try:
            if self.partial.strip():
                await self._record_partial()
            await self._session.close_calls(ended.how)
            if not await self._session.end_turn(ended) and ended.how == "failed":
                self._session.publish(Trouble(ended.what, ended.why, ended.fix, ended.remedies))
        except HelixError as error:
            self._session.publish(Trouble(error.what, error.why, error.fix, error.remedies))
        self._steward.after_turn()
        return ended

    async def _record_partial(self) -> None:
        (tokens,) = await self._counter.count([self.partial])
        _, frame, _ = self._settings()
        info = frame.info
        said = AssistantSpoke(
            self.partial,
            info.label,
            tokens,
            estimate=self._asked,
            stop="stopped",
            demo=info.demo,
            window=info.window,
        )
        self.partial = ""
        await self._session.record(msgspec.structs.replace(said, cost=step_cost(info, said)))


def _first_title(known: Transcript, text: str) -> list[SessionRenamed]:
    """A session that nobody named yet is named after its first message."""
    title = title_line(text)
    if known.turns or known.title not in ("", NEW_TITLE) or not title:
        return []
    return [SessionRenamed(title)]
