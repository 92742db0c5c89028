"""A provider as it is filled in, and its models: the table, what a server offers, how one is added."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
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

from helix_desktop.config.secrets import KeySource, SecretHeaders
from helix_desktop.config.settings import ModelEntry, Provider
from helix_desktop.domain.dialects import DialectName
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.model_spec import ResolvedModelSpec, SourcedSpec, resolve_spec
from helix_desktop.domain.request_extras import NO_EXTRAS, RequestExtras
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.choice_fields import AT_END, CheckList, ComboBox, Index
from helix_desktop.ui.design.focus import FocusRing
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout import card, column, pane, row
from helix_desktop.ui.design.style.icons import icon
from helix_desktop.ui.design.style.theme import Themed, current_theme
from helix_desktop.ui.design.text_fields import SearchField
from helix_desktop.ui.kit.forms import FieldRow
from helix_desktop.ui.settings.providers.model_spec_form import (
    COLUMNS,
    UNKNOWN,
    ModelRow,
    ModelSpecForm,
    figure_faults,
    tooltip_text,
)
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Models")
text = TextContext("Settings: Models")

_HOST = re.compile(r"(?P<host>[\w.-]+)(?P<port>:\d+)?(?:/\S*)?")  # and a path, without a scheme
_DEFAULT_NAME = "server"


class IncompleteExtras(msgspec.Struct, frozen=True):
    """Extra headers and body fields as they are typed, while they can't be sent."""

    headers: tuple[tuple[str, str, bool], ...]
    """Name, value and whether it is secret."""
    body: str


class ProviderDraft(msgspec.Struct, frozen=True):
    """One provider as filled in; `key` is only what was typed now: a kept key is never shown again.

    So is `secret_headers`. With `removes_key` the saved key is deleted. `default_model` is the model that
    answers when none is named; `extras` go along with the requests to all of its models. What is typed of
    extras and can't be sent is in `incomplete_extras`; figures that can't be used are in `invalid_figures`
    as they are typed, by model and name.
    """

    id: str  # empty while it is new
    name: str
    base_url: str
    dialect: DialectName = "openai-chat"
    models: tuple[ModelEntry, ...] = ()
    default_model: str = ""
    key: str = ""
    demo: bool = False
    extras: RequestExtras = NO_EXTRAS
    secret_headers: SecretHeaders = msgspec.field(default_factory=dict)
    removes_key: bool = False
    incomplete_extras: IncompleteExtras | None = None
    invalid_figures: Mapping[str, Mapping[str, str]] = msgspec.field(default_factory=dict)

    @classmethod
    def of(cls, provider: Provider) -> ProviderDraft:
        default = provider.default_model or next((entry.name for entry in provider.models), "")
        entries = provider.models
        if default and default not in {entry.name for entry in entries}:
            entries = (ModelEntry(name=default), *entries)
        name, url, extras = provider.name, provider.base_url, provider.extras()
        return cls(name, name, url, provider.dialect, entries, default, extras=extras)

    def provider(self) -> Provider:
        """Return the provider to be saved; name and models may still be missing. Raises HelixError."""
        faults = validate_provider(self)
        wrong = [words for field, words in faults.items() if field not in ("name", "models")]
        if wrong:
            raise HelixError(text("The provider isn't complete yet."), join_sentences(*wrong))
        return Provider(
            name=provider_name(self.name),
            base_url=self.base_url.strip(),
            models=self.models,
            default_model=self.default_model,
            dialect=self.dialect,
            headers=self.extras.headers,
            secret_headers=self.extras.secret_headers,
            body=self.extras.body,
        )

    def without_tests(self) -> ProviderDraft:
        """Return it without what tests have shown: that is saved by itself."""
        models = tuple(msgspec.structs.replace(model, tested_tools=None) for model in self.models)
        return msgspec.structs.replace(self, models=models)


class ProviderStatus(msgspec.Struct, frozen=True):
    """What is known about a provider: whether it is in use, and where its key is kept.

    `saved_headers` are the names of its secret headers that have a value.
    """

    id: str
    in_use: bool
    key_source: KeySource
    key_note: str = ""  # where its key is, or would be kept
    new_key_note: str = ""  # where a new provider's key would be kept
    saved_headers: frozenset[str] = frozenset()


EMPTY_DRAFT = ProviderDraft("", "", "")
"""A provider of which nothing is filled in."""


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


def validate_provider(form: ProviderDraft) -> dict[str, str]:
    """Return what keeps a provider from being saved: field name and what to do; empty when all is well."""
    faults: dict[str, str] = {}
    if not form.name.strip():
        faults["name"] = tr("Enter a name.")
    if not _is_web_address(form.base_url):
        faults["base_url"] = tr("Enter a web address such as {example}.", example="http://localhost:11434/v1")
    if not form.models:
        faults["models"] = tr("Add a model: list the server's models, or enter a name.")
    owners = (("", form.extras), *((model.name, model.extras) for model in form.models))
    wrong = [(name, fault) for name, extras in owners if (fault := extras.fault(form.dialect))]
    if wrong:
        name, fault = wrong[0]
        faults["extras"] = f"{name}: {translate(fault)}" if name else translate(fault)
    return faults


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text.strip())
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


_OFFERED = ((text("Model"), 0), (text("Context"), 96), (text("$ in / out"), 110))
_LIST_CELLS = (0, 1, 3)  # of a row of the table of models
_LIST_ROW_PX, _LIST_MAX_ROWS, _LIST_HEAD_PX = 30, 8, 32


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
    item = QTreeWidgetItem([COLUMNS[place].text(model_row) for place in _LIST_CELLS])
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

_ROW_PX, _HEAD_PX, _MAX_ROWS = 32, 30, 7
_MIN_NAME_PX = 140
_SCROLLED_NAME_PX = 200  # of the name where there is no room for all columns
_ON, _OFF = Qt.ScrollBarPolicy.ScrollBarAlwaysOn, Qt.ScrollBarPolicy.ScrollBarAlwaysOff


class ModelTable(Themed, QTableWidget):
    """One row per model; a click on the star, or Enter, makes a model the default."""

    def __init__(self, show_chosen: Callable[[], object], set_default: Callable[[str], object]) -> None:
        super().__init__(0, len(COLUMNS))
        self._show_chosen, self._set_default = show_chosen, set_default
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
        upright, flat = self.verticalScrollBar(), self.horizontalScrollBar()
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
    theme, words = current_theme(), COLUMNS[column].text(row)
    cell = QTableWidgetItem(words)
    cell.setToolTip(tooltip_text(row, column))
    cell.setTextAlignment(_alignment(column))
    spoken = tr("{name}: {value}", name=COLUMNS[column].title, value=words)
    cell.setData(Qt.ItemDataRole.AccessibleTextRole, spoken)
    is_assumed = column == 1 and row.spec.values["window"].origin == "assumed"
    if is_assumed or column == len(COLUMNS) - 1 or words == UNKNOWN:
        cell.setForeground(QColor(theme.faint))
    if column == 0:
        cell.setIcon(icon("star", theme.accent_text if row.is_default else theme.faint, 14))
    return cell


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if COLUMNS[column].is_number else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


class ProviderModels(QWidget):
    """Emits nothing while it is filled; `changed` when the models are others than before."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._entries: dict[str, ModelEntry] = {}
        self._default_model = ""
        self._offered: dict[str, SourcedSpec] = {}
        self._spec_lookup: SpecLookup = lambda _: resolve_spec()
        self.invalid_figures: dict[str, dict[str, str]] = {}
        """Figures that can't be used as they are typed, by model and name."""
        self.spec_form, self.table = ModelSpecForm(), ModelTable(self._show_spec, self._set_default)
        self.spec_form.changed.connect(self._change)
        self.spec_form.invalid_changed.connect(self._keep_invalid)
        self.spec_form.default_button.clicked.connect(lambda: self._set_default(self.selected_model))
        self.spec_form.remove_button.clicked.connect(lambda: self._remove(self.selected_model))
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
        buttons = pane(row(self._add_button, self.list_button, gap=6))
        self._adding = FieldRow("", self.name_field, room=1, trailing=buttons, is_labeled=False)
        self.checklist = ModelChecklist(self._add)
        self._table_card = card(column(self.table, margins=(5, 3, 5, 5)))
        heading, added = label(tr("Models"), "strong"), (self._adding, self.checklist, self.spec_form)
        self.setLayout(column(heading, self._no_model, self._table_card, *added, gap=6))
        self._refresh()

    @property
    def entries(self) -> tuple[ModelEntry, ...]:
        return tuple(self._entries.values())

    @property
    def default_model(self) -> str:
        return self._default_model if self._default_model in self._entries else next(iter(self._entries), "")

    @property
    def selected_model(self) -> str:
        return self.table.current_name()

    def show_models(
        self,
        entries: Sequence[ModelEntry],
        default_model: str,
        spec_lookup: SpecLookup,
        draft: ProviderDraft = EMPTY_DRAFT,
    ) -> None:
        """Show these models; `spec_lookup` says what is known of one.

        `draft` has figures that can't be used as they were typed.
        """
        self.invalid_figures = {model: dict(typed) for model, typed in draft.invalid_figures.items()}
        self._entries = {entry.name: entry for entry in entries}
        self._default_model, self._spec_lookup, self._offered = default_model, spec_lookup, {}
        self.checklist.hide()
        self.show_error("")
        self.name_field.setEditText("")
        self.set_suggestions(())
        self._refresh()
        self.table.select_model(self.default_model)

    def set_spec_lookup(self, spec_lookup: SpecLookup) -> None:
        """Look the model specs up again: the address has changed."""
        self._spec_lookup = spec_lookup
        self._refresh()

    def set_suggestions(self, names: Sequence[str]) -> None:
        typed = self.name_field.currentText()
        self.name_field.clear()
        self.name_field.addItems([name for name in names if name not in self._entries])
        self.name_field.setEditText(typed)

    def set_offered(self, offered: Mapping[str, SourcedSpec]) -> None:
        """Offer what the server has, and take over what it says of the models that are here."""
        self._offered = dict(offered)
        before = self._entries
        self._entries = {name: self._with_offered_spec(entry) for name, entry in before.items()}
        self.set_suggestions(tuple(offered))
        self._refresh()
        if self._entries != before:
            self.changed.emit()

    def take_figures(self, entries: Sequence[ModelEntry]) -> None:
        """Take what the server reported and a test showed from these entries; all else is unknown."""
        sources = {entry.name: entry for entry in entries}
        self._offered = {}
        before = self._entries
        self._entries = {name: _with_figures(entry, sources.get(name)) for name, entry in before.items()}
        if self._entries != before:
            self._refresh()
            self._show_spec()

    def show_tool_test(self, name: str, has_tools: bool) -> None:
        """Take over whether a model calls tools: its test has shown it, whatever the server's list says."""
        entry = self._entries.get(name)
        if entry is not None:
            self._entries[name] = msgspec.structs.replace(entry, tested_tools=has_tools)
            self._refresh()

    def show_checklist(self) -> None:
        offered = (self._with_offered_spec(ModelEntry(name=name)) for name in self._offered)
        specs = {entry.name: self._spec_lookup(entry) for entry in offered}
        self.checklist.show_models(specs, self._entries.keys())
        QTimer.singleShot(0, self, self._reveal_checklist)  # once the page has grown by it

    def _reveal_checklist(self) -> None:
        around = self.parentWidget()
        while around is not None and not isinstance(around, QScrollArea):
            around = around.parentWidget()
        if around is not None:
            around.ensureWidgetVisible(self.checklist, 0, 16)

    def _add(self, names: list[str]) -> None:
        for name in names:
            self._entries.setdefault(name, self._with_offered_spec(ModelEntry(name=name)))
        self.set_suggestions(tuple(self._offered))
        self.show_error("")
        self._refresh()
        self.table.select_model(names[0])
        self.changed.emit()

    def show_error(self, message: str) -> None:
        self._adding.show_error(message)

    def add(self, name: str) -> None:
        if name and name not in self._entries:
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
        default, look_up = self.default_model, self._spec_lookup
        rows = [ModelRow(it.name, it.name == default, look_up(it), it.effort) for it in self.entries]
        self.table.show_rows(rows)
        for part in (self._table_card, self.spec_form):
            part.setVisible(bool(self._entries))
        self._no_model.setVisible(not self._entries)

    def _show_spec(self) -> None:
        entry = self._entries.get(self.table.current_name())
        if entry is not None:
            specs = self._spec_lookup(entry), self._known_spec(entry)
            invalid = self.invalid_figures.get(entry.name, {})
            self.spec_form.show_model(entry, *specs, entry.name == self.default_model, invalid)

    def _known_spec(self, entry: ModelEntry) -> ResolvedModelSpec:
        return self._spec_lookup(_with_figures(ModelEntry(name=entry.name), entry))

    def show_faults(self) -> bool:
        """Show a model with figures that can't be used, each with its fault; return False if all can be."""
        windows = {entry.name: int(self._known_spec(entry).number("window")) for entry in self.entries}
        faults = {entry.name: figure_faults(entry, windows[entry.name]) for entry in self.entries}
        wrong = [name for name in faults if faults[name] or self.invalid_figures.get(name)]
        if not wrong:
            return False
        if self.selected_model not in wrong:
            self.table.select_model(wrong[0])
        self.spec_form.show_faults(faults[self.selected_model])
        self.show_error(tr("Correct the marked numbers of {models}.", models=", ".join(wrong)))
        return True

    def _keep_invalid(self, model: str, typed: dict[str, str]) -> None:
        if typed != self.invalid_figures.get(model, {}):
            self.invalid_figures.pop(model, None)
            if typed:
                self.invalid_figures[model] = typed
            self.changed.emit()

    def _change(self, entry: ModelEntry) -> None:
        self._entries[entry.name] = entry
        self._refresh()
        self.changed.emit()

    def _set_default(self, name: str) -> None:
        if name in self._entries and name != self.default_model:
            self._default_model = name
            self._refresh()
            self.changed.emit()

    def _remove(self, name: str) -> None:
        self._entries.pop(name, None)
        self.invalid_figures.pop(name, None)
        self.set_suggestions(tuple(self._offered))
        self._refresh()
        self.changed.emit()


def _with_figures(entry: ModelEntry, source: ModelEntry | None) -> ModelEntry:
    source = source or ModelEntry(name=entry.name)
    names = ("reported", "reported_by", "tested_tools", "learned", "refused")
    return msgspec.structs.replace(entry, **{name: getattr(source, name) for name in names})
