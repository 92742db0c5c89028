"""The session on screen: one conversation in composer, top bar, inspector and all pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from types import UnionType
from typing import TypeVar

from msgspec.structs import replace
from PySide6.QtCore import QObject, Qt, QTimer, Signal

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session import (
    ApprovalRequested,
    CallStarted,
    EventRecorded,
    QuestionAsked,
    RequestChanged,
    SubagentProgress,
    TurnChanged,
)
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.rewrites.planner import RewriteStatus
from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.context.window.window import PromptFrame, Window
from helix_desktop.context.window.window_breakdown import WindowItem
from helix_desktop.domain.cost import Budget, tokens_by_purpose
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.question import Question
from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.domain.translatable_text import TextContext, verbatim
from helix_desktop.ui.budget.dialog import BudgetDialog
from helix_desktop.ui.cache.presenter import CachePresenter
from helix_desktop.ui.changes.presenter import ChangesPresenter
from helix_desktop.ui.chat.presenter import ChatPresenter
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.shell_data import GaugeState, TopBarState
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.inspector.from_provider_cache import provider_cache_state
from helix_desktop.ui.inspector.from_window import inspector_state
from helix_desktop.ui.inspector.request_status import with_rewrite_status
from helix_desktop.ui.kit.intents import (
    RenameSession,
    SetBudget,
    Steer,
    StopAndSend,
    ToggleContextPanel,
    handles,
)
from helix_desktop.ui.session.background_jobs import BackgroundJobs, BackgroundProgress
from helix_desktop.ui.session.completion import ComposerCompletions
from helix_desktop.ui.session.composer_controller import ComposerController
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.ui.session.next_messages import NextMessagesController
from helix_desktop.ui.session.past.controller import PastController
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.timeline.presenter import TimelinePresenter
from helix_desktop.words.costs import CostState, parse_tokens, parse_usd, purposes_text
from helix_desktop.words.efforts import with_effort
from helix_desktop.words.failed_turns import turn_failure_reason
from helix_desktop.words.gauge_source import gauge_source_text
from helix_desktop.words.models import model_name
from helix_desktop.words.policies import policy_in_use
from helix_desktop.words.rewrite_reasons import gauge_compaction_text
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import Translator

tr = Translator("Session")
text = TextContext("Session")
T = TypeVar("T")

_COALESCE_MS = 120
_DETAILS = "inspector_details"  # whether the panel's details are open

_SHOWN = (
    EventRecorded
    | ApprovalRequested
    | QuestionAsked
    | SubagentProgress
    | RequestChanged
    | CallStarted
    | TurnChanged
)
"""What changes the numbers on screen."""

_NO_LIMIT = frozenset(("off", "none", "0", "$0"))


def _cost_state(conversation: Conversation) -> CostState:
    """Return what a conversation has spent and may spend."""
    budget, transcript = conversation.budget, conversation.session.transcript
    is_default = transcript.budget is None and (budget.limit.tokens > 0 or budget.limit.cost > 0)
    is_demo = conversation.model.demo
    return CostState(
        budget.spent,
        budget.limit,
        is_default,
        transcript.inherited_spending,
        is_demo,
        versions=1 + len(budget.other_versions()),
    )


class BudgetController(QObject):
    """Binds line, menu and chat actions to the budget of one conversation at a time."""

    def __init__(self, window: MainWindow, async_actions: AsyncActions) -> None:
        super().__init__(window)
        self._window, self._async_actions = window, async_actions
        self._workspace: OpenWorkspace | None = None
        self._conversation: Conversation | None = None
        window.cost_line.tell_purposes = self._purposes_text
        window.intents.add(self)

    def show(self, workspace: OpenWorkspace | None, conversation: Conversation | None) -> None:
        """Show what a conversation of a workspace has spent by now."""
        self._workspace, self._conversation = workspace, conversation
        self._window.cost_line.show_cost(_cost_state(conversation) if conversation else None)

    def _purposes_text(self) -> str:
        """Return what the session's tokens were spent on; its time grows with the log."""
        if self._conversation is None or not self._conversation.budget.spent.sent:
            return ""
        session = self._conversation.session
        own = session.log[session.transcript.branched_at :]
        budget = self._conversation.budget
        tokens = tokens_by_purpose(recorded.event for recorded in own)
        return purposes_text(
            tokens,
            sum(spending.tokens for spending in budget.subagent_spending.values()),
            sum(spending.tokens for spending in budget.other_versions()),
        )

    @handles(SetBudget)
    async def set_budget(self, amount: str) -> None:
        """Set the budget to what was typed: tokens, an amount that begins with $, both, or no limit.

        Nothing typed: let the user set it in a dialog. What is not named stays as it is, unless nothing but
        words for no limit is typed. Raises InvalidInput.
        """
        workspace, conversation = self._workspace, self._conversation
        if workspace is None or conversation is None:
            return
        if not amount:
            await self._edit_budget(workspace, conversation)
            return
        tokens, cost = conversation.budget.limit.tokens, conversation.budget.limit.cost
        words = amount.lower().split()
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
        await workspace.set_budget(conversation.session.id, Budget(tokens, cost))
        self.show(self._workspace, self._conversation)

    async def _edit_budget(self, workspace: OpenWorkspace, conversation: Conversation) -> None:
        info = conversation.model
        dialog = BudgetDialog(
            self._window,
            _cost_state(conversation),
            has_prices=bool(info.price_in or info.price_out),
            is_free=info.free or info.demo,
        )
        retint(dialog, self._window.theme)
        if await dialogs.exec_async(dialog) and dialog.budget != conversation.budget.limit:
            await workspace.set_budget(conversation.session.id, dialog.budget)
            if conversation is self._conversation:
                self.show(workspace, conversation)


def top_bar_state(conversation: Conversation) -> TopBarState:
    """Return title, state, model and size of a conversation."""
    transcript = conversation.session.transcript
    name, demo = _answering_model(conversation)
    ended = conversation.session.failed_end
    return TopBarState(
        conversation.session.id,
        session_title(transcript.title),
        conversation.is_running,
        name if conversation.model_choice.pending else with_effort(name, conversation.effort),
        demo,
        transcript.messages.counts().messages,
        bool(conversation.asks),
        turn_failure_reason((ended.what, ended.why)) if ended is not None else "",
        ended is not None and ended.cause == "budget",
    )


def gauge_state(
    gauge: UsageGauge, policy: ContextPolicy, policy_text: str, is_on_hold: bool = False
) -> GaugeState:
    """Return how full the window is, and where the policy compacts it; `policy_text` names the policy."""
    return GaugeState(
        gauge.used,
        gauge.window,
        not gauge.is_reported,
        gauge_source_text(gauge),
        gauge_compaction_text(gauge.trigger, policy.enabled, is_on_hold),
        policy_text,
        is_on_hold and policy.enabled,
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


class SessionController(QObject):
    """Shows one conversation at a time; what is not on screen runs on by itself.

    The one place that spreads the updates of the conversation on screen: at once by `updated`, and, once for
    many updates, to the views that show numbers.
    """

    session_changing = Signal()
    """Another conversation, or none, is on screen; the views still show the previous one."""
    session_changed = Signal()
    """The same, once the views that show a conversation at once do."""
    session_loaded = Signal()
    """The views show the conversation, with its rows and its draft."""
    model_changed = Signal()
    """The model that answers may be another one now."""
    session_requested = Signal(str)
    """Another session is to be shown: a subagent's, or the one that it works for."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context.window)
        window, views, async_actions = context.window, context.views, context.async_actions
        self._window, self.views, self._async_actions = window, views, async_actions
        self._windows = context.windows
        self.workspace: OpenWorkspace | None = None
        self.conversation: Conversation | None = None
        self._handlers: list[tuple[type | UnionType, Callable[..., object]]] = []
        self._subscriptions: list[Callable[[], None]] = []
        self._background_jobs: dict[str, BackgroundJobs] = {}  # by session, while any run
        for first in context.windows.windows[:1]:  # it has heard all that runs
            self._background_jobs |= deepcopy(dict(first.background_jobs))
        announce = views.chat.view.announce
        self.chat = ChatPresenter(
            views.chat.model,
            lambda: announce(tr("Reply finished")),
            lambda summary: announce(tr("Approval needed: {request}", request=summary)),
            self._on_question,
        )
        self.cache = CachePresenter(views.cache, async_actions, window.notices.notify)
        window.intents.add(self.cache)
        self.timeline = TimelinePresenter(views.timeline)
        self.changes = ChangesPresenter(
            views.changes,
            async_actions,
            context.services.git,
            lambda workspace_id: context.services.registry.get(workspace_id).path,
        )
        self.on(TurnChanged, lambda turn: self._show_running(turn.running))
        self.on(_SHOWN, lambda _: self._show_change())
        self.on(EventRecorded, lambda update: window.notices.follow(update.recorded.event))
        self.composer = ComposerController(context)
        self.completions = ComposerCompletions(
            context, self.composer, lambda: self.workspace, lambda: self.conversation
        )
        self.next_messages = NextMessagesController(views.chat.next_messages, self.composer, async_actions)
        self.past = PastController(context, self.chat, self.schedule_refresh)
        self.budget = BudgetController(window, async_actions)
        window.intents.add(self)
        self._refresh_timer = QTimer(self, singleShot=True, interval=_COALESCE_MS)
        self._refresh_timer.timeout.connect(lambda: async_actions.start(self.refresh(), "refresh"))
        self._rewrite_status = RewriteStatus()
        """What falls due next in the context of the conversation on screen, as of the newest refresh."""
        self._status_for: tuple[str, int, ContextPolicy, PromptFrame] | None = None
        self._stale_pages: set[str] = set()
        self.composer.attachments.content_stored.connect(self.schedule_refresh)
        self.next_messages.changed.connect(self.schedule_refresh)
        details, stored = views.inspector.details, window.layout_store
        details.setChecked(stored.load(_DETAILS) == b"on")
        details.toggled.connect(lambda is_open: stored.save(_DETAILS, b"on" if is_open else b"off"))
        commands, gauge = window.commands, views.chat.composer.gauge
        gauge.clicked.connect(lambda: window.perform(ToggleContextPanel()))
        gauge.addActions(
            (
                *(commands.toggle_inspector, commands.hold_compaction, commands.compact_now),
                *(commands.undo_compaction, commands.redo_compaction, commands.change_policy),
            )
        )
        window.page_shown.connect(self._refresh_page)
        window.page_shown.connect(self.focus_page)

    @property
    def background_jobs(self) -> Mapping[str, BackgroundJobs]:
        """Return what runs in the background, by session, in all open workspaces."""
        return self._background_jobs

    async def show(self, workspace: OpenWorkspace | None, conversation: Conversation | None) -> None:
        """Show a conversation of a workspace, a workspace without one, or nothing."""
        for unsubscribe in self._subscriptions:
            unsubscribe()
        self._subscriptions = []
        self.workspace, self.conversation = workspace, conversation
        self._window.notices.set_context(
            workspace.id if workspace else "", conversation.session.id if conversation else ""
        )
        self.session_changing.emit()
        self.past.show(workspace, conversation)
        self.timeline.show(workspace, conversation)
        self.changes.show(workspace, conversation)
        self.next_messages.show(conversation)
        self.session_changed.emit()
        self._show_background_jobs()
        self.cache.show(workspace, lambda: self.conversation)
        if conversation is not None:
            self._subscriptions = [conversation.session.on(kind, handler) for kind, handler in self._handlers]
        self._show_running(conversation is not None and conversation.is_running)
        takes_long = self.chat.begin_loading(conversation)
        self._show_header()
        await self.composer.show(workspace, conversation)
        if takes_long and conversation is self.conversation:
            await self.refresh()
        if conversation is not self.conversation:
            return  # the user went on meanwhile: what belongs to the other session is on screen already
        await self.chat.show(conversation)
        if conversation is self.conversation:
            self.session_loaded.emit()
        await self.refresh()

    def on(self, kind: type[T] | UnionType, handler: Callable[[T], object]) -> None:
        """Call `handler` with updates and events of a type, or of a union, of the conversation on screen."""
        self._handlers.append((kind, handler))
        if self._subscriptions and self.conversation is not None:
            self._subscriptions.append(self.conversation.session.on(kind, handler))

    def _show_change(self) -> None:
        self.past.show_strip()
        self.schedule_refresh()

    def note_background(self, workspace: OpenWorkspace, session_id: str, update: BackgroundProgress) -> None:
        """Follow the background work of every open session: it may come on screen while that runs."""
        jobs = self._background_jobs.get(session_id, BackgroundJobs())
        if not jobs.apply(update):
            return
        self._background_jobs[session_id] = jobs
        if jobs.is_idle:
            del self._background_jobs[session_id]
        if self.conversation is not None and self.conversation.session.id == session_id:
            self._show_background_jobs()

    def _on_question(self, question: Question) -> None:
        self.views.chat.view.announce(tr("The agent asks: {question}", question=question.text))

    def _show_running(self, running: bool) -> None:
        self.views.chat.composer.set_running(running)
        self.views.chat.todo_panel.set_running(running)

    def _show_background_jobs(self) -> None:
        conversation = self.conversation
        session_id = conversation.session.id if conversation is not None else ""
        jobs = self._background_jobs.get(session_id, BackgroundJobs())
        self.timeline.set_running(jobs.card)
        rows = jobs.rows(conversation, self._async_actions.start) if conversation is not None else []
        self._window.jobs.show_jobs(rows)

    async def show_model(self) -> None:
        """Show which model answers now, here and in the other windows."""
        self._show_models()
        self._windows.settings_changed.emit(self._window)
        await self.refresh()

    def follow_models(self) -> None:
        """Show which model answers now, and whether something can be sent: another window changed it."""
        self._show_models()
        self.schedule_refresh()

    def _show_models(self) -> None:
        self.model_changed.emit()
        if self.conversation is not None:
            self.composer.show_availability()

    def schedule_refresh(self) -> None:
        """Show the newest numbers within a blink, once for many changes."""
        if not self._refresh_timer.isActive():
            self._refresh_timer.start()

    async def refresh(self) -> None:
        """Show top bar, cost, next message, inspector, and the page in sight as they are now."""
        conversation, workspace = self.conversation, self.workspace
        self._show_header()
        if conversation is None or workspace is None:
            return
        transcript = conversation.session.transcript
        if not transcript.opening_seq:
            self._async_actions.start(conversation.plan_opening(), "plan the first message")
        self.next_messages.refresh()
        self.composer.estimate.recount()
        totals = await workspace.store.totals()
        status = await self._read_status(conversation)
        if conversation is not self.conversation:
            return
        _, gauge = conversation.window.measure()  # something may have come while the store was asked
        policy = conversation.window.policy
        items = conversation.window.items()
        cost, info = conversation.window.cost(), conversation.window.frame.info
        state = inspector_state(items, gauge, transcript, policy, totals, status.outlook, cost.fresh)
        cache = provider_cache_state(
            conversation.session.log,
            conversation.budget.spent,
            policy,
            transcript.cache_lifetime_s,
            info.demo,
        )
        if self.past.step is None:
            state = with_rewrite_status(state, status, policy, gauge, cost)
            self.views.inspector.set_state(replace(state, provider_cache=cache))
            self.chat.recount()
        self._stale_pages = {"cache", "timeline", "changes"}
        self._refresh_page(self._window.page())

    def _show_header(self) -> None:
        """Show title, gauge and cost of the conversation on screen."""
        conversation, workspace = self.conversation, self.workspace
        self.budget.show(workspace, conversation)
        if conversation is None or workspace is None:
            self._window.top_bar.show_session(None)
            self._window.show_session_title("")
            return
        _, gauge = conversation.window.measure()
        self._window.top_bar.show_session(top_bar_state(conversation))
        transcript = conversation.session.transcript
        self._window.show_session_title(ellipsize_title(session_title(transcript.title)))
        policy_text = policy_in_use(transcript.session_policy, workspace.policy)
        self.views.chat.composer.gauge.show_state(
            gauge_state(gauge, conversation.window.policy, policy_text, transcript.on_hold)
        )

    async def _read_status(self, conversation: Conversation) -> RewriteStatus:
        """Return what waits for a rewrite; read again only when something changed."""
        transcript, window = conversation.session.transcript, conversation.window
        made_for = (conversation.session.id, transcript.last_seq, window.policy, window.frame)
        if made_for != self._status_for:
            status = await window.rewrite_status()
            if conversation is not self.conversation:
                return status
            self._rewrite_status, self._status_for = status, made_for
        return self._rewrite_status

    @handles(Steer)
    def steer(self) -> None:
        """Send what is typed into the running turn."""
        self.views.chat.composer.steer()

    @handles(StopAndSend)
    def stop_and_send(self) -> None:
        """Stop the running command and send the first message that waits for it."""
        self.next_messages.stop_and_send_first()

    @handles(RenameSession)
    async def rename(self, title: str) -> None:
        """Give the session on screen the title that was typed."""
        if title and self.conversation is not None and self.workspace is not None:
            await self.workspace.rename(self.conversation.session.id, title)

    def request_on_screen(self) -> tuple[Window, tuple[WindowItem, ...]] | None:
        """Return the request that the inspector shows, the next one or one of the past.

        Its parts come with it.
        """
        if self.conversation is None:
            return None
        past = self.past.window
        if past is not None:
            return past.window, past.items()
        return self.conversation.window.measure()[0], self.conversation.window.items()

    def reveal(self, seq: int) -> None:
        """Show the timeline with the card of an event in sight; one that is not made yet as soon as it is."""
        self.timeline.reveal(seq)
        self._stale_pages.add("timeline")
        self._window.show_page("timeline")

    def reveal_changes(self, capture_id: str, path: str) -> None:
        """Show the changes with what a capture did (to one path, or empty: any) selected."""
        self.changes.reveal(capture_id, path)
        self._stale_pages.add("changes")
        self._window.show_page("changes")

    def _refresh_page(self, page: str) -> None:
        """Rebuild table, timeline and changes only while they are visible."""
        if page not in self._stale_pages:
            return
        self._stale_pages.discard(page)
        if page == "cache":
            self.views.cache.refresh()
        elif page == "changes":
            self._async_actions.start(self.changes.refresh(), "changes")
        else:
            self._async_actions.start(self.timeline.refresh(), "timeline")

    def focus_page(self, page: str) -> None:
        """Give the keyboard to the page that is shown, or Qt hands it to whatever comes next."""
        pages = {
            "chat": self.views.chat.composer.editor,
            "cache": self.views.cache.table,
            "timeline": self.views.timeline,
            "changes": self.views.changes,
        }
        pages[page].setFocus(Qt.FocusReason.OtherFocusReason)
