"""Answers questions of the agent: from the card that stands in the conversation to the call that waits."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.domain.events.conversation import ApprovalGiven, UserSpoke
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.question import QuestionReply
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.tools import ALLOW_DEMO_CALLS, ApprovalReply, ApprovalRequest, PermissionRule
from helix_desktop.ui.chat.actions import AllowAllOnce, AnswerQuestion, ApprovalAnswer, Decide
from helix_desktop.ui.chat.rows.row_types import ApprovalRow
from helix_desktop.ui.design.safe_text import escape_command
from helix_desktop.ui.kit.commands import action_shortcut
from helix_desktop.ui.kit.intents import AnswerApproval, ShowWaiting, handles
from helix_desktop.ui.kit.notices import Answer, Notice, NoticeArea
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.shell.commands import WAITING_APPROVAL
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.words.translation import Translator, translate
from helix_desktop.workspaces.saved_rules import SavedRules

tr = Translator("Session")

_RULE_CHARS = 160


def say_rule_saved(
    notices: NoticeArea, conversation: Conversation, workspace_rules: SavedRules, rule: PermissionRule
) -> None:
    """Offer to take back what the user just allowed for longer, until they decide or write again."""
    is_session_rule = rule.scope == "session"

    def revoke() -> None:
        place = conversation.permissions if is_session_rule else workspace_rules
        for other in conversation.permissions.rules if is_session_rule else workspace_rules.rules():
            if other.text == rule.text:  # it has the time of saving by now
                place.revoke(other)

    words = ellipsize(" ".join(escape_command(translate(rule.text)).split()), _RULE_CHARS)
    notices.notify_here(
        Notice(
            "saved-rule",
            tr("Rule saved: “{rule}”", rule=words),
            tr("In this session, until Helix Desktop closes. Settings → Permissions lists it.")
            if is_session_rule
            else tr("Saved rules are in Settings → Permissions."),
            answers=(Answer(tr("Undo"), revoke, "undo", ends=True),),
            is_brief=True,
            ends_with=(UserSpoke, _is_other_approval),
        )
    )


def _is_other_approval(event: Event) -> bool:
    """Tell an approval that saves nothing: the one that saved the rule is recorded after its notice."""
    return isinstance(event, ApprovalGiven) and not (event.rule or event.mode or event.saved)


class ApprovalController(QObject):
    def __init__(self, window: MainWindow, session: Session) -> None:
        super().__init__(window)
        self._window, self._session, self._chat = window, session, window.pages.chat
        window.intents.add(self)
        commands = self._commands = window.commands
        for command in (commands.allow_call, commands.deny_call):
            command.changed.connect(self._show_tips)
        model = self._chat.model
        for changed in (model.rows_reset, model.row_added, model.row_removed):
            changed.connect(self._update_commands)
        self._update_commands()
        self._show_tips()

    def _update_commands(self) -> None:
        has_approval = any(isinstance(row, ApprovalRow) for row in self._chat.model.raw_rows())
        self._commands.meet(WAITING_APPROVAL, has_approval)

    def _show_tips(self) -> None:
        allow, deny = map(action_shortcut, (self._commands.allow_call, self._commands.deny_call))
        self._chat.view.show_answer_tips(frozenset({("once", allow), ("deny", deny)}))

    @handles(AnswerApproval)
    def answer_first(self, answer: ApprovalAnswer) -> None:
        """Answer the card in sight; a first use of the keys elsewhere leads to it."""
        if self._window.page() == "chat":
            self._chat.view.answer_first_approval(answer)
        else:
            self._window.show_page("chat")

    @handles(ShowWaiting)
    def show_waiting(self) -> None:
        self._window.show_page("chat")
        self._chat.show_first_ask()

    @handles(AnswerQuestion)
    async def answer_question(self, call_id: str, reply: QuestionReply) -> None:
        self._chat.composer.editor.setFocus()
        await self._session.conversation.answer_question(call_id, reply)

    @handles(AllowAllOnce)
    def allow_all_once(self, call_ids: tuple[str, ...]) -> None:
        for call_id in call_ids:
            self.decide(call_id, "once", 0)

    @handles(Decide)
    def decide(self, call_id: str, answer: ApprovalAnswer, offer: int) -> None:
        """Answer whether a call may run; a lasting answer saves the rule that was offered."""
        conversation = self._session.conversation
        ask = next((pending for pending in conversation.asks if pending.call_id == call_id), None)
        if not isinstance(ask, ApprovalRequest):
            return
        rule = (ask.suggested_rules or (ask.rule,))[offer]
        reply = _reply(answer, rule)
        conversation.decide(ask.call_id, reply)
        if reply.rule is not None:
            saved = SavedRules(self._session.app.registry, self._session.workspace.id)
            say_rule_saved(self._window.notices, conversation, saved, reply.rule)


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
