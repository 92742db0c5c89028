"""A key that no keychain stored lasts for one run: the next one reports it missing, where it is needed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from PySide6.QtWidgets import QApplication, QLineEdit

from helix_desktop.config.settings import ModelEntry, Provider
from tests.support.model_servers.chat_server import ChatServer, replies_in_order, text_reply
from tests.support.window.buttons import press
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


async def _with_key(folder: Path, qapp: QApplication, server: ChatServer) -> str:
    """Enter a key in a run without keychain; the workspace's id."""
    async with open_window(qapp, folder) as rig:
        identity = await rig.open_folder("project")
        services = rig.wiring.services
        entry = ModelEntry(name="small", window=32_000, reserve=1_000)
        await services.save_settings(
            services.settings.with_provider(Provider(name="lab", base_url=server.base_url, models=(entry,)))
        )
        await services.save_key("lab", "sesame")
        await services.use_model(identity, "lab/small")
        await rig.wiring.session.show_model()
        await rig.run_turn("Hello")
        assert server.requests[-1].headers["authorization"] == "Bearer sesame"
        assert not _asks_for_key(rig)
        return identity


def _files_with(folder: Path, text: bytes) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text in path.read_bytes()]


def _asks_for_key(rig: WindowRig) -> bool:
    return "missing-key" in rig.window.notices.names() or rig.chat.key_strip.isVisible()


async def test_a_key_of_one_run_is_missing_in_the_next_unless_the_environment_has_it(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ChatServer(replies_in_order(text_reply("Here"))) as server:
        identity = await _with_key(tmp_path, qapp, server)
        assert _files_with(tmp_path, b"sesame") == []
        monkeypatch.setenv("HELIX_LAB_KEY", "given")
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.open_workspace(identity)
            assert await rig.wiring.services.missing_keys() == ()
            assert not _asks_for_key(rig)
        monkeypatch.delenv("HELIX_LAB_KEY")
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.open_workspace(identity)
            await until(rig.chat.key_strip.isVisible, "the strip above the message field")
            assert rig.chat.key_strip.accessibleName() == "API key for lab is missing"
            await until(lambda: "The API key for lab is missing." in rig.banner_text(), "the banner")

            press(rig.chat.key_strip, "strip_action")
            dialog = rig.settings
            await until(dialog.isVisible, "the settings")
            editor = dialog.providers.editor
            key = editor.findChild(QLineEdit, "api_key")
            assert isinstance(key, QLineEdit)
            await until(lambda: dialog.focusWidget() is key, "the keyboard in the key")
            assert editor.form().id == "lab"
            key.setText("open")
            press(dialog, "save_provider")
            await until(lambda: not _asks_for_key(rig), "no word of it any more")
            await rig.run_turn("And now?")
            assert server.requests[-1].headers["authorization"] == "Bearer open"
            assert key.placeholderText() == "Entered. Type to replace it."
            press(editor, "remove_key")
            assert key.placeholderText() == "Removed when you save"
            press(dialog, "save_provider")
            await until(lambda: key.placeholderText() == "Optional", "the key is gone")
            services = rig.wiring.services
            await services.save_settings(msgspec.structs.replace(services.settings, run_keys=("lab",)))
            await rig.wiring.session.show_model()
            rig.window.leave_settings()
            await until(rig.chat.key_strip.isVisible, "as if it were missing")
            await rig.run_turn("Without a key?")
            assert "authorization" not in server.requests[-1].headers
            await until(lambda: not _asks_for_key(rig), "none is needed")
            rig.window.leave_settings()
