"""The provider's cache: what of a request it has, for how long, and the cost of the next one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile, pairwise, takewhile

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem, SummaryBlock, WindowEntry
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.window.used_tokens import UsageGauge
from helix_desktop.context.window.window import Window
from helix_desktop.domain.cost import call_cost
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.messages import Message, ModelInfo, Usage

_LOOK_BACK = 18
"""Blocks before a breakpoint in which a provider finds what it stored.

Anthropic looks at 20 ("Prompt caching", November 2026).
"""


def layer_ends(window: Window, transcript: Transcript, policy: ContextPolicy) -> tuple[int, ...]:
    """Return after how many messages a layer ends that later requests keep, in order; at most two.

    The ends of handover, observations and notes (without them of the user's first messages), and of what the
    next sweep leaves as it is. Where a provider would not find what the request before had from these or from
    the end, the end of that takes the place of the first.
    """
    entries = window.entries
    messages = window.request.messages
    opening = _opening_count(window)
    if opening + len(entries) != len(messages):
        return ()  # the request was repaired: nothing is known of its layers
    same = opening + sum(1 for _ in takewhile(lambda entry: entry.upto < transcript.changed_from, entries))
    settled = opening + sum(
        1 for _ in takewhile(lambda entry: not _is_changeable(entry, transcript, policy), entries)
    )
    ends = {opening + _head_count(entries), settled}
    if not any(_is_found(same, end, messages) for end in (*ends, len(messages))):
        ends = {same, settled}
    return tuple(sorted(end for end in ends if opening < end < len(messages)))


def _is_found(start: int, end: int, messages: tuple[Message, ...]) -> bool:
    """Return True if a provider that looks back from `end` comes as far as `start`."""
    is_near = 0 <= end - start <= _LOOK_BACK  # no message has less than one block
    return is_near and sum(map(_block_count, messages[start:end])) <= _LOOK_BACK


def _opening_count(window: Window) -> int:
    """Return how many messages stand before those of the log: the system prompt, if there is one."""
    return sum(1 for _ in takewhile(lambda message: message.role == "system", window.request.messages))


def _head_count(entries: tuple[WindowEntry, ...]) -> int:
    """Return how many entries the first layer has."""
    for at in range(len(entries) - 1, -1, -1):
        if isinstance(entries[at], SummaryBlock):
            return at + 1
    return sum(1 for _ in takewhile(_is_users, entries))


def _is_users(entry: WindowEntry) -> bool:
    return isinstance(entry, LogItem) and isinstance(entry.event, UserSpoke)


def _is_changeable(entry: WindowEntry, transcript: Transcript, policy: ContextPolicy) -> bool:
    """Return True if a sweep may change how a message is sent."""
    if not isinstance(entry, LogItem) or entry.saving < max(1, policy.least_saving) or _is_users(entry):
        return False
    rewrites = transcript.rewrites
    return not any(entry.seq in seqs for seqs in (rewrites.swept, rewrites.sweep_exempt, rewrites.pinned))


def _block_count(message: Message) -> int:
    return max(1, bool(message.text) + len(message.calls) + len(message.images))


SHORT_S = 300
"""The usual lifetime that providers offer, in seconds."""
LONG_S = 3_600
"""The lifetime that a request has to ask for, in seconds."""

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


USUAL_PRICES = CachePrices()


def cache_prices(info: ModelInfo) -> CachePrices:
    """Return a model's prices; the default ratios where nothing is known of them.

    Storing that has no price of its own costs what fresh input does.
    """
    if not info.price_in:
        return USUAL_PRICES
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
        seconds = (now_ms - _started_ms(items[-1])) / 1000
        prefix = min(_input(items[-1]), next_input)
        gaps.append(CallGap(seconds, prefix, next_input - prefix))
    return gaps


def _gap(previous: LogItem, item: LogItem) -> CallGap:
    seconds = (_started_ms(item) - _started_ms(previous)) / 1000
    prefix = min(_input(previous), _input(item))
    usage = _usage(item)
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


MINIMUM_TOKENS = 1_024
"""Below this hardly any provider stores what a request begins with.

OpenAI: 1,024; Anthropic: 512 to 4,096 by model ("Prompt caching", November 2026).
"""

_REPORTS = 2  # in a row: the second could have read what the first began with, whatever a rewrite did


class RequestCost(msgspec.Struct, frozen=True):
    """Input tokens as the provider counts them: those it has cached, and the others.

    `cost` is in US dollars; None: unknown. All is about: providers cache in blocks, and may forget sooner.
    """

    cached: int
    fresh: int
    cost: float | None

    @property
    def total(self) -> int:
        return self.cached + self.fresh


def next_request_cost(
    window: Window, gauge: UsageGauge, transcript: Transcript, info: ModelInfo, is_cold: bool
) -> RequestCost:
    """Return what the next request costs without its answer; `is_cold`: the provider's cache has expired.

    Of a provider that reports no cache, nothing counts as cached.
    """
    fresh = gauge.used
    if transcript.messages.steps and not is_cold and transcript.changed_from and reports_cache(transcript):
        pairs = zip(window.entries, window.entry_tokens, strict=True)
        new = dropwhile(lambda pair: pair[0].upto < transcript.changed_from, pairs)
        # Not the cached part, which the total has as reported: the ratio is off by more the more it counts.
        fresh = min(gauge.used, round(sum(tokens for _, tokens in new) * gauge.ratio))
    return priced_request(info, gauge.used, gauge.used - fresh, transcript.cache_lifetime_s == LONG_S)


def reports_cache(transcript: Transcript) -> bool:
    """Return True if a session's provider says what it had cached, as far as its newest reports show.

    One that says 0 of every long request has no cache, or not for this model; of one that reports no usage
    nothing is known.
    """
    events = (item.event for item in transcript.messages.reported_items[-_REPORTS:])
    usages = [event.usage for event in events if isinstance(event, AssistantSpoke) and event.usage]
    if not usages:
        return not transcript.messages.steps
    if not (usages[-1].reports_cache or usages[-1].cached):
        return False
    is_empty = all(
        usage.input >= MINIMUM_TOKENS and not usage.cached + usage.cache_writes for usage in usages
    )
    return len(usages) < _REPORTS or not is_empty


def priced_request(info: ModelInfo, total: int, cached: int, is_stored_long: bool = False) -> RequestCost:
    """Return the cost of a request of `total` tokens, of which the provider has `cached`.

    Where storing has a price, the others are stored: requests end with a breakpoint. `is_stored_long`: for an
    hour, at a price of its own.
    """
    fresh = total - cached
    usage = Usage(total, 0, cached, fresh, fresh if is_stored_long else 0)
    is_priced = bool(info.price_in or info.free) and not info.demo
    return RequestCost(cached, fresh, call_cost(info, usage) if is_priced else None)
