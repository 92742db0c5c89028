"""A text for the user as data: its English words and the facts in it. It is translated where it is shown.

One that is read back from a log is plain English: its catalog entry is not stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, Self, TypeAlias

from helix_desktop.domain.text_format import format_bytes

COUNT_MARK = "%n"  # as in Qt's catalogs: the number that decides between singular and plural


class ByteSize(int):
    """A size in bytes as a fact of a text: `18 KB`."""

    def __str__(self) -> str:
        return format_bytes(int(self))  # else its text would ask for its text


class TranslatableText(str):
    """An English text that knows its entry in the catalog and its facts.

    It is a `str` of its English words, so what is stored, sent to a model or printed as JSON never
    depends on the language of the window. `words.translation.translate` renders it in that language.
    """

    __slots__ = ("comment", "context", "facts", "number", "singular", "source")

    context: str
    source: str
    """The English text, `{name}` for each fact; in the plural where it counts something."""
    singular: str
    """The English text for a count of one; empty if it counts nothing."""
    comment: str
    """What tells two equal sources apart, for translators; mostly empty."""
    facts: Mapping[str, object]
    number: int
    """What `%n` stands for; 0 if it counts nothing."""

    @classmethod
    def of(
        cls,
        context: str,
        source: str,
        facts: Mapping[str, object],
        *,
        comment: str = "",
        singular: str = "",
        count: int = 0,
    ) -> Self:
        """Return a text of the catalog's `context`. Raises KeyError if a fact is missing."""
        text = cls(fill(singular if singular and count == 1 else source, facts, count, english_fact))
        text.context = context
        text.source = source
        text.singular = singular
        text.comment = comment
        text.facts = facts
        text.number = count
        return text


OptionalText: TypeAlias = TranslatableText | Literal[""]
"""A part of an error, or of another text, that may be missing."""


class TextContext:
    """Makes texts of one context of the catalog; they are translated later, where they are shown."""

    def __init__(self, name: str) -> None:
        """`name` is the screen, or the part of the engine, that the texts belong to."""
        self.name = name

    def __call__(self, source: str, comment: str = "", /, **facts: object) -> TranslatableText:
        """Return a text; `{name}` in `source` stands for the fact `name`. Raises KeyError."""
        return TranslatableText.of(self.name, source, facts, comment=comment)

    def plural(
        self, count: int, singular: str, source: str, comment: str = "", /, **facts: object
    ) -> TranslatableText:
        """Return a text about `count` things; `%n` stands for it. Raises KeyError if a fact is missing."""
        return TranslatableText.of(self.name, source, facts, comment=comment, singular=singular, count=count)


_text = TextContext("Sentences")


def verbatim(text: str) -> TranslatableText:
    """Return what another program said, or what came over RPC: it has no catalog entry and stays as it is."""
    return text if isinstance(text, TranslatableText) else TranslatableText.of("", "{words}", {"words": text})


def error_reason(error: Exception) -> str:
    """Return why an error was raised: its text for the user if it has one, else its own words."""
    reason = error.args[0] if error.args else ""
    return reason if isinstance(reason, TranslatableText) else str(error)


def system_reason(error: OSError) -> TranslatableText:
    return verbatim(f"{error.strerror or error}.")


def folder_reason(error: OSError, folder: object, non_folder: str) -> TranslatableText:
    if not non_folder:
        return system_reason(error)
    if non_folder == str(folder):
        return _text("It isn't a folder.")
    return _text("{path} isn't a folder.", path=non_folder)


def join_sentences(*sentences: str) -> TranslatableText:
    """Return whole sentences one after the other, without the empty ones."""
    joined, *others = [verbatim(sentence) for sentence in sentences if sentence] or [verbatim("")]
    for sentence in others:
        joined = _text("{text} {sentence}", text=joined, sentence=sentence)
    return joined


def change_facts(text: str, change: Callable[[str], str]) -> str:
    """Return a text with `change` applied to the strings among its facts; to all of a plain string."""
    if not isinstance(text, TranslatableText):
        return change(text)
    facts = {name: _change_fact(fact, change) for name, fact in text.facts.items()}
    return TranslatableText.of(
        text.context, text.source, facts, comment=text.comment, singular=text.singular, count=text.number
    )


def _change_fact(fact: object, change: Callable[[str], str]) -> object:
    if isinstance(fact, tuple):
        return tuple(_change_fact(part, change) for part in fact)
    return change_facts(fact, change) if isinstance(fact, str) else fact


def fill(template: str, facts: Mapping[str, object], count: int, show: Callable[[object], str]) -> str:
    """Return `template` with its facts and its count, each as `show` renders it. Raises KeyError."""
    if not facts and COUNT_MARK not in template:
        return template
    rendered = {name: show(fact) for name, fact in facts.items()}
    if COUNT_MARK in template:
        rendered["__count"] = show(count)
        template = template.replace(COUNT_MARK, "{__count}")
    return template.format_map(rendered)


def plain_text(value: object) -> str:
    """Return the English words of a text, for encoders that take no subclass of `str`.

    Raises TypeError for other values.
    """
    if isinstance(value, TranslatableText):
        return str.__str__(value)
    raise TypeError(f"{type(value).__name__} cannot be stored")


def english_fact(fact: object) -> str:
    """Return a fact in English: a whole number in groups of three digits, several things as a list."""
    if type(fact) is int:
        return f"{fact:,}"
    if isinstance(fact, tuple):
        items = [english_fact(part) for part in fact]
        return " and ".join(filter(None, (", ".join(items[:-1]), *items[-1:])))
    return str(fact)
