"""Contents that a checkout has stored, read by git in few processes, and its files as they are on disk."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.file_history.changes import FileState
from helix_desktop.domain.git import EMPTY_TREE
from helix_desktop.tools.files.jail import DirEntry, Jail
from helix_desktop.tools.git.program import OUTPUT_CAP, GitProgram

TIMEOUT_S = 20.0
MAX_CONTENT_BYTES = OUTPUT_CAP - 4096
"""Size of the largest content that is read: it is written with a line before it."""

SHA1_DIGITS = 40
_ID_SIZE = 100  # bytes of the line before a content, at most


def blob_id(data: bytes, digits: int = SHA1_DIGITS) -> str:
    """Return the id that git gives a content; `digits` are those of the checkout's ids."""
    name = "sha1" if digits == SHA1_DIGITS else "sha256"
    return hashlib.new(name, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


async def read_sizes(git: GitProgram, ids: Sequence[str]) -> dict[str, int]:
    """Return the sizes of contents in bytes; what is not on this computer is left out."""
    if not ids:
        return {}
    result = await git.run(("cat-file", "--batch-check"), TIMEOUT_S, _lines(ids))
    rows = (line.split(" ") for line in result.output.decode(errors="replace").splitlines())
    return {row[0]: int(row[2]) for row in rows if row[1:2] == ["blob"]}


async def read_contents(git: GitProgram, sizes: dict[str, int]) -> dict[str, bytes]:
    """Return contents by their ids and sizes; what is too large or cannot be read is left out."""
    contents: dict[str, bytes] = {}
    for ids in _portions(sizes):
        result = await git.run(("cat-file", "--batch"), TIMEOUT_S, _lines(ids))
        if not result.problem:
            contents |= _parse_batch(result.output)
    return contents


async def read_converted(git: GitProgram, content_id: str, path: str) -> bytes | None:
    """Return a content with the line ends and encoding that a path of the checkout has on disk."""
    result = await git.run(("cat-file", "--filters", f"--path={path}", content_id), TIMEOUT_S)
    return None if result.problem else result.output


async def read_submodule(git: GitProgram, path: str, has_commit: bool) -> tuple[bytes | None, bytes | None]:
    """Return a submodule's commit as git shows it as a text: in the last commit, and now."""
    options = ("-p", "--submodule=short", "--ignore-submodules=dirty", "--no-ext-diff", "--no-textconv")
    tree = "HEAD" if has_commit else EMPTY_TREE
    command = ("--literal-pathspecs", "diff-index", *options, "--no-color", "--no-renames", tree, "--", path)
    result = await git.run(command, TIMEOUT_S)
    lines = {line[:1]: line[1:] + b"\n" for line in result.output.splitlines() if line[1:11] == b"Subproject"}
    return lines.get(b"-"), lines.get(b"+")


def _lines(ids: Sequence[str]) -> bytes:
    return "".join(f"{content_id}\n" for content_id in ids).encode()


def _portions(sizes: dict[str, int]) -> Iterator[list[str]]:
    """Yield ids whose contents have room in one output, together."""
    portion: list[str] = []
    room = OUTPUT_CAP
    for content_id, size in sizes.items():
        if size > MAX_CONTENT_BYTES:
            continue
        if size + _ID_SIZE > room:
            yield portion
            portion, room = [], OUTPUT_CAP
        portion.append(content_id)
        room -= size + _ID_SIZE
    if portion:
        yield portion


def _parse_batch(output: bytes) -> dict[str, bytes]:
    """Return what `git cat-file --batch` wrote: a line with id, type and size, the content, a line feed."""
    contents: dict[str, bytes] = {}
    start = 0
    while (end := output.find(b"\n", start)) >= 0:
        fields = output[start:end].decode(errors="replace").split(" ")
        start = end + 1
        if len(fields) == 3 and fields[1] == "blob":  # noqa: PLR2004 - id, type, size
            size = int(fields[2])
            contents[fields[0]] = output[start : start + size]
            start += size + 1
    return contents


_PLAIN, _EXECUTABLE = 0o644, 0o755


class WorkingTreeFile(NamedTuple):
    """What stands at a path (None: nothing), and the bytes of a file that is not too large."""

    state: FileState | None = None
    data: bytes | None = None


class WorkingTreeFiles:
    """Reads files for one list of changes; folders are listed once."""

    def __init__(self, jail: Jail, room: int = MAX_CONTENT_BYTES, digits: int = SHA1_DIGITS) -> None:
        """`room` are the bytes that are read of all files together, `digits` those of the checkout's ids."""
        self._jail, self._room, self._digits = jail, room, digits
        self._folders: dict[str, dict[str, DirEntry]] = {}

    def read(self, path: str, mode: int = 0) -> WorkingTreeFile:
        """Return what stands at a path; `mode` are its permissions, 0: as they are on disk.

        A file that may not be read, by permissions or the ignore file, is one that is not stored.
        """
        try:
            return self._read(path, mode)
        except (ToolError, OSError):
            return WorkingTreeFile(FileState(mode=mode, stored=False))

    def _read(self, path: str, mode: int) -> WorkingTreeFile:
        entry = self._find(path)
        if entry is None:
            return WorkingTreeFile()
        if entry.kind == "link":
            return WorkingTreeFile(FileState("link", target=entry.link_target))
        if entry.kind != "file":
            return WorkingTreeFile(FileState("folder"))
        with self._jail.open_file(path) as opened:
            file_stat = os.fstat(opened.file.fileno())
            mode = mode or (_EXECUTABLE if file_stat.st_mode & stat.S_IXUSR else _PLAIN)
            if file_stat.st_size > min(self._room, MAX_CONTENT_BYTES):
                return WorkingTreeFile(FileState(size=file_stat.st_size, mode=mode))
            data = opened.file.read(MAX_CONTENT_BYTES)
        self._room -= len(data)
        return WorkingTreeFile(FileState(digest=blob_id(data, self._digits), size=len(data), mode=mode), data)

    def _find(self, path: str) -> DirEntry | None:
        folder, _, name = path.rpartition("/")
        if folder not in self._folders:
            _, entries = self._jail.list_entries(folder or ".")
            self._folders[folder] = {entry.name: entry for entry in entries}
        return self._folders[folder].get(name)
