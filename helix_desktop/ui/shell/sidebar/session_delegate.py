"""How one row of the session list looks."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QLineEdit, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from helix_desktop.ui.design.labels import elide_title
from helix_desktop.ui.design.mirror import draw_chevron, draw_pixmap, draw_text, mirror
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.ui.design.style.theme import LIGHT, Theme
from helix_desktop.ui.design.usage_bar import paint_usage_bar, pressure_color
from helix_desktop.ui.shell.sidebar.session_model import FOLDED_ROLE, ITEM_ROLE, RUNNING_ROLE, WHEN_ROLE
from helix_desktop.ui.shell.sidebar.session_rows import SessionItem
from helix_desktop.words.translation import Translator

tr = Translator("Window")

_Index = QModelIndex | QPersistentModelIndex
_BAR_PX = 40
_NESTED_PX = 30
_DOT = " · "  # between the parts of the second line
_ELLIPSIS = "…"
_INDENT_PX, _MAX_DEPTH = 16, 4
_MARK_PX = 13  # an icon before the title: failed, archived, branch


class SessionDelegate(QStyledItemDelegate):
    """Paints headings and two-line sessions with a mini gauge; edits titles in place."""

    def __init__(self, parent: QWidget) -> None:
        """Belong to a view."""
        super().__init__(parent)
        self.theme: Theme = LIGHT
        self._sizes: dict[int, QSize] = {}  # by height at 100 %

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme, and the text size in force."""
        self.theme = theme
        self._sizes = {}

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        """Return a fixed height per kind of row, so that thousands cost nothing."""
        entry = index.data(ITEM_ROLE)
        height = 34 if isinstance(entry, str) else _NESTED_PX if _is_one_line(entry) else 55
        if height not in self._sizes:
            self._sizes[height] = QSize(120, round(height * fonts.scale(self._base())))
        return self._sizes[height]

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Paint one row."""
        entry = index.data(ITEM_ROLE)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        bounds = QRectF(option.rect)
        mirror(painter, bounds)
        if isinstance(entry, str):
            self._paint_heading(painter, bounds, index, option.state)
        elif isinstance(entry, SessionItem):
            box = bounds.adjusted(8 + _indent(entry), 1, -8, -1)
            self._paint_background(painter, box, option.state, entry.active)
            if entry.parent:
                line = box if _is_one_line(entry) else box.adjusted(0, 0, 0, -box.height() * 0.45)
                self._paint_nested(painter, line, entry)
            else:
                self._paint_title(painter, box, entry, str(index.data(WHEN_ROLE)))
            if not _is_one_line(entry):
                self._paint_second_line(painter, box, entry)
        painter.restore()

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: _Index) -> QWidget:
        """Return a field for the title."""
        field = QLineEdit(parent)
        field.setMaxLength(1_000)
        field.setAccessibleName(tr("Session title"))
        return field

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: _Index) -> None:
        """Lay the field over the row: half of the line below the title would show under a smaller one."""
        area: QRect = option.rect
        entry = index.data(ITEM_ROLE)
        indent = _indent(entry) if isinstance(entry, SessionItem) else 0
        place = area.adjusted(12 + indent, 5, -12, -5)
        if isinstance(entry, SessionItem) and entry.parent:
            place = area.adjusted(30 + indent, 1, -12, -1)
        editor.setGeometry(QStyle.visualRect(editor.layoutDirection(), area, place))

    def _paint_heading(
        self, painter: QPainter, bounds: QRectF, index: _Index, state: QStyle.StateFlag
    ) -> None:
        """Paint a heading; that of the archive with a sign that it can be folded, and hover and focus."""
        is_folded = index.data(FOLDED_ROLE)
        words = bounds.adjusted(20, 8, 0, 0)
        if is_folded is not None:
            self._paint_background(painter, bounds.adjusted(8, 8, -8, -1), state)
            side = fonts.scaled(13)
            left, top = bounds.right() - 20 - side, words.center().y() - side / 2
            draw_chevron(painter, left, top, self.theme.muted, side, is_open=not is_folded)
            if is_folded and index.data(RUNNING_ROLE):
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(QColor(self.theme.seg_assistant))
                painter.drawEllipse(QPointF(bounds.right() - 33 - side, words.center().y()), 3.5, 3.5)
        painter.setFont(fonts.sized(self._base(), 11, QFont.Weight.DemiBold))
        painter.setPen(QColor(self.theme.faint))
        draw_text(painter, words, Qt.AlignmentFlag.AlignVCenter, str(index.data()))

    def _paint_background(
        self, painter: QPainter, box: QRectF, state: QStyle.StateFlag, is_active: bool = False
    ) -> None:
        background = ""
        if is_active:
            background = self.theme.selection
        elif state & (QStyle.StateFlag.State_MouseOver | QStyle.StateFlag.State_Selected):
            background = self.theme.hover
        focused = (
            state & QStyle.StateFlag.State_HasFocus and state & QStyle.StateFlag.State_KeyboardFocusChange
        )
        painter.setPen(QPen(QColor(self.theme.accent), 2) if focused else Qt.PenStyle.NoPen)
        painter.setBrush(QColor(background) if background else Qt.BrushStyle.NoBrush)
        if background or focused:
            painter.drawRoundedRect(box.adjusted(1, 1, -1, -1) if focused else box, 9, 9)

    def _failure_mark(self, item: SessionItem) -> tuple[str, str]:
        """Return icon and color for a turn that failed, or ended because the budget is spent."""
        if item.budget_spent:
            return "triangle-alert", self.theme.warn
        return "circle-alert", self.theme.error

    def _paint_nested(self, painter: QPainter, box: QRectF, item: SessionItem) -> None:
        """Paint a subagent's session on one line: icon, title, and a dot while it works."""
        color = self.theme.text if item.active else self.theme.muted
        side = fonts.scaled(14)
        ratio = painter.device().devicePixelRatioF()
        top = box.center().y() - side / 2
        icon = pixmap(*self._failure_mark(item), side, ratio) if item.failure else None
        draw_pixmap(painter, box.x() + 9, top, icon or pixmap("bot", color, side, ratio))
        busy = item.running or item.waiting
        state = tr("Stopped") if item.stopped and not item.failure else ""
        small = fonts.sized(self._base(), 11)
        state_width = QFontMetricsF(small).horizontalAdvance(state)
        if state:
            painter.setFont(small)
            painter.setPen(QColor(self.theme.faint))
            state_rect = QRectF(box.right() - 12 - state_width, box.y(), state_width + 1, box.height())
            draw_text(painter, state_rect, Qt.AlignmentFlag.AlignVCenter, state)
        font = fonts.sized(self._base(), 12, QFont.Weight.Medium if item.active else QFont.Weight.Normal)
        painter.setFont(font)
        painter.setPen(QColor(color))
        left = 17 + side
        room = box.width() - left - (26 if busy else 12) - (state_width + 8 if state else 0)
        title = QFontMetricsF(font).elidedText(item.title, Qt.TextElideMode.ElideRight, room)
        place = QRectF(box.x() + left, box.y(), room, box.height())
        draw_text(painter, place, Qt.AlignmentFlag.AlignVCenter, title)
        if busy:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(self.theme.seg_output if item.waiting else self.theme.seg_assistant))
            painter.drawEllipse(QPointF(box.right() - 15, box.center().y()), 3.5, 3.5)

    def _paint_title(self, painter: QPainter, box: QRectF, item: SessionItem, when: str) -> None:
        small = fonts.sized(self._base(), 11)
        painter.setFont(small)
        painter.setPen(QColor(self.theme.muted if item.active else self.theme.faint))
        width = QFontMetricsF(small).horizontalAdvance(when)
        top, height = box.y() + box.height() * 0.11, box.height() * 0.4
        draw_text(
            painter,
            QRectF(box.right() - 12 - width, top, width + 1, height),
            Qt.AlignmentFlag.AlignVCenter,
            when,
        )
        bold = fonts.sized(self._base(), 13, QFont.Weight.DemiBold if item.active else QFont.Weight.Medium)
        painter.setFont(bold)
        painter.setPen(QColor(self.theme.text))
        left = 12.0
        marks = (
            (*self._failure_mark(item), bool(item.failure)),
            ("archive", self.theme.muted, item.place.archived),
            ("git-branch", self.theme.muted, bool(item.branch_of)),
        )
        for name, color in ((name, color) for name, color, is_marked in marks if is_marked):
            side = fonts.scaled(_MARK_PX)
            mark = pixmap(name, color, side, painter.device().devicePixelRatioF())
            draw_pixmap(painter, box.x() + left, top + (height - side) / 2, mark)
            left += side + 6
        room = box.width() - left - 12 - width - 10
        title = elide_title(QFontMetricsF(bold), item.title, room)
        draw_text(painter, QRectF(box.x() + left, top, room, height), Qt.AlignmentFlag.AlignVCenter, title)

    def _paint_second_line(self, painter: QPainter, box: QRectF, item: SessionItem) -> None:
        small = fonts.sized(self._base(), 12)
        painter.setFont(small)
        painter.setPen(QColor(self.theme.muted if item.active else self.theme.faint))
        top, height = box.y() + box.height() * 0.5, box.height() * 0.36
        is_marked = item.running or item.waiting
        bar_px = 0 if item.used is None and not is_marked else _BAR_PX + (24 if is_marked else 10)
        room = box.width() - 24 - bar_px
        metrics = QFontMetricsF(small)
        if item.found is not None:
            room = box.width() - 24
            line = f"{tr('Waiting for you')}{_DOT}{item.found.line}" if item.waiting else item.found.line
            text = metrics.elidedText(line, Qt.TextElideMode.ElideRight, room)
            draw_text(painter, QRectF(box.x() + 12, top, room, height), Qt.AlignmentFlag.AlignVCenter, text)
            return
        words = f"{tr('Waiting for you')}{_DOT}{item.subtitle}" if item.waiting else item.subtitle
        text = fitted_text(words, metrics, room)
        draw_text(painter, QRectF(box.x() + 12, top, room, height), Qt.AlignmentFlag.AlignVCenter, text)
        middle = top + height / 2
        bar = QRectF(box.right() - 12 - _BAR_PX, middle - 2, _BAR_PX, 4)
        if item.used is not None:
            paint_usage_bar(painter, bar, item.used, pressure_color(item.pressure, self.theme), self.theme)
        painter.setPen(Qt.PenStyle.NoPen)
        if is_marked:
            painter.setBrush(QColor(self.theme.seg_output if item.waiting else self.theme.seg_assistant))
            painter.drawEllipse(QPointF(bar.x() - 11, middle), 3.5, 3.5)

    def _base(self) -> QFont:
        view = self.parent()
        return view.font() if isinstance(view, QWidget) else fonts.base()


def fitted_text(text: str, metrics: QFontMetricsF, room: float) -> str:
    """Return what a row has room for, and "…" for the rest: a part of a name at the end, not of a figure."""
    elided = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)
    cut_at = len(elided.removesuffix(_ELLIPSIS))
    if elided == text or cut_at > text.rfind(_DOT):
        return elided
    start, end = text.rfind(" ", 0, cut_at) + 1, text.find(" ", cut_at)
    if not any(char.isdigit() for char in text[start:end]):
        return elided
    # Right behind a figure the sign would make it look cut.
    return text[:end] if cut_at == end else f"{text[:start]}{_ELLIPSIS}"


def _is_one_line(item: SessionItem) -> bool:
    """Return True for a subagent's session, which has no second line unless a search found one."""
    return bool(item.parent) and item.found is None


def _indent(item: SessionItem) -> int:
    """Return how far a session is moved to the right, in pixels."""
    return _INDENT_PX * min(item.depth, _MAX_DEPTH)
