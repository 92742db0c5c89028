"""Records the output of a running call, and waits for words in it."""

from __future__ import annotations

import asyncio

_TIMEOUT_S = 300.0  # only a test that fails waits for it


class OutputRecorder:
    """A progress that remembers."""

    def __init__(self) -> None:
        self.chunks: list[str] = []
        self._has_new_output = asyncio.Event()

    def __call__(self, text: str) -> None:
        self.chunks.append(text)
        self._has_new_output.set()

    @property
    def text(self) -> str:
        return "".join(self.chunks)

    async def wait_for(self, expected: str) -> None:
        """Wait until the pieces contain these words."""
        async with asyncio.timeout(_TIMEOUT_S):
            while expected not in self.text:
                self._has_new_output.clear()
                await self._has_new_output.wait()
