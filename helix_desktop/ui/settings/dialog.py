"""The settings window: pages at the left, the chosen one at the right; it never blocks the main window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.layout.boxes import column
from helix_desktop.ui.design.page_stack import PageStack, StackedPage
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.kit.forms import Form, Values
from helix_desktop.ui.settings.about.page import AboutPage
from helix_desktop.ui.settings.data_page import DataPage
from helix_desktop.ui.settings.general_page import GENERAL
from helix_desktop.ui.settings.instructions_page import InstructionsPage
from helix_desktop.ui.settings.keyboard_page import KeyboardPage
from helix_desktop.ui.settings.mcp.page import McpPage
from helix_desktop.ui.settings.page_layout import scrolling_page
from helix_desktop.ui.settings.permissions_page import PermissionsPage
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
    ("appearance", text("General"), "settings"),
    ("keyboard", text("Keyboard"), "keyboard"),
    ("instructions", text("Instructions"), "book-open"),
    ("policy", text("Context policy"), "layers"),
    ("permissions", text("Permissions"), "shield-check"),
    ("mcp", text("MCP servers"), "server"),
    ("data", text("Data"), "hard-drive"),
    ("about", text("About"), "info"),
)
_SIZE, _MIN_SIZE = (980, 760), (620, 440)

P = TypeVar("P", bound=QWidget)


class SettingsDialog(SizedDialog):
    """Ten pages, each built when it is first needed; what they ask for comes out as their own signals."""

    page_built = Signal(str)
    """A page that is new, and still empty."""
    page_selected = Signal(str)
    """The page that the user went to."""

    def __init__(self, parent: QWidget, settings: Values) -> None:
        """Start on the providers. `settings` are those of the app."""
        super().__init__(parent, _SIZE, _MIN_SIZE)
        self.settings = settings
        self.setWindowTitle(tr("Settings"))
        self.setModal(False)
        builders: dict[SettingsPage, Callable[[], QWidget]] = {
            "providers": ProvidersPage,
            "roles": self._roles_page,
            "appearance": self._general_page,
            "keyboard": KeyboardPage,
            "instructions": InstructionsPage,
            "policy": PolicyPage,
            "permissions": lambda: PermissionsPage(settings),
            "mcp": McpPage,
            "data": lambda: DataPage(settings),
            "about": AboutPage,
        }
        self._pages = PageStack(
            tr("Settings"),
            [StackedPage(name, translate(title), icon, builders[name]) for name, title, icon in _NAV],
            "settings_nav",
        )
        self._pages.page_built.connect(self.page_built)
        self._pages.page_selected.connect(self.page_selected)
        self.setLayout(column(self._pages))

    @property
    def providers(self) -> ProvidersPage:
        """Return the page of providers."""
        return self._page("providers", ProvidersPage)

    @property
    def appearance(self) -> Form:
        """Return the form of the page of appearance."""
        form = self._page("appearance", QWidget).findChild(Form)
        assert isinstance(form, Form)
        return form

    @property
    def keyboard(self) -> KeyboardPage:
        """Return the page of keys."""
        return self._page("keyboard", KeyboardPage)

    @property
    def instructions(self) -> InstructionsPage:
        """Return the page of instructions."""
        return self._page("instructions", InstructionsPage)

    @property
    def policy(self) -> PolicyPage:
        """Return the page of context policy."""
        return self._page("policy", PolicyPage)

    @property
    def permissions(self) -> PermissionsPage:
        """Return the page of permissions."""
        return self._page("permissions", PermissionsPage)

    @property
    def mcp(self) -> McpPage:
        """Return the page of MCP servers."""
        return self._page("mcp", McpPage)

    @property
    def data(self) -> DataPage:
        """Return the page of data."""
        return self._page("data", DataPage)

    @property
    def about(self) -> AboutPage:
        """Return the page of this build."""
        return self._page("about", AboutPage)

    @property
    def roles(self) -> RolesCard:
        """Return what stands on the page of model roles."""
        card = self._page("roles", QWidget).findChild(RolesCard)
        assert card is not None
        return card

    def _page(self, name: SettingsPage, kind: type[P]) -> P:
        page = self._pages.page(name)
        assert isinstance(page, kind)
        return page

    @staticmethod
    def page_titles() -> dict[SettingsPage, str]:
        """Return the title of each page, in their order."""
        return {name: translate(title) for name, title, _ in _NAV}

    def _general_page(self) -> QWidget:
        return scrolling_page(tr("General"), "", column(Form(GENERAL, self.settings)))[0]

    @staticmethod
    def _roles_page() -> QWidget:
        page, _ = scrolling_page(
            tr("Model roles"),
            tr(
                "One model can do everything. Faster, cheaper or larger models can take over some work. A "
                "workspace can have its own: Roles in this workspace, in the menu of models."
            ),
            column(RolesCard()),
        )
        return page

    def show_page(self, page: SettingsPage) -> None:
        """Show one page; where the keyboard was on another page's name it moves along."""
        self._pages.show_page(page)

    def current_page(self) -> SettingsPage:
        """Return the page that is shown, or was last."""
        current = self._pages.current_page()
        return next(name for name, _, _ in _NAV if name == current)

    def unsaved_pages(self) -> list[str]:
        """Return the titles of the pages where something was typed and not saved."""
        return [
            title
            for title, page in self._pages.built_pages().items()
            if isinstance(page, ProvidersPage | InstructionsPage | McpPage) and page.has_unsaved_edits()
        ]

    def showEvent(self, event: QShowEvent) -> None:
        """Show who came with the keyboard where it is: on the page's name; others see no ring."""
        super().showEvent(event)
        if self.is_by_keyboard:
            self._pages.focus_name()
        else:
            self.setFocus(Qt.FocusReason.OtherFocusReason)
