"""A note is counted from what was counted when its messages came."""

from __future__ import annotations

from collections.abc import Sequence

from helix_desktop.agent.window.rewriter import NoteTokens
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.rewrites.fold import render_fold_note
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.replay.token_counters import MessageTokenCounter
from tests.support.histories import build_history


class _AskedCounter:
    """The bundled vocabulary, with the characters that it was asked for; fails while `is_damaged`."""

    def __init__(self) -> None:
        self._counter = MessageTokenCounter.bundled()
        self.chars = 0
        self.is_damaged = False

    async def count(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each text."""
        if self.is_damaged:
            raise HelixError(verbatim("The vocabulary is damaged."))
        self.chars += sum(map(len, texts))
        return await self._counter.count(texts)


async def test_a_note_is_counted_from_its_messages() -> None:
    counter, items = _AskedCounter(), build_history(20).transcript.messages.items
    tokens = NoteTokens(counter)
    await tokens.read_ahead(items)
    counter.chars = 0
    note = render_fold_note(items, "b" * 64, 20)
    assert await tokens.count(note) == MessageTokenCounter.bundled().text_tokens(note)
    assert counter.chars < len(note) / 3
    counter.chars = 0
    long = note * (50_000 // len(note) + 1)
    assert await tokens.count(long) == MessageTokenCounter.bundled().text_tokens(long)
    assert counter.chars < len(note)


async def test_words_too_long_to_be_counted_by_parts_are_not_counted_ahead() -> None:
    """Their parts would take memory, and the time of the user's next key, for nothing."""
    counter, event = _AskedCounter(), UserSpoke("a line of a log\n" * 4_000, 20_000)
    await NoteTokens(counter).read_ahead(Transcript([RecordedEvent(1, 0, event)]).messages.items)
    assert counter.chars == 0


async def test_a_counter_that_fails_fails_where_the_tokens_are_needed() -> None:
    counter, items = _AskedCounter(), build_history(3).transcript.messages.items
    counter.is_damaged, tokens = True, NoteTokens(counter)
    await tokens.read_ahead(items)
    counter.is_damaged = False
    assert await tokens.count("a note") == 2
