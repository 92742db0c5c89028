"""What the table of a provider's models shows: figures as text, and who says so."""

from __future__ import annotations

from dataclasses import dataclass

from helix_desktop.context.figures import Fact, Known, Origin

COLUMNS = ("Model", "Window", "Answer", "$ in / out", "Tools", "Images", "From")
NUMBERS = frozenset({1, 2, 3})
"""The columns of numbers."""

ORIGINS: dict[Origin, str] = {
    "you": "you",
    "server": "the server",
    "catalogue": "catalogue",
    "usual": "assumed",
}
"""Who says so, in words."""

_FACTS_IN: tuple[tuple[str, ...], ...] = (
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
    usual: bool
    known: Known


def cell(row: ModelRow, column: int) -> str:
    """The text of a cell."""
    match column:
        case 0:
            return row.name
        case 1:
            window = row.known.facts["window"]
            return f"≈ {window.value:,}" if window.origin == "usual" else f"{window.value:,}"
        case 2:
            return f"{row.known.number('output'):,}" if row.known.number("output") else _UNKNOWN
        case 3:
            return price_text(row.known)
        case 4 | 5:
            return _ability(row.known.can("tools" if column == 4 else "images"))  # noqa: PLR2004 - a column
        case _:
            return origins_text(row.known)


def tip(row: ModelRow, column: int) -> str:
    """Where the figures of a cell come from, a line each."""
    lines = ["Answers when no other model is named"] if row.usual and column == 0 else []
    for name in _FACTS_IN[column]:
        fact = row.known.facts.get(name)
        if fact is not None:
            lines.append(f"{_NAMES[name]} {_value_text(name, fact)}: {source_text(fact)}")
    return "\n".join(lines)


def price_text(known: Known) -> str:
    """Input and output price in dollars per million tokens."""
    price_in, price_out = known.number("price_in"), known.number("price_out")
    return f"{price_in:g} / {price_out:g}" if price_in or price_out else _UNKNOWN


def origins_text(known: Known) -> str:
    """Who gave the figures that matter most, nearest first."""
    found = {known.facts[name].origin for name in _FACTS_IN[-1] if name in known.facts}
    return ", ".join(words for origin, words in ORIGINS.items() if origin in found)


def source_text(fact: Fact) -> str:
    """Who says so, and where."""
    if fact.origin == "you":
        return "you"
    if fact.origin == "usual":
        return fact.source
    return f"{ORIGINS[fact.origin]} — {fact.source}" if fact.origin == "catalogue" else fact.source


def _value_text(name: str, fact: Fact) -> str:
    if name in {"tools", "images"}:
        return _ability(bool(fact.value))
    return f"${fact.value:g} per million tokens" if name.startswith("price") else f"{fact.value:,} tokens"


def _ability(able: bool | None) -> str:
    return _UNKNOWN if able is None else "yes" if able else "no"


def number_of(text: str) -> float | None:
    """A number as people type it: `200000`, `200,000`, `200k`, `1.05M`; 0 for nothing, None for no number."""
    plain = text.strip().replace(",", "").replace(" ", "").replace("_", "").removeprefix("$").lower()
    if not plain:
        return 0.0
    scale = {"k": 1_000, "m": 1_000_000}.get(plain[-1], 1)
    try:
        number = float(plain.rstrip("km")) * scale
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None  # noqa: PLR2004 - no model is that large
