"""The table of cached contents: columns that fit the room, cells painted from rows, keys of its own."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from math import ceil
from typing import Any

from msgspec.structs import replace
from PySide6.QtCore import (
    QAbstractTableModel,
    QEvent,
    QItemSelectionModel,
    QMimeData,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QFont,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QMenu, QTableView, QToolTip, QWidget

from helix_desktop.domain.errors import HelixError
from helix_desktop.system.clock import ClockMs, wall_clock_ms
from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.design.cards import PILL_DOT_ROOM, paint_pill, tone_colors
from helix_desktop.ui.design.drops import entries_data, run_drag
from helix_desktop.ui.design.focus import KEYBOARD_REASONS, paint_row_focus
from helix_desktop.ui.design.minute_clock import MinuteClock
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.ui.design.style.theme import Themed, current_theme, set_style_sheet
from helix_desktop.ui.kit.commands import EntryMenu
from helix_desktop.ui.outputs.rows import (
    COLUMN_INDEX,
    COLUMNS,
    DIGEST_BYTES,
    STATE_COLORS,
    STATE_LABELS,
    STATE_TIPS,
    CacheColumn,
    CacheRow,
    CacheSort,
    CellStyle,
    Column,
    fitting_columns,
    short_digest,
    target_name,
    tool_name,
)
from helix_desktop.ui.outputs.source import OutputSource
from helix_desktop.words.numbers import format_size
from helix_desktop.words.state_words import OUTDATED, explain_outdated
from helix_desktop.words.translation import Translator, translate

tr = Translator("Outputs")

Index = QModelIndex | QPersistentModelIndex
_ROW_FLAGS = (
    Qt.ItemFlag.ItemIsSelectable
    | Qt.ItemFlag.ItemIsEnabled
    | Qt.ItemFlag.ItemIsDragEnabled
    | Qt.ItemFlag.ItemNeverHasChildren
)
ROW_ROLE = Qt.ItemDataRole.UserRole.value
PAGE_ROWS = 128  # rows per fetch
MAX_CACHED_ROWS = 64 * PAGE_ROWS
_MAX_PENDING_PAGES = 4  # newest requests that are kept while others are fetched: older were scrolled past
_MAX_FETCHES = 2  # at once


class CacheTableModel(QAbstractTableModel):
    """Cells of an array of digests; what is known of each row arrives after it was asked for."""

    failed = Signal(object)  # HelixError of the source

    def __init__(
        self, start: StartCoroutine, parent: QObject | None = None, clock: ClockMs = wall_clock_ms
    ) -> None:
        super().__init__(parent)
        self._start = start
        self._clock = clock
        self._sort = CacheSort()
        self._is_searching = False
        self._source: OutputSource | None = None
        self._ids = b""  # the digests, 32 bytes each
        self._rows: OrderedDict[bytes, tuple[int, CacheRow]] = OrderedDict()
        self._generation = 0  # rows of an older generation are shown, and fetched again
        self._pending_pages: OrderedDict[int, None] = OrderedDict()
        self._fetching: set[int] = set()
        self._missing: set[bytes] = set()
        self._damaged: set[str] = set()
        self._timer = QTimer(self, singleShot=True, interval=0)
        self._timer.timeout.connect(self._start_fetches)

    def set_source(self, source: OutputSource | None) -> None:
        self.beginResetModel()
        self._source = source
        self._ids = b""
        self._generation += 1
        for memory in (self._rows, self._pending_pages, self._fetching, self._missing, self._damaged):
            memory.clear()
        self.endResetModel()

    def set_ids(self, ids: bytes) -> int:
        """Show these digests (32 bytes each); what was known of them is fetched again when seen.

        Returns how many rows were put before the old ones, or -1 if the table was rebuilt.
        """
        previous = self._ids
        growth = (len(ids) - len(self._ids)) // DIGEST_BYTES
        if previous and growth > 0 and ids.startswith(previous):
            self._insert(ids, self.rowCount(), growth)
            return 0
        if previous and growth >= 0 and ids.endswith(previous):
            self._insert(ids, 0, growth)
            return growth
        self.beginResetModel()
        self._take_ids(ids)
        self.endResetModel()
        return -1

    def _insert(self, ids: bytes, first: int, count: int) -> None:
        """Take digests that hold the shown ones in their order, with `count` others from row `first` on."""
        if count:
            self.beginInsertRows(QModelIndex(), first, first + count - 1)
        self._take_ids(ids)
        if count:
            self.endInsertRows()
        self._emit_changed(0, self.rowCount() - 1)

    def _take_ids(self, ids: bytes) -> None:
        """Take other digests; what is known of them is fetched again when they are looked at."""
        self._ids = ids
        self._generation += 1
        self._missing.clear()
        self._damaged.clear()

    def set_order(self, sort: CacheSort, is_searching: bool = False) -> None:
        self._sort = sort
        self._is_searching = is_searching
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(COLUMNS) - 1)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else len(self._ids) // DIGEST_BYTES

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        column = COLUMNS[section]
        if role == Qt.ItemDataRole.DisplayRole:
            is_match = self._is_searching and column.key == "line"
            title = tr("Matching line") if is_match else translate(column.title)
            arrow = " ↓" if self._sort.is_descending else " ↑"
            return title + (arrow if column.key == self._sort.column else "")
        if role == Qt.ItemDataRole.ToolTipRole:
            sort = tr("Click to sort by {column}", column=translate(column.title))
            return f"{translate(column.tip)}\n{sort}"
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.style == "number" else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: Index, role: int = 0) -> Any:
        """Return a cell's text, or its row under ROW_ROLE; None until the row has arrived."""
        if role == ROW_ROLE:
            return self.entry(index.row())
        if role not in _TEXT_ROLES:
            return None
        row = self.entry(index.row())
        column = COLUMNS[index.column()]
        if row is None:
            return self.digest_at(index.row()) if column.key == "digest" else None
        if role == Qt.ItemDataRole.ToolTipRole:
            return _tip(row, column, self._clock())
        outdated = _outdated(row, column) if role == Qt.ItemDataRole.AccessibleTextRole else ""
        return " · ".join(filter(None, (column.text(row, self._clock()), outdated)))

    def flags(self, index: Index) -> Qt.ItemFlag:
        return _ROW_FLAGS

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        """Return what a drag of rows brings: their digests, also as text."""
        digests = [self.digest_at(row) for row in sorted({index.row() for index in indexes})]
        return entries_data(digests, "\n".join(digests))

    def mark_damaged(self, digest: str) -> None:
        self._damaged.add(digest)
        row = self.row_of(digest)
        if row >= 0:
            self._emit_changed(row, row)

    def digest_at(self, row: int) -> str:
        return self._key(row).hex()

    def digests(self, rows: range) -> list[str]:
        """Return the digests of rows that follow each other: of a million in a fraction of a second."""
        text = self._ids[rows.start * DIGEST_BYTES : rows.stop * DIGEST_BYTES].hex()
        step = 2 * DIGEST_BYTES
        return [text[at : at + step] for at in range(0, len(text), step)]

    def row_of(self, digest: str) -> int:
        key = bytes.fromhex(digest)
        offset = -1
        while True:
            offset = self._ids.find(key, offset + 1)
            if offset < 0 or offset % DIGEST_BYTES == 0:
                return offset // DIGEST_BYTES if offset >= 0 else -1

    def entry(self, row: int) -> CacheRow | None:
        """Return what is known of a row; if nothing, or nothing new, it is fetched."""
        key = self._key(row)
        cached = self._rows.get(key)
        if (cached is None or cached[0] != self._generation) and key not in self._missing:
            self._request_page(row // PAGE_ROWS)
        if cached is None:
            return None
        if cached[1].digest in self._damaged:
            return replace(cached[1], state="damaged")
        return cached[1]

    def is_loaded(self, row: int) -> bool:
        return self._key(row) in self._rows

    def _key(self, row: int) -> bytes:
        return self._ids[row * DIGEST_BYTES : (row + 1) * DIGEST_BYTES]

    def _request_page(self, page: int) -> None:
        if page in self._fetching or self._source is None:
            return
        self._pending_pages[page] = None
        self._pending_pages.move_to_end(page)
        while len(self._pending_pages) > _MAX_PENDING_PAGES:
            self._pending_pages.popitem(last=False)
        if not self._timer.isActive():
            self._timer.start()

    def _page_rows(self, page: int) -> range:
        return range(page * PAGE_ROWS, min((page + 1) * PAGE_ROWS, self.rowCount()))

    def _start_fetches(self) -> None:
        while self._pending_pages and len(self._fetching) < _MAX_FETCHES and self._source is not None:
            page, _ = self._pending_pages.popitem()
            self._fetching.add(page)
            self._start(self._fetch(self._source, page), "cache rows")

    async def _fetch(self, source: OutputSource, page: int) -> None:
        generation = self._generation
        keys = [self._key(row) for row in self._page_rows(page)]
        rows: Sequence[CacheRow] = ()
        try:
            rows = await source.rows([key.hex() for key in keys])
        except HelixError as error:
            self.failed.emit(error)
        finally:
            self._fetching.discard(page)
        if source is not self._source:
            return
        for row in rows:
            key = bytes.fromhex(row.digest)
            self._rows[key] = (generation, row)
            self._rows.move_to_end(key)
        if generation == self._generation:
            # What was asked for and did not come is not asked for again before the next refresh.
            self._missing.update(set(keys).difference(bytes.fromhex(row.digest) for row in rows))
        while len(self._rows) > MAX_CACHED_ROWS:
            self._rows.popitem(last=False)
        page_rows = self._page_rows(page)
        self._emit_changed(page_rows.start, page_rows.stop - 1)
        self._start_fetches()

    def _emit_changed(self, first: int, last: int) -> None:
        if last >= first:
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(COLUMNS) - 1))


def _outdated(row: CacheRow, column: Column) -> str:
    return translate(OUTDATED) if row.changed_since and column.key == "target" else ""


def _tip(row: CacheRow, column: Column, now_ms: int) -> str:
    """Return what a cell shows in part: its whole text, which is shown where that is cut."""
    match column.key:
        case "state":
            return translate(STATE_TIPS[row.state])
        case "target":
            outdated = explain_outdated() if row.changed_since else ""
            return "\n".join(filter(None, (target_name(row), outdated)))
        case "digest":
            return row.digest
    return column.text(row, now_ms)


MAX_DRAGGED = 100  # rows
ROW_HEIGHT = 34  # pixels at 100 %

PAD = 12  # pixels left and right of a cell's text
EDGE = 18  # pixels left of the first column's
_ICON = 12  # pixels of an icon behind a state or a name
_READABLE_CHARS = 10  # of a name that is cut, "…report.py": with fewer its room comes before a mark's words
_PILL_PAD = 17  # pixels of a pill beside its text
_MAX_CACHED_TEXTS = 8_000
_ROLE = Qt.ItemDataRole
_TEXT_ROLES = (_ROLE.DisplayRole, _ROLE.AccessibleTextRole, _ROLE.ToolTipRole)
_VCENTER = Qt.AlignmentFlag.AlignVCenter
_LEFT = int(Qt.AlignmentFlag.AlignLeft | _VCENTER)
_RIGHT = int(Qt.AlignmentFlag.AlignRight | _VCENTER)


class CellPainter:
    def __init__(self, model: CacheTableModel, clock: ClockMs) -> None:
        self._model = model
        self._clock = clock
        self._elided: dict[tuple[str, CellStyle, int], str] = {}
        self.apply_theme()

    def apply_theme(self) -> None:
        theme = current_theme()
        text = ui_font(12)
        mono = ui_font(12, is_code=True)
        faces: tuple[tuple[CellStyle, QFont, str], ...] = (
            ("text", text, theme.text),
            ("muted", text, theme.muted),
            ("number", text, theme.muted),
            ("path", mono, theme.text),
            ("digest", mono, theme.muted),
            ("mono-muted", mono, theme.muted),
        )
        self._styles = {style: (font, QFontMetricsF(font), QColor(color)) for style, font, color in faces}
        self._pill_font = ui_font(11, 500)
        self._pill_metrics = QFontMetricsF(self._pill_font)
        self._dots = {state: str(getattr(theme, color)) for state, color in STATE_COLORS.items()}
        self._neutral_colors = tone_colors(theme, "neutral")
        self._warn_colors = tone_colors(theme, "warn")
        self._error_colors = tone_colors(theme, "error")
        self._pill_height = scaled(20)
        self._pin_color = theme.accent
        self._placeholder_color = QColor(theme.hover)
        self._elided.clear()

    def is_whole(self, text: str, column: Column, width: int) -> bool:
        return self._elide(text, column.style, width - 2 * PAD) == text

    def paint(self, painter: QPainter, rect: QRect, number: int, column: Column) -> None:
        row = self._model.entry(number)
        if row is None:
            self._placeholder(painter, rect, column.style, self._model.digest_at(number))
            return
        text = column.text(row, self._clock())
        if column.style == "pill":
            dot = self._dots.get(row.state, "")
            wide = _PILL_PAD + (PILL_DOT_ROOM if dot else 0)
            room = rect.width() - EDGE - wide
            text = self._pill_metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)
            box = self._pill_box(rect, text, rect.left() + EDGE + 0.5, wide)
            colors = self._error_colors if row.state == "damaged" else self._neutral_colors
            paint_pill(painter, box, text, colors, self._pill_font, dot=dot)
            place = QRect(int(box.right()) + 4, rect.center().y() - _ICON // 2, _ICON, _ICON)
            if row.pinned:  # the state's tooltip says so
                picture = pixmap("pin", self._pin_color, _ICON, painter.device().devicePixelRatioF())
                painter.drawPixmap(place.topLeft(), picture)
            return
        if outdated := _outdated(row, column):
            box = self._pill_box(rect, outdated)
            box.moveRight(rect.right() - PAD)
            left = rect.adjusted(0, 0, -round(box.width()) - PAD // 2, 0)
            name = self._elide(text, column.style, left.width() - 2 * PAD)
            if name == text or len(name) >= _READABLE_CHARS:
                paint_pill(painter, box, outdated, self._warn_colors, self._pill_font)
            else:  # the name's room comes first; the tooltip has the words
                picture = pixmap(
                    "file-pen", self._warn_colors[0], _ICON, painter.device().devicePixelRatioF()
                )
                corner = QPoint(rect.right() - PAD - _ICON, rect.center().y() - _ICON // 2)
                painter.drawPixmap(corner, picture)
                left = rect.adjusted(0, 0, -_ICON - PAD // 2, 0)
            rect = left
        self._text(painter, rect, text, column.style)

    def _pill_box(self, rect: QRect, text: str, left: float = 0.0, pad: int = _PILL_PAD) -> QRectF:
        """Return where a pill stands in the middle of a cell, its left edge at `left`."""
        top = rect.top() + (rect.height() - self._pill_height) / 2
        return QRectF(left, top, self._pill_metrics.horizontalAdvance(text) + pad, self._pill_height)

    def _text(self, painter: QPainter, rect: QRect, text: str, style: CellStyle) -> None:
        font, _, color = self._styles[style]
        painter.setFont(font)
        painter.setPen(color)
        inner = rect.adjusted(PAD, 0, -PAD, 0)
        flags = _RIGHT if style == "number" else _LEFT
        words = self._elide(text, style, inner.width())
        painter.drawText(inner, flags, words)

    def _elide(self, text: str, style: CellStyle, width: int) -> str:
        fitted = self._elided.get((text, style, width))
        if fitted is None:
            if len(self._elided) > _MAX_CACHED_TEXTS:
                self._elided.clear()
            elide = Qt.TextElideMode.ElideRight
            if style == "path":  # the name at its end says most; of a command both ends do
                is_file = "/" in text and " " not in text
                elide = Qt.TextElideMode.ElideLeft if is_file else Qt.TextElideMode.ElideMiddle
            fitted = self._elided[text, style, width] = self._styles[style][1].elidedText(text, elide, width)
        return fitted

    def _placeholder(self, painter: QPainter, rect: QRect, style: CellStyle, digest: str) -> None:
        if style == "digest":
            self._text(painter, rect, short_digest(digest), "mono-muted")
            return
        width = min(46, rect.width() - 2 * PAD)
        left = rect.right() - PAD - width if style == "number" else rect.left() + PAD
        painter.fillRect(QRect(left, rect.center().y() - 3, width, 6), self._placeholder_color)


_TITLE_FONT = (12, 500)  # size and weight of a section in the style sheet
_TITLE_PAD_PX = 28  # what is around its title


class ColumnLayout(QObject):
    def __init__(self, table: QTableView) -> None:
        super().__init__(table)
        self._table = table
        self._chosen: frozenset[CacheColumn] | None = None  # by the user
        self._shown: frozenset[CacheColumn] = frozenset()
        self._is_searching = False
        self._dragged: dict[CacheColumn, float] = {}  # widths at 100 % that the user gave to columns
        self._is_fitting = False
        table.horizontalHeader().sectionResized.connect(self._keep_width)

    def menu(self, parent: QWidget) -> QMenu:
        """Return a menu of all columns: shown ones are checked; the first item lets them follow the width."""
        menu = EntryMenu(parent, tr("Columns"))
        is_auto = self._chosen is None and not self._dragged
        menu.add("fit", tr("Fit columns to window"), self._follow_width, is_checked=is_auto)
        menu.addSeparator()
        for column in COLUMNS:
            is_shown = column.key in self._shown
            words = translate(column.title)
            override = partial(self.override, column.key, not is_shown)
            menu.add(column.key, words, override, is_enabled=column.rank > 0, is_checked=is_shown)
        return menu

    def override(self, key: CacheColumn, visible: bool) -> None:
        self._chosen = self._shown | {key} if visible else self._shown - {key}
        self.fit()

    def set_searching(self, is_searching: bool) -> None:
        """Keep the column of the lines in sight, narrow as the table may be, while somebody is searching."""
        if is_searching != self._is_searching:
            self._is_searching = is_searching
            self.fit()

    def fit(self) -> None:
        width = self._table.viewport().width()
        scale = scaled(100) / 100
        widths = fitting_columns(
            width, scale, self._is_searching, self._title_widths(), self._chosen, self._dragged
        )
        self._shown = frozenset(widths)
        self._is_fitting = True
        for at, column in enumerate(COLUMNS):
            self._table.setColumnHidden(at, column.key not in widths)
        for key, column_width in widths.items():
            self._table.horizontalHeader().resizeSection(COLUMN_INDEX[key], column_width)
        self._is_fitting = False

    def _keep_width(self, at: int, _: int, width: int) -> None:
        if not self._is_fitting:
            self._dragged[COLUMNS[at].key] = width * 100 / scaled(100)

    def _title_widths(self) -> dict[CacheColumn, int]:
        """Return what the names of columns need in pixels, and what states and sizes below them need."""
        metrics = QFontMetricsF(ui_font(*_TITLE_FONT))
        model = self._table.model()
        titles = [str(model.headerData(at, Qt.Orientation.Horizontal)) for at in range(len(COLUMNS))]
        widths = {
            column.key: round(metrics.horizontalAdvance(title)) + _TITLE_PAD_PX
            for column, title in zip(COLUMNS, titles, strict=True)
        }
        pill = QFontMetricsF(ui_font(11, 500))
        number = QFontMetricsF(ui_font(12))
        state = max(pill.horizontalAdvance(translate(words)) for words in STATE_LABELS.values())
        # Of three digits, with the unit as the language writes it.
        size = max(number.horizontalAdvance(format_size(888 << step)) for step in (0, 10, 20))
        return widths | {
            "state": max(widths["state"], EDGE + _PILL_PAD + PILL_DOT_ROOM + ceil(state)),
            "size": max(widths["size"], 2 * PAD + ceil(size)),
        }

    def _follow_width(self) -> None:
        self._chosen = None
        self._dragged.clear()
        self.fit()


class CacheTable(Themed, QTableView):
    entry_selected = Signal(str)  # digest of the current row; empty when there is none
    opened = Signal()  # Enter or double click
    sort_requested = Signal(str)  # key of the column whose head was clicked
    menu_requested = Signal(QPoint)  # of the current row, in global coordinates

    def __init__(self, model: CacheTableModel, clock: ClockMs = wall_clock_ms) -> None:
        super().__init__()
        self._model = model
        self.columns = ColumnLayout(self)
        self._clock = clock
        self._cells = CellPainter(model, clock)
        self._hovered = -1
        self.setModel(model)
        model.headerDataChanged.connect(lambda *_: self.columns.fit())  # the arrow of the order needs room
        MinuteClock(self).ticked.connect(self.viewport().update)
        self.setAccessibleName(tr("Outputs"))
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setCornerButtonEnabled(False)
        self.setTabKeyNavigation(False)
        self.setMouseTracking(True)
        # Painted whole by paintEvent: only so does Qt move what it has painted when it scrolls.
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setDragEnabled(True)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        rows = self.verticalHeader()
        head = self.horizontalHeader()
        rows.hide()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        head.setSectionsClickable(True)
        head.setHighlightSections(False)
        # Painting, a header asks its selection whether whole columns are selected, which asks for every row.
        head.setSelectionModel(QItemSelectionModel(model, head))
        head.setMinimumSectionSize(40)
        head.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        head.customContextMenuRequested.connect(
            lambda at: self.columns.menu(self).popup(head.mapToGlobal(at))
        )
        head.sectionClicked.connect(lambda at: self.sort_requested.emit(COLUMNS[at].key))
        self.doubleClicked.connect(lambda _: self.opened.emit())
        self.apply_theme()

    def current_digest(self) -> str:
        at = self.currentIndex()
        return self._model.digest_at(at.row()) if at.isValid() else ""

    def current_row(self) -> CacheRow | None:
        at = self.currentIndex()
        return self._model.entry(at.row()) if at.isValid() else None

    def selected_rows(self) -> list[CacheRow]:
        """Return the selected rows, from top to bottom, without those that were never fetched.

        Of very many only the first are looked at: nothing waits for a million rows.
        """
        numbers = itertools.islice(itertools.chain.from_iterable(self._selected_ranges()), MAX_CACHED_ROWS)
        return [
            row
            for number in numbers
            if self._model.is_loaded(number) and (row := self._model.entry(number)) is not None
        ]

    def selected_digests(self) -> tuple[str, ...]:
        parts = (self._model.digests(rows) for rows in self._selected_ranges())
        return tuple(itertools.chain.from_iterable(parts))

    def selected_count(self) -> int:
        return sum(len(rows) for rows in self._selected_ranges())

    def _selected_ranges(self) -> list[range]:
        """Return the numbers of the selected rows: Qt would make an index object of each."""
        selection = self.selectionModel().selection()
        parts = (selection.at(number) for number in range(selection.size()))
        return sorted({range(part.top(), part.bottom() + 1) for part in parts}, key=lambda rows: rows.start)

    def focus_table(self) -> None:
        """Take the keyboard, at the first row unless one is chosen; not where no row is shown."""
        if not self.isVisible():
            return  # else Qt gives it the keyboard once it appears, away from who types
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._select_first()

    def _select_first(self) -> None:
        """Select a row unless one is: Qt makes one current when the focus comes, and selects none."""
        if self._model.rowCount() and not self.selectionModel().hasSelection():
            self.select_row(max(0, self.currentIndex().row()))

    def select_row(self, row: int) -> None:
        index = self._model.index(row, 0)
        self.select_only(index)
        self.scrollTo(index)

    def select_only(self, index: Index) -> None:
        """Make a row the current one and the only selected one, whatever keys are held down."""
        flag = QItemSelectionModel.SelectionFlag
        self.selectionModel().setCurrentIndex(index, flag.ClearAndSelect | flag.Rows)

    def select_also(self, digests: Sequence[str]) -> None:
        """Select the rows of these, too, and leave the current one as it is."""
        flag = QItemSelectionModel.SelectionFlag
        for row in filter(lambda row: row >= 0, map(self._model.row_of, digests)):
            self.selectionModel().select(self._model.index(row, 0), flag.Select | flag.Rows)

    def apply_theme(self) -> None:
        super().apply_theme()
        theme = self._theme
        self._cells.apply_theme()
        self.verticalHeader().setDefaultSectionSize(scaled(ROW_HEIGHT))
        self.horizontalHeader().setFixedHeight(scaled(ROW_HEIGHT))
        set_style_sheet(
            self,
            f"QTableView {{ background: {theme.canvas}; border: 0; }} QHeaderView::section {{ background:"
            f" {theme.canvas}; color: {theme.faint}; border: 0; border-bottom: 1px solid {theme.border};"
            f" padding: 0 {PAD}px; font-size: {scaled(12)}px; font-weight: 500; }}"
            f" QHeaderView::section:first {{ padding-left: {EDGE}px; }}",
        )
        self.columns.fit()
        self.viewport().update()

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        self.viewport().update()  # Qt updates one cell of a row, which has its mark at the edge
        if current.row() != previous.row() or not previous.isValid():
            self.entry_selected.emit(self.current_digest())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        dirty = event.rect()
        painter.fillRect(dirty, QColor(self._theme.canvas))
        line = QColor(self._theme.border)
        current = self.currentIndex().row()
        selection = self.selectionModel()
        cells = [
            (column, QRect(self.columnViewportPosition(at), 0, self.columnWidth(at), 0))
            for at, column in enumerate(COLUMNS)
            if not self.isColumnHidden(at)
        ]
        height = self.verticalHeader().defaultSectionSize()
        width = self.viewport().width()
        row = self.rowAt(dirty.top())
        while 0 <= row < self._model.rowCount():
            top = self.rowViewportPosition(row)
            if top > dirty.bottom():
                break
            is_selected = selection.isRowSelected(row)
            if is_selected:
                painter.fillRect(0, top, width, height, QColor(self._theme.selection))
            elif row == self._hovered:
                painter.fillRect(0, top, width, height, QColor(self._theme.row_hover))
            if not is_selected:
                painter.fillRect(0, top + height - 1, width, 1, line)
            for column, place in cells:
                rect = QRect(place.x(), top, place.width(), height)
                if rect.intersects(dirty):
                    self._cells.paint(painter, rect, row, column)
            row += 1
        if self.hasFocus() and current >= 0:
            ring = QRectF(0, self.rowViewportPosition(current), width, height - 1)
            is_keyboard = self.window().testAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange)
            paint_row_focus(painter, ring, self._theme.accent, is_keyboard=is_keyboard)

    def viewportEvent(self, event: QEvent) -> bool:
        """Show a cell's tooltip, but none that repeats what the cell shows in full."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            index = self.indexAt(event.pos())
            row = self._model.entry(index.row()) if index.isValid() else None
            column = COLUMNS[index.column()]
            text = column.text(row, self._clock()) if row is not None else ""
            is_repeated = text == index.data(Qt.ItemDataRole.ToolTipRole)
            if is_repeated and self._cells.is_whole(text, column, self.columnWidth(index.column())):
                QToolTip.hideText()
                return True
        return super().viewportEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the columns, and keep the current row in sight when the preview below takes room away."""
        previous_height = event.oldSize().height()
        current = self.currentIndex()
        was_visible = current.isValid() and 0 <= self.visualRect(current).top() < previous_height
        super().resizeEvent(event)
        self.columns.fit()
        if was_visible and self.viewport().height() < previous_height:
            self.scrollTo(current)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if event.reason() in KEYBOARD_REASONS:
            self._select_first()
        self.viewport().update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        keys = {Qt.Key.Key_Home: 0, Qt.Key.Key_End: self._model.rowCount() - 1}
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers():
            self.opened.emit()
        elif event.key() in keys and self._model.rowCount():
            self.select_row(keys[Qt.Key(event.key())])
        else:
            super().keyPressEvent(event)

    def startDrag(self, actions: Qt.DropAction) -> None:
        count = self.selected_count()
        if not 0 < count <= MAX_DRAGGED:
            return
        row = self._model.entry(self.currentIndex().row()) if count == 1 else None
        name = (
            f"{tool_name(row)} {target_name(row)}".strip()
            if row is not None
            else tr.plural(count, "%n entry", "%n entries")
        )
        run_drag(self, self._model.mimeData(self.selectedIndexes()), name, self._theme)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hover(event.position().toPoint())
        super().mouseMoveEvent(event)

    def leaveEvent(self, event: object) -> None:
        self._hover(QPoint(-1, -1))

    def _hover(self, position: QPoint) -> None:
        row = self.rowAt(position.y()) if position.y() >= 0 else -1
        if row != self._hovered:
            self._hovered = row
            self.viewport().update()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        mouse = event.reason() is QContextMenuEvent.Reason.Mouse
        at = self.indexAt(event.pos()) if mouse else self.currentIndex()
        if at.isValid():
            if not self.selectionModel().isRowSelected(at.row()):
                self.select_only(at)
            below = self.visualRect(at).bottomLeft()
            self.menu_requested.emit(self.viewport().mapToGlobal(event.pos() if mouse else below))
