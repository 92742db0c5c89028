"""Plans of reverts: changes are taken back in the reverse order, path by path, from what stands there now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from helix_desktop.domain.errors import StoreError, StoreUnreadable
from helix_desktop.domain.file_history.changes import FileChange, FileState
from helix_desktop.domain.file_history.merge import merge
from helix_desktop.domain.file_history.revert import PlannedFile, RevertPlan, RevertProblem
from helix_desktop.file_history.database.contents import ContentRows
from helix_desktop.file_history.revert.current_paths import (
    CurrentPath,
    CurrentPathReader,
    RevertTree,
    check_folders,
    is_alike,
    is_plain_path,
)
from helix_desktop.file_history.revert.folders import Folders

_MAX_LARGE = 128 * 1024 * 1024  # bytes of a file over the size limit that are stored when it is reverted


class MergeOutcome(NamedTuple):
    """The outcome of a three-way merge of states; of a conflict there is none."""

    is_clean: bool
    state: FileState | None = None


class Planner:
    """Plans reverts of one workspace; merged texts are stored as contents, within a transaction."""

    def __init__(self, folders: Folders, contents: ContentRows, tree: RevertTree) -> None:
        self._folders, self._contents, self._tree = folders, contents, tree
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
        base, before = spans[-1].after, spans[0].before
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
        base, before = changes[-1].after, changes[0].before
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
        present, base, target = file.present, file.base, file.former
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
        """Say why what is to come cannot."""
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
