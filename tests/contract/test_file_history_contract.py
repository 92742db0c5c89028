"""What every history of files must do: say what changed by which call, and bring back what was."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

import pytest

from helix_desktop.agent.ports import FileHistory
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import DigestUnknown, RevertRefused
from helix_desktop.domain.file_history.changes import CallMark, CapturedChanges, FileCoverageSettings
from helix_desktop.file_history.history import WorkspaceFileHistory
from tests.support.memory_file_history import MemoryFileHistory
from tests.support.memory_files import MemoryFiles


class Files(Protocol):
    def write(self, path: str, data: bytes) -> None: ...

    def remove(self, path: str) -> None: ...

    def read(self, path: str) -> bytes | None:
        """Return a file's content; None: there is none."""
        ...


class FolderFiles:
    def __init__(self, root: Path) -> None:
        self._root = root

    def write(self, path: str, data: bytes) -> None:
        (self._root / path).write_bytes(data)

    def remove(self, path: str) -> None:
        (self._root / path).unlink()

    def read(self, path: str) -> bytes | None:
        """Return a file's content; None: there is none."""
        file = self._root / path
        return file.read_bytes() if file.exists() else None


@pytest.fixture(params=["memory", "folder"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    root = tmp_path / "project"
    root.mkdir()
    files = MemoryFiles() if request.param == "memory" else FolderFiles(root)
    files.write("a.txt", b"one\n")
    files.write("b.txt", b"two\n")
    return files


@pytest.fixture
async def history(files: Files, tmp_path: Path) -> AsyncIterator[FileHistory]:
    history: FileHistory
    if isinstance(files, MemoryFiles):
        history = MemoryFileHistory(files)
    else:
        database = tmp_path / "file-history.db"
        history = WorkspaceFileHistory(tmp_path / "project", database, FileCoverageSettings, lambda: 1)
    is_complete = asyncio.Event()
    history.listen(lambda: is_complete.set() if history.coverage.is_complete else None)
    await history.start()
    if not history.coverage.is_complete:
        await asyncio.wait_for(is_complete.wait(), 60)
    yield history
    await history.close()


def described(captured: CapturedChanges | None) -> dict[str, str]:
    """Return the kinds of changes by path."""
    return {change.path: change.kind for change in captured.list.changes} if captured else {}


async def test_a_command_is_captured_whole_and_what_was_changed_before_it_is_not_its_own(
    files: Files, history: FileHistory
) -> None:
    files.write("b.txt", b"by the user\n")
    outside = await history.begin_call(CallMark("s", "c1", "make"))
    files.write("a.txt", b"uno\n")
    files.write("new.txt", b"new\n")
    files.remove("b.txt")
    captured = await history.end_call("s", "c1")

    assert outside is not None
    assert captured is not None
    assert (outside.capture.source, outside.capture.session, described(outside)) == (
        "outside",
        "s",
        {"b.txt": "changed"},
    )
    assert (captured.capture.source, captured.capture.call_id) == ("command", "c1")
    assert described(captured) == {"a.txt": "changed", "b.txt": "deleted", "new.txt": "created"}
    by_path = {change.path: change for change in captured.list.changes}
    assert by_path["a.txt"].before is not None
    assert await history.content(by_path["a.txt"].before.digest) == b"one\n"
    assert await history.content(digest_of(b"by the user\n")[:32]) == b"by the user\n"
    assert await history.change_list(captured.capture.changes) == captured.list
    assert await history.end_call("s", "c1") is None  # it has ended


async def test_a_tool_that_names_its_files_has_changed_only_these(files: Files, history: FileHistory) -> None:
    assert await history.begin_call(CallMark("s", "c1", "edit", ("a.txt",))) is None
    files.write("a.txt", b"uno\n")
    captured = await history.end_call("s", "c1")
    assert captured is not None
    assert (captured.capture.source, described(captured)) == ("tool", {"a.txt": "changed"})
    assert await history.begin_call(CallMark("s", "c2", "edit", ("a.txt",))) is None
    assert await history.end_call("s", "c2") is None  # nothing changed


async def test_what_changes_outside_all_calls_is_found_once(files: Files, history: FileHistory) -> None:
    assert await history.scan("s") is None
    files.write("a.txt", b"uno\n")
    found = await history.scan("s")
    assert found is not None
    assert (found.capture.source, described(found)) == ("outside", {"a.txt": "changed"})
    assert await history.scan("other") is None


async def test_what_changes_while_two_calls_run_is_of_both(files: Files, history: FileHistory) -> None:
    await history.begin_call(CallMark("s", "same id", "make"))
    await history.begin_call(CallMark("t", "same id", "tests"))
    files.write("a.txt", b"uno\n")
    first = await history.end_call("s", "same id")
    second = await history.end_call("t", "same id")
    assert first is not None
    assert second is not None
    assert (first.capture.others, second.capture.others) == (("tests",), ("make",))
    assert [change.shared for change in (*first.list.changes, *second.list.changes)] == [True, True]
    plan = await history.plan_revert((*first.list.changes, *second.list.changes))
    assert [file.status for file in plan.files] == ["ready"]
    assert await history.revert("s", plan, {}) is not None
    assert files.read("a.txt") == b"one\n"


async def test_a_revert_brings_back_what_was_and_is_taken_back_itself(
    files: Files, history: FileHistory
) -> None:
    """Each capture is unrecorded until it is acknowledged."""
    await history.begin_call(CallMark("s", "c1", "make"))
    files.write("a.txt", b"uno\n")
    files.write("new.txt", b"new\n")
    files.remove("b.txt")
    captured = await history.end_call("s", "c1")
    assert captured is not None
    assert await history.unrecorded("s") == (captured,)
    assert await history.unrecorded("t") == ()
    await history.acknowledge([captured.capture.id])
    assert await history.unrecorded("s") == ()
    plan = await history.plan_revert(captured.list.changes, [captured.capture.id])
    assert {file.path: file.status for file in plan.files} == {
        "a.txt": "ready",
        "b.txt": "ready",
        "new.txt": "ready",
    }
    revert = await history.revert("s", plan, {})
    assert revert is not None
    assert [files.read(path) for path in ("a.txt", "b.txt", "new.txt")] == [b"one\n", b"two\n", None]
    assert (revert.capture.source, revert.capture.reverts) == ("revert", (captured.capture.id,))
    assert revert in await history.unrecorded("s")

    again = await history.revert("s", await history.plan_revert(revert.list.changes), {})
    assert again is not None
    assert [files.read(path) for path in ("a.txt", "b.txt", "new.txt")] == [b"uno\n", None, b"new\n"]
    nothing = await history.plan_revert(revert.list.changes)
    assert {file.status for file in nothing.files} == {"same"}
    assert await history.revert("s", nothing, {}) is None


async def test_a_later_change_is_never_overwritten_without_the_users_choice(
    files: Files, history: FileHistory
) -> None:
    """One that came after the plan stops the whole revert."""
    await history.begin_call(CallMark("s", "c1", "make"))
    files.write("a.txt", b"uno\n")
    files.write("b.txt", b"dos\n")
    captured = await history.end_call("s", "c1")
    assert captured is not None
    plan = await history.plan_revert(captured.list.changes)
    files.write("b.txt", b"by the user\n")
    with pytest.raises(RevertRefused) as refusal:
        await history.revert("s", plan, {})
    assert refusal.value.paths == ("b.txt",)
    assert (files.read("a.txt"), files.read("b.txt")) == (b"uno\n", b"by the user\n")

    files.write("a.txt", b"by the user\n")
    files.write("b.txt", b"dos\n")
    plan = await history.plan_revert(captured.list.changes)
    assert {file.path: file.status for file in plan.files} == {"a.txt": "conflict", "b.txt": "ready"}
    assert await history.revert("s", plan, {}) is not None
    assert (files.read("a.txt"), files.read("b.txt")) == (b"by the user\n", b"two\n")

    plan = await history.plan_revert(captured.list.changes)
    await history.revert("s", plan, {"a.txt": "former"})
    assert files.read("a.txt") == b"one\n"


async def test_only_what_was_stored_is_found(history: FileHistory) -> None:
    digest = await history.put_content(b"merged by hand\n")
    assert await history.content(digest) == b"merged by hand\n"
    with pytest.raises(DigestUnknown):
        await history.content(digest_of(b"never seen"))
