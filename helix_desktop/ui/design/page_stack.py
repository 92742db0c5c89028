"""Names of pages, beside the page that is chosen: in the settings and the guide."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QKeyEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QPushButton,
    QSizePolicy,
    QSpacerItem,
    QWidget,
)

from helix_desktop.ui.design.buttons import ICON_GAP_PX, TabButton, TabList
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout import LayoutItem, column
from helix_desktop.ui.design.mirror import set_margins
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.icons import icon
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.words.translation import Translator

tr = Translator("Controls")

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
    wide, usual = (
        metrics.horizontalAdvance(button.text()) for metrics in (QFontMetrics(bold), button.fontMetrics())
    )
    return button.sizeHint().width() + wide - usual


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
                set_margins(title, 12, 10 if self._headings else 0, 0, 2)
                self._headings.append((title, [page.key for page in pages]))
                names.addWidget(title)
            for page in pages:
                button = _PageButton(page.title, "nav")
                button.setObjectName(f"page:{page.key}")
                button.clicked.connect(lambda _=False, key=page.key: self.selected.emit(key))
                button.stepped.connect(self._step)
                group.addButton(button)
                names.addWidget(button)
                self._buttons[page.key], self._icons[page.key] = button, page.icon
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
        side = fonts.scaled(_ICON_PX)
        for key, button in self._buttons.items():
            if self._icons[key]:
                button.setIcon(icon(self._icons[key], self._theme.muted, side, gap=ICON_GAP_PX))
                button.setIconSize(QSize(side + ICON_GAP_PX, side))
        least = fonts.scaled(self._least_px) - _MARGINS_PX
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
