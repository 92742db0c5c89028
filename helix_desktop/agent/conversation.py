"""A conversation: every action on one session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy

from helix_desktop.agent.budget import BudgetedSettings, SessionBudget
from helix_desktop.agent.engine import TurnEngine
from helix_desktop.agent.intake.extractor import Extractor
from helix_desktop.agent.intake.intake import Intake
from helix_desktop.agent.intake.output_form_prompt import FormPrompt
from helix_desktop.agent.intake.output_forms import OutputForms
from helix_desktop.agent.intake.output_gate import IntakeGate
from helix_desktop.agent.manual_actions import ManualActions
from helix_desktop.agent.message_queue import MessageQueue
from helix_desktop.agent.model_choice import ModelChoice
from helix_desktop.agent.models.roles import RunSettingsSource
from helix_desktop.agent.ports import Approver, Clock, Store, TokenCounter, Tools, WorkspacePermissions
from helix_desktop.agent.session import Session
from helix_desktop.agent.session_updates import ResponseReset
from helix_desktop.agent.spend_approvals import SpendApprovals
from helix_desktop.agent.subagents.delegate_tool import DelegatingTools, NonDelegatingTools
from helix_desktop.agent.subagents.runner import SubagentFactory, SubagentRunner
from helix_desktop.agent.tool_calls.approvals import ApprovalService, InteractiveApprover, SessionPermissions
from helix_desktop.agent.tool_calls.runner import ToolRunner
from helix_desktop.agent.trust import IsTrusted, TrustGatedTools, require_trust
from helix_desktop.agent.user_message import MessageTooLarge, TurnStart, UserMessage
from helix_desktop.agent.window.compactor import Compactor
from helix_desktop.agent.window.manager import ContextManager
from helix_desktop.agent.window.observer import Observer
from helix_desktop.agent.window.rewriter import WindowRewriter
from helix_desktop.context.prompt_version import split_versions
from helix_desktop.domain.cost import SpendRequest
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.session import (
    Attachment,
    MessageQueued,
    ModeChanged,
    SessionRenamed,
    TurnEnded,
)
from helix_desktop.domain.messages import ModelInfo, ToolSpec
from helix_desktop.domain.tools import ApprovalDecision, ApprovalReply, ApprovalRequest, PermissionMode
from helix_desktop.domain.unicode_safety import repair_surrogates
from helix_desktop.system.task_scope import TaskScope


class SessionServices:
    """The services that the conversations of one workspace share.

    `prompts` holds the prompts by name, without their version lines; `versions` holds the version that events
    record for each. `is_trusted` returns True if the user trusts the workspace's folder. `delegate_spec`, set
    before the first conversation, is the spec of the tool that starts subagents.
    """

    def __init__(
        self,
        store: Store,
        tools: Tools,
        counter: TokenCounter,
        permissions: WorkspacePermissions,
        clock: Clock,
        prompts: Mapping[str, str],
        approver: Approver | None = None,
        is_trusted: IsTrusted = lambda: True,
    ) -> None:
        self.store, self.counter, self.clock = store, counter, clock
        self.tools: Tools = TrustGatedTools(tools, is_trusted)
        self.is_trusted = is_trusted
        self.delegate_spec: ToolSpec | None = None
        self.permissions = permissions
        self.prompts, self.versions = split_versions(prompts)
        self.interactive_approver = InteractiveApprover()
        self.approver = approver or self.interactive_approver
        self.is_unattended = approver is not None
        """True if no user is there to answer: then the budget decides what background work may read."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tool specs sent to the model."""
        return (*self.tools.specs, *([self.delegate_spec] if self.delegate_spec else []))

    def for_subagents(self) -> SessionServices:
        """Return a copy without the delegate tool, whose system prompt includes the prompt `subagent`."""
        services = copy(self)
        services.tools, services.delegate_spec = NonDelegatingTools(self.tools), None
        system_prompts = [self.prompts[name] for name in ("system", "subagent") if name in self.prompts]
        services.prompts = {**self.prompts, "system": "\n\n".join(system_prompts)}
        return services


class Conversation(ManualActions):
    """One session with its turn engine. Everything runs in its own task scope and ends with `close`."""

    def __init__(
        self,
        session: Session,
        scope: TaskScope,
        services: SessionServices,
        settings: RunSettingsSource,
        subagent_factory: SubagentFactory | None = None,
        permissions: SessionPermissions | None = None,
        is_subagent: bool = False,
        parent_budget: Callable[[], SessionBudget | None] = lambda: None,
        model_choice: ModelChoice | None = None,
    ) -> None:
        """Without a `subagent_factory` the conversation cannot start subagents.

        `is_subagent` is True if it works under another session's `permissions`; `parent_budget` then returns
        the budget that pays for it, None if there is none.
        """
        self.permissions = permissions or SessionPermissions()
        self._is_subagent = is_subagent
        self.subagents = SubagentRunner(session, scope, subagent_factory)
        self._scope, self._services = scope, services
        self.budget = SessionBudget(session, settings, parent_budget)
        session.settings = settings = BudgetedSettings(settings, self.budget)
        self._turn: asyncio.Task[TurnEnded] | None = None
        self._turn_start: TurnStart | None = None
        self._count_lock = asyncio.Lock()
        self._stopping: asyncio.Task[TurnEnded] | None = None
        counter, clock = services.counter, services.clock
        extractor = Extractor(counter, services.prompts["extract"], settings)
        form_prompt = FormPrompt(session, counter, clock, services.prompts["intake"], settings)
        gate = IntakeGate(session, Intake(counter), form_prompt, extractor, clock, settings)
        approvals = ApprovalService(
            services.permissions,
            services.approver,
            self.permissions,
            services.interactive_approver.reevaluate,
            is_demo=lambda: settings()[1].info.demo,
        )
        tools = services.tools
        if services.delegate_spec is not None:
            tools = DelegatingTools(tools, services.delegate_spec, self.subagents)
        runner = ToolRunner(session, tools, approvals, counter, clock, gate)
        self.running_calls = runner.running_calls
        compactor = Compactor(
            session, counter, clock, services.prompts["handover"], settings, services.versions["handover"]
        )
        rewriter = WindowRewriter(session, counter, clock, settings)
        forms = OutputForms(session, services.store, rewriter, counter, extractor, clock, settings)
        observer = Observer(session, counter, clock, rewriter, services.prompts, services.versions, settings)
        self._approvals = SpendApprovals(session, settings, self.budget, services.is_unattended)
        context_manager = ContextManager(
            session, rewriter, compactor, observer, clock, scope, settings, self.budget, self._approvals
        )
        model_choice = model_choice or ModelChoice(session, settings)
        super().__init__(session, context_manager, compactor, forms, settings, model_choice)
        self.queue = MessageQueue(session)
        engine = (session, runner, context_manager, counter, clock, settings, self.budget)
        is_unattended = is_subagent or services.approver is not services.interactive_approver
        self._engine = TurnEngine(*engine, mode=lambda: self.permissions.mode, is_unattended=is_unattended)

    @property
    def is_running(self) -> bool:
        """True while a turn runs."""
        return self._turn is not None and not self._turn.done()

    @property
    def asks(self) -> list[ApprovalRequest]:
        """The open approval requests, its own and then its subagents', oldest first."""
        return [*self._services.interactive_approver.asks(self.session.id), *self.subagents.asks]

    @property
    def spend_asks(self) -> tuple[SpendRequest, ...]:
        """The open questions about what background work may read, oldest first."""
        return self._approvals.asks

    @property
    def model(self) -> ModelInfo:
        """The model that answers."""
        return self._settings()[1].info

    @property
    def partial(self) -> str:
        """The text of the running answer so far."""
        return self._engine.partial_text

    @property
    def retry_state(self) -> ResponseReset | None:
        """The pending retry of the model call with the seconds left; None once the model answers."""
        return self._engine.retry_state

    def retry_now(self) -> None:
        """Skip the wait of a pending retry of the model call, if there is one."""
        self._engine.retry_now()

    async def send(self, text: str, attachments: Sequence[Attachment] = (), steer: bool = False) -> int:
        """Start a turn; while one runs, queue the message for after it, or to `steer` it at its next step.

        Return the seq of the event that holds the message, once it is recorded; 0 if the turn ended before
        that, for the reason it publishes. Nothing typed is dropped. Raises MessageTooLarge, StoreError if the
        queued message could not be stored, WorkspaceUntrusted, ModelNotChosen.
        """
        require_trust(self._services.is_trusted)
        self.model_choice.require()
        text = repair_surrogates(text)
        async with self._count_lock:  # counted on threads, a later message could be through sooner
            (tokens,) = await self._services.counter.count([text])
        message = UserMessage(text, tuple(attachments), tokens)
        _require_size(message, self.message_limit)
        return await self._deliver(message, steer)

    async def start(self, task: str) -> None:
        """Send a subagent its task, of any size. Raises StoreError, WorkspaceUntrusted, ModelNotChosen."""
        require_trust(self._services.is_trusted)
        self.model_choice.require()
        await self._deliver(UserMessage(repair_surrogates(task)))

    async def _deliver(self, message: UserMessage, steer: bool = False) -> int:
        if self.is_running or self.session.transcript.queued_messages:
            (queued,) = await self.session.record(MessageQueued(message.text, message.attachments, steer))
            self.send_next_queued()
            return queued.seq
        return await self._begin(message).wait()

    async def run(self, text: str, attachments: Sequence[Attachment] = ()) -> TurnEnded:
        """Run one turn with a message of any size and return how it ended.

        Raises WorkspaceUntrusted, ModelNotChosen.
        """
        require_trust(self._services.is_trusted)
        self.model_choice.require()
        self._begin(UserMessage(repair_surrogates(text), tuple(attachments)))
        assert self._turn is not None
        return await self._turn

    def _begin(self, message: UserMessage) -> TurnStart:
        self.queue.sending_seq = message.queued_seq
        return self._start(lambda start: self._engine.run_turn(message, start))

    def _start(self, turn: Callable[[TurnStart], Awaitable[TurnEnded]]) -> TurnStart:
        start = self._turn_start = TurnStart()  # its own: the previous turn may end later
        self._turn = self._scope.start(self._run(lambda: turn(start)), f"turn {self.session.id}")
        self._turn.add_done_callback(lambda _: start.end())
        return start

    async def _run(self, turn: Callable[[], Awaitable[TurnEnded]]) -> TurnEnded:
        try:
            ended = await turn()
        finally:
            self._turn = None
        if ended.how == "done":
            self.send_next_queued()
        return ended

    def send_next_queued(self) -> None:
        """Send the first queued message, unless a turn runs; after a stop, messages wait for this call."""
        queued = self.session.transcript.queued_messages
        if queued and not self.is_running and not self.model_choice.pending and self._services.is_trusted():
            seq, message = next(iter(queued.items()))
            self._begin(UserMessage(message.text, message.attachments, queued_seq=seq))

    async def continue_turn(self, text: str) -> None:
        """Start a turn ahead of the queue, unless one runs: to continue a turn that was cut off.

        Raises WorkspaceUntrusted, ModelNotChosen.
        """
        require_trust(self._services.is_trusted)
        self.model_choice.require()
        if not self.is_running:
            self._begin(UserMessage(repair_surrogates(text)))

    async def retry(self) -> None:
        """Repeat the last step of the newest turn, unless that turn is done or a turn runs.

        Queued messages are sent afterwards. Raises WorkspaceUntrusted, ModelNotChosen.
        """
        require_trust(self._services.is_trusted)
        self.model_choice.require()
        if not self.is_running and self.session.transcript.retry_event() is not None:
            self.queue.sending_seq = 0
            self._start(self._engine.retry_turn)

    async def retry_without_images(self) -> None:
        """Like `retry`, with text and hash in place of the images that the server rejected."""
        refused = self.session.transcript.image_refusal
        if refused is not None and not self.is_running:
            await self._context_manager.mask_messages(refused.images)
        await self.retry()

    async def stop(self) -> None:
        """Stop the running turn, once the user's message is recorded, and its subagents.

        Returns when all have ended and their transcripts are valid.
        """
        turn, start = self._turn, self._turn_start
        if turn is not None and start is not None:
            await start.wait()
            if turn is not self._stopping:  # a second cancel would cut off the turn's own ending
                self._stopping = turn
                turn.cancel()
            await asyncio.wait([turn])
        await self.subagents.stop()

    def decide(self, call_id: str, answer: ApprovalDecision | ApprovalReply) -> bool:
        """Answer a call's approval request. Return False if it is no longer open."""
        reply = answer if isinstance(answer, ApprovalReply) else ApprovalReply(answer)
        own = self._services.interactive_approver.answer(self.session.id, call_id, reply)
        return own or self.subagents.decide(call_id, reply)

    @property
    def mode(self) -> PermissionMode:
        """The session's permission mode."""
        return self.permissions.mode

    async def set_mode(self, mode: PermissionMode) -> None:
        """Set the permission mode, also for open approval requests and for subagents.

        The model learns of it with the next message. Raises InvalidInput for a running subagent, StoreError.
        """
        if self._is_subagent:
            raise InvalidInput(
                "The mode was not changed.",
                "A subagent works in the mode of the session that started it.",
                "Change it there.",
            )
        if mode != self.session.transcript.mode:
            await self.session.record(ModeChanged(mode))
        self.permissions.mode = self.session.transcript.mode
        concerned = {self.session.id, *self.subagents.session_ids}
        self._services.interactive_approver.reevaluate(lambda session, _: session in concerned)

    async def rename(self, title: str) -> None:
        """Set the session's title."""
        await self.session.record(SessionRenamed(repair_surrogates(title)))

    async def close(self) -> None:
        """Stop everything that runs and wait; an interrupted turn can be continued at the next start."""
        self._engine.cancelled_as = self.subagents.cancelled_as = "interrupted"
        await self.stop()
        await self._scope.close()
        self._engine.cancelled_as = self.subagents.cancelled_as = (
            "stopped"  # a subagent's conversation may be opened again meanwhile
        )


def _require_size(message: UserMessage, limit: int) -> None:
    """Raise MessageTooLarge for a message that can never be sent: it would stand in the way of all others."""
    tokens = (message.tokens or 0) + sum(attachment.tokens for attachment in message.attachments)
    if tokens > limit:
        raise MessageTooLarge(
            "This message is too large for the model's window.",
            f"It has about {tokens:,} tokens; a message may have {max(0, limit):,} here.",
            "Recall fewer lines, shorten it, or choose a model with a larger window.",
        )
