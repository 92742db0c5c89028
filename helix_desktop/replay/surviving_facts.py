"""Which facts of a session are still in its context, or one recall away, and which a summary names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, get_args

import msgspec

from helix_desktop.context.summaries.covered_facts import CheckedText, covered_facts
from helix_desktop.domain.digest import RECALL_TOOL
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.events.conversation import ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import FactKind
from helix_desktop.domain.messages import Message
from helix_desktop.domain.typed_text import typed_text
from helix_desktop.replay.next_call_identifiers import key_word, message_texts
from helix_desktop.replay.replayer import Replayer

FactPlace = Literal["context", "one_call", "nowhere"]
"""Where a fact is under management: in the request, or one call of its agent brings it back, or neither."""


class ComparedFact(msgspec.Struct, frozen=True):
    """A fact, with the sentence that a hash or a number is in, and where it is."""

    text: str
    place: FactPlace
    in_summary: bool
    sentence: str = ""


class ComparedFacts(msgspec.Struct, frozen=True):
    """How many facts of a kind the history had, and how many another agent's summary names.

    `in_context` are those that the managed request behind it names, `one_call` those of the others that a
    recall of the entry which has it brings back. `items` are all, newest first.
    """

    kind: FactKind
    total: int
    in_summary: int
    in_context: int
    one_call: int = 0
    items: tuple[ComparedFact, ...] = ()


def compared_facts(replayer: Replayer, request: Sequence[Message], summary: str) -> tuple[ComparedFacts, ...]:
    """Compare what a summary names of the history with what its managed request does, kind by kind."""
    facts = covered_facts(replayer.session.transcript.messages.items)
    context = "\n".join(text for message in request for text in message_texts(message))
    by_summary = CheckedText(summary)
    by_context = CheckedText(context)
    compared = []
    for kind in get_args(FactKind):
        of_kind = facts.of_kind(kind)
        lost, hidden = (dict(names.missing(facts, kind, of_kind)) for names in (by_summary, by_context))
        items = tuple(
            ComparedFact(
                fact,
                "context" if fact not in hidden else _place_of(replayer, kind, fact, seq, context),
                fact not in lost,
                facts.sentences.get(fact, ""),
            )
            for fact, seq in reversed([*of_kind.items()])
        )
        if items:
            total = len(items)
            places = [item.place for item in items]
            in_context = places.count("context")
            one_call = places.count("one_call")
            compared.append(ComparedFacts(kind, total, total - len(lost), in_context, one_call, items))
    return tuple(compared)


_SENTENCES: Sequence[FactKind] = ("commands", "conclusions", "instructions")
"""Facts that are said as they are, whatever their coverage asks for."""


def _place_of(replayer: Replayer, kind: FactKind, fact: str, seq: int, context: str) -> FactPlace:
    """Return whether a recall of its entry, whole or in part, brings back a fact that no context names.

    What a message says is in context where all its words are. An output's entry is that of its call, too.
    """
    messages = replayer.session.transcript.messages
    first = seq
    while (item := messages.item(first)) is None or isinstance(item.event, ToolAnswered):
        first -= 1
    words = item.event.text.strip() if first == seq else ""
    if isinstance(item.event, UserSpoke):
        words = typed_text(words)
    if kind in ("conclusions", "instructions", "tasks") and words and words in context:
        return "context"
    for arguments in ({}, {"pattern": re.escape(key_word(fact))}):
        try:
            answer = replayer.call_cache_tool(RECALL_TOOL, {"hash": f"e{first}-e{seq}", **arguments})
        except ToolError:
            continue
        if arguments:
            answer = answer.partition("\n")[2]  # the first line quotes the pattern
        if words and words in answer:
            return "one_call"
        # With the values in a call's arguments as they are:
        answer = answer.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")
        is_literal = kind in _SENTENCES and fact in " ".join(answer.split())
        if is_literal or CheckedText(answer).names(kind, fact, seq):
            return "one_call"
    return "nowhere"
