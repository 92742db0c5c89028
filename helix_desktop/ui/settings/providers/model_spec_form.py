"""The window and the prices of one model, what the user sets of it, and why it can't be used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QWidget

from helix_desktop.config.settings import ModelEntry
from helix_desktop.domain.choices import Effort, EffortLevel, sort_levels
from helix_desktop.domain.model_spec import ModelSpec, ResolvedModelSpec
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.buttons import IconButton, PushButton
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

_NUMBERS = (
    ("window", text("Context window"), text("tokens")),
    ("price_in", text("Input price"), text("$ / million")),
    ("price_out", text("Output price"), text("$ / million")),
)
_FIGURES = tuple(name for name, _, _ in _NUMBERS)
_PRICES = ("price_in", "price_out")
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
    default = tr("default") if row.is_default else ""
    return dotted((row.name, effort, default))


def _window_text(row: ModelRow) -> str:
    window = row.spec.values["window"]
    tokens = format_integer(int(window.value))
    return f"≈ {tokens}" if window.origin == "assumed" else tokens


def model_price_text(spec: ResolvedModelSpec) -> str:
    """Input and output price in dollars per million tokens."""
    prices = spec.number("price_in"), spec.number("price_out")
    if spec.is_free:
        return tr("Free")
    if not any(prices):
        return UNKNOWN
    return " / ".join(f"{price:g}" if price else UNKNOWN for price in prices)


class Column(NamedTuple):
    """A column of the table of models."""

    title: str
    least_px: int
    text: Callable[[ModelRow], str]
    is_number: bool = False


COLUMNS = (
    Column(text("Model"), 0, _name_text),
    Column(text("Context"), 96, _window_text, is_number=True),
    Column(text("$ in / out"), 110, lambda row: model_price_text(row.spec), is_number=True),
)
MIN_WINDOW_TOKENS = 4_000
"""Tokens below which a window cannot hold the tools and one answer."""


def window_fault(tokens: int, reserve: int) -> str:
    """Return why a context window can't be used beside what is kept for the answer; 0: none is entered."""
    if 0 < tokens < MIN_WINDOW_TOKENS:
        return tr("Enter at least {tokens} tokens.", tokens=MIN_WINDOW_TOKENS)
    if 0 < tokens <= reserve:
        return tr("Enter more than the {tokens} tokens of room for the answer.", tokens=reserve)
    return ""


def _both_prices() -> str:
    return tr("Enter both prices, or neither: the costs would be too low.")


_FIELD_PX = 104
_CHOICE_PX = 180


class ModelFigures(Values):
    """What the user sets of one model, by name; None: what others say of it counts.

    A price alone would make the costs too low: it waits for the other one.
    """

    written = Signal(dict)
    """Fields of a `ModelEntry` with their new values."""
    price_missing = Signal(str)
    """The price that is to be entered before the other one holds; empty: none is."""

    def __init__(self) -> None:
        super().__init__()
        self.entry = ModelEntry(name="?")
        self._waiting: dict[str, float | None] = {}

    def show_entry(self, entry: ModelEntry) -> None:
        if entry.name != self.entry.name:
            self._waiting.clear()
        self.entry = entry

    def get(self, name: str) -> Any:
        if name in self._waiting:
            return self._waiting[name]
        own = getattr(self.entry, name)
        if name == "effort" or own:
            return own
        return 0 if name in _PRICES and self.entry.free else None

    def set(self, name: str, value: Any) -> None:
        if name in _PRICES:
            self._set_price(name, value)
            return
        if name == "window":
            fault = window_fault(int(value or 0), self.entry.reserve)
            if fault:
                raise ValueError(fault)
            # What the user says now counts, not what was learned.
            self.written.emit({"window": int(value or 0), "learned": None})
            return
        self.written.emit({name: value})

    def _set_price(self, name: str, value: float | None) -> None:
        """Hold a price with the other one; 0 says that the model is free, while the other has none.

        Raises ValueError for one that can't be left out.
        """
        self._waiting[name] = value
        prices = {price: self.get(price) for price in _PRICES}
        known = [price for price in _PRICES if prices[price]]
        if len(known) == 1:
            missing = next(price for price in _PRICES if price not in known)
            if missing == name:
                raise ValueError(_both_prices())
            self.price_missing.emit(missing)
            return
        self._waiting.clear()
        is_free = not known and value is not None
        self.price_missing.emit("")
        self.written.emit({price: prices[price] or 0.0 for price in _PRICES} | {"free": is_free})


def _figure(name: str, words: str, unit: str) -> Line:
    parse = parse_usd if name in _PRICES else parse_tokens
    return Line(
        name, words, unit=unit, room=2, is_beside=True, width_px=_FIELD_PX,
        parse=lambda typed: parse(typed) if typed.strip() else None,
        format=lambda value: "" if value is None else _number_text(name, value),
    )  # fmt: skip


class ModelSpecForm(QWidget):
    """The window, the prices and the effort of one model; each change holds at once."""

    changed = Signal(dict)
    """Fields of the model's `ModelEntry` with their new values."""

    def __init__(self) -> None:
        super().__init__()
        self._figures = ModelFigures()
        self._spec = ResolvedModelSpec({})
        self._name = ElidedLabel(role="strong")
        self.use_button = PushButton("", name="use_provider")
        self.default_button = IconButton("star", tr("Make default"), px=15, edge=26, name="use_by_default")
        reset = tr("Reset to detected values")
        remove = tr("Remove model")
        self._reset_button = IconButton("rotate-ccw", reset, px=15, edge=26, name="forget_figures")
        self.remove_button = IconButton("trash-2", remove, px=15, edge=26, name="remove_model")
        buttons = self.use_button, self.default_button, self._reset_button, self.remove_button
        head = row(self._name, *buttons, gap=4, stretch=0)
        figures = [_figure(name, words, unit) for name, words, unit in _NUMBERS]
        efforts = self._effort_choices
        effort = Choice("effort", text("Reasoning effort"), room=2, is_beside=True, choices=efforts)
        self.form = Form((*figures, effort), self._figures, gap=3)
        align_labels(*self.form.rows.values())
        units = [self.form.trailing[name].findChildren(QLabel)[0] for name in _FIGURES]
        for (name, words, unit), shown in zip(_NUMBERS, units, strict=True):
            self.form.controls[name].setAccessibleName(tr("{name} ({unit})", name=words, unit=unit))
            shown.setFixedWidth(max(other.sizeHint().width() for other in units))
        self.form.controls["effort"].setMinimumWidth(_CHOICE_PX)
        self.refused = label("", "muted", wrap=True, name="refused_parts")
        self.refused.hide()
        parts = column(head, self.refused, self.form, margins=(14, 10, 14, 12), gap=6)
        self.setLayout(column(card(parts, "well")))
        self._figures.written.connect(self.changed)
        self._figures.price_missing.connect(self._show_missing_price)
        self._reset_button.clicked.connect(self._reset)

    def _effort_choices(self) -> Choices:
        levels = sort_levels([*self._offered_efforts, self._figures.entry.effort])
        return (("", effort_name("default")), *((level, effort_name(level)) for level in levels))

    @property
    def _offered_efforts(self) -> Sequence[EffortLevel]:
        return self._spec.model_info("", self._figures.entry.name).offered_efforts

    def show_model(
        self, entry: ModelEntry, spec: ResolvedModelSpec, defaults: ResolvedModelSpec, is_default: bool
    ) -> None:
        """Show a model; `defaults` is what would be known without the user's own figures.

        What is typed in a field of the same model, and is not done, stays.
        """
        before = {name: self._figures.get(name) for name in self.form.fields}
        is_other = entry.name != self._figures.entry.name
        self._spec = spec
        self._figures.show_entry(entry)
        self._name.set_full_text(entry.name)
        self.default_button.setVisible(not is_default)
        is_learned = entry.learned is not None or bool(entry.refused)
        self.refused.setText("\n".join(_refused_text(part, words) for part, words in entry.refused.items()))
        self.refused.setVisible(bool(entry.refused))
        self._reset_button.setVisible(entry.user_spec != ModelSpec() or is_learned)
        for name, value in before.items():
            if is_other or value != self._figures.get(name):
                self._figures.changed.emit(name)
        for name in _FIGURES:
            is_price = name in _PRICES
            others = defaults if getattr(entry, name) else spec
            other = others.number(name)
            is_known = other or (is_price and defaults.is_free)
            self.form.line(name).setPlaceholderText(_number_text(name, other) if is_known else UNKNOWN)
        offered = self._offered_efforts
        self.form.rows["effort"].show_note("" if offered else tr("this model has no reasoning effort"))
        self.form.controls["effort"].setEnabled(bool(offered or entry.effort))

    def _show_missing_price(self, name: str) -> None:
        for price in _PRICES:
            self.form.show_error(price, _both_prices() if price == name else "")

    def _reset(self) -> None:
        unset = msgspec.structs.asdict(ModelSpec())
        self.changed.emit({**unset, "learned": None, "refused": {}})


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
    return f"{number:g}" if name in _PRICES else format_integer(int(number))
