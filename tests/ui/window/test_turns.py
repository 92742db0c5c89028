"""Turns in the complete window: sent, steered, stopped and tried again; commands and subagents at work."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.agent.session import ResponseDelta
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    SideQuestionAnswered,
    ToolAnswered,
    TurnEnded,
    UserSpoke,
)
from helix_desktop.domain.events.session import BudgetSet
from helix_desktop.domain.listeners import TypedListeners
from helix_desktop.ui.chat.composer.editor import Editor
from helix_desktop.ui.chat.composer.strips import QueueLine
from helix_desktop.ui.chat.presenter import ChatPresenter
from helix_desktop.ui.chat.rows.row_texts import accessible_name
from helix_desktop.ui.chat.rows.row_types import (
    ApprovalRow,
    AssistantRow,
    DividerRow,
    NoticeRow,
    ToolRow,
    UserRow,
)
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.dialogs import TextInputDialog
from helix_desktop.ui.design.labels import ElidedLabel
from helix_desktop.ui.kit.intents import RewindTo
from helix_desktop.ui.kit.notices import AGENT_WORKING
from helix_desktop.ui.window.sidebar.session_list import SessionItem, row_end
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Disconnect,
    Reply,
    StreamedReply,
    Text,
    Wait,
    api_error,
    replies_in_order,
    text_reply,
)
from tests.support.window.buttons import find_button, find_buttons, press
from tests.support.window.chat_geometry import action_names, click_area, press_action
from tests.support.window.keyboard_focus import focused_widget
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


def _last_words(rig: WindowRig) -> str:
    viewport = rig.chat.view.chat_viewport
    shapes = rig.chat.model.raw_rows()
    drawn = viewport.widget_pool.visible.get(shapes[-1].key) if shapes else None
    return drawn.text() if drawn is not None else ""


def _shows_stop_hint(rig: WindowRig) -> bool:
    return any(label.full_text() == "Esc again to stop" for label in rig.composer.findChildren(ElidedLabel))


def _listeners_of_a_token(rig: WindowRig) -> list[str]:
    """Return the modules that are called for each piece of a streamed answer."""
    called: list[str] = []

    def note_listener(frame: FrameType, event: str, _: object) -> None:
        caller = frame.f_back
        if event == "call" and caller is not None and caller.f_code is TypedListeners.notify.__code__:
            called.append(frame.f_globals["__name__"])

    sys.setprofile(note_listener)
    rig.conversation.session.publish(ResponseDelta(", goes on"))
    sys.setprofile(None)
    return [name for name in called if name != TypedListeners.__module__]


async def test_an_answer_streams_is_stopped_and_what_waits_is_sent(rig: WindowRig) -> None:
    """No answer starts with the text of the one before; what was queued at a stop is sent with one click."""
    speaks = asyncio.Event()
    ends = asyncio.Event()
    lines = "\n\n".join(f"Line {number}" for number in range(60))
    first = StreamedReply(
        Wait(speaks), Text("Answer 0 begins"), Wait(ends), Text(lines), Call("list_directory", "{}")
    )
    half = StreamedReply(Text("Answer 1 begins"), Wait(asyncio.Event()))
    async with rig.answered_by(replies_in_order(first, half, text_reply("Last")), "project"):
        rig.type_message("One")
        await until(lambda: rig.rows(AssistantRow), "the clock")
        (waiting,) = rig.rows(AssistantRow)
        assert waiting.waiting_since_ms == rig.conversation.response.waiting_since_ms > 0
        assert accessible_name(waiting).endswith("not answering yet")
        await rig.wiring.chat.load()
        assert rig.rows(AssistantRow) == [waiting], "also after the user was elsewhere"
        speaks.set()
        await until(lambda: _last_words(rig).endswith("Answer 0 begins"), "the first answer")
        rig.perform(RewindTo(0))
        await until(lambda: AGENT_WORKING in rig.window.notices.names(), "why it isn't rewound now")
        ends.set()
        await until(lambda: _last_words(rig).endswith("Answer 1 begins"), "the second answer")
        assert _last_words(rig).count("Answer") == 1
        assert _listeners_of_a_token(rig) == [ChatPresenter.__module__], "nobody but the chat is called"

        view = rig.chat.view
        view.setFocus()
        QTest.keyClick(view, Qt.Key.Key_Home)
        QTest.keyClicks(view, "Two")
        assert rig.composer.text() == "Two"
        assert not view.chat_viewport.is_following, "writing is not sending"
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Return)
        assert view.chat_viewport.is_following
        await until(rig.next_message_lines, "the message waits in sight")
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Escape)
        assert _shows_stop_hint(rig)
        rig.window.stop_offered.emit(False)  # as when the user waits for too long
        assert not _shows_stop_hint(rig)
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Escape)
        await rig.wait_for_turn_end()
        assert not _shows_stop_hint(rig)
        assert AGENT_WORKING not in rig.window.notices.names()
        assert rig.events(AssistantSpoke)[1].text.startswith("Answer 1 begins")
        assert [row.text for row in rig.rows(DividerRow)] == ["Stopped"]
        await until(lambda: find_buttons(rig.chat, "send_now"), "it is offered")
        press(rig.chat, "send_now")
        await until(lambda: len(rig.events(TurnEnded)) == 2, "all turns ended")
        assert [row.text for row in rig.rows(UserRow)] == ["One", "Two"]
        await until(lambda: rig.next_message_lines() == (), "nothing waits")
        await rig.wait_for_turn_end()
        assert await rig.stored_events() == rig.conversation.session.log


async def test_what_is_not_answered_is_tried_again_or_leads_to_what_ends_that(rig: WindowRig) -> None:
    await _check_a_message_that_is_too_large(rig)
    await _check_errors_of_the_server(rig)


async def _check_a_message_that_is_too_large(rig: WindowRig) -> None:
    """It is not lost. The refusal ends when its message is sent, or its model is another: on each page."""
    async with rig.answered_by(lambda _: text_reply("Fine."), "large", window=6_000) as server:
        large = "some words and 42 numbers; " * 500
        rig.composer.set_text(large)
        rig.type_message("")
        await until(lambda: "too long" in rig.banner_text(), "the refusal")
        assert rig.composer.text() == large
        assert not rig.events(UserSpoke)
        rig.composer.set_text("")
        await rig.run_turn("A small one")
        assert rig.banner_text() == ""
        rig.composer.set_text(large)
        rig.type_message("")
        await until(lambda: "too " in rig.banner_text(), "the refusal")
        await rig.use_server(server, window=64_000)
        rig.window.show_page("timeline")
        assert rig.banner_text() == ""
        rig.window.show_page("chat")
        await rig.run_turn("")
        assert rig.events(UserSpoke)[-1].text == large


def _activity(rig: WindowRig) -> tuple[str, str, str | None]:
    """Return what the header says of the session on screen, and its row in the list with the pill's tone."""
    (item,) = [item for item in rig.window.sidebar.session_list.sessions() if item.active]
    return rig.window.top_bar.status().split(" · ")[0], *row_end(item, "now")


async def _check_errors_of_the_server(rig: WindowRig) -> None:
    """Nothing stands there twice; the turn goes on when the server is back."""
    shown: list[int] = []

    def note(_rows: object) -> None:
        shown.append(sum(bool(row.text) for row in rig.rows(AssistantRow)))

    cut = StreamedReply(Text("Half of it"), Disconnect())
    refused = api_error(401, "Incorrect API key provided")
    option = api_error(400, "no such option")
    busy = api_error(503, "restarting", headers={"retry-after": "300"})
    script = replies_in_order(option, option, cut, text_reply("Half of it and the rest"), refused, busy)
    async with rig.answered_by(script, "project") as server:
        await rig.run_turn("Anybody?")
        (notice,) = rig.rows(NoticeRow)
        (item,) = rig.window.sidebar.session_list.sessions()
        assert _activity(rig) == ("Last turn failed", "Failed", "error")
        assert item.reason == f"{notice.what} {notice.why}"
        rig.chat.model.row_added.connect(note)
        rig.chat.model.rows_changed.connect(note)
        press_action(rig.chat.view, notice, "retry")
        await until(lambda: len(rig.events(TurnEnded)) == 2, "the second attempt ended")
        await rig.wait_for_turn_end()
        assert [row.text for row in rig.rows(AssistantRow)] == ["Half of it and the rest"]
        assert max(shown) == 1, "what broke off left before it came again"
        assert [row.text for row in rig.rows(UserRow)] == ["Anybody?"]
        assert [row.text for row in rig.rows(DividerRow)] == ["Attempt 1 failed"]
        assert not rig.rows(NoticeRow)
        assert _activity(rig)[0] == "Ready"
        first, plain, *again = (request.body for request in server.requests)
        assert plain != first, "once in the plainest form"
        assert again == [first, first]
        assert await rig.stored_events() == rig.conversation.session.log

        await rig.run_turn("And now?")
        (notice,) = rig.rows(NoticeRow)
        assert action_names(notice) == ("enter_key", "retry")
        settings = rig.wiring.settings
        press_action(rig.chat.view, notice, "enter_key")
        await until(settings.view.isVisible, "the page of providers")
        providers = settings.view.providers.list
        await until(
            lambda: (item := providers.currentItem()) is not None and "box" in item.text(),
            "the refused key's",
        )
        rig.window.leave_settings()

        rig.type_message("Still there?")
        await until(lambda: _activity(rig) == ("Retrying", "Retrying", "warn"), "a state")
        port = server.port
    await rig.wiring.chat.load()  # as after another session was on screen
    (notice,) = [row for row in rig.rows(NoticeRow) if "try_now" in action_names(row)]
    press_action(rig.chat.view, notice, "try_now")  # no server is there yet
    await until(lambda: any("attempt 3" in row.what for row in rig.rows(NoticeRow)), "another pause")
    notice = rig.rows(NoticeRow)[-1]
    assert f"No connection to box at 127.0.0.1:{port}" in notice.why
    assert action_names(notice) == ("try_now", "provider_settings", "stop")
    finish = asyncio.Event()
    async with ChatServer(replies_in_order(StreamedReply(Text("Here"), Wait(finish))), port=port):
        press_action(rig.chat.view, notice, "try_now")
        await until(lambda: _activity(rig) == ("Working", "Working", "ok"), "an answer")
        finish.set()
        await rig.wait_for_turn_end()
    assert rig.rows(AssistantRow)[-1].text == "Here"
    assert [event.how for event in rig.events(TurnEnded)] == ["failed", "done", "failed", "done"]


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
        lines = commands.get(str(request["messages"][-1]["content"]), ())
        calls = [Call("run_command", json.dumps({"command": line}), id=line) for line in lines]
        return StreamedReply(*calls) if calls else text_reply("Fine.")

    async with rig.answered_by(reply, "project") as server:
        rig.type_message("Wait")
        await until(lambda: rig.rows(ApprovalRow), "a question")
        before = composer_y(rig)
        jobs = rig.window.jobs
        turn = rig.window.commands
        await rig.answer_approval("once")
        await until(lambda: lines(rig) == ("first", "second"), "two lines")
        assert card(rig).state == "running"
        assert jobs.isHidden(), "the card has its own stop"
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
        await until(lambda: jobs.findChildren(PushButton, "stop_job"), "its line")
        (line,) = (words.full_text() for words in jobs.findChildren(ElidedLabel))
        assert re.match(r"Running sleep 60 · 0:\d\d", line), line
        (stop,) = jobs.findChildren(PushButton, "stop_job")
        assert stop.toolTip() == "Stop this command only. Its output so far is kept."
        stop.click()
        await rig.wait_for_turn_end()
        assert rig.last_output("run_command").outcome == "stopped"
        await until(jobs.isHidden, "the end of the line")
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


def line(rig: WindowRig, text: str) -> QueueLine:
    queue = rig.chat.next_messages
    return next(queue.line(message.seq) for message in queue.waiting if message.text == text)


def type_into(inside: QueueLine, text: str) -> Editor:
    field = next(editor for editor in inside.findChildren(Editor) if not editor.isHidden())
    QTest.keyClicks(field, text)
    return field


def user_messages(rig: WindowRig) -> list[tuple[str, bool]]:
    return [(row.text, row.steered) for row in rig.rows(UserRow)]


async def test_messages_typed_meanwhile_are_changed_steer_and_survive_a_restart(
    qapp: QApplication, tmp_path: Path
) -> None:
    """A steering one follows the tool's answer, a queued one later; an edit in progress is not lost."""
    go = {"One": asyncio.Event(), "Again": asyncio.Event()}

    def reply(request: dict[str, Any]) -> Reply:
        wait = go.get(str(request["messages"][-1]["content"]))
        if wait is None:
            return text_reply("Fine.")
        return StreamedReply(Text("I look."), Wait(wait), Call("read_file", '{"path": "a.txt"}'))

    async with ChatServer(reply) as server:
        async with open_window(qapp, tmp_path) as rig:
            await rig.open_folder("project", {"a.txt": "words"})
            await rig.use_server(server)
            rig.type_message("One")
            await until(lambda: rig.conversation.response.text, "a part of the answer")
            rig.type_message("Two")
            rig.type_message("Only a.txt", send=False)
            both = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
            QTest.keyClick(rig.composer.editor, Qt.Key.Key_Return, both)
            await until(lambda: len(rig.next_message_lines()) == 2, "both wait in sight")
            assert [message.steer for message in rig.chat.next_messages.waiting] == [False, True]
            in_both: list[str] = []

            def note_sent(sent: UserSpoke) -> None:
                waiting = [message.text for message in rig.chat.next_messages.waiting]
                in_both.extend(text for text in waiting if text == sent.text)

            rig.conversation.session.on(UserSpoke, note_sent)
            rig.type_message("a draft", send=False)
            press(line(rig, "Two"), "edit")
            type_into(line(rig, "Two"), ", better")
            go["One"].set()
            await until(lambda: len(rig.events(TurnEnded)) == 2, "both turns ended")
            await rig.wait_for_turn_end()
            assert user_messages(rig) == [("One", False), ("Only a.txt", True), ("Two", False)]
            messages = server.bodies[1]["messages"]
            assert [message["role"] for message in messages[-3:]] == ["assistant", "tool", "user"]
            assert rig.composer.text() == "Two, better\na draft"
            assert not in_both, "what is sent waits no longer"

            rig.composer.set_text("")
            rig.type_message("Again")
            await until(lambda: rig.conversation.response.text, "a part of the answer")
            for text in ("Three", "Four", "Five", "Six"):
                rig.type_message(text)
            await until(lambda: len(rig.next_message_lines()) == 4, "all wait in sight")
            press(line(rig, "Three"), "edit")
            QTest.keyClick(type_into(line(rig, "Three"), ", better"), Qt.Key.Key_Return)
            await until(lambda: "Three, better" in rig.next_message_lines(), "other words")
            press(line(rig, "Six"), "earlier")
            pending = rig.conversation.queue
            await until(lambda: [message.text for message in pending.pending][2] == "Six", "another order")
            press(line(rig, "Five"), "remove")
            find_button(line(rig, "Four"), "steer").setFocus()
            press(line(rig, "Four"), "steer")
            await until(
                lambda: line(rig, "Four").message.steer and len(rig.next_message_lines()) == 3, "both changes"
            )
            assert find_button(line(rig, "Four"), "unsteer").hasFocus(), "it can be taken back"
        go["Again"].set()
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            await until(lambda: len(rig.next_message_lines()) == 3, "all wait in sight")
            (cut,) = [row for row in rig.rows(DividerRow) if row.kind == "interrupted"]
            assert action_names(cut) == ("continue", "retry")
            press_action(rig.chat.view, cut, "continue")
            await until(lambda: len(rig.events(TurnEnded)) == 6, "all turns ended")
            await rig.wait_for_turn_end()
            after = [
                ("Again", False),
                ("Continue.", False),
                ("Four", True),
                ("Three, better", False),
                ("Six", False),
            ]
            assert user_messages(rig)[3:] == after
            assert rig.events(TurnEnded)[2].cause == "closed"


def visible_texts(rig: WindowRig) -> list[str]:
    """Return the texts of the conversation, those beside it in parentheses."""
    rows = [row for row in rig.chat.model.raw_rows() if isinstance(row, UserRow | AssistantRow)]
    sides = [row.is_side if isinstance(row, UserRow) else bool(row.side_note) for row in rows]
    return [f"({row.text})" if side else row.text for row, side in zip(rows, sides, strict=True)]


async def test_a_side_question_stands_beside_the_turn(rig: WindowRig) -> None:
    """Asked by its slash command and by its dialog; canceled by its job; what failed leaves nothing."""
    turn = asyncio.Event()
    side = asyncio.Event()

    def reply(request: dict[str, Any]) -> Reply:
        if "Why?" in request["messages"][-1]["content"]:
            return StreamedReply(Call("read_file", "{}"))
        if "beside your work" in request["messages"][-1]["content"]:
            return StreamedReply(Text("It was "), Wait(side), Text("a.txt."))
        return StreamedReply(Wait(turn), Text("Done."))

    async with rig.answered_by(reply, "project") as server:
        rig.type_message("Go")
        await until(lambda: len(server.bodies) == 1, "the turn runs")
        await until(lambda: any(row.waiting_since_ms for row in rig.rows(AssistantRow)), "silence")
        rig.type_message("/btw Which file was it?")
        await until(lambda: rig.conversation.side_questions.progress.answer, "words come")
        assert rig.composer.text() == ""
        side.set()
        await until(lambda: rig.events(SideQuestionAnswered), "the answer is on record")
        assert rig.conversation.is_running
        turn.set()
        await rig.wait_for_turn_end()
        texts = ["Go", "(Which file was it?)", "(It was a.txt.)", "Done."]
        assert visible_texts(rig) == texts
        answer = next(row for row in rig.rows(AssistantRow) if row.side_note)
        assert accessible_name(answer).startswith("small, not in context · ")

        side.clear()
        rig.window.commands.side_question.trigger()
        dialog = await rig.dialog(TextInputDialog)
        QTest.keyClicks(dialog.field, "And the other?")
        press(dialog, "accept")
        await until(lambda: rig.conversation.side_questions.progress.answer, "words come")
        await until(lambda: find_buttons(rig.window.jobs, "stop_job"), "a job to cancel")
        press(rig.window.jobs, "stop_job")
        await until(lambda: len(rig.events(SideQuestionAnswered)) == 2, "what came is on record")
        texts += ["(And the other?)", "(It was )"]
        rig.type_message("/btw Why?")
        await until(lambda: "didn't answer the side question" in rig.banner_text(), "a plain reason")
        assert visible_texts(rig) == texts
        assert [event.text for event in rig.events(UserSpoke)] == ["Go"]
        await rig.wiring.chat.load()
        assert visible_texts(rig) == texts, "the log shows them"


TASKS = ("Read the logs", "Find the callers")


class TwoTaskModel:
    """A model that delegates two tasks, and does each with one read and one answer that waits for `go`."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    def __call__(self, request: dict[str, Any]) -> Reply:
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
    await _check_the_sessions(rig)
    await _check_a_spent_budget(rig)


async def _check_the_sessions(rig: WindowRig) -> None:
    """The button and a double click on the card; its progress is there, and a link leads back."""
    house = TwoTaskModel()
    async with ChatServer(house) as server:
        await begun(rig, server, "sessions")
        await rig.wiring.sidebar.refresh()
        assert sorted(session.title for session in listed(rig)[1:]) == sorted(TASKS)
        assert all(session.parent == rig.conversation.session.id for session in listed(rig)[1:])
        parent = rig.conversation
        viewport = rig.chat.view.viewport()
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
        assert words == ["Open", "Open in new window", "Rename…\tF2", "Export…"], "not deleted alone"


async def _check_a_spent_budget(rig: WindowRig) -> None:
    """An open subagent goes by what its parent may spend now: its own log does not say that."""
    async with ChatServer(TwoTaskModel()) as server:
        await rig.open_folder("budget", {"a.txt": "words"})
        await rig.use_server(server)
        rig.type_message("/budget 1")
        await until(lambda: rig.events(BudgetSet), "the budget")
        await rig.run_turn("Go")
        parent = rig.conversation.session.id
        opened = cards(rig)[0].subagent_session
        assert [item.state for item in listed(rig)] == ["budget"] * 3
        await rig.wiring.workspace_controller.open_session(opened)
        await rig.wiring.workspace_controller.open_session(parent)
        rig.type_message("/budget off")
        await until(lambda: _state_of(rig, parent) == "", "a budget for the parent")
        await until(lambda: _state_of(rig, opened) == "", "a budget for the subagent")


def _state_of(rig: WindowRig, session_id: str) -> str:
    return next(item.state for item in listed(rig) if item.id == session_id)
