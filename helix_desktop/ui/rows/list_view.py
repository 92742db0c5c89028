"""A list of rows of unlike height on screen: scrolled, selected and used by mouse and keys."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import (
    QAccessible,
    QContextMenuEvent,
    QFocusEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QMenu, QWidget

from helix_desktop.ui.design.dynamic_style import set_style_sheet
from helix_desktop.ui.design.focus import FocusRing, mark_pane_stop
from helix_desktop.ui.design.style.theme import Theme, Themed
from helix_desktop.ui.design.tab_order import keep_own_tab_order
from helix_desktop.ui.rows.interactions import ListInteractions
from helix_desktop.ui.rows.mouse import ListMouse
from helix_desktop.ui.rows.row_widget import RowArea
from helix_desktop.ui.rows.selection import Selection
from helix_desktop.ui.rows.viewport import ListViewport, Spinner
from helix_desktop.words.translation import Translator

tr = Translator("Controls")

_LINE = 44.0  # pixels an arrow key scrolls
_PAGE_OVERLAP = 48.0  # pixels
SCROLL_BAR_PX = 12
"""Width beside the rows: what stands below them leaves it free too, to be in line with them."""


class RowListView(Themed, QAbstractScrollArea):
    """Needs `use` before it is shown: with the parts that a list makes for its kinds of rows."""

    accessible_role = QAccessible.Role.Pane

    def __init__(self, name: str, rows_name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._area = RowArea(rows_name)
        self.setViewport(self._area)
        keep_own_tab_order(self._area)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(name)
        self.viewport().setMouseTracking(True)
        self._ring = FocusRing(self)
        mark_pane_stop(self)

    def use(
        self, rows: ListViewport, selection: Selection, mouse: ListMouse, interactions: ListInteractions
    ) -> None:
        self._rows, self._selection, self._mouse, self._interactions = rows, selection, mouse, interactions
        Spinner(rows)
        rows.layout_changed.connect(mouse.refresh)
        mouse.changed.connect(rows.repaint)
        interactions.focus_leave_requested.connect(self._leave)
        rows.widget_pool.focus_lost.connect(self.setFocus)
        bar = self.verticalScrollBar()
        bar.rangeChanged.connect(lambda low, high: bar.setEnabled(high > low))  # else its handle is shown
        bar.setEnabled(False)

    def show_style(self, theme: Theme) -> None:
        """Show ring, ground and scroll bar in a theme."""
        self._ring.apply_theme()
        set_style_sheet(self, _style(type(self).__name__, theme))

    def selected_text(self) -> str:
        """Return the selected words, rows apart by an empty line."""
        return self._selection.text()

    def copy(self) -> None:
        text = self._selection.text()
        if text:
            QGuiApplication.clipboard().setText(text)

    def select_all(self) -> None:
        """Select the row that was clicked last; asked again, or without one, everything."""
        index = self._mouse.last_index
        if 0 <= index < self._rows.source.count() and not self._selection.is_row_selected(index):
            self._selection.select_row(index)
        else:
            self._selection.select_all()
        self._rows.repaint()

    def viewportEvent(self, event: QEvent) -> bool:
        kind = event.type()
        if isinstance(event, QMouseEvent):
            if kind in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick):
                self.setFocus(Qt.FocusReason.MouseFocusReason)
                double = kind == QEvent.Type.MouseButtonDblClick
                if not (double and self._mouse.double_click(event)):
                    self._mouse.press(event)
                return True
            if kind == QEvent.Type.MouseMove:
                self._mouse.move(event)
                return True
            if kind == QEvent.Type.MouseButtonRelease:
                self._mouse.release(event)
                return True
        elif isinstance(event, QWheelEvent):
            if self._mouse.wheel(event):
                return True
        elif kind == QEvent.Type.Leave:
            self._mouse.clear_hover()
        return super().viewportEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._ring.setGeometry(self.viewport().geometry())
        self._rows.refresh()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self._rows.on_bar_moved()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Scroll, copy, select."""
        height = self.viewport().height()
        steps = {
            Qt.Key.Key_Up: -_LINE,
            Qt.Key.Key_Down: _LINE,
            Qt.Key.Key_PageUp: _PAGE_OVERLAP - height,
            Qt.Key.Key_PageDown: height - _PAGE_OVERLAP,
        }
        key = Qt.Key(event.key())
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.matches(QKeySequence.StandardKey.SelectAll):
            self.select_all()
        elif key in steps and not event.modifiers() & Qt.KeyboardModifier.AltModifier:
            self._rows.scroll_by(steps[key])
        elif key == Qt.Key.Key_Home and self._rows.source.count():
            self._rows.show_row(0, 0.0)
        elif key == Qt.Key.Key_End:
            self._rows.go_to_end()
        elif key == Qt.Key.Key_Escape and self._selection:
            self._selection.clear()
            self._rows.repaint()
            event.ignore()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Coming back with Shift+Tab begins at the last button in sight."""
        super().focusInEvent(event)
        if event.reason() == Qt.FocusReason.BacktabFocusReason:
            self._interactions.focus.enter(forward=False)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Tab goes through the buttons of the rows before it leaves."""
        if forward and self.hasFocus() and self._interactions.focus.enter(forward=True):
            return True
        return super().focusNextPrevChild(forward)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.fill_menu(menu, QPointF(event.pos()))
        menu.popup(event.globalPos())

    def fill_menu(self, menu: QMenu, place: QPointF) -> None:
        """Add what can be done at a place of the viewport."""
        if self._selection:
            menu.addAction(tr("Copy"), self.copy)
        menu.addAction(tr("Select all"), self.select_all)

    def _leave(self, forward: bool) -> None:
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)  # to be seen, and to stay here
        if forward:
            super().focusNextPrevChild(True)


def _style(kind: str, theme: Theme) -> str:
    return (
        f"{kind} {{ background: {theme.canvas}; border: 0; }}"
        f"QScrollBar:vertical {{ background: transparent; width: {SCROLL_BAR_PX}px; margin: 0; border: 0; }}"
        f"QScrollBar::handle:vertical {{ background: {theme.scrollbar}; border-radius: 4px; min-height: 36px;"
        " margin: 2px; }"
        f"QScrollBar::handle:vertical:hover {{ background: {theme.faint}; }}"
        "QScrollBar::handle:vertical:disabled { background: transparent; }"
        "QScrollBar::add-line:vertical, QScrollBar::sub-line:vertical { height: 0; width: 0; border: 0; }"
        "QScrollBar::add-page:vertical, QScrollBar::sub-page:vertical { background: transparent; }"
    )
