"""Checks for every test of the agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from helix_desktop.domain.errors import StoreClosed
from tests.support.agent_rig import AgentRig


@pytest.fixture(autouse=True)
async def _all_is_sound() -> AsyncIterator[None]:
    """State, log and store of each rig agree; no turn, tool, record or handover outlives its test."""
    rigs: list[AgentRig] = []
    AgentRig.all_of_test = rigs
    yield
    AgentRig.all_of_test = None
    for rig in rigs:
        if rig._conversation is not None and not rig.is_left_unsound:
            await rig.wait_until_idle()
            with suppress(StoreClosed):
                await rig.assert_consistent()
    await asyncio.sleep(0)
    running = [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert not [
        name
        for name in running
        if name.startswith(("turn", "tool", "record", "handover", "observations", "rewrites", "subagent"))
    ]
