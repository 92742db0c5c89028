"""The settings: names of pages at the place of the sidebar, the chosen page, and a search over all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, Literal, TypeVar

import msgspec
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QAbstractButton, QComboBox, QFrame, QLineEdit, QPlainTextEdit, QWidget
from shiboken6 import isValid

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import IconButton, PageName, PageNames
from helix_desktop.ui.design.choice_fields import ComboBox
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout import PageArea, VerticalScrollArea, column, pane, row
from helix_desktop.ui.design.style.stylesheet import TEXT_PX
from helix_desktop.ui.design.text_fields import SearchField
from helix_desktop.ui.kit.boxes import Box, Column, Frame, Text
from helix_desktop.ui.kit.forms import (
    Choice,
    Form,
    Segments,
    Toggle,
    Values,
    all_fields,
    find_fields,
    show_control,
)
from helix_desktop.ui.kit.intents import OpenSettings, perform
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.rows.quick_picker import Line, PickerList
from helix_desktop.ui.settings.about_page import AboutPage
from helix_desktop.ui.settings.app_settings import RolesPage
from helix_desktop.ui.settings.data_page import DataPage
from helix_desktop.ui.settings.instructions_page import InstructionsPage
from helix_desktop.ui.settings.mcp.page import McpPage
from helix_desktop.ui.settings.page_layout import FilledPage, PageOfFiles, scrolling_page
from helix_desktop.ui.settings.permissions_page import PermissionsPage
from helix_desktop.ui.settings.policy.page import PolicyPage
from helix_desktop.ui.settings.providers.page import ProvidersPage
from helix_desktop.words.lines import dotted
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: General")
text = TextContext("Settings: General")

_LINE_PX = 46
_EDGE_PX = 10
_NO_SETTINGS = ("save", "cancel", "discard", "reset", "undo", "leave")
"""How the names of buttons begin that belong to something else."""
_Control = QAbstractButton | QComboBox | QLineEdit | QPlainTextEdit


class Hit(msgspec.Struct, frozen=True):
    """What a search has found: a field of a form, a control beside forms, or a page."""

    page: str
    section: str
    title: str
    form: Form | None = None
    field: str = ""
    control: QWidget | None = None

    def reach(self) -> None:
        if self.form is not None and isValid(self.form):
            self.form.show_field(self.field, is_marked=True)
        elif self.control is not None and isValid(self.control):
            show_control(self.control, is_marked=True)


def find_settings(pages: Sequence[tuple[str, str, QWidget]], typed: str) -> Iterator[Hit]:
    """Yield what has all the typed words on some pages, each with its key and title: pages, then fields."""
    words = typed.casefold().split()
    for key, title, _ in pages:
        if _has(words, title):
            yield Hit(key, "", title)
    for key, title, page in pages:
        forms = page.findChildren(Form)
        others = " ".join(word for word in words if word not in title.casefold())  # the title's count for all
        for form in forms:
            for field in find_fields(form.table, others) if others else all_fields(form.table):
                section = dotted((title, form.group_titles.get(field.name, "")))
                yield Hit(key, section, form.field_title(field.name), form, field.name)
        for control in page.findChildren(QWidget):
            if (
                isinstance(control, _Control)
                and control.isVisibleTo(page)
                and not control.objectName().startswith(_NO_SETTINGS)
                and not any(form.isAncestorOf(control) for form in forms)
            ):
                name = _control_title(control)
                if name and _has(words, f"{title} {name} {control.accessibleDescription()}"):
                    yield Hit(key, title, name, control=control)


def _has(words: list[str], text: str) -> bool:
    return all(word in text.casefold() for word in words)


def _control_title(control: _Control) -> str:
    title = control.property("search_title") or control.accessibleName()
    if not title and isinstance(control, QAbstractButton):
        title = control.text().replace("&&", "&")
    return str(title)


def _draw_hit(line: Line, width: float) -> Box:
    hit: Hit = line.value
    section = [Text(hit.section, 11, "muted")] if hit.section else []
    return Frame(Column([Text(hit.title), *section]), (_EDGE_PX, 0, _EDGE_PX, 0))


class _Field(SearchField):
    """Arrows move through what was found; Enter goes there, Esc shows the names of the pages again."""

    focused = Signal()

    def __init__(self, search: SettingsSearch) -> None:
        super().__init__(tr("Search settings"))
        self._search = search

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focused.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        match event.key():
            case Qt.Key.Key_Down | Qt.Key.Key_Up if self.text():
                self._search.step(1 if event.key() == Qt.Key.Key_Down else -1)
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self._search.choose()
            case Qt.Key.Key_Escape if self.text():
                self.clear()
            case _:
                super().keyPressEvent(event)


class SettingsSearch(QWidget):
    def __init__(self, view: SettingsView, names: QWidget | None = None) -> None:
        """`names` stand below the field while nothing is typed; without them, who shows `results` does."""
        super().__init__()
        self._view = view
        self.field = _Field(self)
        self.hits = PickerList(_draw_hit)
        self.field.focused.connect(view.build_next)
        self.field.setObjectName("search_settings")
        self.setFocusProxy(self.field)
        self.hits.setObjectName("found_settings")
        self.hits.setAccessibleName(tr("Found settings"))
        self.hits.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.hits.setFrameShape(QFrame.Shape.StyledPanel)
        nothing = pane(column(label(tr("No setting matches."), "muted", wrap=True), None, margins=(10,) * 4))
        self.results = PageArea()
        for part in (names or QWidget(), self.hits, nothing):
            self.results.addWidget(part)
        self.setLayout(column(self.field, self.results, gap=8) if names is not None else column(self.field))
        self.field.textChanged.connect(self._search)
        self.hits.clicked.connect(lambda _: self.choose())
        self.hits.activated.connect(lambda _: self.choose())

    def _search(self, typed: str) -> None:
        hits = [*self._view.find_hits(typed)] if typed.strip() else []
        lines = []
        for hit in hits:
            words = f"{hit.title}, {hit.section}" if hit.section else hit.title
            lines.append(Line(hit, words, _LINE_PX, f"{hit.title}\n{hit.section}".strip()))
        self.hits.set_rows(lines)
        self.hits.choose(0)
        if not typed.strip():
            self.results.setCurrentIndex(0)
            return
        self.results.setCurrentIndex(1 if hits else 2)
        announce(self.field, tr.plural(len(hits), "%n setting found", "%n settings found"))

    def step(self, step: int) -> None:
        self.hits.choose(max(0, min(self.hits.row + step, len(self.hits.rows) - 1)))
        if self.hits.current is not None:
            announce(self.field, self.hits.current.words)

    def choose(self) -> None:
        if self.hits.current is not None:
            self._view.go(self.hits.current.value)


GENERAL = (
    Segments("theme", text("Theme"), choices=(
        ("system", text("System")), ("light", text("Light", "theme")), ("dark", text("Dark", "theme")),
    )),
    Choice("text_size", text("Text size"), choices=tuple((px, text("{size} px", size=px)) for px in TEXT_PX)),
    Choice("reduce_motion", text("Reduce motion"),
           text("On: spinners, running bars and the text cursor stand still."),
           choices=(
               ("system", text("System")),
               ("on", text("On", "reduce motion")),
               ("off", text("Off", "reduce motion")),
           )),
    Toggle("enter_sends", text("Sending"), text("Off: Ctrl+Enter sends."),
           words=text("Enter sends, Shift+Enter starts a new line")),
    Toggle("titles", text("Session titles"),
           text("One short request to a model after the first answer. Off: the first message is the title."),
           words=text("Name new sessions after the first answer")),
    Toggle("notify", text("Notifications"), words=text("Notify me while another window is in front")),
    Toggle("notify_waiting", needs="notify", words=text("The agent needs an approval or an answer")),
    Toggle("notify_turn", needs="notify", words=text("A turn of more than 10 s is done")),
    Toggle("notify_job", needs="notify", words=text("A background job of more than 10 s is done")),
    Toggle("notify_error", needs="notify", words=text("A turn ends with an error")),
    Toggle("notify_sound", needs="notify", words=text("Play a sound")),
)  # fmt: skip

SettingsPage = Literal[
    "providers", "appearance", "keyboard", "instructions", "policy", "permissions", "mcp", "data", "roles",
    "about",
]  # fmt: skip
_TITLES: dict[SettingsPage, str] = {
    "providers": text("Providers"),
    "appearance": text("General"),
    "keyboard": text("Keyboard"),
    "instructions": text("Instructions"),
    "policy": text("Context policy"),
    "permissions": text("Permissions"),
    "mcp": text("MCP servers"),
    "data": text("Data"),
    "roles": text("Model roles"),
    "about": text("About"),
}

P = TypeVar("P", bound=QWidget)


class SettingsNames(QFrame):
    """The names of the pages, below the way back; they stand where the sidebar is otherwise."""

    def __init__(self, view: SettingsView) -> None:
        super().__init__()
        self.setObjectName("settings_nav")
        self.list = PageNames([("", [PageName(key, translate(title)) for key, title in _TITLES.items()])], 0)
        self.list.setAccessibleName(tr("Settings"))
        back = _back_button()
        scroll = VerticalScrollArea(self.list)
        for part in (scroll.viewport(), self.list):
            part.setAutoFillBackground(False)  # the frame around them has a color of its own
        head = row(back, label(tr("Settings"), "title"), None, margins=(3, 0, 0, 0), gap=5)
        self.search = SettingsSearch(view, scroll)
        self.setLayout(column(head, self.search, margins=(8, 11, 8, 8), gap=10))


class SettingsHead(QFrame):
    """The way back, the name of the page, to choose another one, and the search.

    It stands above the pages in a window too narrow for the list.
    """

    def __init__(self, view: SettingsView) -> None:
        super().__init__()
        self.setObjectName("settings_head")
        self.pages = ComboBox(words=tr("Settings"))
        self.setFocusProxy(self.pages)
        for key, title in _TITLES.items():
            self.pages.addItem(translate(title), key)
        self.search = SettingsSearch(view)
        self.setLayout(row(_back_button(), self.pages, self.search, margins=(11, 8, 11, 8), gap=8, stretch=2))

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        if not event.spontaneous():
            self.search.field.clear()


def _back_button() -> IconButton:
    back = IconButton("arrow-left", tr("Back (Esc)"), edge=28, name="leave_settings")
    back.clicked.connect(lambda: perform(back, OpenSettings()))
    return back


class _BuiltPage(Generic[P]):
    """A page of the settings by its name, built when it is first needed."""

    def __init__(self, name: SettingsPage, kind: type[P]) -> None:
        self._name = name
        self._kind = kind

    def __get__(self, view: SettingsView, owner: type) -> P:
        return view.page(self._name, self._kind)


class SettingsView(PageArea):
    """Ten pages, each built and filled when it is first needed."""

    def __init__(
        self, session: Session, settings: Values, pages: Mapping[SettingsPage, Callable[[], QWidget]]
    ) -> None:
        """Start on the providers. `settings` are those of the workspace on screen, and of the app.

        `pages` make those that know the window.
        """
        super().__init__()
        self._session = session
        self.settings = settings
        self._filled: set[SettingsPage] = set()
        """The pages that show what is stored now."""
        self.names = SettingsNames(self)
        self.head = SettingsHead(self)
        self.names.list.selected.connect(self._select)
        self.head.pages.activated.connect(lambda _: self._select(self.head.pages.currentData()))
        found = self.head.search
        found.results.setContentsMargins(8, 8, 8, 8)
        self.addWidget(found.results)
        found.field.textChanged.connect(lambda _: self._show_found())
        found.field.focused.connect(self._show_found)
        self._hit: Hit | None = None
        """What the user goes to, until its page is filled."""
        self._built: dict[SettingsPage, QWidget] = {}
        self._builders: dict[SettingsPage, Callable[[], QWidget]] = {
            "providers": lambda: ProvidersPage(session),
            "roles": lambda: RolesPage(settings),
            "appearance": lambda: scrolling_page(tr("General"), "", column(Form(GENERAL, settings)))[0],
            "instructions": lambda: InstructionsPage(session),
            "permissions": lambda: PermissionsPage(session, settings),
            "mcp": lambda: McpPage(session),
            "data": lambda: DataPage(session, settings),
            "about": lambda: AboutPage(session),
            **pages,
        }

    providers = _BuiltPage("providers", ProvidersPage)
    instructions = _BuiltPage("instructions", InstructionsPage)
    policy = _BuiltPage("policy", PolicyPage)
    permissions = _BuiltPage("permissions", PermissionsPage)
    mcp = _BuiltPage("mcp", McpPage)
    data = _BuiltPage("data", DataPage)
    about = _BuiltPage("about", AboutPage)
    roles = _BuiltPage("roles", RolesPage)

    @property
    def appearance(self) -> Form:
        form = self.page("appearance", QWidget).findChild(Form)
        assert isinstance(form, Form)
        return form

    def is_built(self, name: SettingsPage) -> bool:
        return name in self._built

    def page(self, name: SettingsPage, kind: type[P]) -> P:
        if name not in self._built:
            self._built[name] = built = self._builders[name]()
            self.addWidget(built)
        page = self._built[name]
        assert isinstance(page, kind)
        return page

    @staticmethod
    def page_titles() -> dict[SettingsPage, str]:
        return {name: translate(title) for name, title in _TITLES.items()}

    def show_page(self, page: SettingsPage) -> None:
        """Show one page; where the keyboard was on another page's name it moves along."""
        focused = self.window().focusWidget()
        before = self.currentWidget()
        if focused is not None and before is not None and before.isAncestorOf(focused):
            self.window().setFocus(Qt.FocusReason.OtherFocusReason)  # else it goes to any control of the page
        self.setCurrentWidget(self.page(page, QWidget))
        self.names.list.mark(page)
        self.names.setFocusProxy(self.names.list.current_button)
        self.head.pages.setCurrentIndex(self.head.pages.findData(page))

    def current_page(self) -> SettingsPage:
        return next(name for name in _TITLES if name == self.names.list.current)

    def focus_name(self) -> None:
        names = self.head if self.head.isVisible() else self.names
        names.setFocus(Qt.FocusReason.TabFocusReason)

    def focus_filter(self) -> None:
        """Give the keyboard to the field that filters the page on screen, or to the search over all pages."""
        page = self.currentWidget()
        fields = page.findChildren(SearchField) if page is not None else []
        names = self.head if self.head.isVisible() else self.names
        field = next((field for field in fields if field.isVisible()), names.search.field)
        field.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _show_found(self) -> None:
        """Show what the search above the pages has found in place of the page, while something is typed."""
        search = self.head.search
        is_typed = bool(search.field.text().strip())
        self.setCurrentWidget(search.results if is_typed else self.page(self.current_page(), QWidget))

    def find_hits(self, typed: str) -> Iterator[Hit]:
        """Yield what has these words on all pages, which are built for it where that has not been done."""
        pages = [(name, title, self.page(name, QWidget)) for name, title in self.page_titles().items()]
        return find_settings(pages, typed)

    def build_next(self) -> None:
        """Build a page that the user has not seen yet, and then the next: a search looks at all of them."""
        name = next((name for name in _TITLES if name not in self._built), None)
        if name is not None:
            self.page(name, QWidget)
            QTimer.singleShot(0, self, self.build_next)

    def go(self, hit: Hit) -> None:
        self._hit = hit
        self._select(hit.page)

    def refresh(self) -> None:
        """Fill the page on screen again, and others when the user goes there: what is stored has changed.

        What is typed and not saved stays.
        """
        self._filled.clear()
        if self._session.page() == "settings":
            self._session.start(self.fill(self.current_page()), "settings page")

    def read_files(self) -> None:
        """Read the files that the page on screen shows again: the user comes back, perhaps from an editor."""
        page = self.currentWidget()
        if self._session.page() == "settings" and isinstance(page, PageOfFiles):
            self._session.start(page.read_files(), "read files of settings")

    async def fill(self, name: SettingsPage) -> None:
        """Fill a page, unless it shows what is stored now."""
        if name not in self._filled:
            self._filled.add(name)
            page = self.page(name, QWidget)
            if isinstance(page, FilledPage):
                await page.refresh()

    async def _fill_selected(self, name: SettingsPage) -> None:
        """Fill the page that the user went to; what they searched for there comes into sight, marked."""
        await self.fill(name)
        hit = self._hit
        self._hit = None
        if hit is not None and hit.page == self.current_page():
            hit.reach()

    def unsaved_pages(self) -> list[str]:
        return [
            translate(_TITLES[name])
            for name, page in self._built.items()
            if isinstance(page, McpPage) and page.has_unsaved_edits()
        ]

    def showEvent(self, event: QShowEvent) -> None:
        self.show_page(self.current_page())
        super().showEvent(event)

    def _select(self, key: str) -> None:
        page = next(name for name in _TITLES if name == key)
        self.show_page(page)
        self._session.start(self._fill_selected(page), "settings page")
