"""Ctrl+Shift+F in a window with real workspaces: what is found, and where Enter leads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from helix_desktop.ui.kit.intents import SearchEverything
from helix_desktop.ui.window.search_everything import FoundHit, SearchPanel
from tests.support.window.buttons import find_button
from tests.support.window.window_rig import WindowRig, until

pytestmark = pytest.mark.qt_loop

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


def rows(panel: SearchPanel) -> list[str]:
    """Return what is listed, headings in brackets, without their details."""
    lines = panel.list_view.rows
    return [f"[{line.words.split(',')[0]}]" if line.is_heading else line.words for line in lines]


def choose(panel: SearchPanel, kind: str) -> FoundHit:
    """Move down to the first result of a kind."""
    for _ in panel.list_view.rows:
        line = panel.list_view.current
        if line is not None and isinstance(line.value, FoundHit) and line.value.hit.kind == kind:
            return line.value
        QTest.keyClick(panel.search, Qt.Key.Key_Down)
    raise AssertionError(f"no {kind} in {rows(panel)}")


async def import_session(rig: WindowRig, folder: Path, name: str, *messages: Mapping[str, object]) -> str:
    """Open a workspace with an imported session; return its id."""
    workspace_id = await rig.open_folder(name)
    file = folder / f"{name}.jsonl"
    file.write_text("".join(json.dumps(message) + "\n" for message in messages), encoding="utf-8")
    foreign = rig.wiring.services.foreign_sessions
    done = await foreign.import_into(workspace_id, await foreign.find([file]))
    assert not done.failed
    return workspace_id


async def search(rig: WindowRig, words: str, expected: str) -> SearchPanel:
    """Press the keys, type, and wait until something is listed."""
    panel = rig.window.search_panel.get()
    rig.window.commands.search_messages.trigger()
    QTest.keyClicks(panel.search, words)
    await until(lambda: expected in rows(panel), f"{expected} among {rows(panel)}")
    return panel


async def test_results_open_where_they_stand(tmp_path: Path, rig: WindowRig) -> None:
    lexer = await import_session(rig, tmp_path, "lexer", *LEXER)
    await import_session(rig, tmp_path, "gauge", *GAUGE)
    await _check_a_message_of_another_workspace(rig, lexer)
    await _check_an_output_and_the_filters(rig)
    await _check_what_is_said(rig)
    await _check_more_of_a_session(tmp_path, rig, lexer)


async def _check_a_message_of_another_workspace(rig: WindowRig, lexer: str) -> None:
    panel = await search(rig, "lexer loops", "The LEXER loops at the end of a file")
    assert rows(panel)[0].startswith("[The LEXER loops")
    found = choose(panel, "message")
    hit = found.hit
    assert [hit.excerpt[start:end] for start, end in found.marks] == ["LEXER", "loops"]
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    assert not panel.isVisible()
    await until(lambda: rig.wiring.session.workspace_id == lexer, "the other workspace")
    await until(lambda: rig.wiring.session.id == hit.session, "its session")
    await until(rig.chat.find_bar.isVisible, "the word marked")
    assert rig.window.page() == "chat"


async def _check_an_output_and_the_filters(rig: WindowRig) -> None:
    panel = await search(rig, "end", "Why does the gauge say 61 % at the end?")
    assert sum(line.startswith("[") for line in rows(panel)) == 2
    find_button(panel, "search_here").click()
    await until(lambda: sum(line.startswith("[") for line in rows(panel)) == 1, "this workspace alone")
    find_button(panel, "clear_filters").click()
    await until(lambda: sum(line.startswith("[") for line in rows(panel)) == 2, "all workspaces")
    panel.search.setText("lexer")
    find_button(panel, "search_kind-file").click()
    await until(lambda: rows(panel)[1:] == ["src/lexer.py"], "the file alone")
    find_button(panel, "search_kind-output").click()
    await until(lambda: rows(panel)[1:] == ["while lexer.pos:"], "the output alone")
    row = choose(panel, "output").hit
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    await until(lambda: rig.window.page() == "cache", "the cache")
    await until(lambda: rig.window.pages.outputs.get().selected == row.digest, "the entry")


async def _check_what_is_said(rig: WindowRig) -> None:
    panel = rig.window.search_panel.get()
    find_button(panel, "clear_filters").click()
    rig.window.perform(SearchEverything("xylophone"))
    await until(lambda: panel.empty_text == "No results. Try fewer words.", "nothing found")
    find_button(panel, "search_days-7").click()
    await until(lambda: panel.empty_text == "No results with these filters.", "the filters")
    panel.search.setText("")
    await until(lambda: panel.empty_text.startswith("Type words"), "what to do")
    panel.search.setText("x" * 300)
    await until(lambda: "the limit is 200" in panel.empty_text, "why it can't be searched")
    QTest.keyClick(panel.search, Qt.Key.Key_Escape)
    assert not panel.isVisible()
    rig.window.perform(SearchEverything())
    assert panel.search.selectedText() == "x" * 300, "the words of the last search"


async def _check_more_of_a_session(folder: Path, rig: WindowRig, broken: str) -> None:
    """Beside a workspace that cannot be read, which is named."""
    many = [{"role": "user", "content": f"the tide rises {number}"} for number in range(12)]
    await import_session(rig, folder, "tides", *many)
    await rig.wiring.workspace_controller.close_workspace(broken)
    version = rig.wiring.services.registry.store_folder(broken) / "format"
    version.write_text(version.read_text().replace('"schema":1', '"schema":99'))
    rig.window.commands.search_messages.trigger()
    find_button(rig.window.search_panel.get(), "clear_filters").click()
    rig.window.search_panel.get().search.clear()
    panel = await search(rig, "tide", "More in this session")
    assert len(rows(panel)) == 7
    await until(lambda: "Can't be searched: lexer" in panel.note.text(), "which one")
    while panel.list_view.currentIndex().data() != "More in this session":
        QTest.keyClick(panel.search, Qt.Key.Key_Down)
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    await until(lambda: len(rows(panel)) == 13, "all of them")
    assert panel.isVisible()
