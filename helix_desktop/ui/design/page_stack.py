"""Names of pages at the left, and the chosen page at the right: the settings and the guide."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QKeyEvent, QShowEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QPushButton,
    QSizePolicy,
    QSpacerItem,
    QStackedWidget,
    QWidget,
)

from helix_desktop.ui.design.buttons import ICON_GAP_PX, TabButton, TabList
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import LayoutItem, column, row
from helix_desktop.ui.design.mirror import set_margins
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.icons import icon
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.words.translation import Translator

tr = Translator("Controls")

_MARGINS_PX = 27  # left and right of the names, with the line at the edge
_ICON_PX = 16  # before a name, at 100 %
_NAV_PX = 196  # at 100 %, or what the longest name needs


class PageName(NamedTuple):
    """A page in the list: its key, its title, its icon."""

    key: str
    title: str
    icon: str


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


class PageNames(Themed, TabList):
    """The names of pages, in groups; the shown one is highlighted, and the only one that Tab goes to."""

    selected = Signal(str)
    """The key of the page that the user went to."""

    def __init__(self, groups: Sequence[tuple[str, Sequence[PageName]]]) -> None:
        """Mark the first page; a group is its heading (empty: none) and its pages."""
        super().__init__()
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
        """Return the name of the page that is shown."""
        return self._buttons[self.current]

    def show_only(self, keys: Collection[str]) -> None:
        """Hide the names of all other pages."""
        for key, button in self._buttons.items():
            button.setVisible(key in keys)
        for heading, pages in self._headings:
            heading.setVisible(any(key in keys for key in pages))

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme and the text size in force."""
        super().tint(theme)
        side = fonts.scaled(_ICON_PX)
        for key, button in self._buttons.items():
            button.setIcon(icon(self._icons[key], theme.muted, side, gap=ICON_GAP_PX))
            button.setIconSize(QSize(side + ICON_GAP_PX, side))
        self._room.changeSize(
            max(fonts.scaled(_NAV_PX) - _MARGINS_PX, *map(_bold_width, self._buttons.values())), 0
        )
        layout = self.layout()
        if layout is not None:
            layout.invalidate()

    def _step(self, offset: int) -> None:
        keys = [key for key, button in self._buttons.items() if not button.isHidden()]
        self.selected.emit(keys[(keys.index(self.current) + offset) % len(keys)])


class PageStack(Themed, QWidget):
    """A list of pages and the page that is chosen in it; a page is built when it is first needed."""

    page_built = Signal(str)
    """The key of a page that is new in the stack, before it is on screen."""
    page_selected = Signal(str)
    """The key of the page that the user went to."""

    def __init__(self, title: str, pages: Sequence[StackedPage], list_name: str) -> None:
        """Start on the first page; `title` stands above the list, whose object name is `list_name`."""
        super().__init__()
        self._pages = {page.key: page for page in pages}
        self._built: dict[str, QWidget] = {}
        self._stack = QStackedWidget()
        self._names = PageNames([("", [PageName(page.key, page.title, page.icon) for page in pages])])
        self._names.selected.connect(self._select)
        side = page_side(list_name, label(title, "title"), 8, self._names, None)
        across = row(side, self._stack, gap=0)
        across.setStretch(1, 1)
        self.setLayout(across)

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
        focused, before = self.focusWidget(), self._stack.currentWidget()
        if focused is not None and before is not None and before.isAncestorOf(focused):
            self.window().setFocus(Qt.FocusReason.OtherFocusReason)  # else it goes to any control of the page
        self._stack.setCurrentWidget(self.page(key))
        self._names.mark(key)

    def focus_name(self) -> None:
        """Give the keyboard to the name of the page that is shown."""
        self._names.current_button.setFocus(Qt.FocusReason.TabFocusReason)

    def current_page(self) -> str:
        """Return the key of the page that is shown."""
        return self._names.current

    def showEvent(self, event: QShowEvent) -> None:
        """Build the page that comes on screen."""
        self._stack.setCurrentWidget(self.page(self._names.current))
        super().showEvent(event)

    def _select(self, key: str) -> None:
        self.show_page(key)
        self.page_selected.emit(key)


def page_side(list_name: str, *parts: LayoutItem) -> QFrame:
    """Return the frame beside a page that holds the names of pages; it is found and styled by its name."""
    side = QFrame()
    side.setObjectName(list_name)
    side.setLayout(column(*parts, margins=(14, 24, 12, 16), gap=3))
    side.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
    return side
