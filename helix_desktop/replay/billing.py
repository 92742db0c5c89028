"""What the requests of a replay cost: tokens sent, shared with the request before, and billed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

import msgspec

from helix_desktop.context.window.provider_cache import USUAL_PRICES, CachePrices
from helix_desktop.domain.messages import Message
from helix_desktop.replay.token_counters import MessageTokenCounter


class SentTotals(msgspec.Struct, frozen=True):
    """The sums of one replay; tokens unless a name says otherwise.

    `billed` is in tokens of fresh input, by the prices of the model. It counts as cached the leading messages
    that equal those of the previous request, and the text that the first different message shares with its
    predecessor: the cache is an ideal one, which forgets nothing. A summarizing call is fresh. `tool_tokens`
    are those of the texts of tool messages, in all requests together.
    """

    requests: int
    input_tokens: int
    billed: float
    tool_tokens: int
    mean_window: float
    peak_window: int
    over_window: int
    rewrites: int


class SharedTokens(NamedTuple):
    """The tokens at the start of a request that the one before had: in equal messages, and in equal text."""

    in_messages: int
    in_text: int


class RequestTotals:
    """Sums up requests; each has `always` tokens in front of its messages: system prompt and tools."""

    def __init__(
        self,
        counter: MessageTokenCounter,
        window_size: int,
        always: int = 0,
        prices: CachePrices = USUAL_PRICES,
    ) -> None:
        self._counter = counter
        self._window = window_size
        self._always = always
        self._prices = prices
        self._previous: tuple[Message, ...] = ()
        self._sizes: list[int] = []  # of each message of the previous request
        self._tool_sizes: list[int] = []
        self._sums: list[int] = []  # of each request
        self._tool_sum = self._rewrites = 0
        self._shared = 0

    def add(self, request: Sequence[Message]) -> SharedTokens:
        """Add the next request; return what it shares with the one before."""
        same_count = sum(
            1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(self._previous, request, strict=False))
        )
        self._rewrites += same_count < len(self._previous)
        del self._sizes[same_count:], self._tool_sizes[same_count:]
        for message in request[same_count:]:
            self._sizes.append(self._counter.message_tokens(message))
            self._tool_sizes.append(self._counter.text_tokens(message.text) if message.role == "tool" else 0)
        by_message = sum(self._sizes[:same_count]) + (self._always if self._sums else 0)
        shared = by_message
        if same_count < min(len(self._previous), len(request)):
            shared += self._counter.shared_tokens(self._previous[same_count], request[same_count])
        self._shared += shared
        self._sums.append(self._always + sum(self._sizes))
        self._tool_sum += sum(self._tool_sizes)
        self._previous = tuple(request)
        return SharedTokens(by_message, shared)

    @property
    def requests(self) -> int:
        return len(self._sums)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(self._sums)

    def result(self, summary_tokens: Sequence[int]) -> SentTotals:
        """Return the sums so far, with the input of the summarizing calls."""
        total = sum(self._sums)
        requests = len(self._sums)
        return SentTotals(
            requests=requests,
            input_tokens=total,
            billed=bill_of(total, self._shared, self._prices) + sum(summary_tokens),
            tool_tokens=self._tool_sum,
            mean_window=total / requests if requests else 0.0,
            peak_window=max(self._sums, default=0),
            over_window=sum(size > self._window for size in self._sums),
            rewrites=self._rewrites,
        )


def bill_of(total: float, shared: float, prices: CachePrices) -> float:
    """Return what input costs of which so many tokens are read from the cache, in tokens of fresh input."""
    return prices.read * shared + prices.write * (total - shared)
