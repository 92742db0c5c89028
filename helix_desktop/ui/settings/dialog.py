"""The settings window: pages at the left, the chosen one at the right; it never blocks the main window."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import QButtonGroup, QDialog, QStackedWidget, QWidget

from helix_desktop.domain.user_text import TextContext
from helix_desktop.ui.design.buttons import ICON_GAP_PX, TabButton, TabList
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import column, row
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.icons import icon
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed
from helix_desktop.ui.settings.about.page import AboutPage
from helix_desktop.ui.settings.appearance_page import AppearancePage
from helix_desktop.ui.settings.data.page import DataPage
from helix_desktop.ui.settings.mcp.page import McpPage
from helix_desktop.ui.settings.page_layout import scrolling_page
from helix_desktop.ui.settings.permissions.page import PermissionsPage
from helix_desktop.ui.settings.policy.page import PolicyPage
from helix_desktop.ui.settings.providers.page import ProvidersPage
from helix_desktop.ui.settings.providers.roles_card import RolesCard
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: General")
text = TextContext("Settings: General")

SettingsPage = Literal["providers", "roles", "appearance", "policy", "permissions", "mcp", "data", "about"]
_NAV: tuple[tuple[SettingsPage, str, str], ...] = (
    ("providers", text("Providers"), "plug"),
    ("roles", text("Model roles"), "cpu"),
    ("appearance", text("Appearance"), "palette"),
    ("policy", text("Context policy"), "layers"),
    ("permissions", text("Permissions"), "shield-check"),
    ("mcp", text("MCP servers"), "server"),
    ("data", text("Data"), "hard-drive"),
    ("about", text("About"), "info"),
)
_SIZE, _NAV_PX = (980, 760), 196


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


class SettingsDialog(Themed, QDialog):
    """Eight pages; what they ask for comes out as the pages' own signals."""

    def __init__(self, parent: QWidget) -> None:
        """Start on the providers."""
        super().__init__(parent)
        self.setWindowTitle(tr("Settings"))
        self.setModal(False)
        self.resize(*_SIZE)
        self.setMinimumSize(620, 440)
        self.providers, self.appearance = ProvidersPage(), AppearancePage()
        self.policy, self.permissions, self.about = PolicyPage(), PermissionsPage(), AboutPage()
        self.data, self.mcp, self.roles = DataPage(), McpPage(), RolesCard()
        self._pages: dict[str, QWidget] = {
            "providers": self.providers,
            "roles": self._roles_page(),
            "appearance": self.appearance,
            "policy": self.policy,
            "permissions": self.permissions,
            "mcp": self.mcp,
            "data": self.data,
            "about": self.about,
        }
        self._stack = QStackedWidget()
        self._buttons: dict[str, _PageButton] = {}
        group = QButtonGroup(self)
        nav = TabList()
        nav.setAccessibleName(tr("Pages"))
        nav.setObjectName("settings_nav")
        self._nav = nav
        names = column(label(tr("Settings"), "title"), 8, margins=(14, 24, 12, 16), gap=3)
        for name, title, _ in _NAV:
            button = _PageButton(translate(title), "nav")
            button.setObjectName(f"page:{name}")
            button.clicked.connect(lambda _=False, page_name=name: self.show_page(page_name))
            button.stepped.connect(self._step)
            group.addButton(button)
            names.addWidget(button)
            self._buttons[name] = button
            self._stack.addWidget(self._pages[name])
        names.addStretch(1)
        nav.setLayout(names)
        across = row(nav, self._stack, gap=0)
        across.setStretch(1, 1)
        self.setLayout(across)
        self.show_page("providers")

    def _roles_page(self) -> QWidget:
        page, _ = scrolling_page(
            tr("Model roles"),
            tr("One model can do everything. Faster, cheaper or larger models can take over some work."),
            column(self.roles),
        )
        return page

    def show_page(self, page: SettingsPage) -> None:
        """Show one page; where the keyboard was on another page's name it moves along."""
        button = self._buttons[page]
        button.setChecked(True)
        for other in self._buttons.values():
            other.setFocusPolicy(Qt.FocusPolicy.TabFocus if other is button else Qt.FocusPolicy.NoFocus)
        focused, before = self.focusWidget(), self._stack.currentWidget()
        if focused is not None and before is not None and before.isAncestorOf(focused):
            self.setFocus(Qt.FocusReason.OtherFocusReason)  # else it goes to any control of the new page
        self._stack.setCurrentWidget(self._pages[page])
        if isinstance(focused, _PageButton) and focused is not button:
            button.setFocus(Qt.FocusReason.OtherFocusReason)

    def _step(self, offset: int) -> None:
        names = [name for name, _, _ in _NAV]
        place = next(place for place, name in enumerate(names) if name == self.current_page())
        self.show_page(names[(place + offset) % len(names)])

    def current_page(self) -> str:
        """Return the page that is shown."""
        return next(name for name, page in self._pages.items() if page is self._stack.currentWidget())

    def showEvent(self, event: QShowEvent) -> None:
        """Leave the first focus to the keyboard, instead of a ring on the first page's name."""
        super().showEvent(event)
        self.setFocus(Qt.FocusReason.OtherFocusReason)

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme."""
        for name, _, icon_name in _NAV:
            self._buttons[name].setIcon(icon(icon_name, theme.muted, 16))
            self._buttons[name].setIconSize(QSize(16 + ICON_GAP_PX, 16))
        self._nav.setFixedWidth(max(fonts.scaled(_NAV_PX), self._nav.sizeHint().width()))
