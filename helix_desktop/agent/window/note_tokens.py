"""Count the tokens of notes and lines of names, most of whose parts were counted when the messages came."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import chain, filterfalse

from helix_desktop.agent.ports.model import TokenCounter
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.rewrites.anchors import note_parts, parts_of_message
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.text_format import MAX_CHUNK_CHARS, split_text

_MAX_PARTS = 65_536


class NoteTokens:
    """A counter for one session, which remembers the parts of its texts."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._tokens: dict[str, int] = {}

    async def count(self, text: str) -> int:
        """Return the number of tokens of a text. Raises HelixError as the counter does."""
        parts = [part for chunk in split_text(text) for part in note_parts(chunk)]
        tokens = await self._read(parts)
        return sum(map(tokens.__getitem__, parts))

    async def read_ahead(self, items: Iterable[LogItem]) -> None:
        """Count the parts that notes will have of messages; a failure comes again when they are needed.

        Not those of words so long that a note with them is counted in chunks: there they end elsewhere.
        """
        short = (item for item in items if not _has_long_words(item))
        with suppress(HelixError):
            await self._read(chain.from_iterable(map(parts_of_message, short)))

    async def _read(self, parts: Iterable[str]) -> dict[str, int]:
        """Count those of these parts that are new, and return the tokens of all."""
        if len(self._tokens) >= _MAX_PARTS:
            self._tokens = {}
        tokens = self._tokens
        new = [*dict.fromkeys(filterfalse(tokens.__contains__, parts))]
        if new:
            tokens.update(zip(new, await self._counter.count(new), strict=True))
        return tokens


def _has_long_words(item: LogItem) -> bool:
    return isinstance(item.event, UserSpoke | AssistantSpoke) and len(item.event.text) > MAX_CHUNK_CHARS
