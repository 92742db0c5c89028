"""Buttons, what they say once they have copied something, switches, tabs, and the names of pages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QFont,
    QFontMetrics,
    QGuiApplication,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QAccessibleWidget,
    QButtonGroup,
    QFrame,
    QMenu,
    QPushButton,
    QSizePolicy,
    QSpacerItem,
    QToolButton,
    QWidget,
)

from helix_desktop.ui.design.accessibility import TabInterface, announce
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout import LayoutItem, column, row
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.icons import icon
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.words.translation import Translator

tr = Translator("Controls")

_GAP = 4  # pixels


def popup_below(menu: QMenu, anchor: QWidget, place: QRect | None = None) -> None:
    """Open a menu below the widget that asked for it, or a place in it, without a nested event loop."""
    place = anchor.rect() if place is None else place
    menu.popup(anchor.mapToGlobal(QPoint(place.x(), place.y() + place.height() + _GAP)))


def popup_above(menu: QMenu, anchor: QWidget) -> None:
    menu.popup(anchor.mapToGlobal(QPoint(0, -menu.sizeHint().height() - _GAP)))


ICON_GAP_PX = 4
"""Stays free between an icon and the words behind it: Qt's own gap is too tight for Inter."""
SWITCH_TEXT_X = 44  # pixels, where a switch's text begins
_SWITCH_MIN_PX = 160  # the least width at which it wraps
_OFF_OPACITY = 0.45  # of a switch that cannot be used now
_COPIED_MS = 1_500  # how long a button says that it has copied

if TYPE_CHECKING:
    _Button = QAbstractButton
else:
    _Button = object  # a mixin: the class that it is mixed into brings Qt's part
_KEYPAD = Qt.KeyboardModifier.KeypadModifier


class EnterActivates(_Button):
    """Makes Enter press the button that has the keyboard, as Space does."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter} and not event.modifiers() & ~_KEYPAD:
            if not event.isAutoRepeat():
                self.click()
        else:
            super().keyPressEvent(event)


class PushButton(EnterActivates, Themed, QPushButton):
    def __init__(
        self,
        text: str,
        kind: str = "",
        icon_name: str = "",
        *,
        px: int = 15,
        name: str = "",
        words: str = "",
        tip: str = "",
        color: str = "",
        on_click: Callable[..., object] | None = None,
    ) -> None:
        """`kind` is one of the style sheet; `px` is the icon's edge at 100 %; `name` finds the button.

        `words` are its name for screen readers where its text says too little alone, `color` the token of its
        icon where that isn't the kind's.
        """
        super().__init__(text)
        self.setObjectName(name)
        self.setAccessibleName(words)
        self.setToolTip(tip)
        self.setProperty("kind", kind)
        self.setAutoDefault(False)
        self._icon_name = icon_name
        self._px = px
        self._color = color
        self.apply_theme()
        if on_click is not None:
            self.clicked.connect(on_click)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Take a double click as one click: the first one may have turned Undo into Redo."""

    def setText(self, text: str) -> None:
        is_other = bool(text) != bool(self.text())
        super().setText(text)
        if is_other:
            self.apply_theme()

    def set_icon(self, icon_name: str) -> None:
        if icon_name != self._icon_name:
            self._icon_name = icon_name
            self.apply_theme()

    def apply_theme(self) -> None:
        super().apply_theme()
        theme = self._theme
        if self._icon_name:
            colors = {"primary": theme.on_accent, "danger": theme.error, "link": theme.accent_text}
            color = colors.get(str(self.property("kind")), theme.muted)
            color = getattr(theme, self._color) if self._color else color
            gap = ICON_GAP_PX if self.text() else 0
            px = scaled(self._px)
            self.setIcon(icon(self._icon_name, color, px, disabled=theme.faint, gap=gap))
            self.setIconSize(QSize(px + ICON_GAP_PX, px))


class TabButton(PushButton):
    def __init__(self, text: str, kind: str, *, name: str = "") -> None:
        super().__init__(text, kind, name=name)
        self.setCheckable(True)
        self.setAccessibleName(text)

    def make_accessible(self) -> QAccessibleWidget:
        return TabInterface(self)


class TabList(QFrame):
    accessible_role = QAccessible.Role.PageTabList


class IconButton(EnterActivates, Themed, QToolButton):
    """A square button with one icon, its tooltip also its name for screen readers; focus by keyboard only."""

    def __init__(
        self,
        icon_name: str,
        tip: str,
        *,
        px: int = 17,
        edge: int = 30,
        name: str = "",
        on_click: Callable[..., object] | None = None,
    ) -> None:
        """`px` is the icon's edge, `edge` the button's, in pixels at 100 %; `name` finds the button."""
        super().__init__()
        self.setObjectName(name)
        if on_click is not None:
            self.clicked.connect(on_click)
        self._icon_name = icon_name
        self._px = px
        self._edge = edge
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.set_tip(tip)
        self.apply_theme()

    def set_tip(self, tip: str) -> None:
        self.setToolTip(tip)
        self.setAccessibleName(tip)

    def set_icon(self, icon_name: str) -> None:
        self._icon_name = icon_name
        self.apply_theme()

    def apply_theme(self) -> None:
        super().apply_theme()
        px = scaled(self._px)
        edge = scaled(self._edge)
        self.setIconSize(QSize(px, px))
        self.setFixedSize(edge, edge)
        self.setIcon(icon(self._icon_name, self._theme.muted, px))


class Switch(Themed, QAbstractButton):
    def __init__(self, text: str, *, on: bool = False, words: str = "") -> None:
        """`words` are its name for screen readers where it has no text."""
        super().__init__()
        self.setText(text)
        self.setAccessibleName(words or text)
        self.setCheckable(True)
        self.setChecked(on)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def sizeHint(self) -> QSize:
        width = SWITCH_TEXT_X + self.fontMetrics().horizontalAdvance(self.text()) + 4
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        return QSize(min(self.sizeHint().width(), _SWITCH_MIN_PX), self.sizeHint().height())

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        metrics = self.fontMetrics()
        room = QRect(0, 0, max(1, width - SWITCH_TEXT_X), 10_000)
        return max(26, metrics.boundingRect(room, Qt.TextFlag.TextWordWrap, self.text()).height() + 6)

    def _paint_track(self, painter: QPainter, track: QRectF) -> None:
        theme = self._theme
        is_on = self.isChecked()
        track_color = theme.accent if is_on else theme.faint
        color = QColor(track_color if self.isEnabled() else theme.border_strong)
        knob = QRectF(track.right() - 16, track.top() + 2, 14, 14)
        if not is_on:
            knob = QRectF(track.left() + 4, track.top() + 4, 10, 10)
        painter.setPen(QPen(color, 1.5))
        painter.setBrush(color if is_on else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(track.adjusted(0.75, 0.75, -0.75, -0.75), 8.25, 8.25)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.on_accent) if is_on else color)
        painter.drawEllipse(knob)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setOpacity(1.0 if self.isEnabled() else _OFF_OPACITY)
        track = QRectF(2, (self.height() - 18) / 2, 32, 18)
        if self.hasFocus():
            painter.setPen(QPen(QColor(self._theme.accent), 1.5))
            painter.drawRoundedRect(track.adjusted(-1.5, -1.5, 1.5, 1.5), 10.5, 10.5)
        self._paint_track(painter, track)
        painter.setPen(QColor(self._theme.text if self.isEnabled() else self._theme.faint))
        room = QRect(SWITCH_TEXT_X, 0, self.width() - SWITCH_TEXT_X, self.height())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextWordWrap, self.text())


def copy_text(button: PushButton, text: str) -> None:
    QGuiApplication.clipboard().setText(text)
    show_copied(button)


def show_copied(button: PushButton) -> None:
    """Let a button say for a moment, in place of its words, that these are on the clipboard."""
    words = button.text()
    copied = tr("Copied")
    if words != copied:  # else it was clicked twice
        button.setText(copied)
        announce(button, copied)
        QTimer.singleShot(_COPIED_MS, button, lambda: button.setText(words))


class ViewSwitch(TabList):
    view_selected = Signal(str)
    """The user wants this view."""

    def __init__(self, title: str, views: Mapping[Any, str], prefix: str = "view-") -> None:
        """`views` are their names, and what stands on their buttons, which `prefix` and a name find."""
        super().__init__()
        self.setProperty("role", "segments")
        self.setAccessibleName(title)
        self._buttons: dict[str, TabButton] = {}
        group = QButtonGroup(self)
        self._row = row(margins=(2, 2, 2, 2), gap=0)
        self.setLayout(self._row)
        for name, text in views.items():
            button = self._buttons[name] = TabButton(text, "segment", name=f"{prefix}{name}")
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.clicked.connect(lambda _=False, name=name: self.view_selected.emit(name))
            group.addButton(button)
            self._row.addWidget(button)
        self.mark(next(iter(views)))

    def mark(self, name: str) -> None:
        self._buttons[name].setChecked(True)

    def show_views(self, views: Collection[str], current: str, obstacles: Mapping[str, str]) -> None:
        """Show the buttons of these views; those with an obstacle are disabled, and say it on hover."""
        for name, button in self._buttons.items():
            button.setVisible(name in views or name in obstacles)
            button.setEnabled(name in views)
            button.setToolTip(obstacles.get(name, ""))
        self.mark(current)
        self._row.activate()  # else the row around it counts with the width before


_MARGINS_PX = 27  # left and right of the names, with the line at the edge
_ICON_PX = 16  # before a name, at 100 %
_NAV_PX = 196


class PageName(NamedTuple):
    key: str
    title: str
    icon: str = ""


class _PageButton(TabButton):
    """The name of a page. Arrow keys go to the next one, so that never two names are highlighted."""

    stepped = Signal(int)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
        else:
            self.stepped.emit(step)


def _bold_width(button: QPushButton) -> int:
    """Return the pixels a name needs when its page is chosen: its hint is that of the regular weight."""
    bold = QFont(button.font())
    bold.setWeight(QFont.Weight.DemiBold)
    hint = button.sizeHint().width()  # first of all: it gives the button its font
    words = button.text()
    usual = button.fontMetrics().horizontalAdvance(words)
    return hint + QFontMetrics(bold).horizontalAdvance(words) - usual


class PageNames(Themed, TabList):
    """The names of pages, in groups; the shown one is highlighted, and the only one that Tab goes to."""

    selected = Signal(str)
    """The key of the page that the user went to."""

    def __init__(self, groups: Sequence[tuple[str, Sequence[PageName]]], least_px: int = _NAV_PX) -> None:
        """Mark the first page; a group is its heading (empty: none) and its pages.

        The names get `least_px` at 100 %, with the margins beside them, or what the longest needs.
        """
        super().__init__()
        self._least_px = least_px
        self.setAccessibleName(tr("Pages"))
        self._icons: dict[str, str] = {}
        self._buttons: dict[str, _PageButton] = {}
        self._headings: list[tuple[QWidget, list[str]]] = []
        group = QButtonGroup(self)
        names = column(gap=3)
        for heading, pages in groups:
            if heading:
                title = label(heading, "section")
                title.setContentsMargins(12, 10 if self._headings else 0, 0, 2)
                self._headings.append((title, [page.key for page in pages]))
                names.addWidget(title)
            for page in pages:
                button = _PageButton(page.title, "nav")
                button.setObjectName(f"page:{page.key}")
                button.clicked.connect(lambda _=False, key=page.key: self.selected.emit(key))
                button.stepped.connect(self._step)
                group.addButton(button)
                names.addWidget(button)
                self._buttons[page.key] = button
                self._icons[page.key] = page.icon
        names.addStretch(1)
        # A least width of the list itself would let it become narrower than its names.
        self._room = QSpacerItem(0, 0)
        names.addSpacerItem(self._room)
        self.setLayout(names)
        self.current = next(iter(self._buttons))
        self.mark(self.current)
        self.apply_theme()

    def mark(self, key: str) -> None:
        """Highlight the name of the page that is shown; where the keyboard was on another name it follows."""
        self.current = key
        focused = self.window().focusWidget()
        for name, button in self._buttons.items():
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus if name == key else Qt.FocusPolicy.NoFocus)
        self._buttons[key].setChecked(True)
        if focused in self._buttons.values() and focused is not self._buttons[key]:
            self._buttons[key].setFocus(Qt.FocusReason.OtherFocusReason)

    @property
    def current_button(self) -> QPushButton:
        return self._buttons[self.current]

    def show_only(self, keys: Collection[str]) -> None:
        for key, button in self._buttons.items():
            button.setVisible(key in keys)
        for heading, pages in self._headings:
            heading.setVisible(any(key in keys for key in pages))

    def apply_theme(self) -> None:
        super().apply_theme()
        side = scaled(_ICON_PX)
        for key, button in self._buttons.items():
            if self._icons[key]:
                button.setIcon(icon(self._icons[key], self._theme.muted, side, gap=ICON_GAP_PX))
                button.setIconSize(QSize(side + ICON_GAP_PX, side))
        least = scaled(self._least_px) - _MARGINS_PX
        self._room.changeSize(max(least, *map(_bold_width, self._buttons.values())), 0)
        layout = self.layout()
        if layout is not None:
            layout.invalidate()

    def _step(self, offset: int) -> None:
        keys = [key for key, button in self._buttons.items() if not button.isHidden()]
        self.selected.emit(keys[(keys.index(self.current) + offset) % len(keys)])


def page_side(list_name: str, *parts: LayoutItem) -> QFrame:
    """Return the frame beside a page that holds the names of pages; it is found and styled by its name."""
    side = QFrame()
    side.setObjectName(list_name)
    side.setLayout(column(*parts, margins=(14, 24, 12, 16), gap=3))
    side.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
    return side
