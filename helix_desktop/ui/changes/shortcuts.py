"""The keys of the page of changes."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from helix_desktop.ui.changes.change_actions import ChangeActions
from helix_desktop.ui.changes.detail import ChangeDetail
from helix_desktop.ui.changes.filter_bar import ChangesFilterBar
from helix_desktop.ui.kit.commands import add_shortcut


def add_changes_shortcuts(
    page: QWidget, actions: ChangeActions, bar: ChangesFilterBar, detail: ChangeDetail
) -> None:
    everywhere, here = Qt.ShortcutContext.WidgetWithChildrenShortcut, Qt.ShortcutContext.WidgetShortcut
    changes, keys = actions.list, actions.keys

    def go_to_change(by: int) -> None:
        """Go to the next change (1) of the file, or of the next file; -1: to the previous."""
        if not detail.go_to_change(by):
            changes.step(by)

    add_shortcut(page, "F7", lambda: go_to_change(1), everywhere)
    add_shortcut(page, "Shift+F7", lambda: go_to_change(-1), everywhere)
    keys.add_shortcut("changes_filter", page, bar.field.setFocus, everywhere)
    keys.add_shortcut("changes_accept", changes, actions.accept, here)
    keys.add_shortcut("changes_revert", changes, actions.revert, here)
    keys.add_shortcut("changes_open", changes, actions.open_in_editor, here)
    add_shortcut(changes, "Ctrl+C", actions.copy_patch, here)
    for key in ("Down", "Return", "Enter"):
        add_shortcut(bar.field, key, changes.focus_list, here)
    add_shortcut(bar.field, "Escape", bar.field.clear, here)
    detail.diff_built.connect(lambda text: add_shortcut(text, "Escape", changes.setFocus, here))
