"""What is stored: clean-up, full check, removal of secrets."""

from __future__ import annotations

import asyncio
import base64
import os
import random
import sqlite3
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentRedacted, DigestUnknown
from helix_desktop.domain.file_history.changes import (
    CallMark,
    Capture,
    ChangeList,
    DamagedVersion,
    FileChange,
    FileHistoryCheck,
    FileHistoryTotals,
    FileState,
)
from helix_desktop.domain.listeners import no_progress
from helix_desktop.domain.redaction import Redaction, RedactionRequest
from helix_desktop.domain.retention import HOUR_MS
from helix_desktop.file_history.database import FileHistoryDatabase
from helix_desktop.file_history.maintenance import (
    FileHistoryMaintenance,
    HistoryRedaction,
    check_history,
    clean_up,
    make_room,
    plan_clean_up,
    repair_history,
)
from helix_desktop.file_history.tables import RunningCallRow, SeenPath
from helix_desktop.system.clock import wall_clock_ms
from tests.support.file_history_rig import open_history

SECRET = "hunter2-hunter2"


def storage(tmp_path: Path) -> FileHistoryMaintenance:
    return FileHistoryMaintenance(tmp_path / "data" / "h.db", wall_clock_ms)


async def test_a_removed_secret_is_not_stored_again_until_its_file_changes(tmp_path: Path) -> None:
    root = tmp_path / "w"
    secret_places = [("config.py", "secret")]
    root.mkdir()
    (root / "config.py").write_text(f"key = {SECRET!r}")
    (root / "clean.py").write_text("clean")
    async with open_history(tmp_path) as history:
        matches = await storage(tmp_path).redact(Redaction(RedactionRequest(SECRET), 1))
        assert matches.workspace_files == ("config.py",)
        [version] = matches.file_versions
        with pytest.raises(ContentRedacted):
            await history.content(version)
        await history.scan("s")
        changed = asyncio.Event()
        history.listen(changed.set)
        await history.start()
        async with asyncio.timeout(300):
            while [(place.path, place.reason) for place in history.coverage.places] != secret_places:
                await changed.wait()
                changed.clear()
        assert SECRET.encode() not in b"".join(
            path.read_bytes() for path in (tmp_path / "data").glob("h.db*")
        )
        await history.begin_call(CallMark("s", "c", "sed"))
        (root / "config.py").write_text("key = read()")
        captured = await history.end_call("s", "c")
        assert captured is not None
        [change] = captured.list.changes
        assert (change.before is not None and change.before.stored, change.is_covered) == (False, False)
        assert history.coverage.uncovered == 0


async def test_without_a_database_nothing_is_made(tmp_path: Path) -> None:
    assert await storage(tmp_path).totals() == FileHistoryTotals()
    assert await storage(tmp_path).check() == FileHistoryCheck()
    assert not (tmp_path / "data").exists()


def test_damage_is_named_by_its_paths_and_heals(tmp_path: Path) -> None:
    path = tmp_path / "file-history.db"
    database = FileHistoryDatabase(path, lambda: 1)
    contents = database.contents
    before, after = (FileState(digest=contents.put(data), size=len(data)) for data in (b"old", b"new"))
    lists = [contents.put(ChangeList((FileChange(name, before, after),)).encode()) for name in "ab"]
    for id_, digest in zip("12", lists, strict=True):
        database.captures.add(Capture(id_, "s", "tool", digest, 1))
    database.tree.put([("c", SeenPath(after, b"", False))])
    assert check_history(database, no_progress).is_sound

    direct = sqlite3.connect(path)
    for damaged in (after.digest, lists[1]):
        direct.execute(
            "UPDATE content_data SET data = zeroblob(3)"
            " WHERE id = (SELECT id FROM contents WHERE digest = ?)",
            (bytes.fromhex(damaged),),
        )
    direct.commit()
    found = check_history(database, no_progress)
    assert found.damaged == (DamagedVersion(after.digest, 3, ("a", "c")),)
    assert found.lost_lists == ("2",)
    repair_history(database, found)
    assert database.tree.load()["c"].is_fresh
    contents.put(b"new")
    assert check_history(database, no_progress).is_sound
    assert [capture.id for capture in database.captures.all()] == ["1"]

    direct.execute("PRAGMA writable_schema = ON")
    direct.execute("UPDATE sqlite_schema SET rootpage = 1000 WHERE name = 'captures'")
    direct.commit()
    direct.close()
    database.close()
    database = FileHistoryDatabase(path, lambda: 1)
    assert check_history(database, no_progress).problems or database.damaged_file


NOW = 1_800_000_000_000


class History:
    """A database with captures whose contents take about a kilobyte each."""

    def __init__(self, folder: Path) -> None:
        self.at_ms = NOW
        self.database = FileHistoryDatabase(folder / "file-history.db", lambda: self.at_ms)

    def put(self, name: str) -> FileState:
        return FileState(digest=self.database.contents.put(bytes_in(name)), size=1_000)

    def capture(self, id_: str, before: str, after: str, session_id: str = "s") -> None:
        with self.database.write():
            change = FileChange("a", self.put(before) if before else None, self.put(after))
            changes = self.database.contents.put(ChangeList((change,)).encode())
            self.database.captures.add(Capture(id_, session_id, "tool", changes, self.at_ms))
            self.database.tree.put([("a", SeenPath(change.after or FileState(), b"", False))])

    def has(self, name: str) -> bool:
        return self.database.contents.has(digest_of(bytes_in(name)))


def bytes_in(name: str) -> bytes:
    """Return a kilobyte that cannot be compressed."""
    return random.Random(name).randbytes(1_000)


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path)


def test_contents_of_deleted_sessions_go_unless_something_else_needs_them(history: History) -> None:
    """Lists of changes, which go too, are not counted: they are no versions of files."""
    history.capture("1", "first", "second", "deleted")
    history.capture("2", "second", "third")
    history.capture("3", "third", "fourth", "deleted")
    history.put("nobody names it")
    history.at_ms += HOUR_MS
    history.put("just stored")
    result = clean_up(history.database, {"1", "3"}, 0, history.at_ms)
    assert (result.captures, result.contents, result.over_quota) == (
        2,
        2,
        0,
    )
    stays = {name for name in ("first", "second", "third", "fourth", "just stored") if history.has(name)}
    assert stays == {"second", "third", "fourth", "just stored"}  # the fourth is on disk
    assert [capture.id for capture in history.database.captures.all()] == ["2"]


def test_over_the_quota_the_oldest_go_first_and_stay_listed(history: History) -> None:
    for number in range(10):
        history.capture(str(number), str(number), str(number + 1))
    lists = history.database.contents.totals()[2] - 11 * 1_000
    plan = plan_clean_up(history.database, (), 5_000 + lists, history.at_ms)
    assert plan.result.over_quota == 6
    assert all(map(history.has, map(str, range(11))))  # it was only planned
    clean_up(history.database, (), 5_000 + lists, history.at_ms)
    assert [number for number in range(11) if history.has(str(number))] == [6, 7, 8, 9, 10]
    oldest = history.database.captures.all()[0]
    [change] = ChangeList.decode(history.database.contents.get(oldest.changes)).changes
    with pytest.raises(DigestUnknown):
        history.database.contents.get(change.after.digest if change.after else "")
    assert clean_up(history.database, (), 1, history.at_ms).short > 0
    assert history.has("10")  # what is on disk now


def test_room_is_made_for_what_is_new(history: History) -> None:
    for number in range(4):
        history.capture(str(number), str(number), str(number + 1))
    assert make_room(history.database, 1_000) == 0  # a transaction may be storing these
    history.at_ms += HOUR_MS
    assert make_room(history.database, 5_000) == 0
    assert all(map(history.has, map(str, range(5))))
    assert make_room(history.database, 1_000) == 4_000
    assert [number for number in range(5) if history.has(str(number))] == [4]


def test_running_calls_and_reverts_under_way_need_theirs(history: History) -> None:
    mark = CallMark("s", "call")
    history.database.captures.put_running(RunningCallRow(mark, "process", NOW))
    history.database.captures.put_changes(mark, [FileChange("a", history.put("before"), None)])
    merged = history.put("merged by hand")
    history.database.journal.put("r", "", msgspec.json.encode(merged))
    history.at_ms += 2 * HOUR_MS
    assert clean_up(history.database, (), 0, history.at_ms).contents == 0
    history.database.journal.remove("r")
    assert clean_up(history.database, (), 0, history.at_ms).contents == 1
    assert history.has("before")
    assert not history.has("merged by hand")


def test_what_another_process_names_meanwhile_stays(history: History, tmp_path: Path) -> None:
    """The plan is made anew when somebody wrote after it."""
    history.put("old")
    history.at_ms += 2 * HOUR_MS
    other = History(tmp_path)
    database = history.database

    class Interrupted(FileHistoryDatabase):
        def __init__(self) -> None:
            self.__dict__ |= database.__dict__

        @property
        def version(self) -> int:
            version = database.version
            if not other.database.captures.all():
                other.capture("1", "", "old")
            return version

    assert clean_up(Interrupted(), (), 0, history.at_ms).contents == 0
    assert history.has("old")


def test_the_file_shrinks_and_says_what_it_takes(history: History) -> None:
    history.database.contents.put(os.urandom(800_000))
    history.put("a")
    totals = history.database.totals()
    assert (totals.contents, totals.size, totals.tree_size) == (2, 801_000, 0)
    assert totals.disk_size > 800_000
    clean_up(history.database, (), 0, NOW + HOUR_MS)
    history.database.close()
    assert history.database.path.stat().st_size < 200_000


@given(
    captures=st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("efgh")), max_size=12),
    gone=st.sets(st.integers(0, 11)),
    quota=st.integers(0, 9) | st.just(0),
)
def test_whatever_goes_nothing_needed_does(
    tmp_path_factory: pytest.TempPathFactory, captures: list[tuple[str, str]], gone: set[int], quota: int
) -> None:
    history = History(tmp_path_factory.mktemp("history"))
    for number, (before, after) in enumerate(captures):
        history.capture(str(number), before, after)
    result = clean_up(history.database, {str(number) for number in gone}, quota * 1_000, NOW + HOUR_MS)
    remaining = [pair for number, pair in enumerate(captures) if number not in gone]
    needed = {name for pair in remaining for name in pair} if not quota else set()
    needed |= {captures[-1][1]} if captures else set()
    assert all(map(history.has, needed))
    for capture in history.database.captures.all():
        history.database.contents.get(capture.changes)
    totals = history.database.totals()
    assert not quota or totals.stored_size <= quota * 1_000 + result.short
    again = clean_up(history.database, {str(number) for number in gone}, quota * 1_000, NOW + HOUR_MS)
    assert (again.captures, again.contents) == (0, 0)


ENCODED = base64.b64encode(SECRET.encode())


@pytest.fixture
def database(tmp_path: Path) -> FileHistoryDatabase:
    return FileHistoryDatabase(tmp_path / "file-history.db", lambda: NOW)


def state(database: FileHistoryDatabase, data: bytes) -> FileState:
    return FileState(digest=database.contents.put(data), size=len(data))


def redact(database: FileHistoryDatabase, text: str = SECRET) -> HistoryRedaction:
    return HistoryRedaction(database, Redaction(RedactionRequest(text), NOW))


def test_a_secret_is_gone_from_versions_lists_and_disk(database: FileHistoryDatabase, tmp_path: Path) -> None:
    plain = state(database, SECRET.encode())
    encoded = state(database, b"key: " + ENCODED)
    clean = state(database, b"clean")
    changes = ChangeList(
        (
            FileChange("a.py", plain, encoded),
            FileChange(f"notes/{SECRET}.md", None, clean),
            FileChange("link", None, FileState("link", target=f"/run/{SECRET}")),
            FileChange("b.py", clean, None),
        )
    )
    with database.write():
        capture = Capture(
            "1", "s", "command", database.contents.put(changes.encode()), NOW, others=(f"curl {SECRET}",)
        )
        database.captures.add(capture)
        database.tree.put([("a.py", SeenPath(encoded, b"stamp", False))])
    (tmp_path / "file-history.db.damaged-20270101-000000").write_bytes(SECRET.encode())

    before = redact(database).preview(no_progress)
    matches = redact(database).redact(no_progress)
    assert before == matches
    assert set(matches.file_versions) == {plain.digest, encoded.digest}
    assert (matches.change_lists, matches.workspace_files) == (("1",), ("a.py",))
    assert matches.store_copies == ("file-history.db.damaged-20270101-000000",)

    for file in tmp_path.iterdir():
        assert SECRET.encode() not in file.read_bytes()
        assert ENCODED not in file.read_bytes()
    with pytest.raises(ContentRedacted, match="2027-01-15"):
        database.contents.get(plain.digest)
    assert database.contents.get(clean.digest) == b"clean"
    assert not database.tree.load()["a.py"].state.stored
    by_old_name = ChangeList.decode(database.contents.get(capture.changes)).changes
    mark = "[FORGOTTEN 2027-01-15]"
    assert [change.path for change in by_old_name] == ["a.py", f"notes/{mark}.md", "link", "b.py"]
    assert [change.is_covered for change in by_old_name] == [True, False, False, True]
    [redacted] = database.captures.all()
    assert redacted.others == (f"curl {mark}",)
    assert database.contents.get(redacted.changes) == database.contents.get(capture.changes)
    assert redact(database).redact(no_progress).is_empty


def test_names_of_files_that_hold_the_secret_are_reported(database: FileHistoryDatabase) -> None:
    """They are the user's, as their contents are; nothing else of them is left."""
    clean = state(database, b"clean")
    link = FileState("link", target=f"/run/{SECRET}")
    with database.write():
        database.tree.put(
            [
                (path, SeenPath(seen, b"stamp", False))
                for path, seen in (("a.py", clean), (f"dump-{SECRET}/b", clean), ("current", link))
            ]
        )
    for matches in (redact(database).preview(no_progress), redact(database).redact(no_progress)):
        assert matches.workspace_files == ("current", f"dump-{SECRET}/b")
        assert matches.file_versions == ()
    assert database.contents.get(clean.digest) == b"clean"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_secret_is_found_in_utf_16(database: FileHistoryDatabase, encoding: str) -> None:
    wide = state(database, f"[Grüße]\r\nkey={SECRET}\r\n".encode(encoding))
    packed = state(database, b"-EncodedCommand " + base64.b64encode(f"curl {SECRET}".encode("utf-16-le")))
    matches = redact(database).redact(no_progress)
    assert set(matches.file_versions) == {wide.digest, packed.digest}
    with pytest.raises(ContentRedacted):
        database.contents.get(wide.digest)
    redaction = Redaction(RedactionRequest(SECRET), NOW)
    text = f"a{SECRET}b, ä{SECRET}"
    assert redaction.redact_data(text.encode(encoding)).decode(encoding) == text.replace(
        SECRET, redaction.mark
    )


def test_what_was_removed_is_stored_again_only_when_that_is_allowed(database: FileHistoryDatabase) -> None:
    digest = database.contents.put(SECRET.encode())
    redact(database).redact(no_progress)
    assert database.contents.put(SECRET.encode()) == digest
    assert not database.contents.has(digest)
    assert database.contents.lift(digest)
    database.contents.put(SECRET.encode())
    assert database.contents.has(digest)


def test_an_output_that_is_removed_by_its_digest_is_no_version_of_a_file_either(
    database: FileHistoryDatabase,
) -> None:
    digest = database.contents.put(b"the whole file")
    other = database.contents.put(b"another")
    request = RedactionRequest(digests=(digest, digest_of(b"nothing")))
    matches = HistoryRedaction(database, Redaction(request, NOW)).redact(no_progress)
    assert matches.file_versions == (digest,)
    assert database.contents.has(other)


def test_what_a_kill_left_in_the_files_goes_at_the_next_opening(
    database: FileHistoryDatabase, tmp_path: Path
) -> None:
    digest = database.contents.put(SECRET.encode())
    database.begin_purge()
    database.contents.redact(digest)
    assert [file.name for file in tmp_path.iterdir() if SECRET.encode() in file.read_bytes()]
    FileHistoryDatabase(tmp_path / "file-history.db", lambda: NOW)
    assert not [file.name for file in tmp_path.iterdir() if SECRET.encode() in file.read_bytes()]
