"""The figures of one model: who says them, what is typed instead, and why it can't be used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QWidget

from helix_desktop.config.settings import ModelEntry
from helix_desktop.domain.choices import Effort, EffortLevel, sort_levels
from helix_desktop.domain.model_spec import ModelSpec, ResolvedModelSpec, SourcedValue, SpecOrigin
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.buttons import IconButton
from helix_desktop.ui.design.cards import Disclosure, DisclosureHead
from helix_desktop.ui.design.labels import ElidedLabel, label
from helix_desktop.ui.design.layout import card, column, row
from helix_desktop.ui.kit.forms import Choice, Choices, Form, Line, Values, align_labels
from helix_desktop.words.costs import parse_tokens, parse_usd
from helix_desktop.words.lines import dotted
from helix_desktop.words.model_names import effort_name
from helix_desktop.words.numbers import format_integer
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Models")
text = TextContext("Settings: Models")

_ORIGINS: dict[SpecOrigin, str] = {
    "you": text("set by you"),
    "server": text("server"),
    "catalog": text("catalog"),
    "assumed": text("assumed"),
}
"""Who says so, in words."""

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
_FIGURES = tuple(name for name, _, _ in _NUMBERS)
_NAMES = {name: words for name, words, _ in _NUMBERS} | {"tools": text("Tools"), "images": text("Images")}
UNKNOWN = "?"
"""What a cell shows of a figure that nobody gave."""


class ModelRow(msgspec.Struct, frozen=True):
    """One model of a provider; `is_default`: it answers when no model is named. `effort` is what is set."""

    name: str
    is_default: bool
    spec: ResolvedModelSpec
    effort: Effort = ""


def _name_text(row: ModelRow) -> str:
    effort = effort_name(row.effort) if row.effort else ""
    return dotted((row.name, effort, tr("default") if row.is_default else ""))


def _window_text(row: ModelRow) -> str:
    window = row.spec.values["window"]
    tokens = format_integer(int(window.value))
    return f"≈ {tokens}" if window.origin == "assumed" else tokens


def _output_text(row: ModelRow) -> str:
    output = int(row.spec.number("output"))
    return format_integer(output) if output else UNKNOWN


def tooltip_text(row: ModelRow, column: int) -> str:
    """Return words that a narrow column cuts, and where the figures of a cell come from, a line each."""
    lines = [COLUMNS[column].text(row)] if column in (0, len(COLUMNS) - 1) else []
    for figure in COLUMNS[column].figures:
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
    origins = {spec.values[name].origin for name in _MAIN_FIGURES if name in spec.values}
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
    return {None: UNKNOWN, True: tr("yes"), False: tr("no")}[is_able]


class Column(NamedTuple):
    """A column of the table of models: `text` of a cell, and the figures that it is about."""

    title: str
    least_px: int
    text: Callable[[ModelRow], str]
    figures: tuple[str, ...] = ()
    is_number: bool = False


_MAIN_FIGURES = ("window", "output", "price_in")
_PRICES = ("price_in", "price_cached", "price_cache_write", "price_cache_write_1h", "price_out")
COLUMNS = (
    Column(text("Model"), 0, _name_text),
    Column(text("Context"), 88, _window_text, ("window",), is_number=True),
    Column(text("Output"), 78, _output_text, ("output",), is_number=True),
    Column(text("$ in / out"), 88, lambda row: model_price_text(row.spec), _PRICES, is_number=True),
    Column(text("Tools"), 56, lambda row: _ability_text(row.spec.supports("tools")), ("tools",)),
    Column(text("Images"), 64, lambda row: _ability_text(row.spec.supports("images")), ("images",)),
    Column(text("Source"), 116, lambda row: _origins_text(row.spec), _MAIN_FIGURES),
)
MIN_WINDOW_TOKENS = 4_000
"""Tokens below which a window cannot hold the tools and one answer."""


def entry_with_figure(entry: ModelEntry, name: str, value: float | None, known_window: int) -> ModelEntry:
    """Return a model with a figure of the user's; ValueError that says why it can't be used.

    `known_window` is its context window in tokens, where the user enters none. A price of 0 for input or
    output says that the model is free, while the other one has none; None says nothing.
    """
    number, window, reserve, fault = value or 0, entry.window, entry.reserve, ""
    if name == "window":
        window = int(number)
        fault = _window_fault(window)
        if reserve >= (window or known_window):
            fault = tr("Enter more than the {tokens} tokens of room for the answer.", tokens=reserve)
    elif name == "reserve":
        fault = _reserve_fault(int(number), window or known_window)
    if fault:
        raise ValueError(fault)
    entry = msgspec.structs.replace(entry, **{name: number})
    if name not in ("price_in", "price_out"):
        return entry
    is_free = value is not None and not (entry.price_in or entry.price_out)
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
_FIELD_PX, _CHOICE_PX = 104, 180


class ModelFigures(Values):
    """What the user sets of one model, by name; None: what others say of it counts."""

    written = Signal(object)  # ModelEntry

    def __init__(self) -> None:
        super().__init__()
        self.entry, self.known_window = ModelEntry(name="?"), 0

    def get(self, name: str) -> Any:
        own = getattr(self.entry, name)
        if name not in _FIGURES:
            return own
        return own if own or (name in ("price_in", "price_out") and self.entry.free) else None

    def set(self, name: str, value: Any) -> None:
        if name not in _FIGURES:
            self.written.emit(msgspec.structs.replace(self.entry, **{name: value}))
            return
        # What the user says now counts, not what was learned.
        entry = msgspec.structs.replace(self.entry, learned=None) if name == "window" else self.entry
        self.written.emit(entry_with_figure(entry, name, value, self.known_window))


def _figure(name: str, words: str, unit: str) -> Line:
    parse = parse_usd if name.startswith("price") else parse_tokens
    return Line(
        name, words, unit=unit, room=2, is_beside=True, width_px=_FIELD_PX,
        parse=lambda typed: parse(typed) if typed.strip() else None,
        format=lambda value: "" if value is None else _number_text(name, value),
    )  # fmt: skip


class ModelSpecForm(QWidget):
    """Fields for one model; every change comes out as a whole new entry."""

    changed = Signal(object)  # ModelEntry
    invalid_changed = Signal(str, dict)
    """A model, and its figures that can't be used, as they are typed."""

    def __init__(self) -> None:
        super().__init__()
        self._figures, self._invalid = ModelFigures(), dict[str, str]()
        self._spec = self._defaults = ResolvedModelSpec({})
        self._name = ElidedLabel(role="strong")
        self.default_button = IconButton("star", tr("Make default"), px=15, edge=26, name="use_by_default")
        reset, remove = tr("Reset to detected values"), tr("Remove model")
        self._reset_button = IconButton("rotate-ccw", reset, px=15, edge=26, name="forget_figures")
        self.remove_button = IconButton("trash-2", remove, px=15, edge=26, name="remove_model")
        head = row(self._name, self.default_button, self._reset_button, self.remove_button, gap=4, stretch=0)
        figures = {name: _figure(name, words, unit) for name, words, unit in _NUMBERS}
        abilities = [
            Choice(name, words, room=2, is_beside=True, choices=partial(self._ability_choices, name))
            for name, words in _ABILITIES
        ]
        words, choices = text("Reasoning effort"), self._effort_choices
        effort = Choice("effort", words, room=2, is_beside=True, choices=choices)
        usual = [field for name, field in figures.items() if name not in _ADVANCED]
        others = [field for name, field in figures.items() if name in _ADVANCED]
        self._form = Form((*usual, effort), self._figures, gap=3)
        self._others = Form((*others, *abilities), self._figures, gap=3)
        align_labels(*self._form.rows.values(), *self._others.rows.values())
        units = [self.form(name).trailing[name].findChildren(QLabel)[0] for name in _FIGURES]
        for (name, words, unit), shown in zip(_NUMBERS, units, strict=True):
            self.form(name).controls[name].setAccessibleName(tr("{name} ({unit})", name=words, unit=unit))
            shown.setFixedWidth(max(other.sizeHint().width() for other in units))
        for name in ("tools", "images", "effort"):
            self.form(name).controls[name].setMinimumWidth(_CHOICE_PX)
        self.advanced = Disclosure(DisclosureHead(tr("Advanced")), self._others)
        self.refused = label("", "muted", wrap=True, name="refused_parts")
        self.refused.hide()
        parts = column(head, self.refused, self._form, self.advanced, margins=(14, 10, 14, 12), gap=6)
        self.setLayout(column(card(parts, "well")))
        for form in (self._form, self._others):
            form.edited.connect(self._note_invalid)
        self._figures.written.connect(self.changed)
        self._reset_button.clicked.connect(self._reset)

    def form(self, name: str) -> Form:
        return self._form if name in self._form.fields else self._others

    def _ability_choices(self, name: str) -> Choices:
        defaults = {None: tr("Default"), True: tr("Default (yes)"), False: tr("Default (no)")}
        default = defaults[self._defaults.supports(name)]
        return ((None, default), (True, tr("Yes")), (False, tr("No")))

    def _effort_choices(self) -> Choices:
        levels = sort_levels([*self._offered_efforts, self._figures.entry.effort])
        return (("", effort_name("default")), *((level, effort_name(level)) for level in levels))

    @property
    def _offered_efforts(self) -> Sequence[EffortLevel]:
        return self._spec.model_info("", self._figures.entry.name).offered_efforts

    def show_model(
        self,
        entry: ModelEntry,
        spec: ResolvedModelSpec,
        defaults: ResolvedModelSpec,
        is_default: bool,
        invalid: Mapping[str, str],
    ) -> None:
        """Show a model; `defaults` is what would be known without the user's own figures.

        `invalid` are figures that can't be used, as they were typed: each is tried once more.
        """
        self._spec, self._defaults, self._invalid = spec, defaults, dict(invalid)
        self._figures.entry, self._figures.known_window = entry, int(defaults.number("window"))
        self._name.set_full_text(entry.name)
        self.default_button.setVisible(not is_default)
        is_learned = entry.learned is not None or bool(entry.refused)
        is_changed = entry.user_spec != ModelSpec() or is_learned
        self.refused.setText("\n".join(_refused_text(part, words) for part, words in entry.refused.items()))
        self.refused.setVisible(bool(entry.refused))
        self._reset_button.setVisible(is_changed or bool(invalid))
        for form in (self._form, self._others):
            form.refresh()
        for name in _FIGURES:
            is_price = name in ("price_in", "price_out")
            other = (defaults if getattr(entry, name) else spec).number(name)
            is_known = other or (is_price and defaults.is_free)
            self.form(name).line(name).setPlaceholderText(_number_text(name, other) if is_known else UNKNOWN)
            self._show_source(name, spec.values.get(name) or (spec.values.get("free") if is_price else None))
        for name, _ in _ABILITIES:
            self._show_source(name, spec.values.get(name))
        offered = self._offered_efforts
        self._form.rows["effort"].show_note("" if offered else tr("this model has no reasoning effort"))
        self._form.controls["effort"].setEnabled(bool(offered or entry.effort))
        for name, typed in invalid.items():
            self.form(name).line(name).setText(typed)
            self.form(name).retry(name)
        self._open_faults()

    def show_faults(self, faults: Mapping[str, str]) -> None:
        for name, fault in faults.items():
            if name not in self._invalid:
                self.form(name).show_error(name, fault)
        self._open_faults()

    def _open_faults(self) -> None:
        if self._others.errors():
            self.advanced.head.setChecked(True)

    def _show_source(self, name: str, fact: SourcedValue | None) -> None:
        self.form(name).rows[name].show_note(spec_source_text(fact) if fact is not None else tr("unknown"))

    def _note_invalid(self, name: str) -> None:
        self._invalid.pop(name, None)
        if self.form(name).rows[name].error:
            self._invalid[name] = self.form(name).line(name).text()
        self.invalid_changed.emit(self._figures.entry.name, dict(self._invalid))

    def _reset(self) -> None:
        entry = self._figures.entry
        self.invalid_changed.emit(entry.name, {})
        unset = msgspec.structs.asdict(ModelSpec())
        self.changed.emit(msgspec.structs.replace(entry, learned=None, refused={}, **unset))


_PARTS: dict[str, str] = {
    "usage": text("the request for usage"),
    "cache": text("hints for the provider's discount"),
    "reasoning": text("reasoning of earlier answers, and effort"),
    "ids": text("ids of earlier answers"),
    "names": text("names of calls as the model wrote them"),
    "null": text("empty messages as null"),
    "roles": text("several messages of a role in a row"),
}
"""What a server may refuse of a request, in words; a name of a later release is shown as it is."""


def _refused_text(part: str, words: str) -> str:
    known = translate(_PARTS[part]) if part in _PARTS else part
    return tr("Not sent, as the server refuses it: {part} (“{words}”)", part=known, words=words)


def _number_text(name: str, number: float) -> str:
    return f"{number:g}" if name.startswith("price") else format_integer(int(number))
