"""The diff of an approval: as the cards of calls show one, without a line less."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from helix_desktop.domain.tools import ApprovalKind
from helix_desktop.tools.files.edit import unified_diff
from helix_desktop.ui.chat.rows.changed_files import patch_files
from helix_desktop.ui.chat.rows.row_types import ChatModel
from helix_desktop.ui.chat.viewport.view import ChatView
from helix_desktop.ui.design.style.theme import LIGHT
from tests.support.window.chat_geometry import approval_row, click_area, questions_and_answers, row_widget

_LINES = [f"line {number}\n" for number in range(40)]
_OLD = "".join(_LINES).encode()
_CHANGED = "".join(["first\n", *_LINES[1:20], "-- a/b\n", *_LINES[21:]]).encode()
_EDIT = unified_diff("src/a.py", _OLD, _CHANGED)
_BACK = unified_diff("src/a.py", _CHANGED, _OLD)
_NEW = unified_diff("b.txt", None, b"one\n\ntwo")


def test_a_diff_is_read_as_its_files_lines_and_numbers() -> None:
    edited, created = patch_files(_EDIT + _NEW)
    assert (edited.path, edited.note, edited.added, edited.removed) == ("src/a.py", "", 2, 2)
    changed = [(line.role, line.text, line.number) for line in edited.lines if line.role != "same"]
    assert changed == [
        ("removed", "- line 0", 1), ("added", "+ first", 1), ("gap", "⋯", 0),
        ("removed", "- line 20", 21), ("added", "+ -- a/b", 21),
    ]  # fmt: skip
    assert (created.path, created.note) == ("b.txt", "new file")
    assert [line.text for line in created.lines] == ["+ one", "+ ", "+ two  (no line end)"]
    assert "- -- a/b" in [line.text for line in patch_files(_BACK)[0].lines], "a head in looks only"


@pytest.mark.parametrize(
    "text",
    [
        "make test",
        "(no change)\n",
        unified_diff("empty.py", None, b""),
        unified_diff("big.bin", b"\0", b"\0\0"),
        unified_diff("long.txt", None, b"x\n" * 1_600),
        unified_diff("one.txt", None, b"x" * 2_100),
        _EDIT + "one more line",
        _EDIT.replace("--- a/src/a.py", "--- a/src/another.py"),
        _EDIT.rpartition("\n ")[0],
    ],
)
def test_a_text_that_is_no_whole_diff_is_shown_word_for_word(text: str) -> None:
    assert patch_files(text) == ()


def test_a_command_in_the_form_of_a_diff_is_shown_word_for_word(qtbot: QtBot) -> None:
    """A shell runs its heads, too."""
    view = ChatView(ChatModel(), LIGHT)
    qtbot.addWidget(view)
    command = "--- a/x; rm -r src\n+++ b/x; rm -r src\n@@ -1 +1 @@\n one"
    view.chat_viewport.model.reset([approval_row("c", "run_command", "Run a command", command, "command")])
    assert command in [text.text() for text in view.chat_viewport.item(0).texts]
    view.highlighter.finish()


def test_an_approval_shows_the_lines_of_a_diff_without_its_heads(qtbot: QtBot) -> None:
    view = ChatView(ChatModel(), LIGHT)
    qtbot.addWidget(view)
    view.resize(800, 600)
    with qtbot.waitExposed(view):
        view.show()
    long = unified_diff("c.txt", None, b"\xe2\x80\xaex\n" * 70)
    rows = [
        approval_row(detail, "edit_file", "Edit a file", detail, "edit")
        for detail in (_EDIT, long, "--- a plan")
    ]
    view.chat_viewport.model.reset(rows)
    edit, cut, plain = ([text.text() for text in view.chat_viewport.item(n).texts] for n in range(3))
    assert edit[1].startswith("- line 0\n+ first\n  line 1")
    assert cut[1] == "\n".join(["+ \\u202ex"] * 12)
    more = view.chat_viewport.item(1).hit_area("open:detail")
    assert more is not None
    assert more.label == "Show 58 more lines"
    assert plain[1] == "--- a plan"
    view.highlighter.finish()


def test_an_edit_of_several_files_names_each_above_the_lines(qtbot: QtBot) -> None:
    view = ChatView(ChatModel(), LIGHT)
    qtbot.addWidget(view)
    long = unified_diff("c.txt", None, b"x\n" * 70)
    row = approval_row("c", "multi_edit", "Edit 2 files", long + _EDIT, "edit")
    view.chat_viewport.model.reset([row])
    texts = [text.text() for text in view.chat_viewport.item(0).texts]
    assert texts[1] == "c.txt · new file · +70 \N{MINUS SIGN}0\nsrc/a.py · +2 \N{MINUS SIGN}2"
    view.highlighter.finish()


@pytest.mark.parametrize("size", [(640, 470), (1100, 720)])
@pytest.mark.parametrize("kind", ["edit", "command", "one line"])
def test_the_answers_are_visible_with_the_card(qtbot: QtBot, size: tuple[int, int], kind: str) -> None:
    """Long content is shortened above them; a command keeps its end, and a click shows all of it."""
    view = ChatView(ChatModel(), LIGHT)
    qtbot.addWidget(view)
    view.resize(*size)
    with qtbot.waitExposed(view):
        view.show()
    if kind == "edit":
        detail = unified_diff("c.txt", None, b"x\n" * 200)
    else:
        detail = ("\n" if kind == "command" else "; ").join(f"echo {n}" for n in range(500))
    row_kind: ApprovalKind = "edit" if kind == "edit" else "command"
    row = approval_row("c", "run_command", "Do it", detail, row_kind)
    viewport = view.chat_viewport
    viewport.model.reset(questions_and_answers(5))
    viewport.model.put(row)
    viewport.show_ask(len(viewport.model) - 1)
    widget = row_widget(view, "c")
    assert widget.item is not None
    top = widget.y()
    for name in ("decide:once", "decide:deny"):
        area = widget.item.hit_area(name)
        assert area is not None
        assert top >= 0, "its head is in sight"
        assert top + area.rect.bottom() < view.viewport().height(), "its answers are in sight"
    if kind != "edit":
        assert any("echo 499" in text.text() for text in widget.item.texts), "what it ends with"
    more = widget.item.hit_area("open:detail")
    assert more is not None
    click_area(view, row.key, "open:detail")
    shown = "\n".join(text.text() for text in viewport.item(len(viewport.model) - 1).texts)
    assert shown.count("echo" if kind != "edit" else "+ x") == (500 if kind != "edit" else 200)
    view.highlighter.finish()
