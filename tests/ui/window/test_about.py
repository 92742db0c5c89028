"""About: which build runs, its licenses, and a newer release that is checked only on request."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QApplication

from helix_desktop import __version__
from helix_desktop.ui.design.viewer.content_viewer import TextsDialog
from helix_desktop.ui.settings.about_page import AboutPage
from tests.support.local_site import http_response, redirect, serve_site
from tests.support.window.buttons import find_child, press
from tests.support.window.window_rig import WindowRig, open_window, until
from tests.ui.window.test_mcp_servers import use_browser

pytestmark = pytest.mark.qt_loop
PAGE = "https://helix-desktop.invalid/releases/v9.1.0"
NEWEST = json.dumps({"tag_name": "v9.1.0", "html_url": PAGE, "published_at": "2026-12-01T00:00:00Z"}).encode()
ASK = "check_updates"


async def opened_about(rig: WindowRig, releases: str) -> AboutPage:
    origin = rig.wiring.services.build_info
    origin.build = replace(origin.build, releases=releases)
    await rig.wiring.settings.show("about")
    await rig.settings.about.refresh()
    return rig.settings.about


def says(about: AboutPage, words: str) -> bool:
    return words in about._release.text()


async def test_updates_are_looked_for_on_request_only(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A window shows builds with different update addresses, one after the other."""
    newest = http_response(NEWEST, "application/json", extra_headers="Set-Cookie: who=you\r\n")
    async with serve_site({"/latest": newest}) as site:
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            await _check_a_newer_release(rig, f"http://127.0.0.1:{site.port}/latest")
            await _check_a_silent_server(rig, monkeypatch)
            await _check_failures(rig)
        async with open_window(qapp, tmp_path / "other") as rig:
            await rig.wiring.workspace_controller.restore_last()
            await _check_a_build_without_update_address(rig)
        assert len(site.requests) == 2, "one for each time the user asked, and none before"
        for request in site.requests:
            assert request.startswith("GET /latest HTTP/1.1\r\n")
            names = {line.partition(":")[0].lower() for line in request.splitlines()[1:] if line}
            assert names == {"host", "user-agent", "accept", "accept-encoding", "connection"}
            assert "user-agent: HelixDesktop\r\n" in request.replace("User-Agent", "user-agent")
            assert __version__ not in request


async def _check_a_newer_release(rig: WindowRig, address: str) -> None:
    """Nothing is requested or opened before the user asks."""
    about = await opened_about(rig, address)
    assert about._release.text() == ""
    with use_browser() as browser:
        for _ in range(2):
            about.show_release("")
            press(about, ASK)
            expected = f"Version 9.1.0 from 2026-12-01 is available (you have {__version__})."
            await until(partial(says, about, expected), "the answer")
        assert browser.addresses == []
        press(about, "open_release")
    assert browser.addresses == [PAGE]


async def _check_a_silent_server(rig: WindowRig, monkeypatch: pytest.MonkeyPatch) -> None:
    async def be_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(be_silent, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with monkeypatch.context() as patch:
            patch.setattr("helix_desktop.services.build_info.TIMEOUT_S", 0.3)
            about = await opened_about(rig, f"http://127.0.0.1:{port}/latest")
            press(about, ASK)
            await until(partial(says, about, "The server didn't answer within 0.3 s."), "the end of patience")


async def _check_failures(rig: WindowRig) -> None:
    """Each failure is reported, also where an address is refused."""
    pages = {
        "/same": redirect("/latest"),
        "/latest": http_response(json.dumps({"tag_name": __version__}).encode()),
        "/elsewhere": redirect("http://localhost:1/latest"),
        "/round": redirect("/round"),
        "/long": http_response(b'{"tag_name": "9.9.9"}' + b" " * 300_000),
        "/nonsense": http_response(b"<html>"),
    }
    async with serve_site(pages) as site:
        for place, expected in (
            ("/same", f"You're up to date ({__version__})."),
            ("/elsewhere", "Couldn't check for updates. 127.0.0.1 redirects to another server."),
            ("/round", "Couldn't check for updates. 127.0.0.1 redirects too often."),
            ("/long", "Couldn't check for updates. The server's answer is too long."),
            ("/nonsense", "Couldn't check for updates. The server's answer doesn't name a release."),
            ("/missing", "Couldn't check for updates. The server answered with status 404."),
        ):
            about = await opened_about(rig, f"http://127.0.0.1:{site.port}{place}")
            press(about, ASK)
            await until(partial(says, about, expected), expected)
    about = await opened_about(rig, "http://helix-desktop.invalid/latest")
    press(about, ASK)
    await until(partial(says, about, "The update source must be an https address."), "the refusal")
    about = await opened_about(rig, "http://127.0.0.1:9/latest")
    about.show_release("")
    press(about, ASK)
    await until(partial(says, about, "Couldn't check for updates. "), "the refusal")


async def _check_a_build_without_update_address(rig: WindowRig) -> None:
    """It cannot check; what it is made of is listed all the same."""
    about = await opened_about(rig, "")
    assert about._release.text() == "This build has no update source."
    with pytest.raises(AssertionError, match="there is no button"):
        press(about, ASK)
    press(about, "licenses")
    await until(lambda: about.window().findChild(TextsDialog), "the terms")
    dialog = find_child(about.window(), TextsDialog)
    dialog.field.setText("pyside")
    assert sum(not item.isHidden() for item in dialog.list.items()) == 1
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in dialog.viewer.text.toPlainText()
    dialog.reject()
