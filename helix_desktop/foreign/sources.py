"""Where the records of a session stand: lines of a file, entries of a list, files of a folder, a database.

Everything is opened for reading only. A database is read from a copy: reading takes longer than its agent
would wait for it.
"""

from __future__ import annotations

import codecs
import errno
import gzip
import io
import json
import re
import shutil
import sqlite3
import tempfile
import zlib
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec
import zstandard
from msgspec.structs import replace

from helix_desktop.domain.choices import ForeignAgent
from helix_desktop.domain.digest import is_digest
from helix_desktop.domain.image import MAX_IMAGE_BYTES
from helix_desktop.foreign.items import (
    Reader,
    Record,
    as_count,
    as_dict,
    as_list,
    as_text,
    decode_object,
    decode_objects,
    encode,
    rest_of,
)
from helix_desktop.foreign.message_readers import (
    ChatMessagesReader,
    ClineReader,
    OpencodeReader,
    history_messages,
    of_second_format,
)
from helix_desktop.foreign.record_readers import ClaudeCodeReader, CodexReader, PiReader

HISTORY_NAMES = ("api_conversation_history.json", "claude_messages.json")
"""Of the messages of a task of Cline and Roo Code; the second one only of old versions."""
MAX_LINE_BYTES = 256 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_MAX_BYTES = 1024 * 1024 * 1024  # of a JSON document; of the lines of a file, plus _MAX_RATIO times its size
_MAX_RATIO = 1000  # of compression

_UNPACKING_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError)
"""What reading a compressed file raises that is cut off or damaged."""

SourceKind = Literal["lines", "history", "files", "database", "export"]
"""Lines of a file; a list in a file; opencode's files, its database, and what it exports."""


class Source(msgspec.Struct, frozen=True):
    """The records of one conversation. `session` names it in a source that has several.

    In a file of lists of chat messages that is its number, from 1, and `start` where its line begins.
    """

    agent: ForeignAgent
    path: Path
    kind: SourceKind = "lines"
    session: str = ""
    is_subagent: bool = False
    start: int = 0

    def reader(self) -> Reader:
        match self.agent:
            case "claude-code":
                return ClaudeCodeReader(is_subagent=self.is_subagent)
            case "codex":
                return CodexReader()
            case "opencode":
                return OpencodeReader()
            case "pi":
                return PiReader()
            case "chat-messages":
                return ChatMessagesReader()
            case "cline" | "roo-code" as agent:
                return ClineReader(agent)

    def records(self, max_bytes: int = 0) -> Iterator[Record]:
        """Yield the records. A half-written last one is left out. Raises OSError, sqlite3.Error.

        Of a file with lines at most `max_bytes` are read; 0: all.
        What stands beside the messages of a task is rewritten all the time, and has no number of its own.
        """
        number = 0
        if self.kind == "history":
            yield Record(0, encode({"type": "task", "entry": task_facts(self.path)}))
        for number, raw in enumerate(self._raw_records(max_bytes), 1):
            yield Record(number, raw)
        if self.kind == "history":
            for raw in _task_files(self.path):
                yield Record(number, raw)

    def _raw_records(self, max_bytes: int) -> Iterator[bytes]:
        match self.kind:
            case "lines" if self.session:
                return _line_at(self.path, self.start)
            case "lines":
                return _lines(self.path, max_bytes)
            case "history":
                return _history(self.path)
            case "files":
                return _opencode_files(self.path, self.session)
            case "database":
                return _opencode_rows(self.path, self.session)
            case "export":
                return _opencode_export(self.path)

    @property
    def size(self) -> int:
        """The bytes of its file; 0 where it shares one, or has many."""
        if self.kind in ("lines", "history", "export"):
            with suppress(OSError):
                return self.path.stat().st_size
        return 0


class _Transcoded(io.RawIOBase):
    """A text file in another encoding, read as UTF-8."""

    def __init__(self, file: io.BufferedIOBase, encoding: str) -> None:
        self._file = file
        self._left = b""
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left and (data := self._file.read(_CHUNK_BYTES)):
            self._left = self._decoder.decode(data).encode("utf-8", "replace")
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size


def _encoding_of(start: bytes) -> str:
    """Return the encoding of a JSON text by its first bytes; empty for UTF-8 without a mark."""
    if start.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if start in (b"{\0", b"[\0"):
        return "utf-16-le"
    return "utf-16-be" if start in (b"\0{", b"\0[") else ""


@contextmanager
def _open_plain(path: Path) -> Iterator[io.BufferedIOBase]:
    """Open a file as UTF-8, which may be compressed with gzip or zstd. Raises OSError."""
    with _open_unpacked(path) as file:
        try:
            start = file.peek(3)[:3]
        except _UNPACKING_ERRORS:  # whoever reads it finds out
            start = b""
        encoding = _encoding_of(start) or _encoding_of(start[:2])
        yield io.BufferedReader(_Transcoded(file, encoding), _CHUNK_BYTES) if encoding else file


@contextmanager
def _open_unpacked(path: Path) -> Iterator[io.BufferedReader | gzip.GzipFile]:
    with path.open("rb") as file:
        magic = file.read(4)
        file.seek(0)
        if magic.startswith(_GZIP):
            with gzip.GzipFile(fileobj=file, mode="rb") as plain:
                yield plain
        elif magic == _ZSTD:
            with zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as stream:
                yield io.BufferedReader(stream)
        else:
            yield file


def _lines(path: Path, max_bytes: int) -> Iterator[bytes]:
    """Yield the lines of a file that are not blank; not the last one while it is only half written.

    Where a compressed file is damaged an empty line stands for the rest.
    """
    left = max_bytes or _MAX_BYTES + _MAX_RATIO * path.stat().st_size
    is_rest = False
    with _open_plain(path) as file:
        while left > 0:
            try:
                raw = file.readline(min(MAX_LINE_BYTES, left))
            except EOFError:
                return  # the compressed file is cut off
            except _UNPACKING_ERRORS:
                yield b""
                return
            if not raw:
                return
            left -= len(raw)
            is_cut = not raw.endswith(b"\n")
            if not is_rest:
                if is_cut and len(raw) < MAX_LINE_BYTES and not decode_objects(raw):
                    return
                if raw.strip():
                    yield raw.rstrip(b"\r\n")
            is_rest = is_cut  # of a line that is too long


def _line_at(path: Path, start: int) -> Iterator[bytes]:
    """Yield the line that begins at a byte of a file."""
    with _open_plain(path) as file:
        left = start
        while left > 0 and (data := file.read(min(left, _CHUNK_BYTES))):
            left -= len(data)
        if raw := file.readline(MAX_LINE_BYTES):
            yield raw.rstrip(b"\r\n")


def conversations_in(source: Source) -> Iterator[Source]:
    """Yield the conversations of a source: of a file with several lists of messages one for each.

    Raises OSError.
    """
    starts = _starts_of_lists(source.path) if source.agent == "chat-messages" else []
    if not starts[1:]:
        yield source
        return
    for number, start in enumerate(starts, 1):
        yield replace(source, session=str(number), start=start)


def _starts_of_lists(path: Path) -> list[int]:
    """Return where the lines begin that are a list of messages. Raises OSError."""
    starts = list[int]()
    position = 0
    with _open_plain(path) as file, suppress(*_UNPACKING_ERRORS):
        while raw := file.readline(MAX_LINE_BYTES):
            if b'"messages"' in raw and "messages" in (decode_object(raw) or {}):
                starts.append(position)
            position += len(raw)
    return starts


def read_document(path: Path) -> bytes:
    """Return the UTF-8 bytes of a JSON document; none if it is too large. Raises OSError."""
    data = path.read_bytes() if path.stat().st_size <= _MAX_BYTES else b""
    encoding = _encoding_of(data[:3]) or _encoding_of(data[:2])
    return data.decode(encoding, "replace").encode("utf-8", "replace") if encoding else data


def _history(path: Path) -> Iterator[bytes]:
    """Yield the messages of a task of Cline or Roo Code, with what Cline keeps beside them.

    Its older ones have the times of its screen and the models of its list; large images are files.
    """
    messages = _entries(read_document(path))
    times = _screen_times(path.parent / "ui_messages.json", len(messages))
    models = as_list(_read_object(path.parent / "task_metadata.json").get("model_usage"))
    for message, ts in zip(messages, times, strict=True):
        more = dict[str, Any]()
        fields = as_dict(message)
        if fields and ts and "ts" not in fields:
            more["ts"] = ts
        if models and fields.get("role") == "assistant" and "modelInfo" not in fields:
            at = as_count(fields.get("ts", ts))
            before = [model for model in map(as_dict, models) if as_count(model.get("ts")) <= at]
            model = before[-1] if before else as_dict(models[0])
            names = {"providerId": model.get("model_provider_id"), "modelId": model.get("model_id")}
            more["modelInfo"] = names
        raw = encode({**fields, **more} if more else message)
        if b'"image_ref"' in raw:
            with suppress(RecursionError):
                raw = encode(_with_images(fields | more, path.parent / "blobs"))
        yield raw


def _with_images(value: Any, folder: Path) -> Any:
    """Return decoded JSON with the images themselves where it names their files."""
    if isinstance(value, list):
        return [_with_images(item, folder) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") == "image_ref" and is_digest(digest := as_text(value.get("blobId"))):
        for file in folder.glob(f"{digest}.*"):
            with suppress(OSError):
                if file.is_file() and file.stat().st_size <= MAX_IMAGE_BYTES:
                    return {"type": "image", "data": b64encode(file.read_bytes()).decode()}
    return {key: _with_images(item, folder) for key, item in value.items()}


def _screen_times(path: Path, count: int) -> list[object]:
    """Return when each message was on screen, as far as it is known; 0 for others."""
    times: list[object] = [0] * count
    with suppress(OSError):
        for entry in map(as_dict, _entries(read_document(path))):
            index = entry.get("conversationHistoryIndex")
            if isinstance(index, int) and -1 <= index < count - 1:  # of the message before
                times[index + 1] = times[index + 1] or entry.get("ts")
    return times


@lru_cache(maxsize=1)
def _listed_tasks(history: Path, mtime_ns: int) -> dict[str, dict[str, Any]]:
    """Return the tasks in Cline's list of them by id; `mtime_ns` is when that was changed. Raises OSError."""
    return {as_text(entry.get("id")): entry for entry in map(as_dict, _entries(read_document(history)))}


def task_facts(path: Path) -> dict[str, str]:
    """Return the folder, title and version of the task whose messages a file has, as far as it says so."""
    folder = path.parent
    facts = _read_object(folder / "history_item.json") or _read_object(folder / f"{folder.name}.json")
    if not facts:
        with suppress(OSError):
            history = folder.parent.parent / "state" / "taskHistory.json"
            facts = _listed_tasks(history, history.stat().st_mtime_ns).get(folder.name, {})
    names = ("workspace", "cwdOnTaskInitialization", "cwd", "workspace_root")
    cwd = next(filter(None, (as_text(facts.get(name)) for name in names)), "")
    with suppress(OSError):
        if not cwd:
            with path.open("rb") as file:
                start = file.read(_CHUNK_BYTES).decode("utf-8", "replace")
            found = re.search(r"Current (?:Working|Workspace) Directory \((.{1,400}?)\)", start)
            cwd = found[1].replace("\\\\", "\\") if found else ""
    environments = as_list(_read_object(folder / "task_metadata.json").get("environment_history"))
    version = as_text(as_dict(environments[-1] if environments else None).get("cline_version"))
    title = as_text(as_dict(facts.get("metadata")).get("title"))
    return {"id": folder.name, "folder": cwd, "title": title, "version": version}


def _task_files(path: Path) -> Iterator[bytes]:
    """Yield what stands beside the messages of a task, in its folder and around them in their file."""
    for name, kind in (("ui_messages.json", "ui-message"), ("context_history.json", "context-history")):
        with suppress(OSError):
            for entry in _entries(read_document(path.parent / name)):
                yield encode({"type": kind, "entry": entry})
    folder = path.parent
    for kind, entry in (
        ("task-metadata", _read_object(folder / "task_metadata.json")),
        ("history-item", _read_object(folder / "history_item.json")),
        ("session-manifest", _read_object(folder / f"{folder.name}.json")),
        ("history", rest_of(_read_object(path), "messages", "version")),
    ):
        if entry:
            yield encode({"type": kind, "entry": entry})


def _entries(data: bytes) -> list[Any]:
    """Return the entries of a list; of one that is damaged, those before the damage."""
    try:
        return history_messages(msgspec.json.decode(data))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    text = data.decode("utf-8", "replace")
    decoder = json.JSONDecoder()
    entries = list[Any]()
    at = text.find("[") + 1
    while at:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        try:
            entry, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        entries.append(msgspec.json.decode(json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace")))
    return entries


def is_finished(info: dict[str, Any]) -> bool:
    """Return True if nothing more comes to a message of opencode."""
    done = as_dict(info.get("time")).get("completed")
    return info.get("role") != "assistant" or bool(done) or bool(info.get("error"))


def _messages(
    session: dict[str, Any], messages: Iterator[tuple[dict[str, Any], list[Any]]]
) -> Iterator[bytes]:
    """Yield a session of opencode as records, without a last message that is not finished."""
    yield encode({"info": session})
    unfinished = b""
    for info, parts in messages:
        if unfinished:  # opencode ended during it
            yield unfinished
        record = encode({"info": info, "parts": parts})
        unfinished = b"" if is_finished(info) else record
        if not unfinished:
            yield record


def _read_object(path: Path) -> dict[str, Any]:
    with suppress(OSError):
        return decode_object(read_document(path)) or {}
    return {}


def _opencode_files(storage: Path, session_id: str) -> Iterator[bytes]:
    session = next(
        (
            found
            for path in sorted(storage.glob(f"session/*/{session_id}.json"))
            if (found := _read_object(path))
        ),
        {},
    )

    def messages() -> Iterator[tuple[dict[str, Any], list[Any]]]:
        first = storage / "session"  # below it in the first versions
        for path in sorted(
            [*storage.glob(f"message/{session_id}/*.json"), *first.glob(f"message/{session_id}/*.json")]
        ):
            files = [
                *storage.glob(f"part/{path.stem}/*.json"),
                *first.glob(f"part/{session_id}/{path.stem}/*.json"),
            ]
            yield _read_object(path), [part for file in sorted(files) if (part := _read_object(file))]

    yield from _messages(session, messages())


@contextmanager
def open_database(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a copy of a database, which may be in use. Raises OSError, sqlite3.Error."""
    with tempfile.TemporaryDirectory(prefix="helix-import-") as folder:
        copy = Path(folder) / path.name
        _copy_database(path, copy)
        with closing(sqlite3.connect(copy)) as database:
            try:
                yield database
            except UnicodeDecodeError as error:  # the name of a column, in a damaged schema
                raise sqlite3.DatabaseError(str(error)) from error


def _copy_database(path: Path, copy: Path) -> None:
    """Copy a database as it is at one moment, under SQLite's locks. Raises OSError, sqlite3.Error.

    SQLite refuses where it would have to write: an index of the write-ahead log, or what it rolls back. That
    is so while nobody has the database open, and then its files can be copied.
    """
    index = Path(f"{path}-shm")
    has_index = index.exists()
    live = f"{path.absolute().as_uri()}?mode=ro&readonly_shm=1"
    try:
        with closing(sqlite3.connect(live, uri=True)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
        for suffix in ("", "-wal", "-journal"):
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
        if index.exists() and not has_index:  # opened meanwhile
            _copy_database(path, copy)


def row_object(data: object) -> dict[str, Any]:
    if isinstance(data, str):
        data = data.encode("utf-8", "replace")
    if not isinstance(data, bytes):
        return {}
    return decode_object(data) or {}


def session_row(row: tuple[Any, ...]) -> dict[str, Any]:
    """Return a session as opencode's files have it, from the columns that `SESSION_COLUMNS` names."""
    session_id, parent, folder, title, version, created, updated = row
    return {
        "id": session_id,
        **({"parentID": parent} if parent else {}),
        "directory": folder,
        "title": title,
        "version": version,
        "time": {"created": created, "updated": updated},
    }


SESSION_COLUMNS = "id, parent_id, directory, title, version, time_created, time_updated"


def _opencode_rows(path: Path, session_id: str) -> Iterator[bytes]:
    with open_database(path) as database:
        found = database.execute(
            f"SELECT {SESSION_COLUMNS} FROM session WHERE id = ?", (session_id,)
        ).fetchone()

        def messages() -> Iterator[tuple[dict[str, Any], list[Any]]]:
            rows = database.execute(
                "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (session_id,)
            ).fetchall()
            if not rows:
                with suppress(sqlite3.OperationalError):  # older ones don't have the second format
                    for message_id, kind, data in database.execute(
                        "SELECT id, type, data FROM session_message WHERE session_id = ? ORDER BY seq",
                        (session_id,),
                    ):
                        yield of_second_format(str(message_id), str(kind), row_object(data))
            for message_id, data in rows:
                parts = database.execute(
                    "SELECT id, data FROM part WHERE message_id = ? ORDER BY id", (message_id,)
                )
                listed = [{"id": part_id, **row_object(part)} for part_id, part in parts]
                yield {"id": message_id, **row_object(data)}, listed

        yield from _messages(session_row(found) if found else {}, messages())


def _opencode_export(path: Path) -> Iterator[bytes]:
    document = _read_object(path)
    listed = [as_dict(message) for message in as_list(document.get("messages"))]
    messages = ((as_dict(message.get("info")), as_list(message.get("parts"))) for message in listed)
    yield from _messages(as_dict(document.get("info")), messages)


_SAMPLED_LINES = 30


def _beginning_of(path: Path) -> bytes:
    """Return the first bytes of a file that may be compressed, and damaged behind them. Raises OSError."""
    start = b""
    with _open_plain(path) as file:
        try:
            while len(start) < _CHUNK_BYTES and (more := file.read1(_CHUNK_BYTES)):
                start += more
        except _UNPACKING_ERRORS as error:
            if not start:
                raise OSError(errno.EIO, str(error)) from error
    return start


def recognize(path: Path) -> Source | None:
    """Return the source that a file is; None if no agent writes such a file. Raises OSError."""
    start = _beginning_of(path).lstrip()
    if path.name in HISTORY_NAMES:
        is_roo = (path.parent / "history_item.json").exists() or any(
            "roo" in part.name.lower() for part in list(path.parents)[1:3]
        )
        return Source("roo-code" if is_roo else "cline", path, "history")
    if start.startswith(b"["):
        return Source("cline", path, "history") if _entries(start) else None
    for raw in start.splitlines()[:_SAMPLED_LINES]:
        objects = decode_objects(raw)
        record = objects[0][0] if objects else None
        if record is not None and (agent := _agent_of(record)) is not None:
            return Source(agent, path, is_subagent=agent == "claude-code" and path.name.startswith("agent-"))
    document = _read_object(path)
    if "info" in document and "messages" in document:
        return Source("opencode", path, "export")
    if document.get("version") and as_list(document.get("messages")):
        return Source("cline" if "sessionId" in document else "roo-code", path, "history")
    return None


def _agent_of(record: dict[str, Any]) -> ForeignAgent | None:
    kind = as_text(record.get("type"))
    if kind == "session" and "cwd" in record:
        return "pi"
    if "payload" in record and "timestamp" in record:
        return "codex"
    if "messages" in record and "version" in record:  # one document, on one line
        return None
    if (
        "sessionId" in record
        or "parentUuid" in record
        or (kind == "file-history-snapshot" and "snapshot" in record)
    ):
        return "claude-code"
    if kind == "summary" and "leafUuid" in record:
        return "claude-code"
    if not kind and "id" in record and "timestamp" in record and "instructions" in record:
        return "codex"
    if as_text(record.get("role")) in ("system", "developer", "user", "assistant", "tool") or (
        "messages" in record and "info" not in record and "version" not in record
    ):
        return "chat-messages"
    return None
