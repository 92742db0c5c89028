"""Pages listed by name at the left, the chosen one at the right: the settings and the guide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QButtonGroup, QPushButton, QSizePolicy, QSpacerItem, QStackedWidget, QWidget

from helix_desktop.ui.design.buttons import ICON_GAP_PX, TabButton, TabList
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import column, row
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.icons import icon
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.words.translation import Translator

tr = Translator("Controls")

_MARGINS_PX = 27  # left and right of the names, with the line at the edge
_ICON_PX = 16  # before a name, at 100 %
_NAV_PX = 196  # at 100 %, or what the longest name needs


class StackedPage(NamedTuple):
    """A page: its key, its name in the list, its icon, and what builds it when it is first needed."""

    key: str
    title: str
    icon: str
    build: Callable[[], QWidget]


class _PageButton(TabButton):
    """The name of a page. Arrow keys go to the next one, so that never two names are highlighted."""

    stepped = Signal(int)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go to the next or previous page."""
        step = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
        else:
            self.stepped.emit(step)


def _bold_width(button: QPushButton) -> int:
    """Return the pixels a name needs when its page is chosen: its hint is that of the regular weight."""
    bold = QFont(button.font())
    bold.setWeight(QFont.Weight.DemiBold)
    words = button.text()
    return (
        button.sizeHint().width()
        + QFontMetrics(bold).horizontalAdvance(words)
        - button.fontMetrics().horizontalAdvance(words)
    )


class PageStack(Themed, QWidget):
    """A list of pages and the page that is chosen in it; a page is built when it is first needed."""

    page_built = Signal(str)
    """The key of a page that is new in the stack, before it is on screen."""
    page_selected = Signal(str)
    """The key of the page that the user went to."""

    def __init__(self, title: str, pages: Sequence[StackedPage], list_name: str = "page_list") -> None:
        """Start on the first page; `title` stands above the list, whose object name is `list_name`."""
        super().__init__()
        self._pages = {page.key: page for page in pages}
        self._built: dict[str, QWidget] = {}
        self._current = pages[0].key
        self._stack = QStackedWidget()
        self._buttons: dict[str, _PageButton] = {}
        group = QButtonGroup(self)
        self._nav = TabList()
        self._nav.setAccessibleName(tr("Pages"))
        self._nav.setObjectName(list_name)
        names = column(label(title, "title"), 8, margins=(14, 24, 12, 16), gap=3)
        for page in pages:
            button = _PageButton(page.title, "nav")
            button.setObjectName(f"page:{page.key}")
            button.clicked.connect(lambda _=False, key=page.key: self._select(key))
            button.stepped.connect(self._step)
            group.addButton(button)
            names.addWidget(button)
            self._buttons[page.key] = button
        names.addStretch(1)
        # A least width of the list itself would let it become narrower than its names.
        self._room = QSpacerItem(0, 0)
        names.addSpacerItem(self._room)
        self._names = names
        self._nav.setLayout(names)
        self._nav.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        across = row(self._nav, self._stack, gap=0)
        across.setStretch(1, 1)
        self.setLayout(across)
        self._mark(self._current)

    def page(self, key: str) -> QWidget:
        """Return a page, built now if it was not needed before."""
        if key not in self._built:
            widget = self._built[key] = self._pages[key].build()
            self._stack.addWidget(widget)
            retint(widget, self._theme)
            self.page_built.emit(key)
        return self._built[key]

    def built_pages(self) -> dict[str, QWidget]:
        """Return the pages that were needed so far, by title."""
        return {self._pages[key].title: page for key, page in self._built.items()}

    def show_page(self, key: str) -> None:
        """Show one page; where the keyboard was on another page's name it moves along."""
        button = self._buttons[key]
        self._current = key
        self._mark(key)
        focused, before = self.focusWidget(), self._stack.currentWidget()
        if focused is not None and before is not None and before.isAncestorOf(focused):
            self.window().setFocus(Qt.FocusReason.OtherFocusReason)  # else it goes to any control of the page
        self._stack.setCurrentWidget(self.page(key))
        if isinstance(focused, _PageButton) and focused is not button:
            button.setFocus(Qt.FocusReason.OtherFocusReason)

    def focus_name(self) -> None:
        """Give the keyboard to the name of the page that is shown."""
        self._buttons[self._current].setFocus(Qt.FocusReason.TabFocusReason)

    def current_page(self) -> str:
        """Return the key of the page that is shown."""
        return self._current

    def showEvent(self, event: QShowEvent) -> None:
        """Build the page that comes on screen."""
        self._stack.setCurrentWidget(self.page(self._current))
        super().showEvent(event)

    def _mark(self, key: str) -> None:
        """Check the name of a page, the only one that Tab goes to."""
        for name, button in self._buttons.items():
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus if name == key else Qt.FocusPolicy.NoFocus)
        self._buttons[key].setChecked(True)

    def _select(self, key: str) -> None:
        self.show_page(key)
        self.page_selected.emit(key)

    def _step(self, offset: int) -> None:
        keys = list(self._pages)
        self._select(keys[(keys.index(self._current) + offset) % len(keys)])

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme."""
        super().tint(theme)
        side = fonts.scaled(_ICON_PX)
        for page in self._pages.values():
            self._buttons[page.key].setIcon(icon(page.icon, theme.muted, side, gap=ICON_GAP_PX))
            self._buttons[page.key].setIconSize(QSize(side + ICON_GAP_PX, side))
        self._room.changeSize(
            max(fonts.scaled(_NAV_PX) - _MARGINS_PX, *map(_bold_width, self._buttons.values())), 0
        )
        self._names.invalidate()
