"""The keys of the cache browser, and its menu of orders."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from helix_desktop.ui.cache.columns import COLUMNS
from helix_desktop.ui.cache.filter_bar import CacheFilterBar
from helix_desktop.ui.cache.preview import Preview
from helix_desktop.ui.cache.row_menu import copy_digests, recall_selected, verify_selected
from helix_desktop.ui.cache.table import CacheTable
from helix_desktop.ui.design.viewer.find_shortcut import FindShortcut


def add_shortcuts(browser: QWidget, bar: CacheFilterBar, table: CacheTable, preview: Preview) -> None:
    """Give the browser its keys."""
    everywhere, here = Qt.ShortcutContext.WidgetWithChildrenShortcut, Qt.ShortcutContext.WidgetShortcut
    FindShortcut(browser, preview.content.open_find)
    for key, action in (
        ("Ctrl+Return", partial(recall_selected, table, preview)),
        ("Ctrl+Enter", partial(recall_selected, table, preview)),
        ("Ctrl+S", preview.export_button.click),
        ("Ctrl+Shift+C", preview.content.copy_content),
        ("/", bar.field.setFocus),
    ):
        _add_shortcut(browser, key, action, everywhere)
    for key in ("Down", "Return", "Enter"):
        _add_shortcut(bar.field, key, table.focus_table, here)
    _add_shortcut(bar.field, "Escape", bar.field.clear, here)
    _add_shortcut(table, "V", partial(verify_selected, table, preview), here)
    _add_shortcut(preview.content.text, "V", preview.verify_button.click, here)
    _add_shortcut(table, "P", lambda: _toggle_pin(table), here)
    _add_shortcut(table, "Del", lambda: _move_to_trash(table), here)
    _add_shortcut(table, "Ctrl+C", partial(copy_digests, table, preview), here)


def sort_menu(parent: QMenu, bar: CacheFilterBar) -> QMenu:
    """Return every column, to sort by without the mouse; the one in force is checked."""
    menu = QMenu("Sort by", parent)
    for column in COLUMNS:
        is_current = bar.current_filter.sort.column == column.sort_column
        action = QAction(column.title, menu, checkable=True, checked=is_current)
        action.triggered.connect(lambda _, clicked_column=column: bar.sort_by(clicked_column))
        menu.addAction(action)
    return menu


def _toggle_pin(table: CacheTable) -> None:
    """Ask for the selected entries to be pinned, or, where all are, no longer."""
    rows = [row for row in table.selected_rows() if row.state != "in the trash"]
    if rows:
        table.pin_requested.emit([row.digest for row in rows], not all(row.is_pinned for row in rows))


def _move_to_trash(table: CacheTable) -> None:
    """Ask for the selected entries to go to the trash, but for those that lie there."""
    digests = [row.digest for row in table.selected_rows() if row.state != "in the trash"]
    if digests:
        table.trash_requested.emit(digests)


def _add_shortcut(
    widget: QWidget, key: str, callback: Callable[[], object], context: Qt.ShortcutContext
) -> None:
    action = QAction(widget)
    action.setShortcut(QKeySequence(key))
    action.setShortcutContext(context)
    action.triggered.connect(lambda _: callback())
    widget.addAction(action)
