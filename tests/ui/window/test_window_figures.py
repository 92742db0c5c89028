"""Every gauge shows one figure: what the next request would contain, whatever happened to the session."""

from __future__ import annotations

from contextlib import suppress
from itertools import count, cycle
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from PySide6.QtWidgets import QApplication

from helix_desktop.context.summaries.observation_task import OBSERVE, REFINE
from helix_desktop.context.summaries.summary_task import OPENING
from helix_desktop.domain.errors import CompactionRefused, OutputFormUnavailable
from helix_desktop.domain.events.rewrite import SweepMade
from helix_desktop.domain.events.session import ToolAnswered
from helix_desktop.domain.events.summary import HandoverMade
from tests.support.chat_server import Call, ChatServer, Counts, Stream, Text, in_turn, say
from tests.support.cli_rig import Cli
from tests.support.figure_watch import (
    FIXED,
    check_gauges,
    check_totals,
    check_truth,
    counted,
    listed,
    rows,
)
from tests.support.scripted_model import OBSERVATIONS, SUMMARY
from tests.support.window_rig import Rig, opened_window, until

pytestmark = pytest.mark.qt_loop

FILES = {f"part{n}.txt": f"Part {n}.\n" + f"line of part {n} with some words\n" * 120 for n in range(8)}
SWEEPING = {"protect_steps": 2, "protect_tokens": 2_500, "sweep": "at once", "handover_at": 0.95}


def _reads_all() -> ChatServer:
    reads = [Stream(Call("read_file", f'{{"path": "part{n}.txt"}}', id=f"c{n}")) for n in range(8)]
    return ChatServer(in_turn(*reads, say("All read.")))


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
            assert listed(rig).used == swept
            seq = next(one.seq for one in rig.talk.session.log if isinstance(one.event, SweepMade))
            rig.opened.workspace_controller.rewrites.undo(seq)
            await until(lambda: _true(rig) > swept and listed(rig).used == _true(rig), "the undo listed")
            session, used = rig.talk.session.id, rig.talk.measure()[1].used
            await rig.opened.workspace_controller.new_session()

        async with opened_window(qapp, tmp_path) as rig:
            await rig.opened.workspace_controller.open_workspace(identity)
            assert rig.talk.session.id != session
            assert rig.room.find_open(session) is None
            await until(lambda: listed(rig, session).used == used / 32_000, "the closed session's figure")
            await rig.use_server(server, window=64_000)
            await until(
                lambda: listed(rig, session).used == used / 64_000, "the closed one in the new window"
            )
            await rig.opened.workspace_controller.open_session(session)
            assert listed(rig).used == _true(rig) == used / 64_000


async def test_what_an_older_version_stored_is_counted_again(qapp: QApplication, tmp_path: Path) -> None:
    """Its figures are not believed: the log says how full the context is."""
    async with _reads_all() as server:
        async with opened_window(qapp, tmp_path) as rig:
            identity = await rig.open_folder("project", FILES)
            await rig.use_server(server)
            await rig.say("Read everything")
            session, true = rig.talk.session.id, _true(rig)
            await rig.opened.workspace_controller.new_session()
            stored = next(one for one in await rig.room.sessions() if one.id == session)

            old = msgspec.structs.replace(stored, used=31_000, count=None)
            await rig.room.store.commit(session, summary=old)

        async with opened_window(qapp, tmp_path) as rig:
            await rig.opened.workspace_controller.open_workspace(identity)
            assert rig.room.find_open(session) is None
            await until(lambda: listed(rig, session).used == true, "the true figure")
            (again,) = [one for one in await rig.room.sessions() if one.id == session]
            assert again == stored


class _Play:
    """A seeded run of everything that changes what the next request contains."""

    def __init__(self, rig: Rig, seed: int) -> None:
        self.rig, self._random = rig, Random(seed)
        self._parts, self._models = count(), cycle((24_000, 200_000, 32_000))
        self.factor = 1.0
        self.fixed: set[tuple[int, ...]] = set()
        self._reported: set[str] = set()  # models that have said how they count
        self._server: ChatServer | None = None

    async def answer(self, request: dict[str, Any]) -> Stream:
        """Read a file, then end the turn; write what summaries are asked for; report a count of its own."""
        messages = request["messages"]
        frame = self.rig.talk.session.settings and self.rig.talk.session.settings()[1]
        assert frame is not None
        tokens = await counted(self.rig, messages) + (frame.tools_tokens if request.get("tools") else 0)
        usage = Counts(round(self.factor * tokens), 5)
        self._reported.add(request["model"])
        asked = messages[-1]["content"]
        if messages[-1]["role"] == "user" and asked.startswith(OPENING):
            return Stream(Text(SUMMARY), usage=usage)
        if messages[-1]["role"] == "user" and asked.startswith((OBSERVE, REFINE)):
            return Stream(Text(OBSERVATIONS), usage=usage)
        if messages[-1]["role"] == "user":
            part = next(self._parts) % len(FILES)
            return Stream(Call("read_file", f'{{"path": "part{part}.txt"}}', id=f"c{tokens}"), usage=usage)
        return Stream(Text("That is read."), usage=usage)

    async def use(self, server: ChatServer) -> None:
        """Begin with a model of this server."""
        self._server = server
        await self._model()

    async def step(self, what: str) -> None:
        """Do one thing, then compare every place with every other and with an own count."""
        before = self.rig.talk.measure()[1].used
        made = len(self.rig.facts(HandoverMade))
        await getattr(self, f"_{what}")()
        await self.rig.turn_over()
        known = self.rig.talk.model.label.partition("/")[2] in self._reported
        gauge = await check_truth(self.rig, self.factor if known else 1.0)
        await check_gauges(self.rig)
        self.fixed.add(tuple(row.tokens for row in rows(self.rig) if row.kind in FIXED))
        if len(self.rig.facts(HandoverMade)) > made:
            told = self.rig.facts(HandoverMade)[-1]
            assert (told.before, told.after) == (before, gauge.used), "what the command line's timeline says"

    def steps(self, times: int) -> list[str]:
        """A run that has everything in it."""
        must = ["say", "say", "pin", "form", "say", "compact", "undo", "policy", "redo", "model", "say"]
        more = ["say", "undo", "redo", "observe", "pin", "unpin", "form", "policy", "model", "compact"]
        return must + self._random.choices(more, k=times)

    async def _say(self) -> None:
        await self.rig.say("Read the next part, please.")

    async def _compact(self) -> None:
        with suppress(CompactionRefused):
            self.rig.talk.compact()

    async def _observe(self) -> None:
        with suppress(CompactionRefused):
            self.rig.talk.observe()

    async def _undo(self) -> None:
        known = self.rig.talk.session.transcript
        if held := [seq for seq in known.rewrites.by_seq if known.can_undo(seq)]:
            await self.rig.talk.undo(self._random.choice(held))

    async def _redo(self) -> None:
        if undone := sorted(self.rig.talk.session.transcript.rewrites.undone):
            await self.rig.talk.redo(self._random.choice(undone))

    def _output(self) -> int:
        answers = [one.seq for one in self.rig.talk.session.log if isinstance(one.event, ToolAnswered)]
        return self._random.choice(answers)

    async def _pin(self) -> None:
        await self.rig.talk.pin(self._output())

    async def _unpin(self) -> None:
        await self.rig.talk.unpin(max(self.rig.talk.session.transcript.rewrites.pinned, default=0))

    async def _form(self) -> None:
        with suppress(OutputFormUnavailable):
            await self.rig.talk.choose_form(self._output(), "preview")

    async def _policy(self) -> None:
        fields = {"user_text_tokens": self._random.choice((0, 20, 20_000)), "handover_at": 0.9}
        await self.rig.change_policy(**fields, protect_tokens=self._random.choice((100, 50_000)))
        self.rig.opened.workspace_controller.session_controller.schedule_refresh()

    async def _model(self) -> None:
        assert self._server is not None
        window = next(self._models)
        await self.rig.use_server(self._server, f"of{window}", window)


@pytest.mark.parametrize(("seed", "factor"), [(1, 1.0), (2, 1.25)])
async def test_every_place_shows_what_the_next_request_contains(
    qapp: QApplication, tmp_path: Path, seed: int, factor: float
) -> None:
    """After each of many turns, rewrites, undos and changes of policy and model; also after a restart."""
    cli = Cli.at(tmp_path)
    async with opened_window(qapp, tmp_path) as rig:
        play = _Play(rig, seed)
        play.factor = factor
        async with ChatServer(play.answer) as server:
            identity = await rig.open_folder("ws", FILES)
            await play.use(server)
            await rig.change_policy(**SWEEPING, handover_least_gain=0.0, fold_after_steps=4, fold_least=0)
            rig.window.show_page("timeline")
            for what in play.steps(7):
                await play.step(what)
            assert len(play.fixed) == 1, "the system prompt and the tools keep their count"
            session, share = rig.talk.session.id, rig.talk.measure()[1].share
            said = await check_totals(rig)
            await rig.opened.workspace_controller.new_session()

    async with opened_window(qapp, tmp_path) as rig:
        await rig.opened.workspace_controller.open_workspace(identity)
        assert rig.room.find_open(session) is None
        await until(lambda: listed(rig, session).used == share, "the same share after a restart")
        await rig.opened.workspace_controller.open_session(session)
        assert listed(rig).used == rig.talk.measure()[1].share == share
        events = msgspec.json.decode(msgspec.json.encode(await rig.stored()))

    told = await cli("cache", "list", "--workspace", "ws")
    assert told.err.splitlines()[-1] == said
    timeline = await cli("timeline", "--workspace", "ws", "--json")
    (listing,) = [one for one in timeline.json if one["session"] == session]
    assert listing["events"] == [one for one in events if one in listing["events"]]
    assert len(listing["events"]) > 4
