"""Rules in the user's messages: what is to be done, or never done, and how they want it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from helix_desktop.context.summaries.conclusions import cut_between_words
from helix_desktop.context.summaries.markdown_lines import without_marks

RULE_CHARS = 240  # characters of a rule that are quoted
DECISION_CHARS = 800  # characters of a question, which has few, and the user's reply to it
_PARSED_CHARS = 20_000  # characters of a message that are searched
_LEAST_CHARS = 9  # of a rule: shorter ones name nothing
_LONG_MESSAGE = 2_000  # characters from which most of a message is text of others: plans, logs, pages
_PREFERENCES_OF_LONG = 2
_REMEMBERED = 1_024  # messages, of which each summary asks again
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


@lru_cache(maxsize=_REMEMBERED)
def preferences_in(text: str) -> tuple[str, ...]:
    """Return how the user wants things done: a short message whole, of a long one its first rules."""
    if not _COMMAND.search(text):
        return ()
    if len(text) <= RULE_CHARS:
        return (text,)
    return (*islice(filter(_COMMAND.search, instructions_in(text)), _PREFERENCES_OF_LONG),)
