"""The cost of the next request: what of it the provider has cached, by what changed since the last one."""

from __future__ import annotations

from itertools import dropwhile

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.window.provider_cache_lifetime import LONG_S
from helix_desktop.context.window.provider_cache_misses import MINIMUM_TOKENS
from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.context.window.window import Window
from helix_desktop.domain.cost import call_cost
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.messages import ModelInfo, Usage

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
        """Return all input tokens."""
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
