"""Answers questions of the agent: from the card that stands in the conversation to the call that waits."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.domain.tools import ApprovalReply, ApprovalRequest, PermissionRule
from helix_desktop.ui.chat.viewport.view import ChatView
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.shell.main_window import MainWindow


class ApprovalController(QObject):
    """Binds the questions in the chat to the conversation on screen."""

    def __init__(
        self,
        window: MainWindow,
        view: ChatView,
        async_actions: AsyncActions,
        current_conversation: Callable[[], Conversation | None],
    ) -> None:
        super().__init__(window)
        self._window, self._async_actions, self._current_conversation = (
            window,
            async_actions,
            current_conversation,
        )
        view.approval_decided.connect(self._decide)

    def _decide(self, call_id: str, answer: str, offer: int) -> None:
        """`answer` is what the user chose on the card, `offer` the rule chosen there."""
        conversation = self._current_conversation()
        ask = (
            next((pending for pending in conversation.asks if pending.call_id == call_id), None)
            if conversation
            else None
        )
        if conversation is None or ask is None:
            return
        if answer == "words":
            self._async_actions.start(self._deny_with_reason(conversation, ask), "say why not")
            return
        conversation.decide(call_id, _reply(answer, (ask.suggested_rules or (ask.rule,))[offer]))

    async def _deny_with_reason(self, conversation: Conversation, ask: ApprovalRequest) -> None:
        words = await dialogs.get_text(
            self._window,
            "What should the agent know?",
            accept_label="Deny and tell it",
            why=f"{ask.summary}: it is not done. The agent reads your words and goes on.",
        )
        if words:
            conversation.decide(ask.call_id, ApprovalReply("deny", reason=words))


def _reply(answer: str, rule: PermissionRule) -> ApprovalReply:
    match answer:
        case "session":
            return ApprovalReply("session", rule)
        case "always":
            return ApprovalReply("always", rule)
        case "never":
            return ApprovalReply("deny", msgspec.structs.replace(rule, effect="deny", confined=False))
    return ApprovalReply("once" if answer == "once" else "deny")
