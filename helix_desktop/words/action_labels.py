"""The words on the buttons of actions, and which remedies of an error have one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from helix_desktop.domain.error_remedies import Remedy


def action_label(action: str) -> str:
    """Return the words on an action's button."""
    if action in ("compact_again", "observe_again"):
        return "Try again"
    text = action.replace("_", " ").replace("-", " ")
    return text[:1].upper() + text[1:]


def supported_remedies(remedies: Iterable[str]) -> tuple[Remedy, ...]:
    """Return the remedies that this version can do: a log may name those of a later one."""
    supported: dict[str, Remedy] = {remedy: remedy for remedy in get_args(Remedy)}
    return tuple(supported[remedy] for remedy in remedies if remedy in supported)
