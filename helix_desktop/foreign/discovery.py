"""Finds sessions of other agents where these keep them, and reads of each what a list shows.

Only looked for when the user asks; files are opened for reading only.
"""

from __future__ import annotations

import os
import re
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from helix_desktop.domain.choices import ForeignAgent
from helix_desktop.domain.text_format import title_line
from helix_desktop.domain.typed_text import typed_text
from helix_desktop.foreign.items import (
    About,
    Title,
    UserMessage,
    as_dict,
    as_text,
    decode_object,
    read_record,
    time_ms,
)
from helix_desktop.foreign.sources import (
    HISTORY_NAMES,
    SESSION_COLUMNS,
    Source,
    conversations_in,
    open_database,
    read_document,
    recognize,
    session_row,
)

_HEAD_BYTES = 512 * 1024  # of a file in which its title and folder are looked for
_HEAD_RECORDS = 400
_TAIL_BYTES = 64 * 1024  # where a newer title can stand
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_EDITORS = (
    *("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf", "Windsurf - Next", "Trae", "Positron"),
    *("Code - OSS", "Antigravity", "Kiro"),
)
_SERVERS = (
    *(".vscode-server", ".vscode-server-insiders", ".cursor-server", ".windsurf-server"),
    ".vscodium-server",
)
_EXTENSIONS: dict[str, ForeignAgent] = {
    "saoudrizwan.claude-dev": "cline",
    "rooveterinaryinc.roo-cline": "roo-code",
}


class FoundSession(msgspec.Struct, frozen=True):
    """A session of another agent: `id` is its id there. Size in bytes.

    `updated` is the time of its newest record, in milliseconds since 1970; where records have none, and in
    large compressed files, that of the file. `subagents` are the conversations of its subagents, by their
    ids there.
    """

    agent: ForeignAgent
    id: str
    source: Source
    title: str = ""
    folder: str = ""
    updated: int = 0
    size: int = 0
    subagents: tuple[tuple[str, Source], ...] = ()


class AgentFolders(msgspec.Struct, frozen=True):
    """Where the agents keep their sessions: the user's home, and what their environment says otherwise."""

    home: Path
    environ: Mapping[str, str]
    platform: str = sys.platform

    def claude_code(self) -> list[Path]:
        named = self.environ.get("CLAUDE_CONFIG_DIR", "")
        roots = [Path(part) for part in named.split(",") if part]
        roots = roots or [self.home / ".claude", self.home / ".config" / "claude"]
        return [root / "projects" for root in roots]

    def codex_home(self) -> Path:
        return Path(self.environ.get("CODEX_HOME") or self.home / ".codex")

    def codex(self) -> list[Path]:
        return [self.codex_home() / "sessions", self.codex_home() / "archived_sessions"]

    def opencode(self) -> Path:
        share = Path(self.environ.get("XDG_DATA_HOME") or self.home / ".local" / "share")
        return share / "opencode"

    def pi(self) -> Path:
        return Path(self.environ.get("PI_CODING_AGENT_DIR") or self.home / ".pi" / "agent") / "sessions"

    def editors(self) -> list[Path]:
        """Return the folders in which VS Code, and editors like it, keep the user's settings."""
        if self.platform == "darwin":
            editors = self.home / "Library" / "Application Support"
        elif self.platform == "win32":
            editors = Path(self.environ.get("APPDATA") or self.home / "AppData" / "Roaming")
        else:
            editors = Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config")
        users = [editors / name / "User" for name in _EDITORS]
        return [*users, *(self.home / name / "data" / "User" for name in _SERVERS)]

    def extensions(self) -> Iterator[tuple[ForeignAgent, Path]]:
        """Yield the folders in which Cline and Roo Code keep their tasks."""
        for user in self.editors():
            for extension, agent in _EXTENSIONS.items():
                yield agent, user / "globalStorage" / extension / "tasks"
        yield "cline", self.cline() / "tasks"
        yield "roo-code", self.home / ".vscode-mock" / "global-storage" / "tasks"

    def cline(self) -> Path:
        named = self.environ.get("CLINE_DATA_DIR", "")
        return Path(named) if named else Path(self.environ.get("CLINE_DIR") or self.home / ".cline") / "data"


def find_sessions(folders: AgentFolders) -> Iterator[FoundSession]:
    """Yield all sessions of other agents, agent by agent. What can't be read is left out."""
    for root in folders.claude_code():
        for path in _files(root, "*/*.jsonl"):
            if not path.name.startswith("agent-"):
                yield from _described(Source("claude-code", path))
    yield from _with_subagents(
        found
        for root in folders.codex()
        for path in _files(root, "**/rollout-*.jsonl*")
        if path.suffix in (".jsonl", ".zst")
        for found in _described(Source("codex", path))
    )
    yield from _opencode(folders.opencode())
    for path in _files(folders.pi(), "**/*.jsonl"):
        yield from _described(Source("pi", path))
    for agent, tasks in folders.extensions():
        for path in _tasks(tasks):
            yield from _described(Source(agent, path, "history"))
    for path in _files(folders.cline() / "sessions", "*/*.messages.json"):
        if path.name == f"{path.parent.name}.messages.json":
            yield from _described(Source("cline", path, "history"))


def find_in(path: Path) -> Iterator[FoundSession]:
    """Yield the session in a file, or those below a folder. Raises OSError for a path that can't be read."""
    if not path.is_dir():
        with path.open("rb") as file:
            is_database = file.read(16) == b"SQLite format 3\0"
        if is_database:
            yield from _opencode_sessions(_opencode_rows(path))
        elif (source := recognize(path)) is not None:
            yield from _all_described(source)
        return
    if any(any(path.glob(name)) for name in ("storage/session", "project/*/storage/session", "opencode*.db")):
        yield from _opencode(path)
        return
    if any(path.glob(_IN_STORAGE)):
        yield from _opencode(path, (_IN_STORAGE,))
        return
    for inner in sorted(path.rglob("*")):
        name = inner.name
        is_task = name in HISTORY_NAMES or name == f"{inner.parent.name}.messages.json"
        is_old = name == HISTORY_NAMES[1] and (inner.parent / HISTORY_NAMES[0]).exists()
        is_session = (is_task and not is_old) or name.endswith((".jsonl", ".jsonl.gz", ".jsonl.zst"))
        if is_session and inner.is_file() and not name.startswith("agent-"):
            with suppress(OSError):
                if (source := recognize(inner)) is not None:
                    yield from _all_described(source)


def _files(root: Path, pattern: str) -> Iterator[Path]:
    """Yield the files below a folder, the newest first."""
    paths: list[tuple[float, Path]] = []
    with suppress(OSError):
        for path in root.glob(pattern):
            with suppress(OSError):
                if path.is_file():
                    paths.append((-path.stat().st_mtime, path))
    for _, path in sorted(paths):
        yield path


def _tasks(folder: Path) -> Iterator[Path]:
    """Yield the messages of the tasks in a folder; of a task with both files the newer kind."""
    newer, older = (list(_files(folder, f"*/{name}")) for name in HISTORY_NAMES)
    yield from newer
    done = {path.parent for path in newer}
    yield from (path for path in older if path.parent not in done)


def _all_described(source: Source) -> Iterator[FoundSession]:
    """Yield the conversations of a file. Raises OSError."""
    for one in conversations_in(source):
        yield from _described(one)


def _described(source: Source) -> Iterator[FoundSession]:
    """Yield a session with its title and folder; nothing for one that has no messages, or can't be read."""
    try:
        found = _describe(source)
    except (OSError, sqlite3.Error, EOFError):
        return
    if found is not None:
        yield found


def _describe(source: Source) -> FoundSession | None:
    path = source.path
    about = About()
    title = ""
    first = ""
    reader = source.reader()
    read = 0
    is_talk = False
    for record in source.records(2 * _HEAD_BYTES):  # blank lines count too
        read += len(record.raw)
        for item in read_record(reader, record):
            match item:
                case About():
                    about = item if not about.source else about
                case Title(text=text):
                    title = text
                case UserMessage(text=text):
                    is_talk = True
                    first = first or title_line(typed_text(text))
        if (first and about.source) or read > _HEAD_BYTES or record.number >= _HEAD_RECORDS:
            break
    stat = path.stat()
    newest_title, newest_ms = _newest(source)
    if source.agent == "claude-code":
        title = newest_title or title
    if not (is_talk or read > _HEAD_BYTES):
        return None
    return FoundSession(
        source.agent,
        _id_of(source, about.source),
        source,
        title_line(title) or first,
        about.folder,
        newest_ms or int(stat.st_mtime * 1000),
        stat.st_size,
        tuple(_claude_subagents(path) if source.agent == "claude-code" else _cline_subagents(source)),
    )


def _id_of(source: Source, named: str) -> str:
    """Return the id of a session: that of its file if it is one, else that in its records."""
    name = source.path.name.removesuffix(".gz").removesuffix(".zst").removesuffix(".jsonl")
    if source.kind == "history":
        return source.path.parent.name
    if source.agent == "claude-code" and _UUID.fullmatch(name):
        return name
    if source.agent == "chat-messages" and source.session not in ("", "1"):
        return f"{name}#{source.session}"  # the first one is found under the name while it is alone
    return named or name


def _newest(source: Source) -> tuple[str, int]:
    """Return the last title and the latest time near the end of a file; empty and 0 where none is there."""
    title = ""
    newest_ms = 0
    reader = source.reader()
    for raw in _last_records(source):
        record = decode_object(raw)
        if record is None:
            continue
        newest_ms = max(newest_ms, reader.place(record)["at_ms"])
        if b"itle" in raw:
            for item in reader.read(record, raw):
                title = item.text if isinstance(item, Title) else title
    return title, newest_ms


def _last_records(source: Source) -> Iterator[bytes]:
    """Yield the records near the end of a file, of a small compressed one all; none of a large one."""
    if source.kind != "lines" or source.session:
        return
    with suppress(OSError, EOFError):
        size = source.path.stat().st_size
        if source.path.suffix == ".jsonl":
            with source.path.open("rb") as file:
                file.seek(max(0, size - _TAIL_BYTES))
                lines = file.read(_TAIL_BYTES).splitlines()
            yield from lines[int(size > _TAIL_BYTES) :]
        elif size <= _HEAD_BYTES:
            yield from (record.raw for record in source.records())


def _claude_subagents(path: Path) -> Iterator[tuple[str, Source]]:
    """Yield the files of a session's subagents, which stand below its folder, or beside it."""
    paths = [*(path.parent / path.stem / "subagents").glob("agent-*.jsonl")]
    for beside in path.parent.glob("agent-*.jsonl"):
        with suppress(OSError), beside.open("rb") as file:
            record = decode_object(file.readline(_HEAD_BYTES))
            if record is not None and record.get("sessionId") == path.stem:
                paths.append(beside)
    for inner in sorted(paths):
        yield inner.stem.removeprefix("agent-"), Source("claude-code", inner, is_subagent=True)


def _cline_subagents(source: Source) -> Iterator[tuple[str, Source]]:
    """Yield the conversations of subagents beside that of a session of Cline's SDK."""
    if source.kind == "history" and source.path.name.endswith(".messages.json"):
        for path in sorted(source.path.parent.glob("*.messages.json")):
            if path != source.path:
                yield path.name.removesuffix(".messages.json"), Source("cline", path, "history")


def _with_subagents(sessions: Iterator[FoundSession]) -> Iterator[FoundSession]:
    """Yield Codex's sessions, those of subagents with the session that they work for."""
    listed = list(sessions)
    by_id = {found.id: found for found in listed}
    children: dict[str, list[FoundSession]] = {}
    for found in listed:
        children.setdefault(_codex_parent(found), []).append(found)
    for parent, group in children.items():
        if parent not in by_id:
            for found in group:
                subagents = tuple((child.id, child.source) for child in children.get(found.id, ()))
                yield msgspec.structs.replace(found, subagents=subagents)


def _codex_parent(found: FoundSession) -> str:
    """Return the session that a session of Codex works for; empty for none."""
    with suppress(OSError):
        for record in found.source.records():
            meta = as_dict(as_dict(decode_object(record.raw)).get("payload"))
            spawned = as_dict(as_dict(as_dict(meta.get("source")).get("subagent")).get("thread_spawn"))
            return as_text(spawned.get("parent_thread_id")) or as_text(meta.get("parent_thread_id"))
    return ""


_IN_STORAGE = "session/*/*.json"
"""The sessions below opencode's folder `storage`."""
_IN_DATA = (f"storage/{_IN_STORAGE}", f"project/*/storage/{_IN_STORAGE}")


def _opencode(data: Path, files: Sequence[str] = _IN_DATA) -> Iterator[FoundSession]:
    """Yield opencode's sessions: those in its databases, and those that are in `files` only."""
    sessions: dict[str, _OpencodeSession] = {}
    for path in (path for pattern in files for path in _files(data, pattern)):
        with suppress(OSError):
            if (info := decode_object(read_document(path))) is not None:
                source = Source("opencode", path.parent.parent.parent, "files", path.stem)
                sessions[path.stem] = info, source, path.stat().st_size
    rows: list[_OpencodeSession] = []
    for database in _files(data, "opencode*.db"):
        with suppress(OSError, sqlite3.Error):
            rows = [*_opencode_rows(database), *rows]
    # Of copies of a session the one that was updated last; of two that are equal that in the newest file.
    sessions |= {row[1].session: row for row in sorted(rows, key=lambda row: _updated(row[0]))}
    yield from _opencode_sessions(list(sessions.values()))


_OpencodeSession = tuple[dict[str, object], Source, int]


def _opencode_rows(path: Path) -> list[_OpencodeSession]:
    with open_database(path) as database:
        rows = database.execute(
            f"SELECT {SESSION_COLUMNS} FROM session ORDER BY time_updated DESC"
        ).fetchall()
        sizes = dict(database.execute("SELECT session_id, TOTAL(LENGTH(data)) FROM part GROUP BY session_id"))
    return [
        (session_row(row), Source("opencode", path, "database", str(row[0])), int(sizes.get(row[0], 0)))
        for row in rows
    ]


def _updated(info: dict[str, object]) -> int:
    return time_ms(as_dict(info.get("time")).get("updated"))


def _opencode_sessions(sessions: list[_OpencodeSession]) -> Iterator[FoundSession]:
    ids = {as_text(info.get("id")) for info, _, _ in sessions}
    children: dict[str, list[tuple[str, Source]]] = {}
    for info, source, _ in sessions:
        children.setdefault(as_text(info.get("parentID")), []).append((source.session, source))
    for info, source, size in sessions:
        if as_text(info.get("parentID")) in ids:
            continue
        yield FoundSession(
            "opencode",
            source.session,
            source,
            title_line(as_text(info.get("title"))),
            as_text(info.get("directory")),
            _updated(info),
            size,
            tuple(children.get(source.session, ())),
        )


def default_folders() -> AgentFolders:
    return AgentFolders(Path.home(), os.environ)
