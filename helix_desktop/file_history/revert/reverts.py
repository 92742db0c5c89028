"""Reverts of a workspace's files: planned, applied as a whole or not at all, and repaired after a kill."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from helix_desktop.domain.choices import RevertChoice
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.file_history.changes import (
    Capture,
    CapturedChanges,
    ChangeList,
    FileChange,
    FileState,
    is_folder,
)
from helix_desktop.domain.file_history.revert import PlannedFile, RevertPlan
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.file_history.database.database import FileHistoryDatabase
from helix_desktop.file_history.database.rows import SeenPath
from helix_desktop.file_history.revert.current_paths import (
    CurrentPathReader,
    RevertTree,
    is_alike,
    parents_of,
)
from helix_desktop.file_history.revert.executor import RevertExecutor
from helix_desktop.file_history.revert.folders import Folders, FolderUnreachable
from helix_desktop.file_history.revert.operations import (
    JournalEntry,
    PathChanged,
    PathTarget,
    RevertOperation,
    build_operations,
    changes_of,
    half_done,
    refusal_of,
    refused,
    refused_by_change,
)
from helix_desktop.file_history.revert.planner import Planner
from helix_desktop.file_history.tree.rules import STAGED_PREFIX
from helix_desktop.system.clock import ClockMs

text = TextContext("Changes")


class TargetFinder:
    """Finds the targets of one revert. Raises RevertRefused, OSError, FolderUnreachable."""

    def __init__(
        self,
        folders: Folders,
        tree: RevertTree,
        plan: RevertPlan,
        choices: Mapping[str, RevertChoice],
    ) -> None:
        self._folders, self._tree, self._plan, self._choices = folders, tree, plan, choices
        self._reader = CurrentPathReader(folders, tree)
        self._targets: dict[str, PathTarget] = {}
        self._folder_states: dict[str, FileState | None] = {}

    def find(self) -> dict[str, PathTarget]:
        """Return what stands at each path that is to change, and what shall."""
        for file in self._plan.files:
            target = self._target(file)
            if target != file.present and not is_alike(file.present, target):
                self._targets[file.path] = PathTarget(file.present, target)
        self._check_present()
        for path in sorted(self._targets):
            if self._targets[path].state is not None:
                self._check_parents(path)
        for path in sorted(self._targets, key=lambda path: path.count("/"), reverse=True):
            self._check_emptied(path)
        return self._targets

    def _target(self, file: PlannedFile) -> FileState | None:
        choice = self._choices.get(file.path)
        if choice in ("former", "merged") and file.status == "blocked":
            raise refused(text("{file} can't be reverted.", file=file.path), paths=(file.path,))
        if choice == "merged" and file.merged is None:
            raise refused(text("{file} isn't merged yet.", file=file.path), paths=(file.path,))
        return self._plan.target(file, self._choices)

    def _check_present(self) -> None:
        """Refuse if anything is not what was planned for, or may change any moment."""
        refuse_busy(self._tree, self._targets)
        changed = tuple(
            path
            for path, target in self._targets.items()
            if not is_alike(self._reader.read(path, target.present).state, target.present)
        )
        if changed:
            raise refused_by_change(changed)

    def _check_parents(self, path: str) -> None:
        """See that all folders above a path will be there."""
        mode = 0o755
        for parent in parents_of(path):
            target = self._targets.get(parent)
            if target is not None and target.state is None and is_folder(target.present):
                del self._targets[parent]  # something comes into it, so it stays
                target = None
            state = target.state if target is not None else self._folder_state(parent)
            if state is None and target is None:
                state = FileState("folder", mode=mode)  # it vanished: as the one it was in
                self._targets[parent] = PathTarget(None, state)
            if not is_folder(state):
                raise refused(
                    text("{folder} isn't a folder, and {file} would be in it.", folder=parent, file=path),
                    paths=(path,),
                )
            assert state is not None
            mode = state.mode

    def _folder_state(self, path: str) -> FileState | None:
        if path not in self._folder_states:
            self._folder_states[path] = self._reader.read(path).state
        return self._folder_states[path]

    def _check_emptied(self, path: str) -> None:
        """Let a folder stay in which something stays."""
        present, target = self._targets[path]
        if not is_folder(present) or is_folder(target):
            return
        stays = [
            name
            for name in self._folders.open(path).names()
            if (entry := self._targets.get(f"{path}/{name}")) is None or entry.state is not None
        ]
        if not stays:
            return
        if target is not None:
            raise refused(
                text("{folder} isn't empty: {name} is in it.", folder=path, name=stays[0]), paths=(path,)
            )
        del self._targets[path]


def refuse_busy(tree: RevertTree, paths: Iterable[str]) -> None:
    """Refuse if a call is running that may change one of the paths. Raises RevertRefused."""
    busy = tuple(path for path in paths if tree.is_busy(path))
    if busy:
        raise refused(
            text("A command is running that may change {file}.", file=busy[0]),
            text("Wait until it ends, or stop it."),
            busy,
        )


_FAILURES = (PathChanged, FolderUnreachable, OSError)
_STAGING, _SWAPPING, _DONE = "staging", "swapping", "done"  # how far a revert is; stored


class Reverts:
    """The reverts of one workspace; all of it blocks, and is for the thread of its database."""

    def __init__(
        self,
        root: Path,
        database: FileHistoryDatabase,
        tree: RevertTree,
        clock: ClockMs,
        on_operation: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`clock` returns milliseconds since 1970; `on_operation` gets the name of each one before it."""
        self._root, self._database, self._tree, self._clock = root.resolve(), database, tree, clock
        self._on_operation = on_operation
        lock = database.path.with_name(f"{database.path.name}.revert-lock")
        self._lock = FileLock(lock, thread_local=False)

    def plan(self, changes: Sequence[FileChange], capture_ids: Sequence[str] = ()) -> RevertPlan:
        """Return what taking back changes would do; they are in the order in which they were made.

        Raises StoreError, and RevertRefused if the workspace cannot be read, or a revert that was cut off
        cannot be repaired.
        """
        self.recover()
        folders = Folders(self._root)
        try:
            with self._database.write():
                return Planner(folders, self._database.contents, self._tree).plan(changes, capture_ids)
        except (FolderUnreachable, OSError) as error:
            raise refusal_of(error) from error
        finally:
            folders.close()

    def apply(
        self, session_id: str, plan: RevertPlan, choices: Mapping[str, RevertChoice]
    ) -> CapturedChanges | None:
        """Bring the files to what is planned and chosen, all or none; None: there was nothing to do.

        Raises RevertRefused if a path is not as it was planned or cannot be written, and StoreError.
        """
        with self._alone():
            self.recover()
            folders = Folders(self._root)
            try:
                targets = TargetFinder(folders, self._tree, plan, choices).find()
                operations = build_operations(targets)
                return self._apply(session_id, plan, targets, operations) if operations else None
            except _FAILURES as error:
                raise refusal_of(error) from error
            finally:
                folders.close()

    def recover(self) -> None:
        """Repair what a kill cut off: what was not captured is taken back, what was left over is removed.

        A revert that another process makes now is left alone; so are leftovers that cannot be removed yet.
        Raises StoreError, and RevertRefused if files cannot be put back.
        """
        if not self._database.journal.all():
            return
        with suppress(Timeout), self._lock.acquire(timeout=0):
            for revert_id, state, data in self._database.journal.all():
                swap = RevertExecutor(Folders(self._root), JournalEntry.decode(data), self._on_operation)
                try:
                    if state == _SWAPPING:
                        self._roll_back(revert_id, swap)
                    self._try_to_clean(revert_id, swap)
                except _FAILURES as error:
                    raise half_done() from error
                finally:
                    swap.close()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise refused(
                text("Another Helix Desktop is reverting files of this workspace."),
                text("Try again in a moment."),
            ) from error
        except OSError as error:
            raise refusal_of(error) from error
        try:
            yield
        finally:
            self._lock.release()

    def _apply(
        self,
        session_id: str,
        plan: RevertPlan,
        targets: Mapping[str, PathTarget],
        operations: tuple[RevertOperation, ...],
    ) -> CapturedChanges:
        revert_id = uuid.uuid4().hex
        changes = ChangeList(changes_of(targets))
        swap = RevertExecutor(
            Folders(self._root), JournalEntry(f"{STAGED_PREFIX}{revert_id}", operations), self._on_operation
        )
        try:
            self._note(revert_id, _STAGING, swap)
            try:
                swap.stage(self._database.contents)
                self._note(revert_id, _SWAPPING, swap)
                with self._database.write():
                    refuse_busy(self._tree, targets)  # from now on no call can begin until the end
                    swap.run()
                    self._on_operation("capture")
                    swap.store_replaced(self._database.contents)
                    digest = self._database.contents.put(changes.encode())
                    capture = Capture(
                        revert_id,
                        session_id,
                        "revert",
                        digest,
                        self._clock(),
                        reverts=plan.capture_ids,
                        scope=plan.scope,
                    )
                    self._database.captures.add(capture)
                    self._note_seen(changes.changes)
                    self._database.journal.put(revert_id, _DONE, swap.entry.encode())
                    self._on_operation("check")
                    swap.check()
                    self._on_operation("commit")
            except BaseException as error:
                if not self._give_up(revert_id, swap) and isinstance(error, Exception):
                    raise half_done() from error
                raise
            self._try_to_clean(revert_id, swap)
        finally:
            swap.close()
        return CapturedChanges(capture, changes)

    def _note(self, revert_id: str, state: str, swap: RevertExecutor) -> None:
        self._on_operation(f"journal {state}")
        with self._database.write():
            self._database.journal.put(revert_id, state, swap.entry.encode())

    def _note_seen(self, changes: Sequence[FileChange]) -> None:
        """Have the tree know what stands there now; looked at again, since others may write at any moment."""
        self._tree.put(
            [
                (change.path, SeenPath(change.after, b"", is_fresh=True))
                for change in changes
                if change.after is not None
            ]
        )
        self._tree.remove([change.path for change in changes if change.after is None])

    def _give_up(self, revert_id: str, swap: RevertExecutor) -> bool:
        """Take back what was done; return False if that fails too, and is left to the next start."""
        try:
            state = next((state for id_, state, _ in self._database.journal.all() if id_ == revert_id), "")
            if state == _SWAPPING:
                self._roll_back(revert_id, swap)
        except (*_FAILURES, HelixError):
            return False
        self._try_to_clean(revert_id, swap)
        return True

    def _roll_back(self, revert_id: str, swap: RevertExecutor) -> None:
        lost = swap.roll_back()
        with self._database.write():
            for operation in lost:
                self._keep(swap, operation)
            self._database.journal.put(revert_id, _DONE, swap.entry.encode())

    def _keep(self, swap: RevertExecutor, operation: RevertOperation) -> None:
        """Keep what stood at a path that somebody else has changed since: the next scan sees it as theirs."""
        if operation.present is None:
            return
        if operation.present.kind == "file":
            self._database.contents.put(swap.read_former(operation))
        self._tree.put([(operation.path, SeenPath(operation.present, b"", is_fresh=True))])

    def _try_to_clean(self, revert_id: str, swap: RevertExecutor) -> None:
        """Remove what was left over, and end the revert; what fails here is done at the next start."""
        with suppress(*_FAILURES, HelixError):
            swap.clean()
            self._on_operation("journal end")
            with self._database.write():
                self._database.journal.remove(revert_id)
