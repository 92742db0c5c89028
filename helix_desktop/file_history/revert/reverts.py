"""Reverts of a workspace's files: planned, applied as a whole or not at all, and repaired after a kill."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
from filelock import FileLock, Timeout

from helix_desktop.domain.choices import RevertChoice
from helix_desktop.domain.errors import HelixError, StoreError, StoreUnreadable
from helix_desktop.domain.file_history.changes import (
    Capture,
    CapturedChanges,
    ChangeList,
    FileChange,
    FileState,
    PlannedFile,
    RevertPlan,
    RevertProblem,
    is_folder,
    with_moves,
)
from helix_desktop.domain.file_history.three_way_merge import merge
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.file_history.database import FileHistoryDatabase
from helix_desktop.file_history.revert.current_paths import (
    CurrentPath,
    CurrentPathReader,
    RevertTree,
    check_folders,
    is_alike,
    is_plain_path,
    parents_of,
)
from helix_desktop.file_history.revert.executor import RevertExecutor
from helix_desktop.file_history.revert.folders import (
    Folders,
    FolderUnreachable,
    JournalEntry,
    PathChanged,
    PathTarget,
    RevertOperation,
    build_operations,
    half_done,
    refusal_of,
    refused,
    refused_by_change,
)
from helix_desktop.file_history.tables import ContentRows, SeenPath
from helix_desktop.file_history.tree.rules import STAGED_PREFIX
from helix_desktop.system.clock import ClockMs
from helix_desktop.system.folders import WorkspaceRoot

text = TextContext("Changes")

_MAX_LARGE = 128 * 1024 * 1024  # bytes of a file over the size limit that are stored when it is reverted


class MergeOutcome(NamedTuple):
    """The outcome of a three-way merge of states; of a conflict there is none."""

    is_clean: bool
    state: FileState | None = None


class RevertPlanner:
    """Plans reverts of one workspace; merged texts are stored as contents, within a transaction."""

    def __init__(self, folders: Folders, contents: ContentRows, tree: RevertTree) -> None:
        self._folders = folders
        self._contents = contents
        self._tree = tree
        self._reader = CurrentPathReader(folders, tree)

    def plan(self, changes: Sequence[FileChange], capture_ids: Sequence[str]) -> RevertPlan:
        """Return what taking back changes would do; they are in the order in which they were made."""
        by_path: dict[str, list[FileChange]] = {}
        for change in changes:
            by_path.setdefault(change.path, []).append(change)
        present = {path: self._read_present(path, by_path[path]) for path in sorted(by_path)}
        files = {path: self._plan_path(path, by_path[path], found) for path, found in present.items()}
        planned = check_folders(files, self._folders, self._reader)
        return RevertPlan(tuple(planned.values()), tuple(capture_ids))

    def _plan_path(self, path: str, changes: Sequence[FileChange], found: CurrentPath) -> PlannedFile:
        spans = _join(changes)
        base = spans[-1].after
        before = spans[0].before
        if not is_plain_path(path):
            return PlannedFile(path, None, base, before, "blocked", "outside")
        file = PlannedFile(path, found.state, base, before)
        conflict_at, target = self._take_back(base, spans)
        if conflict_at is not None:
            file = msgspec.structs.replace(file, base=conflict_at.after, status="conflict")
            if len(spans) == 1:
                file = self._with_large_content(file)
        else:
            file = self._compare(msgspec.structs.replace(file, former=target), len(spans) > 1)
        if file.status == "same":
            return file
        problem = self._problem(file, found)
        return msgspec.structs.replace(file, status="blocked", problem=problem) if problem else file

    def _read_present(self, path: str, changes: Sequence[FileChange]) -> CurrentPath:
        """Return what stands there; a file that was changed later is stored, to be merged and compared.

        One that is ignored is stored too: it may be what was moved away from another path.
        """
        if not is_plain_path(path):
            return CurrentPath(None, "outside")
        base = changes[-1].after
        before = changes[0].before
        found = self._reader.read(path, base)
        state = found.state
        if state is None or state.kind != "file" or not (state.stored and state.digest):
            return found
        if is_alike(state, before) or self._contents.has(state.digest):
            return found
        if is_alike(state, base) and base is not None and base.stored:
            return found
        data = self._reader.read_content(path)
        stored = msgspec.structs.replace(state, digest=self._contents.put(data), size=len(data))
        return found._replace(state=stored)

    def _with_large_content(self, file: PlannedFile) -> PlannedFile:
        """Return a file that grew over the size limit as ready, its content stored for the way back."""
        present = file.present
        base = file.base
        target = file.former
        if present is None or base is None or target is None or not target.digest:
            return file
        is_as_left = not present.digest and (base.kind, base.digest, base.size, base.modified_ns) == (
            ("file", "", present.size, present.modified_ns)
        )
        if not is_as_left or present.size > _MAX_LARGE or not self._tree.covers(file.path, target.size):
            return file
        data = self._reader.read_content(file.path)
        stored = FileState("file", self._contents.put(data), len(data), present.mode)
        return msgspec.structs.replace(file, present=stored, status="ready")

    def _take_back(
        self, state: FileState | None, spans: Sequence[FileChange]
    ) -> tuple[FileChange | None, FileState | None]:
        """Return the change that cannot be taken back without a choice, if there is one, and the state."""
        for span in reversed(spans):
            merged = self._merge(span.after, state, span.before)
            if not merged.is_clean:
                return span, None
            state = merged.state
        return None, state

    def _compare(self, file: PlannedFile, has_gaps: bool) -> PlannedFile:
        """Return the file with its status: is what stands there what the change left?"""
        if is_alike(file.present, file.former):
            return _same(file)
        if is_alike(file.present, file.base):
            if has_gaps and file.former is not None:
                return msgspec.structs.replace(file, status="merge", merged=file.former)
            return file
        merged = self._merge(file.base, file.present, file.former)
        if not merged.is_clean:
            return msgspec.structs.replace(file, status="conflict")
        if is_alike(merged.state, file.present):
            return _same(file)
        return msgspec.structs.replace(file, status="merge", merged=merged.state)

    def _merge(
        self, base: FileState | None, ours: FileState | None, theirs: FileState | None
    ) -> MergeOutcome:
        if is_alike(ours, base) or is_alike(ours, theirs):
            return MergeOutcome(True, theirs)
        if is_alike(theirs, base):
            return MergeOutcome(True, ours)
        if base is None or ours is None or theirs is None or not base.kind == ours.kind == theirs.kind:
            return MergeOutcome(False)
        if base.kind == "link":
            return MergeOutcome(False)
        mode = ours.mode if theirs.mode == base.mode else theirs.mode
        if ours.mode not in (mode, base.mode):
            return MergeOutcome(False)
        content = self._merge_contents(base, ours, theirs) if base.kind == "file" else ours
        return MergeOutcome(content is not None, content and msgspec.structs.replace(content, mode=mode))

    def _merge_contents(self, base: FileState, ours: FileState, theirs: FileState) -> FileState | None:
        if not (base.digest and ours.digest and theirs.digest):
            return None
        if ours.digest in (base.digest, theirs.digest):
            return theirs
        if theirs.digest == base.digest:
            return ours
        try:
            sides = [self._contents.get(state.digest) for state in (base, ours, theirs)]
        except StoreUnreadable:
            raise
        except StoreError:  # removed, or damaged
            return None
        merged = merge(*sides)
        if merged is None or not merged.is_clean:
            return None
        data = merged.build()
        return FileState("file", self._contents.put(data), len(data))

    def _problem(self, file: PlannedFile, found: CurrentPath) -> RevertProblem:
        if found.problem not in ("", "outside", "not_a_folder"):  # of these, what is on the way decides
            return found.problem
        if self._tree.is_busy(file.path):
            return "busy"
        targets = [file.former] if file.merged is None else [file.former, file.merged]
        replaced = [target for target in targets if _replaces_content(file.present, target)]
        problems = [self._target_problem(target) for target in replaced]
        if replaced and file.present is not None and file.present.kind == "file":
            problems.append(self._present_problem(file.present, replaced[0], found.links))
        return next(filter(None, problems), "")

    def _target_problem(self, target: FileState | None) -> RevertProblem:
        if target is None or target.kind != "file":
            return ""
        if target.digest and self._contents.has(target.digest):  # perhaps by another path that it had
            return ""
        return "content_removed" if target.stored else "not_covered"

    def _present_problem(self, present: FileState, target: FileState | None, links: int) -> RevertProblem:
        """Say why what stands there cannot be replaced so that it can be brought back."""
        if not present.stored or self._contents.removed_at(present.digest):
            return "not_covered"
        return "hard_links" if target is not None and links > 1 else ""


def _same(file: PlannedFile) -> PlannedFile:
    """Return the plan of a path at which nothing is to do: it stays as it is."""
    return msgspec.structs.replace(file, status="same", former=file.present)


def _replaces_content(present: FileState | None, target: FileState | None) -> bool:
    """Return True if more than the permissions differ; a content that is not known is like no other."""
    if present is None or target is None:
        return present is not target
    if target.kind == "file" and not target.digest:
        return True
    return (present.kind, present.digest, present.target) != (target.kind, target.digest, target.target)


def _join(changes: Iterable[FileChange]) -> list[FileChange]:
    """Join changes of one path that follow on each other; what several calls may have made counts once."""
    spans: list[FileChange] = []
    last: FileChange | None = None
    for change in changes:
        if last is not None and change.shared and _is_same_change(last, change):
            continue
        last = change
        if spans and is_alike(spans[-1].after, change.before):
            spans[-1] = FileChange(change.path, spans[-1].before, change.after)
        else:
            spans.append(change)
    return spans


def _is_same_change(change: FileChange, other: FileChange) -> bool:
    return is_alike(change.before, other.before) and is_alike(change.after, other.after)


class TargetFinder:
    """Finds the targets of one revert. Raises RevertRefused, OSError, FolderUnreachable."""

    def __init__(
        self,
        folders: Folders,
        tree: RevertTree,
        plan: RevertPlan,
        choices: Mapping[str, RevertChoice],
    ) -> None:
        self._folders = folders
        self._tree = tree
        self._plan = plan
        self._choices = choices
        self._reader = CurrentPathReader(folders, tree)
        self._targets: dict[str, PathTarget] = {}
        self._folder_states: dict[str, FileState | None] = {}

    def find(self) -> dict[str, PathTarget]:
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
# Stored, to say how far a revert is.
_STAGING = "staging"
_SWAPPING = "swapping"
_DONE = "done"


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
        self._root = root.resolve()
        self._database = database
        self._tree = tree
        self._clock = clock
        self._opened_root = WorkspaceRoot(root)
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
            self._opened_root.check()
            with self._database.write():
                return RevertPlanner(folders, self._database.contents, self._tree).plan(changes, capture_ids)
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
                self._opened_root.check()
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
        try:
            self._opened_root.check()  # what is staged in it is not gone while it is away
        except OSError as error:
            raise refusal_of(error) from error
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
        changes = ChangeList(
            tuple(with_moves({path: FileChange(path, *target) for path, target in targets.items()}))
        )
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
