"""The five stops of the tour: gauge, marker and recall, cache, timeline, inspector; and when it is shown."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QTimer
from PySide6.QtWidgets import QWidget

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.chat.composer.context_gauge import ContextGauge
from helix_desktop.ui.chat.rows.row_types import ToolRow
from helix_desktop.ui.chat.viewport.view import ChatView
from helix_desktop.ui.onboarding.tour import Tour, TourStop
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.timeline.view import Timeline

text = TextContext("Tour")

_CLOSED = "tour_closed"
_MIN_PX = 60  # of the chart's height in sight, to point at it
_MAX_ROWS = 1_000  # newest of the chat that are looked at
_LEFT = ("cached", "folded", "observed", "handed_over")  # badges, the clearest first


class TourController(QObject):
    """Offers the tour at the sample's first opening, and whenever Help asks for it."""

    def __init__(self, window: MainWindow, chat: ChatView, timeline: Timeline, inspector: QWidget) -> None:
        """The window's layout store remembers that the tour was closed."""
        super().__init__(window)
        self._window, self._chat, self._timeline, self._inspector = window, chat, timeline, inspector
        self.tour: Tour | None = None
        self._session_id = ""  # that the tour began in
        window.commands.tour.triggered.connect(self.start)
        window.page_shown.connect(self._on_page_shown)
        window.layout_changed.connect(self._follow)
        # Not while the page is laid out: scrolling then leaves its cards without their heights.
        self._scroll_timer = QTimer(self, singleShot=True, interval=0)
        self._scroll_timer.timeout.connect(self._scroll_to_chart)
        timeline.chart.installEventFilter(self)

    def offer(self) -> None:
        """Start the tour unless the user has closed it once."""
        if not self._window.layout_store.load(_CLOSED):
            self.start()

    def start(self) -> None:
        """Start the tour in the session on screen."""
        if self.tour is not None:
            self.tour.end()
        self._session_id = self._window.banners.context_ids[1]
        self.tour = Tour(self._window, self._stops(), self._window.theme)
        self.tour.ended.connect(lambda: self._window.layout_store.save(_CLOSED, b"1"))
        self.tour.start()

    def end_with_session(self) -> None:
        """End the tour when another session, or none, is on screen: it speaks of what it began in."""
        if self.tour is not None and self._session_id not in ("", self._window.banners.context_ids[1]):
            self.tour.end()

    def _on_page_shown(self) -> None:
        if self.tour is not None:
            self.tour.on_page_shown()

    def _follow(self) -> None:
        if self.tour is not None:
            self.tour.follow()

    def _stops(self) -> tuple[TourStop, ...]:
        window = self._window
        chat = _shows(lambda: window.show_page("chat"))
        return (
            TourStop(
                "gauge",
                text("How full the context is"),
                text(
                    "The next request fills this much of the model's context. Near the limit, older "
                    "messages are summarized. You can undo that."
                ),
                chat,
                lambda: _place_of(window.findChild(ContextGauge)),
            ),
            *self._marker_stops(),
            TourStop(
                "cache",
                text("Every output, byte for byte"),
                text("Search and compare what was stored, look at it, and recall it. Nothing is ever lost."),
                _shows(lambda: window.show_page("cache")),
                lambda: self._place_of_tab("cache"),
            ),
            TourStop(
                "timeline",
                text("What left the context, and when"),
                text(
                    "Each point of the chart is a change of the context. Below it, compare two handovers, "
                    "put an item back, or undo one."
                ),
                self._show_chart,
                self._place_of_chart,
            ),
            TourStop(
                "inspector",
                text("The next request, item by item"),
                text(
                    "This is exactly what will be sent, with its tokens. Now send the suggested message "
                    "below the chat and watch it change."
                ),
                self._show_inspector,
                lambda: _place_of(self._inspector),
            ),
        )

    def _marker_stops(self) -> tuple[TourStop, ...]:
        """Return the stop at an output that left the context, if there is one now, as stops are counted."""
        marker = _LeftOutput(self._window, self._chat)
        if not marker.is_in_chat:
            return ()
        stop = TourStop(
            "marker",
            text("An output that left the context"),
            text(
                "The model reads a marker or a summary in its place. Nothing is lost: recall brings all "
                "of it back, or only the lines that are needed."
            ),
            marker.show,
            marker.place,
        )
        return (stop,)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the chart: it gets its height when its points are read."""
        if event.type() == QEvent.Type.Resize and self.tour is not None and self.tour.stop == "timeline":
            self._scroll_timer.start()
        return False

    def _scroll_to_chart(self) -> None:
        self._timeline.scroll_to_top()
        self._follow()

    def _place_of_chart(self) -> QRect:
        """Return where the chart is in sight, else its page's tab."""
        chart = self._timeline.chart
        part = chart.visibleRegion().boundingRect()
        if part.height() < _MIN_PX:
            return self._place_of_tab("timeline")
        return QRect(chart.mapToGlobal(part.topLeft()), part.size())

    def _place_of_tab(self, page: str) -> QRect:
        return _place_of(self._window.top_bar.pages.findChild(QWidget, f"{page}_tab"))

    def _show_chart(self) -> None:
        self._window.show_page("timeline")
        self._scroll_timer.start()

    def _show_inspector(self) -> None:
        window = self._window
        window.show_page("chat")
        self._chat.follow_end()
        if not window.commands.toggle_inspector.isChecked():
            window.commands.toggle_inspector.trigger()


class _LeftOutput:
    """The newest output of the chat that is a marker in the context, else one that left it otherwise."""

    def __init__(self, window: MainWindow, view: ChatView) -> None:
        self._window, self._view = window, view

    @property
    def is_in_chat(self) -> bool:
        """Return True if there is one."""
        return self._index() is not None

    def show(self) -> None:
        self._window.show_page("chat")
        index = self._index()
        if index is not None:
            self._view.chat_viewport.show_row(index)

    def place(self) -> QRect:
        index = self._index()
        row = self._view.chat_viewport.placed_row(index) if index is not None else None
        area = self._view.viewport()
        if index is None or row is None or not area.isVisible():
            return QRect()
        viewport = self._view.chat_viewport
        gap = viewport.item_cache.gap(index)  # above the card, where nothing is to see
        left, width = viewport.column.left, viewport.column.width
        place = QRect(int(left), int(row.y + gap), int(width), int(row.height - gap)) & area.rect()
        return QRect(area.mapToGlobal(place.topLeft()), place.size())

    def _index(self) -> int | None:
        model = self._view.chat_viewport.model
        found: dict[str, int] = {}
        for index in range(len(model) - 1, max(-1, len(model) - 1 - _MAX_ROWS), -1):
            row = model.row(index)
            if isinstance(row, ToolRow):
                found.setdefault(row.badge, index)
            if _LEFT[0] in found:
                break
        return next((found[badge] for badge in _LEFT if badge in found), None)


def _shows(show: Callable[[], object]) -> Callable[[], None]:
    return lambda: (show(), None)[1]


def _place_of(widget: QWidget | None) -> QRect:
    if widget is None or not widget.isVisible():
        return QRect()
    return QRect(widget.mapToGlobal(QPoint(0, 0)), widget.size())
