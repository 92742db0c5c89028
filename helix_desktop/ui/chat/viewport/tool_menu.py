"""The menu of a tool card: what a user can do with one call and its output."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QObject, QPoint, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from helix_desktop.ui.chat.rows.row_types import ToolRow
from helix_desktop.ui.chat.viewport.chat_viewport import ChatViewport
from helix_desktop.ui.design.style.icons import icon

_NOT_IN_WINDOW = frozenset({"cached", "folded", "left out", "observed", "handed over"})
_REFORMABLE = frozenset({"in window", "cached", "recalled", "pinned"})
_MIN_FORM_BYTES = 4 * 1024  # bytes; a smaller output has nothing to leave out


class ToolAction(NamedTuple):
    """Something to do: its name in signals, its words, its icon; an empty name is a line between deeds."""

    name: str
    label: str = ""
    icon_name: str = ""


_SEPARATOR = ToolAction("")


def actions_for(row: ToolRow) -> list[ToolAction]:
    """Return what can be done with a call as it stands now."""
    actions: list[ToolAction] = []
    if row.digest and row.answer_seq:
        pinned = row.badge == "pinned"
        actions.append(
            ToolAction("unpin", "Unpin", "pin-off")
            if pinned
            else ToolAction("pin", "Pin in the window", "pin")
        )
    if row.answer_seq and row.badge in _REFORMABLE:
        actions += _form_actions(row)
    if row.digest:
        actions += [_SEPARATOR, ToolAction("recall", "Recall into the message", "corner-down-left")]
        actions.append(ToolAction("cache", "Open in the cache", "database"))
    for number, digest in enumerate(row.arguments, 1):
        which = f" {number}" if len(row.arguments) > 1 else ""
        actions.append(ToolAction(f"argument:{digest}", f"Open the cached argument{which}", "braces"))
    if row.subagent_session:
        actions += [_SEPARATOR, ToolAction("subagent", "Open the subagent's session", "bot")]
    if row.badge in _NOT_IN_WINDOW:
        actions += [_SEPARATOR, ToolAction("timeline", "Show what became of it", "history")]
    return actions[1:] if actions[:1] == [_SEPARATOR] else actions


def _form_actions(row: ToolRow) -> list[ToolAction]:
    """Return the other forms in which the agent could see the output from the next request on."""
    actions = []
    if row.form != "full" or row.badge == "cached":
        actions.append(ToolAction("form:full", "Show the agent all of it", "maximize-2"))
    if row.size_bytes >= _MIN_FORM_BYTES:
        if row.form != "preview":
            actions.append(ToolAction("form:preview", "Show the agent a preview", "list-filter"))
        actions.append(ToolAction("form:compact", "Show the agent an extract…", "minimize-2"))
    return [_SEPARATOR, *actions] if actions else []


class ToolMenu(QObject):
    """Opens below the dots of a card, and fills the menu of a right click on one."""

    action_triggered = Signal(object, str)
    """Key of the row and name of the deed."""

    def __init__(self, chat_viewport: ChatViewport, viewport: QWidget) -> None:
        super().__init__(viewport)
        self._chat_viewport, self._viewport = chat_viewport, viewport

    def open(self, index: int) -> None:
        """Open below the dots of a row."""
        row = self._chat_viewport.model.row(index)
        item = self._chat_viewport.item(index)
        area = item.hit_area("menu:card")
        placed = next(
            (
                candidate
                for candidate in self._chat_viewport.scroll_layout.placed
                if candidate.row_index == index
            ),
            None,
        )
        if not isinstance(row, ToolRow) or area is None or placed is None:
            return
        menu = QMenu(self._viewport)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.fill(menu, row)
        top = placed.y + self._chat_viewport.item_cache.gap(index)
        corner = area.rect.bottomLeft().toPoint() + QPoint(
            round(self._chat_viewport.column.left), round(top) + 3
        )
        menu.popup(self._viewport.mapToGlobal(corner))

    def fill(self, menu: QMenu, row: ToolRow) -> None:
        """Add what can be done with a call."""
        theme = self._chat_viewport.style.theme
        for entry in actions_for(row):
            if not entry.name:
                menu.addSeparator()
                continue
            action = QAction(icon(entry.icon_name, theme.muted, 15), entry.label, menu)
            action.setObjectName(entry.name)
            action.triggered.connect(
                lambda _=False, name=entry.name: self.action_triggered.emit(row.key, name)
            )
            menu.addAction(action)
