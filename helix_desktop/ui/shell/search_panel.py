"""Ctrl+Shift+F: words find messages, outputs, handovers and file names of all workspaces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QPainter, QStandardItem
from PySide6.QtWidgets import QButtonGroup, QWidget

from helix_desktop.services.search import SEARCH_KINDS, SearchKind
from helix_desktop.ui.design import accessibility
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import elide_title
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.quick_picker import LineDelegate, QuickPicker, heading_item
from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.design.style.theme import current_theme
from helix_desktop.ui.kit.boxes import Box, Frame, Icon, Row, Text, paint_box
from helix_desktop.words.translation import Translator

tr = Translator("Window")

_WIDE_PX, _MAX_LINES, _LINE_PX = 860, 14, 34
_DAYS = (7, 30)  # that a search can be limited to
_PAUSE_MS = 120  # of typing, before it searches
_EDGE_PX, _ICON_PX, _TEXT_PX = 12, 15, 40
_DETAIL_SHARE = 0.36  # of a line's width that says where and when
_ROW_ROLE = int(Qt.ItemDataRole.UserRole)
_SESSION_ROLE = _ROW_ROLE + 1
_VCENTER = Qt.AlignmentFlag.AlignVCenter
_ICONS = {"user": "user", "agent": "bot", "output": "archive", "handover": "book-open", "file": "file-text"}


class ResultRow(msgspec.Struct, frozen=True):
    """A place that was found: what Enter opens, the line that shows the words, and where it is.

    `marks` are where the words stand in the line: start and end of each.
    """

    workspace_id: str
    session_id: str
    kind: SearchKind
    seq: int
    digest: str
    is_own: bool  # of the user
    excerpt: str
    detail: str
    marks: tuple[tuple[int, int], ...] = ()

    @property
    def kind_text(self) -> str:
        """Return what it is, as a screen reader says it."""
        match self.kind:
            case "message":
                return tr("You") if self.is_own else tr("Agent")
            case "output":
                return tr("Output")
            case "handover":
                return tr("Handover")
            case "file":
                return tr("File")


class MoreRow(msgspec.Struct, frozen=True):
    """More places in one session or, without one, in outputs that were not searched."""

    workspace_id: str = ""
    session_id: str = ""
    text: str = ""


class ResultGroup(msgspec.Struct, frozen=True):
    """A session with what was found in it."""

    title: str
    detail: str
    rows: tuple[ResultRow | MoreRow, ...]


class SearchPanel(QuickPicker):
    """Says what to search, and shows what comes of it; a controller searches and opens."""

    requested = Signal()
    """Other words, or another filter: `words`, `kinds`, `days`, `is_here` say what to search."""
    chosen = Signal(object)
    """A ResultRow to open, or a MoreRow to search."""
    closed = Signal()

    wide_px = _WIDE_PX
    _is_open = False  # Qt hides a panel while it is made

    def __init__(self, window: QWidget) -> None:
        names = {
            "": tr("All"),
            "message": tr("Messages"),
            "output": tr("Outputs"),
            "handover": tr("Handovers"),
            "file": tr("Files"),
        }
        kinds = [_filter(text, f"search_kind-{kind or 'all'}") for kind, text in names.items()]
        days = [
            _filter(tr.plural(count, "Last day", "Last %n days"), f"search_days-{count}") for count in _DAYS
        ]
        self._here = _filter(tr("This workspace"), "search_here")
        self._filters = FlowBox((*kinds, *days, self._here), right_from=len(kinds))
        self._clear = PushButton(tr("Clear filters"), "link", name="clear_filters")
        super().__init__(
            window,
            tr("Search everything"),
            tr("Search messages, outputs, handovers and file names"),
            "",
            tr("open", "what the Enter key does"),
            _MAX_LINES,
            (self._clear,),
            head=self._filters,
        )
        self._kinds, self._days = QButtonGroup(self), QButtonGroup(self)
        for place, button in enumerate(kinds):
            self._kinds.addButton(button, place)
        kinds[0].setChecked(True)
        self._days.setExclusive(False)
        for button, count in zip(days, _DAYS, strict=True):
            self._days.addButton(button, count)
        self.setObjectName("search_everything")
        self._groups: tuple[ResultGroup, ...] = ()
        self._pause_timer = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause_timer.timeout.connect(self.requested)
        self.set_delegate(_ResultDelegate(self.list_view, _LINE_PX))
        self.search.textChanged.connect(lambda _: self._pause_timer.start())
        self._kinds.idClicked.connect(lambda _: self._on_filter())
        self._days.buttonClicked.connect(self._on_days)
        self._here.clicked.connect(self._on_filter)
        self._clear.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._clear.clicked.connect(self.clear_filters)
        self._clear.hide()
        self.note.show()
        self.show_state(tr("Type words to search all workspaces."), "")

    @property
    def words(self) -> str:
        """The words to search for."""
        return self.search.text().strip()

    @property
    def kinds(self) -> tuple[SearchKind, ...]:
        """What is to be found."""
        place = self._kinds.checkedId()
        return (SEARCH_KINDS[place - 1],) if place > 0 else SEARCH_KINDS

    @property
    def days(self) -> int:
        """Of how many days; 0 for any time."""
        return next((self._days.id(button) for button in self._days.buttons() if button.isChecked()), 0)

    @property
    def is_here(self) -> bool:
        """Whether only the workspace on screen is searched."""
        return self._here.isChecked()

    def open_with(self, words: str) -> None:
        """Appear; without words with those of the last search, selected."""
        words = words or self.search.text()
        super().open()
        self._is_open = True
        self.search.setText(words)
        self.search.selectAll()

    def allow_here(self, is_allowed: bool) -> None:
        """Offer to search the workspace on screen alone, if there is one."""
        self._here.setVisible(is_allowed)
        self._filters.rearrange()

    def clear_filters(self) -> None:
        self._kinds.button(0).setChecked(True)
        for button in (*self._days.buttons(), self._here):
            button.setChecked(False)
        self._on_filter()

    def show_state(self, empty_text: str, note: str) -> None:
        """Say what is the matter where there are no lines, and below those that are there."""
        self.set_empty_text(empty_text)
        self.note.setText(note or tr('Quotes find a phrase: "end of file".'))
        if self.isVisible():
            self._position(self.height())

    def show_results(self, groups: Sequence[ResultGroup]) -> None:
        """List these places; the chosen one stays chosen if it is among them."""
        if tuple(groups) != self._groups:
            self._groups = tuple(groups)
            self.refresh()

    def announce(self, text: str) -> None:
        accessibility.announce(self, text)

    def find_items(self, needle: str) -> Iterable[QStandardItem]:
        for group in self._groups:
            heading = heading_item(f"{group.title}, {group.detail}")
            heading.setData(group, _SESSION_ROLE)
            heading.setToolTip(plain_tooltip(group.title))
            yield heading
            yield from (_item(row, group) for row in group.rows)

    def initial_row(self, needle: str) -> int:
        return 1

    def accept_item(self, index: QModelIndex) -> None:
        row = index.data(_ROW_ROLE)
        if isinstance(row, ResultRow):
            self.hide()
        if row is not None:
            self.chosen.emit(row)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        if self._is_open:
            self._is_open = False
            self._pause_timer.stop()
            self.closed.emit()

    def _on_days(self, clicked: PushButton) -> None:
        for button in self._days.buttons():
            if button is not clicked:
                button.setChecked(False)
        self._on_filter()

    def _on_filter(self) -> None:
        self._clear.setVisible(len(self.kinds) == 1 or bool(self.days) or self.is_here)
        self._footer.rearrange()
        self.requested.emit()


class _ResultDelegate(LineDelegate):
    def paint_heading(
        self, painter: QPainter, box: QRectF, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        group: ResultGroup = index.data(_SESSION_ROLE)
        line = box.adjusted(_EDGE_PX, 4, -_EDGE_PX, 0)
        title = Text(group.title, 12, weight=600, cut=elide_title, grow=True, shrink=True)
        content = Row([title, _detail(group.detail, line.width() / 2)], 16)
        paint_box(painter, line, current_theme(), content)

    def paint_line(self, painter: QPainter, box: QRectF, index: QModelIndex | QPersistentModelIndex) -> None:
        row: ResultRow | MoreRow = index.data(_ROW_ROLE)
        line = box.adjusted(_TEXT_PX, 0, -_EDGE_PX, 0)
        if isinstance(row, MoreRow):
            paint_box(painter, line, current_theme(), Text(row.text, color="accent_text"))
            return
        name = _ICONS["user" if row.is_own else "agent"] if row.kind == "message" else _ICONS[row.kind]
        sign = QRectF(box.x(), box.y(), 44, box.height())
        paint_box(painter, sign, current_theme(), Icon(name, "muted", _ICON_PX))
        elide = Qt.TextElideMode.ElideLeft if row.kind == "file" else Qt.TextElideMode.ElideRight
        words = Text(row.excerpt, elide=elide, marks=row.marks, grow=True, shrink=True)
        content = Row([words, _detail(row.detail, line.width() * _DETAIL_SHARE)], 16)
        paint_box(painter, line, current_theme(), content)


def _detail(words: str, most: float) -> Box:
    """Return words at the end of a line, at most so many pixels of it."""
    text = Text(words, 12, "muted", elide=Qt.TextElideMode.ElideMiddle)
    return Frame(text, wide=min(text.width(), most))


def _filter(text: str, name: str) -> PushButton:
    button = PushButton(text, "filter", name=name)
    button.setCheckable(True)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button


def _item(row: ResultRow | MoreRow, group: ResultGroup) -> QStandardItem:
    if isinstance(row, MoreRow):
        item = QStandardItem(row.text)
        words = [row.text, group.title]
    else:
        item = QStandardItem(row.excerpt)
        item.setToolTip(plain_tooltip(f"{row.excerpt}\n{row.detail}".strip()))
        words = [row.kind_text, row.excerpt, row.detail, group.title]
    item.setData(row, _ROW_ROLE)
    item.setData(", ".join(filter(None, words)), Qt.ItemDataRole.AccessibleTextRole)
    return item
