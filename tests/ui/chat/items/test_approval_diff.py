"""The diff of an approval: as the cards of calls show one, without a line less."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtGui import QFontMetricsF
from pytestqt.qtbot import QtBot

from helix_desktop.domain.file_history.diff import MAX_TEXT_BYTES
from helix_desktop.domain.tools import EditedFile, PermissionRule
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.tools.files.edit import diff_to_approve
from helix_desktop.ui.chat.actions import Decide
from helix_desktop.ui.chat.rows.changed_file_rows import edited_file_lines
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, ChatModel
from helix_desktop.ui.chat.viewport.interactions import SETTLE_S
from helix_desktop.ui.chat.viewport.view import ChatView
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.diff.view import DiffsDialog
from helix_desktop.ui.design.style.fonts import ui_font
from helix_desktop.ui.design.style.theme import LIGHT
from helix_desktop.ui.design.viewer.content_viewer import TextsDialog
from tests.support.intents import intents_of, performed
from tests.support.window.buttons import find_child
from tests.support.window.chat_geometry import (
    approval_row,
    click_area,
    questions_and_answers,
    row_key,
    row_widget,
)
from tests.support.window.outputs_page import wait_until

_LINES = [f"line {number}\n" for number in range(40)]
_OLD = "".join(_LINES).encode()
_CHANGED = "".join(["first\n", *_LINES[1:20], "-- a/b\n", *_LINES[21:]]).encode()
_EDIT = EditedFile("src/a.py", diff_to_approve(_OLD, _CHANGED))
_NEW = EditedFile("b.txt", diff_to_approve(None, b"one\n\ntwo"))


def _edit(name: str, *edits: EditedFile) -> ApprovalRow:
    return approval_row(name, "multi_edit", "Edit files", "", "edit", edits=edits)


def _write(before: bytes | None, after: bytes, path: str = "c.txt") -> EditedFile:
    return EditedFile(path, diff_to_approve(before, after))


def test_an_edit_has_its_files_lines_and_numbers() -> None:
    edited, created = (edited_file_lines(file, 100) for file in (_EDIT, _NEW))
    assert (edited.path, edited.note, edited.added, edited.removed) == ("src/a.py", "", 2, 2)
    changed = [(line.role, line.text, line.number) for line in edited.lines if line.role != "same"]
    assert changed == [
        ("removed", "- line 0", 1), ("added", "+ first", 1), ("gap", "⋯", 0),
        ("removed", "- line 20", 21), ("added", "+ -- a/b", 21),
    ]  # fmt: skip
    assert (created.path, created.note) == ("b.txt", "new file")
    assert [line.text for line in created.lines] == ["+ one", "+ ", "+ two   no newline at end of file"]


@pytest.mark.parametrize(
    ("before", "after", "note"),
    [
        (b"a\n", b"a\n", "No changes."),
        (None, b"", "Empty file created."),
        (None, b"\0" * 9, "Binary file. · After: 9 B, SHA-256"),
        (b"GIF89a\0", b"GIF89a\0\0", "Binary file. · Before: 7 B, SHA-256"),
    ],
)
def test_what_has_no_lines_says_what_it_is(before: bytes | None, after: bytes, note: str) -> None:
    assert edited_file_lines(_write(before, after), 12).note.startswith(note)


def test_a_few_control_characters_hide_no_change() -> None:
    """A NUL in a text was taken for a binary file, of which only the sizes were shown."""
    old = b"key = 1\nother = 2\n"
    new = b"key = 1\nother = '\0\x1b[2K'\n"
    lines = [line.text for line in edited_file_lines(_write(old, new), 12).lines]
    assert lines == ["  key = 1", "- other = 2", "+ other = '\\u0000\\u001b[2K'"]


def test_the_lines_that_replace_a_binary_file_are_shown() -> None:
    shown = edited_file_lines(_write(b"\x89PNG\0\0\xff", b"echo 1\n"), 12)
    assert [line.text for line in shown.lines] == ["+ echo 1"]
    assert shown.note.startswith("replaces a file that can't be compared: 7 B")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, b"x\n" * 4_000),
        (b"a\n" * 4_000, b"b\n" * 4_000),
        (None, b"x" * 2_100),
        (None, "\N{CJK UNIFIED IDEOGRAPH-4E2D}".encode() * 5_000),
    ],
)
def test_all_lines_of_a_long_edit_are_one_click_away(
    view: ChatView, before: bytes | None, after: bytes
) -> None:
    """At most 1,500 lines of a change could be read before it was allowed."""
    view.resize(900, 600)
    row = _edit("c", _write(before, after))
    view.chat_viewport.model.reset([row])
    click_area(view, row.key, "open:detail")
    dialog = view.findChild(DiffsDialog)
    assert dialog is not None
    rows = dialog.view.text.rows
    shown = [rows.row(at) for at in range(len(rows))]
    written = "".join(row.line.full_text for row in shown if row is not None and row.right is not None)
    assert written.encode() == after
    bar = dialog.view.text.horizontalScrollBar()
    room = dialog.view.text.viewport().width()
    line = QFontMetricsF(ui_font(12, is_code=True)).horizontalAdvance(after.decode().partition("\n")[0])
    assert line <= bar.maximum() + room, "its end can be scrolled to"
    view.chat_viewport.model.remove(row.key)
    assert not dialog.isVisible(), "it was answered meanwhile"


def test_an_approval_shows_the_lines_of_a_diff_without_its_heads(view: ChatView) -> None:
    view.resize(800, 600)
    long = _write(None, b"\xe2\x80\xaex\n" * 70)
    longer = _write(None, b"x\n" * 13)
    view.chat_viewport.model.reset([_edit("edit", _EDIT), _edit("long", long), _edit("longer", longer)])
    edit, cut = ([text.text() for text in view.chat_viewport.item(n).texts] for n in range(2))
    assert edit[1].startswith("- line 0\n+ first\n  line 1")
    assert cut[1] == "\n".join(["+ \\u202ex"] * 12)
    more = view.chat_viewport.item(1).hit_area("open:detail")
    assert more is not None
    assert more.label == "Show 58 more lines"
    assert view.chat_viewport.item(2).hit_area("open:detail") is None, "no button for one line"


def test_an_edit_of_several_files_names_each_above_the_lines(view: ChatView) -> None:
    view.chat_viewport.model.reset([_edit("c", _write(None, b"x\n" * 70), _EDIT)])
    texts = [text.text() for text in view.chat_viewport.item(0).texts]
    assert texts[1] == "c.txt · new file · +70 \N{MINUS SIGN}0\nsrc/a.py · +2 \N{MINUS SIGN}2"


def test_what_more_offers_comes_into_sight_with_its_card(view: ChatView) -> None:
    """It unfolded below the message field, as if nothing had happened."""
    view.resize(800, 500)
    rule = PermissionRule("run_command", "make")
    row = approval_row("c", "run_command", "Do it", "make", "command", suggested_rules=(rule,))
    viewport = view.chat_viewport
    viewport.model.reset(questions_and_answers(5))
    viewport.model.put(row)
    viewport.show_ask(len(viewport.model) - 1)
    click_area(view, row.key, "open:more")
    widget = row_widget(view, "c")
    assert widget.item is not None
    area = widget.item.hit_area("menu:rules")
    assert area is not None
    assert widget.y() + area.rect.bottom() < view.viewport().height()


@pytest.mark.parametrize("size", [(640, 470), (1100, 720)])
@pytest.mark.parametrize("kind", ["edit", "command", "one line"])
def test_the_answers_are_visible_with_the_card(view: ChatView, size: tuple[int, int], kind: str) -> None:
    """Long content is shortened above them; a command keeps its end, and a click shows all of it."""
    view.resize(*size)
    if kind == "edit":
        row = _edit("c", _write(None, b"x\n" * 90))
    else:
        separator = "\n" if kind == "command" else "; "
        detail = separator.join(f"echo {n}" for n in range(500))
        row = approval_row("c", "run_command", "Do it", detail, "command")
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
    dialogs = view.findChildren(DiffsDialog) + view.findChildren(TextsDialog)
    assert [dialog.isVisible() for dialog in dialogs] == [True], "the card has no room for both"
    assert all(find_child(dialogs[0], PushButton, f"decide:{answer}") for answer in ("once", "deny"))
    item = viewport.item(len(viewport.model) - 1)
    assert item.height < view.viewport().height(), "the card stays as it was"


def _command(lines: int) -> ApprovalRow:
    detail = "\n".join(f"echo {number}" for number in range(lines))
    return approval_row("c", "run_command", "Do it", detail, "command")


def test_what_a_long_command_hides_is_met_before_allow(view: ChatView) -> None:
    """A button stands where lines are left out, and is where the keyboard comes in."""
    view.resize(900, 1_200)
    view.chat_viewport.model.reset([_command(40)])
    item = view.chat_viewport.item(0)
    areas = {area.name: area for area in item.hit_areas}
    first, last = (text for text in item.texts if "echo" in text.text())
    more = areas["open:detail"]
    assert more.label == "Show 28 more lines"
    assert first.y + first.height <= more.rect.top()
    assert more.rect.bottom() <= last.y
    assert list(areas).index("open:detail") < list(areas).index("decide:once")
    assert item.backward_entry == "open:detail"
    click_area(view, row_key("c"), "open:detail")
    item = view.chat_viewport.item(0)
    assert any(text.text().count("\n") == 39 for text in item.texts)
    assert item.backward_entry == "decide:once"


def test_a_command_that_is_too_long_for_its_card_is_in_a_window_with_its_answers(
    view: ChatView, seconds: list[float]
) -> None:
    """It takes an answer only once it has stood for a moment: a double click opens and answers nothing."""
    row = _command(9_000)
    view.chat_viewport.model.reset([row])
    view.show_answer_tips(frozenset({("once", "Ctrl+Shift+Y"), ("deny", "Ctrl+Shift+N")}))
    seconds[0] += 60
    click_area(view, row.key, "open:detail")
    dialog = view.findChild(TextsDialog)
    assert dialog is not None
    assert dialog.viewer.text.content.data.decode() == row.detail
    allow, deny = (find_child(dialog, PushButton, f"decide:{answer}") for answer in ("once", "deny"))
    assert (allow.shortcut().toString(), deny.shortcut().toString()) == ("Ctrl+Shift+Y", "Ctrl+Shift+N")
    assert intents_of(view, allow.click) == []
    seconds[0] += 2 * SETTLE_S
    with performed(view) as intents:
        deny.click()
        allow.click()
    assert intents == [Decide("c", "deny"), Decide("c", "once")]
    view.chat_viewport.model.remove(row.key)
    assert not dialog.isVisible()


@pytest.mark.qt_loop
async def test_a_text_that_is_too_large_to_compare_can_be_read_before_it_is_written(
    qtbot: QtBot, scope: TaskScope
) -> None:
    """Only sizes were shown of it; hidden characters are codes here, too."""
    view = ChatView(ChatModel(), LIGHT)
    qtbot.addWidget(view)
    view.show()
    view.resize(900, 600)
    lines = ["\u202e first\n", *["of what would be written" * 20 + "\n"] * 36_000, "\u202e last\n"]
    after = "".join(lines).encode()
    assert len(after) > MAX_TEXT_BYTES
    row = _edit("c", _write(b"old\n", after))
    note = edited_file_lines(row.request.edits[0], 12).note
    assert note.startswith("Over 16 MB, so lines aren't compared. · 1")
    view.start = scope.start
    view.chat_viewport.model.reset([row])
    more = view.chat_viewport.item(0).hit_area("open:detail")
    assert more is not None
    assert more.label == "Show all that would be written"
    click_area(view, row.key, "open:detail")
    dialog = view.findChild(DiffsDialog)
    assert dialog is not None
    content = dialog.viewer.text.content
    assert not content.data, "it is read in a thread"
    await wait_until(lambda: dialog.viewer.text.content.row_count == len(lines))
    content = dialog.viewer.text.content
    assert (content.row(0).text, content.row(len(lines) - 1).text) == ("\\u202e first", "\\u202e last")
    dialog.reject()
    view.highlighter.finish()


@pytest.fixture
def seconds() -> list[float]:
    return [1_000.0]


@pytest.fixture
def clock(seconds: list[float]) -> Callable[[], float]:
    """Return the clock of `view`, which the test moves on."""
    return lambda: seconds[0]
