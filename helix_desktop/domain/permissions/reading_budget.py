"""How much of a command is read and compared: what takes longer is asked about."""

from __future__ import annotations

STEPS = 40_000
"""Each takes 1 to 4 microseconds: a script of 500 lines takes as many."""


class TooMuchToRead(Exception):
    """A command takes too long to be read."""


class ReadingBudget:
    """The steps that are left of reading one command."""

    def __init__(self, steps: int = STEPS) -> None:
        self._left = steps

    def spend(self, steps: int = 1) -> None:
        """Count steps. Raises TooMuchToRead if none are left."""
        self._left -= steps
        if self._left < 0:
            raise TooMuchToRead
