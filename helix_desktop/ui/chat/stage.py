"""What the rows' widgets ask for and what their buttons do."""

from __future__ import annotations

from PySide6.QtCore import QObject, QRectF, QTimer, Signal
from PySide6.QtGui import QGuiApplication

from helix_desktop.ui.chat.answer_guard import AnswerGuard
from helix_desktop.ui.chat.board import Board
from helix_desktop.ui.chat.finder import Finder
from helix_desktop.ui.chat.focus import FocusPath
from helix_desktop.ui.chat.paint import Paint
from helix_desktop.ui.chat.pointer import Pointer
from helix_desktop.ui.chat.row_widget import RowWidget
from helix_desktop.ui.chat.rows import OFFER, ApprovalRow, ToolRow, wants_original
from helix_desktop.ui.chat.selection import Selection
from helix_desktop.ui.chat.sheet import Sheet
from helix_desktop.ui.chat.text_piece import Mark

_COPIED_MS = 1_600


class Stage(QObject):
    """The host of the rows' widgets."""

    open_in_cache = Signal(str)
    approval_decided = Signal(str, str, int)
    """Call, answer, and which of the offered rules it is about."""
    action_triggered = Signal(str, str)
    content_wanted = Signal(str, bool)
    menu_wanted = Signal(int)
    card_chosen = Signal(str, str)
    leave_requested = Signal(bool)

    def __init__(
        self, board: Board, pointer: Pointer, selection: Selection, finder: Finder, guard: AnswerGuard
    ) -> None:
        super().__init__(board)
        self._guard = guard
        self._board = board
        self._pointer = pointer
        self._selection = selection
        self._finder = finder
        self.focus = FocusPath(board)
        self._copied = ("", "")
        self._copied_timer = QTimer(self)
        self._copied_timer.setSingleShot(True)
        self._copied_timer.setInterval(_COPIED_MS)
        self._copied_timer.timeout.connect(self._forget_copied)
        pointer.clicked.connect(self.activate)

    def paint_state(self, index: int, sheet: Sheet, widget: RowWidget) -> Paint:
        """How a row looks at this moment."""
        key = sheet.row.key
        paint = Paint(QRectF(), tick=self._board.tick)
        paint.hovered = self._pointer.hovered[1] if self._pointer.hovered[0] == key else ""
        paint.pressed = self._pointer.pressed[1] if self._pointer.pressed[0] == key else ""
        paint.copied = self._copied[1] if self._copied[0] == key else ""
        paint.marks = self._marks(index, sheet)
        return paint

    def activate(self, index: int, hot: str) -> None:
        """Do what a place of a row does."""
        row = self._board.model.row(index)
        kind, _, name = hot.partition(":")
        if kind == "open":
            self._board.sheets.toggle(row.key, name)
            self._board.hold(index)
            if isinstance(row, ToolRow) and wants_original(row) and self._board.sheets.is_open(row.key, name):
                self.content_wanted.emit(row.key, False)
        elif kind == "whole":
            self.content_wanted.emit(row.key, True)
        elif kind == "menu":
            self.menu_wanted.emit(index)
        elif kind in ("subagent", "stop"):
            self.card_chosen.emit(row.key, kind)
        elif kind == "cache" and isinstance(row, ToolRow):
            self.open_in_cache.emit(row.digest)
        elif kind == "decide" and isinstance(row, ApprovalRow):
            self._decide(row, name)
        elif kind == OFFER:
            self._board.sheets.choose(row.key, kind, name)
            self._board.hold(index)
        elif kind == "action":
            self.action_triggered.emit(row.key, name)
        else:
            self._copy_code(index, hot)

    def _decide(self, row: ApprovalRow, answer: str) -> None:
        if self._guard.takes(row.key, f"decide:{answer}"):
            offer = int(self._board.sheets.chosen(row.key, OFFER) or 0)
            self.approval_decided.emit(row.call_id, answer, offer)

    def reset(self) -> None:
        """The rows are others: nothing is selected, sought or clicked any more."""
        self._selection.clear()
        self._finder.clear()
        self._pointer.last_index = -1
        self._board.reset()

    def step_focus(self, forward: bool) -> bool:
        """Move the keyboard to the next place; leaves the conversation after the last one."""
        if not self.focus.step(forward):
            self.leave_requested.emit(forward)
        return True

    def _copy_code(self, index: int, hot: str) -> None:
        sheet = self._board.sheet(index)
        source = sheet.copy_of(hot)
        if source is not None:
            QGuiApplication.clipboard().setText(source)
            self._copied = (sheet.row.key, hot)
            self._copied_timer.start()
            self._board.repaint()

    def _forget_copied(self) -> None:
        self._copied = ("", "")
        self._board.repaint()

    def _marks(self, index: int, sheet: Sheet) -> dict[int, list[Mark]]:
        look, theme = self._board.look, self._board.look.theme
        marks: dict[int, list[Mark]] = {}
        for number, found in self._finder.hits(sheet).items():
            marks[number] = [Mark(*span, look.color(theme.warn_soft)) for span in found]
        current = self._finder.current
        if current is not None and current[0].row == index:
            spot, length = current
            hit = Mark(spot.position, spot.position + length, look.color(theme.text_selection))
            marks.setdefault(spot.text, []).append(hit)
        for number, span in self._selection.ranges(index, sheet).items():
            marks.setdefault(number, []).append(Mark(*span, look.color(theme.text_selection)))
        return marks
