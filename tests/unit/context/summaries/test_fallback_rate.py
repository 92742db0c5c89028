"""How many summaries needed a fallback."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from helix_desktop.context.summaries.summary_task import FallbackRate, fallback_rate
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import FoldMade, FormChosen, HandoverTrigger
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.events.summary import (
    HandoverDiscarded,
    HandoverMade,
    HandoverPrepared,
    ObservationsMade,
)
from helix_desktop.words.fallbacks import fallback_advice, fallback_text


def handover(fallback: str = "", origin: str = "") -> HandoverMade:
    """A handover, with or without a fallback."""
    trigger = HandoverTrigger.CONTINUED if origin else HandoverTrigger.THRESHOLD
    return HandoverMade(
        9, 0, (), "", "ab", 1, 10, 100, 20, 8, "box/small", trigger, fallback=fallback, origin=origin,
        calls=0 if origin else 1,
    )  # fmt: skip


def observations(fallback: str = "") -> ObservationsMade:
    """Observations, with or without a fallback."""
    return ObservationsMade(1, 9, (), (), "", "ab", 1, 10, 100, 8, "box/small", fallback=fallback)


def output(asked: str = "", note: str = "") -> ToolAnswered:
    """A large output of which an extract was asked for, or nothing."""
    return ToolAnswered(
        "c1", "read_file", "…", "ab", 90_000, 90, 40, form="compact" if asked and not note else "preview",
        asked=asked, intake_note=note,
    )  # fmt: skip


def log(*events: Event) -> list[RecordedEvent]:
    """A log of these events, a second apart."""
    return [RecordedEvent(seq, 1_000 * seq, event) for seq, event in enumerate(events, 1)]


def test_the_sessions_of_a_workspace_are_counted_together() -> None:
    """Handovers and observations; what a session began with was counted where it was written."""
    one = fallback_rate(log(SessionStarted("a"), handover(), observations("No model."), handover()))
    other = fallback_rate(log(handover("Too large.", origin="s1"), observations()))
    assert (one.summaries, one.fallbacks) == (3, 1)
    assert (other.summaries, other.fallbacks) == (1, 0)
    both = one + other
    assert (both.summaries, both.fallbacks, both.newest_reason) == (4, 1, "No model.")
    assert (other + one).newest_reason == "No model."


def test_a_checkpoint_counts_once_also_when_it_is_put_in_place() -> None:
    """Calls that came to nothing are no summary, nor is one that the user changed."""
    plain = HandoverDiscarded(9, prepared=HandoverPrepared(handover(), 41_000, 6_000))
    larger = HandoverDiscarded(9, prepared=HandoverPrepared(handover("box/large wrote it."), 41_000, 6_000))
    changed = HandoverDiscarded(prepared=HandoverPrepared(replace(handover(), revises=2)))
    as_it_is = replace(handover(), calls=0, checkpoint=2)
    rate = fallback_rate(log(plain, larger, HandoverDiscarded(50), changed, as_it_is))
    assert (rate.summaries, rate.fallbacks, rate.newest_reason) == (2, 1, "box/large wrote it.")
    updated = fallback_rate(log(plain, replace(handover(), checkpoint=1)))
    assert (updated.summaries, updated.fallbacks) == (2, 0)
    no_model = replace(handover("The server refused."), calls=0, checkpoint=1)
    assert fallback_rate(log(plain, no_model)).newest_reason == "The server refused."


def test_extracts_count_that_had_to_do_without_their_model() -> None:
    """Those that the agent or the user asked for; an output that nobody was asked about is no extract."""
    by_user = FormChosen(1, "compact", "…", 90, "names", intake_note="box/small couldn't write it.")
    rate = fallback_rate(log(output("names"), output("names", "Too late."), output(note="No room."), by_user))
    assert (rate.summaries, rate.fallbacks) == (3, 2)
    assert rate.newest_reason == "box/small couldn't write it."
    assert "Choose another model for large outputs in Settings → Model roles." in fallback_advice(rate)
    later = fallback_rate([*log(*[output()] * 4), RecordedEvent(5, 9_000, handover("No model."))])
    assert "for compaction in" in fallback_advice(rate + later)


def test_cuts_and_extracts_that_did_without_their_model_count() -> None:
    """An extract that came, and previews that nobody asked more of, are no fallbacks."""
    cut = FoldMade(1, 9, "left out", 5, "ab", 1, 2, 90, "truncate")
    note = FoldMade(1, 9, "noted", 5, "ab", 1, 2, 90)
    rate = fallback_rate(log(cut, note, output(), output("A, B")))
    assert (rate.summaries, rate.fallbacks) == (2, 1)
    assert rate.newest_reason == "Older messages were left out to make room."
    rate = fallback_rate(log(output("A"), output("A", "The extract wasn't ready.")))
    assert (rate.summaries, rate.fallbacks, rate.newest_reason) == (2, 1, "The extract wasn't ready.")


@pytest.mark.parametrize(("fallbacks", "is_high"), [(0, False), (5, False), (6, True)])
def test_more_than_a_twentieth_says_what_to_do(fallbacks: int, is_high: bool) -> None:
    """Without one, nothing is said."""
    rate = FallbackRate(100, fallbacks, "No model answered.")
    text = f"In this workspace, {fallbacks} of 100 handovers, observations and extracts needed a fallback."
    assert fallback_text(rate) == (text if fallbacks else "")
    assert bool(fallback_advice(rate)) == is_high
    if is_high:
        assert "No model answered." in fallback_advice(rate)
        assert "Settings → Model roles" in fallback_advice(rate)


def test_without_summaries_nothing_is_claimed() -> None:
    """No share of nothing."""
    assert fallback_text(FallbackRate()) == ""
    assert not FallbackRate().is_high
