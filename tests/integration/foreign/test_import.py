"""Sessions of other agents imported into a real store: whole, again, grown, with branches and subagents."""

from __future__ import annotations

import base64
import gzip
import json
import os
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard

from helix_desktop.config.paths import resources_dir
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.window.request_validation import problems
from helix_desktop.context.window.window import PromptFrame, project
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    ToolAnswered,
    TurnEnded,
    UserSpoke,
)
from helix_desktop.domain.events.foreign import ForeignCompaction, ForeignRecords, SessionImported
from helix_desktop.domain.events.recorded_event import digests_in
from helix_desktop.domain.events.session import SessionBranched
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.typed_text import is_of_programs
from helix_desktop.foreign import sources
from helix_desktop.foreign.discovery import AgentFolders, FoundSession
from helix_desktop.foreign.items import time_ms
from helix_desktop.services.foreign_conversion import POLICY
from helix_desktop.services.foreign_import import ForeignImport, ForeignSessions
from helix_desktop.store.remote.server import SharedStore
from tests.integration.foreign.test_sources import opencode_database, opencode_messages
from tests.support.interface_golden import WRITE_GOLDEN_VARIABLE
from tests.support.store.builders import TickingClock
from tests.unit.foreign.test_readers import written

Line = dict[str, Any]
HOMES = sorted((Path(__file__).parents[2] / "golden" / "foreign_imports").glob("*.json"))
SESSION = "21a2e002-8b63-45db-8e0d-1978fe0600aa"
LONG = "".join(f"line {number} of a long output in src/app_{number}.py\n" for number in range(3_000))


class Rig:
    """A store, the home of a user, and what is imported from there."""

    def __init__(self, folder: Path, store: SharedStore) -> None:
        self.home = folder / "home"
        self.store = store

        @asynccontextmanager
        async def borrow(_: str) -> AsyncIterator[SharedStore]:
            yield store

        vocabulary = resources_dir() / "tokenizers" / "o200k_base.tiktoken"
        folders = AgentFolders(self.home, {}, "linux")
        self.foreign = ForeignSessions(vocabulary, borrow, TickingClock(), lambda: folders)

    def write(self, name: str, lines: Sequence[object], tail: str = "") -> Path:
        """Write JSON lines below the user's home."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines) + tail)
        return path

    def claude(self, lines: Sequence[Line], tail: str = "") -> Path:
        """Write a session of Claude Code."""
        return self.write(f".claude/projects/-home-ann-shop/{SESSION}.jsonl", lines, tail)

    async def run(self, found: Sequence[FoundSession] | None = None) -> ForeignImport:
        return await self.foreign.import_into("w", found or await self.foreign.find())

    async def events(self, session_id: str, *kinds: type[Any]) -> list[Any]:
        """Return the events of a session, of these kinds only if any are named."""
        log = await self.store.events(session_id)
        return [recorded.event for recorded in log if not kinds or isinstance(recorded.event, kinds)]


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncGenerator[Rig]:
    store = await SharedStore.open(tmp_path / "store", "a" * 32, TickingClock())
    yield Rig(tmp_path, store)
    await store.close()


def user(uuid: str, text: str, parent: str | None = None) -> Line:
    """A message of the user in Claude Code's form."""
    return record(uuid, parent, "user", {"role": "user", "content": text})


def record(uuid: str, parent: str | None, kind: str, message: Line, **more: Any) -> Line:
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": SESSION, "cwd": "/home/ann/shop",
            "version": "2.1.5", "isSidechain": False, "timestamp": "2026-02-12T07:51:13Z",
            "message": message, **more}  # fmt: skip


def answer(uuid: str, parent: str, *blocks: Line, message: str = "") -> Line:
    content = {
        "id": message or f"m-{uuid}",
        "role": "assistant",
        "model": "claude-opus-4-5",
        "content": [*blocks],
    }
    return record(uuid, parent, "assistant", {**content, "usage": {"input_tokens": 9, "output_tokens": 3}})


def said(text: str) -> Line:
    return {"type": "text", "text": text}


def called(call_id: str, name: str = "Read", **arguments: Any) -> Line:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def output(uuid: str, parent: str, call_id: str, text: str, **more: Any) -> Line:
    result = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    return record(uuid, parent, "user", {"role": "user", "content": [result]}, **more)


TALK: list[Line] = [
    {
        "type": "file-history-snapshot",
        "snapshot": {},
        "sessionId": SESSION,
        "cwd": "/home/ann/shop",
        "version": "2.1.5",
    },
    user("1", "Which port does it use?"),
    answer("2", "1", said("I look."), message="m"),
    answer("3", "2", called("t1", file_path="app.py"), message="m"),
    answer("4", "3", called("t2", file_path="long.py"), message="m"),
    output("5", "3", "t1", "PORT = 8080\n", toolUseResult={"file": {"numLines": 1}}),
    output("6", "4", "t2", LONG),
    answer("7", "6", said("8080.")),
    record("8", "7", "system", {}, subtype="compact_boundary", compactMetadata={"preTokens": 155_528}),
    record("9", "8", "user", {"role": "user", "content": "So far: 8080."}, isCompactSummary=True),
    user("10", "Change it to 9090.", "9"),
    answer("11", "10", called("t3", "Edit", file_path="app.py", new_string="PORT = 9090\n" * 200)),
    output("12", "11", "t3", "done"),
    answer("13", "12", said("Changed.")),
]


async def test_a_session_comes_in_whole(rig: Rig) -> None:
    rig.claude(TALK)
    (found,) = await rig.foreign.find()
    assert (found.title, found.folder, found.id) == ("Which port does it use?", "/home/ann/shop", SESSION)
    done = await rig.run([found])
    (session_id,) = done.sessions
    (summary,) = await rig.store.sessions()
    assert (summary.id, summary.title, summary.messages, summary.calls) == (session_id, found.title, 5, 3)
    (imported,) = await rig.events(session_id, SessionImported)
    assert imported == SessionImported("claude-code", SESSION, "/home/ann/shop", "2.1.5")
    first, second, edit = await rig.events(session_id, ToolAnswered)
    assert await rig.store.get(first.digest) == b"PORT = 8080\n"
    assert await rig.store.get(second.digest) == LONG.encode()
    assert (first.form, second.form) == ("full", "preview")
    assert second.digest[: POLICY.handle_digits] in second.text
    assert edit.ok
    spoke = (await rig.events(session_id, AssistantSpoke))[0]
    assert ([call.id for call in spoke.calls], spoke.agent, spoke.cost) == (["t1", "t2"], "claude-code", 0.0)
    (compacted,) = await rig.events(session_id, ForeignCompaction)
    assert (compacted.summary, compacted.before) == ("So far: 8080.", 155_528)
    assert [ended.how for ended in await rig.events(session_id, TurnEnded)] == ["done", "done"]
    (records,) = await rig.events(session_id, ForeignRecords)
    assert {records.kind for records in records.by_kind} == {"file-history-snapshot", "user: toolUseResult"}
    lines = (await rig.store.get(records.digest)).splitlines()
    assert json.loads(lines[1])["toolUseResult"] == {"file": {"numLines": 1}}
    assert (records.records, records.usage.output) == (len(TALK), 12)


async def test_it_can_be_continued_and_costs_nothing(rig: Rig) -> None:
    rig.claude(TALK)
    (session_id,) = (await rig.run()).sessions
    transcript = Transcript(await rig.store.events(session_id))
    assert (transcript.spending.tokens, transcript.turn_open, transcript.mode) == (0, False, "ask")
    window = project(transcript, POLICY, PromptFrame(ModelInfo("p", "m"), "Be brief.", (), 3, 0))
    assert problems(window.request.messages) == ["the last message is the assistant's"]


@pytest.mark.parametrize("cut", range(1, len(TALK)))
async def test_importing_again_adds_what_is_new(rig: Rig, cut: int) -> None:
    """Wherever the file ended the first time, also in the middle of a line."""
    path = rig.claude(TALK[:cut], json.dumps(TALK[cut])[:40])
    found = await rig.foreign.find([path]) if cut > 1 else []
    first = await rig.run(found) if found else None
    rig.claude(TALK)
    second = await rig.run()
    changed = second.result.extended if first is not None else second.result.new
    assert (changed, second.result.apart, second.damaged) == (second.sessions, (), 0)
    again = await rig.run()
    assert (again.result.unchanged, again.result.added) == (second.sessions, 0)
    answers = await rig.events(second.sessions[0], ToolAnswered)
    assert [output.call_id for output in answers] == ["t1", "t2", "t3"]
    assert len(await rig.events(second.sessions[0], UserSpoke)) == 2


def put(home: Path, name: str, content: Any) -> None:
    """Make a file of JSON lines, of bytes, or of tables with their names of columns first."""
    place = home / name
    place.parent.mkdir(parents=True, exist_ok=True)
    match content:
        case {"base64": data}:
            place.write_bytes(base64.b64decode(data))
        case {"tables": tables}:
            with closing(sqlite3.connect(place)) as database, database:
                for table, (columns, *rows) in tables.items():
                    database.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
                    database.executemany(f"INSERT INTO {table} VALUES (?{', ?' * (len(columns) - 1)})", rows)
        case _:
            place.write_text("".join(f"{json.dumps(line)}\n" for line in content))


def check_golden(path: Path, case: dict[str, Any], now: dict[str, Any]) -> None:
    """Assert that it is as when `HELIX_WRITE_GOLDEN=1 pytest` on this file wrote it last."""
    if os.environ.get(WRITE_GOLDEN_VARIABLE):
        case |= now
        path.write_text(written(case, 3) + "\n", encoding="utf-8")
    assert now == {name: case[name] for name in now}


@pytest.mark.parametrize(
    ("path", "case"),
    [pytest.param(path, json.loads(path.read_text(encoding="utf-8")), id=path.stem) for path in HOMES],
)
async def test_what_is_found_in_a_home_becomes_these_sessions(
    rig: Rig, path: Path, case: dict[str, Any]
) -> None:
    for name, content in case["home"].items():
        put(rig.home, name, content)
    found = await rig.foreign.find([rig.home / name for name in case["paths"]])
    done = await rig.run(found)
    assert all(records.is_known for records in done.by_kind)
    sessions = sorted(await rig.store.sessions(), key=lambda summary: summary.id)
    logs = {each.id: await rig.store.events(each.id) for each in sessions}
    named = {digest for log in logs.values() for recorded in log for digest in digests_in(recorded.event)}
    now = {
        "found": [[one.agent, one.id, one.title, one.folder] for one in found],
        "sessions": [[each.id, each.title, each.parent, each.branch_of, each.calls] for each in sessions],
        "logs": logs,
        "contents": {digest: repr(await rig.store.get(digest)) for digest in sorted(named)},
    }
    check_golden(path, case, json.loads(msgspec.json.encode(now)))


async def test_a_rewritten_beginning_is_a_session_of_its_own(rig: Rig) -> None:
    rig.claude(TALK)
    await rig.run()
    rig.claude([TALK[0], user("1", "Which host?"), *TALK[2:]])
    done = await rig.run()
    assert len(done.result.apart) == 1
    assert len(await rig.store.sessions()) == 2


async def test_damaged_lines_are_skipped_and_counted(rig: Rig) -> None:
    path = rig.claude(TALK)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], b"\xff\0 no json\n", b'{"type": "user"\n', *lines[3:]]))
    done = await rig.run()
    (records,) = await rig.events(done.sessions[0], ForeignRecords)
    assert (done.damaged, records.damaged, records.damaged_lines) == (2, 2, (4, 5))
    assert len(await rig.events(done.sessions[0], ToolAnswered)) == 3


async def test_what_the_user_went_back_on_is_a_branch(rig: Rig) -> None:
    rig.claude([*TALK, user("20", "Use 7070 instead.", "7"), answer("21", "20", said("7070 it is."))])
    done = await rig.run()
    listed = {summary.branch_of: summary for summary in await rig.store.sessions()}
    branch = listed[done.sessions[0]]
    main = listed[""]
    assert (branch.title, main.id) == (main.title, done.sessions[0])
    (branched,) = await rig.events(branch.id, SessionBranched)
    shared = (await rig.events(main.id))[: branched.seq]
    assert (await rig.events(branch.id))[: branched.seq] == shared
    texts = [spoke.text for spoke in await rig.events(main.id, UserSpoke)]
    assert texts == ["Which port does it use?", "Use 7070 instead."]
    assert [spoke.text for spoke in await rig.events(branch.id, UserSpoke)][-1] == "Change it to 9090."


async def test_what_the_user_went_back_on_can_begin_with_the_words_of_a_program(rig: Rig) -> None:
    lines = [
        user("1", "Which port?"),
        answer("2", "1", said("8080.")),
        user("3", "<task-notification><summary>Built</summary></task-notification>", "2"),
        answer("4", "3", said("It is built.")),
        user("5", "Run it.", "4"),
        answer("6", "5", said("It runs.")),
        user("7", "Use 7070 instead.", "2"),
        answer("8", "7", said("7070 it is.")),
    ]
    rig.claude([{**line, "timestamp": f"2026-02-12T07:5{n}:00Z"} for n, line in enumerate(lines)])
    (session,) = (await rig.run()).sessions
    (listed,) = [one for one in await rig.store.sessions() if one.branch_of == session]
    branch = listed.id
    assert listed.updated == time_ms("2026-02-12T07:55:00Z"), "not that of the newest record"
    answers = [spoke.text for spoke in await rig.events(session, AssistantSpoke)]
    assert answers == ["8080.", "7070 it is."]
    left = [spoke.text for spoke in await rig.events(branch, AssistantSpoke)]
    assert left == ["8080.", "It is built.", "It runs."]
    (notice, question) = (await rig.events(branch, UserSpoke))[1:]
    assert is_of_programs(notice.text)
    assert question.text == "Run it."


async def test_opencode_in_files_and_in_its_database_is_the_same(rig: Rig) -> None:
    info, messages = opencode_messages()
    data = rig.home / ".local/share/opencode"
    files = {f"session/p/{info['id']}.json": info}
    for message, parts in messages:
        files[f"message/{info['id']}/{message['id']}.json"] = message
        files |= {f"part/{message['id']}/{part['id']}.json": part for part in parts}
    for name, content in files.items():
        path = data / "storage" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    done = await rig.run()
    (result,) = await rig.events(done.sessions[0], ToolAnswered)
    assert await rig.store.get(result.digest) == b"a.py"
    assert [spoke.text for spoke in await rig.events(done.sessions[0], AssistantSpoke)] == ["One file."]

    (data / "opencode.db").write_bytes(opencode_database())
    before = {path: path.stat().st_mtime_ns for path in data.rglob("*")}
    again = await rig.run()
    assert again.result.unchanged == done.sessions
    assert {path: path.stat().st_mtime_ns for path in data.rglob("*")} == before

    database = sqlite3.connect(data / "opencode.db")
    database.execute("VACUUM INTO ?", (str(data / "opencode-copy.db"),))
    database.execute("UPDATE session SET title = 'Newer', time_updated = time_updated + 1")
    database.commit()
    database.close()
    for number, name in enumerate(("opencode-copy.db", "opencode.db")):  # a copy can have either time
        for file in data.glob("opencode*.db"):
            os.utime(file, (number, number) if file.name == name else (9, 9))
        assert [(one.source.path.name, one.title) for one in await rig.foreign.find()] == [
            ("opencode.db", "Newer")
        ]


async def test_a_task_that_is_half_written_is_read_as_far_as_it_goes(rig: Rig) -> None:
    history = [
        {"role": "user", "content": "<task>Which port?</task>"}, {"role": "assistant", "content": "8080."},
    ]  # fmt: skip
    name = ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks/t/api_conversation_history.json"
    rig.write(name, []).write_text(json.dumps(history)[:-30])
    (session_id,) = (await rig.run()).sessions
    assert [spoke.text for spoke in await rig.events(session_id, UserSpoke)] == ["Which port?"]


async def test_a_task_is_extended_whatever_its_screen_says_now(rig: Rig) -> None:
    """Cline rewrites what stands beside the messages; imported again, a task has its new messages only."""
    folder = ".cline/data/tasks/1760000000000"
    history: list[Line] = [
        {"role": "user", "content": [{"type": "text", "text": "<task>Which port?</task>"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "It is 8080."}]},
    ]
    models = [
        {"ts": at, "model_id": name, "model_provider_id": "anthropic", "mode": "act"}
        for at, name in ((1_760_000_000_000, "claude-opus-4-5"), (1_760_000_009_000, "claude-haiku-4-5"))
    ]
    rig.write(f"{folder}/task_metadata.json", [{"files_in_context": [], "model_usage": models}])
    shown: list[Line] = [
        {"ts": 1_760_000_001_000, "type": "say", "say": "text", "conversationHistoryIndex": -1},
        {"ts": 1_760_000_002_000, "type": "say", "say": "api_req_started", "conversationHistoryIndex": 0,
         "text": '{"tokensIn": 10, "tokensOut": 5, "cacheReads": 90, "cost": 0.5}'},
    ]  # fmt: skip
    state = rig.write(".cline/data/state/taskHistory.json", [])
    state.write_text(json.dumps([{"id": "1760000000000", "cwdOnTaskInitialization": "/home/ann/shop"}]))
    path = rig.write(f"{folder}/api_conversation_history.json", [])

    async def run() -> ForeignImport:
        path.write_text(json.dumps(history))
        (path.parent / "ui_messages.json").write_text(json.dumps(shown))
        return await rig.run()

    first = await run()
    (session_id,) = first.sessions
    log = await rig.store.events(session_id)
    (records,) = await rig.events(session_id, ForeignRecords)
    assert (records.usage.input, records.usage.cached, records.cost) == (100, 90, 0.5)
    assert (await rig.events(session_id, SessionImported))[0].folder == "/home/ann/shop"
    assert [at.at for at in log if isinstance(at.event, UserSpoke)] == [1_760_000_001_000]
    (said_by,) = await rig.events(session_id, AssistantSpoke)
    assert said_by.model == "anthropic/claude-opus-4-5"
    shown.append({"ts": 1_760_000_003_000, "type": "say", "say": "text", "text": "later"})
    again = await run()
    assert (again.result.unchanged, again.result.missing) == (first.sessions, ())
    history.append({"role": "user", "content": [{"type": "text", "text": "<feedback>Thanks.</feedback>"}]})
    assert (await run()).result.extended == first.sessions
    messages = await rig.events(session_id, UserSpoke)
    assert [message.text for message in messages] == ["Which port?", "Thanks."]
    assert (await rig.store.events(session_id))[: len(log)] == log


async def test_a_packed_rollout_of_codex(rig: Rig) -> None:
    lines = [
        {"type": "session_meta", "payload": {"id": "c1", "cwd": "/home/ann/shop"}},
        {"type": "response_item", "payload": {"type": "message", "role": "user", "content": "Go."}},
    ]
    path = rig.write(".codex/archived_sessions/rollout-2026-01-02T03-04-05-c1.jsonl", lines)
    packed = zstandard.compress(path.read_bytes())
    path.with_suffix(".jsonl.zst").write_bytes(packed)
    path.unlink()
    (found,) = await rig.foreign.find()
    assert (found.id, found.title) == ("c1", "Go.")
    path.with_suffix(".jsonl.zst").write_bytes(packed[:-6])  # half written
    assert len((await rig.run([found])).sessions) == 1


async def test_files_beside_a_task_are_read_up_to_a_limit_and_its_list_of_tasks_once(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = rig.home / ".cline" / "data"
    for task in ("1", "2"):
        rig.write(
            f".cline/data/tasks/{task}/api_conversation_history.json", [[{"role": "user", "content": "Go."}]]
        )
    screen = rig.write(".cline/data/tasks/1/ui_messages.json", [[{"say": "text", "text": "x" * 10_000}]])
    tasks = [{"id": task, "cwdOnTaskInitialization": f"/home/ann/{task}"} for task in ("1", "2")]
    listed = rig.write(".cline/data/state/taskHistory.json", [tasks])
    first, second = (
        sources.Source("cline", data / "tasks" / task / sources.HISTORY_NAMES[0], "history")
        for task in ("1", "2")
    )
    records = [record.raw for record in first.records()]
    assert [b"ui-message" in raw for raw in records] == [False, False, True]
    assert b"/home/ann/1" in records[0]
    monkeypatch.setattr(sources, "_MAX_BYTES", screen.stat().st_size - 1)
    assert [record.raw for record in first.records()] == records[:2]
    before = listed.stat().st_mtime_ns
    listed.write_text("[]")
    os.utime(listed, ns=(before, before))  # a sign of whether it is read again
    assert b"/home/ann/2" in next(second.records()).raw
    os.utime(listed, ns=(before, before + 1_000_000_000))
    assert b"/home/ann/2" not in next(second.records()).raw


async def test_blank_lines_in_a_packed_file_are_not_read_without_end(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, last = ({"role": "user", "content": text} for text in ("Go.", "Stop."))
    path = rig.home / "talk.jsonl.zst"
    path.parent.mkdir()

    def write(*lines: Line) -> None:
        blank = b"\n" * 1_100_000  # more than the head of a file in which a title is looked for
        path.write_bytes(zstandard.compress(blank.join(json.dumps(line).encode() + b"\n" for line in lines)))

    write({"role": "system", "content": "Be brief."}, last)
    with pytest.raises(HelixError, match="No sessions found"):
        await rig.foreign.find([path])
    write(first, last)
    (found,) = await rig.foreign.find([path])
    assert len(list(found.source.records())) == 2
    monkeypatch.setattr(sources, "_MAX_BYTES", 500_000)
    assert path.stat().st_size < 1_000
    assert [json.loads(record.raw) for record in found.source.records()] == [first]


async def test_a_path_without_sessions_says_so(rig: Rig) -> None:
    rig.write("talk.jsonl", [{"role": "user", "content": "By its path alone."}])
    assert await rig.foreign.find() == []
    with pytest.raises(HelixError, match="No sessions found"):
        await rig.foreign.find([rig.write("notes.jsonl", [{"a": 1}])])
    damaged = rig.home / "talk.jsonl.gz"
    damaged.write_bytes(gzip.compress(b"")[:10] + b"\xff" * 100)
    for path in (damaged, rig.home / "missing"):
        with pytest.raises(HelixError, match="can't be read"):
            await rig.foreign.find([path])
