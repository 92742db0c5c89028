"""A command at work in the real window: its newest lines, its clock, and the ways to end it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.domain.events.conversation import ToolAnswered, TurnEnded
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, ToolRow, UserRow
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import ElidedLabel
from tests.support.model_servers.chat_server import Call, Reply, StreamedReply, text_reply
from tests.support.window.buttons import press
from tests.support.window.chat_geometry import click_area
from tests.support.window.keyboard_focus import focused_widget
from tests.support.window.window_rig import WindowRig, until

pytestmark = pytest.mark.qt_loop


def card(rig: WindowRig) -> ToolRow:
    return rig.rows(ToolRow)[-1]


def lines(rig: WindowRig) -> tuple[str, ...]:
    live = card(rig).running_output
    return live.lines if live else ()


def composer_y(rig: WindowRig) -> int:
    """Return the upper edge of the composer on the screen, in pixels."""
    QApplication.sendPostedEvents()  # layouts take hidden widgets into account later
    return rig.composer.mapToGlobal(QPoint()).y()


async def test_a_command_at_work_shows_its_lines_and_clock_and_is_stopped(rig: WindowRig) -> None:
    """By its card, its line below another page, a queued message, and Esc Esc."""
    commands = {
        "Wait": ("echo first; echo second; sleep 60",),
        "Silence": ("sleep 60",),
        "Two": ("sleep 61", "touch later"),
        "Last": ("echo last; sleep 60",),
    }

    def reply(request: dict[str, Any]) -> Reply:
        wanted = commands.get(str(request["messages"][-1]["content"]), ())
        calls = [Call("run_command", json.dumps({"command": line}), id=line) for line in wanted]
        return StreamedReply(*calls) if calls else text_reply("Fine.")

    async with rig.answered_by(reply, "project") as server:
        rig.type_message("Wait")
        await until(lambda: rig.rows(ApprovalRow), "a question")
        before, jobs, turn = composer_y(rig), rig.window.jobs, rig.window.commands
        await rig.answer_approval("once")
        await until(lambda: lines(rig) == ("first", "second"), "two lines")
        assert card(rig).state == "running"
        assert not jobs.job_ids(), "the card has its own stop"
        assert composer_y(rig) == before
        await rig.wiring.chat.load()
        assert lines(rig) == ("first", "second"), "also after another session was on screen"
        click_area(rig.chat.view, card(rig).key, "stop:card")
        await rig.wait_for_turn_end()
        answer = rig.last_output("run_command")
        assert (answer.outcome, answer.ok, card(rig).state) == ("stopped", False, "stopped")
        assert "the user stopped it" in answer.text
        assert answer.text.endswith("first\nsecond\n")
        assert [event.how for event in rig.events(TurnEnded)] == ["done"]

        rig.type_message("Silence")
        await rig.answer_approval("once")
        await until(lambda: card(rig).running_output is not None, "its clock, though no output ever comes")
        rig.window.show_page("timeline")
        await until(lambda: [job for job in jobs.job_ids() if job.startswith("call:")], "its line")
        (line,) = (words.full_text() for words in jobs.findChildren(ElidedLabel))
        assert re.match(r"Running sleep 60 · 0:\d\d", line), line
        (stop,) = jobs.findChildren(PushButton, "stop_job")
        assert stop.toolTip() == "Stop this command only. Its output so far is kept."
        stop.click()
        await rig.wait_for_turn_end()
        assert rig.last_output("run_command").outcome == "stopped"
        await until(lambda: not jobs.job_ids(), "the end of the line")
        rig.window.show_page("chat")

        assert not turn.stop.isEnabled()
        rig.type_message("Two")
        await until(lambda: len(rig.conversation.asks) == 2, "two questions")
        for ask in rig.conversation.asks:
            rig.conversation.decide(ask.call_id, "once")
        await until(lambda: rig.conversation.running_calls.running, "the first runs")
        assert [turn.stop.isEnabled(), turn.stop_and_send.isEnabled()] == [True, False]
        rig.type_message("Only a.txt")
        await until(turn.stop_and_send.isEnabled, "it waits in sight")
        await until(rig.next_message_lines, "its line")
        press(rig.chat.next_messages, "stop_and_send")
        await rig.wait_for_turn_end()
        assert (rig.rows(UserRow)[-1].text, rig.rows(UserRow)[-1].steered) == ("Only a.txt", True)
        assert [event.outcome for event in rig.events(ToolAnswered)][2:] == ["stopped", "stopped"]
        assert [message["role"] for message in server.bodies[-1]["messages"][-3:]] == ["tool", "tool", "user"]
        assert not (rig.folder / "project" / "later").exists()

        rig.type_message("Last")
        await rig.answer_approval("once")
        await until(lambda: lines(rig) == ("last",), "output")
        rig.chat.view.setFocus()
        QTest.keyClick(rig.chat.view, Qt.Key.Key_Tab)
        focused = focused_widget()
        assert rig.chat.view.viewport().isAncestorOf(focused)
        QTest.keyClick(focused, Qt.Key.Key_Escape)
        assert rig.composer.editor.hasFocus(), "the first Esc leads there, too"
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Escape)
        await rig.wait_for_turn_end()
        assert [event.how for event in rig.events(TurnEnded)] == ["done", "done", "done", "stopped"]
