"""Measure whether a rule that the user gave once, inside a long message, stays in the window.

The recording is replayed again, its first user message followed by 120 numbered rules, about 3,000 tokens.
The rule in their middle is visible if its words are in the last request.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from helix_desktop.domain.errors import RequestInvalid, RequestTooLarge
from helix_desktop.replay.identifier_coverage import message_texts
from helix_desktop.replay.ports import RawMessage, Replay
from helix_desktop.replay.recording import as_message, with_turn_ends

RULE = "store every amount of money as a whole number of cents, never as a float or a text with a comma."
_RULES = 120  # lines
_VERBS = ("check", "name", "sort", "group", "test", "log", "document")
_THINGS = ("reports", "invoices", "exports", "migrations", "endpoints", "screens", "jobs", "queries")
_WAYS = ("before a release", "by their owner", "in one place", "with a date", "without a network")
_REASONS = ("a reader finds them", "a change is seen at once", "nobody has to ask")


def long_message() -> str:
    """Return the numbered rules, with the one to look for in their middle."""
    rules = [_rule(number) for number in range(1, _RULES + 1)]
    rules[_RULES // 2] = RULE
    return "\n".join(f"{number}. In this project, {rule}" for number, rule in enumerate(rules, 1))


def _rule(number: int) -> str:
    verb, thing = _VERBS[number % len(_VERBS)], _THINGS[number % len(_THINGS)]
    way, reason = _WAYS[number % len(_WAYS)], _REASONS[number % len(_REASONS)]
    return f"{verb} the {thing} of part {number} {way}, so that {reason}."


def is_rule_visible(messages: Sequence[RawMessage], replay: Replay) -> bool:
    """Replay a recording with the long message, and return True if the rule is in the last request."""
    request: Iterable[dict[str, Any]] = ()
    for message, turn_ends in with_turn_ends(with_long_message(messages)):
        if message["role"] == "assistant":
            # If one cannot be made, the one before counts.
            with suppress(RequestTooLarge, RequestInvalid):
                request = replay.request()
        replay.feed(message)
        if turn_ends:
            replay.end_turn()
    return any(RULE in text for message in request for text in message_texts(as_message(message)))


def with_long_message(messages: Sequence[RawMessage]) -> list[RawMessage]:
    """Return a recording in which the rules follow the text of the first user message."""
    first = next(number for number, message in enumerate(messages) if message["role"] == "user")
    longer = {**messages[first], "content": f"{messages[first]['content']}\n\n{long_message()}"}
    return [*messages[:first], longer, *messages[first + 1 :]]
