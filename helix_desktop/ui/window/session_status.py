"""The figures of the session on screen: title, state, context, cost; asks what it may spend."""

from __future__ import annotations

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.session import (
    ApprovalRequested,
    CallStarted,
    EventRecorded,
    QuestionAsked,
    RequestChanged,
    RetryEnded,
    SubagentProgress,
    TurnChanged,
)
from helix_desktop.domain.cost import tokens_by_purpose
from helix_desktop.domain.messages import RetryScheduled
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.chat.composer.context_gauge import ContextGauge
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.kit.intents import SetBudget, TogglePane, handles
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.session_cost import BudgetDialog, parse_budget
from helix_desktop.ui.window.top_bar import TopBarState
from helix_desktop.ui.window.window_group import WindowGroup, WindowPart
from helix_desktop.ui.window.workspace_badges import work_state
from helix_desktop.words.costs import CostState, purposes_text
from helix_desktop.words.failed_turns import turn_failure_reason
from helix_desktop.words.model_names import model_name, with_effort
from helix_desktop.words.policies import policy_in_use
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import Translator, translate

tr = Translator("Session")
text = TextContext("Session")

_SHOWN = (
    EventRecorded | ApprovalRequested | QuestionAsked | SubagentProgress | RequestChanged | CallStarted
    | TurnChanged | RetryScheduled | RetryEnded
)  # fmt: skip
"""What changes the numbers on screen."""


def _cost_state(conversation: Conversation) -> CostState:
    budget = conversation.budget
    transcript = conversation.session.transcript
    is_default = transcript.budget is None and (budget.limit.tokens > 0 or budget.limit.cost > 0)
    is_demo = conversation.model.demo
    versions = 1 + len(budget.other_versions())
    inherited = transcript.inherited_spending
    return CostState(budget.spent, budget.limit, is_default, inherited, is_demo, versions=versions)


class SessionStatus(WindowPart):
    def __init__(self, window: MainWindow, windows: WindowGroup) -> None:
        super().__init__(window, windows)
        self._gauges = window.pages.chat.composer.gauge, ContextGauge()
        window.top_bar.add_gauge(self._gauges[1])
        window.cost_line.tell_purposes = self._purposes_text
        commands = window.commands
        for gauge in self._gauges:
            gauge.clicked.connect(lambda: window.perform(TogglePane("panel")))
            gauge.addActions((commands.toggle_inspector, commands.hold_compaction, commands.compact_now))
            gauge.addActions((commands.undo_compaction, commands.redo_compaction, commands.change_policy))
        session = self._session
        session.changed.connect(self._show)
        session.on(_SHOWN, lambda _: session.schedule_refresh())
        session.on_refresh(self._show)

    def _show(self) -> None:
        conversation = self._session.find_conversation()
        self._window.cost_line.show_cost(_cost_state(conversation) if conversation else None)
        self._window.show_session(top_bar_state(conversation) if conversation is not None else None)
        if conversation is None:
            return
        transcript = self._session.transcript
        window = conversation.window
        policy_text = policy_in_use(transcript.session_policy, self._session.workspace.policy)
        usage = window.measure()[1]
        for gauge in self._gauges:
            gauge.show_usage(usage, window.policy, policy_text, transcript.on_hold)

    def _purposes_text(self) -> str:
        """Return what the session's tokens were spent on; its time grows with the log."""
        conversation = self._session.find_conversation()
        if conversation is None or not conversation.budget.spent.sent:
            return ""
        session = conversation.session
        budget = conversation.budget
        own = session.log[session.transcript.branched_at :]
        return purposes_text(
            tokens_by_purpose(recorded.event for recorded in own),
            sum(spending.tokens for spending in budget.subagent_spending.values()),
            sum(spending.tokens for spending in budget.other_versions()),
        )

    @handles(SetBudget)
    async def set_budget(self, amount: str) -> None:
        """Set the budget to what was typed: tokens, an amount that begins with $, both, or no limit.

        Nothing typed: let the user set it in a dialog. What is not named stays as it is, unless nothing but
        words for no limit is typed. Raises InvalidInput.
        """
        workspace = self._session.workspace
        conversation = self._session.conversation
        budget = limit = conversation.budget.limit
        if amount:
            budget = parse_budget(amount, limit)
        else:
            info = conversation.model
            state = _cost_state(conversation)
            has_prices = bool(info.price_in or info.price_out)
            is_free = info.free or info.demo
            dialog = BudgetDialog(self._window, state, has_prices=has_prices, is_free=is_free)
            if await dialogs.exec_async(dialog):
                budget = dialog.budget
        if amount or budget != limit:
            await workspace.set_budget(conversation.session.id, budget)
            self._show()


def top_bar_state(conversation: Conversation) -> TopBarState:
    transcript = conversation.session.transcript
    name, demo = _answering_model(conversation)
    ended = conversation.session.failed_end
    state = work_state((conversation,))
    reason = translate(conversation.response.retry_reason)
    if not state and ended is not None:
        state = "budget" if ended.cause == "budget" else "failed"
        reason = turn_failure_reason((ended.what, ended.why))
    return TopBarState(
        conversation.session.id,
        session_title(transcript.title),
        name if conversation.model_choice.pending else with_effort(name, conversation.session.effort),
        demo,
        transcript.messages.counts().messages,
        state,
        reason,
    )


def _answering_model(conversation: Conversation) -> tuple[str, bool]:
    """Return the display name of the model that answers in a session, and whether it is the demo.

    A session that waits for the user's choice shows the model that it had; after a change both are named.
    """
    change = conversation.model_choice.pending
    if change is not None:
        return model_name(change.label, demo=False), False
    now = conversation.model
    last = conversation.session.transcript.last_model
    name = model_name(now.label, now.demo)
    if now.demo or last in ("", now.label) or last.startswith("demo/"):
        return name, now.demo
    return tr(
        "{previous} → {next} from the next turn", previous=model_name(last, demo=False), next=name
    ), False
