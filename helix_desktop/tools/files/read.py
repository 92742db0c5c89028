"""Reading files and listing folders."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.files.content import (
    PDF,
    PdfFailure,
    PdfRefused,
    declared_encoding,
    kind_by_signature,
    text_encoding,
    utf16_encoding,
)
from helix_desktop.domain.files.names import is_secret_path
from helix_desktop.domain.image import MAX_IMAGE_BYTES, identify_image
from helix_desktop.domain.text_format import format_bytes, pluralize
from helix_desktop.domain.tool_arguments import Arguments, Line
from helix_desktop.domain.tools import (
    ApprovalRequest,
    OutputCallback,
    PermissionRule,
    ToolResult,
    ignore_output,
)
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import escape_hidden_name, escape_undecodable
from helix_desktop.tools.files.attach import pdf_text
from helix_desktop.tools.files.file_versions import version_of
from helix_desktop.tools.files.find import same_name_hint
from helix_desktop.tools.files.jail import LEFT_OUT, Jail, OpenFile, near_name_hint
from helix_desktop.tools.process import Ripgrep
from helix_desktop.tools.tool import Tool, UnguardedTool

_text = TextContext("Tools")

_WHOLE_CAP = 64 * 1024 * 1024  # the store's cap
_RANGE_CAP = 4 * _WHOLE_CAP
_SNIFF = 8192  # bytes
_PDF_CAP = 32 * 1024 * 1024  # as of an attached one
_NO_TEXT: dict[PdfFailure, str] = {
    "password": "it is protected by a password",
    "pictures": "its pages hold pictures, without text",
    "slow": "reading its text takes too long",
    "damaged": "it can't be read as a PDF",
}


class ReadFileArguments(Arguments, frozen=True):
    """The arguments of read_file; lines count from 1, both ends included."""

    path: str
    start_line: Line | None = None
    end_line: Line | None = None
    whole: bool = False


class ReadFile(Tool[ReadFileArguments]):
    """Returns a file's exact bytes, or a range of its lines; the user is asked about keys and passwords."""

    name = "read_file"
    arguments_type = ReadFileArguments

    def __init__(self, jail: Jail, ripgrep: Ripgrep) -> None:
        self._jail = jail
        self._ripgrep = ripgrep

    async def approval_request(self, call_id: str, args: ReadFileArguments) -> ApprovalRequest | None:
        """Return the approval request for a file that may hold keys; None for others and unreadable ones."""
        try:
            path = await asyncio.to_thread(self._resolve, args.path)
        except ToolError:
            return None
        if not is_secret_path(path) and not is_secret_path(args.path):
            return None
        rule = PermissionRule(self.name, path)
        summary = _text("Read the file {file}", file=escape_hidden_name(path))
        return ApprovalRequest(call_id, self.name, path, summary, path, rule, kind="read")

    def _resolve(self, path: str) -> str:
        """Return which file a path leads to, links resolved. Raises ToolError."""
        with self._jail.open_file(path) as opened:
            return opened.path

    async def run(
        self, call_id: str, args: ReadFileArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        try:
            return await asyncio.to_thread(self._read, args)
        except ToolError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
            hint = await same_name_hint(self._jail, self._ripgrep, args.path)
            hint = hint or await asyncio.to_thread(near_name_hint, self._jail, args.path)
            raise ToolError(error.what, error.why, hint) from error

    def _read(self, args: ReadFileArguments) -> ToolResult:
        with self._jail.open_file(args.path) as opened:
            result = _read(opened, args)
            files = (version_of(opened),)
            return msgspec.structs.replace(result, files=files, keep_whole=args.whole)


def _read(open_file: OpenFile, args: ReadFileArguments) -> ToolResult:
    start = open_file.file.read(_SNIFF)
    open_file.file.seek(0)
    if kind_by_signature(start) == PDF and (result := _read_pdf(open_file, start, args)):
        return result
    if b"\0" in start:
        if encoding := utf16_encoding(start):
            return _read_decoded(open_file, encoding, args)
        return _as_image(open_file) or _describe_binary(open_file, start)
    if declared_encoding(start) and open_file.stamp.size <= _WHOLE_CAP:
        encoding = text_encoding(open_file.file.read(_WHOLE_CAP))
        open_file.file.seek(0)
        if encoding not in ("", "utf-8"):
            return _read_decoded(open_file, encoding, args)
    if args.start_line is None and args.end_line is None:
        return _read_all(open_file)
    return _read_range(open_file, open_file.file, args.start_line or 1, args.end_line)


def _as_image(open_file: OpenFile) -> ToolResult | None:
    """Return the file as an image for the model; None if it is not an image, or too large."""
    if open_file.stamp.size > MAX_IMAGE_BYTES:
        return None
    data = open_file.file.read(MAX_IMAGE_BYTES + 1)
    open_file.file.seek(0)
    image = identify_image(data, digest_of(data), open_file.path) if len(data) <= MAX_IMAGE_BYTES else None
    if image is None:
        return None
    return ToolResult(
        data, target=open_file.path, model_text=f"{open_file.path}: {image.summary}.", image=image
    )


def _read_pdf(open_file: OpenFile, start: bytes, args: ReadFileArguments) -> ToolResult | None:
    """Return the text of a PDF, as an attached one has it; None for what is too large, or only text."""
    if open_file.stamp.size > _PDF_CAP:
        return None
    data = open_file.file.read(_PDF_CAP)
    open_file.file.seek(0)
    try:
        pdf = pdf_text(data)
    except PdfRefused as error:
        if error.reason == "damaged" and b"\0" not in start:
            return None
        return _describe_binary(open_file, start, _NO_TEXT[error.reason])
    pages = pluralize(pdf.pages, "page", "pages")
    head = f"{open_file.path} is a PDF; the text of {pages}:"
    return _read_converted(open_file, pdf.text.encode(), head, args)


def _describe_binary(open_file: OpenFile, start: bytes, reason: str = "it is not plain text") -> ToolResult:
    kind = kind_by_signature(start) or "binary data"
    digest = hashlib.file_digest(open_file.file, "sha256").hexdigest()
    text = (
        f"The content of {open_file.path} is not shown: {reason}.\n"
        f"Kind: {kind}. Size: {open_file.stamp.size:,} bytes. SHA-256: {digest}.\n"
    )
    return ToolResult(text.encode(), target=open_file.path)


def _read_all(open_file: OpenFile) -> ToolResult:
    data = open_file.file.read(_WHOLE_CAP + 1)
    if len(data) > _WHOLE_CAP:
        raise ToolError(
            f"{open_file.path} is too large to read as a whole: {open_file.stamp.size:,} bytes, "
            "the most is 64 MB.",
            fix="Ask for lines with start_line and end_line, or use search_text.",
        )
    return ToolResult(
        data, target=open_file.path, model_text="" if data else f"{open_file.path} is empty (0 bytes)."
    )


def _read_decoded(open_file: OpenFile, encoding: str, args: ReadFileArguments) -> ToolResult:
    data = _read_all(open_file).content
    text = data.decode(encoding, "replace").removeprefix("\ufeff").encode()
    name = encoding.removesuffix("-le").removesuffix("-be").upper()
    head = f"{open_file.path} is in {name} ({len(data):,} bytes); as UTF-8:"
    return _read_converted(open_file, text, head, args)


def _read_converted(open_file: OpenFile, text: bytes, head: str, args: ReadFileArguments) -> ToolResult:
    """Return lines of what a file's bytes mean, or all of it below a line that says how it was made."""
    if args.start_line is not None or args.end_line is not None:
        return _read_range(open_file, text.splitlines(keepends=True), args.start_line or 1, args.end_line)
    return ToolResult(f"{head}\n".encode() + text, target=open_file.path)


def _read_range(
    open_file: OpenFile, lines: Iterable[bytes], first_line: int, last_line: int | None
) -> ToolResult:
    if last_line is not None and last_line < first_line:
        raise ToolError(f"end_line ({last_line}) is before start_line ({first_line}).")
    if open_file.stamp.size > _RANGE_CAP:
        raise ToolError(f"{open_file.path} is over 256 MB.", fix="Use search_text or run_command on it.")
    selected, total = _select_lines(lines, first_line, last_line)
    if not selected:
        raise ToolError(f"{open_file.path} has {total:,} lines; start_line {first_line} is past its end.")
    end = first_line + len(selected) - 1
    head = f"Lines {first_line}-{end} of {total} of {open_file.path}:\n".encode()
    body = b"".join(b"%d:%b" % pair for pair in enumerate(selected, first_line))
    if len(body) > _WHOLE_CAP - len(head):
        raise ToolError(
            f"Lines {first_line}-{end} of {open_file.path} are over 64 MB.", fix="Ask for fewer lines."
        )
    return ToolResult(head + body, target=f"{open_file.path}:{first_line}-{end}")


def _select_lines(lines: Iterable[bytes], first_line: int, last_line: int | None) -> tuple[list[bytes], int]:
    selected = []
    number = 0
    for number, line in enumerate(lines, 1):
        if number >= first_line and (last_line is None or number <= last_line):
            selected.append(line)
    return selected, number


_DEFAULT_DEPTH = 2
_MAX_DEPTH = 6
_MAX_ITEMS = 1_000
_NOT_EXPANDED = frozenset(
    {".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".mypy_cache"}
)


class ListDirectoryArguments(Arguments, frozen=True):
    """The arguments of list_directory; depth 1 lists only the folder itself."""

    path: str = "."
    depth: Line | None = None


class ListDirectory(UnguardedTool[ListDirectoryArguments]):
    """Lists a folder as a tree, folders first, with sizes."""

    name = "list_directory"
    arguments_type = ListDirectoryArguments

    def __init__(self, jail: Jail) -> None:
        self._jail = jail

    async def run(
        self, call_id: str, args: ListDirectoryArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        return await asyncio.to_thread(self._list, args)

    def _list(self, args: ListDirectoryArguments) -> ToolResult:
        depth = min(args.depth or _DEFAULT_DEPTH, _MAX_DEPTH)
        lines: list[str] = []
        rel, count = self._branch(args.path, depth, "  ", lines)
        cut = f"\n(only the first {_MAX_ITEMS:,} shown; list a folder of it)" if count > _MAX_ITEMS else ""
        text = "\n".join([f"{rel or '.'}/ ({pluralize(count, 'entry', 'entries')})", *lines])
        left_out = LEFT_OUT if self._jail.limits.ignore_file.exists else ""
        return ToolResult(f"{text}{cut}\n{left_out}".encode(), target=rel or ".")

    def _branch(self, path: str, depth: int, indent: str, lines: list[str]) -> tuple[str, int]:
        rel, items = self._jail.list_entries(path)
        sealed = {top for top in self._jail.limits.hidden if len(top) == rel.count("/") + 2 - (not rel)}
        count = 0
        for item in sorted(items, key=lambda item: (item.kind != "folder", item.name)):
            parts = (*(rel.split("/") if rel else ()), item.name)
            if parts in sealed or self._jail.limits.ignore_file.ignores(parts, item.kind == "folder"):
                continue
            count += 1
            if len(lines) >= _MAX_ITEMS:
                continue
            name = escape_undecodable(item.name)
            open_it = item.kind == "folder" and depth > 1 and item.name not in _NOT_EXPANDED
            lines.append(
                indent
                + _line(
                    item.kind,
                    escape_hidden_name(name),
                    item.size,
                    item.link_target,
                    item.name in _NOT_EXPANDED,
                )
            )
            if open_it:
                place = "/".join(map(escape_undecodable, parts))
                count += self._branch_or_note(place, depth - 1, indent + "  ", lines)
        return rel, count

    def _branch_or_note(self, path: str, depth: int, indent: str, lines: list[str]) -> int:
        try:
            return self._branch(path, depth, indent, lines)[1]
        except ToolError as error:
            lines.append(f"{indent}({error})")
            return 0


def _line(kind: str, name: str, size: int, link_target: str, is_collapsed: bool) -> str:
    name = escape_hidden_name(name)
    if kind == "folder":
        return f"{name}/" + (" (not opened)" if is_collapsed else "")
    if kind == "link":
        return f"{name} -> {escape_hidden_name(link_target.encode(errors='backslashreplace').decode())}"
    return f"{name}  {format_bytes(size)}" if kind == "file" else f"{name}  (special file)"


def reading_tools(jail: Jail, ripgrep: Ripgrep) -> tuple[Tool[Any], ...]:
    """Return the tools of this module, in the order in which a model is offered them."""
    return ReadFile(jail, ripgrep), ListDirectory(jail)
