"""The token counter of a replay: the same counts as live, computed synchronously on the calling thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from helix_desktop.config.paths import resources_dir
from helix_desktop.providers.tiktoken_counter import count_text, load_encoding
from helix_desktop.replay.message_tokens import VOCABULARY


class ReplayTokenCounter:
    """A counter with the bundled vocabulary that counts each text once."""

    def __init__(self) -> None:
        self._count = bundled_counter()
        self._counts: dict[str, int] = {}

    async def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        return [self._count_text(text) for text in texts]

    def _count_text(self, text: str) -> int:
        count = self._counts.get(text)
        if count is None:
            count = self._counts[text] = self._count(text)
        return count


@cache
def bundled_counter() -> Callable[[str], int]:
    """Return a counter with the bundled vocabulary; loading takes about 0.4 s, once per process."""
    encoding = load_encoding(resources_dir() / "tokenizers" / f"{VOCABULARY}.tiktoken")
    return lambda text: count_text(encoding, text)
