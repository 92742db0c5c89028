"""The facts that a message states in words: rules, files, and hashes and numbers with their sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from helix_desktop.context.summaries.markdown_lines import without_marks
from helix_desktop.context.summaries.user_rules import instructions_in
from helix_desktop.domain.events.summary import FactKind
from helix_desktop.domain.identifiers import identifiers_in
from helix_desktop.domain.messages import typed_text

_AROUND_CHARS = 80  # characters before a number, and behind it, in which its sentence lies
_PARSED_CHARS = 20_000  # characters of a message that are searched
_REMEMBERED = 8_192  # messages whose facts are remembered: each summary asks for those of the whole session
_MIN_WORDS = 3  # of a sentence that says what a number is
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_HASH = re.compile(r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b")
_TOKEN_CHARS = 200  # characters around a hash in which the address or the name that it is a part of lies
_TOKEN_BREAK = re.compile(r"[\s\"'`<>()\[\]{}|]")
_OF_COMMIT = re.compile(r"/(?:commits?|tree|blob|compare|checksum|digest|sha256)/\Z|\bsha\d{1,3}:\Z")
_BEFORE_A_PART = re.compile(
    r"[+#]\Z|(?:\A|[.$])(?-i:[A-Z])\w*;?@\Z|/.*/\Z|\A/\Z|\w\.\Z|[0-9a-f]{4}-\Z|://|\bdata:|base64|\bsha\d{1,3}-",
    re.IGNORECASE,
)
_BEHIND_A_PART = re.compile(r"[/+=]|-[0-9a-f]{4}\b|[\w-]*\.\w|://", re.IGNORECASE)
NUMBER = re.compile(
    r"#\d{1,7}\b|(?<![\w.])[$€£]\s?\d[\d.,]*\d?\b|(?<![\w.#])\d[\d.,]{0,30}\s?(?:%|ms|µs|ns|s|sec(?:onds?)?|min(?:utes?)?|h(?:ours?)?"
    r"|days?|weeks?|[KMGT]i?B|kB|bytes|tokens|lines|px|rows|[kM]\b|°C|km|kg|USD|EUR)(?!\w)"
)
IN_SENTENCES: Mapping[FactKind, re.Pattern[str]] = {"hashes": _HASH, "numbers": NUMBER}

MessageFact = tuple[FactKind, str, str]
"""A fact of a message: its kind, itself, and of a hash or a number the sentence that it is in."""


@lru_cache(maxsize=_REMEMBERED)
def facts_in_words(text: str) -> tuple[MessageFact, ...]:
    """Return the hashes and numbers in a message, with their sentences."""
    part, facts = text[:_PARSED_CHARS], list[MessageFact]()
    for match in hashes_in(part):
        facts.append(("hashes", match[0], sentence_around(part, match)))
    for match in NUMBER.finditer(part):
        sentence = sentence_around(part, match)
        if len(sentence.split()) >= _MIN_WORDS:
            facts.append(("numbers", " ".join(match[0].split()).rstrip(".,"), sentence))
    return tuple(facts)


@lru_cache(maxsize=_REMEMBERED)
def facts_in_request(text: str) -> tuple[MessageFact, ...]:
    """Return the facts in a message of the user."""
    facts = [*facts_in_words(text)]
    facts += [("instructions", sentence, "") for sentence in instructions_in(typed_text(text))]
    for name in identifiers_in(text[:_PARSED_CHARS]):
        if "/" in name.strip("/") or "." in name.strip("."):
            facts.append(("files", name, ""))
    return tuple(facts)


@lru_cache(maxsize=_REMEMBERED)
def numbers_in(text: str) -> frozenset[str]:
    """Return the hashes and numbers in a message of the user, without spaces."""
    part = text[:_PARSED_CHARS]
    return frozenset(
        plain_number(match[0]) for pattern in IN_SENTENCES.values() for match in pattern.finditer(part)
    )


def hashes_in(text: str) -> Iterator[re.Match[str]]:
    """Yield the hashes of commits and contents, and other handles: no parts of addresses, names or data."""
    for match in _HASH.finditer(text):
        head = _TOKEN_BREAK.split(text[max(0, match.start() - _TOKEN_CHARS) : match.start()])[-1]
        tail = _TOKEN_BREAK.split(text[match.end() : match.end() + _TOKEN_CHARS], maxsplit=1)[0]
        if _OF_COMMIT.search(head) or not (
            len(head) == _TOKEN_CHARS
            or len(tail) == _TOKEN_CHARS
            or _BEFORE_A_PART.search(head)
            or _BEHIND_A_PART.match(tail)
        ):
            yield match


def sentence_around(text: str, match: re.Match[str]) -> str:
    """Return the sentence that a match is in, on one line, or what stands around it in a long one."""
    before = text[max(0, match.start() - _AROUND_CHARS) : match.start()]
    behind = text[match.end() : match.end() + _AROUND_CHARS]
    start = _SENTENCE.split(before)[-1]
    end = _SENTENCE.split(behind, maxsplit=1)[0]
    opening = closing = ""
    if len(start) == _AROUND_CHARS:
        opening, start = "… ", start.partition(" ")[2] or start
    if len(end) == _AROUND_CHARS:
        closing, end = "…", end.rpartition(" ")[0] or end
    sentence = " ".join(f"{start}{match[0]}{end}".split())
    return f"{opening}{sentence if opening else without_marks(sentence)}{closing}"


def plain_number(text: str) -> str:
    """Return a number without spaces, and without the punctuation behind it."""
    return "".join(text.split()).rstrip(".,")
