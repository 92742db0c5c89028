"""Count the tokens of notes and lines of names, most of whose parts were counted when the messages came."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import chain

from helix_desktop.agent.ports import TokenCounter
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.rewrites.note_parts import note_parts, parts_of_message
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.session import AssistantSpoke, UserSpoke

_MAX_PARTS = 65_536
_MAX_CHARS = 50_000  # of a text: counters cut a longer one into parts of their own


class NoteTokens:
    """A counter for one session, which remembers the parts of its texts."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._tokens: dict[str, int] = {}

    async def count(self, text: str) -> int:
        """Return the number of tokens of a text. Raises HelixError as the counter does."""
        if len(text) > _MAX_CHARS:
            return (await self._counter.count([text]))[0]
        parts = note_parts(text)
        tokens = await self._read(parts)
        return sum([tokens[part] for part in parts])

    async def read_ahead(self, items: Iterable[LogItem]) -> None:
        """Count the parts that notes will have of messages; a failure comes again when they are needed.

        A note with long words is counted whole: their parts are not.
        """
        short = (item for item in items if not _has_long_words(item))
        with suppress(HelixError):
            await self._read(chain.from_iterable(map(parts_of_message, short)))

    async def _read(self, parts: Iterable[str]) -> dict[str, int]:
        """Count those of these parts that are new, and return the tokens of all."""
        if len(self._tokens) >= _MAX_PARTS:
            self._tokens = {}
        tokens = self._tokens
        new = [part for part in dict.fromkeys(parts) if part not in tokens]
        if new:
            tokens.update(zip(new, await self._counter.count(new), strict=True))
        return tokens


def _has_long_words(item: LogItem) -> bool:
    return isinstance(item.event, UserSpoke | AssistantSpoke) and len(item.event.text) > _MAX_CHARS
