"""The engine: one turn from the person's words to the end of the agent's answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing

from helix_desktop.agent.compactor import Compactor
from helix_desktop.agent.ports import Clock, Counter, Model
from helix_desktop.agent.session import Session
from helix_desktop.agent.tasks import TaskScope
from helix_desktop.agent.tool_runner import ToolRunner
from helix_desktop.agent.update import ArrivalVoided, Arriving, Trouble, TurnChanged
from helix_desktop.context import planner, validity
from helix_desktop.context.budget import Gauge, gauge
from helix_desktop.context.cut import Cut
from helix_desktop.context.errors import HelixError, ModelNonsense, RequestInvalid, RequestTooLarge
from helix_desktop.context.event import (
    NEW_TITLE,
    AssistantSpoke,
    Attachment,
    Ended,
    SessionRenamed,
    SweepMade,
    SweepReason,
    Trigger,
    TurnEnded,
    UserSpoke,
)
from helix_desktop.context.message import (
    Answer,
    ReasoningArrived,
    Request,
    Retrying,
    TextArrived,
)
from helix_desktop.context.planner import Sweep
from helix_desktop.context.policy import Policy
from helix_desktop.context.transcript import Transcript
from helix_desktop.context.window import Frame, Window, project

_TITLE_CAP = 60  # characters


class Engine:
    """Runs the turns of one session."""

    def __init__(
        self,
        session: Session,
        tools: ToolRunner,
        compactor: Compactor,
        counter: Counter,
        clock: Clock,
        scope: TaskScope,
        settings: Callable[[], tuple[Policy, Frame, Model]],
    ) -> None:
        self._session, self._tools, self._compactor = session, tools, compactor
        self._counter, self._clock, self._scope, self._settings = counter, clock, scope, settings
        self.partial = ""
        self.opened = asyncio.Event()  # set when the person's words are on record, or could not be
        self.cut_off: Ended = "stopped"  # what a cancelled turn ended by; closing the app interrupts it
        self._compaction: asyncio.Task[None] | None = None

    async def run_turn(self, text: str, attachments: Sequence[Attachment] = (), queued: int = 0) -> TurnEnded:
        """Run one turn to its end, whatever that is; being cancelled is the person's stop.

        Errors become the turn's end with what, why and what to do; nothing recorded is lost.
        """
        self._session.publish(TurnChanged(running=True))
        try:
            ended = await self._guarded(text, attachments, queued)
        finally:
            self._session.publish(TurnChanged(running=False))
        return ended

    async def _guarded(self, text: str, attachments: Sequence[Attachment], queued: int) -> TurnEnded:
        try:
            await self._open(text, attachments, queued)
            await self._steps()
            return await self._end(TurnEnded("done"))
        except asyncio.CancelledError:
            await self._end(TurnEnded(self.cut_off))
            raise
        except HelixError as error:
            return await self._end(TurnEnded("failed", error.what, error.why, error.fix))
        except Exception as error:
            await self._end(TurnEnded("failed", "Helix Desktop made a mistake.", repr(error), "See the log."))
            raise

    async def _open(self, text: str, attachments: Sequence[Attachment], queued: int) -> None:
        self.partial = ""
        try:
            await self._session.mend()
            (tokens,) = await self._counter.count([text])
            titled = _first_title(self._session.transcript, text)
            await self._session.record(*titled, UserSpoke(text, tokens, tuple(attachments), queued))
        finally:
            self.opened.set()

    async def _steps(self) -> None:
        while True:
            answer = await self._step()
            if not answer.calls:
                return
            await self._tools.answer(answer.calls)

    async def _step(self) -> Answer:
        window = await self._ready_window()
        began = self._clock()
        answer = await self._ask(window.request)
        _, frame, _ = self._settings()
        texts = [answer.text, *(call.name + call.arguments for call in answer.calls)]
        spoken = AssistantSpoke(
            text=answer.text,
            model=frame.info.label,
            tokens=sum(await self._counter.count(texts)),
            calls=answer.calls,
            reasoning=answer.reasoning,
            usage=answer.usage,
            estimate=window.estimate,
            stop=answer.stop,
            duration_ms=max(0, self._clock() - began),
            demo=frame.info.demo,
            verbatim=answer.verbatim,
        )
        self.partial = ""
        await self._session.record(spoken)
        return answer

    async def _ask(self, request: Request) -> Answer:
        _, _, model = self._settings()
        self.partial = ""
        async with aclosing(model.stream(request)) as arrivals:
            async for arrival in arrivals:
                match arrival:
                    case TextArrived(text=text):
                        self.partial += text
                        self._session.publish(Arriving(text))
                    case ReasoningArrived(text=text):
                        self._session.publish(Arriving(text, reasoning=True))
                    case Retrying(attempt=attempt, wait_s=wait_s, reason=reason):
                        self.partial = ""
                        self._session.publish(ArrivalVoided(attempt, wait_s, reason))
                    case Answer() as answer if answer.text.strip() or answer.calls:
                        return answer
        raise ModelNonsense(
            "The model answered nothing.",
            "Neither text nor a tool call came.",
            "Send again, or try another model.",
        )

    async def _end(self, ended: TurnEnded) -> TurnEnded:
        """Record what was said so far, answers for open calls, the end; a full disk is told, not raised."""
        try:
            if self.partial.strip():
                await self._record_partial()
            await self._session.close_calls(ended.how)
            self._note_use()
            if not await self._session.end_turn(ended) and ended.how == "failed":
                self._session.publish(Trouble(ended.what, ended.why, ended.fix))
        except HelixError as error:
            self._session.publish(Trouble(error.what, error.why, error.fix))
        self._start_compaction_if_due()
        return ended

    async def _record_partial(self) -> None:
        (tokens,) = await self._counter.count([self.partial])
        _, frame, _ = self._settings()
        said = AssistantSpoke(self.partial, frame.info.label, tokens, stop="stopped", demo=frame.info.demo)
        self.partial = ""
        await self._session.record(said)

    def measure(self) -> tuple[Window, Gauge]:
        """The window as it would be sent now, and its gauge."""
        policy, frame, _ = self._settings()
        window = project(self._session.transcript, policy, frame)
        return window, gauge(window, self._session.transcript, policy, frame)

    def _note_use(self) -> None:
        _, now = self.measure()
        _, frame, _ = self._settings()
        self._session.used, self._session.window = now.used, now.window
        self._session.model = frame.info.label

    async def _ready_window(self) -> Window:
        """Sweep if it pays, start a handover if one is due, make room if there is none, lint. May refuse."""
        policy, _, _ = self._settings()
        await self._sweep(lambda: planner.sweep_due(self._session.transcript, policy), "batch")
        self._start_compaction_if_due()
        window, now = self.measure()
        if not now.fits:
            await self._make_room(policy)
            window, now = self.measure()
        if not now.fits:
            raise _too_large(window, now, policy)
        self._note_use()
        return _linted(window)

    async def _make_room(self, policy: Policy) -> None:
        """For a request that does not fit: await a handover under way, sweep, hand over without a model."""
        if not policy.enabled:
            return
        await self.settle()
        if not self.measure()[1].fits:
            await self._sweep(lambda: planner.sweep_all(self._session.transcript, policy), "no room")
        now = self.measure()[1]
        due = None if now.fits else planner.handover_now(self._session.transcript, policy, now)
        if due is not None:
            await self._compactor.run("no room", due.cut, ask_model=False)

    async def _sweep(self, plan: Callable[[], Sweep | None], reason: SweepReason) -> None:
        def decide() -> list[SweepMade]:
            sweep = plan()
            return [SweepMade(sweep.masked, sweep.saved, reason)] if sweep is not None else []

        await self._session.record_decided(decide)

    def _start_compaction_if_due(self) -> None:
        policy, _, _ = self._settings()
        if self._compacting:
            return
        _, now = self.measure()
        due = planner.handover_due(self._session.transcript, policy, now, self._clock())
        if due is not None:
            self.compact("85 %", due.cut)

    def compact(self, trigger: Trigger, cut: Cut, focus: str = "") -> None:
        """Start a handover beside whatever runs; one at a time."""
        if not self._compacting:
            work = self._compact(trigger, cut, focus)
            self._compaction = self._scope.start(work, f"compaction {self._session.id}")

    @property
    def _compacting(self) -> bool:
        return self._compaction is not None and not self._compaction.done()

    async def _compact(self, trigger: Trigger, cut: Cut, focus: str) -> None:
        try:
            await self._compactor.run(trigger, cut, focus)
        except HelixError as error:
            self._session.publish(Trouble(error.what, error.why, error.fix))

    async def settle(self) -> None:
        """Wait for the handover under way, if there is one."""
        if self._compaction is not None:
            await asyncio.wait([self._compaction])

    def cancel_compaction(self) -> None:
        """End the handover under way; nothing changes."""
        if self._compaction is not None:
            self._compaction.cancel()


def _too_large(window: Window, now: Gauge, policy: Policy) -> RequestTooLarge:
    largest = max(window.rows, key=lambda row: row.tokens)
    why = (
        f"It needs about {now.used:,} tokens and {now.reserve:,} for the answer; the window holds "
        f"{now.window:,}. The largest part is {largest.name} with {largest.tokens:,} tokens."
    )
    if not policy.enabled:
        return RequestTooLarge("The next request does not fit.", why, "Compaction is off: turn a profile on.")
    return RequestTooLarge(
        "The next request does not fit.", why, "Use a larger window, or begin a new session."
    )


def _linted(window: Window) -> Window:
    messages = window.request.messages
    if not validity.problems(messages):
        return window
    mended = validity.repair(messages)
    left = validity.problems(mended)
    if left:
        raise RequestInvalid(
            "The next request is not valid and was not sent.",
            "; ".join(left),
            "Undo the last change, or report this.",
        )
    return Window(Request(mended, window.request.tools), window.rows, window.estimate)


def _first_title(known: Transcript, text: str) -> list[SessionRenamed]:
    """A session that nobody named yet is named after its first message."""
    words = " ".join(text.split())
    if known.turns or known.title not in ("", NEW_TITLE) or not words:
        return []
    return [SessionRenamed(words if len(words) <= _TITLE_CAP else words[: _TITLE_CAP - 1] + "…")]
