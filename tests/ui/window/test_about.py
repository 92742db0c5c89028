"""About: which build runs, its licenses, and a newer release that is checked only on request."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from helix_desktop import __version__
from helix_desktop.ui.settings.about.page import AboutPage
from tests.support.local_site import http_response, redirect, serve_site
from tests.support.window.buttons import press
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop
PAGE = "https://helix-desktop.invalid/releases/v9.1.0"
NEWEST = json.dumps({"tag_name": "v9.1.0", "html_url": PAGE, "published_at": "2026-12-01T00:00:00Z"}).encode()
ASK = "check_updates"


async def opened_about(rig: WindowRig, releases: str) -> AboutPage:
    """Open the About page of a build with this update address."""
    origin = rig.wiring.services.build_info
    origin.build = replace(origin.build, releases=releases)
    await rig.wiring.settings.show("about")
    return rig.wiring.settings.dialog.about


def says(about: AboutPage, words: str) -> bool:
    """Return True if the result contains this text."""
    return words in about.release_text


async def test_nothing_is_requested_or_opened_before_the_user_asks(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with serve_site(
        {"/latest": http_response(NEWEST, "application/json", extra_headers="Set-Cookie: who=you\r\n")}
    ) as site:
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            about = await opened_about(rig, f"http://127.0.0.1:{site.port}/latest")
            opened: list[str] = []
            about.release_page_requested.disconnect()
            about.release_page_requested.connect(opened.append)
            assert about.release_text == ""
            for _ in range(2):
                about.show_release("")
                press(about, ASK)
                expected = f"Version 9.1.0 from 2026-12-01 is available (you have {__version__})."
                await until(partial(says, about, expected), "the answer")
            assert opened == []
            press(about, "open_release")
            assert opened == [PAGE]
        assert len(site.requests) == 2, "one for each time the user asked, and none before"
        for request in site.requests:
            assert request.startswith("GET /latest HTTP/1.1\r\n")
            names = {line.partition(":")[0].lower() for line in request.splitlines()[1:] if line}
            assert names == {"host", "user-agent", "accept", "accept-encoding", "connection"}
            assert "user-agent: HelixDesktop\r\n" in request.replace("User-Agent", "user-agent")
            assert __version__ not in request


async def test_failures_are_reported_and_a_build_without_update_address_cannot_check(
    qapp: QApplication, tmp_path: Path
) -> None:
    pages = {
        "/same": redirect("/latest"),
        "/latest": http_response(json.dumps({"tag_name": __version__}).encode()),
        "/elsewhere": redirect("http://localhost:1/latest"),
        "/round": redirect("/round"),
        "/long": http_response(b'{"tag_name": "9.9.9"}' + b" " * 300_000),
        "/nonsense": http_response(b"<html>"),
    }
    async with serve_site(pages) as site, open_window(qapp, tmp_path) as rig:
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
        press(about, ASK)
        await until(partial(says, about, "Couldn't check for updates. "), "the refusal")

        about = await opened_about(rig, "")
        assert about.release_text == "This build has no update source."
        with pytest.raises(AssertionError, match="there is no button"):
            press(about, ASK)
        about.licenses.field.setText("pyside")
        assert about.licenses.list.count() == 1
        about.licenses.list.setCurrentRow(0)
        assert "GNU LESSER GENERAL PUBLIC LICENSE" in about.licenses.text.toPlainText()


async def test_a_server_that_does_not_answer_times_out(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("helix_desktop.services.build_info.TIMEOUT_S", 0.3)

    async def be_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(be_silent, "127.0.0.1", 0)
    async with server, open_window(qapp, tmp_path) as rig:
        port = server.sockets[0].getsockname()[1]
        about = await opened_about(rig, f"http://127.0.0.1:{port}/latest")
        press(about, ASK)
        await until(partial(says, about, "The server didn't answer within 0.3 s."), "the end of patience")
