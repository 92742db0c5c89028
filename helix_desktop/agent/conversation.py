"""A conversation: one session at work, every action on it, and how its parts are put together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from helix_desktop.agent.budget import BudgetedSettings, SessionBudget, SpendApprovals
from helix_desktop.agent.change_recorder import ChangeRecorder
from helix_desktop.agent.chosen_forms import Extractor, OutputForms
from helix_desktop.agent.compaction.context_compaction import ContextCompaction
from helix_desktop.agent.context_window import ContextWindow
from helix_desktop.agent.instructions import SessionInstructions
from helix_desktop.agent.intake_gate import IntakeGate
from helix_desktop.agent.message_queue import MessageQueue, MessageTooLarge, TurnStart, UserMessage
from helix_desktop.agent.session import (
    ApprovalRequested,
    AutoRunPut,
    ModelChoice,
    QuestionAsked,
    RequestChanged,
    Session,
    SpendRequestsChanged,
)
from helix_desktop.agent.session_services import SessionServices
from helix_desktop.agent.side_requests import SessionTitles, SideQuestions
from helix_desktop.agent.subagents import DelegatingTools, SubagentFactory, SubagentRunner
from helix_desktop.agent.tool_calls.approvals import (
    ApprovalService,
    AutoRunDecisions,
    SessionPermissions,
    UserAsk,
    UserReply,
)
from helix_desktop.agent.tool_calls.file_version_tracker import FileVersionTracker
from helix_desktop.agent.tool_calls.runner import ToolRunner
from helix_desktop.agent.trust import require_trust
from helix_desktop.agent.turn_engine import TurnEngine
from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.steps import missed_questions
from helix_desktop.domain.choices import PermissionMode
from helix_desktop.domain.cost import Spending, SpendReply, SpendRequest
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.conversation import Attachment, MessageQueued, TurnEnded
from helix_desktop.domain.events.session import (
    ChangesRecorded,
    HoldSet,
    ModeChanged,
    PolicyChosen,
    SessionArchived,
    SessionPinned,
    SessionRenamed,
)
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.question import Question, QuestionReply, late_reply_text
from helix_desktop.domain.slash_command import PromptSource
from helix_desktop.domain.store import ListPlace
from helix_desktop.domain.tools import ApprovalDecision, ApprovalReply, ApprovalRequest
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import repair_surrogates

_text = TextContext("Agent")


class Conversation:
    """One session with its turn engine. Everything runs in its own task scope and ends with `close`.

    `window` is what the next request holds; `handovers` and `observations` are what stands for older
    messages, or will; `summary_wait` is the wait of a request for that. `response` is the running answer.
    `side_questions` asks beside the turns. `changes` records what its calls change of the workspace's files.
    """

    def __init__(
        self,
        session: Session,
        services: SessionServices,
        *,
        permissions: SessionPermissions | None = None,
        subagent_factory: SubagentFactory | None = None,
        is_subagent: bool = False,
        parent_budget: Callable[[], SessionBudget | None] = lambda: None,
        subagent_spending: Mapping[str, Spending] | None = None,
        other_versions: Callable[[], Sequence[Spending]] = tuple,
    ) -> None:
        """Without a `subagent_factory` it cannot start subagents; `subagent_spending` is what others spent.

        `other_versions` returns what its other versions did. One that works under another's `permissions`
        `is_subagent`; `parent_budget` returns what pays for it.
        """
        self.session = session
        self._services = services
        self._is_subagent = is_subagent
        self.permissions = permissions or SessionPermissions(session.transcript)
        self.budget = SessionBudget(session, parent_budget, subagent_spending, other_versions)
        session.has_budget = lambda transcript: not self.budget.is_exhausted_in(transcript)
        session.settings = BudgetedSettings(session.settings, self.budget)
        self.subagents = SubagentRunner(session, subagent_factory)
        file_versions = FileVersionTracker(session, services.file_checker)
        self.changes = ChangeRecorder(session, services.file_history, services.store)
        extractor = Extractor(services.counter, services.prompts["extract"], session.settings)
        runner = self._create_tool_runner(extractor, file_versions)
        self.running_calls = runner.running_calls
        self._spend_approvals = SpendApprovals(session, self.budget)
        is_unattended = is_subagent or services.is_unattended
        self._compaction = compaction = ContextCompaction(
            session,
            self._spend_approvals,
            lambda: not is_unattended and services.is_trusted(),
            is_subagent=is_subagent,
        )
        self.handovers = compaction.handovers
        self.observations = compaction.observations
        self.checkpoints = compaction.checkpoints
        self.summary_wait = compaction.summary_wait
        self.wait_for_background_work = compaction.wait_for_background_work
        forms = OutputForms(session, services.store, compaction.rewriter)
        self.window = ContextWindow(session, compaction.rewriter, forms)
        self._instructions = SessionInstructions(session, services.instructions)
        self._engine = TurnEngine(
            session,
            runner,
            compaction,
            self.budget,
            self.permissions,
            file_versions,
            self.changes,
            self._instructions,
            services.before_request,
            is_unattended=is_unattended,
        )
        self.response = self._engine.response
        self.show_interrupted = self._engine.show_interrupted
        self.side_questions = SideQuestions(session, self.budget, compaction.rewriter, services.is_trusted)
        if not is_unattended:
            SessionTitles(session, services.is_trusted, services.wants_titles)
        self.queue = MessageQueue(session)
        self._turn: asyncio.Task[TurnEnded] | None = None
        self._turn_start: TurnStart | None = None
        self._stopping: asyncio.Task[TurnEnded] | None = None
        self._count_lock = asyncio.Lock()
        self.session.on(ApprovalRequested | QuestionAsked | SpendRequestsChanged, self._unarchive)
        self.session.on(ChangesRecorded, partial(self._check_reverted_files, file_versions))

    def _check_reverted_files(self, file_versions: FileVersionTracker, event: ChangesRecorded) -> None:
        """Let what shows reverted files be outdated at once, or no longer: not from the next message on."""
        if event.source == "revert":
            self.session.scope.start(file_versions.record(), f"check files {self.session.id}")

    def _create_tool_runner(self, extractor: Extractor, file_versions: FileVersionTracker) -> ToolRunner:
        session = self.session
        services = self._services
        tools = services.tools_of(session)
        if services.delegate_spec is not None:
            tools = DelegatingTools(tools, services.delegate_spec, self.subagents)
        approvals = ApprovalService(
            services.permissions,
            services.approver,
            self.permissions,
            services.interactive_approver.reevaluate,
            is_demo=lambda: session.frame.info.demo,
        )
        auto_run = AutoRunDecisions(
            approvals,
            services.auto_run,
            lambda question: session.publish(QuestionAsked(question)),
            session.id,
            session.scope,
            is_unattended=services.is_unattended,
        )
        gate = IntakeGate(session, extractor, services.slow_models)
        return ToolRunner(session, tools, approvals, gate, file_versions, self.changes, auto_run)

    @property
    def is_running(self) -> bool:
        return self._turn is not None and not self._turn.done()

    @property
    def asks(self) -> list[UserAsk]:
        """The open approval requests and questions, its own and then its subagents', oldest first."""
        return [*self._services.interactive_approver.asks(self.session.id), *self.subagents.asks]

    @property
    def spend_requests(self) -> tuple[SpendRequest, ...]:
        return self._spend_approvals.requests

    def answer_spend_request(self, reply: SpendReply) -> None:
        self.observations.answer_request(reply)

    @property
    def model(self) -> ModelInfo:
        return self.session.frame.info

    @property
    def model_choice(self) -> ModelChoice:
        return self.session.model_choice

    async def plan_opening(self) -> None:
        """Count environment and instructions into the next request before a first message is sent with them.

        Nothing is recorded; publishes RequestChanged if they are others than before.
        """
        if self._services.is_trusted() and await self._instructions.plan_opening():
            self.session.publish(RequestChanged())

    async def send(
        self,
        text: str,
        attachments: Sequence[Attachment] = (),
        steer: bool = False,
        prompt: PromptSource | None = None,
    ) -> int:
        """Start a turn; while one runs, queue the message for after it, or to `steer` it at its next step.

        `prompt` is the prompt file that the text was made from.
        Return the seq of the event that holds the message, once it is recorded; 0 if the turn ended before
        that, for the reason it publishes. Nothing typed is dropped. Raises MessageTooLarge, StoreError if the
        queued message could not be stored, WorkspaceUntrusted, ModelNotChosen.
        """
        require_trust(self._services.is_trusted)
        self.model_choice.require()
        text = repair_surrogates(text)
        async with self._count_lock:  # counted on threads, a later message could be through sooner
            tokens = await self.session.count_tokens(text)
        message = UserMessage(text, tuple(attachments), tokens, prompt=prompt)
        _require_size(message, self.window.message_limit, self.window.measure()[1].ratio)
        return await self._deliver(message, steer)

    async def start(self, task: str) -> None:
        """Send a subagent its task, of any size. Raises StoreError, WorkspaceUntrusted, ModelNotChosen."""
        require_trust(self._services.is_trusted)
        self.model_choice.require()
        await self._deliver(UserMessage(repair_surrogates(task)))

    async def _deliver(self, message: UserMessage, steer: bool = False) -> int:
        if self.is_running or self.session.transcript.queued_messages:
            event = MessageQueued(message.text, message.attachments, steer, message.prompt)
            (queued,) = await self.session.record(event)
            self.send_next_queued()
            return queued.seq
        return await self._begin(message).wait()

    async def run(
        self, text: str, attachments: Sequence[Attachment] = (), prompt: PromptSource | None = None
    ) -> TurnEnded:
        """Run one turn with a message of any size and return how it ended.

        Raises WorkspaceUntrusted, ModelNotChosen.
        """
        require_trust(self._services.is_trusted)
        self.model_choice.require()
        self._begin(UserMessage(repair_surrogates(text), tuple(attachments), prompt=prompt))
        assert self._turn is not None
        return await self._turn

    def _begin(self, message: UserMessage) -> TurnStart:
        self.queue.sending_seq = message.queued_seq
        return self._start(lambda start: self._engine.run_turn(message, start))

    def _start(self, turn: Callable[[TurnStart], Awaitable[TurnEnded]]) -> TurnStart:
        start = self._turn_start = TurnStart()  # its own: the previous turn may end later
        self._turn = self.session.scope.start(self._run(lambda: turn(start)), f"turn {self.session.id}")
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
        waiting = self.session.transcript.queued_messages.items()
        stored = len(self.session.log)
        queued = next(((seq, message) for seq, message in waiting if seq <= stored), None)  # else it may fail
        if (
            queued is not None
            and not self.is_running
            and self.session.model_choice.may_answer
            and self._services.is_trusted()
        ):
            seq, message = queued
            self._begin(UserMessage(message.text, message.attachments, queued_seq=seq, prompt=message.prompt))

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

        One that ended without a record, since nothing could be saved, gets its end first. Queued messages are
        sent afterwards. Raises WorkspaceUntrusted, ModelNotChosen.
        """
        require_trust(self._services.is_trusted)
        self.model_choice.require()
        transcript = self.session.transcript
        if not self.is_running and (transcript.turn_open or transcript.retry_event() is not None):
            self.queue.sending_seq = 0
            self._start(self._engine.retry_turn)

    async def retry_without_refused(self) -> None:
        """Like `retry`, with text and hash in place of what the server refused: images, or an output."""
        refused = self.session.transcript.refusal
        if refused is not None and not self.is_running:
            await self._compaction.rewriter.leave_out_refused(refused)
        await self.retry()

    async def stop(self) -> None:
        """Stop the running turn, once the user's message is recorded, and its subagents.

        Returns when all have ended and their transcripts are valid.
        """
        turn = self._turn
        start = self._turn_start
        if turn is not None and start is not None:
            await start.wait()
            if turn is not self._stopping:  # a second cancel would cut off the turn's own ending
                self._stopping = turn
                turn.cancel()
            await asyncio.wait([turn])
        await self.subagents.stop()

    async def stop_step_and_steer(self, seq: int) -> None:
        """Make a queued message steer the turn at once: stop the calls of the step, deny those that wait."""
        if not await self.queue.steer(seq):
            return  # it was sent a moment before
        self.running_calls.stop_step()
        for ask in self._services.interactive_approver.asks(self.session.id):
            if isinstance(ask, ApprovalRequest):
                self.decide(ask.call_id, "deny")

    def decide(self, call_id: str, answer: ApprovalDecision | ApprovalReply) -> bool:
        return self.answer(call_id, answer if isinstance(answer, ApprovalReply) else ApprovalReply(answer))

    def answer(self, call_id: str, reply: UserReply) -> bool:
        own = self._services.interactive_approver.answer(self.session.id, call_id, reply)
        return own or self.subagents.answer(call_id, reply)

    @property
    def missed_questions(self) -> list[Question]:
        return missed_questions(self.session.transcript)

    async def answer_question(self, call_id: str, reply: QuestionReply) -> bool:
        """Answer a question. If its turn has ended since, the answer is a message that begins the next one.

        Return False if it can no longer be answered. Raises WorkspaceUntrusted, ModelNotChosen.
        """
        if self.answer(call_id, reply):
            return True
        missed = next((question for question in self.missed_questions if question.call_id == call_id), None)
        if missed is None or reply.is_skip or self.is_running:
            return False
        await self.continue_turn(late_reply_text(missed, reply))
        return True

    async def put_auto_run(self, change_ids: Sequence[str], *, restore: bool) -> None:
        """Restore what was taken back of calls (`restore`), or take it back. Raises HelixError."""
        if self._services.auto_run is not None:
            for change_id in change_ids:
                await self._services.auto_run.put(change_id, restore=restore)
                self.session.publish(AutoRunPut((change_id,), restore))

    async def auto_run_outcomes(self, change_ids: Sequence[str]) -> Mapping[str, bool]:
        """Return which of these changes of calls were restored (True) or taken back since, by their ids."""
        store = self._services.auto_run
        return await store.outcomes(change_ids) if store is not None and change_ids else {}

    @property
    def mode(self) -> PermissionMode:
        return self.permissions.mode

    async def set_mode(self, mode: PermissionMode) -> None:
        """Set the permission mode, also for open approval requests and for subagents.

        The model learns of it with the next message. Raises InvalidInput for a running subagent, StoreError.
        """
        if self._is_subagent:
            raise InvalidInput(
                _text("The mode wasn't changed."),
                _text("A subagent works in the mode of its parent session."),
                _text("Change it there."),
            )
        if mode != self.session.transcript.mode:
            await self.session.record(ModeChanged(mode))
        concerned = {self.session.id, *self.subagents.session_ids}
        self._services.interactive_approver.reevaluate(lambda session_id, _: session_id in concerned)

    async def rename(self, title: str) -> None:
        await self.session.record(SessionRenamed(repair_surrogates(title)))

    async def set_place(self, place: ListPlace) -> None:
        """Move the session in the list of sessions: pin, archive, or take either back.

        Raises InvalidInput for a subagent's session, and for one to archive that waits for the user.
        """
        if self.session.transcript.parent:
            raise InvalidInput(
                _text("A subagent's session can't be pinned or archived."),
                _text("It is listed below the session that it works for."),
                _text("Pin or archive that session."),
            )
        if place.archived and (self.asks or self.spend_requests):
            raise InvalidInput(
                _text("The session wasn't archived."),
                _text("It is waiting for you."),
                _text("Answer or stop it first."),
            )
        await self._record_place(lambda _: place)

    async def use_workspace_policy(self) -> None:
        """Follow the workspace's policy from the next step on; an older log may have chosen another one.

        Raises StoreError.
        """
        await self.session.record(PolicyChosen())
        self.session.publish(RequestChanged())

    async def hold(self, on: bool) -> None:
        """Let nothing rewrite the window by itself while it fits, or let it be rewritten again.

        What is being written for it is canceled; nothing was changed by that yet.
        """
        if on == self.session.transcript.on_hold:
            return
        await self.session.record(HoldSet(on))
        if on:
            self.handovers.cancel()
            self.observations.cancel()
            self.checkpoints.cancel()

    async def _record_place(self, decide: Callable[[ListPlace], ListPlace]) -> None:
        def changes() -> list[SessionPinned | SessionArchived]:
            previous = self.session.transcript.place
            place = decide(previous)
            events: list[SessionPinned | SessionArchived] = []
            if place.pinned != previous.pinned:
                events.append(SessionPinned(place.pinned))
            if place.archived != previous.archived:
                events.append(SessionArchived(place.archived))
            return events

        await self.session.record_decided(changes)

    def _unarchive(self, update: ApprovalRequested | QuestionAsked | SpendRequestsChanged) -> None:
        """Take a session that waits for the user out of the archive, where nobody would see it."""
        waits = not isinstance(update, SpendRequestsChanged) or update.requests
        if waits and self.session.transcript.place.archived:
            unarchived = self._record_place(lambda place: ListPlace(place.pinned))
            self.session.scope.start(unarchived, f"unarchive {self.session.id}")

    async def close(self) -> None:
        """Stop everything that runs and wait; an interrupted turn can be continued at the next start."""
        self._engine.canceled_as = self.subagents.canceled_as = "interrupted"
        await self.side_questions.cancel()
        await self.stop()
        await self.session.scope.close()
        self._engine.canceled_as = self.subagents.canceled_as = (
            "stopped"  # a subagent's conversation may be opened again meanwhile
        )


def _require_size(message: UserMessage, limit: int, ratio: float) -> None:
    """Raise MessageTooLarge for a message that can never be sent: it would stand in the way of all others.

    `ratio` is the model's tokens per token of ours, by which `limit` and the message are counted.
    """
    tokens = (message.tokens or 0) + sum(attachment.tokens for attachment in message.attachments)
    tokens += FRAMING_TOKENS  # as the line below the message counts it
    if limit <= FRAMING_TOKENS:
        raise MessageTooLarge(
            _text("This model's context window is too small."),
            _text("What each request contains and the room for its answer fill it without any message."),
            _text("Choose a model with a larger context window."),
        )
    if tokens > limit:
        raise MessageTooLarge(
            _text("This message is too long."),
            _text(
                "It has about {tokens} tokens; this model has room for {limit}.",
                tokens=round(tokens * ratio),
                limit=round(max(0, limit) * ratio),
            ),
            _text("Shorten it, attach less, or choose a model with a larger context window."),
        )
