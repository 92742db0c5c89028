"""Every command of the window's menus and every prompt file, found by a few letters of its words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, Qt
from PySide6.QtGui import QAction, QColor, QFont, QFontMetricsF, QPainter, QStandardItem
from PySide6.QtWidgets import (
    QMenu,
    QMenuBar,
    QWidget,
)

from helix_desktop.ui.design.quick_picker import LineDelegate, QuickPicker
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.shell.actions import action_shortcut
from helix_desktop.ui.shell.sidebar.rows import matches_query
from helix_desktop.words.translation import Translator

tr = Translator("Window")

_ACTION_ROLE, _MENU_ROLE = int(Qt.ItemDataRole.UserRole), int(Qt.ItemDataRole.UserRole) + 1
_ROW_PX = 34
_MAX_LINES = 11
_RECENT = 5  # commands that were used last and stand first
_CHECK = "✓"
_MNEMONIC = re.compile(r"\(&\w\)|&(?!&)")


class _Delegate(LineDelegate):
    """A tick, the command's words, its menu; its keys at the right."""

    def paint_line(self, painter: QPainter, box: QRectF, index: QModelIndex | QPersistentModelIndex) -> None:
        action = index.data(_ACTION_ROLE)
        if not isinstance(action, QAction):
            return
        plain = fonts.sized(self.view.font(), 13)
        small = fonts.sized(self.view.font(), 12)
        room = box.adjusted(12, 0, -12, 0)
        room.setRight(
            self._paint_text(painter, room, small, self.theme.muted, action_shortcut(action), at_end=True)
        )
        if action.isChecked():
            self._paint_text(painter, room, plain, self.theme.accent, _CHECK)
        room.setLeft(room.left() + QFontMetricsF(plain).horizontalAdvance(_CHECK) + 8)
        room.setLeft(self._paint_text(painter, room, plain, self.theme.text, action_text(action)))
        self._paint_text(painter, room, small, self.theme.muted, index.data(_MENU_ROLE))

    def _paint_text(
        self, painter: QPainter, area: QRectF, font: QFont, color: str, text: str, at_end: bool = False
    ) -> float:
        """Paint a text at one side of the room; where the rest of the room now begins, or ends."""
        metrics = QFontMetricsF(font)
        elided = metrics.elidedText(text, Qt.TextElideMode.ElideRight, max(0.0, area.width()))
        wide = metrics.horizontalAdvance(elided)
        side = Qt.AlignmentFlag.AlignRight if at_end else Qt.AlignmentFlag.AlignLeft
        painter.setFont(font)
        painter.setPen(QColor(color))
        painter.drawText(area, side | Qt.AlignmentFlag.AlignVCenter, elided)
        gap = 12 if elided else 0
        return area.right() - wide - gap if at_end else area.left() + wide + gap


class CommandPalette(QuickPicker):
    """What the menus offer now; Enter does it."""

    def __init__(self, window: QWidget, menus: QMenuBar, own_action: QAction) -> None:
        """`own_action` is the command that opens this panel: it is not offered."""
        super().__init__(
            window,
            tr("Command palette"),
            tr("Search commands"),
            tr("No matching commands"),
            tr("run", "what the Enter key does"),
            _MAX_LINES,
        )
        self._menus, self._own_action = menus, own_action
        self._recent_actions: list[QAction] = []
        self._prompt_files: Sequence[QAction] = ()
        self.set_delegate(_Delegate(self.list_view, _ROW_PX))

    def offer_prompt_files(self, actions: Sequence[QAction]) -> None:
        """Offer these prompt files too."""
        self._prompt_files = actions
        self.refresh()

    def find_items(self, needle: str) -> Iterator[QStandardItem]:
        """Return the commands that can be used now, with these words in them or in their menu's name."""
        commands = dict(self._commands())
        recent = [action for action in self._recent_actions if action in commands]
        for action in dict.fromkeys([*recent, *commands]):
            words, menu = action_text(action), commands[action]
            if matches_query(needle, words, menu):
                item = QStandardItem(words)
                item.setToolTip(words)
                item.setData(action, _ACTION_ROLE)
                item.setData(menu, _MENU_ROLE)
                state = tr("checked") if action.isChecked() else ""
                parts = (words, state, menu, action_shortcut(action))
                item.setData(", ".join(filter(None, parts)), Qt.ItemDataRole.AccessibleTextRole)
                yield item

    def accept_item(self, index: QModelIndex) -> None:
        """Do the command of a line, with the keyboard where it was before."""
        action = index.data(_ACTION_ROLE)
        if isinstance(action, QAction):
            self._recent_actions = [
                action,
                *(recent for recent in self._recent_actions if recent is not action),
            ][:_RECENT]
            self.dismiss()
            action.trigger()

    def _commands(self) -> Iterator[tuple[QAction, str]]:
        for top in self._menus.actions():
            menu = top.menu()
            for action in menu.actions() if isinstance(menu, QMenu) else ():
                if action.isEnabled() and not action.isSeparator() and action is not self._own_action:
                    yield action, _without_mnemonic(top.text())
        for action in self._prompt_files:
            yield action, tr("Prompt files")


def action_text(action: QAction) -> str:
    """Return the words of a menu entry, without the keys that stand behind them."""
    return _without_mnemonic(action.text().partition("\t")[0])


def _without_mnemonic(text: str) -> str:
    """Return a menu's text without its mark for the keyboard: `&File`, or `(&F)` behind Chinese words."""
    return _MNEMONIC.sub("", text)
