"""What can be done with a row of the request: words, keys, and the button that opens its menu."""

from __future__ import annotations

from PySide6.QtCore import QRect, Signal
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QStyle, QWidget

from helix_desktop.ui.design.buttons import IconButton
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.inspector.inspector_data import RowAction, WindowRow
from helix_desktop.ui.kit.commands import PageKeys
from helix_desktop.words.numbers import format_token_count, format_tokens
from helix_desktop.words.rewrite_explanations import STATE_WORDS
from helix_desktop.words.translation import Translator, translate

tr = Translator("Inspector")

COMMAND_ACTIONS: dict[str, tuple[RowAction, ...]] = {
    "context_pin": ("pin", "unpin"),
    "context_cache": ("cache",),
    "context_recall": ("include", "recall"),
    "context_exclude": ("exclude", "include"),
}
"""The action of a key's command; of two the one that the row has."""
_CHANGES: frozenset[RowAction] = frozenset({"cache", "recall", "pin", "unpin", "exclude", "include"})
"""Actions that change what the model sees: a row with one of them has the button."""
_EDGE, _AROUND = 22, 2  # pixels of the button, and left and right of it


def action_text(action: RowAction, row: WindowRow) -> str:
    """Return an action as menus and buttons name it, with what it costs."""
    texts: dict[RowAction, str] = {
        "show": tr("Show in chat"),
        "cache": tr("Cache now… (saves up to {tokens} tokens)", tokens=format_tokens(row.cachable)),
        "recall": translate(STATE_WORDS["cached"].verb),
        "open": tr("Open in cache, recall lines"),
        "pin": tr("Pin in context"),
        "unpin": translate(STATE_WORDS["pinned"].verb),
        "exclude": tr("Leave out…"),
        "include": translate(STATE_WORDS["excluded"].verb),
    }
    return texts[action]


def action_key(action: RowAction, keys: PageKeys) -> str:
    """Return the key of an action as a menu shows it; empty if it has none."""
    if action == "show":
        return tr("Enter", "key")
    command = next((command for command, actions in COMMAND_ACTIONS.items() if action in actions), "")
    return keys.shown_key(command) if command else ""


def change_price_text(saved: int, resent: int) -> str:
    """Return what a change of one row saves with every request, and what it sends again once."""
    if saved > 0:
        less = tr("Saves {tokens} in every later request.", tokens=format_token_count(saved))
    elif saved < 0:
        less = tr(
            "Adds {tokens} to every later request: the line in its place is longer.",
            tokens=format_token_count(-saved),
        )
    else:
        less = tr("This saves no tokens: the line in its place is as long.")
    if not resent:
        return less
    return f"{less} {_resent_text(resent)}"


def recall_price_text(added: int, resent: int) -> str:
    """Return what it costs to send a content in full again: with every request, and once."""
    more = tr("Adds about {tokens} to every later request.", tokens=format_token_count(max(0, added)))
    if not resent:
        return more
    return f"{more} {_resent_text(resent)}"


def _resent_text(resent: int) -> str:
    return tr("Reads {tokens} again uncached, once.", tokens=format_token_count(resent))


class RowButton(IconButton):
    """The button that opens a row's menu, left of its state and tokens, which stay in sight."""

    menu_requested = Signal(object, object)  # WindowRow, and the place on the screen
    left = Signal()  # the keyboard left it

    def __init__(self, parent: QWidget) -> None:
        super().__init__("ellipsis", tr("Pin, cache, leave out…"), px=14, edge=_EDGE)
        self.setParent(parent)
        self.setObjectName("row_menu")
        self._row: WindowRow | None = None
        self.clicked.connect(
            lambda: self.menu_requested.emit(self._row, self.mapToGlobal(self.rect().bottomLeft()))
        )
        self.hide()

    def show_on(self, row: WindowRow | None, rect: QRect, end_px: float) -> None:
        """Show it on a row's rectangle, before what takes the last `end_px` of it; hide without changes."""
        if row is None or not _CHANGES.intersection(row.actions):
            self.hide()
            return
        self._row = row
        edge = scaled(_EDGE)
        place = QRect(
            rect.right() - round(end_px) - edge - _AROUND, rect.center().y() - edge // 2, edge, edge
        )
        self.setGeometry(QStyle.visualRect(self.layoutDirection(), rect, place))
        self.show()
        self.raise_()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.left.emit()
