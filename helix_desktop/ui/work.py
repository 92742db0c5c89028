"""The work on screen: one conversation in chat, composer, gauge, inspector, timeline and cache browser."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.room import Room
from helix_desktop.agent.update import (
    CallWaiting,
    Happened,
    RequestChanged,
    SubagentMoved,
    TurnChanged,
    Update,
)
from helix_desktop.context import planner
from helix_desktop.context.budget import Gauge
from helix_desktop.context.event import TurnEnded, UserSpoke
from helix_desktop.context.event_summary import HandoverFailed, HandoverMade
from helix_desktop.ui.action_text import action_label
from helix_desktop.ui.beside import Beside
from helix_desktop.ui.budgeting import SpendingPresenter
from helix_desktop.ui.cache_browser.presenter import CachePresenter
from helix_desktop.ui.cache_browser.view import CacheBrowser
from helix_desktop.ui.chat.from_events import model_name
from helix_desktop.ui.chat.page import ChatPage
from helix_desktop.ui.chat.presenter import ChatPresenter
from helix_desktop.ui.composing import Composing
from helix_desktop.ui.frame.rows import Banner, BannerAction, GaugeState, SessionHeader
from helix_desktop.ui.inspector.from_window import inspector_state
from helix_desktop.ui.inspector.view import Inspector
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.timeline.from_events import cards_of
from helix_desktop.ui.timeline.points import ended_at, points_of
from helix_desktop.ui.timeline.rows import TimelineState
from helix_desktop.ui.timeline.view import Timeline
from helix_desktop.ui.usage_bar import pressure_of
from helix_desktop.ui.waiting import Waiting

_COALESCE_MS = 120
_BREAKER = "breaker"
_UNFINISHED = ("stopped", "interrupted")
CONTINUE = "Continue."
"""What is sent to go on with a turn that was broken off."""
_SUBAGENT, _BACK = "subagent", "back"


@dataclass(frozen=True, slots=True)
class Screens:
    """The widgets that show a conversation."""

    chat: ChatPage
    cache: CacheBrowser
    timeline: Timeline
    inspector: Inspector


class Work(QObject):
    """Binds the screens to one conversation at a time; what is not on screen runs on by itself."""

    shown = Signal()
    """Another conversation, or none, is on screen."""
    opening = Signal()
    """The same, just before the screens show it."""
    loaded = Signal()
    """The screens show the conversation, with its rows and its draft."""
    model_chosen = Signal()
    """The person has said which model answers in the workspace on screen."""
    model_shown = Signal()
    """The model that answers may be another one now."""
    measured = Signal()
    """The gauge of the conversation on screen, or the size of the cache, is another one now."""
    heard = Signal(object)
    """An update of the conversation on screen."""
    session_wanted = Signal(str)
    """The session that a subagent works for is to be shown."""

    def __init__(self, window: MainWindow, screens: Screens, intents: Intents) -> None:
        super().__init__(window)
        self._window, self._screens, self._intents = window, screens, intents
        self.room: Room | None = None
        self.conversation: Conversation | None = None
        self.proposals: Sequence[str] = ()
        self._leave: Callable[[], None] = lambda: None
        self._beside = Beside()
        self.chat = ChatPresenter(screens.chat.model, self._finished, self._asked)
        self.cache = CachePresenter(screens.cache, intents, window.banners.show_banner)
        self.composing = Composing(screens.chat.composer, intents)
        self.composing.image_stored.connect(self._image_stored)
        screens.chat.ahead.taken.connect(self.composing.send_proposal)
        self.spending = SpendingPresenter(window, intents)
        window.commands.steer.triggered.connect(screens.chat.composer.steer)
        Waiting(screens.chat.ahead.queue, self, intents)
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(_COALESCE_MS)
        self._soon.timeout.connect(lambda: intents.start(self.refresh(), "refresh"))
        self._stale: set[str] = set()
        self._sought = self._first_card = 0  # events whose cards the timeline is to have in sight
        self._timeline_shown = False  # whether it shows the conversation on screen, and not a former one
        self._gauge: Gauge | None = None  # as the top bar shows it
        window.page_shown.connect(self._page_shown)
        window.page_shown.connect(self._focus_page)
        window.banners.acted.connect(self._acted)

    @property
    def screens(self) -> Screens:
        """The widgets that show the conversation."""
        return self._screens

    @property
    def _place(self) -> tuple[str, str]:
        """The workspace and session on screen, by id."""
        session = self.conversation.session.id if self.conversation else ""
        return self.room.id if self.room else "", session

    async def show(self, room: Room | None, conversation: Conversation | None) -> None:
        """Show a conversation of a room, a room without one, or nothing."""
        self._leave()
        self._leave = lambda: None
        self.room, self.conversation = room, conversation
        self._beside = Beside()
        self._window.banners.show_place(*self._place)
        self.opening.emit()
        self._first_card, self._timeline_shown = 0, False
        self.shown.emit()
        self._show_running()
        self._window.banners.remove(_BREAKER)
        self._say_whose(conversation)
        self.cache.show(room, lambda: self.conversation.session.transcript if self.conversation else None)
        if conversation is not None:
            self._leave = conversation.session.listen(self._update)
        self._screens.chat.composer.set_running(conversation is not None and conversation.running)
        self._screens.chat.todo.set_running(conversation is not None and conversation.running)
        await self.composing.show(room, conversation)
        if conversation is not self.conversation:
            return  # the person went on meanwhile: what belongs to the other one is on screen already
        await self.chat.show(conversation)
        if conversation is self.conversation:
            self.loaded.emit()
        self._warn_if_stopped()
        await self.refresh()

    def _update(self, update: Update) -> None:
        self.heard.emit(update)
        if self._beside.take(update):
            self._show_running()
        match update:
            case TurnChanged(running=running):
                self._screens.chat.composer.set_running(running)
                self._screens.chat.todo.set_running(running)
                self.refresh_soon()
            case CallWaiting() | SubagentMoved() | RequestChanged():
                self.refresh_soon()
            case Happened(recorded=recorded):
                if isinstance(recorded.event, HandoverFailed | HandoverMade):
                    self._warn_if_stopped()
                self.refresh_soon()
            case _:
                pass

    async def show_model(self) -> None:
        """Show which model answers now."""
        self.model_shown.emit()
        if self.conversation is not None:
            self.composing.show_trust()
        await self.refresh()

    def _image_stored(self) -> None:
        self.refresh_soon()
        self.measured.emit()

    def refresh_soon(self) -> None:
        """Show the newest numbers within a blink, once for many changes."""
        if not self._soon.isActive():
            self._soon.start()

    async def refresh(self) -> None:
        """Show header, gauge, inspector and timeline as they are now."""
        conversation, room = self.conversation, self.room
        self.spending.show(conversation)
        if conversation is None or room is None:
            self._window.top_bar.show_session(None)
            return
        _, gauge = conversation.measure()
        transcript = conversation.session.transcript
        name, demo = answering(conversation)
        self._window.top_bar.show_session(
            SessionHeader(
                conversation.session.id,
                transcript.title,
                conversation.running,
                name,
                demo,
                len(transcript.items),
                bool(conversation.asks),
            )
        )
        policy = conversation.policy
        state = pressure_of(gauge) if policy.enabled else "off"
        shown = GaugeState(
            gauge.used, gauge.window, not gauge.reported, gauge.source, policy.handover_at, state
        )
        self._window.top_bar.show_gauge(shown)
        if gauge != self._gauge:
            self._gauge = gauge
            self.measured.emit()
        self._show_ahead(conversation)
        totals = await room.store.totals()
        if conversation is not self.conversation:
            return
        _, gauge = conversation.measure()  # something may have come while the store was asked
        self._screens.inspector.set_state(
            inspector_state(conversation.rows(), gauge, transcript, conversation.policy, totals)
        )
        self._stale = {"cache", "timeline"}
        self._page_shown(self._window.page())

    def _show_ahead(self, conversation: Conversation) -> None:
        """What waits to be sent, else what the sample proposes as the next message."""
        ahead, transcript = self._screens.chat.ahead, conversation.session.transcript
        if transcript.queued:
            ahead.show_waiting(conversation.queue.waiting, held=not conversation.running)
            return
        if conversation.running or not self.proposals:
            ahead.show_proposal("")
            return
        events = (one.event for one in reversed(conversation.session.log))
        ended = next((event for event in events if isinstance(event, TurnEnded)), None)
        if ended is not None and ended.how in _UNFINISHED:
            ahead.show_proposal(CONTINUE)
            return
        said = {item.event.text for item in transcript.items if isinstance(item.event, UserSpoke)}
        ahead.show_proposal(next((text for text in self.proposals if text not in said), ""))

    async def _show_timeline(self) -> None:
        """Made in a thread: a long session has more events than one frame can bear."""
        conversation, room = self.conversation, self.room
        if conversation is None or room is None:
            return
        transcript = conversation.session.transcript
        log, (_, gauge) = list(conversation.session.log), conversation.measure()
        last = transcript.items[-1].seq if transcript.items else 0
        cards = await asyncio.to_thread(cards_of, log, transcript)
        points = ended_at(await asyncio.to_thread(points_of, log), last, gauge.used, gauge.window)
        if conversation is self.conversation:
            threshold, running = conversation.policy.handover_at, self._beside.card
            state = TimelineState(cards, points, gauge.used, gauge.window, threshold, running)
            self._screens.timeline.set_state(state)
            self._screens.timeline.reveal(self._sought or self._first_card, at_top=not self._sought)
            self._sought = self._first_card = 0
            self._timeline_shown = True

    def reveal(self, seq: int) -> None:
        """Show the timeline with the card of an event in sight; one that is not made yet as soon as it is."""
        self._sought = seq
        self._stale.add("timeline")
        self._window.show_page("timeline")

    def seek_card(self, seq: int) -> None:
        """Let the timeline begin at the card of an event when it is looked at next."""
        self._first_card = seq

    @property
    def first_card(self) -> int | None:
        """The event of the timeline's first card in sight, 0 at its top; None before it was looked at."""
        return self._screens.timeline.first_card if self._timeline_shown else None

    @property
    def revealing(self) -> bool:
        """Whether a card is still on its way into sight."""
        return bool(self._sought)

    def _page_shown(self, page: str) -> None:
        """Table and timeline are made anew only where somebody looks at them."""
        if page not in self._stale:
            return
        self._stale.discard(page)
        if page == "cache":
            self._screens.cache.refresh()
        else:
            self._intents.start(self._show_timeline(), "timeline")

    def _focus_page(self, page: str) -> None:
        """Give the keyboard to the page that is shown, or Qt hands it to whatever comes next."""
        screens = self._screens
        pages = {
            "chat": screens.chat.composer.editor,
            "cache": screens.cache.table,
            "timeline": screens.timeline,
        }
        pages[page].setFocus(Qt.FocusReason.OtherFocusReason)

    def _show_running(self) -> None:
        self._screens.timeline.set_running(self._beside.card)
        self._window.jobs.show_jobs(self._beside.jobs)

    def _warn_if_stopped(self) -> None:
        self._window.banners.remove(_BREAKER)
        if self.conversation and planner.breaker_open(self.conversation.session.transcript):
            workspace, session = self._place
            self._window.banners.show_banner(
                Banner(
                    _BREAKER,
                    "warning",
                    "Automatic compaction paused.",
                    f"The last {planner.BREAKER} attempts failed or freed too little.",
                    "Compact now, or continue: oversized requests are trimmed or stopped.",
                    (BannerAction("compact", action_label("compact")),),
                    workspace=workspace,
                    session=session,
                )
            )

    def _say_whose(self, conversation: Conversation | None) -> None:
        """A subagent's session says that it is one, and leads back."""
        self._window.banners.remove(_SUBAGENT)
        if conversation is not None and conversation.session.transcript.parent:
            back = BannerAction(_BACK, "Back to that session")
            what = "This is the session of a subagent."
            workspace, session = self._place
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

    def _acted(self, banner: str, action: str) -> None:
        if (banner, action) == (_SUBAGENT, _BACK) and self.conversation is not None:
            self.session_wanted.emit(self.conversation.session.transcript.parent)

    def _finished(self) -> None:
        self._screens.chat.view.announce("Reply finished")

    def _asked(self, summary: str) -> None:
        self._screens.chat.view.announce(f"Approval needed: {summary}")


def answering(conversation: Conversation) -> tuple[str, bool]:
    """Which model answers in a session, for people, and whether it is the demo.

    One that waits for the person's choice goes by the model that it had; after a change both are named.
    """
    if conversation.held:
        return model_name(conversation.held, demo=False), False
    now, last = conversation.model, conversation.session.transcript.last_model
    name = model_name(now.label, now.demo)
    if now.demo or last in ("", now.label) or last.startswith("demo/"):
        return name, now.demo
    return f"{model_name(last, demo=False)} so far, {name} next", False
