"""Answers questions of the agent: from the card that stands in the conversation to the call that waits."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.session import EventRecorded, Update
from helix_desktop.domain.events.conversation import ApprovalGiven, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.question import QuestionReply
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.tools import ALLOW_DEMO_CALLS, ApprovalReply, ApprovalRequest, PermissionRule
from helix_desktop.ui.chat.actions import AllowAllOnce, AnswerQuestion, ApprovalAnswer, Decide
from helix_desktop.ui.chat.rows.row_types import ApprovalRow
from helix_desktop.ui.design.safe_text import escape_command
from helix_desktop.ui.design.shell_data import Banner, BannerAction
from helix_desktop.ui.kit.commands import action_shortcut
from helix_desktop.ui.kit.intents import AnswerApproval, handles
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.ui.shell.commands import WAITING_APPROVAL
from helix_desktop.words.translation import Translator, translate
from helix_desktop.workspaces.saved_rules import SavedRules

tr = Translator("Session")

_BANNER = "saved-rule"
_RULE_CHARS = 160


class SavedRuleNotice(QObject):
    """A banner in the session whose approval saved a rule, until the user decides or writes again."""

    def __init__(self, context: ControllerContext, session_controller: SessionController) -> None:
        super().__init__(context.window)
        self._banners, self._registry = context.window.banners, context.services.registry
        self._rules: dict[str, tuple[Conversation, PermissionRule]] = {}  # the newest, by session
        self._banners.action_clicked.connect(self._on_action)
        session_controller.updated.connect(self._on_update)

    def show(self, conversation: Conversation, rule: PermissionRule) -> None:
        """Show a rule of the conversation on screen."""
        workspace_id, session_id = self._banners.context_ids
        self._rules[session_id] = conversation, rule
        is_session_rule = rule.scope == "session"
        self._banners.show_banner(
            Banner(
                _BANNER,
                "info",
                tr("Rule saved: “{rule}”", rule=_one_line(rule)),
                tr("In this session, until Helix Desktop closes. Settings → Permissions lists it.")
                if is_session_rule
                else tr("Saved rules are in Settings → Permissions."),
                actions=(BannerAction(session_id, tr("Undo")),),
                workspace_id=workspace_id,
                session_id=session_id,
                is_brief=True,
            )
        )

    def _on_update(self, update: Update) -> None:
        match update:
            case EventRecorded(
                recorded=RecordedEvent(event=UserSpoke() | ApprovalGiven(rule="", mode="", saved=""))
            ):
                self._banners.remove(_BANNER)

    def _on_action(self, banner_id: str, session_id: str) -> None:
        if banner_id != _BANNER:
            return
        workspace_id, _ = self._banners.context_ids
        self._banners.remove(_BANNER)
        conversation, rule = self._rules.pop(session_id)
        saved = SavedRules(self._registry, workspace_id)
        place = conversation.permissions if rule.scope == "session" else saved
        rules = conversation.permissions.rules if rule.scope == "session" else saved.rules()
        for other in rules:
            if other.text == rule.text:  # it has the time of saving by now
                place.revoke(other)


def _one_line(rule: PermissionRule) -> str:
    """Return a rule's words without line breaks, cut where a command is long."""
    return ellipsize(" ".join(escape_command(translate(rule.text)).split()), _RULE_CHARS)


class ApprovalController(QObject):
    """Binds the questions in the chat to the conversation on screen."""

    def __init__(self, context: ControllerContext, session_controller: SessionController) -> None:
        super().__init__(context.window)
        self._window, self._async_actions = context.window, context.async_actions
        self._session_controller = session_controller
        self._chat = context.views.chat
        self._notice = SavedRuleNotice(context, session_controller)
        context.window.intents.add(self)
        commands = self._commands = context.window.commands
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

    @handles(AnswerQuestion)
    async def answer_question(self, call_id: str, reply: QuestionReply) -> None:
        """Answer the question of a call, or skip it."""
        conversation = self._session_controller.conversation
        if conversation is not None:
            self._chat.composer.editor.setFocus()
            await conversation.answer_question(call_id, reply)

    @handles(AllowAllOnce)
    def allow_all_once(self, call_ids: tuple[str, ...]) -> None:
        """Let each of these calls run once."""
        for call_id in call_ids:
            self.decide(call_id, "once", 0)

    @handles(Decide)
    def decide(self, call_id: str, answer: ApprovalAnswer, offer: int) -> None:
        """Answer whether a call may run; a lasting answer saves the rule that was offered."""
        conversation = self._session_controller.conversation
        if conversation is None:
            return
        ask = next((pending for pending in conversation.asks if pending.call_id == call_id), None)
        if not isinstance(ask, ApprovalRequest):
            return
        rule = (ask.suggested_rules or (ask.rule,))[offer]
        reply = _reply(answer, rule)
        conversation.decide(ask.call_id, reply)
        if reply.rule is not None:
            self._notice.show(conversation, reply.rule)


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
