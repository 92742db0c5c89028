"""The interface of a dialect, and what a server refused of a request's effort and cache fields."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping, Set
from http import HTTPStatus
from typing import Any, Protocol

from helix_desktop.domain.choices import SentEffort
from helix_desktop.domain.messages import (
    CacheHints,
    EffortRefusal,
    ModelInfo,
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
    TextDelta,
)
from helix_desktop.providers.server_errors import extract_error_text


class RequestEffort:
    """The level that one request asks for; `refusals` holds what the server said against levels, for all.

    `level` is empty where nothing is sent.
    """

    def __init__(self, level: SentEffort, refusals: dict[str, str]) -> None:
        self._requested, self._refusals = level, refusals
        self.level: SentEffort = "" if level in refusals else level

    @property
    def refusal(self) -> EffortRefusal | None:
        """What the server said against the level; None if it did not refuse it."""
        reason = self._refusals.get(self._requested)
        return EffortRefusal(self._requested, reason) if reason is not None else None

    def learn(self, error_text: str, field_pattern: re.Pattern[str]) -> bool:
        """Leave the level out from now on if an error names its field; return True if it does.

        `field_pattern` finds the field in a text in lower case.
        """
        if not self.level or field_pattern.search(error_text.lower()) is None:
            return False
        self._refusals[self.level] = str(extract_error_text(error_text))
        self.level = ""
        return True


KEY, RETENTION, BREAKPOINT = "prompt_cache_key", "prompt_cache_retention", "prompt_cache_breakpoint"
CONTROL = "cache_control"
"""What gateways take over for Anthropic's models, which store nothing without being asked."""

_DAY_S, _HOUR_S, _HALF_HOUR_S = 86_400, 3_600, 1_800
"""How long OpenAI stores with "24h", Anthropic with "1h", OpenAI from GPT-5.6 on, in seconds."""


class CacheFields:
    """The cache fields of one request; `refused` holds what the server refuses, for all requests.

    Models whose writes have a price take breakpoints and no retention: OpenAI's from GPT-5.6 on.
    """

    def __init__(self, info: ModelInfo, hints: CacheHints | None, refused: set[str]) -> None:
        self._hints, self._refused = hints or CacheHints(), refused
        self._has_paid_writes = bool(info.price_cache_write)
        self._is_anthropic = "claude" in info.name.lower()

    def body_fields(self) -> dict[str, Any]:
        values: dict[str, Any] = {KEY: self._hints.key}
        if self._is_anthropic and self._hints.key:
            long = {"ttl": "1h"} if self._hints.keep_long else {}
            values[CONTROL] = {"type": "ephemeral", **long}
        elif self._hints.keep_long and not self._has_paid_writes:
            values[RETENTION] = "24h"
        return {name: value for name, value in values.items() if value and name not in self._refused}

    @property
    def ends(self) -> Set[int]:
        """Return after how many messages a breakpoint is set."""
        takes = self._has_paid_writes and not self._is_anthropic and BREAKPOINT not in self._refused
        return frozenset(self._hints.ends if takes else ())

    @property
    def lifetime_s(self) -> int:
        """Return for how many seconds the server stores what the request begins with; 0: its default."""
        fields = self.body_fields()
        if RETENTION in fields:
            return _DAY_S
        if CONTROL in fields and self._hints.keep_long:
            return _HOUR_S
        return _HALF_HOUR_S if self.ends else 0

    def learn(self, error_text: str) -> bool:
        """Leave out a field that an error names; return True if that changes the request."""
        sent = [*self.body_fields(), *([BREAKPOINT] if self.ends else [])]
        refused = [name for name in sent if name in error_text]
        self._refused.update(refused)
        return bool(refused)


VARIANT_ERROR_STATUSES = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})
"""Statuses by which servers refuse the form of a request; another variant may succeed."""

NewId = Callable[[], str]
"""Creates the id of a tool call whose server sent none."""

AnswerDelta = TextDelta | ReasoningDelta
"""A part of an answer, displayed while it arrives."""


class StreamedError(Exception):
    def __init__(self, status: int, body: str) -> None:
        super().__init__(body)
        self.status, self.body = status, body


class AnswerAssembler(Protocol):
    """Assembles the chunks of one answer.

    `progress` grows with every chunk that has content, not when a server only keeps the connection open.
    `done` is set when the server has sent its end marker.
    """

    progress: int
    done: bool

    @property
    def is_complete(self) -> bool:
        """True once the server has reported the end of the answer."""
        ...

    @property
    def is_settled(self) -> bool:
        """True once nothing of interest is still to come."""
        ...

    def add(self, chunk: Mapping[str, Any]) -> list[AnswerDelta]:
        """Add one chunk; return the deltas to display. Raises StreamedError, or HttpError if it broke off."""
        ...

    def add_full_response(self, response: Mapping[str, Any]) -> list[AnswerDelta]:
        """Add a response that was not streamed. Raises StreamedError."""
        ...

    def answer(self) -> ModelResponse:
        """Return the answer. Raises InvalidModelResponse, ModelRequestRejected, ContextWindowExceeded."""
        ...


class Exchange(Protocol):
    """One request in a dialect, for all its attempts; `effort` is the level that it asks for."""

    effort: RequestEffort

    def body(self) -> bytes:
        """Return the request as JSON, in its current variant."""
        ...

    def new_assembler(self) -> AnswerAssembler: ...

    def adapt_to_error(self, status: int, error_text: str) -> bool:
        """Adapt to an error; return True if the body has changed and is worth sending at once."""
        ...


class Dialect(Protocol):
    """One API of model servers; what it learns about its server applies to all later requests."""

    @property
    def path(self) -> str: ...

    def exchange(self, request: ModelRequest) -> Exchange: ...


def new_call_id() -> str:
    """Create an id for a tool call whose server sent none."""
    return f"call_{uuid.uuid4().hex[:24]}"
