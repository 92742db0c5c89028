"""Measure the way back: whether one call brings what the next call uses and the window does not hold.

From each recording 120 uses of identifiers are drawn by hash, the same ones under every policy. Where such an
identifier is not in the request, it is looked up with one call of the real tools, by a rule that an agent can
follow who sees nothing but the request:

- Each handle in the request has a context: a note or summary is that of its index, the call and the line
  that of an output's marker, the arguments that of an argument's. The newest handle whose context has
  every part of the identifier's words is recalled, with the identifier as pattern.
- Without such a handle the identifier is searched.

It is found if it is in the answer, apart
from what the answer repeats of the question. What a call costs are the tokens of an answer that has it.
"""

from __future__ import annotations

import hashlib
import heapq
import re
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

import msgspec

from helix_desktop.domain.digest import HEX_DIGITS, MIN_PREFIX, RECALL_TOOL
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.identifiers import argument_text
from helix_desktop.domain.messages import Message
from helix_desktop.replay.identifier_coverage import IdentifierUse, occurs_in
from helix_desktop.replay.message_tokens import MessageTokenCounter
from helix_desktop.replay.ports import Replay

SAMPLE = 120
"""Uses drawn per recording: a thirtieth of them is outside a balanced window; a look-up takes 10 ms."""

SEARCH_TOOL = "search_cached_content"
_MARKER = re.compile(rf'{RECALL_TOOL}\(\\?"([0-9a-f]{{{MIN_PREFIX},{HEX_DIGITS}}})')
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_MIN_PART = 3  # characters


class Lookups(msgspec.Struct, frozen=True):
    """How many identifiers were looked up with one call, and found.

    `recalls` are those that the rule recalls, `found_by_recall` those of them that were found; the others are
    searched.
    """

    identifiers: int = 0
    found: int = 0
    recalls: int = 0
    found_by_recall: int = 0

    @property
    def share(self) -> float:
        """Return the share that was found; 1 where nothing was looked up."""
        return self.found / self.identifiers if self.identifiers else 1.0


def draw_sample(uses: Sequence[Sequence[IdentifierUse]]) -> set[tuple[int, str]]:
    """Return up to 120 uses of a recording by number of model call, from 1, and identifier."""
    pairs = ((call, use.name) for call, of_call in enumerate(uses, 1) for use in of_call)
    return set(heapq.nsmallest(SAMPLE, pairs, key=_draw))


def _draw(pair: tuple[int, str]) -> bytes:
    return hashlib.sha256(f"{pair[0]} {pair[1]}".encode("utf-8", "surrogatepass")).digest()


class HandleContext(NamedTuple):
    """A handle in a request, and what stands around it."""

    handle: str
    text: str


def handle_contexts(request: Sequence[Message]) -> list[HandleContext]:
    """Return the handles in a request, the newest first."""
    arguments = {call.id: argument_text(call.arguments) for message in request for call in message.calls}
    contexts: list[HandleContext] = []
    for message in request:
        if message.role == "tool":
            call = arguments.get(message.call_id, "")
            lines = (line for line in message.text.splitlines() if _MARKER.search(line))
            texts: Iterable[str] = (f"{line}\n{call}" for line in lines)
        else:
            texts = (message.text, *(call.arguments for call in message.calls))
        contexts += [HandleContext(handle, text) for text in texts for handle in _MARKER.findall(text)]
    return contexts[::-1]


def best_handle(name: str, contexts: Sequence[HandleContext]) -> str:
    """Return the handle to recall for an identifier; empty if no context has all of its parts."""
    parts = _parts(name)
    fitting = (context.handle for context in contexts if parts and parts <= _parts(context.text))
    return next(fitting, "")


def _parts(text: str) -> set[str]:
    return {part.lower() for part in _PART.findall(text) if len(part) >= _MIN_PART}


class LookupCounter:
    """Looks up identifiers in one replay, and counts what was found."""

    def __init__(self, replay: Replay, counter: MessageTokenCounter) -> None:
        self._replay, self._count = replay, counter.text_tokens
        self._found = {True: list[bool](), False: list[bool]()}  # by the rule, with a recall and without
        self.tokens: list[int] = []  # of each answer that had the identifier

    def look_up(self, name: str, request: Sequence[Message]) -> None:
        """Look up an identifier that is not in the request."""
        handle = best_handle(name, handle_contexts(request))
        if handle:
            answer = self._call(name, RECALL_TOOL, {"hash": handle, "pattern": re.escape(name)})
        else:
            answer = self._call(name, SEARCH_TOOL, {"query": name})
        self._found[bool(handle)].append(bool(answer))
        if answer:
            self.tokens.append(self._count(answer))

    def _call(self, name: str, tool: str, arguments: dict[str, object]) -> str:
        """Return the answer to a call if it has the identifier; else an empty text."""
        try:
            answer = self._replay.call_cache_tool(tool, arguments)
        except ToolError:
            return ""
        return answer if occurs_in(name, _without_question(answer, (re.escape(name), name))) else ""

    @property
    def result(self) -> Lookups:
        """The counts so far."""
        by_recall, others = self._found[True], self._found[False]
        found = sum(by_recall) + sum(others)
        return Lookups(len(by_recall) + len(others), found, len(by_recall), sum(by_recall))


def median_tokens(tokens: Sequence[int]) -> float:
    """Return the median of the tokens of answers; 0 for none."""
    return median(tokens) if tokens else 0.0


def _without_question(answer: str, questions: Iterable[str]) -> str:
    """Return an answer without what its first line quotes of the question."""
    first, line_end, rest = answer.partition("\n")
    for question in questions:
        for quoted in (repr(question), f'"{question}"', f"“{question}”", f"`{question}`"):
            first = first.replace(quoted, "")
    return first + line_end + rest
