"""The progress of a long operation."""

from __future__ import annotations

from collections.abc import Callable

OnProgress = Callable[[int, int], None]
"""Gets how much is done and how much there is in all; may be called on another thread than the loop's."""


def no_progress(done: int, total: int) -> None:
    """Ignore progress."""
