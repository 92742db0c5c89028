"""A short soak run: every kind of turn, and nothing left behind. The long one is `make soak`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.model_servers.llmock import run_llmock
from tests.support.soak import TURN_KIND_WEIGHTS, ResourceSample, SoakRun, memory_slope, plan_turns

TURNS = 60
PER_SESSION = 15
SEED = 42


@pytest.mark.needs_peer(module="llmock")
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_sixty_turns_leak_nothing(tmp_path: Path) -> None:
    """Faults, stops, subagents and rewrites: all requests valid, all logs sound, nothing open at the end."""
    with run_llmock(tmp_path, "--stream-chunk-delay-ms", "5") as server:
        soak = SoakRun(tmp_path, server, TURNS, PER_SESSION, seed=SEED)
        asyncio.run(soak.run())
    tally = soak.report
    assert tally.problems == []
    assert set(tally.turn_kinds) == {fate for fate, _ in TURN_KIND_WEIGHTS}
    assert tally.events["SubagentStarted"]
    assert tally.events["SweepMade"]
    assert tally.faults > 10
    assert set(tally.live_objects.values()) == {0}, "closed sessions are let go of"
    assert tally.verify_result.endswith("0 damaged")
    assert max(sample.iterators for sample in soak.monitor.samples) == 0
    assert max(sample.children for sample in soak.monitor.samples) == 0
    assert max(sample.files for sample in soak.monitor.samples) < 40


def test_the_slope_is_that_of_the_line() -> None:
    """Three KiB a turn, at any level; zero for a constant, and for what LevelDB fills repeatedly."""

    def at(turn: int, anon: int, leveldb_log: int = 0) -> ResourceSample:
        return ResourceSample(turn, 0, anon, leveldb_log, 0, 0, 0, 0, 0)

    assert memory_slope([at(10, 130), at(20, 160), at(30, 190)]) == pytest.approx(3.0)
    assert memory_slope([at(10, 130), at(20, 131), at(30, 130)]) == pytest.approx(0.0)
    assert memory_slope([at(10, 130, 10), at(20, 160, 40), at(30, 160, 40)]) == pytest.approx(0.0)


def test_the_same_seed_gives_the_same_turns() -> None:
    """So that a run can be repeated."""
    assert plan_turns(50, 7) == plan_turns(50, 7)
    assert plan_turns(50, 7) != plan_turns(50, 8)
