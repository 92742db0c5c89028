"""A workspace's servers for each test, and a check that none of them is left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.mcp.mcp_rig import McpRig


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[McpRig]:
    """A workspace's servers; afterwards no task of theirs is left."""
    rig = McpRig(tmp_path)
    yield rig
    await rig.close()
    await rig.wait_until(
        lambda: not [task for task in asyncio.all_tasks() if task.get_name().startswith("mcp")]
    )
