"""Slash commands in the window: actions by their names, prompt files as messages, and what is neither."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.session import ModelChosen
from helix_desktop.domain.slash_command import MAX_PROMPT_BYTES
from helix_desktop.ui.chat.rows.row_types import UserRow
from tests.support.model_servers.chat_server import ChatServer, text_reply
from tests.support.window.buttons import press
from tests.support.window.window_rig import WindowRig, until

pytestmark = pytest.mark.qt_loop
PROMPT = "---\ndescription: Review a file\nargument-hint: FILE\n---\nReview $1 closely.\n!git status\n"


def _titles(rig: WindowRig) -> list[str]:
    popup = rig.composer.completer.popup
    return [row.title for row in popup.completions] if popup is not None else []


def _is_named(rig: WindowRig, words: str) -> bool:
    return words in rig.banner_text()


def _write_prompt(rig: WindowRig, name: str, text: str = PROMPT) -> None:
    file = Path(rig.wiring.services.registry.get(rig.workspace.id).path) / ".agents" / "commands" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


async def test_prompt_files_and_built_in_commands_are_typed(rig: WindowRig) -> None:
    async with rig.answered_by(lambda _: text_reply("Done."), "built-in") as server:
        await _check_built_in_commands(rig, server)
        await rig.open_folder("files")
        await rig.use_server(server)
        await _check_prompt_files(rig, server)
        rig.window.commands.copy_markdown.trigger()
        copied = QGuiApplication.clipboard().text()
        assert "## You · " in copied
        assert "Review src/app.py closely.\n!git status" in copied
        await _check_models(rig)


async def _check_models(rig: WindowRig) -> None:
    """Behind `/model ` the models are offered."""
    editor, label = rig.composer.editor, rig.conversation.model.label
    rig.composer.set_text("")
    QTest.keyClicks(editor, "/model ")
    await until(lambda: _titles(rig) == [label, "demo/offline", "default"], "all models")
    QTest.keyClicks(editor, "off")
    await until(lambda: _titles(rig) == ["demo/offline"], "those with these letters")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert rig.composer.text() == "/model demo/offline "
    QTest.keyClick(editor, Qt.Key.Key_Return)
    await until(lambda: rig.conversation.model.demo, "the demo model")
    rig.type_message("/model default")
    await until(lambda: rig.conversation.model.label == label, "the workspace's default")
    assert rig.conversation.session.transcript.chosen_model == ""


async def _check_built_in_commands(rig: WindowRig, server: ChatServer) -> None:
    """They do what the menus do, with arguments or without.

    An unknown command is kept with the nearest name, a path is sent as text.
    """
    rig.type_message("/mode plan")
    await until(lambda: rig.conversation.mode == "plan", "mode plan")
    rig.type_message("/budget 200k $2.50")
    await until(lambda: rig.conversation.budget.limit.tokens == 200_000, "the budget")
    assert rig.conversation.budget.limit.cost == 2.5
    rig.type_message("/rename A better title")
    await until(lambda: rig.conversation.session.transcript.title == "A better title", "the title")
    rig.type_message("/model demo")
    await until(lambda: rig.events(ModelChosen), "the model")
    assert rig.events(ModelChosen)[-1].model == "demo/offline"
    rig.type_message("/cache notes")
    await until(lambda: rig.window.page() == "cache", "the cache")
    assert rig.views.outputs.get().filter_bar.field.text() == "notes"
    rig.window.show_page("chat")
    before = rig.conversation.session.id
    rig.type_message("/rename")
    await until(rig.window.top_bar.title.is_editing, "the title to type into")
    rig.type_message("/help")
    await until(lambda: rig.window.help_windows.guide, "the guide")
    assert rig.window.help_windows.guide is not None
    assert rig.window.help_windows.guide.topic == "commands"
    rig.type_message("/clear")
    await until(lambda: rig.conversation.session.id != before, "a new session")
    assert server.bodies == []

    _write_prompt(rig, "review.md")
    rig.type_message("/reviw src")
    await until(lambda: "Did you mean /review?" in rig.banner_text(), "the nearest name")
    assert rig.composer.text() == "/reviw src"
    press(rig.window.notices, "send_as_message")
    await until(lambda: rig.events(UserSpoke), "the message")
    await until(lambda: "Did you mean" not in rig.banner_text(), "no banner")
    await rig.wait_for_turn_end()
    for typed, words in (
        ("/mode loud", "isn't a mode"),
        ("/clear now", "takes no arguments"),
        ("/stop", "isn't running"),
        ("/budget x", "wasn't changed"),
        ("/model zzz", "isn't one model"),
    ):
        rig.type_message(typed)
        await until(partial(_is_named, rig, words), words)
        assert rig.composer.text() == typed
        rig.composer.set_text("")
    await rig.run_turn("/usr/bin is full")
    assert [event.text for event in rig.events(UserSpoke)] == ["/reviw src", "/usr/bin is full"]


async def _check_prompt_files(rig: WindowRig, server: ChatServer) -> None:
    """One is completed, expanded and sent, with the draft and its attachments.

    The chat shows what was sent and from which file.
    """
    _write_prompt(rig, "review.md")
    _write_prompt(rig, "large.md", "x" * (MAX_PROMPT_BYTES + 1))
    rig.type_message("/", send=False)
    await until(lambda: _titles(rig)[:1] == ["/review"], "prompt files first")
    assert _titles(rig)[-1] == "/large", "what can't be used comes last, with the reason"
    rig.type_message("rev", send=False)
    await until(lambda: _titles(rig) == ["/review"], "the command that matches")
    QTest.keyClick(rig.composer.editor, Qt.Key.Key_Tab)
    assert rig.composer.text() == "/review "
    await rig.run_turn("src/app.py")
    (event,) = rig.events(UserSpoke)
    assert event.text == "Review src/app.py closely.\n!git status"
    assert event.prompt is not None
    assert server.bodies[-1]["messages"][-1]["content"] == event.text
    (row,) = rig.rows(UserRow)
    assert (row.text, row.prompt) == (event.text, "/review · .agents/commands/review.md")
    await until(lambda: "nothing is run" in rig.banner_text(), "the banner")
    assert rig.composer.text() == ""
    QTest.keyClick(rig.composer.editor, Qt.Key.Key_Up)
    assert rig.composer.text() == "/review src/app.py"
    rig.composer.set_text("")

    rig.window.commands.all_commands.trigger()
    palette = rig.window.help_windows.command_palette
    assert palette is not None
    palette.search.setText("review")
    await until(lambda: len(palette.list_view.rows) == 1, "the prompt file in the palette")
    palette.accept(palette.list_view.rows[0].value)
    assert rig.composer.text() == "/review "
