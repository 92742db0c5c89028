"""A large session is converted in a process of its own: with the same result, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncGenerator
from multiprocessing import active_children
from pathlib import Path

import pytest

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.services import foreign_import
from helix_desktop.store.remote.server import SharedStore
from helix_desktop.system.task_scope import TaskScope
from tests.integration.foreign.test_import import LONG, TALK, Rig, user
from tests.support.store.builders import TickingClock


@pytest.fixture
async def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Rig]:
    """A store, a session to import, and a folder for what is temporary; everything is large."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(foreign_import, "_LEAST_BYTES", 0)
    store = await SharedStore.open(tmp_path / "store", "a" * 32, TickingClock())
    rig = Rig(tmp_path, store)
    rig.claude(TALK)
    yield rig
    await store.close()
    assert not active_children()
    assert not os.listdir(tmp_path / "temporary")


async def test_the_log_is_the_same_as_from_a_thread(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    progress: list[tuple[int, int]] = []
    found = await rig.foreign.find()
    done = await rig.foreign.import_into("w", found, lambda done, size: progress.append((done, size)))
    [session_id] = done.result.new
    assert progress[-1][0] == progress[-1][1]
    monkeypatch.setattr(foreign_import, "_LEAST_BYTES", 1 << 40)
    again = await rig.run()
    assert again.result.unchanged == (session_id,)
    assert (again.by_kind, again.damaged) == (done.by_kind, done.damaged)
    outputs = await rig.events(session_id, ToolAnswered)
    assert [await rig.store.get(each.digest) for each in outputs[1:2]] == [LONG.encode()]


async def test_a_file_that_is_gone_is_named(rig: Rig) -> None:
    found = await rig.foreign.find()
    found[0].source.path.unlink()
    [(name, why)] = (await rig.run(found)).failed
    assert (name, "No such file" in why) == ("Which port does it use?", True)


def write_long(rig: Rig) -> None:
    """A session that is converted in many parts."""
    rig.claude([user(f"u{number}", "Next?", f"u{number - 1}" if number else None) for number in range(9_000)])


async def test_a_process_that_was_killed_is_an_error(rig: Rig) -> None:
    write_long(rig)

    def kill(*_: int) -> None:
        for process in active_children():
            process.kill()

    with pytest.raises(HelixError, match="The process that reads it ended"):
        await rig.foreign.import_into("w", await rig.foreign.find(), kill)


async def test_canceled_it_ends_its_process(rig: Rig) -> None:
    write_long(rig)
    begun = asyncio.Event()
    scope = TaskScope()
    work = rig.foreign.import_into("w", await rig.foreign.find(), lambda *_: begun.set())
    running = scope.start(work, "import")
    await begun.wait()
    await scope.close()
    assert running.cancelled()
    assert await rig.store.sessions() == []
