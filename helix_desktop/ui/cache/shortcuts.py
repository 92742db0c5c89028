"""The keys of the cache browser."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from helix_desktop.ui.cache.entry_actions import EntryActions
from helix_desktop.ui.cache.filter_bar import CacheFilterBar
from helix_desktop.ui.design.page_shortcut import add_shortcut
from helix_desktop.ui.design.viewer.find_shortcut import FindShortcut


def add_cache_shortcuts(browser: QWidget, bar: CacheFilterBar, actions: EntryActions) -> None:
    """Give the browser its keys; some of them the user can change."""
    everywhere, here = Qt.ShortcutContext.WidgetWithChildrenShortcut, Qt.ShortcutContext.WidgetShortcut
    table, preview, keys = actions.table, actions.preview, actions.keys
    FindShortcut(browser, preview.content.open_find)
    for command, action in (
        ("cache_recall", actions.recall),
        ("cache_save", actions.export),
        ("cache_copy", preview.content.copy_content),
        ("cache_filter", bar.field.setFocus),
    ):
        keys.add_shortcut(command, browser, action, everywhere)
    for key in ("Down", "Return", "Enter"):
        add_shortcut(bar.field, key, table.focus_table, here)
    add_shortcut(bar.field, "Escape", bar.field.clear, here)
    keys.add_shortcut("cache_verify", table, actions.verify, here)
    keys.add_shortcut("cache_verify", preview.content.text, preview.verify_button.click, here)
    keys.add_shortcut("cache_recall_part", table, actions.recall_part, here)
    keys.add_shortcut("cache_recall_part", preview.content.text, actions.recall_part, here)
    keys.add_shortcut("cache_pin", table, actions.toggle_pin, here)
    keys.add_shortcut("cache_trash", table, actions.move_to_trash, here)
    keys.add_shortcut("cache_quick_look", table, table.quick_look_requested.emit, here)
    add_shortcut(table, "Ctrl+Z", actions.undo_trash_requested.emit, here)
    add_shortcut(table, "Ctrl+C", actions.copy_digests, here)
