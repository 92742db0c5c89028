"""The keys of the cache browser, and its menu of orders."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from helix_desktop.ui.cache_browser.columns import COLUMNS
from helix_desktop.ui.cache_browser.filter_bar import FilterBar
from helix_desktop.ui.cache_browser.find_key import FindKey
from helix_desktop.ui.cache_browser.preview import Preview
from helix_desktop.ui.cache_browser.row_menu import copy_digests, recall_selected, verify_selected
from helix_desktop.ui.cache_browser.table import CacheTable


def add_keys(browser: QWidget, bar: FilterBar, table: CacheTable, preview: Preview) -> None:
    """Give the browser its keys."""
    everywhere, here = Qt.ShortcutContext.WidgetWithChildrenShortcut, Qt.ShortcutContext.WidgetShortcut
    FindKey(browser, preview.content.open_find)
    for key, deed in (
        ("Ctrl+Return", partial(recall_selected, table, preview)),
        ("Ctrl+Enter", partial(recall_selected, table, preview)),
        ("Ctrl+S", preview.export_button.click),
        ("Ctrl+Shift+C", preview.content.copy_content),
        ("/", bar.field.setFocus),
    ):
        _add_key(browser, key, deed, everywhere)
    for key in ("Down", "Return", "Enter"):
        _add_key(bar.field, key, table.enter, here)
    _add_key(bar.field, "Escape", bar.field.clear, here)
    _add_key(table, "V", partial(verify_selected, table, preview), here)
    _add_key(preview.content.text, "V", preview.verify_button.click, here)
    _add_key(table, "P", lambda: _toggle_pin(table), here)
    _add_key(table, "Del", lambda: _discard(table), here)
    _add_key(table, "Ctrl+C", partial(copy_digests, table, preview), here)


def sort_menu(parent: QMenu, bar: FilterBar) -> QMenu:
    """Every column, to sort by without the mouse; the one in force is checked."""
    menu = QMenu("Sort by", parent)
    for column in COLUMNS:
        held = bar.wanted.sort.column == column.sorts_by
        action = QAction(column.title, menu, checkable=True, checked=held)
        action.triggered.connect(lambda _, one=column: bar.sort_by(one))
        menu.addAction(action)
    return menu


def _toggle_pin(table: CacheTable) -> None:
    """Ask for the selected entries to be pinned, or, where all are, no longer."""
    rows = [row for row in table.selected_rows() if row.state != "in the trash"]
    if rows:
        table.pin_requested.emit([row.digest for row in rows], not all(row.kept for row in rows))


def _discard(table: CacheTable) -> None:
    """Ask for the selected entries to go to the trash, but for those that lie there."""
    digests = [row.digest for row in table.selected_rows() if row.state != "in the trash"]
    if digests:
        table.trash_requested.emit(digests)


def _add_key(widget: QWidget, key: str, deed: Callable[[], object], context: Qt.ShortcutContext) -> None:
    action = QAction(widget)
    action.setShortcut(QKeySequence(key))
    action.setShortcutContext(context)
    action.triggered.connect(lambda _: deed())
    widget.addAction(action)
