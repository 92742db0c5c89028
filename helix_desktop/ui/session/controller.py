"""The work on screen: one conversation in chat, composer, gauge, inspector, timeline and cache browser."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session_updates import (
    ApprovalRequested,
    EventRecorded,
    RequestChanged,
    SubagentProgress,
    TurnChanged,
    Update,
)
from helix_desktop.context.rewrites import planner
from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.domain.events.session import TurnEnded, UserSpoke
from helix_desktop.domain.events.summary import HandoverFailed, HandoverMade
from helix_desktop.ui.cache.presenter import CachePresenter
from helix_desktop.ui.cache.view import CacheBrowser
from helix_desktop.ui.chat.page import ChatPage
from helix_desktop.ui.chat.presenter import ChatPresenter
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.usage_bar import pressure_of
from helix_desktop.ui.design.window_state import Banner, BannerAction, GaugeState, SessionHeader
from helix_desktop.ui.inspector.from_window import inspector_state
from helix_desktop.ui.inspector.view import Inspector
from helix_desktop.ui.session.background_jobs import BackgroundJobs
from helix_desktop.ui.session.budget_controller import BudgetController
from helix_desktop.ui.session.composer_controller import ComposerController
from helix_desktop.ui.session.message_queue import MessageQueueController
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.timeline.card_data import TimelineState
from helix_desktop.ui.timeline.from_events import build_cards
from helix_desktop.ui.timeline.usage_points import usage_points, with_current_usage
from helix_desktop.ui.timeline.view import Timeline
from helix_desktop.words.action_labels import action_label
from helix_desktop.words.models import model_name

_COALESCE_MS = 120
_BREAKER = "breaker"
_UNFINISHED = ("stopped", "interrupted")
CONTINUE = "Continue."
"""What is sent to go on with a turn that was broken off."""
_SUBAGENT, _BACK = "subagent", "back"


@dataclass(frozen=True, slots=True)
class SessionViews:
    """The widgets that show a conversation."""

    chat: ChatPage
    cache: CacheBrowser
    timeline: Timeline
    inspector: Inspector


class SessionController(QObject):
    """Binds the screens to one conversation at a time; what is not on screen runs on by itself."""

    session_changed = Signal()
    """Another conversation, or none, is on screen."""
    session_changing = Signal()
    """The same, just before the screens show it."""
    session_loaded = Signal()
    """The screens show the conversation, with its rows and its draft."""
    model_changed = Signal()
    """The model that answers may be another one now."""
    usage_changed = Signal()
    """The gauge of the conversation on screen, or the size of the cache, is another one now."""
    updated = Signal(object)
    """An update of the conversation on screen."""
    session_requested = Signal(str)
    """Another session is to be shown: a subagent's, or the one that it works for."""

    def __init__(self, window: MainWindow, views: SessionViews, async_actions: AsyncActions) -> None:
        super().__init__(window)
        self._window, self._views, self._async_actions = window, views, async_actions
        self.workspace: OpenWorkspace | None = None
        self.conversation: Conversation | None = None
        self.sample_messages: Sequence[str] = ()
        self._unsubscribe: Callable[[], None] = lambda: None
        self._background_jobs = BackgroundJobs()
        self.chat = ChatPresenter(views.chat.model, self._announce_finished, self._announce_approval)
        self.cache = CachePresenter(views.cache, async_actions, window.banners.show_banner)
        self.composer = ComposerController(views.chat.composer, async_actions)
        self.composer.image_stored.connect(self._on_image_stored)
        views.chat.next_messages.suggestion_accepted.connect(self.composer.send_proposal)
        self.budget = BudgetController(window, async_actions)
        window.commands.steer.triggered.connect(views.chat.composer.steer)
        MessageQueueController(views.chat.next_messages.queue, self, async_actions)
        self._refresh_timer = QTimer(self)
        self._refresh_timer.setSingleShot(True)
        self._refresh_timer.setInterval(_COALESCE_MS)
        self._refresh_timer.timeout.connect(lambda: async_actions.start(self.refresh(), "refresh"))
        self._stale_pages: set[str] = set()
        self._pending_reveal = self._first_card = 0  # events whose cards the timeline is to have in sight
        self._timeline_shown = False  # whether it shows the conversation on screen, and not a former one
        self._gauge: UsageGauge | None = None  # as the top bar shows it
        window.page_shown.connect(self._refresh_page)
        window.page_shown.connect(self._focus_page)
        window.banners.action_clicked.connect(self._on_banner_action)

    @property
    def views(self) -> SessionViews:
        """Return the widgets that show the conversation."""
        return self._views

    @property
    def _context_ids(self) -> tuple[str, str]:
        """Return the workspace and session on screen, by id."""
        session = self.conversation.session.id if self.conversation else ""
        return self.workspace.id if self.workspace else "", session

    async def show(self, workspace: OpenWorkspace | None, conversation: Conversation | None) -> None:
        """Show a conversation of a room, a room without one, or nothing."""
        self._unsubscribe()
        self._unsubscribe = lambda: None
        self.workspace, self.conversation = workspace, conversation
        self._background_jobs = BackgroundJobs()
        self._window.banners.set_context(*self._context_ids)
        self.session_changing.emit()
        self._first_card, self._timeline_shown = 0, False
        self.session_changed.emit()
        self._show_background_jobs()
        self._window.banners.remove(_BREAKER)
        self._show_subagent_banner(conversation)
        self.cache.show(
            workspace, lambda: self.conversation.session.transcript if self.conversation else None
        )
        if conversation is not None:
            self._unsubscribe = conversation.session.listen(self._update)
        self._views.chat.composer.set_running(conversation is not None and conversation.is_running)
        self._views.chat.todo_panel.set_running(conversation is not None and conversation.is_running)
        await self.composer.show(workspace, conversation)
        if conversation is not self.conversation:
            return  # the user went on meanwhile: what belongs to the other session is on screen already
        await self.chat.show(conversation)
        if conversation is self.conversation:
            self.session_loaded.emit()
        self._warn_if_stopped()
        await self.refresh()

    def _update(self, update: Update) -> None:
        self.updated.emit(update)
        if self._background_jobs.apply(update):
            self._show_background_jobs()
        match update:
            case TurnChanged(running=running):
                self._views.chat.composer.set_running(running)
                self._views.chat.todo_panel.set_running(running)
                self.schedule_refresh()
            case ApprovalRequested() | SubagentProgress() | RequestChanged():
                self.schedule_refresh()
            case EventRecorded(recorded=recorded):
                if isinstance(recorded.event, HandoverFailed | HandoverMade):
                    self._warn_if_stopped()
                self.schedule_refresh()
            case _:
                pass

    async def show_model(self) -> None:
        """Show which model answers now."""
        self.model_changed.emit()
        if self.conversation is not None:
            self.composer.show_availability()
        await self.refresh()

    def _on_image_stored(self) -> None:
        self.schedule_refresh()
        self.usage_changed.emit()

    def schedule_refresh(self) -> None:
        """Show the newest numbers within a blink, once for many changes."""
        if not self._refresh_timer.isActive():
            self._refresh_timer.start()

    async def refresh(self) -> None:
        """Show header, gauge, inspector and timeline as they are now."""
        conversation, workspace = self.conversation, self.workspace
        self.budget.show(conversation)
        if conversation is None or workspace is None:
            self._window.top_bar.show_session(None)
            return
        _, gauge = conversation.measure()
        transcript = conversation.session.transcript
        name, demo = answering_model(conversation)
        self._window.top_bar.show_session(
            SessionHeader(
                conversation.session.id,
                transcript.title,
                conversation.is_running,
                name,
                demo,
                len(transcript.items),
                bool(conversation.asks),
            )
        )
        policy = conversation.policy
        state = pressure_of(gauge) if policy.enabled else "off"
        gauge_state = GaugeState(
            gauge.used, gauge.window, not gauge.is_reported, gauge.source_text, policy.handover_at, state
        )
        self._window.top_bar.show_gauge(gauge_state)
        if gauge != self._gauge:
            self._gauge = gauge
            self.usage_changed.emit()
        self._show_next_message(conversation)
        totals = await workspace.store.totals()
        if conversation is not self.conversation:
            return
        _, gauge = conversation.measure()  # something may have come while the store was asked
        self._views.inspector.set_state(
            inspector_state(conversation.rows(), gauge, transcript, conversation.policy, totals)
        )
        self._stale_pages = {"cache", "timeline"}
        self._refresh_page(self._window.page())

    def _show_next_message(self, conversation: Conversation) -> None:
        """What waits to be sent, else what the sample proposes as the next message."""
        ahead, transcript = self._views.chat.next_messages, conversation.session.transcript
        if transcript.queued_messages:
            ahead.show_waiting(conversation.queue.pending, is_paused=not conversation.is_running)
            return
        if conversation.is_running or not self.sample_messages:
            ahead.show_suggestion("")
            return
        events = (entry.event for entry in reversed(conversation.session.log))
        ended = next((event for event in events if isinstance(event, TurnEnded)), None)
        if ended is not None and ended.how in _UNFINISHED:
            ahead.show_suggestion(CONTINUE)
            return
        sent_texts = {item.event.text for item in transcript.items if isinstance(item.event, UserSpoke)}
        ahead.show_suggestion(next((text for text in self.sample_messages if text not in sent_texts), ""))

    async def _show_timeline(self) -> None:
        """Made in a thread: a long session has more events than one frame can bear."""
        conversation, workspace = self.conversation, self.workspace
        if conversation is None or workspace is None:
            return
        transcript = conversation.session.transcript
        log, (_, gauge) = list(conversation.session.log), conversation.measure()
        last = transcript.items[-1].seq if transcript.items else 0
        cards = await asyncio.to_thread(build_cards, log, transcript)
        points = with_current_usage(
            await asyncio.to_thread(usage_points, log), last, gauge.used, gauge.window
        )
        if conversation is self.conversation:
            threshold, running = conversation.policy.handover_at, self._background_jobs.card
            state = TimelineState(cards, points, gauge.used, gauge.window, threshold, running)
            self._views.timeline.set_state(state)
            self._views.timeline.reveal(
                self._pending_reveal or self._first_card, at_top=not self._pending_reveal
            )
            self._pending_reveal = self._first_card = 0
            self._timeline_shown = True

    def reveal(self, seq: int) -> None:
        """Show the timeline with the card of an event in sight; one that is not made yet as soon as it is."""
        self._pending_reveal = seq
        self._stale_pages.add("timeline")
        self._window.show_page("timeline")

    def set_first_card(self, seq: int) -> None:
        """Let the timeline begin at the card of an event when it is looked at next."""
        self._first_card = seq

    @property
    def first_card(self) -> int | None:
        """The event of the timeline's first card in sight, 0 at its top; None before it was looked at."""
        return self._views.timeline.first_visible_seq if self._timeline_shown else None

    @property
    def is_revealing(self) -> bool:
        """Return True if a card is still on its way into sight."""
        return bool(self._pending_reveal)

    def _refresh_page(self, page: str) -> None:
        """Rebuild table and timeline only while they are visible."""
        if page not in self._stale_pages:
            return
        self._stale_pages.discard(page)
        if page == "cache":
            self._views.cache.refresh()
        else:
            self._async_actions.start(self._show_timeline(), "timeline")

    def _focus_page(self, page: str) -> None:
        """Give the keyboard to the page that is shown, or Qt hands it to whatever comes next."""
        screens = self._views
        pages = {
            "chat": screens.chat.composer.editor,
            "cache": screens.cache.table,
            "timeline": screens.timeline,
        }
        pages[page].setFocus(Qt.FocusReason.OtherFocusReason)

    def _show_background_jobs(self) -> None:
        self._views.timeline.set_running(self._background_jobs.card)
        self._window.jobs.show_jobs(self._background_jobs.jobs)

    def _warn_if_stopped(self) -> None:
        self._window.banners.remove(_BREAKER)
        if self.conversation and planner.is_breaker_open(self.conversation.session.transcript):
            workspace, session = self._context_ids
            self._window.banners.show_banner(
                Banner(
                    _BREAKER,
                    "warning",
                    "Automatic compaction paused.",
                    f"The last {planner.BREAKER_FAILURES} attempts failed or freed too little.",
                    "Compact now, or continue: oversized requests are trimmed or stopped.",
                    (BannerAction("compact", action_label("compact")),),
                    workspace=workspace,
                    session=session,
                )
            )

    def _show_subagent_banner(self, conversation: Conversation | None) -> None:
        """A subagent's session says that it is one, and leads back."""
        self._window.banners.remove(_SUBAGENT)
        if conversation is not None and conversation.session.transcript.parent:
            back = BannerAction(_BACK, "Back to that session")
            what = "This is the session of a subagent."
            workspace, session = self._context_ids
            why = "It works for another session, which sees only its result; what you write goes to it alone."
            self._window.banners.show_banner(
                Banner(
                    *(_SUBAGENT, "info", what, why),
                    actions=(back,),
                    dismissable=False,
                    workspace=workspace,
                    session=session,
                )
            )

    def _on_banner_action(self, banner: str, action: str) -> None:
        if (banner, action) == (_SUBAGENT, _BACK) and self.conversation is not None:
            self.session_requested.emit(self.conversation.session.transcript.parent)

    def _announce_finished(self) -> None:
        self._views.chat.view.announce("Reply finished")

    def _announce_approval(self, summary: str) -> None:
        self._views.chat.view.announce(f"Approval needed: {summary}")


def answering_model(conversation: Conversation) -> tuple[str, bool]:
    """Return which model answers in a session, for people, and whether it is the demo.

    One that waits for the user's choice goes by the model that it had; after a change both are named.
    """
    change = conversation.model_choice.pending
    if change is not None:
        return model_name(change.label, demo=False), False
    now, last = conversation.model, conversation.session.transcript.last_model
    name = model_name(now.label, now.demo)
    if now.demo or last in ("", now.label) or last.startswith("demo/"):
        return name, now.demo
    return f"{model_name(last, demo=False)} so far, {name} next", False
