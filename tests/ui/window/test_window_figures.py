"""Every gauge shows one figure: what the next request would contain, whatever happened to the session."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from PySide6.QtWidgets import QApplication

from helix_desktop.context.event_rewrite import SweepMade
from helix_desktop.ui.sidebar.rows import SessionItem
from tests.support.chat_server import Call, ChatServer, Stream, in_turn, say
from tests.support.window_rig import Rig, opened_window, until

pytestmark = pytest.mark.qt_loop

FILES = {f"part{n}.txt": f"Part {n}.\n" + f"line of part {n} with some words\n" * 120 for n in range(8)}
SWEEPING = {"protect_steps": 2, "protect_tokens": 2_500, "sweep": "at once", "handover_at": 0.95}


def _reads_all() -> ChatServer:
    reads = [Stream(Call("read_file", f'{{"path": "part{n}.txt"}}', id=f"c{n}")) for n in range(8)]
    return ChatServer(in_turn(*reads, say("All read.")))


def _listed(rig: Rig, session: str = "") -> SessionItem:
    """A session's line in the sidebar; without an id that of the one on screen."""
    wanted = session or rig.talk.session.id
    return next(one for one in rig.window.sidebar.list.sessions() if one.id == wanted)


def _true(rig: Rig) -> float:
    return rig.talk.measure()[1].share


async def test_the_sidebar_follows_each_change_and_keeps_it(qapp: QApplication, tmp_path: Path) -> None:
    """Undo, redo, another policy and another model, and a restart."""
    async with _reads_all() as server:
        async with opened_window(qapp, tmp_path) as rig:
            identity = await rig.open_folder("project", FILES)
            await rig.use_server(server)
            await rig.change_policy(**SWEEPING)
            await rig.say("Read everything")
            swept = _true(rig)
            assert _listed(rig).used == swept
            seq = next(one.seq for one in rig.talk.session.log if isinstance(one.event, SweepMade))
            rig.opened.shell.rewriting.undo(seq)
            await until(lambda: _true(rig) > swept and _listed(rig).used == _true(rig), "the undo listed")
            session, used = rig.talk.session.id, rig.talk.measure()[1].used
            await rig.opened.shell.new_session()

        async with opened_window(qapp, tmp_path) as rig:
            await rig.opened.shell.open_workspace(identity)
            assert rig.talk.session.id != session
            assert rig.room.known(session) is None
            await until(lambda: _listed(rig, session).used == used / 32_000, "the closed session's figure")
            await rig.use_server(server, window=64_000)
            await until(
                lambda: _listed(rig, session).used == used / 64_000, "the closed one in the new window"
            )
            await rig.opened.shell.open_session(session)
            assert _listed(rig).used == _true(rig) == used / 64_000


async def test_what_an_older_version_stored_is_counted_again(qapp: QApplication, tmp_path: Path) -> None:
    """Its figures are not believed: the log says how full the context is."""
    async with _reads_all() as server:
        async with opened_window(qapp, tmp_path) as rig:
            identity = await rig.open_folder("project", FILES)
            await rig.use_server(server)
            await rig.say("Read everything")
            session, true = rig.talk.session.id, _true(rig)
            await rig.opened.shell.new_session()
            listed = next(one for one in await rig.room.sessions() if one.id == session)

            old = msgspec.structs.replace(listed, used=31_000, count=None)
            await rig.room.store.commit(session, summary=old)

        async with opened_window(qapp, tmp_path) as rig:
            await rig.opened.shell.open_workspace(identity)
            assert rig.room.known(session) is None
            await until(lambda: _listed(rig, session).used == true, "the true figure")
            (again,) = [one for one in await rig.room.sessions() if one.id == session]
            assert again == listed
