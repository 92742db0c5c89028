"""Ctrl+K, and the search in everything."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QWidget

from helix_desktop.domain.store import Commit
from helix_desktop.services.search_everything import SearchFindings, SearchPart, SearchRequest
from helix_desktop.ui.chat.actions import RetryAnswer
from helix_desktop.ui.chat.rows.row_types import AssistantRow, TurnFooterRow, UserRow
from helix_desktop.ui.design.style.theme import current_theme
from helix_desktop.ui.kit.intents import SearchEverything
from helix_desktop.ui.window.picker import Picker, SessionRow
from helix_desktop.ui.window.search_everything import FoundHit
from tests.support.model_servers.chat_server import (
    ChatServer,
    replies_in_order,
    text_reply,
)
from tests.support.store.builders import make_summary
from tests.support.window.buttons import find_button
from tests.support.window.window_rig import TIMEOUT_S, WindowRig, until

pytestmark = pytest.mark.qt_loop


def shows(panel: QWidget, words: str) -> bool:
    return any(words in shown.text() for shown in panel.findChildren(QLabel) if shown.isVisible())


def found(rig: WindowRig) -> list[str]:
    """Return the sessions that Ctrl+K lists, by id."""
    lines = rig.window.picker.list_view.rows
    return [line.value.id for line in lines if isinstance(line.value, SessionRow)]


async def test_a_search_says_at_once_that_not_all_is_indexed(rig: WindowRig) -> None:
    await rig.open_folder("project")
    picker = rig.window.picker
    picker.search_everything("tide")
    findings = SearchFindings(SearchRequest("tide"))
    findings.add(SearchPart(rig.workspace.id, unindexed=60, events=100))
    picker._show_found(findings, False)
    assert picker.note.text() == "Still indexing (40 %): older messages may be missing."
    picker._show_found(SearchFindings(SearchRequest("tide")), True)
    assert "Still indexing" not in picker.note.text()


def lines(picker: Picker) -> list[str]:
    """Return what is listed, headings in brackets without their details."""
    listed = picker.list_view.rows
    return [f"[{line.words.split(',')[0]}]" if line.is_heading else line.words for line in listed]


def marked_words(picker: Picker) -> list[str]:
    rows = [line.value for line in picker.list_view.rows if isinstance(line.value, FoundHit)]
    return [row.hit.excerpt[start:end] for row in rows for start, end in row.marks]


def painted_marks(picker: Picker, line: str) -> int:
    """Return how many words of a line are painted on the color of what was searched for."""
    place = lines(picker).index(line)
    box = picker.list_view.visualRect(picker.list_view.row_model.index(place))
    picture = picker.list_view.viewport().grab(box).toImage()
    color = QColor(current_theme().warn_soft)
    heights = range(picture.height())
    columns = [any(picture.pixelColor(x, y) == color for y in heights) for x in range(picture.width())]
    return sum(here and not before for before, here in pairwise((False, *columns)))


def chosen(picker: Picker) -> str:
    return str(picker.list_view.currentIndex().data())


def press_key(
    picker: Picker, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier
) -> None:
    QTest.keyClick(picker.search, key, modifier)


FOUND_LEXER = ["[Look at the lexer]", "The lexer is fixed"]


async def test_it_leads_to_workspaces_sessions_messages_and_commands(rig: WindowRig) -> None:
    async with ChatServer(
        replies_in_order(text_reply("The lexer is fixed"), text_reply("Fine"), text_reply("Done"))
    ) as server:
        first = await rig.open_folder("first")
        await rig.use_server(server)
        await rig.run_turn("Look at the lexer")
        session_id = rig.conversation.session.id
        await rig.wiring.workspace_controller.new_session()
        await rig.run_turn("Write the invoices")
        second = await rig.open_folder("second")
        await rig.run_turn("Something else")
        picker = rig.window.picker
        commands = rig.window.commands

        commands.switch_workspace.trigger()
        everything = [
            "[Workspaces]", "first", "second", "[Sessions]", "Write the invoices", "Look at the lexer",
        ]  # fmt: skip
        await until(lambda: lines(picker) == everything, "workspaces and sessions")
        assert chosen(picker) == "first"

        # A message of another workspace and session, at its place.
        QTest.keyClicks(picker.search, "lexer fixed")
        assert lines(picker) == []
        await until(lambda: lines(picker) == FOUND_LEXER, "the message alone")
        _check_marks(picker)
        press_key(picker, Qt.Key.Key_Return)
        await until(lambda: rig.wiring.session.workspace_id == first, "the other workspace")
        await until(lambda: rig.app_window.shown_session.session_id == session_id, "its session")
        await until(lambda: [row.text for row in rig.rows(UserRow)] == ["Look at the lexer"], "its rows")
        await until(rig.composer.editor.hasFocus, "the end of the way there")
        await until(lambda: rig.chat.find_bar.count.text == "2", "its word marked and counted")
        assert not picker.isVisible()

        # The signs limit what is searched; a command is run, and listed first from now on.
        commands.switch_workspace.trigger()
        QTest.keyClicks(picker.search, "@i")
        await until(lambda: "Write the invoices" in lines(picker), "the sessions")
        assert all(line == "[Sessions]" or "[" not in line for line in lines(picker))
        picker.search.setText(">compare with")
        assert lines(picker) == ["[Commands]", "Compare with and without Helix"], "it stands in no menu"
        picker.search.setText(">larger text")
        assert lines(picker) == ["[Commands]", "Larger text"]
        press_key(picker, Qt.Key.Key_Return)
        commands.switch_workspace.trigger()
        await until(lambda: "Larger text" in lines(picker), "the command that was used")
        picker.search.setText("zzzz")
        await until(lambda: shows(picker, "No results. Try fewer words."), "the end of the search")

        # Ctrl+Enter begins a session in the workspace of the line.
        picker.search.setText("second")
        press_key(picker, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        await until(
            lambda: rig.wiring.session.workspace_id == second and not rig.rows(UserRow), "a new session"
        )
        await _check_an_opening_workspace(rig, first)


async def test_exact_titles_and_words_come_first_among_sessions(rig: WindowRig) -> None:
    await rig.open_folder("project")
    titles = ("Tide", "About the tide, again", "Tidetables", "Riptides of today")
    for number, title in enumerate(titles):
        await rig.workspace.store.commit(Commit(title, summary=make_summary(title, number, title)))
    picker = rig.window.picker
    rig.window.commands.switch_workspace.trigger()
    QTest.keyClicks(picker.search, "@tide")
    expected = ["[Sessions]", "Tide", "About the tide", "Riptides of today", "Tidetables"]
    await until(lambda: [line.split(",")[0] for line in lines(picker)] == expected, "the best first")
    QTest.keyClick(picker.search, Qt.Key.Key_Escape)


def _check_marks(picker: Picker) -> None:
    """Each word is marked where it stands, the last one of the line, too."""
    assert marked_words(picker) == ["lexer", "fixed"]
    assert painted_marks(picker, "The lexer is fixed") == 2


async def _check_an_opening_workspace(rig: WindowRig, workspace_id: str) -> None:
    """Closed, its messages are found in its store alone; while it is being opened it is named."""
    picker = rig.window.picker
    services = rig.wiring.services
    await rig.wiring.workspace_controller.close_workspace(workspace_id)
    rig.window.commands.switch_workspace.trigger()
    QTest.keyClicks(picker.search, "lexer fixed")
    await until(lambda: "The lexer is fixed" in lines(picker), "the message")
    assert workspace_id not in services.open_workspaces
    press_key(picker, Qt.Key.Key_Escape)
    async with asyncio.timeout(TIMEOUT_S), services.borrow_store(workspace_id) as store:
        assert await store.sessions(), "the panel let go of the store"
    opening = asyncio.get_running_loop().create_task(
        rig.wiring.workspace_controller.open_workspace(workspace_id)
    )
    await asyncio.sleep(0)
    rig.window.commands.switch_workspace.trigger()
    QTest.keyClicks(picker.search, "lexer fixed")
    assert picker.note.text().startswith("Still opening: first.")
    await opening
    await until(lambda: lines(picker) == FOUND_LEXER, "the message")
    assert "Still opening" not in picker.note.text()


LEXER = (
    {"role": "user", "content": "The LEXER loops at the end of a file"},
    {
        "role": "assistant",
        "content": "I read it.",
        "tool_calls": [{"id": "1", "name": "read_file", "arguments": '{"path": "src/lexer.py"}'}],
    },
    {"role": "tool", "content": "def advance():\n    while lexer.pos:\n        pass\n", "tool_call_id": "1"},
    {"role": "assistant", "content": "It never looks at the end."},
)
GAUGE = ({"role": "user", "content": "Why does the gauge say 61 % at the end?"}, *LEXER[3:])


def choose(picker: Picker, kind: str) -> FoundHit:
    """Move down to the first result of a kind."""
    for _ in picker.list_view.rows:
        line = picker.list_view.current
        if line is not None and isinstance(line.value, FoundHit) and line.value.hit.kind == kind:
            return line.value
        QTest.keyClick(picker.search, Qt.Key.Key_Down)
    raise AssertionError(f"no {kind} in {lines(picker)}")


async def import_session(rig: WindowRig, folder: Path, name: str, *messages: Mapping[str, object]) -> str:
    """Open a workspace with an imported session; return its id."""
    workspace_id = await rig.open_folder(name)
    file = folder / f"{name}.jsonl"
    file.write_text("".join(json.dumps(message) + "\n" for message in messages), encoding="utf-8")
    foreign = rig.wiring.services.foreign_sessions
    done = await foreign.import_into(workspace_id, await foreign.find([file]))
    assert not done.failed
    return workspace_id


async def search(rig: WindowRig, words: str, expected: str) -> Picker:
    """Press the keys, type, and wait until something is listed."""
    picker = rig.window.picker
    rig.window.commands.search_messages.trigger()
    QTest.keyClicks(picker.search, words)
    await until(lambda: expected in lines(picker), f"{expected} among {lines(picker)}")
    return picker


async def test_results_open_where_they_stand(tmp_path: Path, rig: WindowRig) -> None:
    lexer = await import_session(rig, tmp_path, "lexer", *LEXER)
    await import_session(rig, tmp_path, "gauge", *GAUGE)
    await _check_a_message_of_another_workspace(rig, lexer)
    await _check_an_output_and_the_filters(rig)
    await _check_what_is_said(rig)
    await _check_more_of_a_session(tmp_path, rig, lexer)


async def open_first(rig: WindowRig, words: str, kind: str) -> None:
    """Search everything, and open the first result of a kind."""
    picker = rig.window.picker
    rig.window.perform(SearchEverything(words))
    await until(lambda: any(isinstance(line.value, FoundHit) for line in picker.list_view.rows), words)
    choose(picker, kind)
    QTest.keyClick(picker.search, Qt.Key.Key_Return)


async def opens(rig: WindowRig, words: str, session_id: str) -> None:
    await open_first(rig, words, "message")
    await until(rig.chat.find_bar.isVisible, "the word marked")
    await until(lambda: rig.wiring.session.id == session_id, f"the version with {words}")


async def test_a_hit_opens_the_newest_version_that_has_it(rig: WindowRig) -> None:
    """It stays where the user is if that version has it, too."""
    async with ChatServer(replies_in_order(text_reply("An ebb"), text_reply("A flood"))) as server:
        await rig.open_folder("project")
        await rig.use_server(server)
        await rig.run_turn("Read the gauge")
        first = rig.conversation.session.id
        controller = rig.wiring.workspace_controller
        rig.perform(RetryAnswer(rig.rows(TurnFooterRow)[0].key.seq))
        await until(lambda: rig.conversation.session.id != first, "the other version")
        await until(lambda: "A flood" in str(rig.rows(AssistantRow)), "its answer")
        await rig.wait_for_turn_end()
        newest = rig.conversation.session.id
        await controller.new_session()
        await opens(rig, "gauge", newest)
        await opens(rig, "ebb", first)
        await opens(rig, "gauge", first)


async def test_a_hit_in_an_output_is_scrolled_to(tmp_path: Path, rig: WindowRig) -> None:
    """To the line with all words, also where that output is on screen already."""
    output = "".join(f"lexer {number}\n" for number in range(300)) + "    while lexer.pos:\n"
    long = ({**message, "content": output} if message["role"] == "tool" else message for message in LEXER)
    await import_session(rig, tmp_path, "long", *long)

    def line() -> int:
        return rig.window.pages.outputs.get().preview.content.text.textCursor().blockNumber()

    for _ in range(2):
        await open_first(rig, "lexer while", "output")
        await until(lambda: rig.window.page() == "outputs" and line() == 300, "its line")
        rig.window.pages.outputs.get().preview.content.text.moveCursor(QTextCursor.MoveOperation.Start)


async def _check_a_message_of_another_workspace(rig: WindowRig, lexer: str) -> None:
    picker = await search(rig, "lexer loops", "The LEXER loops at the end of a file")
    assert lines(picker)[0].startswith("[The LEXER loops")
    found = choose(picker, "message")
    hit = found.hit
    assert [hit.excerpt[start:end] for start, end in found.marks] == ["LEXER", "loops"]
    QTest.keyClick(picker.search, Qt.Key.Key_Return)
    assert not picker.isVisible()
    await until(lambda: rig.wiring.session.workspace_id == lexer, "the other workspace")
    await until(lambda: rig.wiring.session.id == hit.session, "its session")
    await until(rig.chat.find_bar.isVisible, "the word marked")
    assert rig.window.page() == "chat"


async def _check_an_output_and_the_filters(rig: WindowRig) -> None:
    picker = await search(rig, "end", "Why does the gauge say 61 % at the end?")
    assert sum(line.startswith("[") for line in lines(picker)) == 2
    find_button(picker, "search_here").click()
    await until(lambda: sum(line.startswith("[") for line in lines(picker)) == 1, "this workspace alone")
    find_button(picker, "search_here").click()
    await until(lambda: sum(line.startswith("[") for line in lines(picker)) == 2, "all workspaces")
    picker.search.setText("lexer")
    find_button(picker, "search_kind-file").click()
    await until(lambda: lines(picker)[1:] == ["src/lexer.py"], "the file alone")
    find_button(picker, "search_kind-output").click()
    await until(lambda: lines(picker)[1:] == ["while lexer.pos:"], "the output alone")
    row = choose(picker, "output").hit
    QTest.keyClick(picker.search, Qt.Key.Key_Return)
    await until(lambda: rig.window.page() == "outputs", "the outputs")
    await until(lambda: rig.window.pages.outputs.get().selected == row.digest, "the entry")


async def _check_what_is_said(rig: WindowRig) -> None:
    picker = rig.window.picker
    rig.window.perform(SearchEverything("xylophone"))
    await until(lambda: shows(picker, "No results. Try fewer words."), "nothing found")
    find_button(picker, "search_days-7").click()
    await until(lambda: shows(picker, "No results with these filters."), "the filters")
    picker.search.setText("")
    await until(lambda: shows(picker, "Type words"), "what to do")
    picker.search.setText("x" * 300)
    await until(lambda: shows(picker, "the limit is 200"), "why it can't be searched")
    QTest.keyClick(picker.search, Qt.Key.Key_Escape)
    assert not picker.isVisible()
    rig.window.perform(SearchEverything())
    assert picker.search.selectedText() == "x" * 300, "the words of the last search"
    rig.window.commands.all_commands.trigger()
    rig.window.perform(SearchEverything())
    assert picker.search.selectedText() == "x" * 300, "also after a look at the commands"


async def _check_more_of_a_session(folder: Path, rig: WindowRig, broken: str) -> None:
    """Beside a workspace that cannot be read, which is named."""
    many = [{"role": "user", "content": f"the tide rises {number}"} for number in range(12)]
    await import_session(rig, folder, "tides", *many)
    await rig.wiring.workspace_controller.close_workspace(broken)
    version = rig.wiring.services.registry.store_folder(broken) / "format"
    version.write_text(version.read_text().replace('"schema":1', '"schema":99'))
    rig.window.commands.search_messages.trigger()
    picker = await search(rig, "tide", "More in this session")
    assert len(lines(picker)) == 7
    await until(lambda: "Can't be searched: lexer" in picker.note.text(), "which one")
    while picker.list_view.currentIndex().data() != "More in this session":
        QTest.keyClick(picker.search, Qt.Key.Key_Down)
    QTest.keyClick(picker.search, Qt.Key.Key_Return)
    await until(lambda: len(lines(picker)) == 13, "all of them")
    assert picker.isVisible()
