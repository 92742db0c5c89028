"""Reads files for the user: those to attach, of a PDF its text, and prompt files; nothing in them is run."""

from __future__ import annotations

import asyncio
import io
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import InvalidInput, ToolError
from helix_desktop.domain.files.content import (
    FINGERPRINT_DIGITS,
    FileVersion,
    PdfFailure,
    PdfRefused,
    PdfText,
)
from helix_desktop.domain.slash_command import (
    FOLDER_MARK,
    MAX_PROMPT_BYTES,
    SUFFIX,
    PromptFile,
    PromptScope,
    command_key,
    is_command_name,
    name_of,
    parse_prompt_file,
)
from helix_desktop.domain.translatable_text import (
    ByteSize,
    OptionalText,
    TextContext,
    TranslatableText,
    join_sentences,
    verbatim,
)
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.tools.files.file_versions import version_of
from helix_desktop.tools.files.jail import DirEntry, Jail
from helix_desktop.tools.tool import PathRefused

text = TextContext("Prompt files")
_text = TextContext("Agent")

MAX_PAGES = 500  # a long book; what lies behind is named, not read
DEADLINE_S = 10.0  # seconds for all pages: some 300 of text on an old computer
MAX_CHARS = 4 * 1024 * 1024  # characters of text
_STREAM_BYTES = 16 * 1024 * 1024  # of one unpacked stream: a page of text has far below 1 MB
_LIMITS: dict[str, Any] = {
    "zlib_maximum_output_length": _STREAM_BYTES,
    "lzw_maximum_output_length": _STREAM_BYTES,
    "run_length_maximum_output_length": _STREAM_BYTES,
    "brotli_maximum_output_length": _STREAM_BYTES,
    "array_based_stream_maximum_output_length": _STREAM_BYTES,
    "maximum_declared_stream_length": 4 * _STREAM_BYTES,
    "stream_decoding_work_maximum_length": 4 * _STREAM_BYTES,
    "stream_parsing_work_maximum_count": 500_000,
    "page_tree_maximum_entries": 20_000,
    "page_tree_maximum_page_entries": 100_000,
    "xform_maximum_invocations_per_extraction": 500,
    "jbig2dec_binary": None,
}


class _OutOfTime(Exception):
    """The deadline passed inside a page."""


class _TimedBytes(io.BytesIO):
    """Bytes that can be read until it is late: a damaged file is searched for objects from end to end."""

    def __init__(self, data: bytes, is_late: Callable[[], bool]) -> None:
        super().__init__(data)
        self._is_late = is_late

    def read(self, size: int | None = -1, /) -> bytes:
        if self._is_late():
            raise _OutOfTime
        return super().read(size)


def pdf_text(data: bytes, clock: Callable[[], float] = time.monotonic, max_pages: int = MAX_PAGES) -> PdfText:
    """Return the text of a PDF. Raises PdfRefused for one that has a password, no text, or is none.

    Blocks for some seconds at most; what was not read until then is named at the end of the text.
    """
    import pypdf

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it reports every flaw of a file
    deadline = clock() + DEADLINE_S

    def is_late() -> bool:
        return clock() > deadline

    with pypdf.apply_configuration(**_LIMITS):
        try:
            reader = pypdf.PdfReader(_TimedBytes(data, is_late))
            if reader.is_encrypted and not reader.decrypt(""):
                raise PdfRefused("password")
            count = len(reader.pages)
        except PdfRefused:
            raise
        except pypdf.errors.DependencyError as error:
            raise PdfRefused("password") from error
        except Exception as error:  # a damaged file raises whatever its damage leads to
            raise PdfRefused("slow" if is_late() else "damaged") from error
        parts: list[str] = []
        chars = pages = 0
        failure: PdfFailure = "pictures"
        for number in range(1, min(count, max_pages) + 1):
            if is_late() or chars > MAX_CHARS:
                break
            try:
                text = _read_page(reader, number, is_late)
            except _OutOfTime:
                break
            except PdfRefused as error:  # the others may be readable
                text = ""
                failure = error.reason
            pages = number
            if text:
                parts.append(f"[Page {number}]\n{text}\n")
                chars += len(text)
        if not parts:
            raise PdfRefused("slow" if is_late() or pages < count else failure, count)
        if pages < count:
            parts.append(f"[Pages {pages + 1}-{count} were not read.]\n")
        return PdfText("\n".join(parts), pages, count)


def _read_page(reader: Any, number: int, is_late: Callable[[], bool]) -> str:
    """Return the text of a page. Raises _OutOfTime, PdfRefused."""
    from pypdf.errors import LimitReachedError

    def stop_when_late(*_: object) -> None:
        if is_late():
            raise _OutOfTime

    try:
        text: str = reader.pages[number - 1].extract_text(visitor_operand_before=stop_when_late)
    except LimitReachedError as error:
        raise PdfRefused("slow") from error
    except Exception as error:  # the library may have put one of its own in place of ours
        if is_late():
            raise _OutOfTime from error
        raise PdfRefused("damaged") from error
    if is_late():  # what the library made of our error may lack text
        raise _OutOfTime
    return text.strip()[:MAX_CHARS]


class JailedFileReader:
    def __init__(self, jail: Jail) -> None:
        self._jail = jail

    async def read(self, path: str, max_bytes: int) -> tuple[bytes, FileVersion]:
        return await asyncio.to_thread(self._read, path, max_bytes)

    async def pdf_text(self, data: bytes) -> PdfText:
        return await asyncio.to_thread(pdf_text, data)

    def _read(self, path: str, max_bytes: int) -> tuple[bytes, FileVersion]:
        name = escape_hidden_name(path)
        try:
            with self._jail.open_file(path) as opened:
                data = opened.file.read(max_bytes + 1)
                size = opened.stamp.size
                version = version_of(opened)
        except ToolError as error:
            raise InvalidInput(_not_attached(name), *_reason(error)) from error
        except OSError as error:
            raise InvalidInput(
                _not_attached(name), _text("{reason}.", reason=error.strerror or str(error))
            ) from error
        if len(data) > max_bytes:
            raise InvalidInput(
                _not_attached(name),
                _text("It has {size}; the limit is {limit}.", size=ByteSize(size), limit=ByteSize(max_bytes)),
                _text("Ask the agent to search it in the workspace."),
            )
        if not version.fingerprint.startswith(digest_of(data)[:FINGERPRINT_DIGITS]):
            version = msgspec.structs.replace(version, fingerprint="")  # it was written meanwhile
        return data, version


def _not_attached(name: str) -> TranslatableText:
    return _text("Couldn't attach {file}.", file=name)


def _reason(error: ToolError) -> tuple[TranslatableText, TranslatableText]:
    cause = error.__cause__
    if isinstance(cause, FileNotFoundError | NotADirectoryError):
        return _text("This file was not found in the workspace."), _text("Check the path.")
    if isinstance(cause, OSError):
        return (
            _text("{reason}.", reason=cause.strerror or os.strerror(cause.errno or 0)),
            _text("Check the file's permissions."),
        )
    return join_sentences(error.what, error.why), _text("Attach a regular file inside the workspace.")


MAX_FILES = 500
_MAX_DEPTH = 6  # folders within folders
_MAX_ENTRIES = 5_000  # of all folders, that are looked at


class UnusableFile(msgspec.Struct, frozen=True):
    path: str
    why: TranslatableText
    fix: OptionalText = ""
    name: str = ""
    """The key of its command, if it could be typed."""


class PromptFolder:
    """The prompt files below a folder of a jail; all methods block."""

    def __init__(self, jail: Jail, folder: str, scope: PromptScope, display_folder: str = "") -> None:
        """`folder` is a path in the jail, empty for all of it; `display_folder` is what the user calls it."""
        self._jail = jail
        self._folder = folder
        self._scope = scope
        self._display_folder = display_folder or folder

    def read_all(self) -> Iterator[PromptFile | UnusableFile]:
        """Yield every prompt file below the folder, by path, and what cannot be used."""
        count = 0
        for found in self._find():
            if isinstance(found, UnusableFile):
                yield found
                continue
            count += 1
            if count > MAX_FILES:
                yield UnusableFile(
                    self._display(found),
                    text("Only the first {count} prompt files of a folder are read.", count=MAX_FILES),
                    text("Move files that you don't need elsewhere."),
                )
                return
            yield self._read(found)

    def _find(self) -> Iterator[str | UnusableFile]:
        """Yield the paths of what may be a prompt file, by name, those of subfolders later."""
        pending = [""]
        room = _MAX_ENTRIES
        while pending:
            folder = pending.pop(0)
            entries = self._list(folder)
            if isinstance(entries, UnusableFile):
                yield entries
                continue
            for entry in entries[:room]:
                path = f"{folder}/{entry.name}".lstrip("/")
                if entry.name.endswith(SUFFIX):
                    yield path
                elif entry.kind in ("folder", "link") and path.count("/") < _MAX_DEPTH:
                    pending.append(path)
            room -= min(room, len(entries))

    def _list(self, folder: str) -> list[DirEntry] | UnusableFile:
        """Return what is in a folder, by name; nothing if it is not there, or a file."""
        try:
            _, entries = self._jail.list_entries(self._inside(folder))
        except ToolError as error:
            if isinstance(error.__cause__, FileNotFoundError | NotADirectoryError) or self._is_file(folder):
                return []
            return self._refused(folder, error)
        return sorted(entries, key=lambda entry: entry.name)

    def _is_file(self, path: str) -> bool:
        with suppress(ToolError), self._jail.open_file(self._inside(path)):
            return True
        return False

    def _read(self, path: str) -> PromptFile | UnusableFile:
        name = name_of(path)
        if FOLDER_MARK in path or not is_command_name(name):
            return UnusableFile(
                self._display(path),
                text("Its name can't be typed as a command."),
                text("Use letters, digits, “-” and “_” in the names of files and folders."),
            )
        try:
            with self._jail.open_file(self._inside(path)) as opened:
                data = opened.file.read(MAX_PROMPT_BYTES + 1)
                size = max(opened.stamp.size, len(data))
        except ToolError as error:
            return replace(self._refused(path, error), name=command_key(name))
        if size > MAX_PROMPT_BYTES:
            size_limit = ByteSize(MAX_PROMPT_BYTES)
            why = text("It has {size}; the limit is {limit}.", size=ByteSize(size), limit=size_limit)
            fix = text("Shorten it.")
        else:
            try:
                return parse_prompt_file(data, name, self._scope, self._display(path))
            except UnicodeDecodeError:
                why = text("It isn't UTF-8 text.")
                fix = text("Save it as UTF-8 text.")
        return UnusableFile(self._display(path), why, fix, command_key(name))

    def _refused(self, path: str, error: ToolError) -> UnusableFile:
        fix: OptionalText = (
            text("Replace it with a file or folder of its own, not a link.")
            if isinstance(error, PathRefused)
            else ""
        )
        return UnusableFile(self._display(path), verbatim(error.why or error.what), fix)

    def _inside(self, path: str) -> str:
        return f"{self._folder}/{path}".strip("/")

    def _display(self, path: str) -> str:
        return escape_hidden_name(f"{self._display_folder}/{path}".strip("/"))
