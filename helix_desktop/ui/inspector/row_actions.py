"""What can be done with a row of the request: words, keys, and the buttons that stand on it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRect, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QStyle, QWidget

from helix_desktop.ui.design.buttons import IconButton
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.themed import Themed
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
_ICONS: dict[RowAction, str] = {
    "cache": "zap",
    "recall": "archive-restore",
    "pin": "pin",
    "unpin": "pin-off",
    "exclude": "eye-off",
    "include": "undo-2",
}
"""The actions with a button: a click on the row itself shows it, the menu has all."""
_EDGE, _GAP, _AROUND = 22, 3, 1  # pixels of a button, between two, and around them


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


class RowButtons(Themed, QWidget):
    """The buttons of one row, over its end: its tooltip has what they cover."""

    triggered = Signal(str, object)  # RowAction, WindowRow
    left = Signal()  # the mouse or the keyboard left it

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("row_buttons")
        self._row: WindowRow | None = None
        self._line = QHBoxLayout(self)
        self._line.setContentsMargins(4, _AROUND, 4, _AROUND)
        self._line.setSpacing(_GAP)
        self._buttons: dict[RowAction, IconButton] = {}
        for action, icon in _ICONS.items():
            button = IconButton(icon, "", px=13, edge=_EDGE)
            button.setObjectName(f"row_{action}")
            button.clicked.connect(lambda _=False, action=action: self.triggered.emit(action, self._row))
            button.installEventFilter(self)
            self._buttons[action] = button
            self._line.addWidget(button)
        self.hide()

    def show_on(self, row: WindowRow | None, rect: QRect) -> None:
        """Show the buttons of a row on its rectangle; without one, or without actions, hide."""
        actions = [action for action in row.actions if action in self._buttons] if row is not None else []
        if row is None or not actions:
            self.hide()
            return
        self._row = row
        for action, button in self._buttons.items():
            button.setVisible(action in actions)
            if action in actions:
                button.set_tip(action_text(action, row))
        width = len(actions) * (scaled(_EDGE) + _GAP) + 8
        height = scaled(_EDGE) + 2 * _AROUND
        place = QRect(rect.right() - width - 4, rect.center().y() - height // 2, width, height)
        self.setGeometry(QStyle.visualRect(self.layoutDirection(), rect, place))
        self.show()
        self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Say when the keyboard left the buttons."""
        if event.type() == QEvent.Type.FocusOut:
            self.left.emit()
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the background that covers the row's words."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(self._theme.border))
        painter.setBrush(QColor(self._theme.surface))
        painter.drawRoundedRect(self.rect().adjusted(0, 0, -1, -1), 7, 7)
