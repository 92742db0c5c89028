"""What the table of a provider's models shows: figures as text, and who says so."""

from __future__ import annotations

from dataclasses import dataclass

from helix_desktop.domain.model_spec import ResolvedModelSpec, SourcedValue, SpecOrigin

COLUMNS = ("Model", "Window", "Answer", "$ in / out", "Tools", "Images", "From")
NUMBERS = frozenset({1, 2, 3})
"""The columns of numbers."""

ORIGIN_TEXTS: dict[SpecOrigin, str] = {
    "you": "you",
    "server": "the server",
    "catalogue": "catalogue",
    "usual": "assumed",
}
"""Who says so, in words."""

_FIGURES_BY_COLUMN: tuple[tuple[str, ...], ...] = (
    (),
    ("window",),
    ("output",),
    ("price_in", "price_cached", "price_out"),
    ("tools",),
    ("images",),
    ("window", "output", "price_in"),
)
_NAMES = {
    "window": "Window",
    "output": "Largest answer",
    "price_in": "Input",
    "price_cached": "Cached input",
    "price_out": "Output",
    "tools": "Tools",
    "images": "Images",
}
_UNKNOWN = "?"


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model of a provider; `usual` is the one that answers when none is named."""

    name: str
    is_default: bool
    spec: ResolvedModelSpec


def cell_text(row: ModelRow, column: int) -> str:
    """Return the text of a cell."""
    match column:
        case 0:
            return row.name
        case 1:
            window = row.spec.values["window"]
            return f"≈ {window.value:,}" if window.origin == "usual" else f"{window.value:,}"
        case 2:
            return f"{row.spec.number('output'):,}" if row.spec.number("output") else _UNKNOWN
        case 3:
            return price_text(row.spec)
        case 4 | 5:
            return _ability_text(row.spec.supports("tools" if column == 4 else "images"))  # noqa: PLR2004 - a column
        case _:
            return origins_text(row.spec)


def tooltip_text(row: ModelRow, column: int) -> str:
    """Return where the figures of a cell come from, a line each."""
    lines = ["Answers when no other model is named"] if row.is_default and column == 0 else []
    for name in _FIGURES_BY_COLUMN[column]:
        fact = row.spec.values.get(name)
        if fact is not None:
            lines.append(f"{_NAMES[name]} {_value_text(name, fact)}: {source_text(fact)}")
    return "\n".join(lines)


def price_text(spec: ResolvedModelSpec) -> str:
    """Input and output price in dollars per million tokens."""
    price_in, price_out = spec.number("price_in"), spec.number("price_out")
    return f"{price_in:g} / {price_out:g}" if price_in or price_out else _UNKNOWN


def origins_text(spec: ResolvedModelSpec) -> str:
    """Who gave the figures that matter most, nearest first."""
    origins = {spec.values[name].origin for name in _FIGURES_BY_COLUMN[-1] if name in spec.values}
    return ", ".join(words for origin, words in ORIGIN_TEXTS.items() if origin in origins)


def source_text(fact: SourcedValue) -> str:
    """Who says so, and where."""
    if fact.origin == "you":
        return "you"
    if fact.origin == "usual":
        return fact.source
    return f"{ORIGIN_TEXTS[fact.origin]} — {fact.source}" if fact.origin == "catalogue" else fact.source


def _value_text(name: str, fact: SourcedValue) -> str:
    if name in {"tools", "images"}:
        return _ability_text(bool(fact.value))
    return f"${fact.value:g} per million tokens" if name.startswith("price") else f"{fact.value:,} tokens"


def _ability_text(is_able: bool | None) -> str:
    return _UNKNOWN if is_able is None else "yes" if is_able else "no"


def parse_number(text: str) -> float | None:
    """Parse a number: `200000`, `200,000`, `200k`, `1.05M`; return 0 for nothing, None for no number."""
    plain = text.strip().replace(",", "").replace(" ", "").replace("_", "").removeprefix("$").lower()
    if not plain:
        return 0.0
    scale = {"k": 1_000, "m": 1_000_000}.get(plain[-1], 1)
    try:
        number = float(plain.rstrip("km")) * scale
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None  # noqa: PLR2004 - no model is that large
