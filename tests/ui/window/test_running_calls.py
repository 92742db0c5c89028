"""A command at work in the real window: its newest lines, its clock, and the button that ends it alone."""

from __future__ import annotations

import json
import re

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.domain.events.conversation import ToolAnswered, TurnEnded
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, ToolRow
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import ElidedLabel
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    replies_in_order,
    text_reply,
)
from tests.support.window.chat_geometry import click_area
from tests.support.window.keyboard_focus import focused_widget
from tests.support.window.window_rig import WindowRig, until

pytestmark = pytest.mark.qt_loop
WAITS = "echo first; echo second; read line < go; echo third"


def runs(command: str) -> ChatServer:
    call = StreamedReply(Call("run_command", json.dumps({"command": command})))
    return ChatServer(replies_in_order(call, text_reply("It ran.")))


def card(rig: WindowRig) -> ToolRow:
    return rig.rows(ToolRow)[-1]


def lines(rig: WindowRig) -> tuple[str, ...]:
    live = card(rig).running_output
    return live.lines if live else ()


def composer_y(rig: WindowRig) -> int:
    """Return the upper edge of the composer on the screen, in pixels."""
    QApplication.sendPostedEvents()  # layouts take hidden widgets into account later
    return rig.composer.mapToGlobal(QPoint()).y()


def press_stop(rig: WindowRig) -> None:
    click_area(rig.chat.view, card(rig).key, "stop:card")


async def test_a_command_at_work_shows_its_lines_and_clock_and_is_stopped(rig: WindowRig) -> None:
    """Each step has a workspace of its own."""
    await _check_the_job(rig)
    await _check_the_lines(rig)
    await _check_a_silent_call(rig)
    await _check_stopping_one_call(rig)
    await _check_esc_esc(rig)


async def _check_the_job(rig: WindowRig) -> None:
    async with runs("echo before; sleep 60") as server:
        await rig.open_folder("job")
        await rig.use_server(server)
        rig.type_message("Run it")
        await until(lambda: rig.rows(ApprovalRow), "a question")
        before = composer_y(rig)
        await rig.answer_approval("once")
        jobs = rig.window.jobs
        await until(lambda: card(rig).running_output is not None, "its clock in the card")
        await until(lambda: lines(rig) == ("before",), "its output so far")
        assert not jobs.job_ids(), "the card has its own stop"
        assert composer_y(rig) == before
        rig.window.show_page("timeline")
        await until(lambda: [job for job in jobs.job_ids() if job.startswith("call:")], "its line")
        (line,) = (words.full_text() for words in jobs.findChildren(ElidedLabel))
        assert re.match(r"Running echo before; sleep 60 · 0:\d\d", line), line
        (stop,) = jobs.findChildren(PushButton, "stop_job")
        assert stop.text() == "Stop"
        assert stop.toolTip() == "Stop this command only. Its output so far is kept."
        stop.click()
        await rig.wait_for_turn_end()
        assert "before" in rig.last_output("run_command").text
        await until(lambda: not jobs.job_ids(), "the end of the line")
        rig.window.show_page("chat")


async def _check_the_lines(rig: WindowRig) -> None:
    async with runs("mkfifo go; " + WAITS) as server:
        await rig.open_folder("lines")
        await rig.use_server(server)
        rig.type_message("Run it")
        await rig.answer_approval("once")
        await until(lambda: lines(rig) == ("first", "second"), "two lines")
        assert card(rig).state == "running"
        (rig.folder / "lines" / "go").write_text("on\n")
        await rig.wait_for_turn_end()
        assert (card(rig).state, card(rig).running_output) == ("ok", None)
        assert rig.last_output("run_command").text.endswith("first\nsecond\nthird\n")


async def _check_a_silent_call(rig: WindowRig) -> None:
    """No output ever comes: clock and button appear all the same, once it has run for a moment."""
    async with runs("mkfifo go; read line < go") as server:
        await rig.open_folder("silent")
        await rig.use_server(server)
        rig.type_message("Run it")
        await rig.answer_approval("once")
        await until(lambda: card(rig).running_output is not None, "the clock")
        press_stop(rig)
        await rig.wait_for_turn_end()
        assert rig.last_output("run_command").outcome == "stopped"


async def _check_stopping_one_call(rig: WindowRig) -> None:
    async with runs("mkfifo go; " + WAITS) as server:
        await rig.open_folder("stopped")
        await rig.use_server(server)
        rig.type_message("Run it")
        await rig.answer_approval("once")
        await until(lambda: lines(rig) == ("first", "second"), "two lines")
        await rig.wiring.chat.load()
        assert lines(rig) == ("first", "second"), "also after another session was on screen"
        press_stop(rig)
        await rig.wait_for_turn_end()
        answer = rig.last_output("run_command")
        assert (answer.outcome, answer.ok) == ("stopped", False)
        assert "the user stopped it" in answer.text
        assert answer.text.endswith("first\nsecond\n")
        assert card(rig).state == "stopped"
        assert [event.how for event in rig.events(TurnEnded)] == ["done"]
        assert len(rig.events(ToolAnswered)) == 1


async def _check_esc_esc(rig: WindowRig) -> None:
    """Esc Esc stops the turn with the keyboard on a card, where the first Esc leads to the composer, too."""
    async with runs("mkfifo go; " + WAITS) as server:
        await rig.open_folder("escaped")
        await rig.use_server(server)
        rig.type_message("Run it")
        await rig.answer_approval("once")
        await until(lambda: card(rig).running_output, "output")
        rig.chat.view.setFocus()
        QTest.keyClick(rig.chat.view, Qt.Key.Key_Tab)
        focused = focused_widget()
        assert rig.chat.view.viewport().isAncestorOf(focused)
        QTest.keyClick(focused, Qt.Key.Key_Escape)
        assert rig.composer.editor.hasFocus()
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Escape)
        await rig.wait_for_turn_end()
        assert [event.how for event in rig.events(TurnEnded)] == ["stopped"]
