"""Background work of a conversation is shown while it runs, each job by its own name."""

from __future__ import annotations

from collections.abc import Callable

from helix_desktop.agent.session import (
    CompactionProgress,
    IntakeProgress,
    ObservationProgress,
    PreparationProgress,
    SubagentActivity,
    SubagentProgress,
)
from helix_desktop.domain.cost import CostEstimate
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.timeline.cards import RunningCard
from helix_desktop.ui.window.background_jobs import BackgroundJobs
from helix_desktop.ui.window.status_lines import JobRow
from tests.support.agent_rig import AgentRig
from tests.support.scripted_model import ScriptedModel, replies_in_order


async def lines_in_a_session() -> Callable[[BackgroundJobs], list[JobRow]]:
    conversation = await AgentRig(ScriptedModel(replies_in_order())).begin()
    return lambda background: background.rows(conversation, TaskScope().start)


async def test_each_job_has_its_line_until_it_is_over() -> None:
    lines = await lines_in_a_session()
    background = BackgroundJobs()
    assert background.apply(CompactionProgress("summarize", "words"))
    assert background.apply(ObservationProgress("read"))
    assert background.apply(IntakeProgress(("c1", "c2")))
    assert background.apply(SubagentProgress("child", "working", 12_000, 128_000, 3, "Count the tests"))
    assert [job.id for job in lines(background)] == ["compaction", "observation", "child", "intake"]
    assert [job.action is not None for job in lines(background)] == [True, True, False, False]
    texts = [job.text for job in lines(background)]
    assert texts[2] == "Subagent: Count the tests · Working · 3 model calls · 12k of 128k tokens"
    assert texts[3] == "Shortening 2 large outputs…"
    assert background.card is not None
    assert background.card == RunningCard("summarize", "Summarizing older messages…", "words")
    for over in (
        CompactionProgress("idle"),
        IntakeProgress(),
        SubagentProgress("child", "done", 1, 2, 4),
    ):
        background.apply(over)
    assert [job.id for job in lines(background)] == ["observation"]
    assert background.card is not None
    assert background.card.title == "Summarizing older messages…"
    background.apply(ObservationProgress("idle"))
    assert lines(background) == []
    assert background.is_idle
    assert background.card is None


async def test_the_cost_is_shown_in_tokens_and_money_where_it_is_known() -> None:
    """On the running job and on its card in the timeline."""
    lines = await lines_in_a_session()
    background = BackgroundJobs()
    background.apply(CompactionProgress("summarize", "", CostEstimate(312_000, 0.94, 3)))
    (job,) = lines(background)
    assert job.text == "Summarizing older messages… · Reads ≈ 312k tokens · ≈ $0.94 · 3 calls"
    assert background.card is not None
    assert background.card.usage_text == "Reads ≈ 312k tokens · ≈ $0.94 · 3 calls"
    background.apply(CompactionProgress("idle"))
    background.apply(ObservationProgress("summarize", estimate=CostEstimate(1_000)))
    (job,) = lines(background)
    assert job.text == "Summarizing older messages…"
    turns = verbatim("turns 1–4")
    background.apply(ObservationProgress("summarize", turns=turns))
    assert [job.text for job in lines(background)] == ["Summarizing turns 1–4…"]
    early = ObservationProgress("summarize", "", CostEstimate(16_700), turns, is_early=True)
    background.apply(early)
    assert [job.text for job in lines(background)] == ["Preparing a handover summary · reads 16.7k"]
    assert background.card is not None
    assert background.card == RunningCard("summarize", "Summarizing turns 1–4…", is_early=True)


async def test_titles_and_summaries_that_nothing_waits_for_have_a_line_of_their_own() -> None:
    """Only what reads much can be stopped; the line goes with the request, however that ended."""
    lines = await lines_in_a_session()
    background = BackgroundJobs()
    background.apply(PreparationProgress("checkpoint", CostEstimate(16_700)))
    background.apply(PreparationProgress("title", CostEstimate(400)))
    assert [(job.text, job.short_text, job.action is not None) for job in lines(background)] == [
        ("Preparing a handover summary · reads 16.7k", "Preparing a handover summary", True),
        ("Writing a title · reads 400", "Writing a title", False),
    ]
    background.apply(PreparationProgress("checkpoint"))
    assert [job.id for job in lines(background)] == ["title"]
    assert not background.is_idle
    background.apply(PreparationProgress("title"))
    assert lines(background) == []
    assert background.is_idle


async def test_each_subagent_has_its_line_and_stop() -> None:
    """In the order in which they came; those that wait for their turn have one together."""
    lines = await lines_in_a_session()
    background = BackgroundJobs()
    phases: tuple[SubagentActivity, ...] = ("working", "queued", "waiting", "queued")
    for number, phase in enumerate(phases):
        background.apply(SubagentProgress(f"s{number}", phase, 1, 2, 1, call_id=f"c{number}"))
    background.apply(SubagentProgress("s0", "thinking", 1, 2, 2, call_id="c0"))
    assert [(job.id, job.action is not None) for job in lines(background)] == [
        ("call:c0", True), ("call:c2", True), ("subagents", False),
    ]  # fmt: skip
    background.apply(SubagentProgress("s1", "working", 1, 2, 1, call_id="c1"))
    assert [job.id for job in lines(background)] == ["call:c0", "call:c1", "call:c2", "call:c3"]


async def test_any_end_removes_a_subagent_s_line() -> None:
    lines = await lines_in_a_session()
    for end in ("done", "stopped", "failed", "interrupted"):
        background = BackgroundJobs()
        background.apply(SubagentProgress("child", "thinking", 1, 2, 1))
        assert len(lines(background)) == 1
        background.apply(SubagentProgress("child", end, 1, 2, 1))
        assert lines(background) == []
