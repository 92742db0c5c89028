"""Writes cached contents to a folder or a zip, each as a file of its own, with an index of what they are."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

import msgspec

from helix_desktop.context.window.used_tokens import content_tokens
from helix_desktop.domain.builtin_tools import BUILTIN_TOOLS
from helix_desktop.domain.errors import ContentDamaged, HelixError
from helix_desktop.domain.listeners import OnProgress, no_progress
from helix_desktop.domain.store import CacheEntry, ContentReader
from helix_desktop.domain.translatable_text import TextContext, system_reason

_text = TextContext("Services")

INDEX_NAME = "index.json"
_FORMAT = 1  # of the index
_NAME_CHARS = 48  # of a file's name without its ending
_DIGITS = 8  # of the digest behind it
_FIRST_ZIP_MS = 315_532_800_000 + 86_400_000  # 1980, before which a zip has no dates; a day for time zones


class ExportedEntries(msgspec.Struct):
    """What was exported so far: `damaged` counts contents that could not be read."""

    place: Path
    files: int = 0
    size: int = 0
    damaged: int = 0


class _Target(Protocol):
    def add(self, name: str, data: bytes, time_ms: int) -> str:
        """Write a file, and return the name that it has. Raises OSError."""
        ...


async def export_to_folder(
    store: ContentReader, digests: Sequence[str], done: ExportedEntries, on_progress: OnProgress = no_progress
) -> None:
    """Write contents into the folder `done.place`; what is there already stays as it is.

    Raises HelixError if it cannot be written, StoreError. What was written before it was canceled stays.
    """
    await _export(store, digests, _Folder(done.place), done, on_progress)


async def export_to_zip(
    store: ContentReader, digests: Sequence[str], done: ExportedEntries, on_progress: OnProgress = no_progress
) -> None:
    """Write contents into a new zip at `done.place`, in place of a file there once it is complete.

    Raises as `export_to_folder` does; then, and when it is canceled, no zip is left.
    """
    part = done.place.with_name(f".{done.place.name}.{os.getpid()}.part")
    with _as_save_error(done.place):
        target = await asyncio.to_thread(_Zip, part)
    try:
        try:
            await _export(store, digests, target, done, on_progress)
        finally:
            with _as_save_error(done.place):
                await asyncio.to_thread(target.close)
        with _as_save_error(done.place):
            await asyncio.to_thread(part.replace, done.place)
    finally:
        await asyncio.to_thread(part.unlink, missing_ok=True)


def file_name(entry: CacheEntry) -> str:
    """Return a name for the file of a content: what it is of, and the first digits of its digest."""
    path = PurePosixPath(entry.target.replace("\\", "/"))
    builtin = BUILTIN_TOOLS.get(entry.tool)
    is_file = builtin is not None and builtin.is_of_file
    words = path.stem if is_file else f"{entry.tool} {entry.target}"
    safe = "".join(sign if sign.isalnum() or sign in "._" else "-" for sign in words)
    stem = "-".join(filter(None, safe.split("-")))[:_NAME_CHARS].strip("._-")
    suffix = path.suffix if is_file and path.suffix[1:].isalnum() and path.suffix.isascii() else ".txt"
    return f"{'-'.join(filter(None, (stem, entry.digest[:_DIGITS])))}{suffix[:12]}"


async def _export(
    store: ContentReader,
    digests: Sequence[str],
    target: _Target,
    done: ExportedEntries,
    on_progress: OnProgress,
) -> None:
    index = []
    for number, digest in enumerate(digests):
        on_progress(number, len(digests))
        entry = await store.entry(digest)
        try:
            data = await store.get(digest)
        except ContentDamaged:
            done.damaged += 1
            index.append(_index_row(entry, ""))
            continue
        with _as_save_error(done.place):
            name = await asyncio.to_thread(target.add, file_name(entry), data, entry.created)
        index.append(_index_row(entry, name))
        done.files = done.files + 1
        done.size = done.size + len(data)
    document = {"format": _FORMAT, "entries": index}
    rows = json.dumps(document, ensure_ascii=False, indent=1).encode("utf-8", "replace")
    with _as_save_error(done.place):
        await asyncio.to_thread(target.add, INDEX_NAME, rows, 0)


def _index_row(entry: CacheEntry, file: str) -> dict[str, Any]:
    """Return what the index says of a content; a damaged one has no file."""
    return {
        "file": file or None,
        "sha256": entry.digest,
        "kind": entry.kind,
        "tool": entry.tool,
        "target": entry.target,
        "first_line": _unquoted(entry.first_line),
        "size": entry.size,
        "tokens": content_tokens(entry),
        "created": _time(entry.created),
        "last_used": _time(entry.last_used),
        "session": entry.session,
    }


def _unquoted(line: str) -> str:
    """Return a line of a content without the quotes that it is stored with, as JSON has its own."""
    return line[1:-1] if len(line) > 1 and line[0] == line[-1] == '"' else line


def _time(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="seconds")


class _Folder:
    """A folder in which no file is replaced, and no link followed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, name: str, data: bytes, _time_ms: int) -> str:
        """Write a file, under another name if there is a different one. Raises OSError."""
        stem = PurePosixPath(name).stem
        suffix = PurePosixPath(name).suffix
        number = 1
        while True:
            path = self._folder / (name if number == 1 else f"{stem}-{number}{suffix}")
            number += 1
            try:
                file = path.open("xb")
            except FileExistsError:
                if _has_content(path, data):
                    return path.name
                continue
            try:
                with file:
                    file.write(data)
            except OSError:
                path.unlink(missing_ok=True)
                raise
            return path.name


def _has_content(path: Path, data: bytes) -> bool:
    """Return True if a regular file has this content; a file that cannot be read has another one."""
    try:
        return path.is_file() and not path.is_symlink() and path.read_bytes() == data
    except OSError:
        return False


class _Zip:
    def __init__(self, path: Path) -> None:
        self._zip = zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED)
        self._names: set[str] = set()
        self._lock = threading.Lock()  # a canceled export may close it while a thread still writes

    def add(self, name: str, data: bytes, time_ms: int) -> str:
        stem = PurePosixPath(name).stem
        suffix = PurePosixPath(name).suffix
        number = 1
        while name.casefold() in self._names:
            number += 1
            name = f"{stem}-{number}{suffix}"
        self._names.add(name.casefold())
        moment = datetime.fromtimestamp(max(time_ms, _FIRST_ZIP_MS) / 1000, UTC)
        head = zipfile.ZipInfo(name, moment.timetuple()[:6])
        head.compress_type = zipfile.ZIP_DEFLATED
        with self._lock:
            self._zip.writestr(head, data)
        return name

    def close(self) -> None:
        with self._lock:
            self._zip.close()


@contextmanager
def _as_save_error(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise HelixError(
            _text("Couldn't save to {file}.", file=place),
            system_reason(error),
            _text("Choose another folder."),
        ) from error
