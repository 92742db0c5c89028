"""The table of a provider's models."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QColor, QIcon, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from helix_desktop.ui.design.focus import FocusRing
from helix_desktop.ui.design.style.icons import icon
from helix_desktop.ui.design.style.theme import LIGHT, Theme
from helix_desktop.ui.design.themed import Themed
from helix_desktop.ui.settings.providers.model_rows import (
    COLUMNS,
    NUMBERS,
    UNKNOWN,
    ModelRow,
    cell_text,
    tooltip_text,
)
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Models")

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()
_ROW_PX, _HEAD_PX, _MAX_ROWS = 32, 30, 7
_WIDTHS = (0, 88, 78, 88, 56, 64, 116)  # pixels; the first column takes the rest
_MIN_NAME_PX = 140
_SCROLLED_NAME_PX = 200  # of the name where there is no room for all columns
_ON, _OFF = Qt.ScrollBarPolicy.ScrollBarAlwaysOn, Qt.ScrollBarPolicy.ScrollBarAlwaysOff


class _ModelTableModel(QAbstractTableModel):
    def __init__(self) -> None:
        super().__init__()
        self.rows: tuple[ModelRow, ...] = ()
        self.theme = LIGHT

    def rowCount(self, parent: Index = _ROOT) -> int:
        """Return how many models there are."""
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = _ROOT) -> int:
        """Return how many figures are shown of each."""
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> object:
        """Return the name of a column."""
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(section)
        return translate(COLUMNS[section]) if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: Index, role: int = 0) -> object:
        """Return what a cell shows."""
        row, column = self.rows[index.row()], index.column()
        first = column == 0
        getters: dict[int, Callable[[], object]] = {
            Qt.ItemDataRole.DisplayRole: lambda: cell_text(row, column),
            Qt.ItemDataRole.ToolTipRole: lambda: tooltip_text(row, column) or None,
            Qt.ItemDataRole.TextAlignmentRole: lambda: _alignment(column),
            Qt.ItemDataRole.ForegroundRole: lambda: self._text_color(row, column),
            Qt.ItemDataRole.DecorationRole: lambda: self._star(row) if first else None,
            Qt.ItemDataRole.AccessibleTextRole: lambda: _accessible_text(row, column),
        }
        getter = getters.get(role)
        return getter() if getter is not None else None

    def _star(self, row: ModelRow) -> QIcon:
        return icon("star", self.theme.accent_text if row.is_default else self.theme.faint, 14)

    def _text_color(self, row: ModelRow, column: int) -> QColor | None:
        assumed = column == 1 and row.spec.values["window"].origin == "assumed"
        dim = assumed or column == len(COLUMNS) - 1 or cell_text(row, column) == UNKNOWN
        return QColor(self.theme.faint) if dim else None


class ModelTable(Themed, QTableView):
    """One row per model; a click on the star, or Enter, makes a model the default."""

    model_selected = Signal(str)
    default_requested = Signal(str)

    def __init__(self) -> None:
        """Start empty."""
        super().__init__()
        FocusRing(self)
        self._model = _ModelTableModel()
        self.setModel(self._model)
        self.setAccessibleName(tr("Models"))
        self.setProperty("kind", "models")
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.setWordWrap(False)
        self.setShowGrid(False)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(_ROW_PX)
        head = self.horizontalHeader()
        head.setFixedHeight(_HEAD_PX)
        head.setHighlightSections(False)
        head.setSectionsClickable(False)
        head.setMinimumSectionSize(40)
        head.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self._fit()
        self.selectionModel().currentRowChanged.connect(
            lambda now, _: self.model_selected.emit(self._name(now))
        )
        self.clicked.connect(self._on_clicked)
        self.activated.connect(lambda index: self.default_requested.emit(self._name(index)))

    def show_rows(self, rows: Sequence[ModelRow]) -> None:
        """Show these models; the chosen one stays chosen, else the first is."""
        before = self.current_name()
        self._model.beginResetModel()
        self._model.rows = tuple(rows)
        self._model.endResetModel()
        self._fit()
        self.select_model(before)

    def select_model(self, name: str) -> None:
        """Choose a model by name; the first when there is none of that name."""
        names = [row.name for row in self._model.rows]
        if names:
            self.selectRow(names.index(name) if name in names else 0)
        self.model_selected.emit(self.current_name())

    def current_name(self) -> str:
        """Return the name of the chosen model; empty when there is none."""
        return self._name(self.currentIndex())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the names what the figures leave; where that is too little, the table scrolls sideways."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """By the table's own width, not by what its bars leave: these come and go with the result."""
        count = self._model.rowCount()
        upright, flat = self.verticalScrollBar(), self.horizontalScrollBar()
        scroll_bar_width = upright.sizeHint().width() if count > _MAX_ROWS else 0
        head = self.horizontalHeader()
        widths = [max(width, head.sectionSizeHint(place)) for place, width in enumerate(_WIDTHS)][1:]
        for place, width in enumerate(widths, 1):
            self.setColumnWidth(place, width)
        left = self.width() - scroll_bar_width - 2 * self.frameWidth() - sum(widths)
        narrow = left < _MIN_NAME_PX
        self.setVerticalScrollBarPolicy(_ON if scroll_bar_width else _OFF)
        self.setHorizontalScrollBarPolicy(_ON if narrow else _OFF)
        self.setColumnWidth(0, _SCROLLED_NAME_PX if narrow else left)
        below = flat.sizeHint().height() if narrow else 0
        rows = min(_MAX_ROWS, max(1, count))
        self.setFixedHeight(_HEAD_PX + rows * _ROW_PX + below + 2 * self.frameWidth())

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme."""
        self._model.theme = theme
        self.viewport().update()

    def _name(self, index: Index) -> str:
        return self._model.rows[index.row()].name if index.isValid() else ""

    def _on_clicked(self, index: QModelIndex) -> None:
        star = self.visualRect(index).left() + 30
        if index.column() == 0 and self.viewport().mapFromGlobal(self.cursor().pos()).x() < star:
            self.default_requested.emit(self._name(index))


def _accessible_text(row: ModelRow, column: int) -> str:
    name, value = COLUMNS[column], cell_text(row, column)
    if row.is_default and column == 0:
        return tr("{name}: {value}, default", name=name, value=value)
    return tr("{name}: {value}", name=name, value=value)


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column in NUMBERS else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
