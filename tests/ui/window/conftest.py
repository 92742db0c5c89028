"""The complete window of a first start, for tests that need no second one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from PySide6.QtWidgets import QApplication

from tests.support.window.window_rig import WindowRig, open_window


@pytest_asyncio.fixture
async def rig(qapp: QApplication, tmp_path: Path) -> AsyncIterator[WindowRig]:
    """Return the window over the test's folder: each test opens its own (see open_window)."""
    async with open_window(qapp, tmp_path) as opened:
        yield opened
