"""Why a request was not read from the provider's cache: hand-made logs, known reasons."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.context.window.provider_cache import MissCause, newest_cache_uses
from helix_desktop.domain.events.conversation import AssistantSpoke, TurnEnded
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import SweepMade, SweepReason
from helix_desktop.domain.messages import RequestLayers, Usage

LAYERS = RequestLayers("5e5", "700", "07e")
MINUTE = 60_000
SWEEP = SweepMade((2,), 5_000, SweepReason.BATCH)


def usage(tokens: int, cached: int = 0, cache_writes: int | None = None) -> Usage:
    """Return what a provider reports; `cache_writes` None: it reports no writes."""
    return Usage(tokens, 10, cached, cache_writes or 0, 0, True, cache_writes is not None)


def answer(used: Usage | None, **fields: object) -> AssistantSpoke:
    """Return the answer to a request of the same model with the same layers."""
    response = AssistantSpoke("ok", "vendor/m", 2, usage=used, layers=LAYERS, duration_ms=5_000)
    return msgspec.structs.replace(response, **fields)


def causes(*events: Event, gap_ms: int = MINUTE) -> tuple[MissCause, ...]:
    """Return why the newest request of a log with these events, so far apart, missed the cache."""
    log = [RecordedEvent(seq, seq * gap_ms, event) for seq, event in enumerate(events, 1)]
    return newest_cache_uses(log, 1)[0].causes


BEFORE = answer(usage(20_000))


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([BEFORE], [MissCause("first")]),
        ([BEFORE, answer(usage(21_000, 19_968))], []),
        ([BEFORE, answer(usage(21_000))], [MissCause("unexplained")]),
        ([BEFORE, answer(Usage(21_000, 10))], [MissCause("unreported")]),
        ([BEFORE, answer(usage(21_000), model="vendor/n")], [MissCause("model", previous_model="vendor/m")]),
        ([BEFORE, answer(usage(21_000), effort="high")], [MissCause("effort")]),
        ([BEFORE, SWEEP, answer(usage(16_000, 4_000))], [MissCause("sweep")]),
        ([BEFORE, SWEEP, SWEEP, answer(usage(16_000, 4_000))], [MissCause("sweep")]),
        ([BEFORE, SWEEP, answer(usage(16_000, 15_900))], []),
        (
            [BEFORE, SWEEP, answer(usage(21_000), layers=RequestLayers("5e5", "701", "07e"))],
            [MissCause("tools"), MissCause("sweep")],
        ),
        ([BEFORE, answer(usage(21_000), layers=RequestLayers("5e6", "700", "x"))],
         [MissCause("system"), MissCause("notes")]),
        ([answer(usage(900)), answer(usage(1_100))], [MissCause("small")]),
        ([answer(usage(3_000, 0, 0)), answer(usage(3_200, 0, 0))], [MissCause("small")]),
        ([answer(usage(3_000, 0, 3_000)), answer(usage(3_200, 0, 3_200))], [MissCause("unexplained")]),
        ([BEFORE, TurnEnded("done"), answer(None), answer(usage(21_000, 20_000))], []),
    ],
)  # fmt: skip
def test_each_reason_is_told(events: list[Event], expected: list[MissCause]) -> None:
    assert causes(*events) == tuple(expected)


def test_a_wait_beyond_the_lifetime_is_the_reason() -> None:
    """From the start of a call to the start of the next; an hour where an hour was asked for."""
    idle = MissCause("idle", waited_s=420, lifetime_s=300)
    assert causes(BEFORE, answer(usage(21_000)), gap_ms=7 * MINUTE) == (idle,)
    for_an_hour = answer(usage(20_000), cache_lifetime_s=3_600)
    assert causes(for_an_hour, answer(usage(21_000)), gap_ms=7 * MINUTE) == (MissCause("unexplained"),)
    gone = (MissCause("idle", waited_s=4_200, lifetime_s=3_600),)
    assert causes(for_an_hour, answer(usage(21_000)), gap_ms=70 * MINUTE) == gone


def test_the_newest_requests_come_first_and_no_more_than_asked() -> None:
    events = [answer(usage(10_000 + step * 1_000, step * 1_000)) for step in range(5)]
    log = [RecordedEvent(seq, seq * MINUTE, event) for seq, event in enumerate(events, 1)]
    uses = newest_cache_uses(log, 3)
    assert [use.seq for use in uses] == [5, 4, 3]
    assert uses[0].expected == 13_000
    assert newest_cache_uses([], 3) == []
