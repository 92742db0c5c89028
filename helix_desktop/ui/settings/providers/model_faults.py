"""Which figures of a model can't be used, and why."""

from __future__ import annotations

import msgspec

from helix_desktop.config.settings import ModelEntry
from helix_desktop.words.costs import parse_tokens, parse_usd
from helix_desktop.words.translation import Translator

tr = Translator("Settings: Models")
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
            raise ValueError(tr("Enter more than the {tokens} tokens reserved for output.", tokens=reserve))
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
