"""Requests beside the turns: none that nobody asked for, each in sight while it runs and afterwards."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QApplication

from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.summary import HandoverDiscarded
from helix_desktop.domain.store import Commit
from helix_desktop.ui.timeline.cards import BackgroundCard
from helix_desktop.ui.timeline.summary_cards import PreparedCard
from tests.support.histories import build_history, conversation_with
from tests.support.model_servers.chat_server import (
    ChatServer,
    Reply,
    StreamedReply,
    Text,
    TokenCounts,
    Wait,
    text_reply,
)
from tests.support.scripted_model import SUMMARY
from tests.support.store.builders import make_content, make_summary
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop

R = TypeVar("R")
SESSIONS = 10
LONG = 16_000  # characters of each output of a session that is due for a summary


def purpose(request: dict[str, Any]) -> str:
    system = request["messages"][0]["content"]
    if system.startswith("You write handovers"):
        return "summary"
    return "title" if system.startswith("You name a conversation") else "turn"


def answered_here(recorded: RecordedEvent) -> RecordedEvent:
    """Return an event with the model of the test's server: it may go on without a question."""
    if not isinstance(recorded.event, AssistantSpoke):
        return recorded
    return replace(recorded, event=replace(recorded.event, model="box/small"))


def timeline_rows(rig: WindowRig, kind: type[R]) -> list[R]:
    return [row for row in rig.views.timeline.get().cards.cards.rows if isinstance(row, kind)]


async def store_sessions(rig: WindowRig) -> list[str]:
    """Store sessions that are all due for a summary: one of 1,000 calls, one that a crash cut off."""
    histories = [conversation_with(3, steps=4, size=LONG) for _ in range(SESSIONS - 2)]
    histories.append(build_history(1_000, size=400))
    interrupted = build_history(12, size=LONG)
    interrupted.step("Read on.", 2)
    histories.append(interrupted)
    for simulator in histories[:-1]:
        simulator.end_turn("done")
    ids = [f"s{number}" for number in range(SESSIONS)]
    for session_id, simulator in zip(ids, histories, strict=True):
        contents = [make_content(data) for data in simulator.contents.values()]
        summary = make_summary(session_id)
        log = [answered_here(recorded) for recorded in simulator.log]
        await rig.workspace.store.commit(Commit(session_id, log, contents, summary=summary))
    return ids


async def test_looking_asks_no_model_and_a_turn_says_what_it_asks(qapp: QApplication, tmp_path: Path) -> None:
    """With the defaults untouched: the start, ten sessions, and the end of the app send nothing."""
    go = asyncio.Event()

    def answer(request: dict[str, Any]) -> Reply:
        match purpose(request):
            case "summary":
                return StreamedReply(Wait(go), Text(SUMMARY), usage=TokenCounts(46_000, 300))
            case "title":
                return StreamedReply(Wait(go), Text("Tabs everywhere"), usage=TokenCounts(300, 4))
        return text_reply("Done.")

    async with ChatServer(answer) as server:
        async with open_window(qapp, tmp_path) as rig:
            await rig.open_folder("project", {"a.txt": "words"})
            await rig.use_server(server, window=128_000, titled=True)
            ids = await store_sessions(rig)
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            for session_id in ids:
                await rig.wiring.workspace_controller.open_session(session_id)
                assert rig.conversation.session.id == session_id
                await rig.conversation.wait_for_background_work()
                assert not rig.composer.work_text()
        assert server.bodies == []

        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            await rig.wiring.workspace_controller.open_session(ids[0])
            await rig.run_turn("And now?")
            await until(lambda: len(server.bodies) > 1, "what is due after a turn")
            assert sorted(map(purpose, server.bodies)) == ["summary", "turn"]
            assert rig.composer.work_text().startswith("Preparing a handover summary · reads ")
            assert rig.composer.stop_work.isVisible()
            go.set()
            await rig.conversation.checkpoints.wait()
            assert not rig.composer.work_text()
            rig.window.show_page("timeline")
            await rig.wiring.session.refresh()
            (line,) = await until(lambda: timeline_rows(rig, PreparedCard), "its line in the timeline")
            assert line.title.endswith(", prepared")
            assert line.amount.startswith("read ")
            assert "46.3k tokens" in line.amount

            go.clear()
            await rig.wiring.workspace_controller.new_session()
            await rig.run_turn("Use tabs everywhere")
            await until(lambda: rig.composer.work_text().startswith("Writing a title · reads "), "the title")
            go.set()
            await until(lambda: rig.conversation.session.transcript.title == "Tabs everywhere", "its words")
            assert not rig.composer.work_text()
            rig.window.show_page("timeline")
            await rig.wiring.session.refresh()
            (title,) = await until(lambda: timeline_rows(rig, BackgroundCard), "its line in the timeline")
            assert title.line == "Title written: “Tabs everywhere”"
            assert "used 304 tokens" in title.amount


async def test_what_came_to_nothing_stands_in_the_timeline(qapp: QApplication, tmp_path: Path) -> None:
    def answer(request: dict[str, Any]) -> Reply:
        if purpose(request) == "summary":
            return StreamedReply(Text("I can't help with that."), usage=TokenCounts(46_000, 6))
        return text_reply("Done.")

    async with ChatServer(answer) as server, open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project", {"a.txt": "words"})
        await rig.use_server(server, window=128_000)
        (session_id, *_) = await store_sessions(rig)
        await rig.wiring.workspace_controller.open_session(session_id)
        await rig.run_turn("And now?")
        await rig.conversation.checkpoints.wait()
        request_count = len(server.bodies)
        (event,) = [each for each in rig.events(HandoverDiscarded) if each.failed is not None]
        rig.window.show_page("timeline")
        await rig.wiring.session.refresh()
        (failed,) = await until(lambda: timeline_rows(rig, BackgroundCard), "its line in the timeline")
        assert failed.line == "No handover summary was prepared"
        assert failed.why
        assert failed.amount.startswith("read ")
        assert event.spent >= 46_006
        assert "used " in failed.amount
        await rig.wiring.workspace_controller.new_session()
        await rig.wiring.workspace_controller.open_session(session_id)
        await rig.run_turn("And then?")
        await rig.conversation.checkpoints.wait()
        assert len(server.bodies) == request_count + 1, "nothing is read again before 10,000 tokens came"
