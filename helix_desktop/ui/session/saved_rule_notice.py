"""Says which rule an answer to an approval saved, and takes it back."""

from __future__ import annotations

from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.session_updates import EventRecorded, Update
from helix_desktop.domain.events.conversation import ApprovalGiven, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.tools import PermissionRule
from helix_desktop.ui.design.safe_text import escape_command
from helix_desktop.ui.design.shell_data import Banner, BannerAction
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext
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
