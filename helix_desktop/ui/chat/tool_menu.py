"""The menu of a tool card: what a person can do with one call and its output."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QObject, QPoint, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from helix_desktop.ui.chat.board import Board
from helix_desktop.ui.chat.rows import ToolRow
from helix_desktop.ui.icons import icon

_ELSEWHERE = frozenset({"cached", "folded", "left out", "observed", "handed over"})
_FORMED = frozenset({"in window", "cached", "recalled", "pinned"})
_LARGE = 4 * 1024  # bytes; a smaller output has nothing to leave out


class Deed(NamedTuple):
    """Something to do: its name in signals, its words, its icon; an empty name is a line between deeds."""

    name: str
    words: str = ""
    glyph: str = ""


_LINE = Deed("")


def deeds_of(row: ToolRow) -> list[Deed]:
    """What can be done with a call as it stands now."""
    found: list[Deed] = []
    if row.digest and row.answer:
        pinned = row.badge == "pinned"
        found.append(Deed("unpin", "Unpin", "pin-off") if pinned else Deed("pin", "Pin in the window", "pin"))
    if row.answer and row.badge in _FORMED:
        found += _forms(row)
    if row.digest:
        found += [_LINE, Deed("recall", "Recall into the message", "corner-down-left")]
        found.append(Deed("cache", "Open in the cache", "database"))
    for number, digest in enumerate(row.arguments, 1):
        which = f" {number}" if len(row.arguments) > 1 else ""
        found.append(Deed(f"argument:{digest}", f"Open the cached argument{which}", "braces"))
    if row.subagent:
        found += [_LINE, Deed("subagent", "Open the subagent's session", "bot")]
    if row.badge in _ELSEWHERE:
        found += [_LINE, Deed("timeline", "Show what became of it", "history")]
    return found[1:] if found[:1] == [_LINE] else found


def _forms(row: ToolRow) -> list[Deed]:
    """The other forms in which the agent could see the output from the next request on."""
    found = []
    if row.form != "full" or row.badge == "cached":
        found.append(Deed("form:full", "Show the agent all of it", "maximize-2"))
    if row.size >= _LARGE:
        if row.form != "preview":
            found.append(Deed("form:preview", "Show the agent a preview", "list-filter"))
        found.append(Deed("form:compact", "Show the agent an extract…", "minimize-2"))
    return [_LINE, *found] if found else []


class ToolMenu(QObject):
    """Opens below the dots of a card, and fills the menu of a right click on one."""

    chosen = Signal(str, str)
    """Key of the row and name of the deed."""

    def __init__(self, board: Board, viewport: QWidget) -> None:
        super().__init__(viewport)
        self._board, self._viewport = board, viewport

    def open(self, index: int) -> None:
        """Open below the dots of a row."""
        row = self._board.model.row(index)
        sheet = self._board.sheet(index)
        hot = sheet.hot("menu:card")
        placed = next((one for one in self._board.flow.placed if one.row == index), None)
        if not isinstance(row, ToolRow) or hot is None or placed is None:
            return
        menu = QMenu(self._viewport)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.fill(menu, row)
        top = placed.y + self._board.sheets.gap(index)
        corner = hot.rect.bottomLeft().toPoint() + QPoint(round(self._board.column.left), round(top) + 3)
        menu.popup(self._viewport.mapToGlobal(corner))

    def fill(self, menu: QMenu, row: ToolRow) -> None:
        """Add what can be done with a call."""
        theme = self._board.look.theme
        for deed in deeds_of(row):
            if not deed.name:
                menu.addSeparator()
                continue
            action = QAction(icon(deed.glyph, theme.muted, 15), deed.words, menu)
            action.triggered.connect(lambda _=False, name=deed.name: self.chosen.emit(row.key, name))
            menu.addAction(action)
