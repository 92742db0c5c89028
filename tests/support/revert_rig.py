"""A workspace folder with a real file history in which tests change files and revert the changes."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from helix_desktop.domain.choices import RevertChoice
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.file_history.changes import (
    CapturedChanges,
    FileChange,
    FileState,
    PlannedFile,
    RevertPlan,
)
from helix_desktop.file_history.database import FileHistoryDatabase
from helix_desktop.file_history.revert.reverts import Reverts
from helix_desktop.file_history.tables import SeenPath
from helix_desktop.file_history.tree.rules import STAGED_PREFIX

States = dict[str, FileState]

_NOBODY = 65534
NOW_MS = 1_790_000_000_000
LIMIT = 1 << 20
"""Bytes of the largest file that the rig's tree covers."""


class RowTree:
    """A tree as last seen that is in the database alone; `.env` is a secret, `busy` paths are in use."""

    def __init__(self, database: FileHistoryDatabase) -> None:
        self._database = database
        self.busy: set[str] = set()

    def covers(self, path: str, size: int) -> bool:
        return size <= LIMIT and not path.endswith(".env")

    def is_busy(self, path: str) -> bool:
        return path in self.busy

    def put(self, rows: Sequence[tuple[str, SeenPath]]) -> None:
        self._database.tree.put(rows)

    def remove(self, paths: Sequence[str]) -> None:
        self._database.tree.remove(paths)


class RevertRig:
    """A workspace under `folder`, its history beside it."""

    def __init__(self, folder: Path, on_operation: Callable[[str], None] = lambda _: None) -> None:
        self.root = folder / "workspace"
        self.root.mkdir(exist_ok=True)
        self.database = FileHistoryDatabase(folder / "history/file-history.db", lambda: NOW_MS)
        self.tree = RowTree(self.database)
        self.operations: list[str] = []
        self.on_operation = on_operation
        self.reverts = Reverts(self.root, self.database, self.tree, lambda: NOW_MS, self._on_operation)

    def _on_operation(self, name: str) -> None:
        self.operations.append(name)
        self.on_operation(name)

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def states(self) -> States:
        """Return what stands at each path, contents stored; no leftover of a revert is passed over."""
        with self.database.write():
            return dict(self._walk(self.root))

    def _walk(self, folder: Path) -> Iterator[tuple[str, FileState]]:
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            path = Path(entry.path).relative_to(self.root).as_posix()
            mode = entry.stat(follow_symlinks=False).st_mode & 0o7777
            if entry.is_symlink():
                yield path, FileState("link", target=os.readlink(entry.path))
            elif entry.is_dir():
                yield path, FileState("folder", mode=mode)
                yield from self._walk(Path(entry.path))
            else:
                data = Path(entry.path).read_bytes()
                is_stored = self.tree.covers(path, len(data))
                if is_stored:
                    self.database.contents.put(data)
                digest = digest_of(data) if len(data) <= LIMIT else ""
                yield path, FileState("file", digest, len(data), mode, stored=is_stored)

    @contextmanager
    def call(self) -> Iterator[list[FileChange]]:
        """Capture what a block changes into the list that it gets."""
        changes: list[FileChange] = []
        before = self.states()
        yield changes
        changes += changes_between(before, self.states())

    def plan(self, changes: Iterable[FileChange]) -> RevertPlan:
        return self.reverts.plan(list(changes), ("capture",))

    def planned(self, changes: Iterable[FileChange]) -> dict[str, PlannedFile]:
        return {file.path: file for file in self.plan(changes).files}

    def revert(
        self, changes: Iterable[FileChange], choices: Mapping[str, RevertChoice] | None = None
    ) -> CapturedChanges | None:
        return self.reverts.apply("session", self.plan(changes), choices or {})

    def leftovers(self) -> list[str]:
        return [name for name in os.listdir(self.root) if name.startswith(STAGED_PREFIX)]


def changes_between(before: States, after: States) -> list[FileChange]:
    return [
        FileChange(path, before.get(path), after.get(path))
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
    ]


def change_everything(rig: RevertRig) -> tuple[list[FileChange], States, States]:
    """Make changes whose revert takes all kinds of operations; return them, and what was before and after."""
    rig.write({"swap": "before", "gone": "gone", "old/in": "in", "same/mode": "m", "same/stays": "s"})
    (rig.root / "link").symlink_to("swap")
    before = rig.states()
    with rig.call() as changes:
        rig.write({"swap": "after", "new/folder/file": "new", "sealed/file": "sealed"})
        (rig.root / "sealed").chmod(0o500)
        (rig.root / "same/mode").chmod(0o755)
        (rig.root / "gone").unlink()
        (rig.root / "old/in").unlink()
        (rig.root / "old").rmdir()
        (rig.root / "link").unlink()
        (rig.root / "link").symlink_to("elsewhere")
    return changes, before, rig.states()


def run_in_child(work: Callable[[], object]) -> int:
    """Run something in a forked process; return how that ended, negative: the signal that ended it."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            work()
            status = 0
        except BaseException:  # noqa: BLE001 - nothing of the child may reach pytest
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def at_operation(start: str, act: Callable[[], object]) -> Callable[[str], None]:
    """Return what does something at every operation whose name starts so."""

    def on_operation(name: str) -> None:
        if name.startswith(start):
            act()

    return on_operation


class AtOperation:
    """Does something at the `number`-th operation of a revert, counted from 0."""

    def __init__(self, number: int, act: Callable[[], object]) -> None:
        self.number = number
        self._act = act
        self.name = ""

    def __call__(self, name: str) -> None:
        self.number -= 1
        if self.number == -1:
            self.name = name
            self._act()


def run_as_user(folder: Path, work: Callable[[], None]) -> None:
    """Run something as a user who is not root; an assertion that fails in it fails here."""

    def become_user() -> None:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
        folder.stat()

    def run() -> None:
        become_user()
        work()

    if run_in_child(become_user):
        pytest.skip("no other user can reach a folder for temporary files here")
    assert run_in_child(run) == 0
