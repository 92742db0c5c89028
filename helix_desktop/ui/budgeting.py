"""Keeps the line in step with the conversation on screen, and sets budgets."""

from __future__ import annotations

from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.ui import dialogs
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.spending.dialog import BudgetDialog
from helix_desktop.ui.spending.rows import SpendingState
from helix_desktop.ui.widgets import retint


def spending_of(conversation: Conversation) -> SpendingState:
    """What a conversation has spent and may spend."""
    purse, known = conversation.purse, conversation.session.transcript
    usual = known.budget is None and (purse.budget.tokens > 0 or purse.budget.cost > 0)
    return SpendingState(purse.spent, purse.budget, usual)


class SpendingPresenter(QObject):
    """Binds line, menu and chat actions to the purse of one conversation at a time."""

    def __init__(self, window: MainWindow, intents: Intents) -> None:
        super().__init__(window)
        self._window, self._intents = window, intents
        self._conversation: Conversation | None = None
        window.spending.wanted.connect(self.ask)
        window.commands.set_budget.triggered.connect(self.ask)

    def show(self, conversation: Conversation | None) -> None:
        """Show what a conversation has spent by now."""
        self._conversation = conversation
        self._window.spending.show_spending(spending_of(conversation) if conversation else None)

    def ask(self) -> None:
        """Let the person set the budget of the session on screen."""
        if self._conversation is not None:
            self._intents.start(self._ask(self._conversation), "set budget")

    async def _ask(self, conversation: Conversation) -> None:
        info = conversation.model
        dialog = BudgetDialog(self._window, spending_of(conversation), bool(info.price_in or info.price_out))
        retint(dialog, self._window.theme)
        if await dialogs.finished(dialog) and dialog.budget != conversation.purse.budget:
            await conversation.purse.allow(dialog.budget)
            if conversation is self._conversation:
                self.show(conversation)
