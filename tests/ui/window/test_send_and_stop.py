"""Sending, stopping and queueing in the complete window."""

from __future__ import annotations

import asyncio
import sys
from types import FrameType

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from helix_desktop.agent.session import ResponseDelta
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    TurnEnded,
    UserSpoke,
)
from helix_desktop.domain.listeners import TypedListeners
from helix_desktop.domain.translatable_text import verbatim
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


async def test_messages_are_sent_queued_and_stopped(rig: WindowRig) -> None:
    """Each step has a session of its own."""
    await rig.open_folder("project")
    await _check_streamed_answers(rig)
    await _check_stop(rig)
    await _check_sending_while_scrolled_up(rig)
    await _check_a_silent_model(rig)
    await _check_who_hears_of_a_token(rig)


async def _check_streamed_answers(rig: WindowRig) -> None:
    """An answer never starts with the text of a previous one; what waits for its end says so."""
    go = [asyncio.Event() for _ in range(3)]
    replies = [
        StreamedReply(
            Text(f"Answer {n} begins"), Wait(go[n]), Text(" and ends."), Call("list_directory", "{}")
        )
        for n in range(2)
    ]
    async with rig.answered_by(
        replies_in_order(*replies, StreamedReply(Text("Answer 2 begins"), Wait(go[2]), Text(".")))
    ):
        rig.type_message("Go")
        for n, release in enumerate(go):
            await _drawn(rig, f"Answer {n} begins")
            assert _last_words(rig).count("Answer") == 1
            if n == 0:
                rig.perform(RewindTo(0))
                await until(lambda: AGENT_WORKING in rig.window.notices.names(), "the reason")
            release.set()
        await rig.wait_for_turn_end()
        assert AGENT_WORKING not in rig.window.notices.names()
        assert len(rig.rows(AssistantRow)) == 3


async def _check_stop(rig: WindowRig) -> None:
    """“Stop” keeps the partial answer; what was queued is sent with one click."""
    half = StreamedReply(Text("Half an"), Wait(asyncio.Event()))
    script = replies_in_order(half, text_reply("Whole"), half, text_reply("To the second"))
    async with rig.answered_by(script):
        rig.type_message("Go")
        await until(lambda: rig.conversation.response.text, "a part of the answer")
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Escape)
        assert _shows_stop_hint(rig)
        rig.window.stop_offered.emit(False)  # as when the user waits for too long
        assert not _shows_stop_hint(rig)
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Escape)
        await rig.wait_for_turn_end()
        assert not _shows_stop_hint(rig)
        assert rig.events(AssistantSpoke)[0].text == "Half an"
        assert [row.text for row in rig.rows(DividerRow)] == ["Stopped"]

        await rig.run_turn("Again")
        assert rig.rows(AssistantRow)[-1].text == "Whole"
        assert await rig.stored_events() == rig.conversation.session.log

        rig.type_message("One")
        await until(lambda: rig.conversation.response.text, "a part of the answer")
        rig.type_message("Two")
        await until(rig.next_message_lines, "the message waits in sight")
        await rig.conversation.stop()
        await rig.wait_for_turn_end()
        await until(lambda: find_buttons(rig.chat, "send_now"), "it is offered")
        press(rig.chat, "send_now")
        await until(lambda: len(rig.events(TurnEnded)) == 4, "all turns ended")
        assert [row.text for row in rig.rows(UserRow)] == ["Go", "Again", "One", "Two"]
        await until(lambda: rig.next_message_lines() == (), "nothing waits")


def _shows_stop_hint(rig: WindowRig) -> bool:
    return any(label.full_text() == "Esc again to stop" for label in rig.composer.findChildren(ElidedLabel))


async def _check_sending_while_scrolled_up(rig: WindowRig) -> None:
    lines = "\n\n".join(f"Line {number}" for number in range(60))
    async with rig.answered_by(replies_in_order(text_reply(lines))):
        await rig.run_turn("First")
        view = rig.chat.view
        view.setFocus()
        QTest.keyClick(view, Qt.Key.Key_Home)
        assert not view.chat_viewport.is_following
        QTest.keyClicks(view, "Again")
        assert rig.composer.text() == "Again"
        assert not view.chat_viewport.is_following, "writing is not sending"
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Return)
        assert view.chat_viewport.is_following
        await rig.wait_for_turn_end()


async def _check_a_silent_model(rig: WindowRig) -> None:
    """Also after the user was elsewhere; and the answer takes the place of the clock."""
    go = asyncio.Event()
    reply = StreamedReply(Wait(go), Text("Here I am."))
    async with rig.answered_by(lambda _: reply):
        rig.type_message("Are you there?")
        await until(lambda: rig.rows(AssistantRow), "the clock")
        (waiting,) = rig.rows(AssistantRow)
        assert waiting.waiting_since_ms == rig.conversation.response.waiting_since_ms > 0
        assert accessible_name(waiting).endswith("not answering yet")
        conversation = rig.conversation
        await rig.wiring.chat.load()
        assert [row.waiting_since_ms for row in rig.rows(AssistantRow)] == [waiting.waiting_since_ms]
        go.set()
        await rig.wait_for_turn_end()
        (answer,) = rig.rows(AssistantRow)
        assert (answer.text, answer.waiting_since_ms, conversation.response.waiting_since_ms) == (
            "Here I am.",
            0,
            0,
        )


@pytest.mark.expect_errors("task record .* failed")
async def test_a_message_that_is_too_large_or_cannot_be_saved_is_not_lost(rig: WindowRig) -> None:
    await rig.open_folder("project")
    huge = "some words and 42 numbers; " * 4_000
    rig.composer.set_text(huge)
    rig.type_message("")
    await until(lambda: "too long" in rig.banner_text(), "the refusal")
    assert rig.composer.text() == huge
    assert not rig.events(UserSpoke)
    rig.composer.set_text("")
    await rig.run_turn("A small one")
    assert rig.events(TurnEnded)[-1].how == "done"

    await rig.workspace.store.close()
    rig.type_message("Do not lose me")
    await until(lambda: rig.composer.text() == "Do not lose me", "the text is back")
    await until(lambda: rig.rows(NoticeRow), "the reason is told")


async def test_a_refusal_ends_when_its_message_is_sent_or_its_model_changes(rig: WindowRig) -> None:
    """What did not fit one window is not said of another, on no page; nor once the text was answered."""
    async with ChatServer(lambda _: text_reply("Fine.")) as server:
        await rig.open_folder("project")
        text = "some words and 42 numbers; " * 500
        for retry_same_window in (False, True):
            await rig.use_server(server, window=6_000)
            rig.composer.set_text(text)
            rig.type_message("")
            await until(lambda: "too " in rig.banner_text(), "the refusal")
            if retry_same_window:
                rig.composer.set_text("")
                rig.type_message("short")
                await rig.wait_for_turn_end()
            else:
                await rig.use_server(server, window=64_000)
            assert rig.banner_text() == ""
            rig.window.show_page("timeline")
            assert rig.banner_text() == ""
            rig.window.show_page("chat")
        await rig.use_server(server, window=64_000)
        rig.composer.set_text(text)
        rig.type_message("")
        await rig.wait_for_turn_end()
        assert rig.events(UserSpoke)[-1].text == text
        assert rig.banner_text() == ""


async def test_errors_of_the_server_are_retried_waited_for_and_stopped(rig: WindowRig) -> None:
    """Each step has a session of its own."""
    await _check_retry(rig)
    await _check_a_server_that_is_down(rig)
    await _check_stop_while_waiting(rig)
    await _check_text_that_broke_off(rig)
    await _check_a_refused_key(rig)


async def _check_retry(rig: WindowRig) -> None:
    """No second copy of the user's message, and the failed attempt folds to one line."""
    script = replies_in_order(api_error(400, "no such option"), text_reply("Here"))
    async with rig.answered_by(script, "project") as server:
        await rig.run_turn("Anybody?")
        (notice,) = rig.rows(NoticeRow)
        assert "retry" in action_names(notice)
        assert _failure(rig) == ("Last turn failed", f"{notice.what} {notice.why}")
        press_action(rig.chat.view, notice, "retry")
        await until(lambda: len(rig.events(TurnEnded)) == 2, "the second attempt ended")
        await rig.wait_for_turn_end()
        assert rig.rows(AssistantRow)[-1].text == "Here"
        assert [row.text for row in rig.rows(UserRow)] == ["Anybody?"]
        assert [row.text for row in rig.rows(DividerRow)] == ["Attempt 1 failed"]
        assert not rig.rows(NoticeRow)
        assert _failure(rig) == ("Ready", "")
        assert server.requests[0].body == server.requests[1].body
        assert await rig.stored_events() == rig.conversation.session.log


def _failure(rig: WindowRig) -> tuple[str, str]:
    """Return the session's state in words, and why its newest turn failed, as header and list say it."""
    state = rig.window.top_bar.status().split(" · ")[0]
    (item,) = [item for item in rig.window.sidebar.session_list.sessions() if item.active]
    assert (row_end(item, "now") == ("Failed", "error")) == (state == "Last turn failed")
    return state, item.reason


def _activity(rig: WindowRig) -> tuple[str, str, str | None]:
    """Return what the header says of the session on screen, and its row in the list with the pill's tone."""
    (item,) = [item for item in rig.window.sidebar.session_list.sessions() if item.active]
    return rig.window.top_bar.status().split(" · ")[0], *row_end(item, "now")


async def _check_a_server_that_is_down(rig: WindowRig) -> None:
    """The turn continues when the server is back; Try now skips the rest of the pause."""
    busy = api_error(503, "restarting", headers={"retry-after": "300"})
    async with rig.answered_by(replies_in_order(busy)) as server:
        rig.type_message("Anybody?")
        await until(lambda: rig.rows(NoticeRow), "the announcement")
        port = server.port
    (notice,) = rig.rows(NoticeRow)
    assert notice.what.startswith("Retrying in ")
    assert action_names(notice) == ("try_now", "stop")
    await until(lambda: _activity(rig) == ("Retrying", "Retrying", "warn"), "a state")
    press_action(rig.chat.view, notice, "try_now")  # no server is there yet
    await until(lambda: any("attempt 3" in row.what for row in rig.rows(NoticeRow)), "another pause")
    (notice,) = rig.rows(NoticeRow)
    assert f"No connection to box at 127.0.0.1:{port}" in notice.why
    assert notice.fix == "Retries end 10 min after the first failure."
    assert action_names(notice) == ("try_now", "provider_settings", "stop")
    finish = asyncio.Event()
    answer = StreamedReply(Text("Here"), Wait(finish))
    async with ChatServer(replies_in_order(answer), port=port):
        press_action(rig.chat.view, notice, "try_now")
        await until(lambda: _activity(rig) == ("Working", "Working", "ok"), "an answer")
        finish.set()
        await rig.wait_for_turn_end()
    assert rig.rows(AssistantRow)[-1].text == "Here"
    assert [event.how for event in rig.events(TurnEnded)] == ["done"]
    assert not rig.rows(NoticeRow)


async def _check_stop_while_waiting(rig: WindowRig) -> None:
    busy = api_error(503, "restarting", headers={"retry-after": "300"})
    async with rig.answered_by(replies_in_order(busy)):
        rig.type_message("Anybody?")
        await until(lambda: rig.rows(NoticeRow), "the announcement")
        assert not rig.rows(AssistantRow), "until the countdown ends no model is waited for"
        press_action(rig.chat.view, rig.rows(NoticeRow)[0], "stop")
        await until(lambda: rig.events(TurnEnded), "the end")
        await rig.wait_for_turn_end()
        assert [(row.text, action_names(row)) for row in rig.rows(DividerRow)] == [
            ("Stopped: HTTP 503 Service Unavailable: restarting", ("continue", "retry"))
        ]
        assert not rig.rows(NoticeRow)


async def _check_text_that_broke_off(rig: WindowRig) -> None:
    """It leaves the chat before the answer comes again; at no time does it stand there twice."""
    shown: list[list[str]] = []

    def note(_rows: object) -> None:
        shown.append([row.text for row in rig.rows(AssistantRow) if row.text])

    no_end_mark = StreamedReply(Text("Half of it"), finish="", usage=None, send_done=False)
    cut = StreamedReply(Text("Half of it"), Disconnect())
    for broken_off in (no_end_mark, cut):
        async with rig.answered_by(replies_in_order(broken_off, text_reply("Half of it and the rest"))):
            rig.chat.model.row_added.connect(note)
            rig.chat.model.rows_changed.connect(note)
            await rig.run_turn("Anybody?")
        rig.chat.model.row_added.disconnect(note)
        rig.chat.model.rows_changed.disconnect(note)
        assert [row.text for row in rig.rows(AssistantRow)] == ["Half of it and the rest"]
        assert not rig.rows(NoticeRow)
    assert max(map(len, shown)) == 1, shown


async def _check_a_refused_key(rig: WindowRig) -> None:
    """The last part of an error is a button, in the chat and in a notice."""
    script = replies_in_order(api_error(401, "Incorrect API key provided"))
    async with rig.answered_by(script):
        await rig.run_turn("Anybody?")
        (notice,) = rig.rows(NoticeRow)
        assert action_names(notice) == ("enter_key", "retry")
        assert (notice.why, notice.details) == ("No key is saved for it.", "Incorrect API key provided")
        settings = rig.wiring.settings
        press_action(rig.chat.view, notice, "enter_key")
        await until(settings.view.isVisible, "the page of providers")
        providers = settings.view.providers.list
        await until(
            lambda: (item := providers.currentItem()) is not None and "box" in item.text(),
            "the refused key's",
        )
        rig.window.leave_settings()
        error = HelixError(verbatim("It didn't fit."), remedies=("policy_settings",))
        rig.context.actions.show_error(error)
        press(rig.window.notices, "policy_settings")
        await until(settings.view.policy.isVisible, "the page of the policy")
        rig.window.leave_settings()


async def _drawn(rig: WindowRig, words: str) -> None:
    await until(lambda: _last_words(rig).endswith(words), f"{words} on screen")


def _last_words(rig: WindowRig) -> str:
    viewport = rig.chat.view.chat_viewport
    shapes = rig.chat.model.raw_rows()
    drawn = viewport.widget_pool.visible.get(shapes[-1].key) if shapes else None
    return drawn.text() if drawn is not None else ""


async def _check_who_hears_of_a_token(rig: WindowRig) -> None:
    """Nobody but the chat is called."""
    go = asyncio.Event()
    reply = StreamedReply(Text("It begins"), Wait(go), Text(" and ends."))
    async with rig.answered_by(lambda _: reply):
        rig.type_message("Stream")
        await until(lambda: rig.conversation.response.text, "the answer begins")
        called: list[str] = []

        def note_listener(frame: FrameType, event: str, _: object) -> None:
            caller = frame.f_back
            if event == "call" and caller is not None and caller.f_code is TypedListeners.notify.__code__:
                called.append(frame.f_globals["__name__"])

        sys.setprofile(note_listener)
        rig.conversation.session.publish(ResponseDelta(", goes on"))
        sys.setprofile(None)
        assert [name for name in called if name != TypedListeners.__module__] == [ChatPresenter.__module__]
        go.set()
        await rig.wait_for_turn_end()
