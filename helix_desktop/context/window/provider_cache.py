"""The provider's cache: what of a request it has, for how long, why it missed; the cost of the next one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import dropwhile, pairwise, takewhile
from typing import Literal

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem, SummaryBlock, WindowEntry
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.window.used_tokens import UsageGauge
from helix_desktop.context.window.window import Window
from helix_desktop.domain.cost import call_cost
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import (
    Excluded,
    FoldMade,
    FormChosen,
    Pinned,
    Redone,
    SweepMade,
    Undone,
    Unpinned,
)
from helix_desktop.domain.events.summary import HandoverMade, ObservationsPlaced
from helix_desktop.domain.messages import Message, ModelInfo, RequestLayers, Usage

_HASH_BYTES = 4
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
    entries, messages, opening = window.entries, window.request.messages, _opening_count(window)
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


def hash_layers(window: Window) -> RequestLayers:
    request, opening = window.request, _opening_count(window)
    notes = (
        message.text
        for message, entry in zip(request.messages[opening:], window.entries, strict=False)
        if isinstance(entry, SummaryBlock)
    )
    return RequestLayers(
        system=_short_hash(message.text for message in request.messages[:opening]),
        tools=_short_hash(msgspec.json.encode(tool).decode() for tool in request.tools),
        notes=_short_hash(notes),
    )


def _opening_count(window: Window) -> int:
    """Return how many messages stand before those of the log: the system prompt, if there is one."""
    return sum(1 for _ in takewhile(lambda message: message.role == "system", window.request.messages))


def _short_hash(texts: Iterable[str]) -> str:
    digest = blake2b(digest_size=_HASH_BYTES)
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


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


MINIMUM_TOKENS, MAX_MINIMUM_TOKENS = 1_024, 4_096
"""Below the first hardly any provider stores what a request begins with; the highest minimum is the second.

OpenAI: 1,024; Anthropic: 512 to 4,096 by model ("Prompt caching", November 2026).
"""

_TOLERANCE = 0.1  # of what could be read: providers count and store in blocks

_RewriteKind = Literal[
    "sweep", "fold", "observations", "handover", "form", "exclude", "pin", "unpin", "undo", "redo"
]
_REWRITES: dict[type[Event], _RewriteKind] = {
    SweepMade: "sweep",
    FoldMade: "fold",
    ObservationsPlaced: "observations",
    HandoverMade: "handover",
    FormChosen: "form",
    Excluded: "exclude",
    Pinned: "pin",
    Unpinned: "unpin",
    Undone: "undo",
    Redone: "redo",
}
MissKind = (
    Literal["first", "unreported", "model", "effort", "idle", "tools", "system", "notes", "small"]
    | Literal["unexplained"]
    | _RewriteKind
)


class MissCause(msgspec.Struct, frozen=True):
    """One reason why a request was not read from the provider's cache.

    `waited_s` and `lifetime_s` are those of "idle", `previous_model` that of "model".
    """

    kind: MissKind
    waited_s: int = 0
    lifetime_s: int = 0
    previous_model: str = ""


class RequestCacheUse(msgspec.Struct, frozen=True):
    """One request, by the event of its answer: its tokens as reported, and those expected to be read.

    `causes` say why they were not; empty where they were, and where nothing is known to have been stored.
    """

    seq: int
    at_ms: int
    usage: Usage
    expected: int
    causes: tuple[MissCause, ...]


def newest_cache_uses(
    log: Sequence[RecordedEvent], count: int, default_lifetime_s: int = SHORT_S
) -> list[RequestCacheUse]:
    """Return the newest requests whose tokens the provider reported, newest first."""
    uses: list[RequestCacheUse] = []
    for previous, rewrites, answer in _steps_backwards(log):
        if len(uses) == count:
            break
        uses.append(_cache_use(previous, rewrites, answer, default_lifetime_s))
    if any(use.usage.cached or use.usage.cache_writes for use in uses):
        return uses
    return [msgspec.structs.replace(use, causes=_without_losses(use.causes)) for use in uses]


def _without_losses(causes: tuple[MissCause, ...]) -> tuple[MissCause, ...]:
    """Return the reasons that hold where the provider has no cache either."""
    return tuple(cause for cause in causes if cause.kind in ("first", "unreported", "small"))


def _steps_backwards(
    log: Sequence[RecordedEvent],
) -> Iterator[tuple[RecordedEvent | None, list[RecordedEvent], RecordedEvent]]:
    """Yield answers with the one before and the rewrites between, newest first."""
    answer: RecordedEvent | None = None
    rewrites: list[RecordedEvent] = []
    for recorded in reversed(log):
        event = recorded.event
        if isinstance(event, AssistantSpoke) and event.usage is not None and event.usage.input > 0:
            if answer is not None:
                yield recorded, rewrites[::-1], answer
            answer, rewrites = recorded, []
        elif type(event) in _REWRITES:
            rewrites.append(recorded)
    if answer is not None:
        yield None, rewrites[::-1], answer


def _cache_use(
    previous: RecordedEvent | None,
    rewrites: Sequence[RecordedEvent],
    answer: RecordedEvent,
    default_lifetime_s: int,
) -> RequestCacheUse:
    response = answer.event
    assert isinstance(response, AssistantSpoke)
    assert response.usage is not None
    before = previous.event.usage if previous and isinstance(previous.event, AssistantSpoke) else None
    expected = min(before.input, response.usage.input) if before is not None else 0
    if previous is None:
        causes: tuple[MissCause, ...] = (MissCause("first"),)
    elif response.usage.cached >= expected * (1 - _TOLERANCE):
        causes = ()
    else:
        causes = _causes(previous, rewrites, answer, default_lifetime_s)
    return RequestCacheUse(answer.seq, answer.at, response.usage, expected, causes)


def _causes(
    previous: RecordedEvent, rewrites: Sequence[RecordedEvent], answer: RecordedEvent, default_lifetime_s: int
) -> tuple[MissCause, ...]:
    before, response = previous.event, answer.event
    assert isinstance(before, AssistantSpoke)
    assert isinstance(response, AssistantSpoke)
    assert before.usage is not None
    assert response.usage is not None
    if not response.usage.reports_cache and not response.usage.cached:
        return (MissCause("unreported"),)
    if gone := _causes_of_all(previous, answer, default_lifetime_s):
        return gone
    changed = [*_changed_layers(before.layers, response.layers, bool(rewrites))]
    changed += [MissCause("effort")] if before.effort != response.effort else []
    changed += map(MissCause, dict.fromkeys(_REWRITES[type(rewrite.event)] for rewrite in rewrites))
    if not changed and _is_small(before.usage):
        return (MissCause("small"),)
    had = before.usage.cached + before.usage.cache_writes
    is_loss = response.usage.cached < had * (1 - _TOLERANCE)
    return tuple(changed) or ((MissCause("unexplained"),) if is_loss else ())


def _causes_of_all(
    previous: RecordedEvent, answer: RecordedEvent, default_lifetime_s: int
) -> tuple[MissCause, ...]:
    before, response = previous.event, answer.event
    assert isinstance(before, AssistantSpoke)
    assert isinstance(response, AssistantSpoke)
    causes: tuple[MissCause, ...] = ()
    if before.model != response.model:
        causes = (MissCause("model", previous_model=before.model),)
    lifetime_s = before.cache_lifetime_s or default_lifetime_s
    waited_s = (answer.at - response.duration_ms - previous.at + before.duration_ms) // 1000
    if waited_s > lifetime_s:
        causes += (MissCause("idle", waited_s=waited_s, lifetime_s=lifetime_s),)
    return causes


def _changed_layers(
    before: RequestLayers | None, now: RequestLayers | None, is_rewritten: bool
) -> Iterator[MissCause]:
    """Yield the layers that differ; notes only where no rewrite explains it. Older logs know no layers."""
    if before is None or now is None:
        return
    if before.tools != now.tools:
        yield MissCause("tools")
    if before.system != now.system:
        yield MissCause("system")
    if before.notes != now.notes and not is_rewritten:
        yield MissCause("notes")


def _is_small(before: Usage) -> bool:
    stored_nothing = before.reports_writes and not (before.cache_writes or before.cached)
    return before.input < (MAX_MINIMUM_TOKENS if stored_nothing else MINIMUM_TOKENS)


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
