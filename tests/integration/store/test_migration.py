"""An older store is copied forward, checked and exchanged; a crash anywhere leaves the old or the new one."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import plyvel
import pytest

from helix_desktop.domain.errors import StoreUnreadable
from helix_desktop.store.files import StoreFiles
from helix_desktop.store.kinds import ROWS, SCHEMA_KEY, draft_key, encode
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.opening import MigrationStep, Row, open_files
from helix_desktop.store.threads import LoopBridge, ReaderThreads
from helix_desktop.system.clock import wall_clock_ms
from tests.support.store.builders import WORKSPACE
from tests.support.store.damage import compact_tables, database_files, flip_bit_near
from tests.support.store.expected_state import ExpectedState, compare_store, write_commits


class Crash(BaseException):
    """The process ends here."""


def drafts_were_capitals(rows: Iterable[Row]) -> Iterator[Row]:
    """Made up: drafts lay under D and in upper case."""
    for key, row in rows:
        if key[:1] == b"D":
            moved = b"d" + key[1:]
            yield moved, encode(moved, ROWS.draft.decode(key, row).text.lower())
        else:
            yield key, row


def drafts_were_marked(rows: Iterable[Row]) -> Iterator[Row]:
    """Made up: before that, drafts began with a mark."""
    for key, row in rows:
        text = ROWS.draft.decode(key, row).text.removeprefix("> ") if key[:1] == b"D" else ""
        yield key, encode(key, text) if text else row


STEPS: Mapping[int, MigrationStep] = {-1: drafts_were_marked, 0: drafts_were_capitals}


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ExpectedState]:
    """A closed store as the made-up schema -1 would have left it."""
    folder, expected = tmp_path_factory.mktemp("older") / "store", ExpectedState()
    asyncio.run(write_commits(folder, expected, 20))
    db = plyvel.DB(str(folder / "db"), compression=None)
    for session_id, text in expected.drafts.items():
        key = b"D" + session_id.encode()
        db.put(key, encode(key, "> " + text.upper()))
        db.delete(draft_key(session_id))
    db.put(SCHEMA_KEY, encode(SCHEMA_KEY, -1))
    db.close()
    path = folder / "format"
    path.write_text(path.read_text().replace('"schema":1', '"schema":-1'))
    (folder / "clean").unlink()
    return folder, expected


@pytest.fixture
def folder(tmp_path: Path, older: tuple[Path, ExpectedState]) -> Path:
    return Path(shutil.copytree(older[0], tmp_path / "store"))


def opened(folder: Path, steps: Mapping[int, MigrationStep] = STEPS) -> LevelDbStore:
    """The store in a folder, brought to the newest schema."""
    files = open_files(folder, WORKSPACE, steps=steps)
    return LevelDbStore(
        files, ReaderThreads("readers"), LoopBridge(asyncio.get_running_loop()), wall_clock_ms, None
    )


async def check(folder: Path, expected: ExpectedState) -> None:
    """Assert that the store opens with the older one's content, and that no temporary file remains."""
    store = opened(folder)
    try:
        assert not await compare_store(store, expected)
        assert (await store.health.check()).is_sound
        assert store.health.report is None
    finally:
        await store.close()
    layout = StoreFiles(folder)
    assert not [path for path in (layout.before_migration, layout.repair_db, layout.new_db) if path.exists()]
    db = plyvel.DB(str(layout.db), compression=None)
    assert ROWS.schema.decode(SCHEMA_KEY, db.get(SCHEMA_KEY)) == 1
    assert list(db.iterator(prefix=b"D")) == []
    db.close()
    plain = await LevelDbStore.open(folder, WORKSPACE)
    assert not await compare_store(plain, expected)
    await plain.close()


def rows(db: Path) -> dict[bytes, bytes]:
    opened_db = plyvel.DB(str(db), compression=None)
    all_rows = dict(opened_db.iterator())
    opened_db.close()
    return all_rows


async def test_an_older_store_is_migrated_and_kept_until_the_first_clean_close(
    folder: Path, older: tuple[Path, ExpectedState], tmp_path: Path
) -> None:
    before = rows(folder / "db")
    store = opened(folder)
    assert not await compare_store(store, older[1])
    # The files of a crash, without the index that is being written just now.
    shutil.copytree(folder, tmp_path / "crashed", ignore=shutil.ignore_patterns("search.db*"))
    await store.close()
    assert not (folder / "former").exists()
    await check(folder, older[1])
    assert rows(tmp_path / "crashed" / "former" / "db") == before
    await check(tmp_path / "crashed", older[1])


RENAMES = 4
"""New database gets its name, old one goes aside, new one takes its place, `format` says so."""


@pytest.mark.parametrize("done", range(RENAMES))
async def test_a_crash_between_two_renames_is_resumed(
    folder: Path, older: tuple[Path, ExpectedState], done: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = done

    def crashing(move: Callable[[Path, Path], Path]) -> Callable[[Path, Path], Path]:
        def moved(self: Path, to: Path) -> Path:
            nonlocal left
            if not left:
                raise Crash
            left -= 1
            return move(self, to)

        return moved

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", crashing(Path.rename))
        patch.setattr(Path, "replace", crashing(Path.replace))
        with pytest.raises(Crash):
            opened(folder)
    await check(folder, older[1])


@pytest.mark.parametrize("copied", [0, 1, 50])
async def test_a_crash_while_copying_restarts_the_copy(
    folder: Path, older: tuple[Path, ExpectedState], copied: int
) -> None:
    def cut_off(source_rows: Iterable[Row]) -> Iterator[Row]:
        for number, row in enumerate(drafts_were_capitals(source_rows)):
            if number == copied:
                raise Crash
            yield row

    before = rows(folder / "db")
    with pytest.raises(Crash):
        opened(folder, {**STEPS, 0: cut_off})
    assert rows(folder / "db") == before
    await check(folder, older[1])


async def test_a_step_that_breaks_the_store_is_refused_and_changes_nothing(folder: Path) -> None:
    def without_references(rows: Iterable[Row]) -> Iterator[Row]:
        return (row for row in rows if row[0][:1] != b"r")

    before = rows(folder / "db")
    with pytest.raises(StoreUnreadable, match="is inconsistent"):
        opened(folder, {**STEPS, 0: without_references})
    assert rows(folder / "db") == before
    with pytest.raises(StoreUnreadable, match="schema -1"):
        await LevelDbStore.open(folder, WORKSPACE)  # no migration step of ours starts there


async def test_a_damaged_older_store_is_repaired_and_then_migrated(
    folder: Path, older: tuple[Path, ExpectedState]
) -> None:
    compact_tables(folder)
    assert flip_bit_near(folder, b"title of one") > 0
    before = database_files(folder, "*.ldb")
    store = opened(folder)
    report = store.health.report
    assert report is not None
    assert (await store.health.check()).is_sound
    assert {session.id for session in await store.sessions()} == older[1].events.keys()
    for session_id, text in older[1].drafts.items():
        assert (await store.draft(session_id)).text == text
    await store.close()
    assert database_files(Path(report.aside), "*.ldb").items() >= before.items()
    plain = await LevelDbStore.open(folder, WORKSPACE)
    assert (await plain.health.check()).is_sound
    await plain.close()


async def test_an_unreadable_older_store_is_refused_and_left_unchanged(folder: Path) -> None:
    compact_tables(folder)
    for path in (folder / "db").iterdir():
        path.write_bytes(b"\x5a" * path.stat().st_size)
    before = database_files(folder, "*.ldb")
    with pytest.raises(StoreUnreadable):
        opened(folder)
    assert before
    assert database_files(folder, "*.ldb") == before


async def test_what_another_version_wrote_is_not_repaired(folder: Path) -> None:
    db = plyvel.DB(str(folder / "db"), compression=None)
    db.put(b"Dlater", encode(b"Dlater", {"text": 3}))
    db.close()
    with pytest.raises(StoreUnreadable, match="another version of Helix Desktop"):
        opened(folder)
    assert not StoreFiles(folder).repair_notes.suspicion
    assert not (folder / "kept").exists()
