"""What runs beside a conversation shows while it runs, each by its own name."""

from __future__ import annotations

from helix_desktop.agent.update import (
    CompactionMoved,
    IntakeMoved,
    ObservationMoved,
    SubagentMoved,
    TurnChanged,
)
from helix_desktop.context.spending import Estimate
from helix_desktop.ui.beside import Beside


def test_each_has_its_line_until_it_is_over() -> None:
    beside = Beside()
    assert beside.take(CompactionMoved("summarise", "words"))
    assert beside.take(ObservationMoved("read"))
    assert beside.take(IntakeMoved("ask", ("c1", "c2")))
    assert beside.take(SubagentMoved("child", "working", 12_000, 128_000, 3, "Count the tests"))
    assert [job.id for job in beside.jobs] == ["compaction", "observation", "child", "intake"]
    assert [job.cancellable for job in beside.jobs] == [True, True, False, False]
    said = [job.text for job in beside.jobs]
    assert said[2] == "Subagent Count the tests · runs tools · 3 steps · 12k of 128k tokens"
    assert "2 large outputs" in said[3]
    assert beside.card is not None
    assert (beside.card.what, beside.card.phase, beside.card.text) == ("Handover", "Summarise", "words")
    for over in (CompactionMoved("idle"), IntakeMoved("idle"), SubagentMoved("child", "done", 1, 2, 4)):
        beside.take(over)
    assert [job.id for job in beside.jobs] == ["observation"]
    assert beside.card is not None
    assert beside.card.what == "Observing"
    beside.take(ObservationMoved("idle"))
    assert beside.jobs == []
    assert beside.card is None


def test_what_it_takes_is_shown_in_tokens_and_money() -> None:
    """On the running job and on its card in the timeline."""
    beside = Beside()
    beside.take(CompactionMoved("summarise", "", Estimate(312_000, 0.94, 3)))
    (job,) = beside.jobs
    assert job.text == "Handing over · Summarise · Reads ≈ 312k tokens · ≈ $0.94 · 3 calls"
    assert beside.card is not None
    assert beside.card.takes == "Reads ≈ 312k tokens · ≈ $0.94 · 3 calls"
    beside.take(CompactionMoved("summarise", "", Estimate(1_000)))
    assert beside.jobs[0].text.endswith("Reads ≈ 1k tokens · price unknown")


def test_what_is_none_of_these_is_left_alone() -> None:
    assert not Beside().take(TurnChanged(True))


def test_an_end_of_any_kind_takes_a_subagents_line_away() -> None:
    for end in ("done", "stopped", "failed", "interrupted"):
        beside = Beside()
        beside.take(SubagentMoved("child", "thinking", 1, 2, 1))
        assert len(beside.jobs) == 1
        beside.take(SubagentMoved("child", end, 1, 2, 1))
        assert beside.jobs == []
