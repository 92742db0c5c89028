"""How long the provider is to keep what a session's requests begin with: by price and by measured gaps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.messages import ModelInfo, Usage

SHORT_S, LONG_S = 300, 3_600
"""The two lifetimes that providers offer, in seconds: the usual one, and the one that is asked for."""

_MIN_SAVING = 0.15  # share of the cost that has to be saved
_MAX_CALLS = 50  # of the newest ones: what a session does now counts, at a cost that does not grow


class CallGap(msgspec.Struct, frozen=True):
    """The seconds between two calls, the tokens that both begin with, and those that the second one adds."""

    seconds: float
    prefix: int
    added: int


class CachePrices(msgspec.Struct, frozen=True):
    """Prices as multiples of fresh input: of reading, of storing for the short and for the long lifetime.

    The defaults are Anthropic's ratios ("Pricing", November 2026).
    """

    read: float = 0.1
    write: float = 1.25
    write_long: float = 2.0


def cache_prices(info: ModelInfo) -> CachePrices:
    """Return a model's prices; the default ratios where nothing is known of them.

    Storing that has no price of its own costs what fresh input does.
    """
    if not info.price_in:
        return CachePrices()
    write = info.price_cache_write or info.price_in
    write_long = info.price_cache_write_1h or write
    read = info.price_cached or info.price_in
    return CachePrices(read / info.price_in, write / info.price_in, write_long / info.price_in)


def prefers_long(gaps: Sequence[CallGap], prices: CachePrices) -> bool:
    """Return True if these calls would have cost clearly less with the long lifetime.

    Clearly: where a cache expires, rewrites cost nothing, and these measured calls do not tell what that is
    worth.
    """
    short = _cost(gaps, SHORT_S, prices.write, prices.read)
    return _cost(gaps, LONG_S, prices.write_long, prices.read) < short * (1 - _MIN_SAVING)


def _cost(gaps: Sequence[CallGap], lifetime_s: int, write: float, read: float) -> float:
    """Return the cost of the input of these calls, in tokens of fresh input."""
    return sum(
        gap.prefix * (read if gap.seconds <= lifetime_s else write) + gap.added * write for gap in gaps
    )


def measured_gaps(transcript: Transcript, model: str, now_ms: int, next_input: int) -> list[CallGap]:
    """Return the gaps between the newest calls of a model, and the one up to a call made now.

    `next_input` are the tokens of that call. What a rewrite made the provider read again counts as added,
    where it reports what it had.
    """
    items = [
        item
        for item in transcript.messages.reported_items[-_MAX_CALLS:]
        if isinstance(item.event, AssistantSpoke) and item.event.model == model
    ]
    gaps = [_gap(previous, item) for previous, item in pairwise(items)]
    if items:
        seconds, prefix = (now_ms - _started_ms(items[-1])) / 1000, min(_input(items[-1]), next_input)
        gaps.append(CallGap(seconds, prefix, next_input - prefix))
    return gaps


def _gap(previous: LogItem, item: LogItem) -> CallGap:
    seconds = (_started_ms(item) - _started_ms(previous)) / 1000
    prefix, usage = min(_input(previous), _input(item)), _usage(item)
    if usage is not None and usage.cached and seconds <= SHORT_S:
        prefix = usage.cached
    return CallGap(seconds, prefix, _input(item) - prefix)


def _usage(item: LogItem) -> Usage | None:
    return item.event.usage if isinstance(item.event, AssistantSpoke) else None


def _input(item: LogItem) -> int:
    usage = _usage(item)
    return usage.input if usage is not None else 0


def _started_ms(item: LogItem) -> int:
    """Return when the call was made: from then on the provider's clock runs."""
    return item.at_ms - (item.event.duration_ms if isinstance(item.event, AssistantSpoke) else 0)
