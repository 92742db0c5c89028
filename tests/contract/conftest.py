"""The folders of the contracts: in memory, for nothing here is about the disk or about time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.memory_folder import memory_folder


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """The test's own folder, in memory if there is room."""
    with memory_folder(tmp_path) as folder:
        yield folder
