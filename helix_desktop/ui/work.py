"""The work on screen: one conversation in chat, composer, gauge, inspector, timeline and cache browser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, QTimer

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.room import Room
from helix_desktop.agent.update import CompactionMoved, Happened, TurnChanged, Update
from helix_desktop.context import planner
from helix_desktop.context.event import HandoverFailed, HandoverMade, Redone, SweepMade, Undone
from helix_desktop.ui.cache_browser.presenter import CachePresenter
from helix_desktop.ui.cache_browser.view import CacheBrowser
from helix_desktop.ui.chat.from_events import model_name
from helix_desktop.ui.chat.page import ChatPage
from helix_desktop.ui.chat.presenter import ChatPresenter
from helix_desktop.ui.composing import Composing
from helix_desktop.ui.frame.rows import Banner, GaugeState, JobRow, Pressure, SessionHeader
from helix_desktop.ui.inspector.from_window import inspector_state
from helix_desktop.ui.inspector.view import Inspector
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.timeline.from_events import cards_of, points_of
from helix_desktop.ui.timeline.rows import Phase, RunningCard, TimelineState
from helix_desktop.ui.timeline.view import Timeline

_COALESCE_MS = 120
_NEAR = 0.8  # of the threshold: from here on the gauge warns
_PHASES: dict[str, Phase] = {"read": "Read", "summarise": "Summarise", "check": "Check", "write": "Write"}
_REWRITES = (HandoverMade, HandoverFailed, SweepMade, Undone, Redone)


@dataclass(frozen=True, slots=True)
class Screens:
    """The widgets that show a conversation."""

    chat: ChatPage
    cache: CacheBrowser
    timeline: Timeline
    inspector: Inspector


class Work(QObject):
    """Binds the screens to one conversation at a time; what is not on screen runs on by itself."""

    def __init__(self, window: MainWindow, screens: Screens, intents: Intents) -> None:
        super().__init__(window)
        self._window, self._screens, self._intents = window, screens, intents
        self.room: Room | None = None
        self.conversation: Conversation | None = None
        self._leave: Callable[[], None] = lambda: None
        self._phase = CompactionMoved("idle")
        self.chat = ChatPresenter(screens.chat.model, self._finished, self._asked)
        self.cache = CachePresenter(screens.cache, intents)
        self.composing = Composing(screens.chat.composer, intents)
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(_COALESCE_MS)
        self._soon.timeout.connect(lambda: intents.start(self.refresh(), "refresh"))
        self._stale_cache = True
        window.page_shown.connect(self._page_shown)

    async def show(self, room: Room | None, conversation: Conversation | None) -> None:
        """Show a conversation of a room, a room without one, or nothing."""
        self._leave()
        self._leave = lambda: None
        self.room, self.conversation = room, conversation
        self._phase = CompactionMoved("idle")
        self._window.jobs.show_jobs([])
        self._screens.timeline.set_running(None)
        self.cache.show(room, lambda: self.conversation.session.transcript if self.conversation else None)
        await self.composing.show(room, conversation)
        await self.chat.show(conversation)
        if conversation is not None and conversation is self.conversation:
            self._leave = conversation.session.listen(self._update)
            self._screens.chat.composer.set_running(conversation.running)
        await self.refresh()

    def _update(self, update: Update) -> None:
        match update:
            case TurnChanged(running=running):
                self._screens.chat.composer.set_running(running)
                self.refresh_soon()
            case CompactionMoved() as moved:
                self._show_phase(moved)
            case Happened(recorded=recorded):
                if isinstance(recorded.event, HandoverFailed):
                    self._warn_if_stopped()
                self.refresh_soon()
            case _:
                pass

    async def show_model(self) -> None:
        """Show which model answers now."""
        if self.conversation is not None:
            info = self.conversation.model
            self._screens.chat.composer.set_model(model_name(info.label, info.demo))
        await self.refresh()

    def refresh_soon(self) -> None:
        """Show the newest numbers within a blink, once for many changes."""
        if not self._soon.isActive():
            self._soon.start()

    async def refresh(self) -> None:
        """Show header, gauge, inspector and timeline as they are now."""
        conversation, room = self.conversation, self.room
        if conversation is None or room is None:
            self._window.top_bar.show_session(None)
            return
        window, gauge = conversation.measure()
        transcript = conversation.session.transcript
        info = conversation.model
        self._window.top_bar.show_session(
            SessionHeader(
                conversation.session.id,
                transcript.title,
                conversation.running,
                model_name(info.label, info.demo),
                info.demo,
                len(transcript.items),
            )
        )
        threshold = room.policy.handover_at
        pressure: Pressure = "calm" if gauge.used < gauge.threshold * _NEAR else "near"
        if gauge.pressure == "compact":
            pressure = "over"
        state = "off" if not room.policy.enabled else pressure
        shown = GaugeState(gauge.used, gauge.window, not gauge.reported, gauge.source, threshold, state)
        self._window.top_bar.show_gauge(shown)
        totals = await room.store.totals()
        if conversation is not self.conversation:
            return
        self._screens.inspector.set_state(inspector_state(window, gauge, transcript, room.policy, totals))
        self._show_timeline(conversation, gauge.used, gauge.window)
        self._refresh_cache()

    def _show_timeline(self, conversation: Conversation, used: int, window: int) -> None:
        log, transcript = conversation.session.log, conversation.session.transcript
        threshold = self.room.policy.handover_at if self.room else 0.0
        running = self._running_card()
        state = TimelineState(cards_of(log, transcript), points_of(log), used, window, threshold, running)
        self._screens.timeline.set_state(state)

    def _refresh_cache(self) -> None:
        """The table is asked anew only where somebody looks at it."""
        self._stale_cache = True
        if self._window.page() == "cache":
            self._page_shown("cache")

    def _page_shown(self, page: str) -> None:
        if page == "cache" and self._stale_cache:
            self._stale_cache = False
            self._screens.cache.refresh()

    def _show_phase(self, moved: CompactionMoved) -> None:
        self._phase = moved
        card = self._running_card()
        self._screens.timeline.set_running(card)
        words = f"Compacting · {card.phase}" if card else ""
        self._window.jobs.show_jobs([JobRow("compaction", words, None, True)] if card else [])

    def _running_card(self) -> RunningCard | None:
        phase = _PHASES.get(self._phase.phase)
        return RunningCard(phase, self._phase.text) if phase else None

    def _warn_if_stopped(self) -> None:
        if self.conversation and planner.breaker_open(self.conversation.session.transcript):
            self._window.banners.show_banner(
                Banner(
                    "breaker",
                    "warning",
                    "Handovers have stopped.",
                    f"{planner.BREAKER} in a row failed or would not have freed enough.",
                    "Compact now, or go on: a request that does not fit is still made to fit, or refused.",
                )
            )

    def _finished(self) -> None:
        self._screens.chat.view.announce("Reply finished")

    def _asked(self, summary: str) -> None:
        self._screens.chat.view.announce(f"Approval needed: {summary}")
