"""The keys of the cache browser."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from helix_desktop.ui.cache.entry_actions import EntryActions
from helix_desktop.ui.cache.filter_bar import CacheFilterBar
from helix_desktop.ui.design.page_shortcut import add_shortcut
from helix_desktop.ui.design.viewer.find_shortcut import FindShortcut


def add_cache_shortcuts(browser: QWidget, bar: CacheFilterBar, actions: EntryActions) -> None:
    """Give the browser its keys."""
    everywhere, here = Qt.ShortcutContext.WidgetWithChildrenShortcut, Qt.ShortcutContext.WidgetShortcut
    table, preview = actions.table, actions.preview
    FindShortcut(browser, preview.content.open_find)
    for key, action in (
        ("Ctrl+Return", actions.recall),
        ("Ctrl+Enter", actions.recall),
        ("Ctrl+S", actions.export),
        ("Ctrl+Shift+C", preview.content.copy_content),
        ("/", bar.field.setFocus),
    ):
        add_shortcut(browser, key, action, everywhere)
    for key in ("Down", "Return", "Enter"):
        add_shortcut(bar.field, key, table.focus_table, here)
    add_shortcut(bar.field, "Escape", bar.field.clear, here)
    add_shortcut(table, "V", actions.verify, here)
    add_shortcut(preview.content.text, "V", preview.verify_button.click, here)
    add_shortcut(table, "R", actions.recall_part, here)
    add_shortcut(preview.content.text, "R", actions.recall_part, here)
    add_shortcut(table, "P", actions.toggle_pin, here)
    add_shortcut(table, "Del", actions.move_to_trash, here)
    add_shortcut(table, "Ctrl+Z", actions.undo_trash_requested.emit, here)
    add_shortcut(table, "Ctrl+C", actions.copy_digests, here)
