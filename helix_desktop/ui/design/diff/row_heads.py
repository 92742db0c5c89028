"""The rows of a diff that are no lines: unchanged lines that can be opened, and the head of a hunk."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, QPoint, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QApplication, QHBoxLayout, QWidget

from helix_desktop.domain.file_history.diff import FileDiff, Hunk
from helix_desktop.ui.design.buttons import EnterActivates, PushButton
from helix_desktop.ui.design.diff.hunk_mark import NO_MARK, HunkMark
from helix_desktop.ui.design.diff.rows import RowRange
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.design.mirror import keep_left_to_right
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.words.direction import dotted
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

FOLD_HEIGHT, HEAD_HEIGHT = 24, 30  # pixels at 100 %
_ICON_PX, _PAD = 13, 12


class CollapsedRow(EnterActivates, Themed, QAbstractButton):
    """Unchanged lines that are not in sight; a click opens them."""

    clicked_hunk = Signal(int)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._hunk = 0
        self.setToolTip(tr("Show unchanged lines"))
        self.clicked.connect(lambda: self.clicked_hunk.emit(self._hunk))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def show_range(self, row_range: RowRange) -> None:
        self._hunk = row_range.hunk
        self.setText(tr.plural(len(row_range.rows), "%n unchanged line", "%n unchanged lines"))
        self.setAccessibleName(self.text())

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self._theme, QPainter(self)
        keep_left_to_right(painter)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), QColor(theme.hover if self.underMouse() else theme.no_line))
        if self.hasFocus():
            painter.setPen(QPen(QColor(theme.accent), 1.5))
            painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), 4, 4)
        side = scaled(_ICON_PX)
        top = (self.height() - side) // 2
        painter.drawPixmap(
            QPoint(scaled(_PAD), top), pixmap("ellipsis", theme.muted, side, self.devicePixelRatioF())
        )
        painter.setFont(ui_font(12))
        painter.setPen(QColor(theme.muted))
        room = self.rect().adjusted(scaled(_PAD) + side + 8, 0, -8, 0)
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, self.text())


class HunkHead(Themed, QWidget):
    revert_requested = Signal(int)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._number = 0
        self._place = TextLine("", 12, role="muted")
        self.revert = PushButton(tr("Revert"), "link", "undo-2", px=13, name="revert-hunk")
        self.revert.clicked.connect(lambda: self.revert_requested.emit(self._number))
        row = QHBoxLayout(self)
        row.setContentsMargins(scaled(_PAD), 0, scaled(6), 0)
        row.addWidget(self._place, 1)
        row.addWidget(self.revert)

    @property
    def words(self) -> str:
        return self._place.text

    def show_hunk(self, number: int, hunk: Hunk, mark: HunkMark, *, is_redo: bool) -> None:
        """Stand above another hunk; `number` counts them from 0. `is_redo`: its button does it again."""
        self._number, place = number, lines_of(hunk)
        self._place.set_text(hunk_words(hunk, mark))
        self.revert.setText(tr("Redo") if is_redo else tr("Revert"))
        self.revert.set_icon("redo-2" if is_redo else "undo-2")
        self.revert.setToolTip(hunk_verb(is_redo=is_redo))
        self.revert.setAccessibleName(
            tr("Redo change {number}, {lines}", number=number + 1, lines=place)
            if is_redo
            else tr("Revert change {number}, {lines}", number=number + 1, lines=place)
        )

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), QColor(self._theme.no_line))


def hunk_words(hunk: Hunk, mark: HunkMark) -> str:
    """Return which lines a hunk is about, and what became of it."""
    return dotted((lines_of(hunk), mark.word))


def hunk_verb(*, is_redo: bool) -> str:
    return tr("Redo this change") if is_redo else tr("Revert this change")


def lines_of(hunk: Hunk) -> str:
    """Return which lines of the later content a hunk is about; of the former one if none is left."""
    changed = [line for line in hunk.lines if line.kind != "same"]
    later = [line.new for line in changed if line.new]
    numbers = later or [line.old for line in changed]
    first, last = min(numbers), max(numbers)
    if first == last:
        return tr("Line {number}", number=first) if later else tr("Removed line {number}", number=first)
    if later:
        return tr("Lines {first}–{last}", first=first, last=last)
    return tr("Removed lines {first}–{last}", first=first, last=last)


class RowHeads(QObject):
    """The widgets of the rows in sight that are no lines, as children of what they are drawn over."""

    fold_clicked = Signal(int)
    revert_clicked = Signal(int)

    def __init__(self, viewport: QWidget) -> None:
        super().__init__(viewport)
        self._viewport = viewport
        self.is_redo = False
        """Whether to revert a hunk is a redo."""
        self.marks: Sequence[HunkMark] = ()
        """What became of the hunks; none named: they are as the diff says."""
        self._in_sight: dict[tuple[str, int], CollapsedRow | HunkHead] = {}
        self._free: dict[str, list[CollapsedRow | HunkHead]] = {"fold": [], "head": []}

    def mark_of(self, hunk: int) -> HunkMark:
        return self.marks[hunk] if hunk < len(self.marks) else NO_MARK

    def does_redo(self, hunk: int) -> bool:
        return self.is_redo != self.mark_of(hunk).is_over

    def show_marks(self, marks: Sequence[HunkMark], diff: FileDiff) -> None:
        self.marks = marks
        for (_, hunk), widget in self._in_sight.items():
            self._fill(widget, hunk, diff)

    def clear(self) -> None:
        for key in list(self._in_sight):
            self._put_away(key)

    def place(self, heads: list[tuple[RowRange, int, int]], diff: FileDiff) -> None:
        """Show the rows of these ranges at these tops and heights in pixels, and no others."""
        for key in self._in_sight.keys() - {(row_range.kind, row_range.hunk) for row_range, _, _ in heads}:
            self._put_away(key)
        for row_range, top, height in heads:
            key = (row_range.kind, row_range.hunk)
            if key not in self._in_sight:
                self._in_sight[key] = self._take(row_range, diff)
            widget = self._in_sight[key]
            widget.setGeometry(0, top, self._viewport.width(), height)
            widget.show()
            widget.raise_()  # Tab goes through them as they are stacked

    def _put_away(self, key: tuple[str, int]) -> None:
        """Hide a row that is out of sight; the keyboard goes to the text."""
        widget = self._in_sight.pop(key)
        focused, parent = QApplication.focusWidget(), self._viewport.parentWidget()
        if parent is not None and focused is not None and (focused is widget or widget.isAncestorOf(focused)):
            is_by_keyboard = parent.window().testAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange)
            parent.setFocus(
                Qt.FocusReason.TabFocusReason if is_by_keyboard else Qt.FocusReason.OtherFocusReason
            )
        widget.hide()
        self._free[key[0]].append(widget)

    def _take(self, row_range: RowRange, diff: FileDiff) -> CollapsedRow | HunkHead:
        free = self._free[row_range.kind]
        widget = free.pop() if free else self._make(row_range)
        if isinstance(widget, CollapsedRow):
            widget.show_range(row_range)
        self._fill(widget, row_range.hunk, diff)
        return widget

    def _fill(self, widget: CollapsedRow | HunkHead, hunk: int, diff: FileDiff) -> None:
        if isinstance(widget, HunkHead):
            widget.show_hunk(hunk, diff.hunks[hunk], self.mark_of(hunk), is_redo=self.does_redo(hunk))

    def _make(self, row_range: RowRange) -> CollapsedRow | HunkHead:
        widget: CollapsedRow | HunkHead
        if row_range.kind == "fold":
            widget = CollapsedRow(self._viewport)
            widget.clicked_hunk.connect(self.fold_clicked)
        else:
            widget = HunkHead(self._viewport)
            widget.revert_requested.connect(self.revert_clicked)
            widget.setCursor(Qt.CursorShape.ArrowCursor)
        return widget
