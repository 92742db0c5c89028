"""A provider as it is shown, and its models: the table, what a server offers, how one is added."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec
from PySide6.QtCore import QModelIndex, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCompleter,
    QHeaderView,
    QScrollArea,
    QTableWidget,
    QTableWidgetItem,
    QTreeWidgetItem,
    QWidget,
)

from helix_desktop.config.secrets import KeySource
from helix_desktop.config.settings import ModelEntry, Provider
from helix_desktop.domain.model_spec import ModelSpec, ResolvedModelSpec, SourcedSpec, resolve_spec
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.services.provider_changes import DEMO
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.choice_fields import AT_END, CheckList, ComboBox, Index
from helix_desktop.ui.design.focus import FocusRing
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout import card, column, pane, row
from helix_desktop.ui.design.style.icons import icon
from helix_desktop.ui.design.style.theme import Themed, current_theme
from helix_desktop.ui.design.text_fields import SearchField
from helix_desktop.ui.settings.providers.model_spec_form import (
    COLUMNS,
    UNKNOWN,
    ModelRow,
    ModelSpecForm,
)
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Models")
text = TextContext("Settings: Models")

_HOST = re.compile(r"(?P<host>[\w.-]+)(?P<port>:\d+)?(?:/\S*)?")  # and a path, without a scheme
_DEFAULT_NAME = "server"


class ShownProvider(msgspec.Struct, frozen=True):
    """A provider as it is stored, whether it is in use, and where its key is; None: the demo model."""

    provider: Provider | None
    in_use: bool = False
    key_source: KeySource = "none"
    key_note: str = ""
    """Where its key is, or would be kept."""

    @property
    def name(self) -> str:
        return self.provider.name if self.provider is not None else DEMO


def listed_models(provider: Provider) -> tuple[ModelEntry, ...]:
    """Return a provider's models, also a default one that is not in its list."""
    default = provider.default_model
    if default and default not in {entry.name for entry in provider.models}:
        return (ModelEntry(name=default), *provider.models)
    return provider.models


def with_server(provider: Provider, **fields: Any) -> Provider:
    """Return a provider at another address or of another API type, without what the former one said."""
    entries = tuple(
        msgspec.structs.replace(
            entry, reported=None, reported_by="", tested_tools=None, learned=None, refused={}
        )
        for entry in provider.models
    )
    return msgspec.structs.replace(provider, models=entries, **fields)


def provider_name(typed: str) -> str:
    """Return the name under which a provider is saved that was typed so: models are PROVIDER/MODEL."""
    return re.sub(r"[\s/]+", "-", typed.strip()).lower() or _DEFAULT_NAME


def web_address(typed: str) -> str:
    """Return a typed address, with its scheme where it lacks one: http for this machine and a port."""
    address = typed.strip()
    match = _HOST.fullmatch(address)
    if match is None:
        return address
    host = match["host"]
    if host == "localhost" or match["port"] or host.replace(".", "").isdigit():
        return f"http://{address}"
    return f"https://{address}" if "." in host else address


def is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text.strip())
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


_OFFERED = ((text("Model"), 0), (text("Context"), 96), (text("$ in / out"), 110))
_LIST_ROW_PX = 30
_LIST_MAX_ROWS = 8
_LIST_HEAD_PX = 32


class ModelChecklist(QWidget):
    def __init__(self, add_models: Callable[[list[str]], object]) -> None:
        super().__init__()
        self.filter = SearchField(tr("Filter models"))
        self.filter.textChanged.connect(self._filter)
        self.list = CheckList(tr("Offered models"), _OFFERED, numbers=(1, 2))
        self.list.setObjectName("offered_models")
        self.list.setAllColumnsShowFocus(True)
        self.list.changed.connect(self._update_buttons)
        self._no_match = label(tr("No matching models"), "muted")
        self._add_models = add_models
        self.add = PushButton("", "primary", name="add_checked_models", on_click=self._add_checked)
        self._all = PushButton("", "link", name="check_all", on_click=self.list.check_all)
        close = PushButton(tr("Cancel"), name="cancel", on_click=self.hide)
        buttons = row(self._all, None, close, self.add, gap=8)
        body = column(self.filter, self.list, self._no_match, buttons, margins=(12, 12, 12, 12), gap=8)
        self.setLayout(column(card(body)))
        self.hide()

    def show_models(self, specs: Mapping[str, ResolvedModelSpec], existing: Collection[str]) -> None:
        """Show what is offered; models that are `existing` already are checked and cannot be changed."""
        with QSignalBlocker(self.list):
            self.list.clear()
            for name, spec in specs.items():
                self.list.addTopLevelItem(_item(name, spec, name in existing))
        rows = max(1, min(_LIST_MAX_ROWS, len(specs)))
        self.list.setFixedHeight(_LIST_HEAD_PX + rows * _LIST_ROW_PX + 2 * self.list.frameWidth())
        self.filter.clear()
        self._filter("")
        self.show()
        self.filter.setFocus(Qt.FocusReason.OtherFocusReason)

    def _add_checked(self) -> None:
        """Add what is checked and not present yet, also what the filter hides."""
        self.hide()
        self._add_models([item.text(0) for item in self.list.checked()])

    def _filter(self, query: str) -> None:
        is_any = self.list.filter(query)
        self.list.setVisible(is_any)
        self._no_match.setVisible(not is_any)
        self._update_buttons()

    def _update_buttons(self) -> None:
        count = len(self.list.checked())
        self.add.setText(tr.plural(count, "Add %n model", "Add %n models") if count else tr("Add models"))
        self.add.setEnabled(bool(count))
        self._all.setText(tr("Clear selection") if self.list.is_all_checked else tr("Select all"))
        self._all.setEnabled(bool(self.list.open_items()))


def _item(name: str, spec: ResolvedModelSpec, exists: bool) -> QTreeWidgetItem:
    model_row = ModelRow(name, False, spec)
    item = QTreeWidgetItem([column.text(model_row) for column in COLUMNS])
    if spec.values["window"].origin == "assumed":  # nobody says it
        item.setText(1, "—")
    if not (spec.is_free or spec.number("price_in") or spec.number("price_out")):
        item.setText(2, "—")
    for place in (1, 2):
        item.setTextAlignment(place, AT_END)
    item.setToolTip(0, name)
    item.setCheckState(0, Qt.CheckState.Checked if exists else Qt.CheckState.Unchecked)
    if exists:
        item.setText(0, name)
        item.setToolTip(0, tr("{name} is already in the list", name=name))
        item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsEnabled)
    return item


SpecLookup = Callable[[ModelEntry], ResolvedModelSpec]

_ROW_PX = 32
_HEAD_PX = 30
_MAX_ROWS = 7
_MIN_NAME_PX = 140
_SCROLLED_NAME_PX = 200  # of the name where there is no room for all columns
_ON = Qt.ScrollBarPolicy.ScrollBarAlwaysOn
_OFF = Qt.ScrollBarPolicy.ScrollBarAlwaysOff


class ModelTable(Themed, QTableWidget):
    """One row per model; a click on the star, or Enter, makes a model the default."""

    def __init__(self, show_chosen: Callable[[], object], set_default: Callable[[str], object]) -> None:
        super().__init__(0, len(COLUMNS))
        self._show_chosen = show_chosen
        self._set_default = set_default
        self._rows: tuple[ModelRow, ...] = ()
        FocusRing(self)
        for place, (words, *_) in enumerate(COLUMNS):
            title = QTableWidgetItem(translate(words))
            title.setTextAlignment(_alignment(place))
            self.setHorizontalHeaderItem(place, title)
        self.setAccessibleName(tr("Models"))
        self.setProperty("kind", "models")
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.setWordWrap(False)
        self.setShowGrid(False)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(_ROW_PX)
        head = self.horizontalHeader()
        head.setFixedHeight(_HEAD_PX)
        head.setHighlightSections(False)
        head.setSectionsClickable(False)
        head.setMinimumSectionSize(40)
        head.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self._fit()
        self.selectionModel().currentRowChanged.connect(lambda *_: show_chosen())
        self.clicked.connect(self._on_clicked)
        self.activated.connect(lambda index: set_default(self._name(index)))

    def show_rows(self, rows: Sequence[ModelRow]) -> None:
        """Show these models; the chosen one stays chosen, else the first is."""
        before = self.current_name()
        self.clearContents()  # without it Qt crashed here in a third of runs with a screen reader
        self.setRowCount(0)
        self._rows = tuple(rows)
        self.setRowCount(len(self._rows))
        self.apply_theme()
        self._fit()
        self.select_model(before)

    def apply_theme(self) -> None:
        for place, shown in enumerate(self._rows):
            for number in range(len(COLUMNS)):
                self.setItem(place, number, _cell(shown, number))

    def select_model(self, name: str) -> None:
        names = [row.name for row in self._rows]
        if names:
            self.selectRow(names.index(name) if name in names else 0)
        self._show_chosen()

    def current_name(self) -> str:
        return self._name(self.currentIndex())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """By the table's own width, not by what its bars leave: these come and go with the result."""
        count = self.rowCount()
        upright = self.verticalScrollBar()
        flat = self.horizontalScrollBar()
        scroll_bar_width = upright.sizeHint().width() if count > _MAX_ROWS else 0
        head = self.horizontalHeader()
        widths = [max(width, head.sectionSizeHint(place)) for place, (_, width, *_) in enumerate(COLUMNS)][1:]
        for place, width in enumerate(widths, 1):
            self.setColumnWidth(place, width)
        left = self.width() - scroll_bar_width - 2 * self.frameWidth() - sum(widths)
        narrow = left < _MIN_NAME_PX
        self.setVerticalScrollBarPolicy(_ON if scroll_bar_width else _OFF)
        self.setHorizontalScrollBarPolicy(_ON if narrow else _OFF)
        self.setColumnWidth(0, _SCROLLED_NAME_PX if narrow else left)
        below = flat.sizeHint().height() if narrow else 0
        rows = min(_MAX_ROWS, max(1, count))
        self.setFixedHeight(_HEAD_PX + rows * _ROW_PX + below + 2 * self.frameWidth())

    def _name(self, index: Index) -> str:
        return self._rows[index.row()].name if index.isValid() else ""

    def _on_clicked(self, index: QModelIndex) -> None:
        star = self.visualRect(index).left() + 30
        if index.column() == 0 and self.viewport().mapFromGlobal(self.cursor().pos()).x() < star:
            self._set_default(self._name(index))


def _cell(row: ModelRow, column: int) -> QTableWidgetItem:
    theme = current_theme()
    words = COLUMNS[column].text(row)
    cell = QTableWidgetItem(words)
    if column == 0:
        cell.setToolTip(words)  # a narrow column cuts it
    cell.setTextAlignment(_alignment(column))
    spoken = tr("{name}: {value}", name=COLUMNS[column].title, value=words)
    cell.setData(Qt.ItemDataRole.AccessibleTextRole, spoken)
    is_assumed = column == 1 and row.spec.values["window"].origin == "assumed"
    if is_assumed or words == UNKNOWN:
        cell.setForeground(QColor(theme.faint))
    if column == 0:
        cell.setIcon(icon("star", theme.accent_text if row.is_default else theme.faint, 14))
    return cell


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if COLUMNS[column].is_number else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


class ProviderModels(QWidget):
    """The models of a provider; each change of them holds at once."""

    edited = Signal(object)
    """A `ProviderEdit`."""
    remove_requested = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._provider = Provider(name="server", base_url="")
        self._offered: dict[str, SourcedSpec] = {}
        self._spec_lookup: SpecLookup = lambda _: resolve_spec()
        self.spec_form = ModelSpecForm()
        self.table = ModelTable(self._show_spec, self._set_default)
        self.spec_form.changed.connect(self._change)
        self.spec_form.default_button.clicked.connect(lambda: self._set_default(self.selected_model))
        self.spec_form.remove_button.clicked.connect(lambda: self.remove_requested.emit(self.selected_model))
        no_model = tr("No models yet. List the server's models, or enter a name.")
        self._no_model = label(no_model, "muted", wrap=True)
        self.name_field = ComboBox(words=tr("Model to add"))
        self.name_field.setEditable(True)
        self.name_field.setInsertPolicy(ComboBox.InsertPolicy.NoInsert)
        self.name_field.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        edit = self.name_field.lineEdit()
        assert edit is not None  # an editable combo box has one
        edit.setPlaceholderText(tr("Model name"))
        edit.setAccessibleName(tr("Model to add"))
        edit.returnPressed.connect(self.add_typed)
        completer = self.name_field.completer()
        assert completer is not None  # as an editable one does
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        self._add_button = PushButton(tr("Add"), "", "plus", name="add_model", on_click=self.add_typed)
        self.list_button = PushButton(tr("List models"), "", "list", name="list_models")
        buttons = row(self._add_button, self.list_button, gap=6)
        adding = row(self.name_field, pane(buttons), gap=6, stretch=0)
        self.checklist = ModelChecklist(self._add)
        self._table_card = card(column(self.table, margins=(5, 3, 5, 5)))
        heading = label(tr("Models"), "strong")
        parts = heading, self._no_model, self._table_card, adding, self.checklist, self.spec_form
        self.setLayout(column(*parts, gap=6))
        self._refresh()

    @property
    def entries(self) -> tuple[ModelEntry, ...]:
        return listed_models(self._provider)

    @property
    def default_model(self) -> str:
        """The model that answers when none is named; empty without any."""
        return self._provider.default_model or next((entry.name for entry in self.entries), "")

    @property
    def selected_model(self) -> str:
        return self.table.current_name()

    def show_provider(self, provider: Provider, spec_lookup: SpecLookup, *, is_other: bool) -> None:
        """Show the models of a provider; `spec_lookup` says what is known of one.

        Of the same one as before, what is chosen, offered or typed stays.
        """
        self._provider = provider
        self._spec_lookup = spec_lookup
        if is_other:
            self._offered = {}
            self.checklist.hide()
            self.name_field.setEditText("")
            self.set_suggestions(())
        self._refresh()
        if is_other:
            self.table.select_model(self.default_model)

    def set_suggestions(self, names: Sequence[str]) -> None:
        typed = self.name_field.currentText()
        present = {entry.name for entry in self.entries}
        self.name_field.clear()
        self.name_field.addItems([name for name in names if name not in present])
        self.name_field.setEditText(typed)

    def set_offered(self, offered: Mapping[str, SourcedSpec]) -> None:
        """Offer what the server has, and take over what it says of the models that are here."""
        self._offered = dict(offered)
        self.set_suggestions(tuple(offered))
        self.edited.emit(self._with_offered_specs)

    def _with_offered_specs(self, provider: Provider) -> Provider:
        models = tuple(self._with_offered_spec(entry) for entry in provider.models)
        return msgspec.structs.replace(provider, models=models)

    def show_checklist(self) -> None:
        offered = (self._with_offered_spec(ModelEntry(name=name)) for name in self._offered)
        specs = {entry.name: self._spec_lookup(entry) for entry in offered}
        self.checklist.show_models(specs, {entry.name for entry in self.entries})
        QTimer.singleShot(0, self, self._reveal_checklist)  # once the page has grown by it

    def _reveal_checklist(self) -> None:
        around = self.parentWidget()
        while around is not None and not isinstance(around, QScrollArea):
            around = around.parentWidget()
        if around is not None:
            around.ensureWidgetVisible(self.checklist, 0, 16)

    def _add(self, names: list[str]) -> None:
        added = [self._with_offered_spec(ModelEntry(name=name)) for name in names]

        def edit(provider: Provider) -> Provider:
            for entry in added:
                if entry.name not in {other.name for other in provider.models}:
                    provider = provider.with_entry(entry)
            return provider

        self.edited.emit(edit)
        self.set_suggestions(tuple(self._offered))
        self.table.select_model(names[0])

    def add(self, name: str) -> None:
        if name and name not in {entry.name for entry in self.entries}:
            self.name_field.setEditText("")
            self._add([name])
        elif name:
            self.table.select_model(name)

    def _with_offered_spec(self, entry: ModelEntry) -> ModelEntry:
        offered = self._offered.get(entry.name)
        if offered is None:
            return entry
        return msgspec.structs.replace(entry, reported=offered.spec, reported_by=offered.source)

    def add_typed(self) -> None:
        self.add(self.name_field.currentText().strip())

    def _refresh(self) -> None:
        default = self.default_model
        look_up = self._spec_lookup
        rows = [ModelRow(it.name, it.name == default, look_up(it), it.effort) for it in self.entries]
        self.table.show_rows(rows)
        for part in (self._table_card, self.spec_form):
            part.setVisible(bool(self.entries))
        self._no_model.setVisible(not self.entries)

    def _show_spec(self) -> None:
        name = self.table.current_name()
        entry = next((entry for entry in self.entries if entry.name == name), None)
        if entry is not None:
            defaults = self._spec_lookup(_without_own_figures(entry))
            self.spec_form.show_model(
                entry, self._spec_lookup(entry), defaults, is_default=name == self.default_model
            )

    def _change(self, fields: dict[str, Any]) -> None:
        name = self.selected_model
        self.edited.emit(
            lambda provider: provider.with_entry(msgspec.structs.replace(provider.entry(name), **fields))
        )

    def _set_default(self, name: str) -> None:
        if name and name != self.default_model:
            self.edited.emit(lambda provider: msgspec.structs.replace(provider, default_model=name))


def without_model(provider: Provider, name: str) -> Provider:
    models = tuple(entry for entry in provider.models if entry.name != name)
    default = provider.default_model if provider.default_model != name else ""
    return msgspec.structs.replace(provider, models=models, default_model=default)


def _without_own_figures(entry: ModelEntry) -> ModelEntry:
    return msgspec.structs.replace(entry, **msgspec.structs.asdict(ModelSpec()), effort="")
