"""Power lost between two writes costs nothing that was acknowledged; more cases are in tests/torture."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from tests.support.store.power_loss import (
    LOSS_MODES,
    check_after_power_loss,
    record_copies,
    simulate_power_loss,
)

GROUPS, LARGEST = 4, 60_000

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be halted there")


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A store after each of a few groups of writes."""
    return record_copies(tmp_path_factory.mktemp("power"), GROUPS, LARGEST)


@pytest.mark.parametrize("mode", LOSS_MODES)
async def test_power_loss_costs_nothing_acknowledged(copies: list[Path], tmp_path: Path, mode: str) -> None:
    for seed in range(2):
        rng = random.Random(f"{mode} {seed}")
        acknowledged = rng.randrange(1, GROUPS)
        folder = tmp_path / str(seed)
        simulate_power_loss(copies[acknowledged - 1], copies[acknowledged], folder, rng, mode)
        await check_after_power_loss(folder, acknowledged, LARGEST)
