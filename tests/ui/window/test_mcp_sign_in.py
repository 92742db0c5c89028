"""Sign-in at an MCP server in the real window, with a browser that goes where it is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.services.mcp_config import ServerDraft
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.settings.mcp.page import ServerCard
from tests.support.mcp.authorization_server import GuardedServer, browse, serve_guarded
from tests.support.window.browser import Browser, use_browser
from tests.support.window.buttons import find_button, press
from tests.support.window.window_rig import WindowRig, act, open_window, until

pytestmark = pytest.mark.qt_loop


@pytest.fixture
def browser() -> Iterator[Browser]:
    with use_browser() as browser:
        yield browser


@pytest.fixture
async def server() -> AsyncIterator[GuardedServer]:
    async with serve_guarded() as server:
        yield server


def state(card: ServerCard) -> str:
    return card._state.full_text()


def key_press(button: PushButton) -> None:
    assert button.hasFocus(), f"the keyboard is not at {button.text()!r}"
    QTest.keyClick(button, Qt.Key.Key_Space)


async def signed_out_card(rig: WindowRig, server: GuardedServer) -> ServerCard:
    await rig.open_folder("project")
    config = McpServerConfig(name="web", url=f"http://{server.host}/mcp")
    await rig.wiring.services.mcp_servers.add(rig.workspace.id, [ServerDraft(config)])
    await rig.wiring.settings.show("mcp")
    page = rig.settings.mcp
    await until(lambda: "web" in page.cards and state(page.cards["web"]) == "Sign-in needed", "signed out")
    return page.cards["web"]


async def test_a_user_signs_in_by_keyboard_and_out_again(
    qapp: QApplication, tmp_path: Path, server: GuardedServer, browser: Browser
) -> None:
    async with open_window(qapp, tmp_path) as rig:
        card = await signed_out_card(rig, server)
        box = card.sign_in
        await rig.wiring.settings.show_server("web", lacks_secret=False)
        key_press(box.start)
        await until(box.open.isVisible, "the address")
        assert box._words.text() == f"Sign in at 127.0.0.1:{server.authorization.port} in your browser."
        assert browser.addresses == [], "it opens only what the user has seen"
        key_press(box.open)
        press(box, "copy_address")
        assert browser.addresses == [QGuiApplication.clipboard().text()]
        await browse(browser.addresses[0])
        await until(lambda: state(card).startswith("Ready"), "ready")
        assert box.isHidden()
        assert card._toggles["edit"].hasFocus()
        assert card._signed_in.text().startswith("Signed in. Kept until Helix Desktop closes: ")
        await act(find_button(card, "sign_out").click)
        await until(lambda: state(card) == "Sign-in needed", "signed out again")
        assert card._sign_out.isHidden()


async def test_a_sign_in_is_canceled_or_fails_on_its_card(
    qapp: QApplication, tmp_path: Path, server: GuardedServer, browser: Browser
) -> None:
    async with open_window(qapp, tmp_path) as rig:
        card = await signed_out_card(rig, server)
        box = card.sign_in
        press(box, "sign_in")
        await until(box.open.isVisible, "the address")
        press(box, "cancel_sign_in")
        assert (box.start.isVisible(), box.open.isVisible(), box.is_running) == (True, False, False)
        server.authorization.consent = {"error": "access_denied"}
        press(box, "sign_in")
        await until(box.open.isVisible, "the address again")
        press(box, "open_browser")
        await browse(browser.addresses[0])
        await until(lambda: not box.is_running, "the refusal")
        assert box._error.text() == "Access was denied in the browser. Sign in again to allow it."
        assert state(card) == "Sign-in needed"
