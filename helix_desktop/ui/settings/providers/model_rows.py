"""What the table of a provider's models shows: figures as text, and who says so."""

from __future__ import annotations

import msgspec

from helix_desktop.domain.choices import Effort
from helix_desktop.domain.model_spec import ResolvedModelSpec, SourcedValue, SpecOrigin
from helix_desktop.domain.translatable_text import TextContext
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
_NAMES = {
    "window": text("Context window"),
    "output": text("Max output"),
    "price_in": text("Input price"),
    "price_cached": text("Cached input price"),
    "price_cache_write": text("Cache write price"),
    "price_cache_write_1h": text("Cache write price, 1 hour"),
    "price_out": text("Output price"),
    "tools": text("Tools"),
    "images": text("Images"),
}
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
