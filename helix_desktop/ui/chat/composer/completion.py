"""What is completed while a message is typed: sources of completions, and where a word of one begins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol
from unicodedata import category

import msgspec

_OPENING = ("Ps", "Pi")  # categories of brackets and quotes that open


class CompletionItem(msgspec.Struct, frozen=True):
    """A row of the popup: an icon, a title and a detail, with the positions of matched letters in both.

    `text` takes the place of what was typed, trigger and all. With `is_partial` it is the beginning of more,
    such as a folder, and the popup stays open. `key` is what its source knows it by.
    """

    text: str
    title: str
    detail: str = ""
    icon: str = "file"
    title_matches: tuple[int, ...] = ()
    detail_matches: tuple[int, ...] = ()
    is_partial: bool = False
    key: str = ""


class CompletionSource(Protocol):
    """Completes what begins with a trigger, typed at the start of a word."""

    @property
    def trigger(self) -> str:
        """A character, or a command and the space behind it, whose arguments are completed."""
        ...

    @property
    def only_at_start(self) -> bool:
        """True if the word has to be the first of the message."""
        ...

    @property
    def name(self) -> str:
        """What is completed, for screen readers: "Files"."""
        ...

    @property
    def hint(self) -> str:
        """What else can be typed, in a few words; empty for nothing."""
        ...

    @property
    def empty_text(self) -> str:
        """What is said when nothing matches."""
        ...

    def takes(self, query: str) -> bool:
        """Return False for a query that means something else, as `#12` does: there is no popup then."""
        ...

    async def completions(self, query: str) -> Sequence[CompletionItem]:
        """Return what completes a query, best first. May be canceled. Raises HelixError."""
        ...

    def accept(self, completion: CompletionItem) -> None:
        """Do what accepting one does beside the text that it puts in."""
        ...


class TypedWord(NamedTuple):
    """The word that is being completed: its source, where its trigger is, and what follows it."""

    source: CompletionSource
    start: int
    query: str


def find_typed_word(line: str, is_first_line: bool, sources: Iterable[CompletionSource]) -> TypedWord | None:
    """Return the word at the end of a line, up to the cursor, that a source completes.

    One in quotes may hold spaces.
    """
    for source in sources:
        start = _trigger_before(line, source.trigger)
        if start < 0 or (source.only_at_start and not (is_first_line and not start)):
            continue
        query = line[start + len(source.trigger) :]
        if source.takes(query):
            return TypedWord(source, start, query)
    return None


def _trigger_before(line: str, trigger: str) -> int:
    """Return where the trigger of the last word is; -1 if there is none."""
    start = line.rfind(trigger)
    while start >= 0:
        if (start == 0 or _may_stand_before(line[start - 1])) and _is_one_word(line[start + len(trigger) :]):
            return start
        start = line.rfind(trigger, 0, start)
    return -1


def _may_stand_before(char: str) -> bool:
    return char.isspace() or char in "\"'<" or category(char) in _OPENING


def _is_one_word(query: str) -> bool:
    """Return True if a query has no space, except between quotes."""
    if not query.startswith('"'):
        return not any(char.isspace() for char in query)
    end = query.find('"', 1)
    while end > 0 and query[end - 1] == "\\":
        end = query.find('"', end + 1)
    return end < 0 or not any(char.isspace() for char in query[end:])
