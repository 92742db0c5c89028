"""Files of other agents as they can be found: damaged anywhere, packed, and in use by another process."""

from __future__ import annotations

import gzip
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from helix_desktop.config.paths import resources_dir
from helix_desktop.foreign.discovery import FoundSession, find_in
from helix_desktop.foreign.items import Damaged, read_record
from helix_desktop.foreign.sources import open_database
from helix_desktop.services.foreign_import import read_session

VOCABULARY = resources_dir() / "tokenizers" / "o200k_base.tiktoken"
SESSION = "21a2e002-8b63-45db-8e0d-1978fe0600aa"


def lines(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def sample(agent: str, number: int) -> list[dict[str, Any]]:
    """The records of a session, one of those whose items are golden."""
    golden = Path(__file__).parents[2] / "golden" / "foreign" / f"{agent}.json"
    records: list[dict[str, Any]] = json.loads(golden.read_text(encoding="utf-8"))[number]["records"]
    return records


def opencode_messages() -> tuple[dict[str, Any], list[tuple[dict[str, Any], list[dict[str, Any]]]]]:
    state = {"status": "completed", "input": {"command": "ls"}, "output": "a.py", "time": {"start": 1}}
    time = {"created": 1, "updated": 2}
    info = {"id": "ses_1", "directory": "/home/ann/shop", "title": "Files", "version": "1.2.0", "time": time}
    return info, [
        ({"id": "msg_1", "role": "user"}, [{"id": "prt_1", "type": "text", "text": "List it."}]),
        (
            {"id": "msg_2", "role": "assistant", "modelID": "opus", "time": {"created": 2, "completed": 3}},
            [
                {"id": "prt_2", "type": "tool", "callID": "k", "tool": "bash", "state": state},
                {"id": "prt_3", "type": "text", "text": "One file."},
            ],
        ),
        (
            {"id": "msg_3", "role": "assistant", "time": {"created": 4}},
            [{"id": "prt_4", "type": "text", "text": "half"}],
        ),
    ]


def opencode_export() -> bytes:
    info, messages = opencode_messages()
    listed = [{"info": message, "parts": parts} for message, parts in messages]
    return json.dumps({"info": info, "messages": listed}).encode()


def opencode_database() -> bytes:
    info, messages = opencode_messages()
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(
            "PRAGMA page_size = 512;"
            "CREATE TABLE session (id, parent_id, directory, title, version, time_created, time_updated);"
            "CREATE TABLE message (id, session_id, time_created, data);"
            "CREATE TABLE part (id, message_id, session_id, data);"
        )
        row = (info["id"], None, info["directory"], info["title"], info["version"], 1, 2)
        database.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        for number, (message, parts) in enumerate(messages):
            written = message["id"], info["id"], number, json.dumps(message)
            database.execute("INSERT INTO message VALUES (?, ?, ?, ?)", written)
            for part in parts:
                written = part["id"], message["id"], info["id"], json.dumps(part)
                database.execute("INSERT INTO part VALUES (?, ?, ?, ?)", written)
        database.commit()
        return database.serialize()


FILES: dict[str, tuple[str, bytes]] = {
    "claude-code": (f"{SESSION}.jsonl", lines(*sample("claude-code", 1), *sample("claude-code", 2))),
    "codex": (f"rollout-{SESSION}.jsonl", lines(*sample("codex", 1))),
    "pi": ("session.jsonl", lines(*sample("pi", 0))),
    "chat-messages": ("talk.jsonl", lines(*sample("chat-messages", 0))),
    "cline": ("cline/1/api_conversation_history.json", json.dumps(sample("cline", 0)).encode()),
    "roo-code": ("roo-code/1/api_conversation_history.json", json.dumps(sample("roo-code", 0)).encode()),
    "opencode": ("session.json", opencode_export()),
    "opencode.db": ("opencode.db", opencode_database()),
}
PACKED = ("claude-code", "codex", "pi", "chat-messages")
PACK: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".zst": zstandard.compress}

_DAMAGE = st.lists(st.tuples(st.integers(0, 9_999), st.binary(max_size=12), st.integers(0, 40)), max_size=4)
"""Where, in ten thousandths of the file; what stands there instead; and of how many bytes."""


def damage(data: bytes, places: Sequence[tuple[int, bytes, int]]) -> bytes:
    for place, other, size in places:
        at = place * len(data) // 10_000
        data = data[:at] + other + data[at + size :]
    return data


def read_all(path: Path) -> list[FoundSession]:
    """Find the sessions in a file, and read them whole."""
    found = []
    with suppress(OSError, sqlite3.Error):
        found = list(find_in(path))
        for session in found:
            read_session(session, VOCABULARY)
    return found


@pytest.mark.parametrize("agent", FILES)
@given(places=_DAMAGE)
@example(places=[(1_983, b"\x80", 0)])  # a column of SQLite whose name is no text
def test_a_damaged_file_is_read_as_far_as_it_goes(agent: str, places: list[tuple[int, bytes, int]]) -> None:
    name, data = FILES[agent]
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(damage(data, places))
        found = read_all(path)
    assert places or [session.agent for session in found] == [agent.removesuffix(".db")]


@pytest.mark.parametrize("agent", PACKED)
@pytest.mark.parametrize("suffix", PACK)
@given(before=_DAMAGE, places=_DAMAGE, renamed=st.booleans())
def test_a_damaged_packed_file_is_read_as_far_as_it_goes(
    agent: str, suffix: str, before: list[tuple[int, bytes, int]], places: list[tuple[int, bytes, int]],
    renamed: bool,
) -> None:  # fmt: skip
    """Damaged before it was packed or after, also under a name that doesn't say that it is packed."""
    name, data = FILES[agent]
    with TemporaryDirectory() as folder:
        path = Path(folder) / (name if renamed else name + suffix)
        path.write_bytes(damage(PACK[suffix](damage(data, before)), places))
        found = read_all(path)
    assert before or places or [session.agent for session in found] == [agent]


def test_damage_in_a_packed_file_is_counted_but_not_a_missing_end(tmp_path: Path) -> None:
    path = tmp_path / f"{SESSION}.jsonl"
    talk = [
        {"type": "user", "cwd": "/home/ann", "sessionId": SESSION, "message": {"content": f"{number**399}"}}
        for number in range(6_000)
    ]
    packed = gzip.compress(lines(*talk), 1)
    damaged = damage(packed, [(2_000, b"\xff" * 40, 40)])
    for data, is_damaged in (
        (packed, False), (packed[:-9], False), (damaged, True), (packed[:-8] + bytes(8), True),
    ):  # fmt: skip
        path.write_bytes(data)
        (found,) = find_in(path)
        items = [
            item for record in found.source.records() for item in read_record(found.source.reader(), record)
        ]
        assert len(items) > 500
        assert any(isinstance(item, Damaged) for item in items) == is_damaged


_WRITER = """
import sqlite3, sys, time
database = sqlite3.connect(sys.argv[1])
database.executescript(
    "PRAGMA journal_mode = " + sys.argv[2] + "; PRAGMA wal_autocheckpoint = 20;"
    "CREATE TABLE IF NOT EXISTS talk (number, data);"
)
print("ready", flush=True)
for number in range(1_000_000):
    with database:
        for _ in range(40):
            database.execute("INSERT INTO talk VALUES (?, ?)", (number, "x" * 2_000))
        database.execute("DELETE FROM talk WHERE number < ?", (number - 20,))
    time.sleep(float(sys.argv[3]))
"""


@pytest.mark.parametrize(("mode", "pause"), [("WAL", "0"), ("DELETE", "0.01")])
def test_a_database_that_is_written_meanwhile_is_read_as_it_is_at_one_moment(
    tmp_path: Path, mode: str, pause: str
) -> None:
    path = tmp_path / "opencode #1?.db"
    command = [sys.executable, "-c", _WRITER, str(path), mode, pause]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        try:
            for _ in range(30):
                with open_database(path) as database:
                    counts = database.execute("SELECT COUNT(*) FROM talk GROUP BY number").fetchall()
                    assert set(counts) <= {(40,)}
                    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert writer.poll() is None
        finally:
            writer.kill()


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
@pytest.mark.parametrize("has_index", [True, False])
def test_nothing_is_written_beside_a_database_whose_agent_was_killed(
    tmp_path: Path, mode: str, has_index: bool
) -> None:
    path = tmp_path / "opencode.db"
    killed = f"{_WRITER.partition('print')[0]}database.execute('PRAGMA cache_size = 5')\n" + (
        "with database:\n    database.execute(\"INSERT INTO talk VALUES (1, 'kept')\")\n"
        "database.execute('BEGIN')\n"
        "database.executemany(\"INSERT INTO talk VALUES (?, 'lost')\", [[n] for n in range(9_000)])\n"
        "import os; os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", killed, str(path), mode], check=True)
    left = {file.name for file in tmp_path.iterdir()}
    assert left == {
        path.name,
        *((f"{path.name}-wal", f"{path.name}-shm") if mode == "WAL" else (f"{path.name}-journal",)),
    }
    if not has_index:
        Path(f"{path}-shm").unlink(missing_ok=True)
    before = {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in tmp_path.iterdir()}
    with open_database(path) as database:
        assert database.execute("SELECT number, data FROM talk").fetchall() == [(1, "kept")]
    assert {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in tmp_path.iterdir()} == before


def test_a_deep_message_with_an_image_is_read_without_it(tmp_path: Path) -> None:
    (tmp_path / "cline/1").mkdir(parents=True)
    path = tmp_path / "cline/1/api_conversation_history.json"
    deep = "[" * 490 + '{"type": "image_ref"}' + "]" * 490
    path.write_text(f'[{{"role": "user", "content": "Look."}}, {{"role": "user", "content": {deep}}}]')
    (source,) = (session.source for session in find_in(path))
    assert [record.raw for record in source.records()][1] == b'{"role":"user","content":"Look."}'
