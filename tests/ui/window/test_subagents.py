"""Subagents in the real window: cards, a line while they work, their sessions, the way back."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest

from helix_desktop.domain.events.session import BudgetSet
from helix_desktop.ui.chat.rows.row_texts import subagent_figures
from helix_desktop.ui.chat.rows.row_types import ToolRow, UserRow
from helix_desktop.ui.window.sidebar.session_list import SessionItem
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Reply,
    StreamedReply,
    Text,
    Wait,
    text_reply,
)
from tests.support.window.buttons import press
from tests.support.window.chat_geometry import click_area
from tests.support.window.window_rig import WindowRig, until

pytestmark = pytest.mark.qt_loop


TASKS = ("Read the logs", "Find the callers")


class TwoTaskModel:
    """A model that delegates two tasks, and does each with one read and one answer that waits for `go`."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.tool_names: list[list[str]] = []  # the tools that each request names

    def __call__(self, request: dict[str, Any]) -> Reply:
        self.tool_names.append([tool["function"]["name"] for tool in request["tools"]])
        messages = request["messages"]
        first = next(message["content"] for message in messages if message["role"] == "user")
        if first == "Go":
            if messages[-1]["content"] != "Go":
                return text_reply("Both are done.")
            return StreamedReply(
                *(
                    Call("delegate", json.dumps({"task": f"{title}, please", "title": title}), id=f"c{n}")
                    for n, title in enumerate(TASKS)
                )
            )
        if messages[-1]["role"] == "user":
            return StreamedReply(Call("read_file", '{"path": "a.txt"}', id="r1"))
        return StreamedReply(Text("It took "), Wait(self.go), Text("three days."))


def cards(rig: WindowRig) -> list[ToolRow]:
    return [row for row in rig.rows(ToolRow) if row.call.name == "delegate"]


def listed(rig: WindowRig) -> list[SessionItem]:
    return rig.window.sidebar.session_list.sessions()


def place(rig: WindowRig, at: int, button: bool) -> QPoint:
    """Where the button of a card is, or else its title, in the viewport."""
    viewport = rig.chat.view.chat_viewport
    index = viewport.model.index_of(cards(rig)[at].key)
    assert index is not None
    placed = next(placed for placed in viewport.scroll_layout.placed if placed.row_index == index)
    hit_area = viewport.item(index).hit_area("subagent:card")
    assert hit_area is not None
    spot = hit_area.rect.center() if button else QPointF(60, 20)
    top = viewport.item_cache.gap(index) + placed.y
    return QPoint(round(viewport.left + spot.x()), round(top + spot.y()))


async def begun(rig: WindowRig, server: ChatServer, folder: str) -> None:
    """Both at work, each in its second step."""
    await rig.open_folder(folder, {"a.txt": "words"})
    await rig.use_server(server)
    rig.type_message("Go")
    await until(
        lambda: [card.subagent_status and card.subagent_status.steps for card in cards(rig)] == [1, 1],
        "both at work",
    )


async def test_delegated_tasks_have_cards_sessions_and_lines_in_the_list(rig: WindowRig) -> None:
    """Each step has a workspace of its own."""
    await _check_the_cards(rig)
    await _check_a_stopped_card(rig)
    await _check_the_sessions(rig)
    await _check_a_spent_budget(rig)


async def _check_the_cards(rig: WindowRig) -> None:
    """Each has its own phase, figures and newest call; the cost after the end, also when reopened."""
    house = TwoTaskModel()
    async with ChatServer(house) as server:
        await begun(rig, server, "cards")
        await until(
            lambda: all(
                card.subagent_status and card.subagent_status.phase == "thinking" for card in cards(rig)
            ),
            "thinking",
        )
        for card, title in zip(cards(rig), TASKS, strict=True):
            assert card.subagent_status is not None
            assert (card.target, card.state) == (title, "running")
            assert (card.subagent_status.current_tool, card.subagent_status.window) == (
                "read_file a.txt",
                32_000,
            )
            assert card.subagent_status.used > 0 < card.subagent_status.started_at_ms
            now_ms = card.subagent_status.started_at_ms + 61_000
            assert subagent_figures(card, now_ms).endswith(" · 1:01")
        assert len(rig.window.jobs.job_ids()) == len(TASKS)
        house.go.set()
        await rig.wait_for_turn_end()
        done = cards(rig)
        for card in done:
            assert card.subagent_status is not None
            assert (card.subagent_status.phase, card.subagent_status.steps, card.state) == ("done", 2, "ok")
            assert card.subagent_status.spent_tokens > 0
        assert not rig.window.jobs.job_ids()
        parent = rig.conversation.session.id
        await rig.wiring.workspace_controller.open_session(done[0].subagent_session)
        await rig.wiring.workspace_controller.open_session(parent)
        assert cards(rig) == done
        assert house.tool_names[0] == [*house.tool_names[1], "show_output", "delegate"], (
            "a subagent has all tools but those two"
        )


async def _check_a_stopped_card(rig: WindowRig) -> None:
    """It keeps its figures and the way to its session, which the list calls stopped."""
    house = TwoTaskModel()
    async with ChatServer(house) as server:
        await begun(rig, server, "stopped")
        click_area(rig.chat.view, cards(rig)[0].key, "stop:card")
        await until(lambda: cards(rig)[0].state == "stopped", "its end")
        status = cards(rig)[0].subagent_status
        assert status is not None
        # The stop may come before or after the first words of the second step.
        assert (status.phase, status.steps in {1, 2}, status.spent_tokens > 0) == ("stopped", True, True)
        place(rig, 0, button=True)
        house.go.set()
        await rig.wait_for_turn_end()
        stopped = [item.title for item in listed(rig) if item.state == "stopped"]
        assert stopped == [cards(rig)[0].target]


async def _check_the_sessions(rig: WindowRig) -> None:
    """The button and a double click on the card; its progress is there, and a link leads back."""
    house = TwoTaskModel()
    async with ChatServer(house) as server:
        await begun(rig, server, "sessions")
        await rig.wiring.sidebar.refresh()
        assert sorted(session.title for session in listed(rig)[1:]) == sorted(TASKS)
        assert all(session.parent == rig.conversation.session.id for session in listed(rig)[1:])
        parent, viewport = rig.conversation, rig.chat.view.viewport()
        first, second = (card.subagent_session for card in cards(rig))
        QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=place(rig, 0, button=True))
        await until(lambda: rig.app_window.shown_session.session_id == first, "the first one's session")
        assert rig.conversation.is_running
        await until(lambda: [row.text for row in rig.rows(UserRow)] == [f"{TASKS[0]}, please"], "its task")
        await until(lambda: "Subagent session." in rig.banner_text(), "whose session it is")
        press(rig.window.notices, "back")
        await until(lambda: rig.conversation is parent and len(cards(rig)) == len(TASKS), "back")
        await until(lambda: "Subagent session." not in rig.banner_text(), "no banner")
        assert [card.subagent_status and card.subagent_status.steps for card in cards(rig)] == [1, 1], (
            "caught up with"
        )
        QTest.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=place(rig, 1, button=False))
        await until(lambda: rig.app_window.shown_session.session_id == second, "the second one's session")
        house.go.set()
        await until(lambda: not parent.is_running, "the end")
        await rig.wiring.workspace_controller.open_session(parent.session.id)
        await rig.run_turn("Thanks")
        await rig.wiring.workspace_controller.new_session()
        await rig.run_turn("Hello")
        assert [session.parent for session in listed(rig)] == ["", ""], "they show where the user is"
        rig.window.sidebar.search.setText("callers")
        assert [session.title for session in listed(rig)] == ["Go", "Find the callers"]
        sessions = rig.window.sidebar.session_list
        menu = sessions.menu_for(sessions.index_of(listed(rig)[1].id))
        words = [action.text() for action in menu.actions()]
        assert words == ["Open", "Open in new window", "Rename…\tF2", "Copy link", "Export…"], (
            "not deleted alone"
        )


async def _check_a_spent_budget(rig: WindowRig) -> None:
    """An open subagent goes by what its parent may spend now: its own log does not say that."""
    async with ChatServer(TwoTaskModel()) as server:
        await rig.open_folder("budget", {"a.txt": "words"})
        await rig.use_server(server)
        rig.type_message("/budget 1")
        await until(lambda: rig.events(BudgetSet), "the budget")
        await rig.run_turn("Go")
        parent, opened = rig.conversation.session.id, cards(rig)[0].subagent_session
        assert [item.state for item in listed(rig)] == ["budget"] * 3
        await rig.wiring.workspace_controller.open_session(opened)
        await rig.wiring.workspace_controller.open_session(parent)
        rig.type_message("/budget off")
        await until(lambda: _state_of(rig, parent) == "", "a budget for the parent")
        await until(lambda: _state_of(rig, opened) == "", "a budget for the subagent")


def _state_of(rig: WindowRig, session_id: str) -> str:
    return next(item.state for item in listed(rig) if item.id == session_id)
