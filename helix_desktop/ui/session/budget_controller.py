"""Keeps the line in step with the conversation on screen, and sets budgets."""

from __future__ import annotations

from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.domain.cost import Budget, tokens_by_purpose
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext, verbatim
from helix_desktop.ui.budget.dialog import BudgetDialog
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.words.costs import CostState, parse_tokens, parse_usd, purposes_text

text = TextContext("Session")

_NO_LIMIT = frozenset(("off", "none", "0", "$0"))


def _cost_state(conversation: Conversation) -> CostState:
    """Return what a conversation has spent and may spend."""
    budget, transcript = conversation.budget, conversation.session.transcript
    is_default = transcript.budget is None and (budget.limit.tokens > 0 or budget.limit.cost > 0)
    is_demo = conversation.model.demo
    return CostState(budget.spent, budget.limit, is_default, transcript.inherited_spending, is_demo)


class BudgetController(QObject):
    """Binds line, menu and chat actions to the budget of one conversation at a time."""

    def __init__(self, window: MainWindow, async_actions: AsyncActions) -> None:
        super().__init__(window)
        self._window, self._async_actions = window, async_actions
        self._conversation: Conversation | None = None
        window.cost_line.budget_requested.connect(self.edit_budget)
        window.cost_line.tell_purposes = self._purposes_text
        window.commands.set_budget.triggered.connect(self.edit_budget)

    def show(self, conversation: Conversation | None) -> None:
        """Show what a conversation has spent by now."""
        self._conversation = conversation
        self._window.cost_line.show_cost(_cost_state(conversation) if conversation else None)

    def _purposes_text(self) -> str:
        """Return what the session's tokens were spent on; its time grows with the log."""
        if self._conversation is None or not self._conversation.budget.spent.sent:
            return ""
        session = self._conversation.session
        own = session.log[session.transcript.branched_at :]
        spent = self._conversation.budget.subagent_spending.values()
        tokens = tokens_by_purpose(recorded.event for recorded in own)
        return purposes_text(tokens, sum(spending.tokens for spending in spent))

    def edit_budget(self) -> None:
        """Let the user set the budget of the session on screen."""
        if self._conversation is not None:
            self._async_actions.start(self._edit_budget(self._conversation), "set budget")

    async def set_typed_budget(self, argument: str) -> None:
        """Set the budget to what was typed: tokens, an amount that begins with $, both, or no limit.

        What is not named stays as it is, unless nothing but words for no limit is typed. Raises InvalidInput.
        """
        conversation = self._conversation
        if conversation is None:
            return
        tokens, cost = conversation.budget.limit.tokens, conversation.budget.limit.cost
        words = argument.lower().split()
        if _NO_LIMIT.issuperset(words):
            tokens, cost, words = 0, 0.0, []
        try:
            for word in words:
                if word.startswith("$"):
                    cost = parse_usd(word)
                else:
                    tokens = parse_tokens(word)
        except ValueError as error:
            raise InvalidInput(
                text("The budget wasn't changed."),
                verbatim(str(error)),
                text(
                    "Type {commands}. No limit: /budget off, none, 0 or $0.",
                    commands="/budget 200k, /budget $2.50",
                ),
            ) from error
        await conversation.budget.set_limit(Budget(tokens, cost))
        self.show(self._conversation)

    async def _edit_budget(self, conversation: Conversation) -> None:
        info = conversation.model
        dialog = BudgetDialog(
            self._window,
            _cost_state(conversation),
            has_prices=bool(info.price_in or info.price_out),
            is_free=info.free or info.demo,
        )
        retint(dialog, self._window.theme)
        if await dialogs.exec_async(dialog) and dialog.budget != conversation.budget.limit:
            await conversation.budget.set_limit(dialog.budget)
            if conversation is self._conversation:
                self.show(conversation)
