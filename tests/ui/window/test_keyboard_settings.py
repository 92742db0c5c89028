"""Keys of commands are changed in the settings: pressed, refused, taken from another command, undone."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.ui.design.key_names import native_key
from helix_desktop.ui.kit.commands import WindowCommands
from helix_desktop.ui.window.settings_controller import KeyboardPage
from tests.support.model_servers.chat_server import ChatServer, text_reply
from tests.support.window.buttons import find_button, find_buttons, press
from tests.support.window.window_rig import open_window, until

pytestmark = pytest.mark.qt_loop
_CTRL, _PLAIN = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.NoModifier


async def test_keys_are_recorded_and_stored(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        rig.window.commands.theme_dark.trigger()
        await rig.wiring.settings.show("providers")
        press(rig.settings.names, "page:keyboard")  # built and filled only now
        page, bindings = rig.settings.page("keyboard", KeyboardPage), rig.window.key_bindings
        await until(lambda: find_buttons(page, "keys:trash"), "the commands")
        assert find_buttons(page, "keys:trash")[0].palette().buttonText().color().lightnessF() > 0.5, "dark"
        for command in WindowCommands.commands:
            find_button(page, f"keys:{command}")

        def record(command: str, key: Qt.Key, modifiers: Qt.KeyboardModifier = _CTRL) -> str:
            button = find_button(page, f"keys:{command}")
            button.click()
            QTest.keyClick(button, key, modifiers)
            assert not button.isChecked()
            return "" if page.notice.isHidden() else page.notice.text.text()

        assert record("trash", Qt.Key.Key_J) == ""
        assert record("trash", Qt.Key.Key_Escape, Qt.KeyboardModifier.NoModifier) == ""
        assert record("trash", Qt.Key.Key_C) == "Ctrl+C edits text in text fields."
        assert bindings.keys("trash") == ("Ctrl+J",)
        assert record("trash", Qt.Key.Key_K) == "Ctrl+K is used by Go to…"
        press(page, "cancel_keys")
        assert bindings.keys("trash") == ("Ctrl+J",)
        record("trash", Qt.Key.Key_K)
        QTest.keyClick(find_button(page, "replace_keys"), Qt.Key.Key_Escape)
        assert page.notice.isHidden()
        assert rig.settings.isVisible(), "Esc answers the question, and closes no settings"
        assert bindings.keys("trash") == ("Ctrl+J",)
        record("trash", Qt.Key.Key_K)
        press(page, "replace_keys")
        assert (bindings.keys("trash"), bindings.keys("switch_workspace")) == (("Ctrl+K",), ())
        record("find", Qt.Key.Key_Backspace, Qt.KeyboardModifier.NoModifier)
        stored = {"trash": ["Ctrl+K"], "switch_workspace": [], "find": []}
        assert bindings.stored == stored

        def saved() -> object:
            files = tmp_path.rglob("settings.toml")
            return [tomllib.loads(file.read_text(encoding="utf-8"))["shortcuts"] for file in files]

        await until(lambda: saved() == [stored], "the keys in the file")
        press(page, "reset_all_keys")
        assert bindings.keys("find") == WindowCommands.find.keys
        press(page, "undo_keys")
        assert bindings.stored == stored
        QTest.keyClicks(page.filter, "ctrl+k")
        found = [
            command for command in WindowCommands.commands if find_button(page, f"keys:{command}").isVisible()
        ]
        assert found == ["trash"]
        QTest.keyClicks(page.filter, " nothing of that name")
        assert not any(
            find_button(page, f"keys:{command}").isVisible() for command in WindowCommands.commands
        )


async def test_messages_are_reached_with_keys_from_the_input_and_nowhere_else(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with (
        ChatServer(lambda _: text_reply("Many words. " * 300)) as server,
        open_window(qapp, tmp_path) as rig,
    ):
        await rig.open_folder("project")
        await rig.use_server(server)
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


async def test_keys_of_lists_are_changed_and_shown(qapp: QApplication, tmp_path: Path) -> None:
    """A page that is open has the new key at once: in its list, its menu, its tooltips and the guide."""
    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.settings.show("keyboard")
        page, bindings = rig.settings.page("keyboard", KeyboardPage), rig.window.key_bindings
        await until(lambda: find_buttons(page, "keys:cache_pin"), "the commands")

        def record(command: str, key: Qt.Key, modifiers: Qt.KeyboardModifier = _PLAIN) -> str:
            button = find_button(page, f"keys:{command}")
            button.click()
            QTest.keyClick(button, key, modifiers)
            return "" if page.notice.isHidden() else page.notice.text.text()

        assert record("cache_pin", Qt.Key.Key_V) == "V is used by Cache: Verify"
        press(page, "replace_keys")
        assert bindings.keys("cache_verify") == ()
        assert record("cache_verify", Qt.Key.Key_Down) == "Down moves in lists."
        press(page, "cancel_keys")
        assert record("cache_verify", Qt.Key.Key_Delete) == "Del is used by Cache: Move to trash"
        press(page, "cancel_keys")
        assert record("session_archive", Qt.Key.Key_Y) == ""
        assert record("context_pin", Qt.Key.Key_J, _CTRL) == ""
        cache = rig.views.cache.get()
        assert record("cache_save", Qt.Key.Key_U, _CTRL) == ""
        assert cache.preview.export_button.toolTip().endswith(f"({native_key('Ctrl+U')})")
        assert cache.keys.shown_key("cache_pin") == "V"
        assert rig.window.sidebar.session_list.keys.shown_key("session_archive") == "Y"
        assert rig.views.inspector.keys.shown_key("context_pin") == native_key("Ctrl+J")
        press(page, "reset_all_keys")
        assert cache.preview.export_button.toolTip().endswith(f"({native_key('Ctrl+S')})")
