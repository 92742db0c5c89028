"""Imported sessions against a count of their raw files by a reader that shares no code with the importer.

`HELIX_FOREIGN_FOLDER=FOLDER pytest FILE -k folder` counts every session file below a folder of yours.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.foreign import ForeignRecords
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.foreign.discovery import FoundSession
from helix_desktop.foreign.sources import recognize
from helix_desktop.store.remote.server import SharedStore
from tests.integration.foreign.test_import import (
    Rig,
    answer,
    called,
    output,
    said,
    user,
)
from tests.support.foreign_counts import Counts, count_source, digest, typed
from tests.support.store.builders import TickingClock

FOLDER = os.environ.get("HELIX_FOREIGN_FOLDER", "")
_NAMES = ("calls", "all_calls", "outputs", "usage", "branches")
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
}


@pytest.mark.parametrize("name", SHAPES)
async def test_a_shape_comes_in_exactly(rig: Rig, name: str) -> None:
    path = rig.claude(SHAPES[name])
    (found,) = await rig.foreign.find([path])
    assert differences(count_source(path), await counted(rig, found)) == []
