"""Figures of a model: its room, prices and abilities, each with who said so; the nearest word counts."""

from __future__ import annotations

from typing import Literal

import msgspec

from helix_desktop.context.message import ModelInfo

Origin = Literal["you", "server", "catalogue", "usual"]

USUAL_WINDOW, USUAL_RESERVE = 128_000, 4_096
"""Tokens of a model of which nothing is known."""

_LIMITS = ("window", "input", "output", "reserve")
_PRICES = ("price_in", "price_cached", "price_out")
_ABILITIES = ("tools", "images", "reasoning")
_RESERVE_SHARES = (16, 4)  # of the window: what an answer usually gets, and the most it may get
_RESERVE_MOST = 32_000


class Figures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What somebody says of a model: limits in tokens, prices in US dollars per million tokens.

    `input` is the largest request, where it is less than the window; `reserve` is kept free for the answer.
    0 and None: not said.
    """

    window: int = 0
    input: int = 0
    output: int = 0
    reserve: int = 0
    price_in: float = 0.0
    price_cached: float = 0.0
    price_out: float = 0.0
    tools: bool | None = None
    images: bool | None = None
    reasoning: bool | None = None


class Said(msgspec.Struct, frozen=True):
    """Figures, who gave them, and where they stand: for people."""

    origin: Origin
    source: str
    figures: Figures


class Fact(msgspec.Struct, frozen=True):
    """One figure that counts, with its origin; `source` is where it stands, for people."""

    value: float | bool
    origin: Origin
    source: str = ""


class Known(msgspec.Struct, frozen=True):
    """All figures of a model that count, by name; one that nobody gave is missing."""

    facts: dict[str, Fact]

    def number(self, name: str) -> float:
        """A limit or price; 0 when it is not known."""
        fact = self.facts.get(name)
        return fact.value if fact is not None else 0

    def can(self, name: str) -> bool | None:
        """An ability; None when it is not known."""
        fact = self.facts.get(name)
        return bool(fact.value) if fact is not None else None

    def info(self, provider: str, model: str) -> ModelInfo:
        """The model with these figures."""
        return ModelInfo(
            provider,
            model,
            int(self.number("window")),
            int(self.number("reserve")),
            images=bool(self.can("images")),
            output=int(self.number("output")),
            price_in=self.number("price_in"),
            price_cached=self.number("price_cached"),
            price_out=self.number("price_out"),
        )


def known(*said: Said) -> Known:
    """What counts: of each figure the first that was given. Prices come from one mouth, all together."""
    facts: dict[str, Fact] = {}
    for one in said:
        figures = one.figures
        for name in (*_LIMITS, *_ABILITIES):
            value = getattr(figures, name)
            if value is not None and (value or name in _ABILITIES):
                facts.setdefault(name, Fact(value, one.origin, one.source))
        if (figures.price_in or figures.price_out) and not facts.keys() & set(_PRICES):
            for name in _PRICES:
                if value := getattr(figures, name):
                    facts[name] = Fact(value, one.origin, one.source)
    return Known(_completed(facts))


def _completed(facts: dict[str, Fact]) -> dict[str, Fact]:
    """With window and reserve, which every request needs; a reserve that leaves no window is cut down."""
    if "window" not in facts:
        facts["window"] = Fact(USUAL_WINDOW, "usual", "assumed: nobody says how large it is")
    window = int(facts["window"].value)
    given = facts.get("reserve")
    if given is None:
        facts["reserve"] = _reserve(window, facts)
    elif given.value >= window:
        facts["reserve"] = Fact(window // _RESERVE_SHARES[1], given.origin, given.source)
    return facts


def _reserve(window: int, facts: dict[str, Fact]) -> Fact:
    largest = facts.get("input")
    if largest is not None and 0 < largest.value < window:
        return Fact(window - int(largest.value), largest.origin, largest.source)
    if facts["window"].origin == "usual":
        return Fact(USUAL_RESERVE, "usual", "assumed")
    usual, most = (window // share for share in _RESERVE_SHARES)
    output = facts.get("output")
    caps = [max(USUAL_RESERVE, usual), most, _RESERVE_MOST, *([int(output.value)] if output else [])]
    return Fact(min(caps), "usual", "a sixteenth of the window, within bounds")
