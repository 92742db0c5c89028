"""Checks for every test of the agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest


@pytest.fixture(autouse=True)
async def _nothing_left_running() -> AsyncIterator[None]:
    """No turn, tool, record or handover outlives its test."""
    yield
    await asyncio.sleep(0)
    running = [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert not [
        name
        for name in running
        if name.startswith(("turn", "tool", "record", "handover", "observations", "rewrites", "subagent"))
    ]
