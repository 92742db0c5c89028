"""Sending, stopping and trying again in the complete window."""

from __future__ import annotations

import asyncio
import sys
from types import FrameType

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from helix_desktop.agent.session import ResponseDelta
from helix_desktop.domain.events.conversation import AssistantSpoke, TurnEnded, UserSpoke
from helix_desktop.domain.listeners import TypedListeners
from helix_desktop.ui.chat.presenter import ChatPresenter
from helix_desktop.ui.chat.rows.row_texts import accessible_name
from helix_desktop.ui.chat.rows.row_types import AssistantRow, DividerRow, NoticeRow, UserRow
from helix_desktop.ui.design.labels import ElidedLabel
from helix_desktop.ui.kit.intents import RewindTo
from helix_desktop.ui.kit.notices import AGENT_WORKING
from helix_desktop.ui.window.sidebar.session_list import row_end
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Disconnect,
    StreamedReply,
    Text,
    Wait,
    api_error,
    replies_in_order,
    text_reply,
)
from tests.support.window.buttons import find_buttons, press
from tests.support.window.chat_geometry import action_names, press_action
from tests.support.window.window_rig import WindowRig, until

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
    speaks, ends = asyncio.Event(), asyncio.Event()
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
    refused, option = api_error(401, "Incorrect API key provided"), api_error(400, "no such option")
    busy = api_error(503, "restarting", headers={"retry-after": "300"})
    script = replies_in_order(option, cut, text_reply("Half of it and the rest"), refused, busy)
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
        assert server.requests[0].body == server.requests[1].body == server.requests[2].body
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
