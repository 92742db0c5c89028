"""What is needed stays: the files as they are now, and what captures name, the newest under a quota."""

from __future__ import annotations

import os
import random
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import DigestUnknown
from helix_desktop.domain.file_history.changes import CallMark, Capture, ChangeList, FileChange, FileState
from helix_desktop.domain.retention import HOUR_MS
from helix_desktop.file_history.database import FileHistoryDatabase
from helix_desktop.file_history.rows import RunningCallRow, SeenPath
from helix_desktop.file_history.storage import clean_up, make_room, plan_clean_up

NOW = 1_800_000_000_000


class History:
    """A database with captures whose contents take about a kilobyte each."""

    def __init__(self, folder: Path) -> None:
        self.at_ms = NOW
        self.database = FileHistoryDatabase(folder / "file-history.db", lambda: self.at_ms)

    def put(self, name: str) -> FileState:
        return FileState(digest=self.database.contents.put(bytes_of(name)), size=1_000)

    def capture(self, id_: str, before: str, after: str, session_id: str = "s") -> None:
        with self.database.write():
            change = FileChange("a", self.put(before) if before else None, self.put(after))
            changes = self.database.contents.put(ChangeList((change,)).encode())
            self.database.captures.add(Capture(id_, session_id, "tool", changes, self.at_ms))
            self.database.tree.put([("a", SeenPath(change.after or FileState(), b"", False))])

    def has(self, name: str) -> bool:
        return self.database.contents.has(digest_of(bytes_of(name)))


def bytes_of(name: str) -> bytes:
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


@settings(max_examples=10, deadline=None)
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
