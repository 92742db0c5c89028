"""Hears what a running call puts out, and waits for words in it."""

from __future__ import annotations

import asyncio

_PATIENCE_S = 20


class Heard:
    """A progress that remembers."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._new = asyncio.Event()

    def __call__(self, text: str) -> None:
        """Take a piece."""
        self.pieces.append(text)
        self._new.set()

    @property
    def text(self) -> str:
        """All pieces."""
        return "".join(self.pieces)

    async def until(self, words: str) -> None:
        """Wait until the pieces hold these words."""
        async with asyncio.timeout(_PATIENCE_S):
            while words not in self.text:
                self._new.clear()
                await self._new.wait()
