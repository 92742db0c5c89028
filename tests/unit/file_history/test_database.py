"""The database of a file history."""

from __future__ import annotations

import random
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import (
    HelixError,
    StoreClosed,
    StoreDamaged,
    StoreUnreadable,
    StoreWriteFailed,
)
from helix_desktop.domain.file_history.changes import CallMark, Capture, ChangeList, FileChange, FileState
from helix_desktop.file_history.database import FileHistoryDatabase
from helix_desktop.file_history.tables import SeenPath

AT_MS = 1_800_000_000_000


def open_history(folder: Path) -> FileHistoryDatabase:
    return FileHistoryDatabase(folder / "file-history.db", lambda: AT_MS)


def test_what_was_stored_is_there_after_reopening(tmp_path: Path) -> None:
    database = open_history(tmp_path)
    state = FileState(digest=digest_of(b"a" * 100), size=100, mode=0o644)
    mark = CallMark("s", "call")
    capture = Capture("1", "s", "command", digest_of(ChangeList(()).encode()), AT_MS)
    with database.write():
        database.contents.put(b"a" * 100)
        database.tree.put([("src/a.py", SeenPath(state, b"stamp", True))])
        database.captures.add(capture)
        database.captures.put_changes(mark, [FileChange("src/a.py", None, state)])
        database.journal.put("r", "staged", b"entry")
    database.close()
    database = open_history(tmp_path)
    assert database.contents.get(state.digest) == b"a" * 100
    assert database.contents.find(state.digest[:8]) == state.digest
    assert database.contents.totals()[:2] == (1, 100)
    assert database.tree.load() == {"src/a.py": SeenPath(state, b"stamp", True)}
    assert database.captures.unrecorded("s") == [capture]
    assert database.captures.changes(mark)["src/a.py"].after == state
    assert database.journal.all() == [("r", "staged", b"entry")]
    assert (tmp_path / "file-history.db").stat().st_mode & 0o777 == 0o600
    assert database.damaged_file == ""
    database.close()
    with pytest.raises(StoreClosed):
        database.contents.put(b"x")


def test_two_processes_write_at_once_and_see_each_other(tmp_path: Path) -> None:
    script = """if True:
        import sys
        from pathlib import Path
        from helix_desktop.file_history.database import FileHistoryDatabase
        database = FileHistoryDatabase(Path(sys.argv[1]), lambda: 1)
        for number in range(20):
            with database.write():
                database.contents.put(f"{sys.argv[2]} {number}".encode())
                total = len(database.journal.all())
                database.journal.put(f"{sys.argv[2]} {number}", str(total), b"")
    """
    path = tmp_path / "file-history.db"  # made by whoever is first
    children = [subprocess.Popen([sys.executable, "-c", script, path, name]) for name in ("one", "two")]
    assert [child.wait(60) for child in children] == [0, 0]
    database = open_history(tmp_path)
    assert database.contents.totals()[0] == 40
    assert [state for _, state, _ in database.journal.all()] == [str(number) for number in range(40)]
    version = database.version
    other = open_history(tmp_path)
    with other.write():
        other.contents.put(b"more")
    assert database.version != version


@pytest.mark.parametrize("damage", ["no database", "torn", "foreign", "tables are missing"])
def test_a_damaged_or_foreign_file_is_moved_aside_and_reported_once(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "file-history.db"
    if damage == "no database":
        path.write_bytes(b"no database\n" * 1000)
        path.with_name(path.name + "-wal").write_bytes(b"left")
    elif damage == "torn":
        open_history(tmp_path).close()
        path.write_bytes(path.read_bytes()[:5000])
    elif damage == "foreign":
        sqlite3.connect(path).execute("CREATE TABLE foreign_rows (x)")
    else:
        open_history(tmp_path).close()
        sqlite3.connect(path).execute("DROP TABLE captures")
    before = path.read_bytes()
    database = open_history(tmp_path)
    assert (tmp_path / database.damaged_file).read_bytes() == before
    digest = database.contents.put(b"anew")
    database.close()
    database = open_history(tmp_path)
    assert database.contents.get(digest) == b"anew"
    assert database.damaged_file.startswith("file-history.db.damaged-20270115-080000")
    database.mark_damage_reported()
    assert database.damaged_file == ""


def test_a_newer_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    open_history(tmp_path).close()
    with sqlite3.connect(tmp_path / "file-history.db") as newer:
        newer.execute("PRAGMA user_version = 2")
    with pytest.raises(StoreUnreadable, match="newer Helix Desktop") as error:
        open_history(tmp_path)
    assert not isinstance(error.value, StoreDamaged)
    assert not list(tmp_path.glob("*damaged*"))


def test_damage_met_later_is_an_error_until_the_next_opening_saves_what_is_left(tmp_path: Path) -> None:
    database = open_history(tmp_path)
    with database.write():
        database.contents.redact(digest_of(b"removed"))
        database.captures.add(Capture("1", "s", "tool", digest_of(b"list"), AT_MS))
        database.journal.put("r", "swapping", b"entry")
        digests = [database.contents.put(random.Random(number).randbytes(2_000)) for number in range(200)]
    database.close()
    path = tmp_path / "file-history.db"
    data = bytearray(path.read_bytes())
    data[-12 * 4096 :] = bytes(12 * 4096)
    path.write_bytes(data)
    database = open_history(tmp_path)  # the first pages are whole
    with pytest.raises(StoreDamaged):
        list(map(database.contents.get, digests))
    database.close()
    database = open_history(tmp_path)
    assert database.damaged_file
    assert 100 < database.contents.totals()[0] == database.salvaged < 200
    assert database.contents.get(digests[0]) == random.Random(0).randbytes(2_000)
    assert database.contents.removed_at(digest_of(b"removed"))
    assert (len(database.captures.all()), len(database.journal.all())) == (1, 1)


def test_whatever_is_damaged_is_an_error_for_the_user_and_the_third_opening_works(tmp_path: Path) -> None:
    path = tmp_path / "file-history.db"
    database = open_history(tmp_path)
    with database.write():
        for number in range(40):
            state = FileState(digest=database.contents.put(random.Random(number).randbytes(500)), size=500)
            changes = ChangeList((FileChange("a", None, state),)).encode()
            database.captures.add(Capture(f"{number}", "s", "tool", database.contents.put(changes), AT_MS))
            database.tree.put([(f"src/{number}", SeenPath(state, bytes(40), False))])
    database.close()
    whole = path.read_bytes()

    def use() -> None:
        with closing(open_history(tmp_path)) as opened:
            opened.tree.load()
            for capture in opened.captures.all():
                opened.contents.has(capture.changes)
            opened.contents.rows()
            with opened.write():
                opened.contents.put(b"new")

    for seed in range(5):
        damaged = bytearray(whole)
        rng = random.Random(seed)
        for _ in range(3):
            place = rng.randrange(len(damaged))
            damaged[place : place + 700] = rng.randbytes(700)[: len(damaged) - place]
        path.write_bytes(damaged)
        for _ in range(2):
            with suppress(HelixError):
                use()
        use()


def test_a_refused_write_leaves_nothing_and_the_next_one_holds(tmp_path: Path) -> None:
    database = open_history(tmp_path)

    def write(rows: Iterable[bytes]) -> None:
        with database.write():
            for row in rows:
                database.journal.put("r", "", row)

    with pytest.raises(StoreWriteFailed), no_room(64 * 1024):
        write([b"", bytes(10_000_000)])
    with pytest.raises(ZeroDivisionError):
        write(bytes(1 // number) for number in (1, 0))
    assert database.journal.all() == []
    with database.write():
        database.journal.put("r", "", b"")
    assert len(database.journal.all()) == 1


def test_a_file_that_was_replaced_is_written_by_nobody(tmp_path: Path) -> None:
    database = open_history(tmp_path)
    (tmp_path / "file-history.db").rename(tmp_path / "other")
    other = open_history(tmp_path)
    with pytest.raises(StoreUnreadable, match="replaced"), database.write():
        pass
    with other.write():
        other.contents.put(b"x")


@contextmanager
def no_room(size: int) -> Iterator[None]:
    """No file of this process can grow over `size` bytes."""
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, former[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, former)
