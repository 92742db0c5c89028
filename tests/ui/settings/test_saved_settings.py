"""What pages of the settings test and save: real services, servers and files, without a window."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.config.paths import DataDir
from helix_desktop.config.settings import ModelEntry, Provider
from helix_desktop.domain.messages import Message, ModelRequest
from helix_desktop.services.provider_changes import ProviderChanges
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.tools.instruction_files import read_own
from helix_desktop.ui.design.cards import Disclosure
from helix_desktop.ui.design.labels import SelectableText
from helix_desktop.ui.design.text_fields import TextArea
from helix_desktop.ui.settings.app_settings import AppSettings, WorkspaceSettings
from helix_desktop.ui.settings.instructions_page import InstructionsPage
from helix_desktop.ui.settings.page_layout import SettingsFileLine
from helix_desktop.ui.settings.permissions_page import PermissionsPage
from helix_desktop.ui.settings.providers.page import ProvidersPage
from tests.support.default_settings import NothingOnScreen
from tests.support.model_contract import final_response
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
from tests.support.window.buttons import find_button, press
from tests.support.window.window_rig import until

pytestmark = pytest.mark.qt_loop


@pytest.fixture
async def session(tmp_path: Path, scope: TaskScope) -> AsyncIterator[NothingOnScreen]:
    DataDir(tmp_path).ensure()
    session = NothingOnScreen(tmp_path, scope)
    yield session
    await scope.close()  # what still runs uses the services
    await session.app.close()


@pytest.fixture
async def page(qtbot: QtBot, session: NothingOnScreen) -> ProvidersPage:
    return await _shown_page(qtbot, session)


async def _shown_page(qtbot: QtBot, session: NothingOnScreen) -> ProvidersPage:
    page = ProvidersPage(session)
    qtbot.addWidget(page)
    page.resize(900, 700)
    page.show()
    # Not by qtbot, in whose loop a task of the page would begin within this one.
    await until(lambda: page.window().windowHandle().isExposed(), "the page on screen")
    await page.refresh()
    return page


def _provider(server: ChatServer, name: str = "my-box") -> Provider:
    models = (ModelEntry(name="small", window=32_000, reserve=1_000),)
    return Provider(name=name, base_url=server.base_url, models=models, default_model="small")


def _checks(page: ProvidersPage) -> str:
    """Return the lines of the test: name, state, result."""
    parts = page.editor.check_view.findChildren(QWidget)
    names = [part.accessibleName() for part in parts if not part.isHidden()]
    return "\n".join(name for name in names if ": " in name)


async def _ready(page: ProvidersPage) -> None:
    """Wait until all that was asked for is stored and shown."""
    await asyncio.sleep(0)
    await page._wait_for_changes()


def _type(page: ProvidersPage, field: str, words: str) -> None:
    line = page.editor.form.line(field)
    line.clear()
    QTest.keyClicks(line, words)
    QTest.keyClick(line, Qt.Key.Key_Return)


def cooperative_model(request: dict[str, Any]) -> StreamedReply:
    """A model that counts, and calls the only tool of a test."""
    tools = [tool["function"]["name"] for tool in request.get("tools", ())]
    if tools == ["report_word"]:
        return StreamedReply(Call("report_word", '{"word": "lighthouse"}'))
    return text_reply("one, ", "two")


async def test_a_server_is_added_keyed_listed_and_tested(
    tmp_path: Path, page: ProvidersPage, session: NothingOnScreen
) -> None:
    """Each field holds at once; the key is in no file, and a test's result is stored by itself."""
    settings = tmp_path / "settings.toml"
    services = session.app
    editor = page.editor
    async with ChatServer(cooperative_model) as server:
        page.add()
        page.new_server.form.line("base_url").setText(server.base_url.removeprefix("http://"))
        press(page, "add_server")
        await until(lambda: services.settings.provider("local") is not None, "the provider")
        await until(editor.key.hasFocus, "the keyboard at its key")
        assert services.settings.model == "", "it has no model that could answer"
        _type(page, "name", "My Box")
        await until(lambda: page.list.currentItem().text() == "my-box", "its name in the list")
        _type(page, "key", "sesame")
        await until(lambda: editor.key.placeholderText() == "Entered. Type to replace it.", "the key")
        assert server.requests == [], "a key is tried by its button alone"

        press(page, "list_models")
        await until(lambda: "2 models found" in _checks(page), "the list of models")
        models = editor.models
        assert not models.checklist.isHidden()
        models.add("small")
        await until(lambda: services.settings.model == "my-box/small", "it can answer now")
        await until(lambda: "my-box/small is now the default model" in _checks(page), "which is said")
        press(page, "test_provider")
        await until(lambda: "Tools: passed" in _checks(page), "the test")
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
        await until(lambda: "tested_tools = true" in settings.read_text(), "the result, without a press")
    assert "my-box" in settings.read_text()
    assert "sesame" not in settings.read_text()


async def test_a_vendor_is_added_and_answers_once_it_has_its_key(
    page: ProvidersPage, session: NothingOnScreen
) -> None:
    services = session.app
    vendor = next(vendor for vendor in services.models.catalog.vendors if vendor.name == "anthropic")
    page.add_vendor(vendor)
    await until(lambda: page.editor.provider.name == "anthropic", "on screen")
    await until(page.editor.key.hasFocus, "the keyboard at its key")
    assert services.settings.model == ""
    _type(page, "key", "sk-ant-0")
    await until(lambda: services.settings.model == f"anthropic/{vendor.begin[0]}", "it answers")
    page.add_vendor(vendor, "sk-ant-1")
    await until(lambda: page.editor.provider.name == "anthropic-2", "another account")
    await until(find_button(page, "test_provider").hasFocus, "the keyboard at the test")
    assert [provider.name for provider in services.settings.providers] == ["anthropic", "anthropic-2"]


async def test_what_is_removed_comes_back(page: ProvidersPage, session: NothingOnScreen) -> None:
    """A model, a key, a provider: each with one click, as long as nothing else was changed."""
    services = session.app
    changes = ProviderChanges(services)
    async with ChatServer(lambda _: text_reply("Hello.")) as server:
        box = _provider(server, "box")
        await changes.add(replace(box, models=(*box.models, ModelEntry(name="large"))), "sesame")
        await changes.use("", "box/large")
        await page.refresh()
        page.select("box")
        before = services.settings
        page.editor.models.table.select_model("large")
        press(page, "remove_model")
        await until(page.undo_line.isVisible, "the way back")
        assert services.settings.model == "box/small", "the model that is left"
        press(page, "undo_provider")
        await until(lambda: services.settings == before, "as before")

        press(page, "remove_key")
        await until(page.undo_line.isVisible, "the way back")
        assert (await services.secrets.get("box")).value == ""
        press(page, "undo_provider")
        await until(lambda: page.editor.key.placeholderText() == "Entered. Type to replace it.", "the key")
        assert (await services.secrets.get("box")).value == "sesame"

        press(page, "remove_provider")
        await until(page.undo_line.isVisible, "the way back")
        assert page.list.count() == 1
        assert services.settings.providers == ()
        press(page, "undo_provider")
        await until(lambda: page.list.count() == 2, "the provider")
        assert services.settings.providers == before.providers
        assert services.settings.model == "box/large"
        assert (await services.secrets.get("box")).value == "sesame"

        press(page, "remove_provider")
        await until(page.undo_line.isVisible, "the way back")
        page.new_server.add_requested.emit("http://127.0.0.1:1/v1", "")
        await until(lambda: not page.undo_line.isVisible(), "no way back over what came later")


async def test_a_test_is_stopped_and_what_is_refused_is_said(
    page: ProvidersPage, session: NothingOnScreen
) -> None:
    """A stopped test is over at once; that of an address that is edited leaves nothing."""
    editor = page.editor
    changes = ProviderChanges(session.app)
    async with ChatServer(lambda _: StreamedReply(Hang())) as server:
        await changes.add(_provider(server), "sesame")
        await page.refresh()
        page.select("my-box")
        press(page, "test_provider")
        await until(lambda: "Streaming: running" in _checks(page), "waiting for the answer")
        press(page, "test_provider")
        await until(lambda: "Streaming: skipped. Stopped" in _checks(page), "stopped")
        assert "Connection: passed" in _checks(page)
        press(page, "test_provider")
        await until(lambda: "Streaming: running" in _checks(page), "waiting for the answer again")
        QTest.keyClicks(editor.form.line("base_url"), "2")
        await until(lambda: not editor.is_testing, "the test over")
        assert editor.check_view.isHidden()
        _type(page, "base_url", server.base_url)

    refusal = api_error(401, "Incorrect API key provided", "invalid_api_key")
    async with ChatServer(replies_in_order(refusal)) as server:
        _type(page, "base_url", server.base_url)
        press(page, "test_provider")
        await until(lambda: "API key: failed" in _checks(page), "the refusal")
        for unexpected in ("Stopped", "Incorrect API key provided", "sesame"):
            assert unexpected not in _checks(page)
        (fold,) = (fold for fold in editor.check_view.findChildren(Disclosure) if not fold.isHidden())
        fold.head.click()
        visible = [text.text() for text in fold.findChildren(SelectableText) if not text.isHidden()]
        assert visible == ["Incorrect API key provided"]
        assert "Streaming: skipped" in _checks(page)
        await until(lambda: not editor.is_testing, "the test over")
    _type(page, "base_url", "http://127.0.0.1:1/v1")
    press(page, "test_provider")
    await until(lambda: "Connection: failed" in _checks(page), "a wrong address")


async def test_two_windows_change_a_provider_and_the_last_one_that_sets_a_field_wins(
    qtbot: QtBot, session: NothingOnScreen
) -> None:
    services = session.app
    async with ChatServer(lambda _: text_reply("Hello.")) as server:
        await ProviderChanges(services).add(_provider(server, "box"))
        theirs, mine = [await _shown_page(qtbot, session) for _ in range(2)]
        for page in (theirs, mine):
            page.select("box")
        _type(theirs, "base_url", "http://127.0.0.1:9/v1")
        mine.editor.models.add("large")
        _type(mine, "key", "sesame")
        for page in (theirs, mine):
            await _ready(page)
        box = services.settings.provider("box")
        assert box is not None
        assert box.base_url == "http://127.0.0.1:9/v1", "the other window changed another field"
        assert [entry.name for entry in box.models] == ["small", "large"]
        _type(mine, "base_url", "http://127.0.0.1:8/v1")
        await _ready(mine)
        await theirs.refresh()
        assert theirs.editor.form.line("base_url").text() == "http://127.0.0.1:8/v1"
        assert theirs.editor.key.placeholderText() == "Entered. Type to replace it."


async def test_the_file_is_opened_and_read_again_when_the_user_is_back(
    tmp_path: Path, page: ProvidersPage, session: NothingOnScreen
) -> None:
    """A missing one is made first; a mistake in it is named, and what held before holds."""
    services = session.app
    path = tmp_path / "settings.toml"
    with use_browser(("file",)) as editor:
        press(page, "open_settings_file")
        await until(lambda: editor.addresses, "the file in an editor")
    assert editor.addresses == [path.as_uri()]
    assert path.read_text(encoding="utf-8").startswith("# The settings of Helix Desktop.")

    async with ChatServer(lambda _: text_reply("Hello.")) as server:
        await ProviderChanges(services).add(_provider(server, "box"))
        await page.refresh()
        page.select("box")
        own = 'name = "box"\nheaders = { X-Title = "Helix" }\nbody = { service_tier = "flex" }\n'
        path.write_text(path.read_text(encoding="utf-8").replace('name = "box"\n', own), encoding="utf-8")
        await page.read_files()
        names = "X-Title, service_tier"
        await until(lambda: page.file_line.words.text().endswith(f"from the file: {names}."), "the names")
        model = await services.models.by_label("box/small")
        await final_response(model, ModelRequest((Message("user", "Hello"),)))
        assert server.requests[-1].headers["x-title"] == "Helix"
        assert server.bodies[-1]["service_tier"] == "flex"

        mistake = path.read_text(encoding="utf-8").replace("X-Title", "Authorization")
        path.write_text(mistake, encoding="utf-8")
        await page.read_files()
        await until(page.file_line.error.isVisible, "what is wrong")
        assert "Authorization can't be added" in page.file_line.error.text()
        box = services.settings.provider("box")
        assert box is not None
        assert box.headers == {"X-Title": "Helix"}
        _type(page, "name", "crate")
        await _ready(page)
        assert "Authorization" in path.read_text(encoding="utf-8"), "it waits to be corrected"

        path.write_text("[[providers]\n", encoding="utf-8")
        await page.refresh()
        assert "line 1" in page.file_line.error.text()


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


def file_error(page: PermissionsPage) -> str:
    """Return what the page says is wrong with the file of the settings; empty if nothing is."""
    line = page.findChild(SettingsFileLine)
    assert isinstance(line, SettingsFileLine)
    return "" if line.error.isHidden() else line.error.text()


async def test_the_lists_of_the_sandbox_are_shown_and_changed_in_the_file(
    permissions: PermissionsPage, session: NothingOnScreen
) -> None:
    """A missing file is made first; what is wrong in it is said, and counts for nothing."""
    page = permissions
    services = session.app
    path = services.data_dir.settings_file
    with use_browser(("file",)) as editor:
        press(page, "open_settings_file")
        await until(lambda: editor.addresses, "the file in an editor")
    assert editor.addresses == [path.as_uri()]
    assert path.read_text(encoding="utf-8").startswith("# The settings of Helix Desktop.")
    home = lines(page, "home_names")
    programs = lines(page, "reading_lines")
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
    await page.read_files()
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
    page = permissions
    path = session.app.data_dir.settings_file
    path.write_text('theme = "dark"\nreading_added = ls\n', encoding="utf-8")
    await page.read_files()
    await until(lambda: "settings.toml" in file_error(page), "the file")
    assert "line 2" in file_error(page)
    path.write_text('theme = "dark"\nreading_added = "ls"\n', encoding="utf-8")
    await page.read_files()
    await until(lambda: "invalid: reading_added" in file_error(page), "the field")
    path.write_text("", encoding="utf-8")
    await page.read_files()
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
    await page.read_files()
    await until(lambda: page.personal.excerpt.text() == "Be brief.", "what was written")
    sent = read_own(path, "personal")
    assert sent is not None
    assert sent.text == "[The user's instructions for all workspaces]\nBe brief."
    with use_browser(("file",)):
        press(page, "open:personal")
        await until(lambda: not page.isHidden(), "the page")
    assert path.read_text(encoding="utf-8") == f"{comment}Be brief.\n"
