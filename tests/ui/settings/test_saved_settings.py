"""What pages of the settings test and save: real services, servers and files, without a window."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.config.paths import DataDir
from helix_desktop.config.settings import ModelEntry
from helix_desktop.domain.request_extras import RequestExtras
from helix_desktop.services.app_services import AppServices
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.tools.instruction_files import read_own
from helix_desktop.ui.design.cards import Disclosure
from helix_desktop.ui.design.labels import SelectableText
from helix_desktop.ui.design.text_fields import TextArea
from helix_desktop.ui.settings.app_settings import AppSettings, WorkspaceSettings
from helix_desktop.ui.settings.instructions_page import InstructionsPage
from helix_desktop.ui.settings.permissions_page import PermissionsPage
from helix_desktop.ui.settings.providers.editor import ProviderCheckView
from helix_desktop.ui.settings.providers.models import ProviderDraft
from helix_desktop.ui.settings.providers.page import ProvidersPage
from tests.support.default_settings import NothingOnScreen
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Hang,
    StreamedReply,
    api_error,
    replies_in_order,
    text_reply,
)
from tests.support.window.browser import use_browser
from tests.support.window.buttons import find_button, find_child, press
from tests.support.window.list_contents import cell_texts
from tests.support.window.window_rig import act, until

pytestmark = pytest.mark.qt_loop


@pytest.fixture
async def session(tmp_path: Path, scope: TaskScope) -> AsyncIterator[NothingOnScreen]:
    DataDir(tmp_path).ensure()
    session = NothingOnScreen(tmp_path, scope)
    yield session
    await session.app.close()


@pytest.fixture
async def page(qtbot: QtBot, session: NothingOnScreen) -> ProvidersPage:
    return await _shown_page(qtbot, session)


async def _shown_page(qtbot: QtBot, session: NothingOnScreen) -> ProvidersPage:
    page = ProvidersPage(session)
    qtbot.addWidget(page)
    page.resize(900, 700)
    with qtbot.waitExposed(page):
        page.show()
    await page.refresh()
    return page


def _draft(server: ChatServer, **changed: str) -> ProviderDraft:
    values = {"id": "", "name": "My Box", "base_url": server.base_url, "key": "sesame"} | changed
    models = (ModelEntry(name="small", window=32_000, reserve=1_000),)
    address, name = values["base_url"], values["name"]
    return ProviderDraft(values["id"], name, address, models=models, default_model="small", key=values["key"])


def _checks(page: ProvidersPage) -> str:
    """Return the lines below the fields: name, state, result."""
    parts = page.editor.footer.findChildren(QWidget)
    names = [part.accessibleName() for part in parts if not part.isHidden()]
    return "\n".join(name for name in names if ": " in name)


def cooperative_model(request: dict[str, Any]) -> StreamedReply:
    """A model that counts, and calls the only tool of a test."""
    tools = [tool["function"]["name"] for tool in request.get("tools", ())]
    if tools == ["report_word"]:
        return StreamedReply(Call("report_word", '{"word": "lighthouse"}'))
    return text_reply("one, ", "two")


async def test_a_provider_is_listed_tested_and_saved(tmp_path: Path, page: ProvidersPage) -> None:
    """With secrets that are in no file, and a test's result that is saved without a press."""
    settings = tmp_path / "settings.toml"
    async with ChatServer(cooperative_model) as server:
        page.add()
        page.editor.models_requested.emit(_draft(server, name=""))
        await until(lambda: "2 models found" in _checks(page), "the list of models")
        models = page.editor.models
        assert not models.checklist.isHidden()
        assert not models.checklist.add.isEnabled()

        models.add("small")
        assert cell_texts(models.table)[0][4] == "?"
        page.editor.test_requested.emit(_draft(server))
        await until(lambda: "Tools: passed" in _checks(page), "the test")
        await until(lambda: cell_texts(models.table)[0][4] == "yes", "what the test has shown")
        for expected in (
            "Connection: passed. Answered in",
            "TLS: passed. Not used: the connection stays on this computer",
            "API key: passed. Key accepted",
            "Streaming: passed",
        ):
            assert expected in _checks(page)
        # A server is also asked, without a key, about its models; at an unknown time.
        requests = [request for request in server.requests if request.path.endswith("/completions")]
        assert {request.headers["authorization"] for request in requests} == {"Bearer sesame"}

        page.add()
        save = find_button(page.editor.footer, "save_provider")
        save.setFocus()
        await until(save.hasFocus, "the keyboard at Save")
        extras = RequestExtras({"X-Title": "Helix"}, ("X-Token",), {"service_tier": "flex"})
        secrets = {"X-Token": "open-up"}
        page.editor.saved.emit(replace(_draft(server), extras=extras, secret_headers=secrets))
        await until(lambda: "Saved: my-box" in _checks(page), "saved")
        assert save.hasFocus(), "it was away while the list changed"
        assert page.editor.form().extras == extras
        token = page.editor.extras_form.findChildren(QLineEdit, "header_value")[-1]
        assert (token.text(), token.placeholderText()) == ("", "Saved. Type to replace it.")
        assert "my-box" in settings.read_text()
        assert "sesame" not in settings.read_text()
        await act(lambda: page.editor.test_requested.emit(replace(_draft(server), id="my-box")))
        await until(lambda: "tested_tools = true" in settings.read_text(), "the result, without a press")
        assert page.editor.form().extras == extras


async def test_a_test_is_stopped_and_what_is_refused_is_said(page: ProvidersPage) -> None:
    """A stopped test is over at once; that of an address that is edited leaves nothing."""
    editor = page.editor
    async with ChatServer(lambda _: StreamedReply(Hang())) as server:
        page.add()
        editor.test_requested.emit(_draft(server))
        await until(lambda: "Streaming: running" in _checks(page), "waiting for the answer")
        press(editor.footer, "test_provider")
        await until(lambda: "Streaming: skipped. Stopped" in _checks(page), "stopped")
        assert "Connection: passed" in _checks(page)
        editor.test_requested.emit(_draft(server))
        await until(lambda: "Streaming: running" in _checks(page), "waiting for the answer again")
        request_count = len(server.requests)
        editor.test_requested.emit(_draft(server))
        await until(lambda: len(server.requests) > request_count, "the request of another test")
        await until(lambda: "Streaming: running" in _checks(page), "it waits too")
        assert editor.is_testing, "the end of the former test isn't its end"
        QTest.keyClicks(find_child(editor, QLineEdit, "base_url"), "2")
        await until(lambda: not editor.is_testing, "the test over")
        (view,) = editor.footer.findChildren(ProviderCheckView)
        assert view.isHidden()
        editor.test_requested.emit(_draft(server))
        await until(lambda: "Streaming: running" in _checks(page), "waiting for the answer")
        await act(lambda: editor.saved.emit(_draft(server, name="Tested")))
        assert not editor.is_testing
        assert "Saved: tested" in _checks(page), "no last word of the test covers it"

    refusal = api_error(401, "Incorrect API key provided", "invalid_api_key")
    async with ChatServer(replies_in_order(refusal)) as server:
        await act(lambda: editor.test_requested.emit(_draft(server)))
        await until(lambda: "API key: failed" in _checks(page), "the refusal")
        for unexpected in ("Stopped", "Incorrect API key provided", "sesame"):
            assert unexpected not in _checks(page)
        (fold,) = (fold for fold in editor.footer.findChildren(Disclosure) if not fold.isHidden())
        fold.head.click()
        visible = [text.text() for text in fold.findChildren(SelectableText) if not text.isHidden()]
        assert visible == ["Incorrect API key provided"]
        assert "Streaming: skipped" in _checks(page)
        # At once: late results of the first test must not cover those of the second.
        editor.test_requested.emit(_draft(server, base_url="not an address"))
        await until(lambda: "Enter a web address" in _checks(page), "the address is marked")
        editor.saved.emit(_draft(server))
        await until(lambda: "Saved: " in _checks(page), "saved")
        for name in ("my box", "demo"):
            editor.saved.emit(_draft(server, name=name))
            await until(lambda: "already exists" in _checks(page), "the name is taken")
            editor.check_view.show_notices(())


async def test_a_provider_that_two_windows_edit_replaces_the_other_only_if_the_user_says_so(
    qtbot: QtBot, session: NothingOnScreen
) -> None:
    services = session.app
    async with ChatServer(lambda _: text_reply("Hello.")) as server:
        await services.save_settings(services.settings.with_provider(_draft(server, name="box").provider()))
        theirs, mine = [await _shown_page(qtbot, session) for _ in range(2)]
        for page, address in ((mine, "http://127.0.0.1:8/v1"), (theirs, "http://127.0.0.1:9/v1")):
            page.select("box")
            field = find_child(page.editor, QLineEdit, "base_url")
            field.clear()
            QTest.keyClicks(field, address)
        await act(lambda: press(theirs.editor.footer, "save_provider"))
        assert _address(services) == "http://127.0.0.1:9/v1"
        assert not theirs.editor.conflict.isVisible(), "it was the first"
        await act(lambda: press(mine.editor.footer, "save_provider"))
        assert _address(services) == "http://127.0.0.1:9/v1"
        assert mine.editor.conflict.isVisible()
        assert mine.editor.form().base_url == "http://127.0.0.1:8/v1", "what was typed stays"
        press(mine.editor.footer, "provider:keep_edit")
        assert not mine.editor.conflict.isVisible()
        QTest.keyClicks(find_child(theirs.editor, QLineEdit, "base_url"), "/more")
        await act(lambda: press(mine.editor.footer, "save_provider"))
        assert _address(services) == "http://127.0.0.1:8/v1"
        await theirs.refresh()
        assert theirs.editor.conflict.isVisible(), "it was saved in the other window"
        press(theirs.editor.footer, "provider:use_stored")
        assert theirs.editor.form().base_url == "http://127.0.0.1:8/v1"
        assert not theirs.has_unsaved_edits()
        assert not theirs.editor.conflict.isVisible()


def _address(services: AppServices) -> str:
    provider = services.settings.provider("box")
    assert provider is not None
    return provider.base_url


@pytest.fixture
def permissions(qtbot: QtBot, session: NothingOnScreen) -> PermissionsPage:
    page = PermissionsPage(session, WorkspaceSettings(AppSettings(session), session))
    qtbot.addWidget(page)
    page.show()
    return page


def lines(page: PermissionsPage, name: str) -> TextArea:
    """The text of a list that a link opened."""
    area = page.findChild(TextArea, f"lines:{name}")
    assert isinstance(area, TextArea)
    return area


def flip(page: PermissionsPage, name: str) -> None:
    """Click a switch."""
    QTest.mouseClick(find_button(page, name), Qt.MouseButton.LeftButton, pos=QPoint(15, 13))


def come_back(page: PermissionsPage) -> None:
    """Let the page know that its window is active again, as after a visit to an editor."""
    QApplication.sendEvent(page, QEvent(QEvent.Type.ActivationChange))


def file_error(page: PermissionsPage) -> str:
    """Return what the page says is wrong with the file of the settings; empty if nothing is."""
    words = page.findChild(QLabel, "settings_file_error")
    assert isinstance(words, QLabel)
    return "" if words.isHidden() else words.text()


async def test_the_lists_of_the_sandbox_are_shown_and_changed_in_the_file(
    permissions: PermissionsPage, session: NothingOnScreen
) -> None:
    """A missing file is made first; what is wrong in it is said, and counts for nothing."""
    page, services = permissions, session.app
    path = services.data_dir.settings_file
    with use_browser(("file",)) as editor:
        press(page, "open_settings_file")
        await until(lambda: editor.addresses, "the file in an editor")
    assert editor.addresses == [path.as_uri()]
    assert path.read_text(encoding="utf-8").startswith("# The settings of Helix Desktop.")
    home, programs = lines(page, "home_names"), lines(page, "reading_lines")
    assert home.isReadOnly()
    assert programs.isReadOnly()
    assert ".pyenv" in home.toPlainText().splitlines()
    assert "cat " in programs.toPlainText()

    changes = (
        "# mine",
        'home_shown = ["~/tools/", "../x"]',
        'home_hidden = [".pyenv"]',
        'reading_added = ["mytool list FILES --json", "bash FILES"]',
        'reading_removed = ["cat"]',
    )
    path.write_text("\n".join(changes), encoding="utf-8")
    come_back(page)
    await until(lambda: "tools" in home.toPlainText().splitlines(), "what the file says")
    assert ".pyenv" not in home.toPlainText().splitlines()
    listed = programs.toPlainText().splitlines()
    assert "mytool list FILES --json" in listed
    assert not [line for line in listed if line.startswith(("cat ", "bash "))]
    assert services.settings.reading_lines == tuple(listed)
    await until(lambda: file_error(page), "what is wrong")
    assert "The name “../x” is invalid. It must be a path below the home folder." in file_error(page)
    assert "The line “bash FILES” is invalid. bash runs other programs." in file_error(page)

    flip(page, "reading_commands")
    await until(lambda: "reading_commands = false" in path.read_text(encoding="utf-8"), "it is off")
    assert path.read_text(encoding="utf-8").startswith("# mine\n"), "nothing else of the file is written"
    assert services.settings.reading_lines == ()
    assert not find_button(page, "open:reading_lines").isEnabled()


async def test_a_file_with_an_error_is_named_with_its_line(
    permissions: PermissionsPage, session: NothingOnScreen
) -> None:
    page, path = permissions, session.app.data_dir.settings_file
    path.write_text('theme = "dark"\nreading_added = ls\n', encoding="utf-8")
    come_back(page)
    await until(lambda: "settings.toml" in file_error(page), "the file")
    assert "line 2" in file_error(page)
    path.write_text('theme = "dark"\nreading_added = "ls"\n', encoding="utf-8")
    come_back(page)
    await until(lambda: "invalid: reading_added" in file_error(page), "the field")
    path.write_text("", encoding="utf-8")
    come_back(page)
    await until(lambda: not file_error(page), "no error any more")


async def test_instructions_are_read_again_when_the_user_is_back_from_an_editor(
    qtbot: QtBot, session: NothingOnScreen
) -> None:
    """A missing file is made first, with a comment that is not sent."""
    page = InstructionsPage(session)
    qtbot.addWidget(page)
    page.show()
    await page.refresh()
    path = session.app.user_instructions.path()
    assert page.personal.excerpt.text() == "Nothing yet"
    assert page.personal.file.text() == str(path)
    with use_browser(("file",)) as editor:
        press(page, "open:personal")
        await until(lambda: editor.addresses, "the file in an editor")
    assert editor.addresses == [path.as_uri()]
    comment = path.read_text(encoding="utf-8")
    assert comment.startswith("<!-- Sent to every new session")
    assert read_own(path, "personal") is None

    path.write_text(f"{comment}Be brief.\n", encoding="utf-8")
    QApplication.sendEvent(page, QEvent(QEvent.Type.ActivationChange))
    await until(lambda: page.personal.excerpt.text() == "Be brief.", "what was written")
    sent = read_own(path, "personal")
    assert sent is not None
    assert sent.text == "[The user's instructions for all workspaces]\nBe brief."
    with use_browser(("file",)):
        press(page, "open:personal")
        await until(lambda: not page.isHidden(), "the page")
    assert path.read_text(encoding="utf-8") == f"{comment}Be brief.\n"
