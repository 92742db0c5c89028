"""Model specs: limits, prices and capabilities, each with its source; and servers found on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import Literal

import msgspec

from helix_desktop.domain.choices import EffortLevel
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.translatable_text import TextContext, TranslatableText

text = TextContext("Providers")

SpecOrigin = Literal["you", "server", "catalog", "assumed"]

DEFAULT_WINDOW = 128_000
DEFAULT_RESERVE = 4_096
LEAST_WINDOW = 8_000  # tokens; a server that says less for the first time is believed in that session alone
"""Tokens of a model of which nothing is known."""

_LIMITS = ("window", "input", "output", "reserve")
_PRICES = ("price_in", "price_cached", "price_cache_write", "price_cache_write_1h", "price_out")
FIGURES = (*_LIMITS, *_PRICES)
"""The names of all limits and prices."""

_CAPABILITIES = ("tools", "images", "reasoning")
_RESERVE_SHARES = (16, 4)  # of the window: what an answer usually gets, and the most it may get
_MAX_RESERVE = 32_000  # tokens


class ModelSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What somebody says of a model: limits in tokens, prices in US dollars per million tokens.

    `input` is the largest request, where it is less than the window; `reserve` is kept free for the answer.
    `efforts` are the levels of reasoning that it takes. 0, None and no levels: not said. `free`: input and
    output are said to cost nothing.
    """

    window: int = 0
    input: int = 0
    output: int = 0
    reserve: int = 0
    price_in: float = 0.0
    price_cached: float = 0.0
    price_cache_write: float = 0.0
    price_cache_write_1h: float = 0.0
    price_out: float = 0.0
    tools: bool | None = None
    images: bool | None = None
    reasoning: bool | None = None
    efforts: tuple[EffortLevel, ...] = ()
    free: bool = False


class LearnedWindow(msgspec.Struct, frozen=True):
    """A context window that a server's error said, in tokens, and the words of that error."""

    tokens: int
    message: str = ""


class SourcedSpec(msgspec.Struct, frozen=True):
    """Figures, who gave them, and where they stand: for people."""

    origin: SpecOrigin
    source: str
    spec: ModelSpec


class SourcedValue(msgspec.Struct, frozen=True):
    """One figure that counts, with its origin; `source` is where it stands, for people."""

    value: float | bool
    origin: SpecOrigin
    source: str = ""


class ResolvedModelSpec(msgspec.Struct, frozen=True):
    """The resolved values of a model, by name; values without a source are missing.

    `efforts` are the levels of reasoning that it takes; none: not known.
    """

    values: dict[str, SourcedValue]
    efforts: tuple[EffortLevel, ...] = ()

    def number(self, name: str) -> float:
        """Return a limit or price; 0 if it is not known."""
        fact = self.values.get(name)
        return fact.value if fact is not None else 0

    def supports(self, name: str) -> bool | None:
        """Return a capability; None if it is not known."""
        fact = self.values.get(name)
        return bool(fact.value) if fact is not None else None

    @property
    def is_free(self) -> bool:
        """Return True if the source of the prices says that the model costs nothing."""
        return "free" in self.values

    def model_info(self, provider: str, model: str) -> ModelInfo:
        return ModelInfo(
            provider,
            model,
            int(self.number("window")),
            int(self.number("reserve")),
            images=self.supports("images") is not False,  # unknown: tried, the server may refuse them
            output=int(self.number("output")),
            price_in=self.number("price_in"),
            price_cached=self.number("price_cached"),
            price_out=self.number("price_out"),
            price_cache_write=self.number("price_cache_write"),
            price_cache_write_1h=self.number("price_cache_write_1h"),
            reasoning=self.supports("reasoning"),
            efforts=self.efforts,
            images_known=self.supports("images") is not None,
            free=self.is_free,
        )


def resolve_spec(*specs: SourcedSpec) -> ResolvedModelSpec:
    """Resolve a spec: the first given value of each field wins; prices come from one source, all together."""
    facts: dict[str, SourcedValue] = {}
    for sourced in specs:
        spec = sourced.spec
        for name in (*_LIMITS, *_CAPABILITIES):
            value = getattr(spec, name)
            if value is not None and (value or name in _CAPABILITIES):
                facts.setdefault(name, SourcedValue(value, sourced.origin, sourced.source))
        if (spec.free or spec.price_in or spec.price_out) and not facts.keys() & {*_PRICES, "free"}:
            for name in (*_PRICES, "free"):
                if value := getattr(spec, name):
                    facts[name] = SourcedValue(value, sourced.origin, sourced.source)
    efforts = next((sourced.spec.efforts for sourced in specs if sourced.spec.efforts), ())
    # Every request needs window and reserve; a reserve that leaves no window is reduced.
    if "window" not in facts:
        facts["window"] = SourcedValue(DEFAULT_WINDOW, "assumed", text("assumed: no source reports its size"))
    window = int(facts["window"].value)
    reserve = facts.get("reserve")
    if reserve is None:
        facts["reserve"] = _default_reserve(window, facts)
    elif reserve.value >= window:
        facts["reserve"] = SourcedValue(window // _RESERVE_SHARES[1], reserve.origin, reserve.source)
    return ResolvedModelSpec(facts, efforts)


def _default_reserve(window_size: int, values: dict[str, SourcedValue]) -> SourcedValue:
    largest = values.get("input")
    if largest is not None and 0 < largest.value < window_size:
        return SourcedValue(window_size - int(largest.value), largest.origin, largest.source)
    if values["window"].origin == "assumed":
        return SourcedValue(DEFAULT_RESERVE, "assumed", text("assumed"))
    output = values.get("output")
    reserve, rule = _reserve_by_rule(window_size, int(output.value) if output else 0)
    return SourcedValue(reserve, "assumed", rule)


def _reserve_by_rule(window_size: int, longest_output: int) -> tuple[int, TranslatableText]:
    """Return what is kept for the answer where nobody says, and by which rule; 0: the output is not known."""
    default_reserve, max_reserve = (window_size // share for share in _RESERVE_SHARES)
    rules = [
        (default_reserve, text("1/16 of the context window"))
        if default_reserve >= DEFAULT_RESERVE
        else (DEFAULT_RESERVE, text("the minimum")),
        (max_reserve, text("1/4 of the context window, the most that is reserved")),
        (_MAX_RESERVE, text("the maximum")),
        *([(longest_output, text("the longest output of the model"))] if longest_output else []),
    ]
    return min(rules, key=itemgetter(0))


def with_smaller_window(info: ModelInfo, window_size: int) -> ModelInfo:
    """Return a model with a smaller window, which leaves its answer what it would leave if it had been set.

    A reserve that somebody set stays where the window has room for it.
    """
    by_rule, _ = _reserve_by_rule(info.window, info.output)
    reserve, _ = _reserve_by_rule(window_size, info.output)
    if info.reserve not in (by_rule, DEFAULT_RESERVE):
        reserve = info.reserve if info.reserve < window_size else window_size // _RESERVE_SHARES[1]
    return msgspec.structs.replace(info, window=window_size, reserve=reserve)


ServerKind = Literal["ollama", "lm-studio", "llama.cpp", "vllm", "other"]
_TITLES: Mapping[ServerKind, str] = {
    "ollama": "Ollama",
    "lm-studio": "LM Studio",
    "llama.cpp": "llama.cpp",
    "vllm": "vLLM",
    "other": "Server",
}


class LocalModel(msgspec.Struct, frozen=True):
    """A model of a server, and its reported spec; `is_loaded` is None if the server does not say."""

    name: str
    spec: ModelSpec
    source: str
    is_loaded: bool | None = None


class LocalServer(msgspec.Struct, frozen=True):
    """A server that answered."""

    kind: ServerKind
    base_url: str
    models: tuple[LocalModel, ...]

    @property
    def title(self) -> str:
        return _TITLES[self.kind]
