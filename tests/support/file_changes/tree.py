"""Folders as plain data: made from it, and read back by a slow walk that shares no code with the app."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple


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
