"""Which columns of the table are shown, and how wide."""

from __future__ import annotations

from math import ceil

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QFontMetricsF
from PySide6.QtWidgets import QMenu, QTableView

from helix_desktop.ui.cache.cell_delegate import PAD, widest_state
from helix_desktop.ui.cache.columns import COLUMN_INDEX, COLUMNS, ColumnKey, column_widths, fitting_columns
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.words.numbers import format_size
from helix_desktop.words.translation import Translator, translate

tr = Translator("Cache")

_TITLE_FONT, _TITLE_PAD_PX = (12, 500), 28  # of a section in the style sheet: size, weight; what is around it


class ColumnLayout(QObject):
    """Shows the columns that fit a table's width, unless the user has chosen them."""

    def __init__(self, table: QTableView) -> None:
        super().__init__(table)
        self._table = table
        self._overrides: dict[ColumnKey, bool] = {}
        self._is_searching = False

    def menu(self) -> QMenu:
        """Return a menu of all columns: shown ones are checked; the first item lets them follow the width."""
        menu = QMenu(self._table)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        auto = QAction(tr("Fit columns to window"), menu, checkable=True, checked=not self._overrides)
        auto.triggered.connect(self._clear_overrides)
        menu.addAction(auto)
        menu.addSeparator()
        for column in COLUMNS:
            visible = not self._table.isColumnHidden(COLUMN_INDEX[column.key])
            action = QAction(translate(column.title), menu, checkable=True, checked=visible)
            action.setEnabled(column.rank > 0)
            action.toggled.connect(lambda on, key=column.key: self.override(key, on))
            menu.addAction(action)
        return menu

    def override(self, key: ColumnKey, visible: bool) -> None:
        """Show or hide a column whatever the width."""
        if not self._overrides:
            self._overrides = {
                column.key: not self._table.isColumnHidden(COLUMN_INDEX[column.key]) for column in COLUMNS
            }
        self._overrides[key] = visible
        self.fit()

    def set_searching(self, is_searching: bool) -> None:
        """Keep the column of the lines in sight, narrow as the table may be, while somebody is searching."""
        if is_searching != self._is_searching:
            self._is_searching = is_searching
            self.fit()

    def fit(self) -> None:
        """Set each column's width; show the columns that fit, unless the user chose them."""
        width, scale = self._table.viewport().width(), scaled(100) / 100
        titles = self._title_widths()
        visible = fitting_columns(width, scale, self._is_searching, titles)
        if self._overrides:
            visible = frozenset(key for key, on in self._overrides.items() if on)
        for column in COLUMNS:
            self._table.setColumnHidden(COLUMN_INDEX[column.key], column.key not in visible)
        for key, column_width in column_widths(width, visible, scale, titles):
            self._table.horizontalHeader().resizeSection(COLUMN_INDEX[key], column_width)

    def _title_widths(self) -> dict[ColumnKey, int]:
        """Return what the names of columns need in pixels, and what states and sizes below them need."""
        metrics, model = QFontMetricsF(ui_font(*_TITLE_FONT)), self._table.model()
        titles = {
            column.key: str(model.headerData(COLUMN_INDEX[column.key], Qt.Orientation.Horizontal))
            for column in COLUMNS
        }
        widths = {
            key: round(metrics.horizontalAdvance(title)) + _TITLE_PAD_PX for key, title in titles.items()
        }
        return widths | {
            "state": max(widths["state"], widest_state()),
            "size": max(widths["size"], _widest_size()),
        }

    def _clear_overrides(self) -> None:
        self._overrides = {}
        self.fit()


def _widest_size() -> int:
    """Return the pixels that a size of three digits needs, with its unit as the language writes it."""
    metrics = QFontMetricsF(ui_font(12))
    return 2 * PAD + ceil(max(metrics.horizontalAdvance(format_size(888 << step)) for step in (0, 10, 20)))
