"""Notices: what they say and offer, how many are shown, which go by themselves; the lines of jobs."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFrame, QLabel
from pytestqt.qtbot import QtBot

from helix_desktop.domain.errors import ContentDamaged, OutputFormUnavailable
from helix_desktop.domain.events.conversation import TurnEnded, UserSpoke
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.ui.design.buttons import IconButton
from helix_desktop.ui.design.labels import ElidedLabel
from helix_desktop.ui.kit.notices import Answer, ErrorNotices, Notice
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.quit import RecoverySummary
from helix_desktop.ui.window.status_lines import JobAction, JobLines, JobRow
from tests.support.window.buttons import find_button, find_child, press


def test_a_notice_states_problem_cause_and_fix_and_does_what_its_buttons_say(window: MainWindow) -> None:
    said: list[str] = []
    answers = (
        Answer("Try again", lambda: said.append("again"), "retry"),
        Answer("Undo", lambda: said.append("undone"), "undo", ends=True),
    )
    notice = Notice(
        "b",
        "No answer.",
        "It is down.",
        "Start it.",
        answers,
        "error",
        on_dismiss=lambda: said.append("seen"),
    )
    window.notices.notify(notice)
    assert window.notices.isVisible()
    texts = " ".join(words.text() for words in window.notices.findChildren(QLabel))
    assert all(part in texts for part in ("No answer.", "It is down.", "Start it."))

    QTest.mouseClick(find_button(window.notices, "b:retry"), Qt.MouseButton.LeftButton)
    assert (said, window.notices.names()) == (["again"], ("b",)), "it stands until it is not true any more"
    QTest.mouseClick(find_button(window.notices, "b:undo"), Qt.MouseButton.LeftButton)
    assert (said, window.notices.names()) == (["again", "undone"], ())

    window.notices.notify(notice)
    press(window.notices, "dismiss")
    assert said == ["again", "undone", "seen"]
    assert window.notices.names() == ()
    assert not window.notices.isVisible()


def test_a_notice_of_one_line_has_all_parts_at_one_height(qtbot: QtBot, window: MainWindow) -> None:
    window.notices.notify(Notice("b", "1 file rewound.", answers=(Answer("Undo", lambda: None, "undo"),)))
    close = window.notices.findChildren(IconButton)[0]
    parts = (find_button(window.notices, "undo"), close, *window.notices.findChildren(QLabel))

    def are_level() -> bool:
        heights = [part.mapTo(window, part.rect().center()).y() for part in parts]
        return max(heights) - min(heights) <= 1

    qtbot.waitUntil(are_level)


def _visible_notices(window: MainWindow) -> list[str]:
    cards = [card for card in window.notices.findChildren(QFrame) if card.property("role") == "notice"]
    return [card.accessibleName() for card in cards if card.isVisible()]


def _timer(window: MainWindow, notice: str, name: str) -> QTimer:
    card = find_child(window.notices, QFrame, notice)
    return find_child(card, QTimer, name)


def test_a_click_that_was_meant_for_the_page_reaches_it(window: MainWindow) -> None:
    """A notice that appears below the pointer would take a click on what it covers."""
    window.show_center_page("work")
    window.notices.notify(Notice("a", "Done", answers=(Answer("Undo", lambda: None, "undo"),)))
    window.grab()
    button = find_button(window.notices, "undo")
    at = button.mapTo(window, button.rect().center())
    assert window.childAt(at) is not button
    _timer(window, "a", "quiet").timeout.emit()
    assert window.childAt(at) is button


def test_a_click_that_was_meant_for_a_notice_that_has_just_gone_is_lost(
    qtbot: QtBot, window: MainWindow
) -> None:
    """It hit a row below, which opened."""
    window.show_center_page("work")
    window.activateWindow()
    window.notices.notify(Notice("a", "Done", answers=(Answer("Redo", lambda: None, "redo"),)))
    window.grab()
    button = find_button(window.notices, "redo")
    at = button.mapTo(window, button.rect().center())
    below = window.childAt(at)
    _timer(window, "a", "read").timeout.emit()
    assert _visible_notices(window) == []
    assert window.childAt(at) not in (below, button)
    qtbot.waitUntil(lambda: window.childAt(at) is below)


def test_what_was_read_folds_into_the_top_bar_and_comes_back(window: MainWindow) -> None:
    """Over a page's own buttons it would be in the way for as long as it is true."""
    window.activateWindow()
    window.notices.notify(Notice("fault", "Fault", level="error"))
    window.notices.notify(Notice("edit", "Editing", can_dismiss=False))
    for name in ("fault", "edit"):
        _timer(window, name, "read").timeout.emit()
    folded = find_button(window.top_bar, "folded-notices")
    assert (_visible_notices(window), folded.text()) == ([], "2 notices")
    assert "Fault" in folded.toolTip()
    assert window.notices.names() == ("fault", "edit")
    folded.setFocus()
    QTest.keyClick(folded, Qt.Key.Key_Space)
    assert _visible_notices(window) == ["Fault", "Editing"]
    assert window.notices.isAncestorOf(window.focusWidget()), "where the notices are"
    assert not folded.isVisible()
    press(window.notices, "edit:fold")
    assert (_visible_notices(window), folded.text()) == (["Fault"], "1 notice")


def test_an_answered_notice_does_not_cover_what_its_button_opens(window: MainWindow) -> None:
    seen: list[list[str]] = []
    review = Answer("Review…", lambda: seen.append(_visible_notices(window)), "look")
    window.notices.notify(Notice("failed", "Not running", answers=(review,), level="warning"))
    press(window.notices, "failed:look")
    assert seen == [[]]
    press(window.top_bar, "folded-notices")
    assert _visible_notices(window) == ["Not running"]


def test_a_folded_notice_of_a_session_is_seen_again_when_the_user_comes_back(window: MainWindow) -> None:
    window.notices.set_context("w", "s")
    window.notices.notify(Notice("crash", "It didn't close", level="warning"))
    window.notices.notify_here(Notice("edit", "Editing", can_dismiss=False))
    window.activateWindow()
    for name in ("crash", "edit"):
        _timer(window, name, "read").timeout.emit()
    assert _visible_notices(window) == []
    window.notices.set_context("w", "other")
    assert _visible_notices(window) == []
    window.notices.set_context("w", "s")
    assert _visible_notices(window) == ["Editing"]


def test_a_notice_ends_with_what_it_names(window: MainWindow) -> None:
    window.notices.set_context("w", "s")
    ends = (TurnEnded, lambda event: isinstance(event, UserSpoke) and event.text == "Stop.")
    for session in ("s", "other"):
        window.notices.notify(Notice("b", "Waiting", workspace_id="w", session_id=session, ends_with=ends))
    window.notices.follow(UserSpoke("Go on.", 3))
    assert window.notices.names() == ("b",)
    window.notices.follow(TurnEnded("done"))
    assert window.notices.names() == ()
    window.notices.set_context("w", "other")
    assert window.notices.names() == ("b",), "it waits for its own session"
    window.notices.follow(UserSpoke("Go on.", 3))
    assert window.notices.names() == ("b",)
    window.notices.follow(UserSpoke("Stop.", 1))
    assert window.notices.names() == ()


def test_of_notices_that_need_no_answer_two_are_shown_and_older_ones_wait(window: MainWindow) -> None:
    for number in range(3):
        window.notices.notify(Notice(str(number), f"Done {number}"))
    assert _visible_notices(window) == ["Done 1", "Done 2"]
    window.notices.notify(Notice("fault", "Fault", level="error"))
    window.notices.notify(Notice("edit", "Editing", can_dismiss=False))
    assert _visible_notices(window) == ["Done 2", "Fault", "Editing"], "the newest is seen in any case"
    for banner_id in ("fault", "edit", "2"):
        window.notices.end(banner_id)
    assert _visible_notices(window) == ["Done 0", "Done 1"]


def test_in_a_low_window_one_notice_is_shown_and_the_others_on_request(
    qtbot: QtBot, window: MainWindow
) -> None:
    """Three of them left no line of the cache or of a diff in sight."""
    for number in range(3):
        window.notices.notify(Notice(str(number), f"Fault {number}", level="error"))
    assert len(_visible_notices(window)) == 3
    window.resize(1024, 600)
    qtbot.waitUntil(lambda: _visible_notices(window) == ["Fault 2"])
    show_all = find_button(window.notices, "all-notices")
    show_all.setFocus()
    QTest.keyClick(show_all, Qt.Key.Key_Space)
    assert len(_visible_notices(window)) == 3
    assert window.notices.isAncestorOf(window.focusWidget()), "it was in the message box"
    window.notices.end("2")
    window.notices.end("1")
    window.notices.notify(Notice("3", "Fault 3", level="error"))
    assert _visible_notices(window) == ["Fault 3"]
    window.resize(1440, 900)
    qtbot.waitUntil(lambda: _visible_notices(window) == ["Fault 0", "Fault 3"])


def test_in_a_low_window_an_answer_is_seen_above_an_older_warning(qtbot: QtBot, window: MainWindow) -> None:
    """Its Undo was behind a warning, or a question, that was there before."""
    window.resize(1024, 600)
    undo = (Answer("Undo", lambda: None, "undo"),)
    window.notices.notify(Notice("crash", "It didn't close", level="warning"))
    window.notices.notify(Notice("edit", "Editing", can_dismiss=False))
    window.notices.notify(Notice("deleted", "Deleted", answers=undo, is_brief=True))
    qtbot.waitUntil(lambda: _visible_notices(window) == ["Deleted"])
    assert find_button(window.notices, "undo").isVisible()
    assert "3" in find_button(window.notices, "all-notices").text()
    window.notices.notify(Notice("fault", "Fault", level="error"))
    assert _visible_notices(window) == ["Fault"]
    window.notices.end("fault")
    window.notices.end("deleted")
    assert _visible_notices(window) == ["Editing"]


def test_a_brief_notice_goes_by_itself_unless_it_has_the_keyboard(window: MainWindow) -> None:
    undo = (Answer("Undo", lambda: None, "undo"),)
    window.notices.notify(Notice("stays", "Filter deleted"))
    window.notices.notify(Notice("goes", "Moved to the trash", answers=undo, is_brief=True))
    timer = _timer(window, "goes", "read")
    window.activateWindow()
    find_button(window.notices, "undo").setFocus()
    timer.timeout.emit()
    assert window.notices.names() == ("stays", "goes")
    find_button(window.notices, "undo").clearFocus()
    QCursor.setPos(QCursor.pos() + QPoint(9, 9))
    timer.timeout.emit()
    assert window.notices.names() == ("stays", "goes"), "a click now would hit what moves up"
    timer.timeout.emit()
    assert window.notices.names() == ("stays",)


def test_a_brief_notice_goes_also_while_the_user_works_with_the_mouse(window: MainWindow) -> None:
    """It stood for minutes over other pages; whoever is on the way to it still finds it."""
    window.activateWindow()
    window.notices.notify(Notice("goes", "Nothing to undo", is_brief=True))
    window.grab()
    timer = _timer(window, "goes", "read")

    def looks_until_it_goes(around: QPoint) -> int:
        for looks in range(20):
            QCursor.setPos(around + QPoint(9 * (looks % 2), 0))
            timer.timeout.emit()
            if not window.notices.names():
                return looks
        return 20

    above = window.notices.mapToGlobal(QPoint(40, -20))
    assert looks_until_it_goes(above) == 20
    assert 0 < looks_until_it_goes(above + QPoint(0, 300)) < 10


def test_a_longer_notice_stays_longer(window: MainWindow) -> None:
    window.notices.notify(Notice("short", "Done"))
    window.notices.notify(Notice("long", "Undone", "What came back stays in the context."))
    assert _timer(window, "short", "read").interval() < _timer(window, "long", "read").interval()


def test_a_brief_notice_of_another_session_waits_until_this_is_shown(window: MainWindow) -> None:
    window.notices.set_context("w", "a")
    window.notices.notify(Notice("b", "Restored", workspace_id="w", session_id="b", is_brief=True))
    assert not _timer(window, "b", "read").isActive()
    window.notices.set_context("w", "b")
    assert _timer(window, "b", "read").isActive()


def test_an_error_goes_once_the_same_action_works_in_its_place(window: MainWindow) -> None:
    """It stood on all pages after what it was about had long been done; a store's error says more."""
    notices = window.notices
    errors = ErrorNotices(window.notices, lambda remedy: None)
    notices.set_context("w", "s")
    here = errors.bind_place()
    refused = OutputFormUnavailable(
        verbatim("No extract."), verbatim("Nothing was chosen."), verbatim("Choose.")
    )
    damaged = ContentDamaged(verbatim("Damaged."), verbatim("One bit."), verbatim("Repair it."))
    here("recall into context", refused)
    here("verify", damaged)
    assert notices.names() == ("No extract.", "Damaged.")
    here("undo", None)
    notices.set_context("w", "other")
    errors.bind_place()("recall into context", None)
    notices.set_context("w", "s")
    assert notices.names() == ("No extract.", "Damaged."), "another action, another session"
    here("recall into context", None)
    here("verify", None)
    assert notices.names() == ("Damaged.",)
    here("recall into context", refused)
    here("recall into context", refused)
    assert notices.names() == ("Damaged.", "No extract.")
    here("recall into context", None)
    assert notices.names() == ("Damaged.",)


LONG = "Compacting: Read → Summarize → Check → Save, of 412 messages"

SHORT = "Verifying 312 entries"


def _shown(qtbot: QtBot, *words: str) -> list[ElidedLabel]:
    lines = JobLines()
    qtbot.addWidget(lines)
    lines.resize(1_000, 40)
    lines.show_jobs(
        [JobRow(str(number), text, 0.4, JobAction("cancel", lines.hide)) for number, text in enumerate(words)]
    )
    lines.show()
    qtbot.waitExposed(lines)
    labels = [label for label in lines.findChildren(ElidedLabel) if label.full_text() in words]
    return sorted(labels, key=lambda label: label.mapTo(lines, label.pos()).x())


@pytest.mark.parametrize("words", [(LONG, SHORT), (SHORT, LONG)])
def test_a_job_is_not_cut_while_the_one_beside_it_has_room(qtbot: QtBot, words: tuple[str, str]) -> None:
    assert [label.text() for label in _shown(qtbot, *words)] == [*words]


def test_two_short_jobs_have_a_half_each_and_two_long_ones_too(qtbot: QtBot) -> None:
    for words in ((SHORT, "Reading files"), (LONG, f"{LONG} again")):
        first, second = _shown(qtbot, *words)
        assert abs(first.width() - second.width()) <= 1, words


def test_a_crash_without_running_work_says_so() -> None:
    assert RecoverySummary().text.startswith("No work was interrupted.")
    assert RecoverySummary(queued=2).text.startswith("Recovered: 2 queued messages.")
