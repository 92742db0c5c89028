"""The order in which the calls of one answer run: no read beside a change that stands before or after it."""

from __future__ import annotations

import asyncio
import json
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.tools import OutputCallback, ToolResult, ignore_output
from tests.support.agent_rig import AgentRig, ScriptedTools
from tests.support.scripted_model import ScriptedModel, replies_in_order, text_reply, tool_call_reply

Call = tuple[str, dict[str, Any]]

LOOKS: dict[str, Call] = {
    "read": ("read_file", {"path": "a.py"}),
    "list": ("list_files", {"path": "."}),
    "search": ("search_text", {"text": "needle"}),
    "mcp-read": ("ask", {"kind": "mcp", "subject": "docs: look", "claims_read_only": True}),
}
CHANGES: dict[str, Call] = {
    "edit": ("ask", {"kind": "edit", "subject": "a.py"}),
    "command": ("ask", {"kind": "command", "subject": "make"}),
    "mcp-change": ("ask", {"kind": "mcp", "subject": "docs: write"}),
}
OTHERS: dict[str, Call] = {"delegate": ("delegate", {}), "say": ("say", {})}
KINDS = {**LOOKS, **CHANGES, **OTHERS}


class TimedTools(ScriptedTools):
    """Its calls take the passes of the loop that they ask for; `times` has the start and end of each."""

    def __init__(self) -> None:
        super().__init__()
        self.times: dict[str, tuple[int, int]] = {}
        self._ticks = 0

    def _tick(self) -> int:
        self._ticks += 1
        return self._ticks

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        started = self._tick()
        for _ in range(json.loads(call.arguments)["passes"]):
            await asyncio.sleep(0)
        self.times[call.id] = (started, self._tick())
        return ToolResult(f"answer of {call.id}".encode())


async def run_answer(calls: list[tuple[str, int]]) -> dict[str, tuple[int, int]]:
    """Run one answer of these kinds of calls, each with its passes; return when each started and ended."""
    script = [(KINDS[kind][0], {**KINDS[kind][1], "passes": passes}) for kind, passes in calls]
    model = ScriptedModel(replies_in_order(tool_call_reply(*script), text_reply("Done.")))
    tools = TimedTools()
    rig = AgentRig(model, approver=FixedApprover("once"), tools=tools)
    await rig.begin()
    await rig.run_and_wait("Go.")
    return tools.times


@given(st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.integers(0, 12)), min_size=1, max_size=7))
def test_a_change_runs_beside_no_look_and_no_other_change(calls: list[tuple[str, int]]) -> None:
    times = asyncio.run(run_answer(calls))
    assert len(times) == len(calls)
    ordered = [(calls[number][0], times[f"c{number}"]) for number in range(len(calls))]
    for (first, (_, first_end)), (second, (second_start, _)) in combinations(ordered, 2):
        are_apart = first in OTHERS or second in OTHERS
        only_look = first in LOOKS and second in LOOKS
        if not are_apart and not only_look:
            assert first_end < second_start, (first, second)


@pytest.mark.parametrize("kind", [*LOOKS, *OTHERS])
async def test_looks_and_subagents_run_in_parallel(kind: str) -> None:
    times = await run_answer([(kind, 200), (kind, 0), ("delegate", 0)])
    slow_end = times["c0"][1]
    assert times["c1"][1] < slow_end
    assert times["c2"][1] < slow_end
