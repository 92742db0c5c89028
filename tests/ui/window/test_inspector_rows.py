"""The rows of the inspector in the real window: excluded, cached and brought back, each as an event."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QMenu

from helix_desktop.context.window.window import output_marker
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.rewrite import Excluded, FormChosen, SweepMade
from helix_desktop.ui.chat.rows.row_types import ToolRow
from helix_desktop.ui.design.dialogs import QuestionDialog
from helix_desktop.ui.inspector.request_groups import WindowRow
from tests.support.model_servers.chat_server import Call, ChatServer, Reply, StreamedReply, text_reply
from tests.support.window.buttons import find_button, press
from tests.support.window.chat_geometry import press_action
from tests.support.window.usage_checks import inspector_rows
from tests.support.window.window_rig import WindowRig, act, until

pytestmark = pytest.mark.qt_loop

FILES = {"long.txt": "".join(f"line {n} of src/part_{n}.py\n" for n in range(60))}


def reader(request: dict[str, Any]) -> Reply:
    """Read the file, then say so."""
    if request["messages"][-1]["role"] == "user":
        return StreamedReply(Call("read_file", '{"path": "long.txt"}', id=f"c{len(request['messages'])}"))
    return text_reply("Read.")


def row(rig: WindowRig, kind: str) -> WindowRow:
    return next(found for found in reversed(inspector_rows(rig)) if found.kind == kind)


def select(rig: WindowRig, kind: str) -> None:
    """Put the keyboard on the newest row of a kind."""
    requests = rig.views.inspector.requests
    requests.setFocus()
    requests.setCurrentIndex(requests.index_of_key(requests.key_of(row(rig, kind))))


async def answer(rig: WindowRig, button: str) -> str:
    """Answer the question that stands over the window; return its words."""
    dialog = await rig.dialog(QuestionDialog)
    press(dialog, button)
    return dialog.windowTitle()


async def test_rows_are_read_excluded_cached_and_recalled(rig: WindowRig) -> None:
    """In the panel, the chat and the cache; what a change costs is asked before, and notices take it back."""
    async with rig.answered_by(reader, "project", FILES) as server:
        rig.type_message("Read it", send=False)
        await until(lambda: "Message: ≈" in rig.composer._status.full_text(), "the estimate")
        words = rig.composer._status.full_text()
        await rig.use_server(server, window=1_500)
        await until(lambda: "room for" in rig.composer._status.full_text(), "too small a window")
        await rig.use_server(server)
        await rig.run_turn("")
        assert f"Message: ≈ {row(rig, 'user').tokens} tokens" in words
        await until(lambda: row(rig, "output").cachable > 0, "the row of the output")
        select(rig, "output")
        QTest.keyClick(rig.views.inspector.requests, Qt.Key.Key_Return)
        rig.window.show_page("cache")
        press(rig.views.inspector, "show_in_chat")
        assert rig.window.page() == "chat"
        rig.views.inspector.go_back()
        await _check_a_marker(rig)
        await _check_a_longer_line(rig)
        await _check_the_request(rig, server)
    await _check_recall_from_the_cache(rig)


async def _check_the_request(rig: WindowRig, server: ChatServer) -> None:
    """Its JSON is what the server gets; a newer one takes its place on request."""
    rig.window.commands.show_request.trigger()
    reader = rig.views.inspector.reader
    text = reader.page.text
    await until(lambda: text.isVisible() and text.toPlainText(), "its text")
    assert output_marker(rig.events(ToolAnswered)[0]) in text.toPlainText()
    reader.switch.view_selected.emit("json")
    reader.page.copy_content()
    copied, shown = json.loads(QGuiApplication.clipboard().text()), text.toPlainText()
    curl = find_button(reader, "copy-curl")
    assert not reader.changed_button.isVisible()
    await rig.run_turn("And now?")
    sent = next(body for body in server.bodies if body["messages"][-1]["content"] == "And now?")
    assert copied == sent | {"messages": sent["messages"][: len(copied["messages"])]}
    await until(reader.changed_button.isVisible, "the line that says so")
    assert not curl.isVisible(), "it would be of the old one"
    assert text.toPlainText() == shown, "nothing moves while it is read"
    reader.changed_button.click()
    await until(lambda: "And now?" in text.toPlainText(), "the next request")
    assert not reader.changed_button.isVisible()
    rig.views.inspector.go_back()


async def _check_a_longer_line(rig: WindowRig) -> None:
    """Of what is shorter than the line in its place it says before what that costs; the ring stays."""
    await until(lambda: row(rig, "user").can_exclude, "the row of the message")
    before = row(rig, "user").tokens
    select(rig, "user")
    rig.window.setAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange)
    QTest.keyClick(rig.views.inspector.requests, Qt.Key.Key_X)
    question = await rig.dialog(QuestionDialog)
    words = [label.text() for label in question.findChildren(QLabel)]
    assert "Read it" in await answer(rig, "exclude")
    await until(lambda: row(rig, "user").state == "excluded", "the excluded row")
    assert len(rig.events(Excluded)) == 1
    rig.window.commands.undo_compaction.trigger()
    await until(lambda: row(rig, "user").state != "excluded", "undone")
    rig.window.commands.redo_compaction.trigger()
    await until(lambda: row(rig, "user").state == "excluded", "excluded again")
    added = row(rig, "user").tokens - before
    cost = f"Adds {added} tokens to every later request: the line in its place is longer."
    assert any(text.startswith(cost) for text in words), words
    rig.window.activateWindow()
    await until(rig.views.inspector.requests.hasFocus, "the keyboard in the list again")
    is_by_keyboard = Qt.WidgetAttribute.WA_KeyboardFocusChange
    await until(lambda: rig.window.testAttribute(is_by_keyboard), "the ring again")


async def _check_a_marker(rig: WindowRig) -> None:
    """An output becomes a marker at once and is recalled."""
    await until(lambda: row(rig, "output").cachable > 0, "the row of the output")
    full = row(rig, "output").tokens
    select(rig, "output")
    requests = rig.views.inspector.requests
    requests.button.click()
    await until(lambda: requests.findChildren(QMenu), "the menu")
    (menu,) = requests.findChildren(QMenu)
    entries = {action.objectName(): action for action in menu.actions()}
    assert {"row_cache", "row_pin", "row_exclude"} <= entries.keys()
    entries["row_cache"].trigger()
    menu.close()
    await answer(rig, "cache")
    await until(lambda: row(rig, "output").state == "cached", "the marker")
    assert "Cached “" in rig.banner_text()
    press(rig.window.notices, "undo")
    await until(lambda: row(rig, "output").tokens == full, "undone by the notice")
    commands = rig.window.commands
    commands.redo_compaction.trigger()
    await until(lambda: row(rig, "output").state == "cached", "the marker again")
    assert [event.reason.value for event in rig.events(SweepMade)] == ["manual"]
    assert row(rig, "output").tokens < full
    select(rig, "output")
    QTest.keyClick(rig.views.inspector.requests, Qt.Key.Key_R)
    await until(lambda: row(rig, "output").state == "full", "the output in full")
    press_action(rig.chat.view, rig.rows(ToolRow)[-1], "cache_now")
    await answer(rig, "cache")
    await until(lambda: row(rig, "output").state == "cached", "the marker again")
    press_action(rig.chat.view, rig.rows(ToolRow)[-1], "form:full")
    await until(lambda: row(rig, "output").state == "full", "the output in full")
    assert not rig.events(FormChosen), "the caching is undone: no line claims it any more"
    press(rig.window.notices, "redo")
    await until(lambda: row(rig, "output").state == "cached", "the marker again")


async def _check_recall_from_the_cache(rig: WindowRig) -> None:
    """In the place of its marker, with the cost before; in full, the menu says why not."""
    async with rig.answered_by(reader, "cached", FILES):
        await rig.run_turn("Read it")
        (answer_event,) = rig.events(ToolAnswered)
        seq = next(e.seq for e in rig.conversation.session.log if e.event == answer_event)
        window, before = rig.conversation.window, rig.conversation.window.measure()[0].estimate
        promised = await window.caching_savings(seq)
        await window.cache_now(seq)
        assert rig.events(SweepMade)[-1].anchors, "the names that are kept cost some of it"
        assert before - window.measure()[0].estimate == promised
        assert await window.caching_savings(seq) == 0
        cached = rig.conversation.window.measure()[0].request.messages
        rig.window.show_page("cache")
        table = rig.views.outputs.get().table
        await until(lambda: [r for r in table.selected_rows() if r.state == "cached"], "the cached entry")
        item = entry_menu_item(rig)
        assert item.isEnabled()
        item.trigger()
        await answer(rig, "send")
        await until(
            lambda: "line 30 of src/part_30.py" in str(rig.conversation.window.measure()[0].request), "it"
        )
        assert not rig.events(FormChosen), "the caching is undone: no line claims it any more"
        await until(
            lambda: [r for r in table.selected_rows() if r.state == "in_window"], "the entry, in full"
        )
        item = entry_menu_item(rig)
        assert not item.isEnabled()
        assert item.toolTip() == "All of it is in the context."
        commands, banners = rig.window.commands, rig.window.notices
        ways: dict[str, Callable[[], object]] = {
            "redo": commands.redo_compaction.trigger,
            "undo": commands.undo_compaction.trigger,
            "redo, by the notice": lambda: press(banners, "context-change:redo"),
            "undo, by the notice": lambda: press(banners, "context-change:undo"),
        }
        for way, do in ways.items():
            await act(do)
            is_cached = rig.conversation.window.measure()[0].request.messages == cached
            assert is_cached == way.startswith("redo"), way


def entry_menu_item(rig: WindowRig) -> QAction:
    """What the menu of the selected entry has to recall it into the context."""
    menu = rig.views.outputs.get().entry_actions.menu(rig.views.outputs.get().filter_bar)
    return next(item for item in menu.actions() if item.objectName() == "cache-send-full")
