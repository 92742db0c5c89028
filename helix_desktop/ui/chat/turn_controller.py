"""The turn of the session on screen: its commands and mode, cards of calls, what it asks and comes next."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any

import msgspec
from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session import CallStarted, EventRecorded, TurnChanged
from helix_desktop.context.window.message_states import MessageStates
from helix_desktop.domain.choices import PermissionMode, SamplePlace
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.conversation import (
    ApprovalGiven,
    MessageQueued,
    QueueChanged,
    TurnEnded,
    UserSpoke,
)
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.session import ModeChanged
from helix_desktop.domain.question import QuestionReply, ServerReply
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.tools import ALLOW_DEMO_CALLS, ApprovalReply, ApprovalRequest, PermissionRule
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.chat.actions import (
    AllowAllOnce,
    AnswerQuestion,
    ApprovalAnswer,
    ControlTurn,
    Decide,
    OpenLink,
    ShowRewriteOf,
    StopCall,
)
from helix_desktop.ui.chat.composer.strips import (
    EditQueued,
    MoveQueued,
    RemoveQueued,
    SendQueued,
    SteerQueued,
)
from helix_desktop.ui.chat.composer_controller import ComposerController, runs_demo_calls
from helix_desktop.ui.chat.page import ChatPage
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.focus import BY_KEYBOARD
from helix_desktop.ui.design.safe_text import escape_command
from helix_desktop.ui.kit.commands import (
    IDLE_AGENT,
    RUNNING_AGENT,
    SENDABLE_MESSAGE,
    WindowCommands,
    action_shortcut,
    mode_menu,
    set_action_words,
)
from helix_desktop.ui.kit.intents import (
    AnswerApproval,
    AskSideQuestion,
    NextMode,
    Pin,
    SetMode,
    ShowInTimeline,
    ShowPage,
    ShowWaiting,
    StopAgent,
    StopAndSend,
    handles,
)
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.words.attachments import attachment_name
from helix_desktop.words.translation import Translator, translate
from helix_desktop.workspaces.saved_rules import SavedRules

tr = Translator("Session")
text = TextContext("Session")

CONTINUE = "Continue."
"""What is sent to go on with a turn that was broken off."""
_UNFINISHED = ("stopped", "interrupted")
_ACTIONS: dict[str, Callable[[Conversation], Coroutine[Any, Any, None]]] = {
    "continue": lambda conversation: conversation.continue_turn(CONTINUE),
    "retry": lambda conversation: conversation.retry(),
    "send_without_images": lambda conversation: conversation.retry_without_refused(),
    "send_without_output": lambda conversation: conversation.retry_without_refused(),
    "stop": lambda conversation: conversation.stop(),
}
_MODES: tuple[PermissionMode, ...] = ("ask", "plan", "auto")
_NO_SANDBOX = "no-sandbox"
_ASK_EXCEPT_DEMO = text("Ask first: before every change, except demo calls")
_RULE_CHARS = 160


class TurnController(QObject):
    def __init__(self, page: ChatPage, session: Session, composer: ComposerController) -> None:
        super().__init__(page)
        self._page = page
        self._session = session
        self._composer = composer
        self._commands = session.commands
        self._sample_messages: Mapping[str, SamplePlace] = {}
        """The messages of the sample on screen, in order, each with where to look; none elsewhere."""
        self._shows_demo_runs = False
        self._mode_button = self._page.composer.mode_button
        self._mode_button.setMenu(mode_menu(self._mode_button, self._commands))
        self._commands.next_mode.changed.connect(self._show_mode)
        for command in (self._commands.allow_call, self._commands.deny_call):
            command.changed.connect(self._show_answer_keys)
        session.handle(self)
        session.handle(page.composer)
        self._page.next_messages.suggestion_accepted.connect(composer.send_proposal)
        for changed in (session.changed, session.model_changed):
            changed.connect(self._show_mode)
        session.changed.connect(self._enable)
        session.on_show(self._read_sample)
        session.on(TurnChanged, lambda turn: self._show_running(turn.running))
        session.on(CallStarted | EventRecorded, lambda _: self._enable())
        # Not only with the numbers, which take a while: what is sent must not stand in the queue as well.
        session.on(UserSpoke | MessageQueued | QueueChanged, lambda _: self._show_next_messages())
        session.on_refresh(self._show_next_messages)
        self._enable()
        self._show_answer_keys()

    async def _read_sample(self) -> None:
        read = self._session.app.sample_messages
        self._sample_messages = await read(self._session.workspace.id) if self._session.has_workspace else {}

    def _enable(self) -> None:
        self._show_running(self._session.has_conversation and self._session.conversation.is_running)

    def _show_running(self, is_running: bool) -> None:
        conversation = self._session.find_conversation()
        can_send = bool(conversation and conversation.running_calls.running and conversation.queue.pending)
        self._commands.set_met(RUNNING_AGENT, is_running)
        self._commands.set_met(IDLE_AGENT, not is_running)
        self._commands.set_met(SENDABLE_MESSAGE, is_running and can_send)
        self._page.composer.set_running(is_running)
        self._page.todo_panel.set_running(is_running)

    @handles(ControlTurn)
    def control(self, how: str) -> None:
        if how == "try_now":
            self._session.conversation.response.retry_now()
        else:
            self._session.start(_ACTIONS[how](self._session.conversation), how)

    @handles(StopAgent)
    async def stop(self) -> None:
        await self._session.conversation.stop()

    @handles(AskSideQuestion)
    def ask(self, question: str) -> None:
        """Ask what was typed, or let the user write it; the composer is free meanwhile."""
        self._session.start(self._ask(question), "side question")

    async def _ask(self, question: str) -> None:
        side_question = question or await dialogs.get_text(
            self._page,
            tr("Ask a side question"),
            accept_label=tr("Ask"),
            why=tr("The model answers from the current context. Question and answer stay out of it."),
        )
        if side_question:
            self._page.view.chat_viewport.go_to_end()
            await self._session.conversation.side_questions.ask(side_question)

    def _show_mode(self) -> None:
        mode = self._session.conversation.mode if self._session.has_conversation else "ask"
        self._commands.action(f"mode_{mode}").setChecked(True)
        self._shows_demo_runs = runs_demo_calls(self._session)
        ask = _ASK_EXCEPT_DEMO if self._shows_demo_runs else WindowCommands.mode_ask.words
        set_action_words(self._commands.mode_ask, translate(ask))
        key = action_shortcut(self._commands.next_mode)
        self._mode_button.show_mode(mode, demo_runs=self._shows_demo_runs, key=key)

    def follow_approval(self, workspace: OpenWorkspace, _session: str, approval: ApprovalGiven) -> None:
        """Follow an answer in any session of a workspace: it may let demo calls run in all."""
        if approval.rule or approval.mode or not self._session.shows(workspace):
            return
        if runs_demo_calls(self._session) != self._shows_demo_runs:
            self._session.follow_models()

    def follow_mode(self, workspace: OpenWorkspace, _session: str, _: ModeChanged) -> None:
        """Follow the mode of any session of a workspace: it is its subagents' too."""
        if self._session.shows(workspace):
            self._show_mode()

    @handles(NextMode)
    async def set_next_mode(self) -> None:
        mode = self._session.conversation.mode
        await self._set_mode(_MODES[(_MODES.index(mode) + 1) % len(_MODES)])

    @handles(SetMode)
    async def set_mode(self, mode: str) -> None:
        known = next((known for known in _MODES if known == mode.lower()), None)
        if known is None:
            what = text("{words} isn't a mode.", words=repr(mode[:40]))
            raise InvalidInput(what, fix=text("Modes are {modes}.", modes=_MODES))
        await self._set_mode(known)

    async def _set_mode(self, mode: PermissionMode) -> None:
        workspace = self._session.workspace
        conversation = self._session.conversation
        try:
            await conversation.set_mode(mode)
        finally:
            self._show_mode()
        self._page.view.announce(self._mode_button.accessibleName())
        self._session.notices.end(_NO_SANDBOX)
        if mode == "auto" and not await self._session.app.tools.is_sandboxed(workspace.id):
            what = tr("Auto mode still asks before running commands.")
            why = tr(
                "Commands here can reach the network, or files outside the workspace. "
                "Files are edited without asking."
            )
            session_id = conversation.session.id
            self._session.notify(
                Notice(_NO_SANDBOX, what, why, workspace_id=workspace.id, session_id=session_id)
            )

    def _show_answer_keys(self) -> None:
        allow, deny = map(action_shortcut, (self._commands.allow_call, self._commands.deny_call))
        self._page.view.show_answer_tips(frozenset({("once", allow), ("deny", deny)}))

    @handles(AnswerApproval)
    def answer_first(self, answer: ApprovalAnswer) -> None:
        """Answer the card in sight; a first use of the keys elsewhere leads to it."""
        if self._session.page() == "chat":
            self._page.view.answer_first(answer)
        else:
            self._session.perform(ShowPage("chat"))

    @handles(ShowWaiting)
    def show_first_ask(self) -> None:
        self._session.perform(ShowPage("chat"))
        self._page.view.chat_viewport.show_first_ask()

    @handles(AnswerQuestion)
    async def answer_question(self, call_id: str, reply: QuestionReply, has_message: bool) -> None:
        self._page.composer.editor.setFocus()
        if has_message:
            self._composer.answer_with_message(call_id, reply.options)
            return
        is_answered = await self._session.conversation.answer_question(call_id, reply)
        if is_answered and isinstance(reply, ServerReply) and reply.url and reply.action == "accept":
            self._session.perform(OpenLink(reply.url))

    @handles(AllowAllOnce)
    def allow_all_once(self, call_ids: tuple[str, ...]) -> None:
        for call_id in call_ids:
            self.decide(call_id, "once", None)

    @handles(Decide)
    def decide(self, call_id: str, answer: ApprovalAnswer, rule: PermissionRule | None) -> None:
        """Answer whether a call may run; a lasting answer saves the rule that was shown, by itself the first.

        What is typed is the reason of a denial.
        """
        conversation = self._session.conversation
        ask = next((pending for pending in conversation.asks if pending.call_id == call_id), None)
        if not isinstance(ask, ApprovalRequest):
            return
        if answer == "deny" and self._composer.deny_with_message(call_id):
            return
        reply = _reply(answer, rule or ask.offered_rules[0])
        conversation.decide(call_id, reply)
        if not self._page.window().testAttribute(BY_KEYBOARD):  # the mouse took it to a card that goes away
            self._page.composer.editor.setFocus()
        if reply.rule is not None:
            self._say_rule_saved(reply.rule)

    def _say_rule_saved(self, rule: PermissionRule) -> None:
        """Offer to take back what the user just allowed for longer, until they decide or write again."""
        permissions = self._session.conversation.permissions
        is_session_rule = rule.scope == "session"
        saved_rules = SavedRules(self._session.app.registry, self._session.workspace.id)

        def saves_nothing(event: Event) -> bool:  # the one that saved it is recorded after the notice
            return isinstance(event, ApprovalGiven) and not (event.rule or event.mode or event.saved)

        def revoke() -> None:
            place = permissions if is_session_rule else saved_rules
            for other in permissions.rules if is_session_rule else saved_rules.rules():
                if other.text == rule.text:  # it has the time of saving by now
                    place.revoke(other)

        words = ellipsize(" ".join(escape_command(rule.text).split()), _RULE_CHARS)
        why = tr("Saved rules are in Settings → Permissions.")
        if is_session_rule:
            why = tr("In this session, until Helix Desktop closes. Settings → Permissions lists it.")
        what = tr("Rule saved: “{rule}”", rule=words)
        undo = Answer(tr("Undo"), revoke, "undo", ends=True)
        ends = (UserSpoke, saves_nothing)
        notice = Notice("saved-rule", what, why, answers=(undo,), is_brief=True, ends_with=ends)
        self._session.notices.notify_here(notice)

    def _show_next_messages(self) -> None:
        if not self._session.has_conversation:
            return
        conversation = self._session.conversation
        shown = self._page.next_messages
        if self._session.transcript.queued_messages:
            is_paused = not conversation.is_running
            calls = conversation.running_calls.running
            queued = conversation.session.transcript.queued_messages
            attached = {
                seq: [attachment_name(attachment) for attachment in message.attachments]
                for seq, message in queued.items()
            }
            shown.show_queued(
                conversation.queue.pending, is_paused, is_call_running=bool(calls), attached=attached
            )
        else:
            message = _suggested_message(conversation, self._sample_messages)
            shown.show_suggestion(message, self._sample_messages.get(message, ""))

    @handles(EditQueued)
    async def edit_queued(self, seq: int, text: str) -> None:
        """Change a message that waits; of one that was sent a moment before, the text is not lost."""
        if not await self._session.conversation.queue.edit(seq, text):
            self._composer.prepend(text)

    @handles(MoveQueued)
    async def move_queued(self, seq: int, by: int) -> None:
        await self._session.conversation.queue.move(seq, by)

    @handles(RemoveQueued)
    async def remove_queued(self, seq: int) -> None:
        await self._session.conversation.queue.remove(seq)

    @handles(SteerQueued)
    async def steer_queued(self, seq: int, is_on: bool) -> None:
        await self._session.conversation.queue.steer(seq, is_on)

    @handles(StopAndSend)
    async def stop_and_send(self, seq: int) -> None:
        """Stop the running calls and send a message; none named: the first that steers, else the first."""
        waiting = self._session.conversation.queue.pending
        if not seq and waiting:
            seq = next((message for message in waiting if message.steer), waiting[0]).seq
        if seq:
            await self._session.conversation.stop_step_and_steer(seq)

    @handles(SendQueued)
    def send_queued(self) -> None:
        self._session.conversation.send_next_queued()

    @handles(Pin)
    async def pin(self, seq: int, is_pinned: bool) -> None:
        window = self._session.conversation.window
        if is_pinned:
            await window.pin(seq)
        else:
            await window.unpin(seq)

    @handles(StopCall)
    def stop_call(self, call_id: str) -> None:
        self._session.conversation.running_calls.stop(call_id)

    @handles(ShowRewriteOf)
    def show_rewrite(self, seq: int) -> None:
        transcript = self._session.transcript
        cover = MessageStates(transcript).cover_of(seq)
        rewrites = transcript.rewrites
        swept = (at for at, sweep in rewrites.sweeps.items() if seq in sweep.swept)
        newest = max(filter(rewrites.is_active, swept), default=0)
        self._session.perform(ShowInTimeline(cover.seq if cover is not None else newest))


def _reply(answer: ApprovalAnswer, rule: PermissionRule) -> ApprovalReply:
    match answer:
        case "demo":
            return ALLOW_DEMO_CALLS
        case "session":
            return ApprovalReply("session", msgspec.structs.replace(rule, scope="session"))
        case "always":
            return ApprovalReply("always", rule)
        case "never":
            return ApprovalReply("deny", msgspec.structs.replace(rule, effect="deny", confined=False))
    return ApprovalReply("once" if answer == "once" else "deny")


def _suggested_message(conversation: Conversation, sample_messages: Iterable[str]) -> str:
    """Return the sample's next message that was not sent yet, or `CONTINUE` after a broken-off turn.

    Empty while a turn runs, outside a sample, and at its end.
    """
    if conversation.is_running or not sample_messages:
        return ""
    events = (entry.event for entry in reversed(conversation.session.log))
    ended = next((event for event in events if isinstance(event, TurnEnded)), None)
    if ended is not None and ended.how in _UNFINISHED:
        return CONTINUE
    items = conversation.session.transcript.messages.items
    sent_texts = {item.event.text for item in items if isinstance(item.event, UserSpoke)}
    return next((message for message in sample_messages if message not in sent_texts), "")
