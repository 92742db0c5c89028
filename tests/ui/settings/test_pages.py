"""Pages of the settings: which is highlighted, models, MCP servers, keys, About, the diagnostics."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop import __version__
from helix_desktop.config.build_info import Build
from helix_desktop.config.settings import ModelEntry, Provider
from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.domain.model_spec import ModelSpec, SourcedSpec
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.services.cache_server import SharingState
from helix_desktop.services.diagnostics import FILE_NAMES, SELF_CHECK_FILE
from helix_desktop.services.foreign_servers import ForeignServer, ForeignServers, UnusableServer
from helix_desktop.services.mcp_config import McpServerStatus, ServerDraft
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.design.buttons import PushButton, Switch
from helix_desktop.ui.design.key_names import native_key
from helix_desktop.ui.design.layout import row
from helix_desktop.ui.design.viewer.content_viewer import TextsDialog
from helix_desktop.ui.kit.commands import WindowCommands
from helix_desktop.ui.settings.about_page import AboutPage, DiagnosticsDialog
from helix_desktop.ui.settings.mcp.page import McpPage
from helix_desktop.ui.settings.mcp.server_parts import SecretValues
from helix_desktop.ui.settings.providers.editor import ProviderEditor
from helix_desktop.ui.settings.providers.models import ShownProvider
from helix_desktop.ui.window.keyboard_page import KeyboardPage
from helix_desktop.ui.window.main_window import MainWindow
from tests.support.default_settings import NothingOnScreen, default_settings, settings_view
from tests.support.intents import take_intents
from tests.support.local_site import http_response, serve_site
from tests.support.window.browser import use_browser
from tests.support.window.buttons import find_button, find_buttons, find_child, press
from tests.support.window.window_rig import act, until


@pytest.fixture
def page(qtbot: QtBot) -> McpPage:
    page = McpPage(NothingOnScreen())
    qtbot.addWidget(page)
    return page


def test_never_two_pages_are_highlighted(qtbot: QtBot) -> None:
    """The focus ring follows the page: by mouse, by arrow keys, and when another page is asked for."""
    frame = QWidget()
    view = settings_view(default_settings(), NothingOnScreen())
    view.head.hide()  # there is room for the list
    frame.setLayout(row(view.names, view, view.head, gap=0))
    qtbot.addWidget(frame)
    names = ("providers", "data", "roles", "about")
    buttons = {name: view.names.findChild(QPushButton, f"page:{name}") for name in names}
    with qtbot.waitActive(frame):
        frame.show()
        frame.activateWindow()
    view.focus_name()

    def highlighted() -> set[str]:
        return {
            name
            for name, button in buttons.items()
            if button is not None and (button.hasFocus() or button.isChecked())
        }

    assert highlighted() == {"providers"}
    data = buttons["data"]
    assert data is not None
    QTest.mouseClick(data, Qt.MouseButton.LeftButton)
    assert (view.current_page(), highlighted()) == ("data", {"data"})
    QTest.keyClick(data, Qt.Key.Key_Down)
    assert (view.current_page(), highlighted()) == ("roles", {"roles"})
    view.show_page("about")
    assert highlighted() == {"about"}


def test_the_keys_of_a_command_count_as_use_of_the_keyboard(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    commands = WindowCommands(window)
    with qtbot.waitActive(window):
        window.show()
        window.activateWindow()
    opened: list[bool] = []
    is_by_keyboard = Qt.WidgetAttribute.WA_KeyboardFocusChange
    take_intents(window, lambda _: opened.append(window.testAttribute(is_by_keyboard)))
    commands.settings.trigger()
    QTest.keyClick(window, Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
    assert opened == [False, True]


def test_listed_models_are_checked_and_added_together(qtbot: QtBot) -> None:
    editor = ProviderEditor()
    qtbot.addWidget(editor)
    models = (ModelEntry(name="kept"),)
    box = Provider(name="box", base_url="http://127.0.0.1:1/v1", models=models, default_model="kept")
    editor.show_provider(ShownProvider(box))
    priced = SourcedSpec("server", "its list", ModelSpec(window=8_192, price_in=1, price_out=2))
    bare = SourcedSpec("server", "its list", ModelSpec())
    editor.show_offered({"kept": bare, "small": priced, "small-vision": bare, "large": bare})
    checklist = editor.models.checklist
    assert not checklist.isHidden()

    items = {item.text(0): item for item in map(checklist.list.topLevelItem, range(4)) if item is not None}
    texts = {name: (item.text(1), item.text(2)) for name, item in items.items()}
    assert texts["small"] == ("8,192", "1 / 2")
    assert texts["large"] == ("—", "—")
    assert not items["kept"].flags() & Qt.ItemFlag.ItemIsEnabled, "it is in the list already"
    items["large"].setCheckState(0, Qt.CheckState.Checked)
    assert checklist.add.text() == "Add 1 model"
    QTest.keyClicks(checklist.filter, "small")
    assert [name for name, item in items.items() if not item.isHidden()] == ["small", "small-vision"]
    items["small"].setCheckState(0, Qt.CheckState.Checked)
    assert checklist.add.text() == "Add 2 models", "what the filter hides stays checked"
    checklist.add.click()
    assert [entry.name for entry in editor.provider.models] == ["kept", "small", "large"]
    assert editor.provider.models[1].reported == ModelSpec(window=8_192, price_in=1, price_out=2)
    assert editor.provider.default_model == "kept"
    assert checklist.isHidden()


def test_a_secret_that_is_typed_stays_until_it_is_entered(qtbot: QtBot, page: McpPage) -> None:
    """Reports come while the user types; none of the values is ever shown."""
    config = McpServerConfig(name="box", command="here", secret_env=("API_KEY", "PIN"))
    page.show_servers("Here", "/here", (McpServerStatus(config, "failed", missing_secrets=("PIN",)),))
    with qtbot.waitActive(page):
        page.show()
    row = page.rows["box"]
    page.enter_secret("box")
    field = row.secrets.lines()["PIN"]
    assert page.focusWidget() is field, "the one without a value"
    assert (field.placeholderText(), field.echoMode()) == ("Enter value", QLineEdit.EchoMode.Password)
    assert row.secrets.lines()["API_KEY"].placeholderText() == "Saved. Type to replace it."
    QTest.keyClicks(field, "1234")
    report = McpServerStatus(config, "waiting", missing_secrets=("PIN",))
    page.show_servers("Here", "/here", (report,))
    assert field.text() == "1234"
    entered: list[tuple[str, str]] = []
    values = row.secrets.form.values
    assert isinstance(values, SecretValues)
    values._store = lambda *secret: entered.append(secret)
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert (entered, field.text()) == ([("PIN", "1234")], "")
    row.secrets.lines()["API_KEY"].setFocus()
    row.toggles["log"].setFocus()
    assert entered == [("PIN", "1234")], "nothing typed replaces nothing"
    page.show_servers("Here", "/here", (McpServerStatus(McpServerConfig(name="box", command="x"), "off"),))
    assert not row.secrets.isVisible()


def test_the_keyboard_stays_at_what_a_second_press_may_repeat(qtbot: QtBot, page: McpPage) -> None:
    config = McpServerConfig(name="box", command="here")
    other = McpServerStatus(McpServerConfig(name="next", command="here"), "ready")
    page.show_servers("Here", "/here", (McpServerStatus(config, "ready"), other))
    with qtbot.waitActive(page):
        page.show()
    restart = find_button(page.rows["box"], "restart")
    restart.setFocus()
    for state in ("waiting", "starting", "ready"):
        QTest.keyClick(restart, Qt.Key.Key_Space)
        page.show_servers(
            "Here", "/here", (McpServerStatus(config, state, "The server is restarted."), other)
        )
        assert restart.hasFocus(), "not Remove beside it"


def test_what_is_pasted_is_shown_as_it_would_start(page: McpPage) -> None:
    """Each server with its command, and where its secrets go before anything is added."""
    page.show_servers("Here", "/here", (), "Kept until Helix Desktop closes.")
    page.open_add()

    def shown() -> str:
        return " ".join(part.text() for part in page.add_box.findChildren(QLabel))

    page.add_box.paste.setPlainText("API_TOKEN=s3cret LEVEL=2 npx server --pin 7 --token s3cret-b")
    for part in (
        'npx server --pin 7 --token "${token}"', "LEVEL=2", "API_TOKEN=•••",
        "Secrets: API_TOKEN and token. Kept until Helix Desktop closes.", "Starts in /here",
    ):  # fmt: skip
        assert part in shown(), part
    assert "s3cret" not in shown()
    assert find_button(page.add_box, "add").text() == "Add and start"
    both = {"a": {"command": "x", "env": {"API_TOKEN": "<token>"}}, "b": {"command": "y"}}
    page.add_box.paste.setPlainText(json.dumps({"mcpServers": both}))
    assert find_button(page.add_box, "add").text() == "Add and start 2 servers"
    assert "Enter API_TOKEN after adding it." in shown()
    page.add_box.paste.setPlainText('{"mcpServers": ')
    page.open_add()
    assert page.has_unsaved_edits(), "what was pasted stays"
    assert "isn't valid JSON" in page.add_box._error.text()
    assert not find_buttons(page.add_box, "add")


def test_what_other_programs_need_to_share_the_cache_is_copied(page: McpPage) -> None:
    card = page.sharing
    card.show_sharing("Here", ("helix", "mcp"), SharingState())
    assert not card.http.isChecked()
    assert card._endpoint_row.isHidden()
    find_child(card, PushButton, "copy_command").click()
    (server,) = json.loads(QGuiApplication.clipboard().text())["mcpServers"].values()
    assert [server["command"], *server["args"]] == ["helix", "mcp"]
    card.show_sharing("Here", ("helix", "mcp"), SharingState(True, "http://127.0.0.1:9/mcp", "secret"))
    assert card.http.isChecked()
    assert card._url.text() == "http://127.0.0.1:9/mcp"
    find_child(card, PushButton, "copy_http").click()
    (server,) = json.loads(QGuiApplication.clipboard().text())["mcpServers"].values()
    assert (server["url"], server["headers"]["Authorization"]) == (card._url.text(), "Bearer secret")


def test_servers_of_other_programs_are_one_line_until_the_user_opens_it(qtbot: QtBot, page: McpPage) -> None:
    """By the keyboard too; what has no value yet is named."""
    page.show_servers("Here", "/here", ())
    config = McpServerConfig(
        name="box", command="run", args=("${TEAM}",), secret_words=("TEAM",), secret_env=("API_KEY", "LEVEL")
    )
    draft = ServerDraft(config, {"API_KEY": "", "TEAM": "", "LEVEL": ""})
    found = ForeignServers(
        (ForeignServer(draft, "Claude Code", ".mcp.json"),),
        (UnusableServer(".cursor/mcp.json", "", verbatim("It's a pipe.")),),
    )
    page.foreign_servers.show_servers(found)
    with qtbot.waitActive(page):
        page.show()
    assert page.foreign_servers.toggle.text() == "1 server from other programs"
    review = find_button(page.foreign_servers, "review:box")
    assert not review.isVisible()
    page.foreign_servers.toggle.setFocus()
    QTest.keyClick(page.foreign_servers.toggle, Qt.Key.Key_Space)
    assert review.isVisible()
    assert review.accessibleName() == "Review box"
    shown = " ".join(part.text() for part in page.foreign_servers.findChildren(QLabel))
    for part in ("Claude Code · .mcp.json", "API_KEY", "TEAM", "LEVEL", "It's a pipe."):
        assert part in shown
    page.foreign_servers.show_servers(found)
    assert find_button(page.foreign_servers, "review:box") is review, "the keyboard can be there"
    review.setFocus()
    QTest.keyClick(review, Qt.Key.Key_Space)
    add = find_button(page.add_box, "add")
    assert page.focusWidget() is add
    words = " ".join(part.text() for part in page.add_box.findChildren(QLabel))
    assert 'run "${TEAM}"' in words
    assert "Enter API_KEY, TEAM and LEVEL after adding it." in words
    assert not page.has_unsaved_edits()
    page.open_add()
    assert page.add_box.paste.isVisible()
    assert not page.has_unsaved_edits()
    page.foreign_servers.show_servers(ForeignServers())
    assert page.foreign_servers.isHidden()


def test_it_displays_build_and_folder(qtbot: QtBot) -> None:
    session = NothingOnScreen(Path("/data/helix"))
    session.app.build_info.build = Build(version="0.1.0", target="deb")
    about = AboutPage(session)
    qtbot.addWidget(about)
    assert not find_buttons(about, "check_updates"), "what a search of the settings finds is there"
    about.show_about((("Qt", "6.11.3"),))
    about.show()

    text = "\n".join(label.text() for label in about.findChildren(QLabel))
    for part in (
        "Helix Desktop 0.1.0 (deb)",
        "Qt 6.11.3",
        str(Path("/data/helix")),
        "has no update source",
    ):
        assert part in text, part
    press(about, "copy")
    assert QGuiApplication.clipboard().text() == "Helix Desktop 0.1.0 (deb)\nQt: 6.11.3"


@pytest.mark.qt_loop
async def test_a_release_is_looked_for_and_opened_on_request_only(
    qtbot: QtBot, tmp_path: Path, scope: TaskScope
) -> None:
    page = "https://helix-desktop.invalid/releases/v9.1.0"
    newest = json.dumps({"tag_name": "v9.1.0", "html_url": page, "published_at": "2026-12-01T00:00:00Z"})
    session = NothingOnScreen(tmp_path, scope)
    about = AboutPage(session)
    qtbot.addWidget(about)
    about.show()
    async with serve_site({"/latest": http_response(newest.encode())}) as site:
        session.app.build_info.build = Build(releases=f"http://127.0.0.1:{site.port}/latest")
        await about.refresh()
        assert site.requests == []
        with use_browser() as browser:
            await act(lambda: press(about, "check_updates"))
            expected = f"Version 9.1.0 from 2026-12-01 is available (you have {__version__})."
            assert about._release.text() == expected
            assert browser.addresses == []
            press(about, "open_release")
            assert browser.addresses == [page]
    await act(lambda: press(about, "check_updates"))
    assert about._release.text().startswith("Couldn't check for updates. ")


@pytest.mark.qt_loop
async def test_licenses_are_found_by_name(qtbot: QtBot, tmp_path: Path, scope: TaskScope) -> None:
    about = AboutPage(NothingOnScreen(tmp_path, scope))
    qtbot.addWidget(about)
    about.show()
    press(about, "licenses")
    await until(lambda: about.findChild(TextsDialog), "the terms")
    dialog = find_child(about, TextsDialog)
    dialog.field.setText("pyside")
    assert sum(not item.isHidden() for item in dialog.list.items()) == 1
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in dialog.viewer.text.toPlainText()
    dialog.reject()


def test_the_files_of_a_report_are_listed_and_saved_as_one(qtbot: QtBot) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    dialog = DiagnosticsDialog(parent, NothingOnScreen())
    dialog.show()
    assert not find_button(dialog, "save").isEnabled()
    others = [name for name in FILE_NAMES if name != SELF_CHECK_FILE]
    for name in others:
        dialog.show_file(name, f"text of {name}\n")
    assert find_button(dialog, "save").isEnabled(), "the self-check may take a minute"
    assert [file.name for file in dialog.files()] == others
    assert not find_button(dialog, f"file:{SELF_CHECK_FILE}").isEnabled()

    find_child(dialog, Switch, "with_names").click()  # texts without names are not what would be saved
    assert dialog.files() == []
    assert not find_button(dialog, "save").isEnabled()
    for name in FILE_NAMES:
        dialog.show_file(name, "named\n")
    assert {file.text for file in dialog.files()} == {"named\n"}


@pytest.mark.qt_loop
async def test_a_click_on_a_name_shows_the_file(qtbot: QtBot, tmp_path: Path, scope: TaskScope) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    dialog = DiagnosticsDialog(parent, NothingOnScreen(tmp_path, scope))
    dialog.show()
    dialog.show_file("versions.txt", "Helix Desktop\n")
    press(dialog, "file:versions.txt")
    await until(lambda: dialog.findChild(TextsDialog), "the file")
    reader = find_child(dialog, TextsDialog)
    assert reader.viewer.text.toPlainText().startswith("Helix Desktop")
    reader.reject()
    await until(lambda: not dialog.findChildren(TextsDialog), "its end")


_CTRL = Qt.KeyboardModifier.ControlModifier
_PLAIN = Qt.KeyboardModifier.NoModifier
Record = Callable[..., str]


@pytest.fixture
def keyboard(qtbot: QtBot, window: MainWindow) -> KeyboardPage:
    keyboard = KeyboardPage(window.key_bindings, default_settings())
    qtbot.addWidget(keyboard)
    keyboard.show()
    return keyboard


@pytest.fixture
def record(keyboard: KeyboardPage) -> Record:
    """Press keys for a command; return why it can't have them."""

    def press_keys(command: str, key: Qt.Key, modifiers: Qt.KeyboardModifier = _CTRL) -> str:
        button = find_button(keyboard, f"keys:{command}")
        button.click()
        QTest.keyClick(button, key, modifiers)
        assert not button.isChecked()
        return "" if keyboard.notice.isHidden() else keyboard.notice.text.text()

    return press_keys


def test_keys_are_recorded_refused_replaced_and_reset(keyboard: KeyboardPage, record: Record) -> None:
    bindings = keyboard.bindings
    assert record("trash", Qt.Key.Key_J) == ""
    assert record("trash", Qt.Key.Key_Escape, _PLAIN) == ""
    assert record("trash", Qt.Key.Key_C) == "Ctrl+C edits text in text fields."
    assert bindings.keys("trash") == ("Ctrl+J",)
    assert record("trash", Qt.Key.Key_K) == "Ctrl+K is used by Go to…"
    press(keyboard, "cancel_keys")
    record("trash", Qt.Key.Key_K)
    QTest.keyClick(find_button(keyboard, "replace_keys"), Qt.Key.Key_Escape)
    assert keyboard.notice.isHidden()
    assert keyboard.isVisible(), "Esc answers the question, and closes no settings"
    assert bindings.keys("trash") == ("Ctrl+J",)
    record("trash", Qt.Key.Key_K)
    press(keyboard, "replace_keys")
    assert (bindings.keys("trash"), bindings.keys("switch_workspace")) == (("Ctrl+K",), ())
    record("find", Qt.Key.Key_Backspace, _PLAIN)
    stored = {"trash": ["Ctrl+K"], "switch_workspace": [], "find": []}
    assert bindings.stored == stored
    assert keyboard._settings.get("shortcuts") == stored, "they are saved"
    press(keyboard, "reset_all_keys")
    assert bindings.keys("find") == WindowCommands.find.keys
    press(keyboard, "undo_keys")
    assert bindings.stored == stored


def test_commands_are_found_by_their_keys(keyboard: KeyboardPage) -> None:
    for typed, expected in (("ctrl+k", ["switch_workspace"]), ("nothing of that name", [])):
        keyboard.filter.setText(typed)
        buttons = {command: find_button(keyboard, f"keys:{command}") for command in WindowCommands.commands}
        assert [command for command, button in buttons.items() if button.isVisible()] == expected


def test_keys_of_lists_are_changed_and_shown_there(
    window: MainWindow, keyboard: KeyboardPage, record: Record
) -> None:
    assert record("cache_pin", Qt.Key.Key_V, _PLAIN) == "V is used by Outputs: Verify"
    press(keyboard, "replace_keys")
    assert keyboard.bindings.keys("cache_verify") == ()
    assert record("cache_verify", Qt.Key.Key_Down, _PLAIN) == "Down moves in lists."
    press(keyboard, "cancel_keys")
    assert record("cache_verify", Qt.Key.Key_Delete, _PLAIN) == "Del is used by Outputs: Move to trash"
    press(keyboard, "cancel_keys")
    assert record("session_archive", Qt.Key.Key_Y, _PLAIN) == ""
    assert window.sidebar.session_list.keys.shown_key("session_archive") == "Y"
    assert record("session_archive", Qt.Key.Key_J) == ""
    assert window.sidebar.session_list.keys.shown_key("session_archive") == native_key("Ctrl+J")
    press(keyboard, "reset_all_keys")
    assert window.sidebar.session_list.keys.shown_key("session_archive") != "Y"
