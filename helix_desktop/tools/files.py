"""Reading files and listing folders."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable

from helix_desktop.context.digest import digest_of, size_text
from helix_desktop.context.errors import ToolError
from helix_desktop.context.image import LARGEST, image_of
from helix_desktop.context.signs import revealed_name
from helix_desktop.context.tool import Progress, ToolResult, unheard
from helix_desktop.tools.arguments import Arguments, Line
from helix_desktop.tools.base import Free
from helix_desktop.tools.jail import Jail, Opened
from helix_desktop.tools.replace import wide_encoding

_WHOLE_CAP = 64 * 1024 * 1024  # the store's cap
_RANGE_CAP = 4 * _WHOLE_CAP
_SNIFF = 8192
_MAGIC = (
    (b"\x89PNG", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"%PDF", "PDF document"),
    (b"PK\x03\x04", "ZIP archive or office document"),
    (b"\x1f\x8b", "gzip archive"),
    (b"\x7fELF", "ELF program"),
    (b"SQLite format 3", "SQLite database"),
)


class ReadFileArguments(Arguments, frozen=True):
    """What read_file takes; lines count from 1, both ends included."""

    path: str
    start_line: Line | None = None
    end_line: Line | None = None


class ReadFile(Free):
    """Gives a file's exact bytes, or a range of its lines."""

    def __init__(self, jail: Jail) -> None:
        self._jail = jail

    async def run(self, call_id: str, given: ReadFileArguments, told: Progress = unheard) -> ToolResult:
        """The file. Raises ToolError."""
        return await asyncio.to_thread(self._read, given)

    def _read(self, given: ReadFileArguments) -> ToolResult:
        with self._jail.reading(given.path) as opened:
            start = opened.file.read(_SNIFF)
            opened.file.seek(0)
            if b"\0" in start:
                if encoding := wide_encoding(start):
                    return _wide(opened, encoding, given)
                return _pictured(opened) or _described(opened, start)
            if given.start_line is None and given.end_line is None:
                return _whole(opened)
            return _range(opened, opened.file, given.start_line or 1, given.end_line)


def _pictured(opened: Opened) -> ToolResult | None:
    """The file as an image that a model may be sent; None when it is none, or too large for one."""
    if opened.stamp.size > LARGEST:
        return None
    data = opened.file.read(LARGEST + 1)
    opened.file.seek(0)
    image = image_of(data, digest_of(data), opened.rel) if len(data) <= LARGEST else None
    if image is None:
        return None
    return ToolResult(data, target=opened.rel, shown=f"{opened.rel}: {image.about}.", image=image)


def _described(opened: Opened, start: bytes) -> ToolResult:
    kind = next((name for magic, name in _MAGIC if start.startswith(magic)), "binary data")
    digest = hashlib.file_digest(opened.file, "sha256").hexdigest()
    text = (
        f"{opened.rel} is not plain text, so its content is not shown.\n"
        f"Kind: {kind}. Size: {opened.stamp.size:,} bytes. SHA-256: {digest}.\n"
    )
    return ToolResult(text.encode(), target=opened.rel)


def _whole(opened: Opened) -> ToolResult:
    data = opened.file.read(_WHOLE_CAP + 1)
    if len(data) > _WHOLE_CAP:
        raise ToolError(
            f"{opened.rel} is too large to read as a whole: {opened.stamp.size:,} bytes, the most is 64 MB.",
            fix="Ask for lines with start_line and end_line, or use search_text.",
        )
    return ToolResult(data, target=opened.rel, shown="" if data else f"{opened.rel} is empty (0 bytes).")


def _wide(opened: Opened, encoding: str, given: ReadFileArguments) -> ToolResult:
    """A file in UTF-16, its text given in UTF-8."""
    data = _whole(opened).content
    text = data.decode(encoding, "replace").removeprefix("\ufeff").encode()
    if given.start_line is not None or given.end_line is not None:
        return _range(opened, text.splitlines(keepends=True), given.start_line or 1, given.end_line)
    head = f"{opened.rel} is in UTF-16 ({len(data):,} bytes); as UTF-8:\n".encode()
    return ToolResult(head + text, target=opened.rel)


def _range(opened: Opened, lines: Iterable[bytes], first: int, last: int | None) -> ToolResult:
    if last is not None and last < first:
        raise ToolError(f"end_line ({last}) is before start_line ({first}).")
    if opened.stamp.size > _RANGE_CAP:
        raise ToolError(f"{opened.rel} is over 256 MB.", fix="Use search_text or run_command on it.")
    chosen, total = _lines(lines, first, last)
    if not chosen:
        raise ToolError(f"{opened.rel} has {total:,} lines; start_line {first} is past its end.")
    end = first + len(chosen) - 1
    head = f"Lines {first}-{end} of {total} of {opened.rel}:\n".encode()
    body = b"".join(chosen)
    if len(body) > _WHOLE_CAP - len(head):
        raise ToolError(f"Lines {first}-{end} of {opened.rel} are over 64 MB.", fix="Ask for fewer lines.")
    return ToolResult(head + body, target=f"{opened.rel}:{first}-{end}")


def _lines(lines: Iterable[bytes], first: int, last: int | None) -> tuple[list[bytes], int]:
    chosen, number = [], 0
    for number, line in enumerate(lines, 1):
        if number >= first and (last is None or number <= last):
            chosen.append(line)
    return chosen, number


_DEFAULT_DEPTH, _MOST_DEPTH, _MOST_ITEMS = 2, 6, 1_000
_CLOSED = frozenset({".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".mypy_cache"})


class ListDirectoryArguments(Arguments, frozen=True):
    """What list_directory takes; depth 1 lists only the folder itself."""

    path: str = "."
    depth: Line | None = None


class ListDirectory(Free):
    """Lists a folder as a tree, folders first, with sizes."""

    def __init__(self, jail: Jail) -> None:
        self._jail = jail

    async def run(self, call_id: str, given: ListDirectoryArguments, told: Progress = unheard) -> ToolResult:
        """The tree. Raises ToolError."""
        return await asyncio.to_thread(self._list, given)

    def _list(self, given: ListDirectoryArguments) -> ToolResult:
        depth = min(given.depth or _DEFAULT_DEPTH, _MOST_DEPTH)
        lines: list[str] = []
        rel, count = self._branch(given.path, depth, "  ", lines)
        cut = f"\n(only the first {_MOST_ITEMS:,} shown; list a folder of it)" if count > _MOST_ITEMS else ""
        text = "\n".join([f"{rel or '.'}/ ({count:,} {'entry' if count == 1 else 'entries'})", *lines])
        return ToolResult(f"{text}{cut}\n".encode(), target=rel or ".")

    def _branch(self, path: str, depth: int, indent: str, lines: list[str]) -> tuple[str, int]:
        rel, items = self._jail.items(path)
        sealed = {top for top in self._jail.limits.sealed if len(top) == rel.count("/") + 2 - (not rel)}
        count = 0
        for item in sorted(items, key=lambda item: (item.kind != "folder", item.name)):
            parts = (*(rel.split("/") if rel else ()), item.name)
            if parts in sealed:
                continue
            count += 1
            if len(lines) >= _MOST_ITEMS:
                continue
            name = item.name.encode(errors="backslashreplace").decode()
            open_it = item.kind == "folder" and depth > 1 and item.name not in _CLOSED and name == item.name
            lines.append(
                indent + _line(item.kind, revealed_name(name), item.size, item.leads_to, item.name in _CLOSED)
            )
            if open_it:
                count += self._branch_or_note("/".join(parts), depth - 1, indent + "  ", lines)
        return rel, count

    def _branch_or_note(self, path: str, depth: int, indent: str, lines: list[str]) -> int:
        try:
            return self._branch(path, depth, indent, lines)[1]
        except ToolError as error:
            lines.append(f"{indent}({error})")
            return 0


def _line(kind: str, name: str, size: int, leads_to: str, closed: bool) -> str:
    name = revealed_name(name)
    if kind == "folder":
        return f"{name}/" + (" (not opened)" if closed else "")
    if kind == "link":
        return f"{name} -> {revealed_name(leads_to.encode(errors='backslashreplace').decode())}"
    return f"{name}  {size_text(size)}" if kind == "file" else f"{name}  (special file)"
