"""The session on screen: one conversation in composer, top bar, inspector and all pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session_updates import (
    ApprovalRequested,
    CallStarted,
    EventRecorded,
    QuestionAsked,
    RequestChanged,
    SubagentProgress,
    TurnChanged,
    Update,
)
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.rewrites.planner import RewriteStatus
from helix_desktop.context.window.window import PromptFrame, Window
from helix_desktop.context.window.window_breakdown import WindowItem
from helix_desktop.domain.question import Question
from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.ui.cache.presenter import CachePresenter
from helix_desktop.ui.changes.presenter import ChangesPresenter
from helix_desktop.ui.chat.presenter import ChatPresenter
from helix_desktop.ui.inspector.from_provider_cache import provider_cache_state
from helix_desktop.ui.inspector.from_window import inspector_state
from helix_desktop.ui.inspector.request_status import with_rewrite_status
from helix_desktop.ui.session.background_jobs import BackgroundJobs
from helix_desktop.ui.session.budget_controller import BudgetController
from helix_desktop.ui.session.completion.sources import ComposerCompletions
from helix_desktop.ui.session.composer.controller import ComposerController
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.ui.session.header import gauge_state, top_bar_state
from helix_desktop.ui.session.next_messages import NextMessagesController
from helix_desktop.ui.session.past.changes_since import ChangesSince
from helix_desktop.ui.session.past.controller import PastController
from helix_desktop.ui.timeline.presenter import TimelinePresenter
from helix_desktop.words.policies import policy_in_use
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import Translator

tr = Translator("Session")

_COALESCE_MS = 120


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
    updated = Signal(object)
    """An update of the conversation on screen."""
    session_requested = Signal(str)
    """Another session is to be shown: a subagent's, or the one that it works for."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context.window)
        window, views, async_actions = context.window, context.views, context.async_actions
        self._window, self.views, self._async_actions = window, views, async_actions
        self._windows = context.windows
        self.workspace: OpenWorkspace | None = None
        self.conversation: Conversation | None = None
        self._unsubscribe: Callable[[], None] = lambda: None
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
        self.cache = CachePresenter(views.cache, async_actions, window.banners.show_banner)
        self.timeline = TimelinePresenter(views.timeline)
        self.changes = ChangesPresenter(
            views.changes,
            async_actions,
            context.services.git,
            lambda workspace_id: context.services.registry.get(workspace_id).path,
        )
        self.composer = ComposerController(context)
        self.completions = ComposerCompletions(
            context, self.composer, lambda: self.workspace, lambda: self.conversation
        )
        self.next_messages = NextMessagesController(views.chat.next_messages, self.composer, async_actions)
        self.past = PastController(context, self.chat, self.schedule_refresh)
        self.changes_since = ChangesSince(views.inspector.changes, self.schedule_refresh)
        self.budget = BudgetController(window, async_actions)
        self.composer.slash_commands.on_arguments("set_budget", self.budget.set_typed_budget)
        self.composer.slash_commands.on_arguments("rename_session", self._rename)
        self._refresh_timer = QTimer(self, singleShot=True, interval=_COALESCE_MS)
        self._refresh_timer.timeout.connect(lambda: async_actions.start(self.refresh(), "refresh"))
        self._rewrite_status = RewriteStatus()
        """What falls due next in the context of the conversation on screen, as of the newest refresh."""
        self._status_for: tuple[str, int, ContextPolicy, PromptFrame] | None = None
        self._stale_pages: set[str] = set()
        self.composer.attachments.content_stored.connect(self.schedule_refresh)
        self.next_messages.changed.connect(self.schedule_refresh)
        window.commands.steer.triggered.connect(views.chat.composer.steer)
        window.page_shown.connect(self._refresh_page)
        window.page_shown.connect(self.focus_page)

    @property
    def background_jobs(self) -> Mapping[str, BackgroundJobs]:
        """Return what runs in the background, by session, in all open workspaces."""
        return self._background_jobs

    async def show(self, workspace: OpenWorkspace | None, conversation: Conversation | None) -> None:
        """Show a conversation of a workspace, a workspace without one, or nothing."""
        self._unsubscribe()
        self._unsubscribe = lambda: None
        self.workspace, self.conversation = workspace, conversation
        self._window.banners.set_context(
            workspace.id if workspace else "", conversation.session.id if conversation else ""
        )
        self.session_changing.emit()
        self.past.show(workspace, conversation)
        self.changes_since.show(conversation)
        self.timeline.show(workspace, conversation)
        self.changes.show(workspace, conversation)
        self.next_messages.show(conversation)
        self.session_changed.emit()
        self._show_background_jobs()
        self.cache.show(workspace, lambda: self.conversation)
        if conversation is not None:
            self._unsubscribe = conversation.session.listen(self._update)
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

    def _update(self, update: Update) -> None:
        self.updated.emit(update)
        self.past.show_strip()
        match update:
            case TurnChanged(running=running):
                self._show_running(running)
                self.schedule_refresh()
            case (
                EventRecorded()
                | ApprovalRequested()
                | QuestionAsked()
                | SubagentProgress()
                | RequestChanged()
                | CallStarted()
            ):
                self.schedule_refresh()
            case _:
                pass

    def note_background(self, workspace: OpenWorkspace, session_id: str, update: Update) -> None:
        """Follow the background work of every open session: it may come on screen while that runs."""
        jobs = self._background_jobs.get(session_id, BackgroundJobs())
        if not jobs.apply(update):
            return
        self._background_jobs[session_id] = jobs
        if not jobs.jobs:
            del self._background_jobs[session_id]
        if self.conversation is not None and self.conversation.session.id == session_id:
            self._show_background_jobs()

    def _on_question(self, question: Question) -> None:
        self.views.chat.view.announce(tr("The agent asks: {question}", question=question.text))

    def _show_running(self, running: bool) -> None:
        self.views.chat.composer.set_running(running)
        self.views.chat.todo_panel.set_running(running)

    def _show_background_jobs(self) -> None:
        session_id = self.conversation.session.id if self.conversation is not None else ""
        jobs = self._background_jobs.get(session_id, BackgroundJobs())
        self.timeline.set_running(jobs.card)
        self._window.jobs.show_jobs(jobs.jobs)

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
        await self.changes_since.read()
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
            state = self.changes_since.apply(state, items, transcript.messages.turns)
            self.views.inspector.set_state(replace(state, provider_cache=cache))
            self.chat.recount()
        self._stale_pages = {"cache", "timeline", "changes"}
        self._refresh_page(self._window.page())

    def _show_header(self) -> None:
        """Show title, gauge and cost of the conversation on screen."""
        conversation, workspace = self.conversation, self.workspace
        self.budget.show(conversation)
        if conversation is None or workspace is None:
            self._window.top_bar.show_session(None)
            self._window.show_session_title("")
            return
        _, gauge = conversation.window.measure()
        self._window.top_bar.show_session(top_bar_state(conversation))
        transcript = conversation.session.transcript
        self._window.show_session_title(ellipsize_title(session_title(transcript.title)))
        policy_text = policy_in_use(transcript.session_policy, workspace.policy)
        self._window.top_bar.show_gauge(
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

    async def _rename(self, title: str) -> None:
        if self.conversation is not None:
            await self.conversation.rename(title)

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
