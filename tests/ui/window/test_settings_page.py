"""The settings as a page: how they are left, searched, and what they lead to; keys that lead to the chat."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QFrame, QLineEdit, QWidget

from helix_desktop.ui.chat.rows.row_types import ApprovalRow
from helix_desktop.ui.kit.forms import Form
from helix_desktop.ui.kit.intents import Find, GoToSession, OpenFolder
from helix_desktop.ui.window.keyboard_page import KeyboardPage
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    Text,
    Wait,
    replies_in_order,
    text_reply,
)
from tests.support.window.buttons import find_button, find_child, press
from tests.support.window.window_rig import WindowRig, act, until

pytestmark = pytest.mark.qt_loop

_CONTROL, _NONE = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.NoModifier


async def _open_by_key(rig: WindowRig) -> None:
    focused = rig.window.focusWidget() or rig.window
    await act(lambda: QTest.keyClick(focused, Qt.Key.Key_Comma, _CONTROL))
    assert rig.window.page() == "settings"


def _press_key(rig: WindowRig, key: Qt.Key, modifiers: Qt.KeyboardModifier = _NONE) -> None:
    QTest.keyClick(rig.window.focusWidget() or rig.window, key, modifiers)


async def test_the_settings_are_entered_and_left_and_nothing_is_lost(tmp_path: Path, rig: WindowRig) -> None:
    """By name, mouse, key and search; in place of the session, or without a workspace."""
    await _check_without_a_workspace(tmp_path, rig)
    await _check_each_way_out(rig)
    await _check_the_mouse(rig)
    await _check_the_page_on_return(rig)
    await _check_find(rig)
    await _check_what_is_not_saved(rig)
    await _check_a_switch_that_is_needed(rig)
    await _check_a_search_in_any_page(rig)
    await _check_a_search_in_a_narrow_window(rig)
    await _check_a_turn_that_goes_on(rig)
    await _check_a_closed_pane(rig)


async def _check_each_way_out(rig: WindowRig) -> None:
    window, workspace_id = rig.window, rig.workspace.id
    window.resize(1_440, 900)
    window.show_page("timeline")
    focused = window.sidebar.search
    focused.setFocus()
    assert focused.hasFocus(), "not what the page would give the keyboard to"
    leave: dict[str, Callable[[], object]] = {
        "Esc": lambda: _press_key(rig, Qt.Key.Key_Escape),
        "the key that opened them": lambda: _press_key(rig, Qt.Key.Key_Comma, _CONTROL),
        "the key that closes a page": lambda: _press_key(rig, Qt.Key.Key_W, _CONTROL),
        "the button": lambda: press(rig.settings.names, "leave_settings"),
        "the workspace": lambda: QTest.mouseClick(
            window.rail.button(workspace_id), Qt.MouseButton.LeftButton
        ),
    }
    for how, do in leave.items():
        await _open_by_key(rig)
        name = find_button(rig.settings.names, f"page:{rig.settings.current_page()}")
        assert name.hasFocus(), "who came with the keyboard sees where it is"
        hidden: tuple[QWidget, ...] = (window.sidebar, window.top_bar, window.inspector_pane)
        assert not any(part.isVisible() for part in hidden)
        assert rig.settings.isVisible()
        await act(do)
        assert window.page() == "timeline", how
        assert all(part.isVisible() for part in hidden)
        assert window.focusWidget() is focused, f"the keyboard after {how}"
    await _open_by_key(rig)
    _press_key(rig, Qt.Key.Key_2, _CONTROL)
    assert window.page() == "cache", "a page of the session"
    assert rig.views.outputs.get().table.hasFocus()


async def _check_the_page_on_return(rig: WindowRig) -> None:
    await act(rig.window.commands.settings.trigger)
    await _check_the_dialogs(rig)
    rig.window.leave_settings()
    await act(rig.window.commands.settings.trigger)
    assert rig.settings.current_page() == "data", "the page that was last shown"
    await act(rig.window.commands.about.trigger)
    assert rig.settings.current_page() == "about", "a page by name, with the settings on screen"
    rig.window.leave_settings()
    await act(rig.window.commands.change_policy.trigger)
    assert rig.settings.current_page() == "policy", "a page by name"
    rig.window.leave_settings()
    rig.window.activateWindow()  # which the last dialog took
    await until(rig.window.isActiveWindow, "the window in front")


async def _check_the_mouse(rig: WindowRig) -> None:
    rig.window.show_page("chat")
    rig.window.setAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange, False)
    rig.composer.editor.setPlainText("Half a message")
    rig.composer.editor.setFocus()
    await act(rig.window.commands.settings.trigger)
    assert not find_button(rig.settings.names, f"page:{rig.settings.current_page()}").hasFocus()
    _press_key(rig, Qt.Key.Key_Escape)
    assert rig.window.page() == "chat"
    assert rig.composer.editor.hasFocus()
    assert rig.composer.text() == "Half a message"


async def _check_find(rig: WindowRig) -> None:
    await rig.wiring.settings.show("about")
    _press_key(rig, Qt.Key.Key_F, _CONTROL)
    assert rig.window.page() == "settings"
    assert not rig.chat.find_bar.isVisibleTo(rig.chat)
    await rig.wiring.settings.show("keyboard")
    _press_key(rig, Qt.Key.Key_F, _CONTROL)
    assert rig.settings.page("keyboard", KeyboardPage).filter.hasFocus()
    _press_key(rig, Qt.Key.Key_Escape)
    assert rig.window.page() == "chat"


async def _check_a_closed_pane(rig: WindowRig) -> None:
    commands = rig.window.commands
    commands.toggle_sidebar.trigger()
    assert not rig.window.sidebar.isVisible()
    await rig.wiring.settings.show("data")
    assert rig.settings.names.isVisible(), "the names of the pages need no sidebar"
    assert not commands.toggle_sidebar.isEnabled()
    rig.settings.focus_name()
    rig.window.resize(560, 420)
    head = rig.settings.head
    await until(head.isVisible, "a menu of the pages where the list has no room")
    assert head.pages.hasFocus(), "no field of the page takes the next key"
    assert not rig.settings.names.isVisible()
    head.pages.setCurrentIndex(head.pages.findText("About"))
    await act(lambda: head.pages.activated.emit(head.pages.currentIndex()))
    assert rig.settings.about.isVisible()
    assert rig.settings.width() >= 356
    rig.window.resize(1_024, 680)
    await until(rig.settings.names.isVisible, "the list again")
    assert rig.settings.names.list.current_button.hasFocus()
    assert rig.settings.names.list.current == "about"
    rig.window.resize(560, 420)
    await until(head.isVisible, "the menu again")
    press(head, "leave_settings")
    assert rig.window.page() == "chat"
    await rig.wiring.settings.show("data")
    rig.window.leave_settings()
    assert not rig.window.sidebar.isVisible()
    assert commands.toggle_sidebar.isEnabled()


async def _check_the_dialogs(rig: WindowRig) -> None:
    """A dialog stands over the page that led to it, and gives the keyboard back."""
    settings, cleanup, redaction = rig.settings, rig.wiring.cleanup, rig.wiring.redaction
    press(settings.names, "page:data")
    opened: dict[str, Callable[[], QDialog | None]] = {
        "clean_up": lambda: cleanup.cleanup_dialog,
        "trash": lambda: cleanup.trash_dialog,
        "forget": lambda: redaction.dialog,
    }
    for name, dialog_of in opened.items():
        button = find_button(settings.data, name)
        await until(button.isVisible, "the figures")
        button.setFocus(Qt.FocusReason.TabFocusReason)
        QTest.keyClick(button, Qt.Key.Key_Space)
        await until(dialog_of, name)
        await _close(dialog_of)
        assert settings.isVisible(), "Esc closes the dialog, and leaves no settings"
        assert settings.current_page() == "data"
        assert rig.window.focusWidget() is button
    press(settings.data, "clean_up")
    await until(lambda: cleanup.cleanup_dialog, "the clean-up")
    assert cleanup.cleanup_dialog is not None
    press(cleanup.cleanup_dialog, "trash")
    await until(lambda: cleanup.trash_dialog, "the trash in its place")
    await _close(lambda: cleanup.trash_dialog)
    assert settings.isVisible()


async def _close(dialog_of: Callable[[], QDialog | None]) -> None:
    dialog = dialog_of()
    assert dialog is not None
    await until(dialog.isVisible, "the dialog on screen")
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    await until(lambda: dialog_of() is None, "the dialog closed")


async def _check_what_is_not_saved(rig: WindowRig) -> None:
    session_id = rig.conversation.session.id
    await rig.wiring.settings.show("policy")
    await act(lambda: rig.settings.policy.slider.profile_selected.emit("lean"))
    await rig.wiring.settings.show("providers")
    rig.settings.providers.add()
    for field in rig.settings.providers.editor.findChildren(QLineEdit, "base_url"):
        QTest.keyClicks(field, "http://127.0.0.1:9/v1")
    await rig.wiring.settings.show("instructions")
    rig.settings.instructions.personal.text.setPlainText("Be brief.")
    await act(lambda: rig.window.perform(GoToSession(rig.workspace.id, session_id)))
    assert rig.window.page() == "chat", "a session was chosen"
    assert "Policy not applied" in rig.banner_text()
    assert rig.app_window.unsaved_settings() == ["Providers", "Instructions"]
    await rig.wiring.settings.show("instructions")
    assert rig.settings.instructions.personal.text.toPlainText() == "Be brief."
    await rig.wiring.settings.show("policy")
    assert rig.settings.policy.slider.track.value_text.startswith("Lean")
    assert "Policy not applied" not in rig.banner_text()
    rig.settings.policy.apply_bar.discard.click()


async def _check_a_turn_that_goes_on(rig: WindowRig) -> None:
    """Its approval is seen in the settings."""
    go = asyncio.Event()
    asking = replies_in_order(
        *(text_reply("Many words. " * 300) for _ in range(3)),
        StreamedReply(Text("One "), Wait(go), Call("run_command", '{"command": "sleep 0"}')),
        text_reply("Ended."),
    )
    async with ChatServer(asking) as server:
        await rig.begin("project", {}, server)
        await _check_keys_to_earlier_messages(rig)
        waiting = rig.window.waiting_sessions.button
        rig.type_message("Run it.")
        await until(lambda: rig.conversation.is_running, "the turn")
        await rig.wiring.settings.show("data")
        _press_key(rig, Qt.Key.Key_L, _CONTROL)
        assert rig.window.page() == "chat", "the message field is in the session"
        await rig.wiring.settings.show("data")
        go.set()
        await until(waiting.isVisible, "that the session waits, above the settings")
        assert "waits for you" in rig.window.windowTitle()
        rig.window.commands.allow_call.trigger()
        await until(lambda: rig.window.page() == "chat", "the question, which its first use shows")
        assert rig.rows(ApprovalRow), "and does not answer"
        assert not waiting.isVisible(), "its card says so"
        await rig.wiring.settings.show("data")
        await act(lambda: QTest.mouseClick(waiting, Qt.MouseButton.LeftButton))
        assert rig.window.page() == "chat"
        await rig.answer_approval("deny")
        await rig.wait_for_turn_end()


async def _check_without_a_workspace(tmp_path: Path, rig: WindowRig) -> None:
    rig.wiring.workspace_controller.show_welcome()
    await act(rig.window.commands.settings.trigger)
    assert rig.settings.names.isVisible()
    _press_key(rig, Qt.Key.Key_Escape)
    assert rig.window.places.welcome.get().isVisible()
    assert not rig.window.sidebar.isVisible()
    await rig.wiring.settings.show("policy")
    page = rig.settings.policy
    assert page.isVisible()
    controls = (page.slider.track, page.numbers, page.apply_bar.session, page.apply_bar.workspace)
    assert not any(control.isVisible() for control in controls), "each workspace has its own"
    rig.window.leave_settings()
    await _check_a_folder_that_is_being_opened(tmp_path, rig)
    await rig.wiring.settings.show("policy")
    page.numbers.head.setChecked(True)
    assert all(control.isVisible() for control in controls)


async def _check_a_folder_that_is_being_opened(tmp_path: Path, rig: WindowRig) -> None:
    place = tmp_path / "opening"
    place.mkdir()
    rig.wiring.services.registry.add(place, trusted=True)
    before = asyncio.all_tasks()
    rig.perform(OpenFolder(str(place)))
    opening = asyncio.all_tasks() - before
    await asyncio.sleep(0)  # it has begun
    assert not rig.wiring.session.has_conversation
    await rig.wiring.settings.show("data")
    await asyncio.wait(opening)
    assert rig.window.page() == "settings"
    assert rig.conversation.session.id, "it is open below"
    _press_key(rig, Qt.Key.Key_Escape)
    assert rig.window.page() == "chat"
    assert rig.composer.editor.hasFocus()
    await rig.wiring.settings.show("data")
    await act(rig.window.commands.new_session.trigger)
    assert rig.window.page() == "chat", "a new session is to be seen"


def _found(rig: WindowRig) -> list[str]:
    """What the list shows, as a screen reader says it."""
    return [line.words for line in rig.settings.names.search.hits.rows]


def _type(rig: WindowRig, words: str) -> None:
    rig.settings.names.search.field.selectAll()
    QTest.keyClicks(rig.settings.names.search.field, words)


async def _check_a_search_in_any_page(rig: WindowRig) -> None:
    """What is found has the keyboard."""
    await rig.wiring.settings.show("providers")
    view, search = rig.settings, rig.settings.names.search
    rig.window.perform(Find(""))
    assert rig.window.focusWidget() is search.field

    _type(rig, "enter sends")
    assert _found(rig) == ["Sending, General"]
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    switch = view.appearance.controls["enter_sends"]
    await until(lambda: rig.window.focusWidget() is switch, "the switch has the keyboard")
    assert not view.appearance.rows["enter_sends"].visibleRegion().isEmpty()
    assert view.findChild(QFrame, "found_ring"), "it is marked"
    assert view.current_page() == "appearance"

    _type(rig, "compact context policy")
    found = _found(rig)
    assert len(found) > 1, f"words of a group count for its fields: {found}"
    QTest.keyClick(search.field, Qt.Key.Key_Down)
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    form = find_child(view.policy, Form)
    hit = search.hits.row
    assert hit == 1
    await until(lambda: view.current_page() == "policy", "its page")
    await until(
        lambda: form.isAncestorOf(rig.window.focusWidget() or rig.window), "the field has the keyboard"
    )

    _type(rig, "maximum size")
    assert _found(rig) == ["Maximum size, Data · Outputs", "Maximum size, Data · File history"]
    _type(rig, "open-source licenses")
    assert _found(rig)[-1] == "Open-source licenses…, About"
    _type(rig, "save diagnostics")
    assert _found(rig) == ["Save diagnostics…, About"]
    _type(rig, "keyboard trash")
    assert "Trash…, Keyboard" in _found(rig)
    _type(rig, "zzz")
    assert not _found(rig)
    QTest.keyClick(search.field, Qt.Key.Key_Escape)
    assert rig.window.page() == "settings"
    assert view.names.list.current_button.isVisible()
    QTest.keyClick(search.field, Qt.Key.Key_Escape)
    assert rig.window.page() != "settings"


async def _check_a_search_in_a_narrow_window(rig: WindowRig) -> None:
    await rig.wiring.settings.show("appearance")
    rig.window.resize(560, 420)
    view, search = rig.settings, rig.settings.head.search
    await until(search.isVisible, "the search above the pages")
    rig.window.perform(Find(""))
    assert rig.window.focusWidget() is search.field
    QTest.keyClicks(search.field, "maximum size")
    assert [line.words for line in search.hits.rows] == [
        "Maximum size, Data · Outputs",
        "Maximum size, Data · File history",
    ]
    assert search.hits.isVisible()
    QTest.keyClick(search.field, Qt.Key.Key_Down)
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    control = view.data.forms[1].controls["history_quota"]
    await until(lambda: rig.window.focusWidget() is control, "the field has the keyboard")
    assert not search.hits.isVisible()

    search.field.setFocus(Qt.FocusReason.TabFocusReason)
    assert search.hits.isVisible(), "the next one of them"
    QTest.keyClick(search.field, Qt.Key.Key_Escape)
    assert view.data.isVisible()
    QTest.keyClicks(search.field, "zzz")
    assert not view.data.isVisible()
    rig.window.resize(1_024, 680)
    await until(view.names.isVisible, "the list of pages")
    assert view.data.isVisible()
    assert not search.field.text()


async def _check_a_switch_that_is_needed(rig: WindowRig) -> None:
    await rig.wiring.settings.show("appearance")
    form = rig.settings.appearance
    form.write("notify", False)
    _type(rig, "play sound")
    QTest.keyClick(rig.settings.names.search.field, Qt.Key.Key_Return)
    await until(lambda: rig.window.focusWidget() is form.controls["notify"], "the switch above it")
    ring = find_child(rig.settings, QFrame, "found_ring")
    line = form.rows["notify_sound"]
    assert ring.frameGeometry().contains(
        ring.mapToParent(ring.mapFromGlobal(line.mapToGlobal(line.rect().center())))
    )
    rig.window.leave_settings()


async def _check_keys_to_earlier_messages(rig: WindowRig) -> None:
    """They work from the input and nowhere else; from another page the command leads back."""
    for number in range(3):
        await rig.run_turn(f"Question {number}")
    view, keys = rig.chat.view, rig.window.commands.previous_message.shortcut()
    combination = keys[0]  # type: ignore[index]  # Qt's stubs leave out __getitem__
    places: list[float] = []
    for target in (rig.composer.editor, view, rig.window.sidebar):
        target.setFocus()
        QTest.keyClick(target, combination.key(), combination.keyboardModifiers())
        places.append(view.chat_viewport.scroll_layout.position)
    assert places[0] > places[1] > 0
    assert places[2] == places[1]
    rig.window.show_page("cache")
    rig.window.commands.previous_message.trigger()
    assert rig.window.page() == "chat"
    assert view.chat_viewport.scroll_layout.position < places[1]
