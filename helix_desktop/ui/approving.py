"""Answers questions of the agent: from the card that stands in the conversation to the call that waits."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.tool import ApprovalAsk, Reply, Rule
from helix_desktop.ui import dialogs
from helix_desktop.ui.chat.view import ChatView
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.main_window import MainWindow


class Approving(QObject):
    """Binds the questions in the chat to the conversation on screen."""

    def __init__(
        self,
        window: MainWindow,
        view: ChatView,
        intents: Intents,
        conversation: Callable[[], Conversation | None],
    ) -> None:
        super().__init__(window)
        self._window, self._intents, self._conversation = window, intents, conversation
        view.approval_decided.connect(self._decide)

    def _decide(self, call_id: str, answer: str, offer: int) -> None:
        """`answer` is what the person chose on the card, `offer` the rule chosen there."""
        talk = self._conversation()
        ask = next((one for one in talk.asks if one.call_id == call_id), None) if talk else None
        if talk is None or ask is None:
            return
        if answer == "words":
            self._intents.start(self._explain(talk, ask), "say why not")
            return
        talk.decide(call_id, _reply(answer, (ask.offers or (ask.rule,))[offer]))

    async def _explain(self, talk: Conversation, ask: ApprovalAsk) -> None:
        words = await dialogs.get_text(
            self._window,
            "What should the agent know?",
            accept="Deny and tell it",
            why=f"{ask.summary}: it is not done. The agent reads your words and goes on.",
        )
        if words:
            talk.decide(ask.call_id, Reply("deny", words=words))


def _reply(answer: str, rule: Rule) -> Reply:
    match answer:
        case "session":
            return Reply("session", rule)
        case "always":
            return Reply("always", rule)
        case "never":
            return Reply("deny", msgspec.structs.replace(rule, effect="deny", confined=False))
    return Reply("once" if answer == "once" else "deny")
