"""Imported sessions that are opened, closed, continued and imported again, with defaults untouched."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.config.paths import DataDir
from helix_desktop.domain.events.conversation import TurnEnded, UserSpoke
from helix_desktop.services.app_services import AppServices
from helix_desktop.services.foreign_import import ForeignImport
from helix_desktop.store.remote.server import SharedStore
from tests.integration.foreign.test_exactly import FILES, SHAPES
from tests.integration.foreign.test_import import Line, answer, called, output, said, user

_ROWS = (b"", b"\xff" * 64)
COUNT = 40
CUT: list[Line] = [
    user("1", "Which port?"),
    answer("2", "1", called("t1")),
    output("3", "2", "t1", "PORT = 8080"),
    answer("4", "3", said("I look further."), called("t2")),
]


class App:
    """The services of the app, a workspace on screen, and the session files that it imports."""

    def __init__(self, services: AppServices, workspace: OpenWorkspace, folder: Path) -> None:
        self.services = services
        self.workspace = workspace
        self.folder = folder

    def write(self, name: str, lines: list[Line]) -> Path:
        path = self.folder / f"{name}.jsonl"
        own = [{**line, "sessionId": name} for line in lines]
        path.write_text("".join(json.dumps(line) + "\n" for line in own))
        return path

    async def import_all(self, *paths: Path) -> ForeignImport:
        found = await self.services.foreign_sessions.find(paths or [self.folder])
        return await self.services.foreign_sessions.import_into(self.workspace.id, found)

    async def look_at_all(self) -> int:
        """Open every session as the window does, with its subagents, and close it; return how many."""
        listed = await self.workspace.store.sessions()
        await self.workspace.usage.recount({summary.id for summary in listed})
        for summary in listed:
            conversation = await self.workspace.open_session(summary.id)
            await conversation.plan_opening()
            self.workspace.note_seen(summary.id)
            conversation.window.measure()
            assert not conversation.session.transcript.turn_open, "it is shown closed"
            await self.workspace.close_session(summary.id)
        return len(listed)

    def rows(self) -> dict[bytes, bytes]:
        """Return every row of the store."""
        store = self.workspace.store
        assert isinstance(store, SharedStore)
        return store._files.database.read(lambda view: dict(view.scan(_ROWS)))


@pytest.fixture
async def app(tmp_path: Path) -> AsyncGenerator[App]:
    data = DataDir(tmp_path / "data")
    data.ensure()
    services = AppServices(data, {})
    project = tmp_path / "project"
    project.mkdir()
    record = services.registry.add(project, trusted=True)
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    yield App(services, await services.open_workspace(record.id), sessions)
    await services.close()


async def test_forty_sessions_opened_and_closed_are_imported_again_without_a_copy(app: App) -> None:
    shapes = [*SHAPES.values(), CUT]
    for number in range(COUNT):
        app.write(f"s{number}", shapes[number % len(shapes)])
    first = await app.import_all()
    assert len(first.result.new) >= COUNT
    before = app.rows()
    assert await app.look_at_all() >= COUNT
    assert app.rows() == before, "no event, no row, no date"
    again = await app.import_all()
    assert (again.result.new, again.result.extended, again.result.apart) == ((), (), ())
    assert len(again.result.unchanged) == len(first.result.new)
    assert app.rows() == before


@pytest.mark.skipif(not FILES, reason="no folder was named")
async def test_a_folder_of_sessions_is_looked_at_without_a_trace(app: App) -> None:
    first = await app.import_all(*FILES)
    before = app.rows()
    await app.look_at_all()
    assert app.rows() == before
    again = await app.import_all(*FILES)
    assert (again.result.new, again.result.extended, again.result.apart) == ((), (), ())
    assert len(again.result.unchanged) == len(first.result.new)


async def test_a_session_that_was_looked_at_grows(app: App) -> None:
    path = app.write("s", CUT)
    (session_id,) = (await app.import_all()).sessions
    await app.look_at_all()
    more = [*CUT, output("5", "4", "t2", "HOST = localhost"), answer("6", "5", said("localhost:8080."))]
    app.write("s", more)
    again = await app.import_all(path)
    assert again.result.extended == (session_id,)
    assert again.result.apart == ()
    log = await app.workspace.store.events(session_id)
    ends = [entry.event for entry in log if isinstance(entry.event, TurnEnded)]
    assert [end.how for end in ends] == ["done"]
    assert len(await app.workspace.store.sessions()) == 1


async def test_a_session_that_was_continued_here_stays_and_what_is_new_there_is_a_session_of_its_own(
    app: App,
) -> None:
    path = app.write("s", CUT)
    (session_id,) = (await app.import_all()).sessions
    conversation = await app.workspace.open_session(session_id)
    before = await app.workspace.store.events(session_id)
    await conversation.session.record(UserSpoke("Go on here.", 4))
    log = await app.workspace.store.events(session_id)
    assert log == conversation.session.log
    assert log[: len(before)] == before
    assert isinstance(log[-2].event, TurnEnded), "how the import ends is stored with the message"
    assert log[-2].at == before[-1].at, "and has the date of its source"
    await app.workspace.close_session(session_id)
    unchanged = await app.import_all(path)
    assert unchanged.result.unchanged == (session_id,)
    app.write("s", [*CUT, output("5", "4", "t2", "HOST = localhost")])
    again = await app.import_all(path)
    assert len(again.result.apart) == 1
    assert await app.workspace.store.events(session_id) == log
    more = await app.import_all(path)
    assert (more.result.apart, more.result.new) == ((), ())
    assert len(await app.workspace.store.sessions()) == 2
