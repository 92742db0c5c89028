"""What requests read from the provider's cache as it reported it, and why others had to be read again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from helix_desktop.context.window.provider_cache_lifetime import SHORT_S
from helix_desktop.domain.events.conversation import AssistantSpoke
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
from helix_desktop.domain.messages import RequestLayers, Usage

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

    `causes` say why they were not; empty where they were.
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
    return uses


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
    gone = _causes_of_all(previous, answer, default_lifetime_s)
    changed = [] if gone else [*_changed_layers(before.layers, response.layers, bool(rewrites))]
    changed += [MissCause("effort")] if not gone and before.effort != response.effort else []
    kinds = dict.fromkeys(_REWRITES[type(rewrite.event)] for rewrite in rewrites)
    changed += [] if gone else map(MissCause, kinds)
    if gone or changed:
        return (*gone, *changed)
    return (MissCause("small" if _is_small(before.usage) else "unexplained"),)


def _causes_of_all(
    previous: RecordedEvent, answer: RecordedEvent, default_lifetime_s: int
) -> tuple[MissCause, ...]:
    """Return why nothing at all of the request before could be read."""
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
    """Return True if the request before was too small to be stored."""
    stored_nothing = before.reports_writes and not (before.cache_writes or before.cached)
    return before.input < (MAX_MINIMUM_TOKENS if stored_nothing else MINIMUM_TOKENS)
