"""The facts that a message states in words: rules, files, and hashes and numbers with their sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice

from helix_desktop.context.summaries.conclusions import cut_between_words, without_marks
from helix_desktop.domain.events.summary import FactKind
from helix_desktop.domain.identifiers import identifiers_in
from helix_desktop.domain.messages import typed_text

RULE_CHARS = 240  # characters of a rule that are quoted
DECISION_CHARS = 800  # characters of a question, which has few, and the user's reply to it
_PARSED_CHARS = 20_000  # characters of a message that are searched
_LEAST_CHARS = 9  # of a rule: shorter ones name nothing
_LONG_MESSAGE = 2_000  # characters from which most of a message is text of others: plans, logs, pages
_PREFERENCES_OF_LONG = 2
_REMEMBERED_RULES = 1_024  # messages, of which each summary asks again
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_RULE = re.compile(
    r"\b(?:always|never|prefer|don['’]t|do not|must|mustn['’]t|only use|make sure|ensure|avoid|keep|without"
    r"|at (?:most|least)|no (?:more|less|longer) than|instead of|remember|important|deadline"
    r"|by (?:mon|tues|wednes|thurs|fri|satur|sun)day|should(?:n['’]t)?|shall|may not|cannot|forbidden)\b",
    re.IGNORECASE,
)
_NO_RULE = re.compile(
    r"\b(?:never|always) \w+(?:ed|[^s]s)\b|\bshould I\b"
    r"|\bI (?:don['’]t|do not) (?:know|recall|remember|have|understand|see|think)\b",
    re.IGNORECASE,
)
"""What happens or is not there: `never called`, `always lists`, `I don't know`."""
_CLAUSE_START = (
    r"(?:(?:^|[.;:,!?()\n])[-–—•*\s]*|\s[-–—•]\s+"
    r"|\b(?:and|but|so|then|just|please|should|must|ok(?:ay)?|now|you)\s+)"
)
_NOT_HOW = r"(?!\s+(?:\w+(?:ed|wn)\b|know|understand|think|see|have|worry))"  # `never called`, `don't know`
_COMMAND = re.compile(
    rf"{_CLAUSE_START}(?:always|never|don['’]t|do not|avoid|keep|prefer(?:ably)?|only use|use only)\b"
    rf"{_NOT_HOW}"
    r"|(?<!['’]ll )(?<!\bto )\bmake sure\b|\bmust(?:n['’]t| not| never| always| only)\b"
    r"|\b(?:you|we|it|they|this|all|each|every) must\b|\bI(?:['’]d| would)? prefer\b"
    r"|\bI (?:don['’]t|never|always) (?:want|like)\b",
    re.IGNORECASE,
)
"""How a user says how things are to be done: by a command, not by what `never` happens or is not there."""


def instructions_in(text: str) -> Iterator[str]:
    """Yield the sentences of a user's message that set a rule, on one line each; of a long one, commands."""
    is_long = len(text) > _LONG_MESSAGE
    for sentence in _SENTENCE.split(text[:_PARSED_CHARS]):
        line = without_marks(" ".join(sentence.split()))
        if len(line) < _LEAST_CHARS or sentence.startswith("#") or line.endswith(("?", ":")):
            continue
        if _COMMAND.search(line) if is_long else _RULE.search(_NO_RULE.sub("", line)):
            yield cut_between_words(line, RULE_CHARS)


@lru_cache(maxsize=_REMEMBERED_RULES)
def preferences_in(text: str) -> tuple[str, ...]:
    """Return how the user wants things done: a short message whole, of a long one its first rules."""
    if not _COMMAND.search(text):
        return ()
    if len(text) <= RULE_CHARS:
        return (text,)
    return (*islice(filter(_COMMAND.search, instructions_in(text)), _PREFERENCES_OF_LONG),)


_AROUND_CHARS = 80  # characters before a number, and behind it, in which its sentence lies
_REMEMBERED = 8_192  # messages whose facts are remembered: each summary asks for those of the whole session
_MIN_WORDS = 3  # of a sentence that says what a number is
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
