"""The Anthropic Messages dialect: Anthropic's own server and compatible ones."""

from __future__ import annotations

import re

from helix_desktop.domain.messages import ModelInfo, ModelRequest
from helix_desktop.providers.anthropic.effort import (
    BLOCK_REQUIRED,
    EFFORT_REFUSED,
    OLDER_FORM,
    EffortForm,
    effort_fields,
)
from helix_desktop.providers.anthropic.request import ThinkingScope, encode_request, has_bound_thinking
from helix_desktop.providers.anthropic.response import MessagesAssembler
from helix_desktop.providers.dialect import VARIANT_ERROR_STATUSES, NewId
from helix_desktop.providers.request_effort import RequestEffort

MIN_ANSWER_TOKENS = 256
"""Minimum tokens for an answer: with less the window is too full to ask."""

LONG_LIFETIME_S = 3_600
"""Seconds for which the longer breakpoints hold; the others hold for 300."""

_EXCEEDS_CONTEXT = re.compile(r"max_tokens\W+exceed context limit: (\d+) \+ (\d+) > (\d+)")
_EXCEEDS_OUTPUT_LIMIT = re.compile(r"max_tokens: (\d+) > (\d+)")


class MessagesDialect:
    """Anthropic Messages as one server accepts it.

    `max_output_tokens` is the maximum of an answer in tokens; `requires_same_prefix`: thinking is refused
    after a changed prefix; `supports_breakpoints`: the server knows cache breakpoints,
    `supports_long_lifetime`: also those that hold for an hour. `effort_form` is how its model takes a level
    of effort, `effort_refusals` what the server said against levels.
    """

    path = "/messages"

    def __init__(self, info: ModelInfo, new_id: NewId) -> None:
        self.info, self.new_id = info, new_id
        self.max_output_tokens = info.output or info.reserve
        self.requires_same_prefix = False
        self.supports_breakpoints = self.supports_long_lifetime = True
        self.effort_form: EffortForm = "adaptive"
        self.effort_refusals: dict[str, str] = {}

    def exchange(self, request: ModelRequest) -> MessagesExchange:
        """Prepare one request."""
        return MessagesExchange(self, request)


class MessagesExchange:
    """One request in Anthropic Messages."""

    def __init__(self, dialect: MessagesDialect, request: ModelRequest) -> None:
        self._dialect, self._request = dialect, request
        self._max_output_tokens = dialect.max_output_tokens
        bound = dialect.requires_same_prefix or any(
            has_bound_thinking(message, dialect.info) for message in request.messages
        )
        self._thinking_scope: ThinkingScope = "bound" if bound else "all"
        self._breakpoints = dialect.supports_breakpoints
        wants_long = request.cache is not None and request.cache.keep_long
        self._keep_long = wants_long and dialect.supports_long_lifetime and self._breakpoints
        self._prefix, self._sent_thinking = "", False
        self.effort = RequestEffort(request.effort, dialect.effort_refusals)

    def body(self) -> bytes:
        """Return the request as JSON."""
        encoded = encode_request(
            self._dialect.info,
            self._request,
            max_output_tokens=self._max_output_tokens,
            thinking_scope=self._thinking_scope,
            breakpoints=self._breakpoints,
            keep_long=self._keep_long,
            effort_fields=effort_fields(
                self.effort.level, self._dialect.effort_form, self._max_output_tokens - MIN_ANSWER_TOKENS
            ),
        )
        self._prefix, self._sent_thinking = encoded.prefix, encoded.has_thinking
        return encoded.body

    def new_assembler(self) -> MessagesAssembler:
        """Return an assembler for the answer that records what the answer's thinking is bound to."""
        verbatim_fields = {
            "model": self._dialect.info.name,
            "prefix": self._prefix,
            "bound": self._thinking_scope != "all",
        }
        lifetime_s = LONG_LIFETIME_S if self._keep_long else 0
        return MessagesAssembler(
            self._dialect.info.provider, self._dialect.new_id, verbatim_fields, lifetime_s
        )

    def adapt_to_error(self, status: int, error_text: str) -> bool:
        """Lower the answer's maximum, or leave out invalid thinking or breakpoints; True if changed."""
        if status not in VARIANT_ERROR_STATUSES:
            return False
        return (
            self._reduce_max_tokens(error_text)
            or self._adapt_effort(error_text)
            or self._drop_thinking(error_text)
            or self._drop_long_lifetime(error_text)
            or self._drop_breakpoints(error_text)
        )

    def _reduce_max_tokens(self, error_text: str) -> bool:
        if (match := _EXCEEDS_CONTEXT.search(error_text)) is not None:
            input_tokens, _, window = (int(number) for number in match.groups())
            max_tokens = window - input_tokens
        elif (match := _EXCEEDS_OUTPUT_LIMIT.search(error_text)) is not None:
            max_tokens = self._dialect.max_output_tokens = int(match.group(2))
        else:
            return False
        if not MIN_ANSWER_TOKENS <= max_tokens < self._max_output_tokens:
            return False
        self._max_output_tokens = max_tokens
        return True

    def _adapt_effort(self, error_text: str) -> bool:
        """Say it in the older form, else leave it out: of this request where its history forbids it."""
        low = error_text.lower()
        if not self.effort.level:
            return False
        if BLOCK_REQUIRED.search(low):
            self.effort.leave_out()
            return True
        form = self._dialect.effort_form
        if self.effort.level != "none" and OLDER_FORM.search(low):
            self._dialect.effort_form = "budget" if form == "adaptive" else "adaptive"
            if form == "adaptive":
                return True
        return self.effort.learn(error_text, EFFORT_REFUSED)

    def _drop_thinking(self, error_text: str) -> bool:
        if not self._sent_thinking or "thinking" not in error_text:
            return False
        if self._thinking_scope == "all":
            self._thinking_scope, self._dialect.requires_same_prefix = "bound", True
        else:
            self._thinking_scope = "none"
        return True

    def _drop_long_lifetime(self, error_text: str) -> bool:
        if not self._keep_long or "ttl" not in error_text:
            return False
        self._keep_long = self._dialect.supports_long_lifetime = False
        return True

    def _drop_breakpoints(self, error_text: str) -> bool:
        if not self._breakpoints or "cache_control" not in error_text:
            return False
        self._breakpoints = self._dialect.supports_breakpoints = self._keep_long = False
        return True
