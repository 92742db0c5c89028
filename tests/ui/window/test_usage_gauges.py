"""Every gauge shows one figure: the size of the next request, after any change of the session."""

from __future__ import annotations

from contextlib import suppress
from itertools import count, cycle
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from PySide6.QtWidgets import QApplication

from helix_desktop.context.summaries.observation import OBSERVE, REFINE
from helix_desktop.context.summaries.summary_task import OPENING
from helix_desktop.domain.errors import CompactionRefused, OutputFormUnavailable
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.summary import HandoverMade
from tests.support.cli_rig import Cli
from tests.support.model_servers.chat_server import Call, ChatServer, StreamedReply, Text, TokenCounts
from tests.support.part_files import part_files
from tests.support.scripted_model import OBSERVATIONS, SUMMARY
from tests.support.window.usage_checks import (
    check_cache_totals,
    check_gauge_accuracy,
    check_usage_displays,
    count_message_tokens,
    inspector_rows,
    sidebar_item,
)
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop

FILES = part_files()
FACTORS = {24_000: 1.25, 200_000: 1.0, 32_000: 1.25}
"""How much more than Helix each model counts, by the size of its window."""
SWEEPING = {"protect_steps": 2, "protect_tokens": 2_500, "sweep": "at once", "handover_at": 0.95}


def _factor(model: str) -> float:
    return FACTORS[int(model.removeprefix("of"))]


class _RandomRun:
    """A seeded run of everything that changes the content of the next request."""

    def __init__(self, rig: WindowRig, seed: int) -> None:
        self.rig, self._random = rig, Random(seed)
        self._parts, self._models = count(), cycle(FACTORS)
        self._reported: set[str] = set()  # models that have reported their counts
        self._server: ChatServer | None = None

    async def answer(self, request: dict[str, Any]) -> StreamedReply:
        """Read a file, then end the turn; write requested summaries; report its own count."""
        messages = request["messages"]
        frame = self.rig.conversation.session.frame
        tokens = await count_message_tokens(self.rig, messages) + (
            frame.tools_tokens if request.get("tools") else 0
        )
        usage = TokenCounts(round(_factor(request["model"]) * tokens), 5)
        self._reported.add(request["model"])
        prompt = messages[-1]["content"]
        if messages[-1]["role"] == "user" and prompt.startswith(OPENING):
            return StreamedReply(Text(SUMMARY), usage=usage)
        if messages[-1]["role"] == "user" and prompt.startswith((OBSERVE, REFINE)):
            return StreamedReply(Text(OBSERVATIONS), usage=usage)
        if messages[-1]["role"] == "user":
            part = next(self._parts) % len(FILES)
            return StreamedReply(
                Call("read_file", f'{{"path": "part{part}.txt"}}', id=f"c{tokens}"), usage=usage
            )
        return StreamedReply(Text("That is read."), usage=usage)

    async def use(self, server: ChatServer) -> None:
        self._server = server
        await self._model()

    async def step(self, what: str) -> None:
        """Do one thing, then compare every place with every other and with an own count."""
        before = self.rig.conversation.window.measure()[1].used
        handover_count = len(self.rig.events(HandoverMade))
        await getattr(self, f"_{what}")()
        await self.rig.wait_for_turn_end()
        model = self.rig.conversation.model.label.partition("/")[2]
        gauge = await check_gauge_accuracy(self.rig, _factor(model) if model in self._reported else 1.0)
        await check_usage_displays(self.rig)
        system = next(item.tokens for item in self.rig.conversation.window.items() if item.kind == "system")
        values = [row.tokens for row in inspector_rows(self.rig) if row.kind == "system"]
        assert values == [system], "by our count, whatever was reported"
        if len(self.rig.events(HandoverMade)) > handover_count:
            handover = self.rig.events(HandoverMade)[-1]
            assert (handover.before, handover.after) == (before, gauge.used), (
                "what the command line's timeline says"
            )

    def steps(self, times: int) -> list[str]:
        must = ["say", "say", "pin", "form", "say", "compact", "undo", "policy", "redo", "model", "say"]
        more = ["say", "undo", "redo", "observe", "pin", "unpin", "form", "policy", "model", "compact"]
        return must + self._random.choices(more, k=times)

    async def _say(self) -> None:
        await self.rig.run_turn("Read the next part, please.")

    async def _compact(self) -> None:
        with suppress(CompactionRefused):
            self.rig.conversation.handovers.start()

    async def _observe(self) -> None:
        with suppress(CompactionRefused):
            self.rig.conversation.observations.start()

    async def _undo(self) -> None:
        transcript = self.rig.conversation.session.transcript
        if undoable := [seq for seq in transcript.rewrites.by_seq if transcript.can_undo(seq)]:
            with suppress(CompactionRefused):  # one may stand inside a later one
                await self.rig.conversation.window.undo(self._random.choice(undoable))

    async def _redo(self) -> None:
        if undone := sorted(self.rig.conversation.session.transcript.rewrites.undone):
            with suppress(CompactionRefused):
                await self.rig.conversation.window.redo(self._random.choice(undone))

    def _output(self) -> int:
        answers = [
            entry.seq for entry in self.rig.conversation.session.log if isinstance(entry.event, ToolAnswered)
        ]
        return self._random.choice(answers)

    async def _pin(self) -> None:
        await self.rig.conversation.window.pin(self._output())

    async def _unpin(self) -> None:
        await self.rig.conversation.window.unpin(
            max(self.rig.conversation.session.transcript.rewrites.pinned, default=0)
        )

    async def _form(self) -> None:
        with suppress(OutputFormUnavailable):
            await self.rig.conversation.window.choose_form(self._output(), "preview")

    async def _policy(self) -> None:
        fields = {"user_text_tokens": self._random.choice((0, 20, 20_000)), "handover_at": 0.9}
        await self.rig.change_policy(**fields, protect_tokens=self._random.choice((100, 50_000)))
        self.rig.wiring.session.schedule_refresh()

    async def _model(self) -> None:
        assert self._server is not None
        window = next(self._models)
        await self.rig.use_server(self._server, f"of{window}", window)


async def test_every_gauge_matches_the_next_request(qapp: QApplication, tmp_path: Path) -> None:
    """After each of many turns, rewrites, undos and changes of policy and model; also after a restart."""
    cli = Cli.create(tmp_path)
    async with open_window(qapp, tmp_path) as rig:
        play = _RandomRun(rig, seed=41)  # its further steps are of six kinds
        async with ChatServer(play.answer) as server:
            identity = await rig.open_folder("ws", FILES)
            await play.use(server)
            await rig.change_policy(**SWEEPING, handover_least_gain=0.0, fold_after_steps=4, fold_least=0)
            rig.window.show_page("timeline")
            for what in play.steps(6):
                await play.step(what)
            session_id, share = rig.conversation.session.id, rig.conversation.window.measure()[1].share
            totals = await check_cache_totals(rig)
            await rig.wiring.workspace_controller.new_session()

    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.open_workspace(identity)
        assert rig.workspace.find_open(session_id) is None
        await until(lambda: sidebar_item(rig, session_id).used == share, "the same share after a restart")
        await rig.wiring.workspace_controller.open_session(session_id)
        assert sidebar_item(rig).used == rig.conversation.window.measure()[1].share == share
        events = msgspec.json.decode(msgspec.json.encode(await rig.stored_events()))

    cache_list = await cli("cache", "list", "--workspace", "ws")
    assert cache_list.err.splitlines()[-1] == f"{totals} · tokens by Helix's count"
    timeline = await cli("timeline", "--workspace", "ws", "--json")
    (listing,) = [
        session_timeline for session_timeline in timeline.json if session_timeline["session"] == session_id
    ]
    listed = [(event["seq"], event["event"]["kind"]) for event in listing["events"]]
    assert listed == [pair for event in events if (pair := (event["seq"], event["event"]["kind"])) in listed]
    assert len(listed) > 4
