"""The command line on an empty data directory, for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli_rig import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli.create(tmp_path)
