"""Folders as plain data, read by a slow walk, and what a list of changes has to say of two such walks."""

from __future__ import annotations

import hashlib
import itertools
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from helix_desktop.domain.file_history.changes import FileChange, FileState, PlannedFile, RevertPlan


class File(NamedTuple):
    """A file: its bytes and its permission bits."""

    data: bytes
    mode: int = 0o644


class Link(NamedTuple):
    target: str


class Folder(NamedTuple):
    """A folder, by its permission bits; what is in it are entries of their own."""

    mode: int = 0o755


class SpecialFile(NamedTuple):
    """A pipe, socket or device, by its type bits."""

    kind: int


Entry = File | Link | Folder | SpecialFile
Tree = dict[str, Entry]
"""What stands at paths, by components joined with `/`; a name that is no Unicode has surrogates."""

Sketch = Mapping[str, Entry | str | bytes]
"""A tree to be made: a text or bytes are a file's; folders on the way need no entry."""


def make_tree(root: Path, sketch: Sketch) -> None:
    """Make what a sketch says, in its order; modes of folders last, so that they can be read-only."""
    for path, entry in sketch.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        match entry:
            case Folder():
                place.mkdir(exist_ok=True)
            case Link(target):
                place.symlink_to(target)
            case SpecialFile(kind):
                os.mknod(place, kind | 0o600)
            case _:
                file = entry if isinstance(entry, File) else File(_bytes(entry))
                place.write_bytes(file.data)
                place.chmod(file.mode)
    for path, entry in sketch.items():
        if isinstance(entry, Folder):
            (root / path).chmod(entry.mode)


def _bytes(entry: Entry | str | bytes) -> bytes:
    if isinstance(entry, str):
        return entry.encode()
    assert isinstance(entry, bytes)
    return entry


def walk_tree(root: Path) -> Tree:
    """Return all that stands in a folder: every byte, mode and link; follows no link."""
    tree: Tree = {}
    _walk(root, "", tree)
    return tree


def _walk(root: Path, folder: str, tree: Tree) -> None:
    with _opened(root / folder, 0o500):
        for name in sorted(os.listdir(root / folder)):
            path = f"{folder}/{name}" if folder else name
            tree[path] = read_entry(root / path)
            if isinstance(tree[path], Folder):
                _walk(root, path, tree)


@contextmanager
def _opened(place: Path, rights: int) -> Iterator[None]:
    """Let its owner use what they locked themselves out of, in a block."""
    mode = stat.S_IMODE(os.lstat(place).st_mode)
    if mode & rights == rights:
        yield
        return
    place.chmod(mode | rights)
    yield
    place.chmod(mode)


def read_entry(place: Path) -> Entry:
    status = os.lstat(place)
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        return Link(os.readlink(place))
    if stat.S_ISDIR(status.st_mode):
        return Folder(mode)
    if not stat.S_ISREG(status.st_mode):
        return SpecialFile(stat.S_IFMT(status.st_mode))
    with _opened(place, 0o400):
        return File(place.read_bytes(), mode)


def differing(first: Tree, second: Tree) -> set[str]:
    return {path for path in first.keys() | second.keys() if first.get(path) != second.get(path)}


def outside_of(paths: Iterable[str], places: Iterable[str]) -> set[str]:
    roots = tuple(places)
    return {
        path for path in paths if not any(path == place or path.startswith(f"{place}/") for place in roots)
    }


def describe_state(entry: Entry | None) -> str:
    """Return one line for what stands at a path."""
    match entry:
        case File(data, mode):
            return f"file {hashlib.sha256(data).hexdigest()} of {len(data)} bytes, {mode:o}"
        case Link(target):
            return f"link to {target}"
        case Folder(mode):
            return f"folder, {mode:o}"
    return "nothing"


def describe_recorded(state: FileState | None) -> str:
    if state is None:
        return "nothing"
    match state.kind:
        case "file":
            return f"file {state.digest} of {state.size} bytes, {state.mode:o}"
        case "link":
            return f"link to {state.target}"
    return f"folder, {state.mode:o}"


def wrong_changes(
    changes: Iterable[FileChange], before: Tree, after: Tree, uncovered: Iterable[str]
) -> list[str]:
    """Return where a list of changes differs from two walks, outside the places that are not covered."""
    recorded = {
        change.path: (describe_recorded(change.before), describe_recorded(change.after)) for change in changes
    }
    places = tuple(uncovered)
    real = {
        path: (describe_state(before.get(path)), describe_state(after.get(path)))
        for path in outside_of(differing(before, after), places)
    }
    paths = outside_of(recorded.keys() | real.keys(), places)
    return [
        f"{path}: recorded {recorded.get(path)}, really {real.get(path)}"
        for path in sorted(paths)
        if recorded.get(path) != real.get(path)
    ]


def join_changes(lists: Iterable[Iterable[FileChange]]) -> list[FileChange]:
    """Return what several lists of changes did together; each goes on where the one before it left off."""
    joined: dict[str, FileChange] = {}
    for changes in lists:
        for change in changes:
            first = joined.get(change.path)
            if first is not None:
                assert first.after == change.before, change.path
            joined[change.path] = FileChange(
                change.path, first.before if first else change.before, change.after
            )
    return [change for change in joined.values() if change.before != change.after]


def false_reasons(root: Path, plan: RevertPlan, changes: Sequence[FileChange]) -> list[str]:
    """Return what is wrong with the reasons why paths of a plan are not taken back; empty if all are true.

    `changes` are those that were to be taken back, in the order in which they were made.
    """
    contested = {file.path for file in plan.files if file.status == "conflict"}
    left = [file for file in plan.files if not file.can_apply]
    return [reason for file in left if (reason := _false_reason(root, file, changes, contested))]


def _false_reason(root: Path, file: PlannedFile, changes: Sequence[FileChange], contested: Set[str]) -> str:
    place = root / file.path
    present = describe_state(read_entry(place)) if os.path.lexists(place) else "nothing"
    own = [change for change in changes if change.path == file.path]
    has_gap = any(first.after != second.before for first, second in itertools.pairwise(own))
    parents = [root / parent for parent in Path(file.path).parents if parent != Path()]
    is_later = present != describe_recorded(own[-1].after) or has_gap
    in_contested = any(parent.as_posix() in contested for parent in Path(file.path).parents)
    holds_contested = any(path.startswith(f"{file.path}/") for path in contested)
    reasons = {
        "merge": is_later,
        "conflict": is_later or in_contested or holds_contested,
        "not_covered": any(state is not None and not state.stored for state in (file.former, file.base))
        or (os.path.lexists(place) and isinstance(read_entry(place), SpecialFile)),
        "folder_gone": not all(os.path.lexists(parent) for parent in parents),
        "not_a_folder": any(os.path.lexists(parent) and not parent.is_dir() for parent in parents),
        "outside": any(parent.is_symlink() for parent in parents),
        "not_empty": present.startswith("folder") and bool(os.listdir(place)),
        "no_permission": not all(
            os.access(parent, os.W_OK | os.X_OK) for parent in parents if os.path.lexists(parent)
        )
        or (os.path.lexists(place) and not os.access(place, os.R_OK)),
        "hard_links": present.startswith("file") and os.lstat(place).st_nlink > 1,
    }
    reason = file.problem if file.status == "blocked" else file.status
    return "" if reasons.get(reason) else f"{file}, but it is {present}, and was {own}"
