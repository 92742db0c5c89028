"""The keys and menus of the cache browser."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from helix_desktop.ui.cache_browser.choices import of_path, of_tool
from helix_desktop.ui.cache_browser.columns import COLUMNS
from helix_desktop.ui.cache_browser.filter_bar import FilterBar
from helix_desktop.ui.cache_browser.find_key import FindKey
from helix_desktop.ui.cache_browser.preview import Preview
from helix_desktop.ui.cache_browser.table import CacheTable


def add_keys(browser: QWidget, bar: FilterBar, table: CacheTable, preview: Preview) -> None:
    """Give the browser its keys."""
    everywhere, here = Qt.ShortcutContext.WidgetWithChildrenShortcut, Qt.ShortcutContext.WidgetShortcut
    FindKey(browser, preview.content.open_find)
    for key, deed in (
        ("Ctrl+Return", preview.recall),
        ("Ctrl+Enter", preview.recall),
        ("Ctrl+S", preview.export_button.click),
        ("Ctrl+Shift+C", preview.content.copy_content),
        ("/", bar.field.setFocus),
    ):
        _add_key(browser, key, deed, everywhere)
    for key in ("Down", "Return", "Enter"):
        _add_key(bar.field, key, table.enter, here)
    _add_key(bar.field, "Escape", bar.field.clear, here)
    for widget in (table, preview.content.text):
        _add_key(widget, "V", preview.verify_button.click, here)
    _add_key(table, "P", lambda: _toggle_pin(table), here)
    _add_key(table, "Del", lambda: _discard(table), here)
    _add_key(table, "Ctrl+C", preview.copy_digest, here)


def row_menu(table: CacheTable, bar: FilterBar, preview: Preview) -> QMenu:
    """What can be done with the current row: narrow the table to its like, copy its hash."""
    row = table.current_row()
    menu = QMenu(table)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    offered = []
    if row is not None and row.tool and row.tool != "argument":
        offered.append(of_tool(row.tool))
    if row is not None and row.target and row.state != "index":
        offered.append(of_path(row.target))
    for choice in offered:
        words = choice.words.replace(": ", " ", 1).replace("&", "&&")
        menu.addAction(f"Only {words[:1].lower()}{words[1:]}", partial(bar.toggle, choice))
    if offered:
        menu.addSeparator()
    if row is not None and row.state == "in the trash":
        menu.addAction("Bring back", partial(table.restore_requested.emit, row.digest))
    elif row is not None:
        menu.addAction("Unpin\tP" if row.kept else "Pin\tP", partial(_toggle_pin, table))
        menu.addAction("Move to the trash\tDel", partial(_discard, table))
    menu.addAction("Copy the hash", preview.copy_digest)
    if row is not None:
        menu.addAction("Copy a link", partial(table.link_requested.emit, row.digest))
    return menu


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
    """Ask for the current entry to be pinned, or no longer."""
    row = table.current_row()
    if row is not None:
        table.pin_requested.emit(row.digest, not row.kept)


def _discard(table: CacheTable) -> None:
    """Ask for the current entry to go to the trash, unless it lies there."""
    row = table.current_row()
    if row is not None and row.state != "in the trash":
        table.trash_requested.emit(row.digest)


def _add_key(widget: QWidget, key: str, deed: Callable[[], object], context: Qt.ShortcutContext) -> None:
    action = QAction(widget)
    action.setShortcut(QKeySequence(key))
    action.setShortcutContext(context)
    action.triggered.connect(lambda _: deed())
    widget.addAction(action)
