"""The settings window: pages at the left, the chosen one at the right; it never blocks the main window."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from helix_desktop.domain.user_text import TextContext
from helix_desktop.ui.design.layout.boxes import column
from helix_desktop.ui.design.page_stack import PageStack, StackedPage
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.settings.about.page import AboutPage
from helix_desktop.ui.settings.appearance_page import AppearancePage
from helix_desktop.ui.settings.data.page import DataPage
from helix_desktop.ui.settings.instructions_page import InstructionsPage
from helix_desktop.ui.settings.keyboard.page import KeyboardPage
from helix_desktop.ui.settings.mcp.page import McpPage
from helix_desktop.ui.settings.page_layout import scrolling_page
from helix_desktop.ui.settings.permissions.page import PermissionsPage
from helix_desktop.ui.settings.policy.page import PolicyPage
from helix_desktop.ui.settings.providers.page import ProvidersPage
from helix_desktop.ui.settings.providers.roles_card import RolesCard
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: General")
text = TextContext("Settings: General")

SettingsPage = Literal[
    "providers",
    "roles",
    "appearance",
    "keyboard",
    "instructions",
    "policy",
    "permissions",
    "mcp",
    "data",
    "about",
]
_NAV: tuple[tuple[SettingsPage, str, str], ...] = (
    ("providers", text("Providers"), "plug"),
    ("roles", text("Model roles"), "cpu"),
    ("appearance", text("Appearance"), "palette"),
    ("keyboard", text("Keyboard"), "keyboard"),
    ("instructions", text("Instructions"), "book-open"),
    ("policy", text("Context policy"), "layers"),
    ("permissions", text("Permissions"), "shield-check"),
    ("mcp", text("MCP servers"), "server"),
    ("data", text("Data"), "hard-drive"),
    ("about", text("About"), "info"),
)
_SIZE, _MIN_SIZE = (980, 760), (620, 440)


class SettingsDialog(SizedDialog):
    """Ten pages; what they ask for comes out as the pages' own signals."""

    def __init__(self, parent: QWidget) -> None:
        """Start on the providers."""
        super().__init__(parent, _SIZE, _MIN_SIZE)
        self.setWindowTitle(tr("Settings"))
        self.setModal(False)
        self.providers, self.appearance = ProvidersPage(), AppearancePage()
        self.policy, self.permissions, self.about = PolicyPage(), PermissionsPage(), AboutPage()
        self.data, self.mcp, self.roles = DataPage(), McpPage(), RolesCard()
        self.instructions, self.keyboard = InstructionsPage(), KeyboardPage()
        pages: dict[SettingsPage, QWidget] = {
            "providers": self.providers,
            "roles": self._roles_page(),
            "appearance": self.appearance,
            "keyboard": self.keyboard,
            "instructions": self.instructions,
            "policy": self.policy,
            "permissions": self.permissions,
            "mcp": self.mcp,
            "data": self.data,
            "about": self.about,
        }
        self._pages = PageStack(
            tr("Settings"),
            [StackedPage(name, translate(title), icon, pages[name]) for name, title, icon in _NAV],
            "settings_nav",
        )
        self.setLayout(column(self._pages))

    def _roles_page(self) -> QWidget:
        page, _ = scrolling_page(
            tr("Model roles"),
            tr("One model can do everything. Faster, cheaper or larger models can take over some work."),
            column(self.roles),
        )
        return page

    def show_page(self, page: SettingsPage) -> None:
        """Show one page; where the keyboard was on another page's name it moves along."""
        self._pages.show_page(page)

    def current_page(self) -> str:
        """Return the page that is shown."""
        return self._pages.current_page()

    def showEvent(self, event: QShowEvent) -> None:
        """Leave the first focus to the keyboard, instead of a ring on the first page's name."""
        super().showEvent(event)
        self.setFocus(Qt.FocusReason.OtherFocusReason)
