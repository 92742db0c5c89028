"""The search over all settings: their words come from the forms and controls of the pages themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QWidget,
)
from shiboken6 import isValid

from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.fields import SearchField
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import column, pane
from helix_desktop.ui.design.layout.stack import PageArea
from helix_desktop.ui.design.quick_picker import LineDelegate
from helix_desktop.ui.design.style.theme import current_theme
from helix_desktop.ui.kit.boxes import Column, Text, paint_box
from helix_desktop.ui.kit.forms import Form, all_fields, find_fields, show_control
from helix_desktop.words.direction import dotted
from helix_desktop.words.translation import Translator

tr = Translator("Settings: General")

_LINE_PX, _EDGE_PX = 46, 10
_HIT_ROLE = int(Qt.ItemDataRole.UserRole)
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
        """Bring it into sight, marked, with the keyboard in it."""
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
        for form in forms:
            for field in _fields_with(form, title, words, typed):
                section = dotted((title, form.group_titles.get(field, "")))
                yield Hit(key, section, form.field_title(field), form, field)
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


def _fields_with(form: Form, title: str, words: list[str], typed: str) -> list[str]:
    """Return the fields of a form with these words; those in the title of the page count for all."""
    own = " ".join(word for word in words if word not in title.casefold())
    found = find_fields(form.table, own) if own else all_fields(form.table)
    return [field.name for field in found]


def _has(words: list[str], text: str) -> bool:
    return all(word in text.casefold() for word in words)


def _control_title(control: _Control) -> str:
    title = control.property("search_title") or control.accessibleName()
    if not title and isinstance(control, QAbstractButton):
        title = control.text().replace("&&", "&")
    return str(title)


class _HitDelegate(LineDelegate):
    def paint_line(self, painter: QPainter, box: QRectF, index: QModelIndex | QPersistentModelIndex) -> None:
        hit: Hit = index.data(_HIT_ROLE)
        section = [Text(hit.section, 11, "muted")] if hit.section else []
        content = Column([Text(hit.title), *section])
        paint_box(painter, box.adjusted(_EDGE_PX, 0, -_EDGE_PX, 0), current_theme(), content)


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
                self._search.choose(self._search.hits.currentItem())
            case Qt.Key.Key_Escape if self.text():
                self.clear()
            case _:
                super().keyPressEvent(event)


class SettingsSearch(QWidget):
    chosen = Signal(object)
    """The Hit to go to."""

    def __init__(self, names: QWidget | None = None) -> None:
        """`names` stand below the field while nothing is typed; without them, who shows `results` does."""
        super().__init__()
        self.find_hits: Callable[[str], Iterator[Hit]] = lambda typed: iter(())
        """Finds what has all the typed words."""
        self.field, self.hits = _Field(self), QListWidget()
        self.field.setObjectName("search_settings")
        self.hits.setObjectName("found_settings")
        self.hits.setAccessibleName(tr("Found settings"))
        self.hits.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.hits.setMouseTracking(True)
        self._delegate = _HitDelegate(self.hits, _LINE_PX)
        self.hits.setItemDelegate(self._delegate)
        nothing = pane(column(label(tr("No setting matches."), "muted", wrap=True), None, margins=(10,) * 4))
        self.results = PageArea()
        for part in (names or QWidget(), self.hits, nothing):
            self.results.addWidget(part)
        self.setLayout(column(self.field, self.results, gap=8) if names is not None else column(self.field))
        self.field.textChanged.connect(self._search)
        self.hits.itemClicked.connect(self.choose)
        self.hits.itemActivated.connect(self.choose)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.field.setFocus(event.reason())

    def _search(self, typed: str) -> None:
        self.hits.clear()
        if not typed.strip():
            self.results.setCurrentIndex(0)
            return
        for hit in self.find_hits(typed):
            item = QListWidgetItem(f"{hit.title}, {hit.section}" if hit.section else hit.title, self.hits)
            item.setData(_HIT_ROLE, hit)
            item.setToolTip(f"{hit.title}\n{hit.section}".strip())
        self.hits.setCurrentRow(0)
        self.results.setCurrentIndex(1 if self.hits.count() else 2)
        announce(self.field, tr.plural(self.hits.count(), "%n setting found", "%n settings found"))

    def step(self, step: int) -> None:
        self.hits.setCurrentRow(max(0, min(self.hits.currentRow() + step, self.hits.count() - 1)))
        if self.hits.currentItem() is not None:
            announce(self.field, self.hits.currentItem().text())

    def choose(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            self.chosen.emit(item.data(_HIT_ROLE))
