"""180 power losses, 100 kills and 360 damaged files of a store: nothing that can be saved may be lost.

Not collected with the other tests; as a script it runs them all: `damage.py [-k power_loss]`.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import sys
from pathlib import Path

import plyvel
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from helix_desktop.store.contents import holds_content
from helix_desktop.store.kinds import ROWS, RowDamaged, session_and_seq
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import WORKSPACE, closing_store
from tests.support.store.damage import (
    AcknowledgedCommits,
    ExpectedState,
    check_acknowledged,
    check_row_consistency,
    compact_tables,
    damage_and_compare,
    damage_file,
    kill_writer,
    write_commits,
)
from tests.support.store.power_loss import (
    LOSS_MODES,
    check_after_power_loss,
    record_copies,
    simulate_power_loss,
)

pytestmark = pytest.mark.timeout(600)

GROUPS, LARGEST = 24, 2_000_000  # enough for LevelDB to change its log and write tables meanwhile
LOSSES = 36  # of each of the five modes
KILLS, AT_ONCE = 10, 10


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A store after each of many groups of writes."""
    return record_copies(tmp_path_factory.mktemp("power"), GROUPS, LARGEST)


def test_the_recorded_writer_changed_its_log_and_wrote_tables(copies: list[Path]) -> None:
    logs = {path.name for copy in copies for path in (copy / "db").glob("*.log")}
    tables = {path.name for copy in copies for path in (copy / "db").glob("*.ldb")}
    assert len(logs) > 1
    assert len(tables) > 1


@pytest.mark.parametrize("mode", LOSS_MODES)
@pytest.mark.parametrize("seed", range(LOSSES))
async def test_acknowledged_commits_survive_a_power_loss(
    copies: list[Path], tmp_path: Path, mode: str, seed: int
) -> None:
    rng = random.Random(f"{mode} {seed}")
    acknowledged = rng.randrange(1, GROUPS)
    simulate_power_loss(copies[acknowledged - 1], copies[acknowledged], tmp_path / "store", rng, mode)
    await check_after_power_loss(tmp_path / "store", acknowledged, LARGEST)
    shutil.rmtree(tmp_path / "store")


@pytest.mark.parametrize("batch", range(AT_ONCE))
async def test_acknowledged_commits_survive_a_kill(tmp_path: Path, batch: int) -> None:
    folder = tmp_path / "store"
    everything: AcknowledgedCommits = {}
    for number in range(KILLS):
        acknowledged = kill_writer(folder, batch * KILLS + number)
        everything |= acknowledged
        async with closing_store(await LevelDbStore.open(folder, WORKSPACE)) as store:
            assert store.health.report is None
            assert await check_acknowledged(store, acknowledged) > 0
    async with closing_store(await LevelDbStore.open(folder, WORKSPACE)) as store:
        await check_acknowledged(store, everything)
        assert (await store.health.check()).is_sound
    check_row_consistency(folder)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ExpectedState]:
    """A closed store of 120 commits in tables and in the log."""
    folder, expected = tmp_path_factory.mktemp("original") / "store", ExpectedState()
    asyncio.run(write_commits(folder, expected, 60, 1))
    compact_tables(folder)
    asyncio.run(write_commits(folder, expected, 60, 2))
    return folder, expected


@pytest.mark.parametrize("seed", range(300))
async def test_a_store_with_damaged_bytes_opens_with_what_is_left(
    original: tuple[Path, ExpectedState], tmp_path: Path, seed: int
) -> None:
    shutil.copytree(original[0], tmp_path / "store")
    await damage_and_compare(tmp_path / "store", original[1], random.Random(f"torture {seed}"))


@pytest.mark.parametrize("seed", range(60))
async def test_repair_recovers_no_less_than_leveldbs_own(
    original: tuple[Path, ExpectedState], tmp_path: Path, seed: int
) -> None:
    shutil.copytree(original[0], tmp_path / "store")
    damage_file(tmp_path / "store", random.Random(f"repair {seed}"))
    shutil.copytree(tmp_path / "store", tmp_path / "repaired")
    plyvel.repair_db(str(tmp_path / "repaired" / "db"))
    theirs = sound_rows(tmp_path / "repaired" / "db")
    (tmp_path / "store" / "doubt").write_text("Asked for", encoding="utf-8")
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE)
    await store.close()
    ours = sound_rows(tmp_path / "store" / "db")
    assert theirs[0] <= ours[0]
    for session_id, log in theirs[1].items():
        assert unbroken(log) <= unbroken(ours[1].get(session_id, [])), session_id


def sound_rows(db: Path) -> tuple[set[bytes], dict[str, list[int]]]:
    """Return the contents in one row, and the events by session, that match what was written."""
    contents: set[bytes] = set()
    logs: dict[str, list[int]] = {}
    opened = plyvel.DB(str(db), compression=None)
    for key, row in opened.iterator():
        try:
            if key[:1] == b"b" and holds_content(key, row):
                contents.add(key)
            elif key[:1] == b"e":
                event = ROWS.event.decode(key, row)
                logs.setdefault(session_and_seq(key)[0], []).append(event.seq)
        except RowDamaged:
            continue
    opened.close()
    return contents, logs


def unbroken(log: list[int]) -> int:
    """Return how many events a log has without a gap, from the first on."""
    return next((number for number, seq in enumerate(log) if seq != number + 1), len(log))


if __name__ == "__main__":
    sys.exit(pytest.main(["-q", __file__, *sys.argv[1:]]))
