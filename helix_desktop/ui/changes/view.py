"""The page of changes: the files that a session changed, their diffs, and how to take them back."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSplitter, QStackedWidget, QWidget

from helix_desktop.system.clock import ClockMs, wall_clock_ms
from helix_desktop.ui.changes.change_list import ChangeList, file_of
from helix_desktop.ui.changes.coverage_strip import CoverageStrip
from helix_desktop.ui.changes.detail import ChangeDetail
from helix_desktop.ui.changes.filter_bar import ChangesFilterBar
from helix_desktop.ui.changes.rows import ChangesState, Entry, LineCounts, build_groups
from helix_desktop.ui.changes.texts import empty_button_text, empty_text
from helix_desktop.ui.design.cards import EmptyState
from helix_desktop.ui.design.layout.boxes import column
from helix_desktop.ui.design.style.theme import LIGHT
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

_SIDE_BY_SIDE_PX = 680  # width of the page from which the diff stands at the right of the list
_LIST_PX, _DETAIL_PX = 330, 500


class ChangesPage(Themed, QWidget):
    """Shows a ChangesState; what the user wants comes out as signals."""

    file_selected = Signal(object)
    """The FileRow whose diff is to be shown; None: there is none to show."""
    accept_requested = Signal(object)
    """A group or file; None: all."""
    revert_requested = Signal(object)
    """A RevertSelection."""
    redo_requested = Signal(str)
    """The capture of a revert."""
    editor_requested = Signal(str)
    patch_requested = Signal(object)
    """A RevertSelection."""
    chat_requested = Signal(int)
    """The event to show in the chat; 0: none, to write a message."""
    places_requested = Signal()
    trust_requested = Signal()

    def __init__(self, now: ClockMs = wall_clock_ms) -> None:
        """`now` is for words like "2 min ago"."""
        super().__init__()
        self._state = ChangesState()
        self.line_counts: dict[str, LineCounts] = {}
        self.filter_bar = ChangesFilterBar()
        self.list = ChangeList(lambda row: self.line_counts.get(row.key), now)
        self.detail = ChangeDetail(now)
        self.coverage = CoverageStrip()
        self.empty = EmptyState("diff", "", tr("Write a message"))
        self.no_match = EmptyState("search", tr("No changes match this filter"), tr("Clear filter"))
        self._lay_out()
        self._wire()
        self.set_state(self._state)
        retint(self, LIGHT)

    @property
    def entry(self) -> Entry | None:
        """The group or file that is selected."""
        return self.list.selected

    def set_state(self, state: ChangesState) -> None:
        """Show another state; selection and place on screen stay where they can."""
        self._state = state
        if state.changes is not None:
            self.filter_bar.show_changes(state.changes)
        self.coverage.show_coverage(state.coverage, state.obstacle)
        self._show_groups()

    def show_counts(self, counts: dict[str, LineCounts]) -> None:
        """Show how many lines rows, by their keys, gained and lost."""
        self.line_counts |= counts
        self.list.list_model.refresh_texts()
        file = file_of(self.entry)
        if file is not None:
            self.detail.show_counts(self.line_counts.get(file.key))

    def select(self, key: str) -> None:
        """Bring a row into sight and select it, whatever is filtered."""
        if not self.list.select(key):
            self.filter_bar.clear()
            self.list.select(key)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the background."""
        QPainter(self).fillRect(self.rect(), QColor(self._theme.canvas))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the diff below the list where there is no room beside it."""
        super().resizeEvent(event)
        beside = self.width() >= _SIDE_BY_SIDE_PX
        across = Qt.Orientation.Horizontal if beside else Qt.Orientation.Vertical
        if across != self.splitter.orientation():
            self.splitter.setOrientation(across)
            self.splitter.setSizes([_LIST_PX, _DETAIL_PX] if beside else [400, 500])

    def _lay_out(self) -> None:
        self._lists = QStackedWidget()
        for page in (self.list, self.no_match):
            self._lists.addWidget(page)
        self._lists.setMinimumSize(200, 110)
        self.detail.setMinimumSize(240, 140)
        self.splitter = QSplitter(Qt.Orientation.Horizontal)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setHandleWidth(1)
        self.splitter.addWidget(self._lists)
        self.splitter.addWidget(self.detail)
        self.splitter.setStretchFactor(1, 1)
        self.splitter.setSizes([_LIST_PX, _DETAIL_PX])
        layout = column(self.filter_bar, self.splitter, self.empty, self.coverage, gap=0)
        layout.setStretch(1, 1)
        layout.setStretch(2, 1)
        self.setLayout(layout)

    def _wire(self) -> None:
        self.filter_bar.changed.connect(self._show_groups)
        self.list.entry_selected.connect(self._on_selected)
        self.no_match.button_clicked.connect(self.filter_bar.clear)
        self.empty.button_clicked.connect(self._on_empty_button)
        self.coverage.places_requested.connect(self.places_requested)

    def _show_groups(self) -> None:
        changes, sought = self._state.changes, self.filter_bar.sought
        bare = changes is None or not changes.captures
        groups = [] if changes is None else build_groups(changes, self.filter_bar.grouping, sought)
        self.list.show_groups(groups)
        self.empty.set_content(
            empty_text(self._state.obstacle, self._state.coverage),
            empty_button_text(self._state.obstacle),
        )
        self.empty.setVisible(bare)
        self.filter_bar.setVisible(not bare)
        self.splitter.setVisible(not bare)
        self.setFocusProxy(self.empty.button if bare else self.list)
        self._lists.setCurrentWidget(self.list if groups else self.no_match)

    def _on_empty_button(self) -> None:
        if self._state.obstacle == "untrusted":
            self.trust_requested.emit()
        else:
            self.chat_requested.emit(0)

    def _on_selected(self, entry: Entry | None) -> None:
        self.detail.show_entry(entry)
        file = file_of(entry)
        if file is not None:
            self.detail.show_counts(self.line_counts.get(file.key))
        self.file_selected.emit(file)
