"""The ordered list of what the next request contains: what can be done with a row, painting, the list."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import accumulate

from PySide6.QtCore import QEvent, QModelIndex, QPoint, QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QCursor, QFocusEvent, QFontMetricsF, QKeyEvent, QPainter
from PySide6.QtWidgets import QStyle

from helix_desktop.context.window.window_breakdown import WindowItemState
from helix_desktop.domain.digest import RECALL_TOOL
from helix_desktop.ui.design.buttons import IconButton
from helix_desktop.ui.design.cards import Tone
from helix_desktop.ui.design.focus import paint_row_focus
from helix_desktop.ui.design.key_names import pressed_key
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.kit.boxes import Box, Dot, Icon, Pill, Row, Space, Text, paint_box
from helix_desktop.ui.kit.commands import EntryMenu, PageKeys
from helix_desktop.ui.kit.intents import Intent, perform
from helix_desktop.ui.panel.panel_state import (
    SEGMENT_LOOKS,
    RequestGroup,
    RowAction,
    WindowRow,
    request_groups,
)
from helix_desktop.ui.rows.choice_list import ChoiceList
from helix_desktop.ui.rows.list_view import ARRIVAL_S
from helix_desktop.words.numbers import format_token_count, format_tokens
from helix_desktop.words.state_words import OUTDATED, STATE_WORDS
from helix_desktop.words.translation import Translator, translate

tr = Translator("Panel")

COMMAND_ACTIONS: dict[str, tuple[RowAction, ...]] = {
    "context_pin": ("pin", "unpin"),
    "context_cache": ("cache",),
    "context_recall": ("include", "send_full", "undo"),
    "context_exclude": ("exclude", "include"),
}
"""The action of a key's command; of two the one that the row has."""
_CHANGES: frozenset[RowAction] = frozenset(
    {"cache", "send_full", "undo", "pin", "unpin", "exclude", "include"}
)
"""Actions that change what the model sees: a row with one of them has the button."""
_EDGE = 22  # pixels of the button
_AROUND = 2  # pixels left and right of it


def action_text(action: RowAction, row: WindowRow) -> str:
    texts: dict[RowAction, str] = {
        "show": tr("Show in chat"),
        "cache": tr("Cache now… (saves up to {tokens} tokens)", tokens=format_tokens(row.cachable)),
        "send_full": " · ".join(filter(None, (send_full_text(row), _added_text(row.whole - row.tokens)))),
        "undo": " · ".join(
            filter(None, (translate(STATE_WORDS["handed_over"].verb), _added_text(row.undo_tokens)))
        ),
        "open": tr("Open output"),
        "pin": tr("Pin in context"),
        "unpin": translate(STATE_WORDS["pinned"].verb),
        "exclude": tr("Leave out…"),
        "include": translate(STATE_WORDS["excluded"].verb),
    }
    return texts[action]


def send_full_text(row: WindowRow) -> str:
    return translate(STATE_WORDS["cached"].verb) if row.was_sent_whole else tr("Send all of it")


def _added_text(tokens: int) -> str:
    return tr("adds ≈ {tokens} tokens", tokens=format_tokens(tokens)) if tokens > 0 else ""


def action_key(action: RowAction, keys: PageKeys) -> str:
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
    return _with_resent(less, resent)


def send_full_price_text(added: int, resent: int) -> str:
    """Return what it costs to send a content in full again: with every request, and once."""
    more = tr("Adds about {tokens} to every later request.", tokens=format_token_count(max(0, added)))
    return _with_resent(more, resent)


def _with_resent(words: str, resent: int) -> str:
    tokens = format_token_count(resent)
    once = tr("{tokens} are billed at the full price again, once.", tokens=tokens)
    return f"{words} {once}" if resent else words


def cut_middle(metrics: QFontMetricsF, words: str, room: float) -> str:
    """Shorten a call to so many pixels: its end tells the parts of one file apart.

    A word is cut only where its end would not fit: "Ran … unittest -v", not "Ran python…ittest -v".
    """
    cut = metrics.elidedText(words, Qt.TextElideMode.ElideMiddle, room)
    head, _, tail = cut.partition("…")
    end = words[words.rfind(" ", 0, len(words) - len(tail)) + 1 :]
    whole = f"{head.rpartition(' ')[0]} … {end}"
    return whole if " " in head and metrics.horizontalAdvance(whole) <= room else cut


# What rows of a request want.
# fmt: off

class ActOnRow(Intent, frozen=True):
    action: RowAction
    row: WindowRow
class ShowRowText(Intent, frozen=True):  # as it is sent
    row: WindowRow

# fmt: on


class _RowButton(IconButton):
    """The button that opens a row's menu, left of its state and tokens, which stay in sight."""

    left = Signal()  # the keyboard left it

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.left.emit()


ROW_HEIGHT = 32  # pixels at 100 %

_TONES: dict[WindowItemState, Tone] = {"pinned": "ok", "cut": "warn", "not_read": "warn", "excluded": "warn"}
_OUT_PX = 8  # that the ground of a row reaches out to both sides
_GAP_PX = 8  # between the parts of a row
_INDENT_PX = 24  # of a row in an open group: the dot is its group's


class RequestList(ChoiceList[WindowRow]):
    """The list at its full height: the panel around it scrolls, so Qt paints only what is in sight.

    Rows are those of all groups, with headings; of a closed group only the first is shown. While
    `is_read_only` nothing in it changes the session: it is a request of the past.
    """

    def __init__(self, keys: PageKeys, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` gives seconds."""
        super().__init__(tr("In the next request"))
        self._clock = clock
        self._moved_at = float("-inf")  # another row came under the mouse then
        self.is_read_only = False
        self._keys = keys
        self.groups: dict[int, RequestGroup] = {}  # of several rows, by the first one
        self._open_groups = set[int]()  # by the event of the first row
        self._covered = -1  # the row with the button
        self.setUniformItemSizes(True)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        tip = tr("Pin, cache, leave out…")
        self.button = _RowButton("ellipsis", tip, px=14, edge=_EDGE, name="row_menu")
        self.button.setParent(self.viewport())
        self.button.hide()
        self.button.clicked.connect(self._open_button_menu)
        self.button.left.connect(self._show_button)
        self.entered.connect(self._show_button)
        self.selectionModel().currentChanged.connect(self._show_current)
        self.clicked.connect(self._click_by_mouse)
        self.apply_theme()

    def show_rows(self, rows: Sequence[WindowRow]) -> None:
        """Show other rows; the current one stays current where it is now.

        Without the keyboard no other row becomes current for one that is gone.
        """
        current = self.current
        place = self.currentIndex().row()
        groups = request_groups(rows)
        under_mouse = self._key_under_mouse()
        starts = accumulate((len(group.rows) for group in groups), initial=0)
        self.groups = {at: group for at, group in zip(starts, groups, strict=False) if len(group.rows) > 1}
        self.set_rows([row for group in groups for row in group.rows])
        if current is not None:
            index = self.index_of_key(self.key_of(current))
            if not index.isValid() and self.hasFocus():
                index = self.row_model.index(min(place, len(self.rows) - 1))
            self.setCurrentIndex(index)
        self._hide_rows()
        if self._key_under_mouse() != under_mouse:
            self.take_no_click()

    def take_no_click(self) -> None:
        """Take none for a moment: it is meant for what stood there."""
        self._moved_at = self._clock()

    def _key_under_mouse(self) -> tuple[object, ...]:
        at = self.viewport().mapFromGlobal(QCursor.pos())
        row = self.row_at(self.indexAt(at)) if self.viewport().rect().contains(at) else None
        return self.key_of(row) if row is not None else ()

    def key_of(self, row: WindowRow) -> tuple[object, ...]:
        """Return what tells a row apart: its event and part, or what is always sent."""
        return (row.seq, row.part, row.is_heading) if row.seq else (row.kind, row.name)

    def data_of(self, at: int, role: int) -> object:
        row = self.rows[at]
        closed = self.closed_group(at)
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            outdated = translate(OUTDATED) if row.is_outdated else ""
            tokens = tr.plural(row.tokens, "%n token", "%n tokens")
            words = [row.name, tokens, row.state_text, row.why, outdated]
            if closed is not None:
                count = len(closed.rows) - row.is_heading
                parts = tr.plural(count, "%n part, Right opens it", "%n parts, Right opens them")
                words = [closed.label, parts, closed.tokens_text, *closed.states]
            elif row.is_heading:
                words = [row.name, self.groups[at].tokens_text]
            return " · ".join(filter(None, words))
        return (closed or row).tooltip if role == Qt.ItemDataRole.ToolTipRole else None

    def height_of(self, row: WindowRow) -> int:
        return ROW_HEIGHT

    def paint_row(self, painter: QPainter, box: QRectF, at: int, state: QStyle.StateFlag) -> None:
        row = self.rows[at]
        box = box.adjusted(0, 1, 0, -1)
        flag = QStyle.StateFlag
        self.paint_ground(painter, box, state)
        if state & flag.State_HasFocus and state & flag.State_KeyboardFocusChange:
            paint_row_focus(painter, box, self._theme.accent, is_keyboard=True)
        # A call's end names its part of a file, that of a handover summary its turns.
        is_told_by_end = row.kind == "handover" or (row.tool and row.tool != RECALL_TOOL)
        cut = cut_middle if is_told_by_end else None
        name = Text(row.label, color="text", cut=cut, grow=True, shrink=True)
        button = [Space(ROW_HEIGHT - 8)] if at == self._covered else []
        is_inside = self._start_of(at) < at
        start = Space(_INDENT_PX) if is_inside else Dot(SEGMENT_LOOKS[row.kind].color, 8)
        content = Row([start, Space(4 - _GAP_PX), name, *button, *self._end(at)], _GAP_PX)
        paint_box(painter, box.adjusted(_OUT_PX, 0, -_OUT_PX, 0), self._theme, content)

    def _end(self, at: int) -> list[Box]:
        """Return state, if it is unusual, whether a click opens it, and tokens; of a group those of all."""
        row = self.rows[at]
        group = self.groups.get(at)
        closed = self.closed_group(at)
        tone = _TONES.get(row.state, "neutral") if row.state and not closed else "neutral"
        shown = closed or row
        tones: dict[str, Tone] = {translate(OUTDATED): "warn"}
        state: list[Box] = [
            Pill(word, tones.get(word, tone), px=10, high=16, dot=shown.state_color)
            for word in shown.shown_states
        ]
        is_open = group is not None and closed is None
        mark = [Icon("chevron-down" if is_open else "chevron-right", "faint", 14)]
        mark = mark if self._start_of(at) == at else []
        return [*state, *mark, Text((group or row).tokens_text, 12, "muted")]

    def _start_of(self, at: int) -> int:
        """Return the first row of the group that a row is in, its own if it is in none."""
        start = max((start for start in self.groups if start <= at), default=at)
        return start if start in self.groups and at < start + len(self.groups[start].rows) else at

    def closed_group(self, at: int) -> RequestGroup | None:
        """Return the group that a row stands for while its other rows are hidden."""
        return self.groups.get(at) if self.rows[at].seq not in self._open_groups else None

    def close_groups(self) -> None:
        self._open_groups.clear()
        self._hide_rows()

    def open_group(self, start: int, is_open: bool = True) -> None:
        """Show or hide the rows of a group but the first, which is current if one of them was."""
        current = self.currentIndex()
        if not is_open and current.isValid() and self._start_of(current.row()) == start:
            self.setCurrentIndex(self.row_model.index(start))
        seq = self.rows[start].seq
        if is_open:
            self._open_groups.add(seq)
        else:
            self._open_groups.discard(seq)
        self._hide_rows()

    def _hide_rows(self) -> None:
        hidden = set[int]()
        for start in self.groups:
            if closed := self.closed_group(start):
                hidden.update(range(start + 1, start + len(closed.rows)))
        for at in range(len(self.rows)):
            self.setRowHidden(at, at in hidden)
        self.setFixedHeight((len(self.rows) - len(hidden)) * scaled(ROW_HEIGHT))
        self.viewport().update()  # what a closed group adds up may have changed below its row
        self._show_button()  # its row may be elsewhere now, or end otherwise

    def _show_current(self, current: QModelIndex) -> None:
        """Open the group of the current row: the keyboard is never on what is hidden."""
        if current.isValid() and (start := self._start_of(current.row())) < current.row():
            self.open_group(start)
        self._show_button()

    def _click_by_mouse(self, index: QModelIndex) -> None:
        if self._clock() - self._moved_at >= ARRIVAL_S:
            self._click(index)

    def _click(self, index: QModelIndex) -> None:
        """Open or close a group; of a row show its text: the chat stays where the user reads."""
        if index.row() in self.groups:
            self.open_group(index.row(), is_open=self.closed_group(index.row()) is not None)
        else:
            perform(self, ShowRowText(self.rows[index.row()]))

    def apply_theme(self) -> None:
        self._hide_rows()
        super().apply_theme()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row = self.current
        at = self.currentIndex().row()
        command = self._keys.command_of(event)
        if row is None:
            super().keyPressEvent(event)
        elif event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self.open_group(self._start_of(at), is_open=event.key() == Qt.Key.Key_Right)
        elif event.key() == Qt.Key.Key_Menu:
            self._open_menu(row, self.viewport().mapToGlobal(self.visualRect(self.currentIndex()).center()))
        elif pressed_key(event) == "Return":
            self._click(self.currentIndex())
        elif command == "context_text" and not row.is_heading:
            perform(self, ShowRowText(row))
        elif command:
            self._trigger(COMMAND_ACTIONS.get(command, ()), row)
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        row = self.row_at(self.indexAt(event.pos()))
        if row is not None:
            self._open_menu(row, event.globalPos())

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._show_button()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        QTimer.singleShot(0, self, self._show_button)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._show_button()

    def _trigger(self, actions: tuple[RowAction, ...], row: WindowRow) -> None:
        possible = self._actions_of(row)
        action = next((action for action in actions if action in possible and row.can_act(action)), None)
        if action is not None:
            perform(self, ActOnRow(action, row))

    def _actions_of(self, row: WindowRow) -> tuple[RowAction, ...]:
        return tuple(action for action in row.actions if action == "show" or not self.is_read_only)

    def _show_button(self, *_: object) -> None:
        """Show the button on the row under the mouse, else on the one that has the keyboard."""
        at = self.viewport().mapFromGlobal(QCursor.pos())
        index = self.indexAt(at) if self.viewport().rect().contains(at) and self.underMouse() else None
        has_keyboard = self.hasFocus() or self.button.hasFocus()
        if index is None or not index.isValid():
            index = self.currentIndex() if has_keyboard else QModelIndex()
        row = self.row_at(index)
        is_shown = row is not None and not self.is_read_only and not _CHANGES.isdisjoint(row.actions)
        self.button.setVisible(is_shown)
        if is_shown:
            rect = self.visualRect(index)
            edge = scaled(_EDGE)
            end = _OUT_PX + _GAP_PX + Row(self._end(index.row()), _GAP_PX).width()
            x = rect.right() - round(end) - edge - _AROUND
            place = QRect(x, rect.center().y() - edge // 2, edge, edge)
            self.button.setGeometry(place)
            self.button.raise_()
        covered = index.row() if is_shown else -1
        if covered != self._covered:
            self._covered = covered
            self.viewport().update()

    def _open_button_menu(self) -> None:
        if self._covered >= 0 and self._clock() - self._moved_at >= ARRIVAL_S:
            row = self.rows[self._covered]
            self._open_menu(row, self.button.mapToGlobal(self.button.rect().bottomLeft()))

    def _open_menu(self, row: WindowRow, at: QPoint) -> None:
        menu = EntryMenu(self)
        key = self._keys.shown_key("context_text")
        if not row.is_heading:
            menu.add("row_text", tr("Show sent text"), ShowRowText(row), key)
        for action in self._actions_of(row):
            key = action_key(action, self._keys)
            can_act = row.can_act(action)
            menu.add(
                f"row_{action}", action_text(action, row), ActOnRow(action, row), key, is_enabled=can_act
            )
        menu.popup(at)
