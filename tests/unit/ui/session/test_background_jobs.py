"""What runs beside a conversation shows while it runs, each by its own name."""

from __future__ import annotations

from helix_desktop.agent.session_updates import (
    CompactionProgress,
    IntakeProgress,
    ObservationProgress,
    SubagentProgress,
    TurnChanged,
)
from helix_desktop.domain.cost import CostEstimate
from helix_desktop.ui.session.background_jobs import BackgroundJobs


def test_each_has_its_line_until_it_is_over() -> None:
    beside = BackgroundJobs()
    assert beside.apply(CompactionProgress("summarise", "words"))
    assert beside.apply(ObservationProgress("read"))
    assert beside.apply(IntakeProgress("ask", ("c1", "c2")))
    assert beside.apply(SubagentProgress("child", "working", 12_000, 128_000, 3, "Count the tests"))
    assert [job.id for job in beside.jobs] == ["compaction", "observation", "child", "intake"]
    assert [job.cancellable for job in beside.jobs] == [True, True, False, False]
    said = [job.text for job in beside.jobs]
    assert said[2] == "Subagent Count the tests · runs tools · 3 steps · 12k of 128k tokens"
    assert "2 large outputs" in said[3]
    assert beside.card is not None
    assert (beside.card.what, beside.card.phase, beside.card.text) == ("Handover", "Summarise", "words")
    for over in (
        CompactionProgress("idle"),
        IntakeProgress("idle"),
        SubagentProgress("child", "done", 1, 2, 4),
    ):
        beside.apply(over)
    assert [job.id for job in beside.jobs] == ["observation"]
    assert beside.card is not None
    assert beside.card.what == "Observing"
    beside.apply(ObservationProgress("idle"))
    assert beside.jobs == []
    assert beside.card is None


def test_what_it_takes_is_shown_in_tokens_and_money() -> None:
    """On the running job and on its card in the timeline."""
    beside = BackgroundJobs()
    beside.apply(CompactionProgress("summarise", "", CostEstimate(312_000, 0.94, 3)))
    (job,) = beside.jobs
    assert job.text == "Handing over · Summarise · Reads ≈ 312k tokens · ≈ $0.94 · 3 calls"
    assert beside.card is not None
    assert beside.card.usage_text == "Reads ≈ 312k tokens · ≈ $0.94 · 3 calls"
    beside.apply(CompactionProgress("summarise", "", CostEstimate(1_000)))
    assert beside.jobs[0].text.endswith("Reads ≈ 1k tokens · price unknown")


def test_what_is_none_of_these_is_left_alone() -> None:
    assert not BackgroundJobs().apply(TurnChanged(True))


def test_an_end_of_any_kind_takes_a_subagents_line_away() -> None:
    for end in ("done", "stopped", "failed", "interrupted"):
        beside = BackgroundJobs()
        beside.apply(SubagentProgress("child", "thinking", 1, 2, 1))
        assert len(beside.jobs) == 1
        beside.apply(SubagentProgress("child", end, 1, 2, 1))
        assert beside.jobs == []
