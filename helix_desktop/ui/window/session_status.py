"""The figures of the session on screen: title, state, context, cost; asks what it may spend."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

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
from helix_desktop.domain.cost import Budget, tokens_by_purpose
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.messages import RetryScheduled
from helix_desktop.domain.translatable_text import TextContext, verbatim
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout import DIALOG_MARGINS, FlowBox, column
from helix_desktop.ui.design.sized_dialog import FittedDialog
from helix_desktop.ui.kit.forms import Draft, Form, Line
from helix_desktop.ui.kit.intents import SetBudget, TogglePane, handles
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.top_bar import TopBarState
from helix_desktop.ui.window.window_group import WindowGroup, WindowPart
from helix_desktop.ui.window.work_badges import work_state
from helix_desktop.words.costs import CostState, parse_tokens, parse_usd, purposes_text
from helix_desktop.words.failed_turns import turn_failure_reason
from helix_desktop.words.models import model_name, with_effort
from helix_desktop.words.policies import policy_in_use
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import Translator, translate

tr = Translator("Session")
text = TextContext("Session")
_budget_tr = Translator("Budget")
_budget_text = TextContext("Budget")

_SHOWN = (
    EventRecorded
    | ApprovalRequested
    | QuestionAsked
    | SubagentProgress
    | RequestChanged
    | CallStarted
    | TurnChanged
    | RetryScheduled
    | RetryEnded
)
"""What changes the numbers on screen."""

_NO_LIMIT = frozenset(("off", "none", "0", "$0"))


_WIDTH_PX = 520


def _typed_usd(cost: float) -> str:
    """Return an amount as it is typed, with every digit of one below a cent."""
    cents = f"{cost:.2f}"
    return (cents if float(cents) == cost else str(cost)) if cost else ""


LIMITS = (
    Line("tokens", _budget_text("Tokens sent and received"), parse=parse_tokens, live=True, room=1,
         format=lambda tokens: str(tokens or ""), placeholder=_budget_text("No limit")),
    Line("cost", _budget_text("US dollars"), parse=parse_usd, live=True, room=1, format=_typed_usd,
         placeholder=_budget_text("No limit")),
)  # fmt: skip


class BudgetDialog(FittedDialog):
    """Two limits, each of which may be left open."""

    def __init__(self, parent: QWidget, state: CostState, *, has_prices: bool, is_free: bool = False) -> None:
        super().__init__(parent, _budget_tr("Session budget"), _WIDTH_PX)
        self.budget, self._spent = state.budget, state.spent
        free = _budget_tr("This model is free. Only its tokens count.")
        unknown = _budget_tr("Prices of this model are unknown. Only its tokens count.")
        self._notes = {"tokens": "", "cost": free if is_free else "" if has_prices else unknown}
        values = Draft({"tokens": state.budget.tokens, "cost": state.budget.cost})
        self.form = Form(LIMITS, values, is_dialog=True, gap=8)
        self.form.edited.connect(self._on_edited)
        self._ok = PushButton(_budget_tr("Set budget"), "primary", name="set_budget", on_click=self.accept)
        self._ok.setDefault(True)
        cancel = PushButton(_budget_tr("Cancel"), name="cancel", on_click=self.reject)
        buttons = FlowBox([cancel, self._ok], right_from=0)
        effect = _budget_tr(
            "When the budget is used up, the turn stops before its next model call. Nothing is lost: raise "
            "the budget to continue. All versions of the session, subagents and compaction count."
        )
        words = column(label(_budget_tr("Session budget"), "title"), label(effect, "muted", wrap=True), gap=5)
        words.addWidget(label(_budget_tr("Used so far: {usage}", usage=state.text), wrap=True))
        limits = _budget_tr("These limits come from the workspace. Changes apply to this session only.")
        for note in filter(None, (state.cache_text, limits if state.is_default else "")):
            words.addWidget(label(note, "muted", wrap=True))
        self.setLayout(column(words, 6, self.form, 8, buttons, margins=DIALOG_MARGINS, gap=8))
        for name in self.form.fields:
            self._on_edited(name)

    def _on_edited(self, name: str) -> None:
        """Say what a limit does that stops the session at once, or that is none."""
        values = self.form.values
        value, note = values.get(name), self._notes[name]
        if self.form.line(name).text().strip() and not value:
            note = _budget_tr("0: no limit.")
        elif 0 < value <= getattr(self._spent, name):
            note = _budget_tr("Used up already: the next turn stops before its first model call.")
        self.form.rows[name].show_note(note)
        self._ok.setEnabled(not self.form.errors())
        if not self.form.errors():
            self.budget = Budget(values.get("tokens"), values.get("cost"))


def _cost_state(conversation: Conversation) -> CostState:
    budget, transcript = conversation.budget, conversation.session.transcript
    is_default = transcript.budget is None and (budget.limit.tokens > 0 or budget.limit.cost > 0)
    is_demo, versions = conversation.model.demo, 1 + len(budget.other_versions())
    inherited = transcript.inherited_spending
    return CostState(budget.spent, budget.limit, is_default, inherited, is_demo, versions=versions)


class SessionStatus(WindowPart):
    def __init__(self, window: MainWindow, windows: WindowGroup) -> None:
        super().__init__(window, windows)
        self._gauge = window.pages.chat.composer.gauge
        window.cost_line.tell_purposes = self._purposes_text
        commands = window.commands
        self._gauge.clicked.connect(lambda: window.perform(TogglePane("inspector")))
        self._gauge.addActions((commands.toggle_inspector, commands.hold_compaction, commands.compact_now))
        self._gauge.addActions((commands.undo_compaction, commands.redo_compaction, commands.change_policy))
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
        transcript, window = self._session.transcript, conversation.window
        policy_text = policy_in_use(transcript.session_policy, self._session.workspace.policy)
        self._gauge.show_usage(window.measure()[1], window.policy, policy_text, transcript.on_hold)

    def _purposes_text(self) -> str:
        """Return what the session's tokens were spent on; its time grows with the log."""
        conversation = self._session.find_conversation()
        if conversation is None or not conversation.budget.spent.sent:
            return ""
        session, budget = conversation.session, conversation.budget
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
        workspace, conversation = self._session.workspace, self._session.conversation
        budget = limit = conversation.budget.limit
        if amount:
            budget = _parse_budget(amount, limit)
        else:
            info, state = conversation.model, _cost_state(conversation)
            has_prices, is_free = bool(info.price_in or info.price_out), info.free or info.demo
            dialog = BudgetDialog(self._window, state, has_prices=has_prices, is_free=is_free)
            if await dialogs.exec_async(dialog):
                budget = dialog.budget
        if amount or budget != limit:
            await workspace.set_budget(conversation.session.id, budget)
            self._show()


def _parse_budget(amount: str, limit: Budget) -> Budget:
    """Return what was typed, see `set_budget`; what it doesn't name is as in `limit`. Raises InvalidInput."""
    tokens, cost, words = limit.tokens, limit.cost, amount.lower().split()
    if _NO_LIMIT.issuperset(words):
        tokens, cost, words = 0, 0.0, []
    try:
        for word in words:
            if word.startswith("$"):
                cost = parse_usd(word)
            else:
                tokens = parse_tokens(word)
    except ValueError as error:
        examples = "/budget 200k, /budget $2.50"
        fix = text("Type {commands}. No limit: /budget off, none, 0 or $0.", commands=examples)
        raise InvalidInput(text("The budget wasn't changed."), verbatim(str(error)), fix) from error
    return Budget(tokens, cost)


def top_bar_state(conversation: Conversation) -> TopBarState:
    transcript = conversation.session.transcript
    name, demo = _answering_model(conversation)
    ended = conversation.session.failed_end
    state, reason = work_state((conversation,)), translate(conversation.response.retry_reason)
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
    now, last = conversation.model, conversation.session.transcript.last_model
    name = model_name(now.label, now.demo)
    if now.demo or last in ("", now.label) or last.startswith("demo/"):
        return name, now.demo
    return tr(
        "{previous} → {next} from the next turn", previous=model_name(last, demo=False), next=name
    ), False
