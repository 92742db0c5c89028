"""A conversation: everything a person can do with one session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy

from helix_desktop.agent.approval import Approvals, AskedInWindow, Leeway
from helix_desktop.agent.by_hand import ByHand
from helix_desktop.agent.compactor import Compactor
from helix_desktop.agent.delegate import Delegate, WithoutDelegate
from helix_desktop.agent.engine import Engine
from helix_desktop.agent.extractor import Extractor
from helix_desktop.agent.forms import Forms
from helix_desktop.agent.intake import Intake
from helix_desktop.agent.intake_gate import IntakeGate
from helix_desktop.agent.intake_question import IntakeQuestion
from helix_desktop.agent.observer import Observer
from helix_desktop.agent.ports import Approver, Clock, Counter, Permissions, Store, Tools
from helix_desktop.agent.purse import MeteredSettings, Purse
from helix_desktop.agent.queue import Queue
from helix_desktop.agent.roles import Settings
from helix_desktop.agent.session import Session
from helix_desktop.agent.spend_approvals import SpendApprovals
from helix_desktop.agent.steward import Steward
from helix_desktop.agent.subagent import Nursery, Subagents
from helix_desktop.agent.tasks import TaskScope
from helix_desktop.agent.tool_runner import ToolRunner
from helix_desktop.agent.trust import Trust, TrustedTools, demand
from helix_desktop.agent.update import ArrivalVoided
from helix_desktop.agent.upkeep import Upkeep
from helix_desktop.context.errors import InputUnusable
from helix_desktop.context.event import (
    Attachment,
    MessageQueued,
    ModeChanged,
    SessionRenamed,
    TurnEnded,
)
from helix_desktop.context.message import ModelInfo, ToolSpec
from helix_desktop.context.prompt import without_versions
from helix_desktop.context.signs import whole
from helix_desktop.context.spending import SpendAsk
from helix_desktop.context.tool import ApprovalAsk, Decision, Mode, Reply


class Parts:
    """What the conversations of one workspace share.

    `prompts` holds what models are told, by name and without their version lines; `versions` what events call
    each. `trusted` says whether the person trusts the workspace's folder, `delegate`, set before the first
    conversation, is the tool that starts subagents, as the model is told of it.
    """

    def __init__(
        self,
        store: Store,
        tools: Tools,
        counter: Counter,
        permissions: Permissions,
        clock: Clock,
        prompts: Mapping[str, str],
        approver: Approver | None = None,
        trusted: Trust = lambda: True,
    ) -> None:
        self.store, self.counter, self.clock = store, counter, clock
        self.tools: Tools = TrustedTools(tools, trusted)
        self.trusted = trusted
        self.delegate: ToolSpec | None = None
        self.permissions = permissions
        self.prompts, self.versions = without_versions(prompts)
        self.asked = AskedInWindow()
        self.approver = approver or self.asked
        self.unattended = approver is not None
        """Whether nobody is there to answer: what background work may read is decided by the budget."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is told that it can do."""
        return (*self.tools.specs, *([self.delegate] if self.delegate else []))

    def for_subagents(self) -> Parts:
        """The same without the tool that starts subagents; their model is also told the prompt `subagent`."""
        twin = copy(self)
        twin.tools, twin.delegate = WithoutDelegate(self.tools), None
        told = [self.prompts[name] for name in ("system", "subagent") if name in self.prompts]
        twin.prompts = {**self.prompts, "system": "\n\n".join(told)}
        return twin


class Conversation(ByHand):
    """One session with its engine. Everything runs in its own scope and ends with `close`."""

    def __init__(
        self,
        session: Session,
        scope: TaskScope,
        parts: Parts,
        settings: Settings,
        nursery: Nursery | None = None,
        leeway: Leeway | None = None,
        led: bool = False,
        above: Callable[[], Purse | None] = lambda: None,
    ) -> None:
        """Without a nursery the conversation can start no subagents; `led` by another's leeway it is one.

        `above` gives the purse that pays for a subagent.
        """
        self.leeway = leeway or Leeway()
        self._led = led
        self.subagents = Subagents(session, scope, nursery)
        self._scope, self._parts = scope, parts
        self.purse = Purse(session, settings, above)
        session.settings = settings = MeteredSettings(settings, self.purse)
        self._turn: asyncio.Task[TurnEnded] | None = None
        self._stopping: asyncio.Task[TurnEnded] | None = None
        counter, clock = parts.counter, parts.clock
        extractor = Extractor(counter, parts.prompts["extract"], settings)
        question = IntakeQuestion(session, counter, clock, parts.prompts["intake"], settings)
        gate = IntakeGate(session, Intake(counter), question, extractor, clock, settings)
        approvals = Approvals(
            *(parts.permissions, parts.approver, self.leeway, parts.asked.reconsider),
            demo=lambda: settings()[1].info.demo,
        )
        tools = parts.tools
        if parts.delegate is not None:
            tools = Delegate(tools, parts.delegate, self.subagents)
        runner = ToolRunner(session, tools, approvals, counter, clock, gate)
        self.calls = runner.running
        compactor = Compactor(
            session, counter, clock, parts.prompts["handover"], settings, parts.versions["handover"]
        )
        upkeep = Upkeep(session, counter, clock, settings)
        forms = Forms(session, parts.store, upkeep, counter, extractor, clock, settings)
        observer = Observer(session, counter, clock, upkeep, parts.prompts, parts.versions, settings)
        self._approvals = SpendApprovals(session, settings, self.purse, parts.unattended)
        steward = Steward(
            session, upkeep, compactor, observer, clock, scope, settings, self.purse, self._approvals
        )
        super().__init__(session, steward, compactor, forms, settings)
        self.queue = Queue(session)
        engine = (session, runner, steward, counter, clock, settings, self.purse)
        unattended = led or parts.approver is not parts.asked
        self._engine = Engine(*engine, mode=lambda: self.leeway.mode, unattended=unattended)

    @property
    def running(self) -> bool:
        """Whether a turn runs."""
        return self._turn is not None and not self._turn.done()

    @property
    def asks(self) -> list[ApprovalAsk]:
        """The questions that calls wait with, its own and then its subagents', oldest first."""
        return [*self._parts.asked.asks(self.session.id), *self.subagents.asks]

    @property
    def spend_asks(self) -> tuple[SpendAsk, ...]:
        """The open questions about what background work may read, oldest first."""
        return self._approvals.asks

    @property
    def model(self) -> ModelInfo:
        """The model that answers."""
        return self._settings()[1].info

    @property
    def partial(self) -> str:
        """What has arrived of the answer under way."""
        return self._engine.partial

    @property
    def again(self) -> ArrivalVoided | None:
        """That the model is about to be asked again, with the seconds left; None once it answers."""
        return self._engine.again

    def try_now(self) -> None:
        """Ask the model again at once, if that is waited for."""
        self._engine.try_now()

    async def send(self, text: str, attachments: Sequence[Attachment] = (), steer: bool = False) -> None:
        """Begin a turn; while one runs, keep the message for after it, or to `steer` it at its next step.

        Nothing typed is dropped. Raises StoreError when the waiting message could not be kept,
        WorkspaceUntrusted, ModelUnchosen.
        """
        demand(self._parts.trusted)
        self.demand_model()
        if self.running or self.session.transcript.queued:
            await self.session.record(MessageQueued(whole(text), tuple(attachments), steer))
            self.resume()
            return
        self._begin(text, attachments)

    async def run(self, text: str) -> TurnEnded:
        """Run one turn to its end in the caller's time. Raises WorkspaceUntrusted."""
        demand(self._parts.trusted)
        self._begin(text)
        assert self._turn is not None
        return await self._turn

    def _begin(self, text: str, attachments: Sequence[Attachment] = (), queued: int = 0) -> None:
        self.queue.leaving = queued
        self._start(lambda: self._engine.run_turn(whole(text), attachments, queued))

    def _start(self, turn: Callable[[], Awaitable[TurnEnded]]) -> None:
        opened = self._engine.opened = asyncio.Event()  # its own: the former turn's end may come after this
        self._turn = self._scope.start(self._run(turn), f"turn {self.session.id}")
        self._turn.add_done_callback(lambda _: opened.set())

    async def _run(self, turn: Callable[[], Awaitable[TurnEnded]]) -> TurnEnded:
        try:
            ended = await turn()
        finally:
            self._turn = None
        if ended.how == "done":
            self.resume()
        return ended

    def resume(self) -> None:
        """Send the first message that waits, unless a turn runs; after a stop they wait for this."""
        waiting = self.session.transcript.queued
        if waiting and not self.running and not self.held and self._parts.trusted():
            seq, message = next(iter(waiting.items()))
            self._begin(message.text, message.attachments, seq)

    async def go_on(self, text: str) -> None:
        """Begin a turn before what waits, unless one runs: to go on with one that was cut off.

        Raises WorkspaceUntrusted, ModelUnchosen.
        """
        demand(self._parts.trusted)
        self.demand_model()
        if not self.running:
            self._begin(text)

    async def retry(self) -> None:
        """Repeat the last step of the newest turn, unless that turn is done or one runs.

        What waits is sent afterwards. Raises WorkspaceUntrusted, ModelUnchosen.
        """
        demand(self._parts.trusted)
        self.demand_model()
        if not self.running and self.session.transcript.retry() is not None:
            self.queue.leaving = 0
            self._start(self._engine.retry_turn)

    async def retry_without_images(self) -> None:
        """Like `retry`, with text and hash in the place of the images that the server refused."""
        refused = self.session.transcript.refused
        if refused is not None and not self.running:
            await self._steward.leave_out(refused.images)
        await self.retry()

    async def stop(self) -> None:
        """Stop the running turn as soon as the person's words are on record, and its subagents.

        Returns when all have ended and their transcripts are valid.
        """
        turn = self._turn
        if turn is not None:
            await self._engine.opened.wait()
            if turn is not self._stopping:  # a second cancel would cut off the turn's own ending
                self._stopping = turn
                turn.cancel()
            await asyncio.wait([turn])
        await self.subagents.stop()

    def decide(self, call_id: str, answer: Decision | Reply) -> bool:
        """Answer the question a call waits with; False when it is no longer open."""
        reply = answer if isinstance(answer, Reply) else Reply(answer)
        own = self._parts.asked.answer(self.session.id, call_id, reply)
        return own or self.subagents.decide(call_id, reply)

    @property
    def mode(self) -> Mode:
        """How freely the agent acts."""
        return self.leeway.mode

    async def set_mode(self, mode: Mode) -> None:
        """Let the agent act so from now on, what waits and its subagents included.

        The model is told with the next message. Raises InputUnusable for a subagent at work, StoreError.
        """
        if self._led:
            raise InputUnusable(
                "The mode was not changed.",
                "A subagent works in the mode of the session that started it.",
                "Change it there.",
            )
        if mode != self.session.transcript.mode:
            await self.session.record(ModeChanged(mode))
        self.leeway.mode = self.session.transcript.mode
        concerned = {self.session.id, *self.subagents.sessions}
        self._parts.asked.reconsider(lambda session, _: session in concerned)

    async def rename(self, title: str) -> None:
        """Give the session a title."""
        await self.session.record(SessionRenamed(whole(title)))

    async def close(self) -> None:
        """End whatever runs, and wait for it; a turn that is cut off can be continued at the next start."""
        self._engine.cut_off = self.subagents.cut_off = "interrupted"
        await self.stop()
        await self._scope.close()
        self._engine.cut_off = self.subagents.cut_off = "stopped"  # a subagent's may be opened meanwhile
