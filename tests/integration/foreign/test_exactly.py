"""Imported sessions against a count of their raw files by a reader that shares no code with the importer.

`HELIX_FOREIGN_FOLDER=FOLDER pytest FILE -k folder` counts every session file below a folder of yours.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.foreign import ForeignRecords
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.foreign.discovery import FoundSession
from helix_desktop.foreign.sources import recognize
from helix_desktop.store.remote.server import SharedStore
from tests.integration.foreign.test_import import (
    SESSION,
    Line,
    Rig,
    answer,
    called,
    output,
    said,
    user,
)
from tests.support.foreign_counts import Counts, count_source, digest, typed
from tests.support.store.builders import START_MS, TickingClock

FOLDER = os.environ.get("HELIX_FOREIGN_FOLDER", "")
_NAMES = ("calls", "all_calls", "outputs", "images", "usage", "branches")
_TIME_MS = 2_000  # a session ends with a record that says nothing
FILES = sorted(Path(FOLDER).rglob("*.json*")) if FOLDER else []


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncGenerator[Rig]:
    store = await SharedStore.open(tmp_path / "store", "a" * 32, TickingClock())
    yield Rig(tmp_path, store)
    await store.close()


async def counted(rig: Rig, found: FoundSession) -> Counts:
    """Import a session and return what the store has of it and its branches, of each event once."""
    done = await rig.run([found])
    (newest,) = done.sessions
    own = [summary for summary in await rig.store.sessions() if not summary.parent]
    counts = Counts(found.agent)
    counts.calls = [call.id for spoke in await rig.events(newest, AssistantSpoke) for call in spoke.calls]
    for summary in own:
        log = await rig.store.events(summary.id)
        for recorded in log[summary.branch_seq :]:
            await _count(rig, counts, recorded.event)
    counts.branches = sum(1 for summary in own if summary.branch_of)
    counts.first_ms = min(summary.created for summary in own)
    counts.last_ms = max(summary.updated for summary in own)
    return counts


async def _count(rig: Rig, counts: Counts, event: Event) -> None:
    match event:
        case UserSpoke(attachments=attachments):
            counts.images |= {one.digest for one in attachments if one.image is not None}
        case ToolAnswered(images=images):
            counts.images |= {one.digest for one in images}
    match event:
        case UserSpoke(text=text) if typed(text) and not text.startswith("(The beginning"):
            counts.users.append(typed(text))
        case AssistantSpoke(calls=calls):
            counts.answers += 1
            counts.all_calls |= {call.id for call in calls}
        case ToolAnswered(call_id=call_id, outcome="ran", digest=stored):
            data = await rig.store.get(stored)
            counts.outputs[call_id] = digest(data.decode())
        case ForeignRecords(usage=usage) if usage is not None:
            taken, answered = counts.usage
            counts.usage = (taken + usage.input, answered + usage.output)


def differences(source: Counts, here: Counts) -> list[str]:
    """Return a line for each thing in which two counts of a session differ."""
    pairs = {name: (getattr(source, name), getattr(here, name)) for name in _NAMES}
    found = [
        f"{name}: {_short(expected)} in the file, {_short(actual)} here"
        for name, (expected, actual) in pairs.items()
        if expected != actual
    ]
    times = ((source.first_ms, here.first_ms), (source.last_ms, here.last_ms))
    found += [
        f"time {expected} in the file, {actual} here"
        for expected, actual in times
        if abs(expected - actual) > _TIME_MS
    ]
    if sorted(source.users) != sorted(here.users):
        missing = set(source.users) ^ set(here.users)
        found.append(f"users: {len(source.users)} in the file, {len(here.users)} here: {_short(missing)}")
    return found


def _short(value: object) -> str:
    size = f"{len(value)}: " if isinstance(value, list | set | dict) else ""
    return f"{size}{str(value)[:160]}"


@pytest.mark.parametrize("path", FILES, ids=str)
async def test_each_file_of_the_folder_comes_in_exactly(rig: Rig, path: Path) -> None:
    source = recognize(path)
    if source is None:
        pytest.skip("no session")
    (found,) = await rig.foreign.find([path])
    assert differences(count_source(path), await counted(rig, found)) == []


SHAPES: dict[str, list[Any]] = {
    "one answer in two records": [
        user("1", "Which port?"),
        answer("2", "1", said("I look."), message="m"),
        answer("3", "2", called("t1"), message="m"),
        output("4", "3", "t1", "PORT = 8080"),
        answer("5", "4", said("8080.")),
    ],
    "calls of one answer with their outputs between": [
        user("1", "Which ports?"),
        answer("2", "1", called("t1"), message="m"),
        output("3", "2", "t1", "one"),
        answer("4", "2", called("t2"), message="m"),
        output("5", "4", "t2", "two"),
        answer("6", "5", said("Two.")),
    ],
    "outputs before their calls": [
        user("1", "Which ports?"),
        output("3", "2", "t1", "one"),
        answer("2", "1", called("t1"), message="m"),
        output("5", "4", "t2", "two"),
        answer("6", "5", said("Two.")),
        answer("4", "2", called("t2"), message="m"),
    ],
    "texts of programs": [
        user("1", "<command-name>/model</command-name>\n<local-command-stdout>ok</local-command-stdout>"),
        user("2", "<system-reminder>Be brief.</system-reminder>Which port?", "1"),
        answer("3", "2", said("8080.")),
        user("4", "<task-notification><summary>Done</summary></task-notification>", "3"),
        answer("5", "4", said("The task ended.")),
        user("6", "<command-name>/exit</command-name>\n<command-message>exit</command-message>", "5"),
        user("7", "<local-command-stdout>Goodbye!</local-command-stdout>", "6"),
    ],
    "a message that the user wrote again": [
        user("1", "Which port?"),
        answer("2", "1", called("t1")),
        output("3", "2", "t1", "one"),
        answer("4", "3", said("One.")),
        user("5", "And the host?", "4"),
        answer("6", "5", called("t2")),
        output("7", "6", "t2", "localhost"),
        answer("8", "7", said("localhost.")),
        user("9", "And the path?", "4"),
        answer("10", "9", called("t3")),
        output("11", "10", "t3", "/srv"),
    ],
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
async def test_a_shape_comes_in_exactly(rig: Rig, name: str, encoding: str) -> None:
    path = rig.claude(SHAPES[name])
    path.write_text(path.read_text(), encoding=encoding)
    (found,) = await rig.foreign.find([path])
    assert differences(count_source(path), await counted(rig, found)) == []


async def test_two_records_on_one_line_are_both_read(rig: Rig) -> None:
    path = rig.claude(SHAPES["outputs before their calls"])
    lines = path.read_text().splitlines()
    half = json.dumps(user("0", "Never finished"))[:60]
    path.write_text("\n".join((lines[0] + lines[1], half + lines[2], *lines[3:])))
    (found,) = await rig.foreign.find([path])
    here = await counted(rig, found)
    assert (here.calls, sorted(here.outputs)) == (["t1", "t2"], ["t1", "t2"])
    assert here.users == ["Which ports?"]


CLINE: list[Line] = [
    {"role": "user", "content": [{"type": "text", "text": "<task>\nWhich port?\n</task>"}], "ts": 1},
    {
        "role": "assistant",
        "content": [
            {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "a.py"}},
            {"type": "tool_use", "id": "c2", "name": "read_file", "input": {"path": "b.py"}},
            {"type": "tool_use", "id": "c3", "name": "search_files", "input": {"regex": "PORT"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "[read_file for 'a.py'] Result:\n    PORT = 1\n"},
            {"type": "text", "text": "[read_file for 'b.py'] Result:"},
            {"type": "text", "text": "  PORT = 2"},
            {"type": "text", "text": "[search_files for 'PORT'] Result:\nFound 2\n\na.py"},
            {"type": "text", "text": "<environment_details>\nnone\n</environment_details>"},
        ],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "1 and 2."}]},
]


async def test_outputs_as_text_belong_to_the_calls_of_cline(rig: Rig) -> None:
    path = rig.home / "tasks/1/api_conversation_history.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(CLINE))
    (found,) = await rig.foreign.find([path])
    source = count_source(path)
    here = await counted(rig, found)
    assert len(here.outputs) == 3
    assert (here.outputs, here.calls, here.users) == (source.outputs, source.calls, source.users)


async def test_outputs_of_several_calls_in_one_text_of_cline(rig: Rig) -> None:
    first, second, third, *_ = CLINE[2]["content"]
    blocks = [{"type": "text", "text": f"{first['text']}\n{second['text']}\n{third['text']}"}]
    path = rig.home / "tasks/1/api_conversation_history.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps([*CLINE[:2], {"role": "user", "content": blocks}, CLINE[3]]))
    (found,) = await rig.foreign.find([path])
    here = await counted(rig, found)
    assert here.outputs == {"c1": digest("    PORT = 1\n"), "c2": digest("  PORT = 2")}


def codex(second: int, kind: str, **payload: Any) -> Line:
    return {"timestamp": f"2026-02-12T07:51:{second:02}Z", "type": kind, "payload": payload}


CODEX: list[Line] = [
    codex(1, "session_meta", id=SESSION, cwd="/home/ann/shop", cli_version="0.150.0"),
    codex(2, "turn_context", model="gpt-5"),
    codex(3, "response_item", type="message", role="user", content=[{"type": "input_text", "text": "Why?"}]),
    codex(4, "response_item", type="web_search_call", action={"type": "search", "query": "ports"}),
    codex(5, "response_item", type="function_call", call_id="c1", name="shell", arguments="{}"),
    codex(6, "response_item", type="function_call", call_id="c2", name="shell", arguments="{}"),
    codex(7, "response_item", type="function_call_output", call_id="c1", output="  one\n"),
    codex(8, "response_item", type="function_call_output", call_id="c2", output="two"),
    codex(9, "response_item", type="message", role="assistant", content=[{"type": "text", "text": "So."}]),
    codex(10, "event_msg", type="task_complete"),
    codex(11, "response_item", type="message", role="user", content=[{"type": "input_text", "text": "And?"}]),
    codex(12, "response_item", type="function_call", call_id="c3", name="shell", arguments="{}"),
    codex(13, "response_item", type="function_call_output", call_id="c3", output="three"),
    codex(14, "response_item", type="message", role="assistant", content=[{"type": "text", "text": "Aha."}]),
    codex(15, "event_msg", type="task_complete"),
]


@pytest.mark.parametrize("lines", [CODEX, [*CODEX[:6], *CODEX[:5:-1]], [*CODEX[:3], *CODEX[:2:-1]]])
async def test_codex_comes_in_exactly_in_any_order_of_near_lines(rig: Rig, lines: list[Line]) -> None:
    path = rig.write(".codex/sessions/2026/02/12/rollout-1.jsonl", lines)
    (found,) = await rig.foreign.find([path])
    here = await counted(rig, found)
    assert differences(count_source(path), here) == []
    assert here.answers == 4


async def test_a_turn_of_codex_that_ended_a_moment_ago_comes_in_whole(rig: Rig) -> None:
    path = rig.write(".codex/sessions/2026/02/12/rollout-1.jsonl", CODEX)
    os.utime(path, (START_MS / 1000, START_MS / 1000))
    (found,) = await rig.foreign.find([path])
    assert differences(count_source(path), await counted(rig, found)) == []


async def test_what_codex_went_back_on_is_the_branch(rig: Rig) -> None:
    back = [
        codex(16, "event_msg", type="thread_rolled_back", num_turns=1),
        codex(17, "response_item", type="message", role="user", content=[{"type": "text", "text": "Else?"}]),
        codex(18, "response_item", type="function_call", call_id="c4", name="shell", arguments="{}"),
        codex(19, "response_item", type="function_call_output", call_id="c4", output="four"),
    ]
    path = rig.write(".codex/sessions/2026/02/12/rollout-1.jsonl", [*CODEX, *back])
    (found,) = await rig.foreign.find([path])
    here = await counted(rig, found)
    assert differences(count_source(path), here) == []
    (main,) = [one for one in await rig.store.sessions() if not one.branch_of]
    assert [spoke.text for spoke in await rig.events(main.id, UserSpoke)] == ["Why?", "Else?"]


async def test_a_file_that_is_no_session_stops_no_other(rig: Rig) -> None:
    good = rig.claude(SHAPES["one answer in two records"])
    bad = [rig.write("notes.jsonl", [{"a": 1}]), rig.home / "missing.jsonl"]
    found, errors = await rig.foreign.find_readable([bad[0], good, bad[1]])
    assert [each.source.path for each in found] == [good]
    assert len(errors) == len(bad)


async def test_files_of_other_programs_in_a_folder_stop_nothing(rig: Rig) -> None:
    good = rig.claude(SHAPES["one answer in two records"])
    others = {
        "a.jsonl": b"\x28\xb5\x2f\xfd no zstd",
        "b.jsonl": b"[" * 100_000,
        "c.jsonl": b"",
        "d.jsonl": bytes(range(256)) * 40,
        "e.jsonl.gz": b"\x1f\x8b\x08 no gzip",
        "api_conversation_history.json": b"{",
    }
    for name, data in others.items():
        (good.parent / name).write_bytes(data)
    assert [each.source.path for each in await rig.foreign.find([good.parent])] == [good]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
async def test_each_conversation_of_a_file_is_a_session(rig: Rig, encoding: str) -> None:
    said_it = {"role": "assistant", "content": "Aé"}
    talks = [
        {"messages": [{"role": "user", "content": f"Question {number}"}, said_it]} for number in range(3)
    ]
    path = rig.write("talks.jsonl", talks)
    path.write_text(path.read_text(), encoding=encoding)
    done = await rig.run(await rig.foreign.find([path]))
    texts = [[spoke.text for spoke in await rig.events(one, UserSpoke)] for one in done.sessions]
    assert texts == [["Question 0"], ["Question 1"], ["Question 2"]]
    again = await rig.run(await rig.foreign.find([path]))
    assert len(again.result.unchanged) == len(talks)


async def test_a_session_that_ends_with_exit_ended_well(rig: Rig) -> None:
    path = rig.claude(SHAPES["texts of programs"])
    (found,) = await rig.foreign.find([path])
    assert found.title == "Which port?"
    done = await rig.run([found])
    (summary,) = await rig.store.sessions()
    assert (summary.title, summary.interrupted, summary.messages) == ("Which port?", False, 3)
    texts = [spoke.text for spoke in await rig.events(done.sessions[0], UserSpoke)]
    assert [typed(text) for text in texts] == ["Which port?", ""]
    (records,) = await rig.events(done.sessions[0], ForeignRecords)
    kept = (await rig.store.get(records.digest)).decode()
    assert "/exit" in kept
    assert "Goodbye!" in kept
    path.write_text(path.read_text() + json.dumps(user("8", "And the host?", "7")) + "\n")
    again = await rig.run(await rig.foreign.find([path]))
    assert again.result.extended == done.sessions
    (summary,) = await rig.store.sessions()
    assert summary.interrupted


def long_talk() -> list[Line]:
    """A session with two calls in each answer, in two records, and an output behind each record."""
    lines: list[Line] = []
    before = ""
    for turn in range(5):
        names = [f"{turn}-{step}" for step in range(6)]
        first = f"c{turn}a"
        second = f"c{turn}b"
        lines += [
            user(names[0], f"Question {turn}", before or None),
            answer(names[1], names[0], called(first), message=f"m{turn}"),
            output(names[2], names[1], first, f"first {turn}"),
            answer(names[3], names[1], called(second), message=f"m{turn}"),
            output(names[4], names[3], second, f"second {turn}"),
            answer(names[5], names[4], said(f"Answer {turn}")),
        ]
        before = names[5]
    return [{**line, "timestamp": f"2026-02-12T07:{place:02}:00Z"} for place, line in enumerate(lines)]


@pytest.mark.parametrize("seed", range(12))
async def test_records_within_a_few_lines_come_in_any_order(rig: Rig, seed: int) -> None:
    chance = Random(seed)
    lines = long_talk()
    places = sorted(range(len(lines)), key=lambda place: place + chance.random() * 5)
    path = rig.claude([lines[place] for place in places])
    (found,) = await rig.foreign.find([path])
    assert differences(count_source(path), await counted(rig, found)) == []


@pytest.mark.parametrize("cuts", [(7, 14), (8, 9, 10), (1, 3, 20), (4, 16, 22, 27), (2, 11, 12, 13)])
async def test_a_session_imported_in_stages_has_every_output(rig: Rig, cuts: tuple[int, ...]) -> None:
    lines = long_talk()
    for cut in cuts:
        half = json.dumps(lines[cut])
        await rig.run(await rig.foreign.find([rig.claude(lines[:cut], half[: len(half) // 2])]))
    path = rig.claude(lines)
    (found,) = await rig.foreign.find([path])
    here = await counted(rig, found)
    source = count_source(path)
    assert (here.outputs, here.users, here.branches) == (source.outputs, source.users, 0)
    assert sorted(here.calls) == sorted(source.calls)
    assert len(await rig.store.sessions()) == 1


@pytest.mark.parametrize("seed", [*range(14), 19, 44])
async def test_records_of_a_growing_session_come_in_stages_as_at_once(rig: Rig, seed: int) -> None:
    """They stand in any order within a few lines, and each import ends anywhere while the file is written."""
    chance = Random(seed)
    lines = long_talk()
    places = sorted(range(len(lines)), key=lambda place: place + chance.random() * 5)
    lines = [lines[place] for place in places]
    for cut in sorted(chance.sample(range(1, len(lines)), 4)):
        path = rig.claude(lines[:cut])
        os.utime(path, (START_MS / 1000, START_MS / 1000))  # a moment ago, by the clock of the import
        found, _ = await rig.foreign.find_readable([path])
        if found:
            await rig.run(found)
    path = rig.claude(lines)
    (one,) = await rig.foreign.find([path])
    source = count_source(path)
    assert differences(source, await counted(rig, one)) == []
    assert len(await rig.store.sessions()) == 1
    (again,) = (await rig.run([one])).result.unchanged
    assert again


async def test_what_waits_in_a_file_comes_in_once_nothing_more_is_written(rig: Rig) -> None:
    lines = long_talk()
    path = rig.claude([*lines[:6], *lines[7:12]])  # the message that the others follow is not there
    os.utime(path, (START_MS / 1000, START_MS / 1000))
    (found,) = await rig.foreign.find([path])
    first = await rig.run([found])
    assert [spoke.text for spoke in await rig.events(first.sessions[0], UserSpoke)] == ["Question 0"]
    assert (await rig.run([found])).result.unchanged == first.sessions
    os.utime(path, (START_MS / 1000 - 3_600, START_MS / 1000 - 3_600))
    assert (await rig.run([found])).result.extended == first.sessions
    answers = await rig.events(first.sessions[0], AssistantSpoke)
    assert [spoke.text for spoke in answers if spoke.text] == ["Answer 0", "Answer 1"]
    assert (await rig.run([found])).result.unchanged == first.sessions


async def test_the_list_has_the_dates_of_the_records(rig: Rig) -> None:
    path = rig.claude(long_talk())
    packed = rig.home / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    for each in (path, packed):
        (found,) = await rig.foreign.find([each])
        done = await rig.run([found])
        (summary,) = [one for one in await rig.store.sessions() if one.id == done.sessions[0]]
        assert found.updated == summary.updated
        assert found.updated < START_MS + 365 * 86_400_000
