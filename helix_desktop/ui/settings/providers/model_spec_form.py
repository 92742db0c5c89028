"""The figures of one model: who says them, what is typed instead, and why it can't be used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QLineEdit, QWidget

from helix_desktop.config.settings import ModelEntry
from helix_desktop.domain.choices import Effort, EffortLevel, sort_levels
from helix_desktop.domain.model_spec import ModelSpec, ResolvedModelSpec, SourcedValue, SpecOrigin
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.buttons import IconButton
from helix_desktop.ui.design.disclosure import Disclosure, DisclosureHead
from helix_desktop.ui.design.dynamic_style import restyle
from helix_desktop.ui.design.fields import ComboBox
from helix_desktop.ui.design.labels import ElidedLabel, label
from helix_desktop.ui.design.layout.boxes import card, column, pane, row
from helix_desktop.words.costs import parse_tokens, parse_usd
from helix_desktop.words.direction import dotted
from helix_desktop.words.efforts import effort_name
from helix_desktop.words.numbers import format_integer
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Models")
text = TextContext("Settings: Models")

COLUMNS = (
    text("Model"), text("Context"), text("Output"), text("$ in / out"), text("Tools"), text("Images"),
    text("Source"),
)  # fmt: skip
NUMBERS = frozenset({1, 2, 3})
"""The columns of numbers."""

_ORIGINS: dict[SpecOrigin, str] = {
    "you": text("set by you"),
    "server": text("server"),
    "catalog": text("catalog"),
    "assumed": text("assumed"),
}
"""Who says so, in words."""

_FIGURES_BY_COLUMN: tuple[tuple[str, ...], ...] = (
    (),
    ("window",),
    ("output",),
    ("price_in", "price_cached", "price_cache_write", "price_cache_write_1h", "price_out"),
    ("tools",),
    ("images",),
    ("window", "output", "price_in"),
)
_NUMBERS = (
    ("window", text("Context window"), text("tokens")),
    ("output", text("Max output"), text("tokens")),
    ("price_in", text("Input price"), text("$ / million")),
    ("price_out", text("Output price"), text("$ / million")),
    ("reserve", text("Room for the answer"), text("tokens")),
    ("price_cached", text("Cached input price"), text("$ / million")),
    ("price_cache_write", text("Cache write price"), text("$ / million")),
    ("price_cache_write_1h", text("Cache write price, 1 hour"), text("$ / million")),
)
_ADVANCED = frozenset(name for name, _, _ in _NUMBERS[4:])
"""Figures that few models need to be told; abilities stand with them."""
_NAMES = {name: words for name, words, _ in _NUMBERS} | {"tools": text("Tools"), "images": text("Images")}
UNKNOWN = "?"
"""What a cell shows of a figure that nobody gave."""


class ModelRow(msgspec.Struct, frozen=True):
    """One model of a provider; `is_default`: it answers when no model is named. `effort` is what is set."""

    name: str
    is_default: bool
    spec: ResolvedModelSpec
    effort: Effort = ""


def cell_text(row: ModelRow, column: int) -> str:
    match column:
        case 0:
            default = tr("default") if row.is_default else ""
            return dotted((row.name, effort_name(row.effort) if row.effort else "", default))
        case 1:
            window = row.spec.values["window"]
            tokens = format_integer(int(window.value))
            return f"≈ {tokens}" if window.origin == "assumed" else tokens
        case 2:
            output = int(row.spec.number("output"))
            return format_integer(output) if output else UNKNOWN
        case 3:
            return model_price_text(row.spec)
        case 4 | 5:
            return _ability_text(row.spec.supports("tools" if column == 4 else "images"))  # noqa: PLR2004 - a column
        case _:
            return _origins_text(row.spec)


def tooltip_text(row: ModelRow, column: int) -> str:
    """Return words that a narrow column cuts, and where the figures of a cell come from, a line each."""
    lines = [cell_text(row, column)] if column in (0, len(COLUMNS) - 1) else []
    for figure in _FIGURES_BY_COLUMN[column]:
        fact = row.spec.values.get(figure)
        if fact is not None:
            name, value, source = _NAMES[figure], _value_text(figure, fact), spec_source_text(fact)
            lines.append(tr("{name}: {value} ({source})", name=name, value=value, source=source))
    return "\n".join(lines)


def model_price_text(spec: ResolvedModelSpec) -> str:
    """Input and output price in dollars per million tokens."""
    price_in, price_out = spec.number("price_in"), spec.number("price_out")
    if spec.is_free:
        return tr("Free")
    if not (price_in or price_out):
        return UNKNOWN
    return " / ".join(f"{price:g}" if price else UNKNOWN for price in (price_in, price_out))


def _origins_text(spec: ResolvedModelSpec) -> str:
    """Who gave the figures that matter most, nearest first."""
    origins = {spec.values[name].origin for name in _FIGURES_BY_COLUMN[-1] if name in spec.values}
    return " · ".join(translate(words) for origin, words in _ORIGINS.items() if origin in origins)


def spec_source_text(fact: SourcedValue) -> str:
    if fact.origin == "you":
        return translate(_ORIGINS["you"])
    if fact.origin == "catalog":
        return tr("catalog: {source}", source=fact.source)
    return translate(fact.source)


def _value_text(name: str, fact: SourcedValue) -> str:
    if name in {"tools", "images"}:
        return _ability_text(bool(fact.value))
    if name.startswith("price"):
        return tr("${price} per million tokens", price=f"{fact.value:g}")
    return tr("{tokens} tokens", tokens=int(fact.value))


def _ability_text(is_able: bool | None) -> str:
    if is_able is None:
        return UNKNOWN
    return tr("yes") if is_able else tr("no")


MIN_WINDOW_TOKENS = 4_000
"""Tokens below which a window cannot hold the tools and one answer."""


def entry_with_figure(entry: ModelEntry, name: str, typed: str, known_window: int) -> ModelEntry:
    """Return a model with a figure that was typed; ValueError that says why it can't be used.

    `known_window` is its context window in tokens, where the user enters none. A price of 0 for input or
    output says that the model is free, while the other one has none; an empty one says nothing.
    """
    number = parse_usd(typed) if name.startswith("price") else parse_tokens(typed)
    window, reserve = entry.window, entry.reserve
    if name == "window":
        window = int(number)
        if reserve >= (window or known_window):
            raise ValueError(
                tr("Enter more than the {tokens} tokens of room for the answer.", tokens=reserve)
            )
        if fault := _window_fault(window):
            raise ValueError(fault)
    elif name == "reserve" and (fault := _reserve_fault(int(number), window or known_window)):
        raise ValueError(fault)
    entry = msgspec.structs.replace(entry, **{name: number})
    if name not in ("price_in", "price_out"):
        return entry
    is_free = bool(typed.strip()) and not (entry.price_in or entry.price_out)
    return msgspec.structs.replace(entry, free=is_free)


def figure_faults(entry: ModelEntry, known_window: int) -> dict[str, str]:
    """Return why a model can't be saved: names of figures, and what to do about each."""
    faults = {
        "window": _window_fault(entry.window),
        "reserve": _reserve_fault(entry.reserve, entry.window or known_window),
    }
    if bool(entry.price_in) != bool(entry.price_out):
        missing = "price_out" if entry.price_in else "price_in"
        faults[missing] = tr("Enter both prices, or neither: the costs would be too low.")
    return {name: fault for name, fault in faults.items() if fault}


def _window_fault(window_size: int) -> str:
    if 0 < window_size < MIN_WINDOW_TOKENS:
        return tr("Enter at least {tokens} tokens.", tokens=MIN_WINDOW_TOKENS)
    return ""


def _reserve_fault(reserve: int, window_size: int) -> str:
    if reserve >= window_size:
        return tr("Enter less than the context window of {tokens} tokens.", tokens=window_size)
    return ""


_ABILITIES = (("tools", text("Supports tools")), ("images", text("Supports images")))
_FIELD_PX, _MIN_SOURCE_PX = 104, 48


class ModelSpecForm(QWidget):
    """Fields for one model; every change comes out as a whole new entry."""

    changed = Signal(object)  # ModelEntry
    invalid_changed = Signal(str, dict)
    """A model, and its figures that can't be used, as they are typed."""

    def __init__(self) -> None:
        super().__init__()
        self._entry, self._spec = ModelEntry(name="?"), ResolvedModelSpec({})
        self._invalid: dict[str, str] = {}
        self._known_window, self._shown_window = 0, ""
        self._name = ElidedLabel(role="strong")
        self.default_button = IconButton("star", tr("Make default"), px=15, edge=26, name="use_by_default")
        self._reset_button = IconButton("rotate-ccw", tr("Reset to detected values"), px=15, edge=26)
        self.remove_button = IconButton("trash-2", tr("Remove model"), px=15, edge=26, name="remove_model")
        self._reset_button.setObjectName("forget_figures")
        self._fields: dict[str, QLineEdit] = {}
        self._choices: dict[str, ComboBox] = {}
        self._titles, self._sources = list[QLabel](), dict[str, QLabel]()
        head = row(self._name, self.default_button, self._reset_button, self.remove_button, gap=4, stretch=0)
        grid, advanced = self._grid(), self._grid()
        self.advanced = Disclosure(DisclosureHead(tr("Advanced")), pane(advanced))
        self._add_fields(grid, advanced)
        for part in (grid, advanced):  # their columns begin at the same places
            part.setColumnMinimumWidth(0, max(title.sizeHint().width() for title in self._titles))
        parts = column(head, grid, self.advanced, margins=(14, 10, 14, 12), gap=6)
        self.setLayout(column(card(parts, "well")))
        self._reset_button.clicked.connect(self._reset)

    def _grid(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(5)
        grid.setColumnStretch(3, 1)
        grid.setColumnMinimumWidth(3, _MIN_SOURCE_PX)
        return grid

    def _add_fields(self, grid: QGridLayout, advanced: QGridLayout) -> None:
        for name, words, unit in _NUMBERS:
            field = QLineEdit()
            field.setFixedWidth(_FIELD_PX)
            field.setAlignment(Qt.AlignmentFlag.AlignRight)
            field.editingFinished.connect(lambda name=name: self._on_edited(name))
            self._fields[name] = field
            self._add(advanced if name in _ADVANCED else grid, name, translate(words), field, translate(unit))
        for name, words in _ABILITIES:
            choice = ComboBox()
            choice.setMinimumWidth(_FIELD_PX)
            choice.activated.connect(lambda _, name=name: self._on_selected(name))
            self._choices[name] = choice
            self._add(advanced, name, translate(words), choice, "")
        self._effort = ComboBox()
        self._effort.setMinimumWidth(_FIELD_PX)
        self._effort.activated.connect(self._on_effort_selected)
        self._add(grid, "effort", tr("Reasoning effort"), self._effort, "")

    def _add(self, grid: QGridLayout, name: str, title: str, control: QWidget, unit: str) -> None:
        line = grid.rowCount()
        title_label = label(title, "muted")
        title_label.setBuddy(control)
        self._titles.append(title_label)
        control.setAccessibleName(tr("{name} ({unit})", name=title, unit=unit) if unit else title)
        self._sources[name] = label("", "faint", wrap=True)
        grid.addWidget(title_label, line, 0)
        grid.addWidget(control, line, 1, 1, 1 if unit else 2)
        if unit:
            grid.addWidget(label(unit, "faint"), line, 2)
        grid.addWidget(self._sources[name], line, 3)

    def show_model(
        self,
        entry: ModelEntry,
        spec: ResolvedModelSpec,
        defaults: ResolvedModelSpec,
        is_default: bool,
        invalid: Mapping[str, str],
    ) -> None:
        """Show a model; `defaults` is what would be known without the user's own figures.

        `invalid` are figures that can't be used, as they were typed.
        """
        self._entry, self._invalid = entry, dict(invalid)
        self._known_window = int(defaults.number("window"))
        self._name.set_full_text(entry.name)
        self.default_button.setVisible(not is_default)
        is_changed = entry.user_spec != ModelSpec() or entry.learned is not None
        self._reset_button.setVisible(is_changed or bool(invalid))
        for name, field in self._fields.items():
            own = getattr(entry, name)
            other = (defaults if own else spec).number(name)
            is_price = name in ("price_in", "price_out")
            field.setText(_number_text(name, own) if own or (is_price and entry.free) else "")
            is_known = other or (is_price and defaults.is_free)
            field.setPlaceholderText(_number_text(name, other) if is_known else UNKNOWN)
            restyle(field, "invalid", False)
        self._shown_window = self._fields["window"].text()
        for name, choice in self._choices.items():
            choice.clear()
            default = _default_text(defaults.supports(name))
            for words, value in ((default, None), (tr("Yes"), True), (tr("No"), False)):
                choice.addItem(words, value)
            choice.setCurrentIndex({None: 0, True: 1, False: 2}[getattr(entry, name)])
        self._show_effort(entry.effort, spec.model_info("", entry.name).offered_efforts)
        self._spec = spec
        for name in (*self._fields, *self._choices):
            self._show_source(name)
        for name, typed in invalid.items():
            self._fields[name].setText(typed)
            try:
                entry_with_figure(entry, name, typed, self._known_window)
            except ValueError as error:
                self._show_fault(name, str(error))

    def show_faults(self, faults: Mapping[str, str]) -> None:
        for name, fault in faults.items():
            if name not in self._invalid:
                self._show_fault(name, fault)

    def _show_effort(self, effort: Effort, levels: Sequence[EffortLevel]) -> None:
        self._effort.clear()
        self._effort.addItem(effort_name("default"), "")
        for level in sort_levels([*levels, effort]):
            self._effort.addItem(effort_name(level), level)
        self._effort.setCurrentIndex(max(0, self._effort.findData(effort)))
        self._effort.setEnabled(self._effort.count() > 1)
        self._sources["effort"].setText("" if levels else tr("this model has no reasoning effort"))

    def field(self, name: str) -> QLineEdit:
        return self._fields[name]

    def choice(self, name: str) -> ComboBox:
        return self._choices[name]

    def source(self, name: str) -> str:
        return self._sources[name].text()

    def _on_edited(self, name: str) -> None:
        """Take a figure over, or mark its field and say why it cannot be; it may heal others."""
        self._invalid[name] = self._fields[name].text()
        entry, before = self._entry, dict(self._invalid)
        if name == "window" and self._invalid[name] != self._shown_window:
            entry = msgspec.structs.replace(entry, learned=None)  # what the user says now counts
        for other in (name, *(set(before) - {name})):
            try:
                entry = entry_with_figure(entry, other, self._invalid[other], self._known_window)
            except ValueError as error:
                self._show_fault(other, str(error))
                continue
            del self._invalid[other]
            restyle(self._fields[other], "invalid", False)
            self._show_source(other)
        self.invalid_changed.emit(self._entry.name, dict(self._invalid))
        self._emit(entry)

    def _emit(self, entry: ModelEntry) -> None:
        if entry != self._entry:
            self.changed.emit(entry)

    def _show_fault(self, name: str, fault: str) -> None:
        restyle(self._fields[name], "invalid", True)
        restyle(self._sources[name], "role", "error")
        self._sources[name].setText(fault)
        if name in _ADVANCED:
            self.advanced.head.setChecked(True)

    def _show_source(self, name: str) -> None:
        restyle(self._sources[name], "role", "faint")
        fact = self._spec.values.get(name)
        if fact is None and name in ("price_in", "price_out"):
            fact = self._spec.values.get("free")
        self._sources[name].setText(spec_source_text(fact) if fact is not None else tr("unknown"))

    def _on_selected(self, name: str) -> None:
        entry = msgspec.structs.replace(self._entry, **{name: self._choices[name].currentData()})
        self._emit(entry)

    def _on_effort_selected(self) -> None:
        entry = msgspec.structs.replace(self._entry, effort=self._effort.currentData())
        self._emit(entry)

    def _reset(self) -> None:
        self.invalid_changed.emit(self._entry.name, {})
        unset = {name: getattr(ModelSpec(), name) for name in ModelSpec.__struct_fields__}
        self.changed.emit(msgspec.structs.replace(self._entry, learned=None, **unset))


def _number_text(name: str, number: float) -> str:
    return f"{number:g}" if name.startswith("price") else format_integer(int(number))


def _default_text(is_able: bool | None) -> str:
    if is_able is None:
        return tr("Default")
    return tr("Default (yes)") if is_able else tr("Default (no)")
