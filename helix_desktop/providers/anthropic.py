"""Anthropic Messages: Anthropic's own, and compatible servers."""

from __future__ import annotations

import re

from helix_desktop.context.message import ModelInfo, Request
from helix_desktop.providers.anthropic_answer import Assembly
from helix_desktop.providers.anthropic_request import Thoughts, is_bound, written
from helix_desktop.providers.dialect import REFUSES_FORM, NewId

LEAST_ANSWER = 256
"""Tokens below which an answer is not worth asking for: the window is too full then."""

_NO_ROOM = re.compile(r"max_tokens\W+exceed context limit: (\d+) \+ (\d+) > (\d+)")
_TOO_MANY = re.compile(r"max_tokens: (\d+) > (\d+)")


class MessagesDialect:
    """Anthropic Messages as one server takes it.

    `most` is the longest answer asked for, in tokens; `bound`: thinking is refused behind a changed prefix;
    `breakpoints`: the server knows cache breakpoints.
    """

    path = "/messages"

    def __init__(self, info: ModelInfo, new_id: NewId) -> None:
        self.info, self.new_id = info, new_id
        self.most = info.output or info.reserve
        self.bound = False
        self.breakpoints = True

    def exchange(self, request: Request) -> MessagesExchange:
        """Prepare one request."""
        return MessagesExchange(self, request)


class MessagesExchange:
    """One request in Anthropic Messages."""

    def __init__(self, dialect: MessagesDialect, request: Request) -> None:
        self._dialect, self._request = dialect, request
        self._most = dialect.most
        bound = dialect.bound or any(is_bound(message, dialect.info) for message in request.messages)
        self._thoughts: Thoughts = "bound" if bound else "all"
        self._breakpoints = dialect.breakpoints
        self._prefix, self._thinking = "", False

    def body(self) -> bytes:
        """The request as JSON."""
        sent = written(
            self._dialect.info,
            self._request,
            most=self._most,
            thoughts=self._thoughts,
            breakpoints=self._breakpoints,
        )
        self._prefix, self._thinking = sent.prefix, sent.thinking
        return sent.body

    def assembly(self) -> Assembly:
        """What takes in the answer; it keeps what the answer's thinking is bound to."""
        kept = {
            "model": self._dialect.info.name,
            "prefix": self._prefix,
            "bound": self._thoughts != "all",
        }
        return Assembly(self._dialect.info.provider, self._dialect.new_id, kept)

    def adapt(self, status: int, words: str) -> bool:
        """Make room for the question, leave out thinking that is no longer valid, or breakpoints."""
        if status not in REFUSES_FORM:
            return False
        return self._ask_for_less(words) or self._think_less(words) or self._mark_nothing(words)

    def _ask_for_less(self, words: str) -> bool:
        if (found := _NO_ROOM.search(words)) is not None:
            given, _, window = (int(number) for number in found.groups())
            most = window - given
        elif (found := _TOO_MANY.search(words)) is not None:
            most = self._dialect.most = int(found.group(2))
        else:
            return False
        if not LEAST_ANSWER <= most < self._most:
            return False
        self._most = most
        return True

    def _think_less(self, words: str) -> bool:
        if not self._thinking or "thinking" not in words:
            return False
        if self._thoughts == "all":
            self._thoughts, self._dialect.bound = "bound", True
        else:
            self._thoughts = "none"
        return True

    def _mark_nothing(self, words: str) -> bool:
        if not self._breakpoints or "cache_control" not in words:
            return False
        self._breakpoints = self._dialect.breakpoints = False
        return True
