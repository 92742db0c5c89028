"""Copies of a session's state to which further events can be applied."""

from __future__ import annotations

from copy import copy
from typing import TypeVar

_State = TypeVar("_State")


def forked(state: _State) -> _State:
    """Return a copy with lists and dicts of its own; all else is shared."""
    fork = copy(state)
    for name, value in vars(state).items():
        if isinstance(value, list | dict):
            setattr(fork, name, copy(value))
    return fork
