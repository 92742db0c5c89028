"""Cards of calls that changed files: what they say, and the diff that they open onto."""

from __future__ import annotations

from msgspec.structs import replace
from pytestqt.qtbot import QtBot

from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.file_history.changes import FileChange, FileState
from helix_desktop.domain.file_history.diff import diff_contents
from helix_desktop.ui.chat.actions import OpenChanges, ReadContent
from helix_desktop.ui.chat.items.item import RowItem
from helix_desktop.ui.chat.rows.changed_file_rows import ChangedFilesContent, changed_files_content
from helix_desktop.ui.chat.viewport.view import ChatView
from helix_desktop.ui.design.document_units import slice_units
from helix_desktop.ui.kit.intents import Intent
from tests.support.intents import take_intents
from tests.support.window.chat_geometry import row_key, tool_row

CHANGES = ChangesRecorded("c1", "", "command", changed=2, added_lines=90, removed_lines=1, first_path="a.py")
CALL = tool_row("t", "run_command", "make", "ok", "output", changes=CHANGES)
_TEXT = "".join(f"line {number}\n" for number in range(90))
CONTENT = changed_files_content(
    [
        (
            FileChange("a.py", FileState(digest="1"), FileState(digest="2")),
            diff_contents(b"x = 1\nkeep\n", b"x = 2\t# \xff\nkeep\n"),
        ),
        (FileChange("b.txt", None, FileState(digest="3")), diff_contents(None, _TEXT.encode())),
    ],
    2,
)


def shown_card(view: ChatView) -> RowItem:
    return view.chat_viewport.item(0)


def press_for(view: ChatView, name: str) -> list[Intent]:
    """Press a place of the shown_card; return what the session is to do."""
    actions: list[Intent] = []
    take_intents(view, actions.append)
    view.chat_viewport.widget_pool.visible[row_key("t")].trigger(name)
    return actions


def card_words(view: ChatView) -> str:
    return "\n".join(text.text() for text in shown_card(view).texts)


def test_a_card_reads_what_its_call_changed_when_it_is_opened(view: ChatView) -> None:
    view.chat_viewport.model.reset([CALL])
    assert "Changed: 2 files, +90 \N{MINUS SIGN}1" in shown_card(view).accessible_text()
    assert press_for(view, "open:changes") == [ReadContent(CALL.key, "changes")]
    view.chat_viewport.model.replace(CALL.key, replace(CALL, changed_files=CONTENT))
    assert card_words(view).startswith("- x = 1\n+ x = 2   # \\xff\n  keep\n+ line 0\n")
    assert "output" not in card_words(view)


def test_a_card_says_quietly_that_its_changes_are_reverted(view: ChatView) -> None:
    view.chat_viewport.model.reset([replace(CALL, is_reverted=True)])
    area = shown_card(view).hit_area("open:changes")
    assert area is not None
    assert area.tip == "Changed: 2 files, +90 \N{MINUS SIGN}1 · Reverted"
    wide = area.rect.width()
    view.chat_viewport.model.reset([CALL])
    area = shown_card(view).hit_area("open:changes")
    assert area is not None
    assert area.rect.width() < wide


def test_words_behind_an_emoji_have_their_colors(view: ChatView) -> None:
    change = FileChange("a.py", None, FileState(digest="1"))
    content = changed_files_content([(change, diff_contents(None, 'x = "😀😀" + 1\n'.encode()))], 1)
    view.chat_viewport.model.reset([replace(CALL, changed_files=content)])
    press_for(view, "open:changes")
    (text,) = [text for text in shown_card(view).texts if "😀" in text.text()]
    formats = text.document.firstBlock().layout().formats()
    assert [slice_units(text.text(), part.start, part.start + part.length) for part in formats[-1:]] == ["1"]


def test_a_long_diff_is_folded_until_all_of_it_is_asked_for(view: ChatView) -> None:
    view.chat_viewport.model.reset([replace(CALL, changed_files=CONTENT)])
    assert not press_for(view, "open:changes")
    assert card_words(view).count("\n") + 1 == 40
    press_for(view, "whole:changes")
    assert card_words(view).endswith("+ line 89")


def test_a_card_leads_to_changes(view: ChatView) -> None:
    view.chat_viewport.model.reset([replace(CALL, changed_files=CONTENT)])
    press_for(view, "open:changes")
    assert press_for(view, "changes:open") == [OpenChanges("c1")]
    assert press_for(view, "file:1") == [OpenChanges("c1", "b.txt")]


def test_a_card_says_why_it_has_no_diff(view: ChatView) -> None:
    content = ChangedFilesContent(problem="These changes aren't in the file history.")
    view.chat_viewport.model.reset([replace(CALL, changed_files=content)])
    press_for(view, "open:changes")
    assert content.problem in shown_card(view).accessible_text()


def test_words_are_found_in_changes_that_were_read(view: ChatView, qtbot: QtBot) -> None:
    view.chat_viewport.model.reset([replace(CALL, changed_files=CONTENT)])
    with qtbot.waitSignal(view.finder.finished) as done:
        view.find_text("LINE 88")
    assert done.args == [True]
    assert card_words(view).endswith("+ line 88\n+ line 89\noutput")


def test_what_does_not_fit_into_a_card_is_left_to_changes() -> None:
    diff = diff_contents(None, b"a\n" * 3_000)
    change = FileChange("a.txt", None, FileState(digest="1"))
    content = changed_files_content([(change, diff)], 4)
    assert (content.lines, content.hidden_files, content.is_cut) == (600, 3, True)
    assert content.files[0].note == "created"
