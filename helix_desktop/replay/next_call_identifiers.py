"""Measure whether what an agent needs next stands in its window: the identifiers of its next call.

The recorded agent saw its whole history. Of the identifiers (see `domain.identifiers`) in the arguments of
each of its model calls, those that occurred before, in the text or the arguments of any earlier message, are
what it took from there. The share of them in the request that the managed agent would have got instead is the
coverage. An unmanaged request holds them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import filterfalse
from typing import NamedTuple

import msgspec

from helix_desktop.domain.identifiers import argument_text, identifiers_in
from helix_desktop.domain.messages import Message

# Model calls: an identifier that was last seen longer ago than these is counted separately, too.
OLD = 5
VERY_OLD = 20

_WORD = re.compile(r"\w+")
_TO_SPACES = {code: " " for code in range(128) if _WORD.fullmatch(chr(code)) is None}


class IdentifierUse(NamedTuple):
    """An identifier in the arguments of a model call, how many model calls ago it last occurred, and where.

    What the call before brought, or the user wrote behind it, is one call old. `source` is that text.
    """

    name: str
    age: int
    source: str = ""


class IdentifierCoverage(msgspec.Struct, frozen=True):
    """How many identifiers were used that had occurred before, and how many of them were in the request.

    `..._old` are those last seen more than 5 model calls ago, `..._very_old` more than 20. An identifier
    counts once per model call. Calls whose request could not be made count for nothing.
    """

    identifiers: int = 0
    in_window: int = 0
    identifiers_old: int = 0
    in_window_old: int = 0
    identifiers_very_old: int = 0
    in_window_very_old: int = 0

    @property
    def share(self) -> float:
        """Return the share that was in the window; 1 where nothing was used."""
        return self.in_window / self.identifiers if self.identifiers else 1.0

    @property
    def share_old(self) -> float:
        return self.in_window_old / self.identifiers_old if self.identifiers_old else 1.0

    @property
    def share_very_old(self) -> float:
        return self.in_window_very_old / self.identifiers_very_old if self.identifiers_very_old else 1.0


def occurs_in(name: str, text: str) -> bool:
    """Return True if a text holds an identifier that no word character continues on either side.

    So `src/app.py` stands in `/home/src/app.py:3`, but neither in `src/app.pyc` nor in `mysrc/app.py`.
    """
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not (_is_one_word(text[at - 1 : at], name[0]) or _is_one_word(name[-1], text[end : end + 1])):
            return True
        at = text.find(name, at + 1)
    return False


def _is_one_word(before: str, after: str) -> bool:
    return _is_word_character(before) and _is_word_character(after)


def _is_word_character(character: str) -> bool:
    return character.isalnum() or character == "_"


def find_uses(messages: Sequence[Message]) -> list[tuple[IdentifierUse, ...]]:
    """Return for each model call of a recording what its arguments use of what occurred before."""
    names = [argument_names(message) for message in messages]
    history = _History({key_word(name) for of_message in names for name in of_message})
    uses = []
    for message, of_message in zip(messages, names, strict=True):
        if message.role == "assistant":
            uses.append(tuple(history.uses_of(of_message)))
            history.calls += 1
        history.add(message)
    return uses


def argument_names(message: Message) -> tuple[str, ...]:
    return identifiers_in("\n".join(argument_text(call.arguments) for call in message.calls))


def key_word(name: str) -> str:
    """Return the word of an identifier by which texts that may have it are found: the longest."""
    return max(words_in(name), key=len)


def words_in(text: str) -> list[str]:
    """Return the words of a text in their order, as `key_word` reads them."""
    return _WORD.findall(text)


def words_of(text: str) -> set[str]:
    if text.isascii():
        return _ascii_words(text)
    lines = text.split("\n")  # most of them are ASCII nevertheless
    words = _ascii_words("\n".join(filter(str.isascii, lines)))
    words.update(_WORD.findall("\n".join(filterfalse(str.isascii, lines))))
    return words


def _ascii_words(text: str) -> set[str]:
    """Return the words of a text: three times as fast as by the pattern."""
    return set(text.translate(_TO_SPACES).split())


class _History:
    """The messages of a recording so far, found by those words in them that it will be asked for."""

    def __init__(self, key_words: set[str]) -> None:
        self.calls = 0
        self._key_words = key_words
        self._texts: list[tuple[str, int]] = []  # each with the number of model calls up to it
        self._numbers_by_word: dict[str, list[int]] = {}  # of texts, ascending

    def add(self, message: Message) -> None:
        for text in message_texts(message):
            for word in self._key_words & words_of(text):
                self._numbers_by_word.setdefault(word, []).append(len(self._texts))
            self._texts.append((text, self.calls))

    def uses_of(self, names: Iterable[str]) -> Iterator[IdentifierUse]:
        for name in names:
            last = self._last_occurrence(name)
            if last is not None:
                text, calls = last
                yield IdentifierUse(name, self.calls + 1 - calls, text)

    def _last_occurrence(self, name: str) -> tuple[str, int] | None:
        """Return the newest text with an identifier, and the number of model calls up to it."""
        for number in reversed(self._numbers_by_word.get(key_word(name), [])):
            text, calls = self._texts[number]
            if occurs_in(name, text):
                return text, calls
        return None


def message_texts(message: Message) -> Iterator[str]:
    """Yield a message's text, and the values in the arguments of each of its calls."""
    yield message.text
    for call in message.calls:
        yield argument_text(call.arguments)


class IdentifierCoverageCounter:
    def __init__(self) -> None:
        self._argument_texts: dict[str, str] = {}
        self._uses: list[tuple[int, bool]] = []  # age, and True if it was in the request

    def add(
        self, call: int, uses: Sequence[IdentifierUse], request: Sequence[Message]
    ) -> list[IdentifierUse]:
        """Add what a model call (from 1) used, and the request sent for it; return what was not in it."""
        if not uses:
            return []
        text = "\n".join(self.texts_of(request))
        absent = [use for use in uses if not occurs_in(use.name, text)]
        self._uses += [(use.age, use not in absent) for use in uses]
        return absent

    def texts_of(self, request: Sequence[Message]) -> list[str]:
        """Return all texts of a request; most arguments are those of the request before."""
        texts = [message.text for message in request]
        for message in request:
            for call in message.calls:
                if call.arguments not in self._argument_texts:
                    self._argument_texts[call.arguments] = argument_text(call.arguments)
                texts.append(self._argument_texts[call.arguments])
        return texts

    @property
    def result(self) -> IdentifierCoverage:
        groups = [
            [is_in_window for use_age, is_in_window in self._uses if use_age > age]
            for age in (0, OLD, VERY_OLD)
        ]
        return IdentifierCoverage(*(count for group in groups for count in (len(group), sum(group))))
