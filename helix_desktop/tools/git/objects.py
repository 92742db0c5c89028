"""Contents that a checkout has stored: of its last commit, read by git in few processes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from helix_desktop.domain.git import EMPTY_TREE
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
