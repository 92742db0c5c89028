"""What a widget hands up: the intents that its window would perform."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from PySide6.QtCore import QObject

from helix_desktop.ui.kit.intents import Intent


def take_intents(place: QObject, take: Callable[[Any], object]) -> None:
    """Give all intents of what stands in `place` to `take`, in a window or alone; they go no further."""
    vars(place)["perform"] = take  # before the method of this name


@contextmanager
def performed(place: QObject) -> Iterator[list[Intent]]:
    """Take the intents of all that stands in `place`, in a window or alone; they go no further."""
    intents: list[Intent] = []
    take_intents(place, intents.append)
    yield intents
    del vars(place)["perform"]


def intents_of(place: QObject, act: Callable[[], object]) -> list[Intent]:
    """Return what `act` lets the window of a place do."""
    with performed(place) as intents:
        act()
    return intents
