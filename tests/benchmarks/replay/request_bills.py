"""The bill of a replay's requests with other caches.

A provider's cache forgets what was not used for some minutes, and recordings carry no times. So each gap
between two requests is drawn by hash: the same recording has the same gaps under every policy.

Source of the percentiles: TraceLab, University of Washington, 2026 (arXiv 2606.30560), some 4,300 working
sessions with coding agents, 350,000 model calls: the table of times per step, and of waits for the user.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import NormalDist
from typing import NamedTuple

import msgspec

from helix_desktop.context.window.provider_cache import USUAL_PRICES
from helix_desktop.domain.messages import Message
from helix_desktop.replay.billing import RequestTotals, SentTotals, bill_of
from helix_desktop.replay.recording import RawMessage
from helix_desktop.replay.token_counters import MessageTokenCounter

CACHE_LIFE_S = 300.0
"""Seconds that a provider's prompt cache remembers what is not used: the shortest life on offer."""

UNCACHED = 1.0
"""Price of an input token, in input tokens, without a cache."""


class BilledTotals(SentTotals, frozen=True):
    """The sums of one replay, also with other caches.

    `billed_by_message` takes from the cache only leading messages that equal those of the request before;
    `billed_5_minutes` is `billed` with a cache that has nothing left after a gap of more than 5 minutes,
    `billed_uncached` without any cache.
    """

    billed_by_message: float
    billed_5_minutes: float
    billed_uncached: float


class RequestBills:
    """Running sums over the requests of one replay, and their bill with other caches."""

    def __init__(self, counter: MessageTokenCounter, window_size: int) -> None:
        self._totals = RequestTotals(counter, window_size)
        self._shared_by_message = self._shared_5_minutes = 0

    def add(self, request: Sequence[Message], gap_s: float = 0.0) -> None:
        """Add the next request, sent so many seconds after the one before."""
        shared = self._totals.add(request)
        self._shared_by_message += shared.in_messages
        self._shared_5_minutes += shared.in_text if gap_s <= CACHE_LIFE_S else 0

    @property
    def requests(self) -> int:
        """The number of requests so far."""
        return self._totals.requests

    def result(self, summary_tokens: Sequence[int]) -> BilledTotals:
        """Return the sums so far, with the input of the summarizing calls."""
        totals = self._totals.result(summary_tokens)
        extra = sum(summary_tokens)
        return BilledTotals(
            **msgspec.structs.asdict(totals),
            billed_by_message=bill_of(totals.input_tokens, self._shared_by_message, USUAL_PRICES) + extra,
            billed_5_minutes=bill_of(totals.input_tokens, self._shared_5_minutes, USUAL_PRICES) + extra,
            billed_uncached=UNCACHED * totals.input_tokens + extra,
        )


_NORMAL = NormalDist()
_Z90 = _NORMAL.inv_cdf(0.9)
_Z99 = _NORMAL.inv_cdf(0.99)


class Durations(NamedTuple):
    """A distribution of durations by percentiles, in seconds."""

    p50: float
    p90: float
    p99: float

    def quantile(self, share: float) -> float:
        """Return the duration that a share of all is below; log-normal between percentiles and beyond."""
        z = _NORMAL.inv_cdf(share)
        if z <= _Z90:
            return self.p50 * math.exp(z / _Z90 * math.log(self.p90 / self.p50))
        return self.p90 * math.exp((z - _Z90) / (_Z99 - _Z90) * math.log(self.p99 / self.p90))


GENERATION = Durations(4.9, 20.2, 78.0)
TOOLS = Durations(0.1, 10.0, 192.0)
USER = Durations(84.0, 1_236.0, 50_040.0)


def draw_gaps(messages: Sequence[RawMessage]) -> list[float]:
    """Return for each model call of a recording the seconds since the request before; 0 for the first.

    A gap is the time of the former answer, and that of its tools or of the user's wait.
    """
    digest = messages_digest(messages)
    gaps: list[float] = []
    for before, message in pairwise(messages):
        if message["role"] == "assistant":
            wait = USER if before["role"] == "user" else TOOLS
            answer, pause = (_draw(digest, f"{len(gaps)} {what}") for what in ("answer", "pause"))
            gaps.append(GENERATION.quantile(answer) + wait.quantile(pause) if gaps else 0.0)
    return gaps


def messages_digest(messages: Sequence[RawMessage]) -> bytes:
    """Return a hash of a recording's texts, wherever the recording is stored."""
    texts = "\0".join(message["content"] for message in messages)
    return hashlib.sha256(texts.encode("utf-8", "surrogatepass")).digest()


def _draw(digest: bytes, what: str) -> float:
    """Return a number above 0 and below 1."""
    drawn = hashlib.sha256(digest + what.encode()).digest()
    return (int.from_bytes(drawn[:6]) + 0.5) / 2**48
