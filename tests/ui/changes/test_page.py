"""The page of changes: what it lists, how it is filtered, folded and used by keyboard; moved files."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel
from pytestqt.qtbot import QtBot

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.file_history.changes import (
    FileChange,
    FileCoverage,
    FileState,
    FileSummary,
    RecordedChanges,
    RevertScope,
    SessionChanges,
)
from helix_desktop.domain.file_history.diff import diff_contents
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.changes.change_groups import (
    ChangeGroup,
    ChangesState,
    FileRow,
    LineCounts,
    changes_total_text,
    file_of,
    group_changes,
    net_rows,
)
from helix_desktop.ui.changes.change_list import CopyPatch, RedoChanges
from helix_desktop.ui.changes.page import ChangesPage
from helix_desktop.ui.chat.actions import PutAutoRun
from helix_desktop.ui.chat.composer.editor import files_from_mime
from helix_desktop.ui.design.cards import Pill
from helix_desktop.ui.design.diff.canvas import HunkHead
from helix_desktop.ui.design.drops import DragContent, read_drag
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.design.minute_clock import MinuteClock
from tests.support.galleries import changes_samples as samples
from tests.support.galleries.panes_samples import NOW_MS
from tests.support.intents import performed
from tests.support.window.buttons import find_button, find_child


@pytest.fixture
def page(qtbot: QtBot) -> ChangesPage:
    """The page on screen, with two turns."""
    page = ChangesPage(clock=lambda: NOW_MS)
    qtbot.addWidget(page)
    page.resize(826, 700)
    page.show()
    page.set_state(samples.changes_state())
    return page


def listed(page: ChangesPage) -> list[str]:
    """What stands in the list, from top to bottom."""
    model = page.list.model()
    return [str(model.index(row, 0).data()) for row in range(model.rowCount())]


def test_steps_that_the_file_history_does_not_have_are_said_to_be_missing(page: ChangesPage) -> None:
    """As of an imported session: no empty turns; one among others can't be accepted or reverted."""
    first, *others = samples.session_changes().captures
    removed = replace(first, changes=(), is_removed=True)
    page.set_state(ChangesState(group_changes(samples.session_changes([removed])), samples.COVERAGE))
    assert not page.list.isVisible()
    assert page.empty.sentence.text().startswith("1 step of this session changed files. The file history")
    others = [capture for capture in others if capture.turn != first.turn]
    grouped = group_changes(samples.session_changes([removed, *others]))
    page.set_state(ChangesState(grouped, samples.COVERAGE))
    group = next(group for group in grouped.by_turn if not group.rows)
    assert group.files_text == "not in the file history"
    page.select(group.key)
    for button in (page.detail.accept, page.detail.revert, page.detail.patch):
        assert not button.isVisible()


def test_what_was_undone_after_commands_is_listed_and_can_be_restored(page: ChangesPage) -> None:
    assert not page.undone.isVisible(), "nothing was"
    state = replace(samples.changes_state(), undone=samples.UNDONE)
    page.set_state(state)
    assert page.undone.heading.text == "3 files undone after commands"
    lines = [line.text for line in page.undone.rows.findChildren(TextLine)]
    assert lines[:2] == [".envrc", "sets the environment of every shell in the folder"], "the newest first"
    assert lines[3].startswith("core.fsmonitor = ./tools/watch --all; include.path"), "why"
    with performed(page) as intents:
        find_button(page.undone, "restore:vendor/widget/.git/config").click()
    assert intents == [PutAutoRun((samples.UNDONE[1].change_id,), restore=True)]
    rest = page.undone.rows.height()
    page.undone.fold.click()
    assert not page.undone.rows.isVisible()
    page.undone.fold.click()
    assert page.undone.rows.height() == rest
    page.set_state(replace(state, undone=samples.UNDONE * 20))
    QTest.qWait(0)
    assert page.undone.rows.height() < page.height() / 3, "they scroll"
    page.set_state(
        replace(state, undone=(), undone_error=InvalidInput(TextContext("Tools")("It can't be read.")))
    )
    assert page.undone.heading.text == "Undone after commands"
    assert "It can't be read." in [part.text() for part in page.undone.rows.findChildren(QLabel)]
    page.set_state(samples.changes_state())
    assert not page.undone.isVisible()


def test_the_diff_is_below_the_list_only_where_it_has_more_room_there(page: ChangesPage) -> None:
    across = Qt.Orientation.Horizontal
    below = Qt.Orientation.Vertical
    for width, height, expected in (
        (826, 700, across),
        (640, 700, below),
        (640, 420, across),
        (500, 420, below),
    ):
        page.resize(width, height)
        assert page.splitter.orientation() == expected


def test_a_dragged_file_is_a_mention_for_a_message_and_a_file_for_others(
    page: ChangesPage, tmp_path: Path
) -> None:
    """One that is gone is a mention alone."""
    page.list.folder = tmp_path
    files = {file.path: file for row in page.list.rows if (file := file_of(row)) is not None}
    first, second = list(files)[:2]
    (tmp_path / first).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / first).write_text("there")
    data = page.list.drag_data([files[first], files[second]])
    assert data.text() == f"@{first} @{second} "
    assert [url.toLocalFile() for url in data.urls()] == [str(tmp_path / first)]
    assert read_drag(data) == DragContent(has_text=True)
    assert files_from_mime(data) == []


def press(page: ChangesPage, name: str) -> None:
    button = find_child(page, QAbstractButton, name)
    button.click()


def test_turns_stand_newest_first_with_their_files_in_order(page: ChangesPage) -> None:
    rows = listed(page)
    assert rows[:2] == ["You: Revert", "tests/ui/chat/test_stream.py"]
    assert rows[2:4] == ["Move the parser into its own module, and delete the old one", "README.md"]
    assert rows.index("Re-render only what changed while the answer streams in") == 9
    assert rows[-1] == "build/cache.bin"


def test_a_revert_is_said_once_in_its_rows_and_dated_in_what_it_took_back(page: ChangesPage) -> None:
    """Its files say what became of them: that they are of the revert, the heading says."""
    grouped = page.state.grouped
    assert grouped is not None
    revert = next(group for group in grouped.by_turn if group.is_revert)
    (row,) = revert.rows
    taken_back = [
        row for group in grouped.by_turn for row in group.rows if row.last.capture_id in revert.first.reverts
    ]
    assert [one.note(NOW_MS).partition(" · ")[0] for one in taken_back] == ["Reverted"]
    assert [one.reverted_ms for one in taken_back] == [revert.first.at_ms]
    assert (row.made_text, row.note(NOW_MS).partition(" · ")[0]) == ("deleted", "deleted")
    assert replace(row, kind="changed").made_text == "restored"


def test_a_double_click_on_revert_does_not_redo(page: ChangesPage) -> None:
    """Redo comes there with the first click."""
    with performed(page) as intents:
        for act in (QTest.mouseClick, QTest.mouseDClick, QTest.mouseRelease):
            act(page.detail.revert, Qt.MouseButton.LeftButton)
    assert len(intents) == 1


def test_by_file_each_file_is_listed_once_and_unfolds_to_its_steps(page: ChangesPage) -> None:
    press(page, "group-by-file")
    assert listed(page) == sorted(set(listed(page)))
    page.select("file:src/helix/ui/chat/stream.py")
    QTest.keyClick(page.list, Qt.Key.Key_Right)
    rows = listed(page)
    at = rows.index("src/helix/ui/chat/stream.py")
    assert rows[at + 1 : at + 3] == [
        "Edited",
        "During “make fmt && pytest -q tests/ui/chat” and 1 other call",
    ]
    QTest.keyClick(page.list, Qt.Key.Key_Down)
    QTest.keyClick(page.list, Qt.Key.Key_Left)  # to the file
    QTest.keyClick(page.list, Qt.Key.Key_Left)  # and fold it
    assert "Edited" not in listed(page)


def test_a_filter_takes_words_of_the_path_and_who_made_the_change(page: ChangesPage, qtbot: QtBot) -> None:
    page.filter_bar.field.setText("stream chat")
    qtbot.waitUntil(lambda: "README.md" not in listed(page))
    page.filter_bar.field.setText("stream chat revert")
    qtbot.waitUntil(lambda: [row for row in listed(page) if "/" in row] == ["tests/ui/chat/test_stream.py"])
    page.filter_bar.field.setText("nothing of this name")
    qtbot.waitUntil(lambda: not listed(page))
    page.filter_bar.field.setFocus()
    QTest.keyClick(page.filter_bar.field, Qt.Key.Key_Down)
    press(page, "empty_action") if page.no_match.button.isHidden() else page.no_match.button.click()
    assert len(listed(page)) > 10
    assert page.filter_bar.field.hasFocus(), "what is typed next is no key of the list"
    QTest.keyClick(page.filter_bar.field, Qt.Key.Key_Down)
    assert page.list.hasFocus()


def test_a_screen_reader_hears_what_happened_to_a_file(page: ChangesPage) -> None:
    page.show_counts(samples.line_counts(samples.changes_state()))
    model = page.list.model()
    role = Qt.ItemDataRole.AccessibleTextRole
    texts = {str(model.index(row, 0).data(role)) for row in range(model.rowCount())}
    assert "README.md, changed, 4 lines added, 3 lines removed, You or another program" in texts
    assert "tests/ui/chat/test_stream.py, created, 48 lines added, Wrote, Reverted" in texts
    assert any(text.startswith("build/cache.bin") and text.endswith("can't be undone") for text in texts)


def test_edits_of_one_turn_that_read_the_same_say_where_they_are(page: ChangesPage) -> None:
    """By their lines; where these are the same, too, by what they hold."""
    texts = [f"one\ntwo\n{third}\nfour\n{fifth}\n".encode() for third, fifth in (
        ("three", "five"), ("3", "five"), ("drei", "five"), ("drei", "5"), ("drei", "5\n6")
    )]  # fmt: skip
    edit = samples.CAPTURES[0]
    captures = [
        replace(
            edit,
            capture_id=f"e{number}",
            changes=(samples.change("list.py", *pair),),
            added_lines=1,
            removed_lines=int(number < 3),
        )
        for number, pair in enumerate(pairwise(texts))
    ]
    page.set_state(ChangesState(group_changes(samples.session_changes(captures)), samples.COVERAGE))
    model = page.list.model()
    role = Qt.ItemDataRole.AccessibleTextRole

    def made() -> list[str]:
        spoken = [str(model.index(row, 0).data(role)) for row in range(model.rowCount())]
        return [text.partition("Edited")[2] for text in spoken if text.startswith(("list.py", "Edited"))]

    assert made() == [""] * 4, "no diff is read"
    page.show_counts(
        {
            file.contents: LineCounts.of(diff_contents(*pair))
            for file, pair in zip(page.list.visible_files(), pairwise(texts), strict=True)
        }
    )
    assert made() == [", “3”", ", “drei”", ", line 5", ""]
    press(page, "group-by-file")
    QTest.keyClick(page.list, Qt.Key.Key_Right)
    assert [text.rpartition(", ")[2] for text in made()[-4:]] == ["“3”", "“drei”", "line 5", "1 line added"]


def test_the_total_is_of_files_as_they_are_now_and_adds_up_with_their_rows(page: ChangesPage) -> None:
    counter = page.filter_bar.counter
    assert counter.text == "8 of 10 files changed", "nothing is counted yet"
    page.show_counts(samples.line_counts(samples.changes_state()))
    press(page, "group-by-file")
    grouped = page.state.grouped
    assert grouped is not None
    counts = [page.counts_of(group.head) for group in grouped.by_file if group.head is not None]
    assert None not in counts
    added, removed = (sum(column) for column in zip(*(lines[:2] for lines in counts if lines), strict=True))
    assert added > removed > 0
    assert counter.text == f"8 of 10 files changed · +{added} \N{MINUS SIGN}{removed}"


def test_a_session_whose_files_are_all_back_says_so(page: ChangesPage) -> None:
    there_and_back = [
        replace(samples.CAPTURES[0], changes=(samples.change("a.py"),)),
        replace(samples.CAPTURES[1], changes=(samples.change("a.py", samples.AFTER, samples.BEFORE),)),
    ]
    grouped = group_changes(samples.session_changes(there_and_back))
    page.set_state(replace(samples.changes_state(), grouped=grouped))
    assert page.filter_bar.counter.text == "1 file as before"
    assert "before this session changed it" in page.filter_bar.counter.toolTip()


def test_a_turn_shows_what_its_files_gained_and_lost_once_all_are_counted(page: ChangesPage) -> None:
    plus, minus = page.detail.lines_of_turn
    page.list.select("turn:1")
    assert not plus.text
    turn = page.entry
    assert isinstance(turn, ChangeGroup)
    page.show_counts({row.contents: LineCounts(2, 1) for row in net_rows(turn.rows)})
    assert len(net_rows(turn.rows)) < len(turn.rows), "one file was changed twice"
    lines = [page.counts_of(row) or LineCounts(0, 0) for row in net_rows(turn.rows)]
    assert (plus.text, minus.text) == (
        f"+{sum(counts.added for counts in lines)}",
        f"\N{MINUS SIGN}{sum(counts.removed for counts in lines)}",
    )


def test_a_change_that_was_found_after_a_crash_says_when_it_was_found(page: ChangesPage) -> None:
    found = replace(samples.CAPTURES[0], is_after_crash=True)
    grouped = group_changes(samples.session_changes([found]))
    page.set_state(replace(samples.changes_state(), grouped=grouped))
    page.list.select(f"step:{found.capture_id}:{found.changes[0].path}")
    notes = [line.text for line in page.detail.findChildren(TextLine)]
    assert any(text.startswith("Edited · found 45 min ago") for text in notes)
    assert "found at the next start" in str(page.list.currentIndex().data(Qt.ItemDataRole.ToolTipRole))


def test_list_and_heading_of_a_change_say_the_same_age_as_time_goes_by(qtbot: QtBot) -> None:
    now = [NOW_MS]
    page = ChangesPage(clock=lambda: now[0])
    qtbot.addWidget(page)
    page.resize(826, 700)
    page.show()
    recent = replace(samples.CAPTURES[0], at_ms=NOW_MS - 120_000)
    grouped = group_changes(samples.session_changes([recent]))
    page.set_state(replace(samples.changes_state(), grouped=grouped))
    page.list.select(f"step:{recent.capture_id}:{recent.changes[0].path}")
    (clock,) = page.findChildren(MinuteClock)
    for age in ("2 min ago", "5 min ago"):
        notes = [line.text for line in page.detail.findChildren(TextLine)]
        assert any(text.endswith(age) for text in notes)
        now[0] += 180_000
        clock.ticked.emit()


def test_what_is_selected_stays_so_when_more_is_recorded(page: ChangesPage) -> None:
    page.select("step:c5:src/legacy/render.py")
    page.set_state(samples.changes_state())
    later = replace(samples.CAPTURES[0], capture_id="c9", turn=3)
    more = samples.session_changes([*samples.CAPTURES, later])
    page.set_state(replace(samples.changes_state(), grouped=group_changes(more)))
    entry = page.entry
    assert isinstance(entry, FileRow)
    assert entry.path == "src/legacy/render.py"


def test_what_is_in_sight_stays_in_place_when_more_is_recorded_above(page: ChangesPage) -> None:
    """Unless the list is at its top, where what is new shows."""
    page.resize(826, 420)
    QCoreApplication.sendPostedEvents()
    bar = page.list.verticalScrollBar()
    key = page.list.rows[3].key
    for scrolled in (0, 40):
        page.set_state(samples.changes_state())
        bar.setValue(scrolled)
        assert bar.value() == scrolled
        before = page.list.visualRect(page.list.index_of_key(key)).y()
        later = replace(samples.CAPTURES[0], capture_id="c9", turn=3)
        more = samples.session_changes([*samples.CAPTURES, later])
        page.set_state(replace(samples.changes_state(), grouped=group_changes(more)))
        after = page.list.visualRect(page.list.index_of_key(key)).y()
        assert (after == before) == bool(scrolled)


def test_what_differs_from_the_last_commit_can_be_read_but_not_reverted(
    page: ChangesPage, qtbot: QtBot
) -> None:
    page.set_state(samples.commit_state())
    assert listed(page) == ["README.md", "src/new.py", "src/old.py"]
    with performed(page) as intents:
        page.list.revert()
        page.list.copy_patch()
    (copy,) = intents
    assert isinstance(copy, CopyPatch)
    assert copy.selection.paths == ("README.md",)
    with qtbot.waitSignal(page.filter_bar.source_switch.view_selected) as chosen:
        press(page, "changes-of-session")
    assert chosen.args == ["session"]


def test_an_empty_page_says_why_and_one_line_what_cannot_be_undone(page: ChangesPage) -> None:
    assert page.coverage.text.text.startswith("Can't be undone in ")
    assert samples.COVERAGE.places[0].path in page.coverage.text.text
    for state, words in (
        ("changes, none", "No files changed yet."),
        ("changes, not trusted", "This folder isn't trusted"),
        ("changes, no folder", "The folder of this workspace is missing."),
        ("changes, first copy", "Your files are being copied"),
        ("changes, copy paused", "Copying files is paused."),
    ):
        page.set_state(samples.STATES[state])
        assert page.empty.isVisible()
        assert page.empty.sentence.text().startswith(words)
        assert not page.list.isVisible()
    assert page.coverage.text.text == "Copying files paused: 40 %"
    page.set_state(replace(samples.EMPTY, coverage=samples.COPYING))
    assert page.coverage.text.text == "Copying files: 40 %"
    covered = FileCoverage(files=40, is_complete=True)
    page.set_state(replace(samples.changes_state(), coverage=covered))
    assert page.coverage.isHidden(), "all of it can be undone"


def _hunk_heads(page: ChangesPage) -> list[HunkHead]:
    return [head for head in page.detail.diff.text.findChildren(HunkHead) if head.isVisible()]


def test_a_selected_file_is_read_and_offers_what_its_state_allows(page: ChangesPage) -> None:
    grouped = page.state.grouped
    changes = page.state.changes
    assert grouped is not None
    assert changes is not None
    rows = (row for group in grouped.by_turn for row in group.rows)
    row = next(
        row for row in rows if row.status == "open" and row.is_covered and row.last.source == "tool"
        and row.kind == "changed"
    )  # fmt: skip
    page.select(row.key)
    detail = page.detail
    assert not detail.has_diff
    assert detail.body.currentWidget() is detail.diff
    assert (detail.diff.words.text(), detail.diff.words.isVisible()) == ("Reading the changes…", True)
    several = diff_contents(b"1\n" * 20, b"2\n" + b"1\n" * 18 + b"2\n")
    one = diff_contents(b"1\n", b"2\n")
    detail.show_diff(row, several)
    assert len(_hunk_heads(page)) == 2
    detail.show_diff(row, one)
    assert _hunk_heads(page) == [], "the file's button reverts its only part"
    stands = detail.diff.text.viewport().grab().toImage()
    places = detail.revert.y(), detail.body.y()
    reverted = replace(row, status="reverted", reverted_ms=NOW_MS - 120_000)
    detail.show_entry(reverted)
    QCoreApplication.sendPostedEvents()
    said = [line.text for line in detail.findChildren(TextLine) if line.isVisible()]
    assert [words for words in said if "Edited" in words or "changed" in words] == []
    assert any(words.startswith("Reverted · 2 min ago") for words in said)
    assert not any(pill.isVisible() for pill in detail.findChildren(Pill)), "it is said once"
    assert (detail.revert.y(), detail.body.y()) == places, "nothing moves under the mouse"
    assert not detail.has_diff, "it is shown anew, without a revert of its parts"
    detail.show_diff(reverted, one)
    assert detail.diff.text.viewport().grab().toImage() != stands, "pale: it isn't on the disk"
    assert _hunk_heads(page) == []
    press(page, "group-by-file")
    group = next(group for group in grouped.by_file if group.status == "open" and group.can_accept)
    page.select(group.key)
    assert detail.accept.isEnabled()
    files = [
        replace(file, status="accepted") if file.path == group.paths[0] else file for file in changes.files
    ]
    page.set_state(replace(page.state, grouped=group_changes(replace(changes, files=tuple(files)))))
    assert not detail.accept.isEnabled()


def test_folders_and_binary_files_have_no_lines(page: ChangesPage) -> None:
    first = samples.CAPTURES[0]
    folder = FileState("folder", mode=0o755)
    made = FileChange("empty", None, folder)
    capture = replace(first, changes=(made,))
    assert group_changes(samples.session_changes([capture])).by_turn[0].files_text == "1 folder"
    both = group_changes(samples.session_changes([replace(capture, changes=(made, first.changes[0]))]))
    assert both.by_turn[0].files_text == "1 file, 1 folder"
    assert changes_total_text(both, None).startswith("1 file")
    capture = next(each for each in samples.CAPTURES if len(each.changes) == 1)
    binary = replace(capture, added_lines=0, removed_lines=0, binary=1)
    grouped = group_changes(samples.session_changes([binary]))
    page.set_state(ChangesState(grouped, samples.COVERAGE))
    (row,) = [row for group in grouped.by_turn for row in group.rows]
    assert row.accessible_text(page.counts_of(row), "").split(", ").count("binary") == 1


def test_the_list_takes_its_share_of_a_large_window_until_its_handle_moves(page: ChangesPage) -> None:
    first = page.splitter.sizes()[0]
    page.resize(1700, 700)
    wide = page.splitter.sizes()[0]
    assert first < 340 < wide
    page.splitter.moveSplitter(400, 1)
    page.resize(1400, 700)
    assert abs(page.splitter.sizes()[0] - 400) < 10


def test_what_the_user_took_back_and_redid_stands_apart_from_the_turn(page: ChangesPage) -> None:
    edit = samples.CAPTURES[0]
    (path, *_) = {change.path for change in edit.changes}
    change = next(change for change in edit.changes if change.path == path)
    back = FileChange(path, change.after, change.before)

    def reverted(capture_id: str, scope: RevertScope, change: FileChange) -> RecordedChanges:
        return replace(
            edit,
            capture_id=capture_id,
            source="revert",
            scope=scope,
            call_id="",
            changes=(change,),
            is_redo=scope == "redo",
        )

    captures = [
        edit,
        reverted("r1", "hunk", back),
        reverted("r2", "redo", change),
        reverted("r3", "rewind", back),
    ]
    captures[2] = replace(captures[2], reverted=(path,))
    grouped = group_changes(samples.session_changes(captures))
    page.set_state(replace(samples.changes_state(), grouped=grouped))
    names = [group.title for group in grouped.by_turn]
    assert names[:3] == ["You: Rewind", "You: Redo", "You: Revert of a part"]
    assert [group.status_text for group in grouped.by_turn] == ["Open", "Undone", "Open", "Open"]
    assert [group.is_redoable for group in grouped.by_turn] == [True, True, True, False]
    assert [row.path for row in grouped.by_turn[3].rows] == [path]
    assert [group.selection.capture_ids for group in grouped.by_turn][:2] == [("r3",), ("r2",)]
    page.list.select(grouped.by_turn[0].key)
    assert not page.detail.summary.text(), "the title says it"
    with performed(page) as intents:
        page.list.accept()
    assert not intents


def test_redo_of_a_file_does_again_what_was_taken_back(page: ChangesPage) -> None:
    """By file the button said Redo, and reverted once more: “Nothing to revert.”"""
    press(page, "group-by-file")
    page.select("file:tests/ui/chat/test_stream.py")
    assert page.detail.revert.accessibleName() == "Redo"
    with performed(page) as intents:
        page.detail.revert.click()
    assert [type(intent) for intent in intents] == [RedoChanges]


def test_the_layout_of_diffs_is_remembered(qtbot: QtBot) -> None:
    """Two columns were one again after each start."""
    saved: dict[str, bytes] = {}

    def columns(layout: str) -> int:
        """Return how many columns the diff has, then choose a layout."""
        page = ChangesPage(clock=lambda: NOW_MS)
        qtbot.addWidget(page)
        page.detail.remember(lambda key: saved.get(key, b""), saved.__setitem__)
        diff = page.detail.diff
        diff.setParent(None)
        qtbot.addWidget(diff)
        diff.resize(1_200, 600)
        diff.show_diff(diff_contents(b"same\nold\n", b"same\nnew\n"), "a.py")
        rows = len(diff.text.rows)
        find_button(diff, layout).click()
        return 4 - rows  # of a changed line, both sides stand in one row or below each other

    assert [columns("side_by_side"), columns("inline"), columns("inline")] == [1, 2, 1]


A = FileState("file", "a", 1, 0o644)
B = FileState("file", "b", 1, 0o644)
CAPTURE = RecordedChanges("", "s", 1, 1, 1, 1, "", "command")


def _heads(*lists: tuple[FileChange, ...]) -> dict[str, FileRow]:
    """Return the rows by file of captures, each by its list of changes."""
    captures = tuple(
        replace(CAPTURE, capture_id=f"c{at}", changes=changes) for at, changes in enumerate(lists)
    )
    files: dict[str, FileSummary] = {}
    for change in (change for changes in lists for change in changes):
        file = files.get(change.path, FileSummary(change.path, change.before, None, ()))
        files[change.path] = replace(file, after=change.after)
    grouped = group_changes(SessionChanges("s", captures, tuple(files.values())))
    return {group.head.path: group.head for group in grouped.by_file if group.head is not None}


def _moved(source: str, path: str, state: FileState) -> tuple[FileChange, ...]:
    return FileChange(source, state, None), FileChange(path, None, state, source)


def test_a_moved_file_is_one_row_without_lines() -> None:
    [head] = _heads(_moved("x", "y", A), _moved("y", "z/y", A)).values()
    assert (head.path, head.kind, head.moved_from, head.contents) == ("z/y", "moved", "x", ("a", "a"))
    assert head.capture_ids == ("c0", "c1")


def test_what_was_changed_before_or_after_it_was_moved_is_in_its_row() -> None:
    [head] = _heads((FileChange("x", A, B),), _moved("x", "y", B)).values()
    assert (head.kind, head.contents, head.paths) == ("moved", ("a", "b"), ("y", "x"))
    [head] = _heads(_moved("x", "y", A), (FileChange("y", A, B),)).values()
    assert (head.kind, head.contents, head.capture_ids) == ("moved", ("a", "b"), ("c0", "c1"))


def test_a_file_that_is_back_or_was_new_is_no_other_ones_origin() -> None:
    back = _heads(_moved("x", "y", A), (FileChange("x", None, B),))
    assert {path: (head.kind, head.contents) for path, head in back.items()} == {
        "x": ("changed", ("a", "b")),
        "y": ("created", ("", "a")),
    }
    new = _heads((FileChange("x", None, A),), _moved("x", "y", A))
    assert {path: head.kind for path, head in new.items()} == {"x": "same", "y": "created"}
    gone = _heads(_moved("x", "y", A), (FileChange("y", A, None),))
    assert {path: head.kind for path, head in gone.items()} == {"x": "deleted", "y": "same"}
