"""The command that starts this program again."""

from __future__ import annotations

import sys


def itself(*words: str) -> tuple[str, ...]:
    """The program with its arguments: of a frozen app its own file, else the interpreter with the package."""
    own = () if getattr(sys, "frozen", False) else ("-m", "helix_desktop")
    return (sys.executable, *own, *words)
