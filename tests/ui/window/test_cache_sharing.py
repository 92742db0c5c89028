"""The card that lets other programs read a cache, in the real window."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from tests.support.window.buttons import press
from tests.support.window.window_rig import open_window, until

pytestmark = pytest.mark.qt_loop


async def test_the_endpoint_is_switched_on_copied_renewed_and_switched_off(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        await rig.wiring.settings.show("mcp")
        card = rig.settings.mcp.sharing
        assert not card.http.isChecked()
        press(card, "copy_command")
        (server,) = json.loads(QGuiApplication.clipboard().text())["mcpServers"].values()
        assert [server["command"], *server["args"]] == list(
            rig.wiring.services.cache_endpoints.stdio_command(rig.workspace.id)
        )
        card.http.click()
        await until(card._endpoint_row.isVisible, "the address is shown")
        press(card, "copy_http")
        (server,) = json.loads(QGuiApplication.clipboard().text())["mcpServers"].values()
        shared = await rig.wiring.services.cache_endpoints.sharing_state(rig.workspace.id)
        assert (server["url"], server["headers"]["Authorization"]) == (shared.url, f"Bearer {shared.token}")
        assert card._url.text() == shared.url
        press(card, "renew_token")
        await until(lambda: shared.token not in card._http_config, "another token is shown")
        card.http.click()
        await until(lambda: not card._endpoint_row.isVisible(), "the address is gone")
        assert not rig.wiring.services.registry.get(rig.workspace.id).share_port
        settings_files = [path.read_text(errors="replace") for path in (tmp_path / "data").rglob("*.toml")]
        assert not any(shared.token in text for text in settings_files), "a token is in no file"
