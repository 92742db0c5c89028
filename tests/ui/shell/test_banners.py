"""Banners: what they say and offer, how many are shown, and which go by themselves."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFrame, QLabel
from pytestqt.qtbot import QtBot

from helix_desktop.domain.errors import ContentDamaged, OutputFormUnavailable
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.ui.design.buttons import IconButton
from helix_desktop.ui.design.shell_data import Banner, BannerAction
from helix_desktop.ui.shell.banners import ErrorBanners
from helix_desktop.ui.shell.main_window import MainWindow
from tests.support.window.buttons import find_button


def test_a_banner_states_problem_cause_and_fix_and_has_actions(qtbot: QtBot, window: MainWindow) -> None:
    banner = Banner(
        "b", "error", "No answer.", "It is down.", "Start it.", (BannerAction("retry", "Try again"),)
    )
    window.banners.show_banner(banner)
    assert window.banners.isVisible()
    texts = " ".join(words.text() for words in window.banners.findChildren(QLabel))
    assert all(part in texts for part in ("No answer.", "It is down.", "Start it."))

    button = find_button(window.banners, "retry")
    with qtbot.waitSignal(window.banners.action_clicked) as acted:
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert acted.args == ["b", "retry"]

    close = window.banners.findChildren(IconButton)[0]
    with qtbot.waitSignal(window.banners.dismissed):
        QTest.mouseClick(close, Qt.MouseButton.LeftButton)
    assert window.banners.banner_ids() == ()
    assert not window.banners.isVisible()


def test_a_banner_of_one_line_has_all_parts_at_one_height(qtbot: QtBot, window: MainWindow) -> None:
    window.banners.show_banner(
        Banner("b", "info", "1 file rewound.", actions=(BannerAction("undo", "Undo"),))
    )
    close = window.banners.findChildren(IconButton)[0]
    parts = (find_button(window.banners, "undo"), close, *window.banners.findChildren(QLabel))

    def are_level() -> bool:
        heights = [part.mapTo(window, part.rect().center()).y() for part in parts]
        return max(heights) - min(heights) <= 1

    qtbot.waitUntil(are_level)


def _visible_banners(window: MainWindow) -> list[str]:
    """Return what the visible banners say first."""
    cards = [card for card in window.banners.findChildren(QFrame) if card.property("role") == "banner"]
    return [card.accessibleName() for card in cards if card.isVisible()]


def test_of_banners_that_need_no_answer_two_are_shown_and_older_ones_wait(window: MainWindow) -> None:
    for number in range(3):
        window.banners.show_banner(Banner(str(number), "info", f"Done {number}"))
    assert _visible_banners(window) == ["Done 1", "Done 2"]
    window.banners.show_banner(Banner("fault", "error", "Fault"))
    window.banners.show_banner(Banner("edit", "info", "Editing", dismissable=False))
    assert _visible_banners(window) == ["Done 2", "Fault", "Editing"], "the newest is seen in any case"
    for banner_id in ("fault", "edit", "2"):
        window.banners.remove(banner_id)
    assert _visible_banners(window) == ["Done 0", "Done 1"]


def test_in_a_low_window_one_banner_is_shown_and_the_others_on_request(
    qtbot: QtBot, window: MainWindow
) -> None:
    """Three of them left no line of the cache or of a diff in sight."""
    for number in range(3):
        window.banners.show_banner(Banner(str(number), "error", f"Fault {number}"))
    assert len(_visible_banners(window)) == 3
    window.resize(1024, 600)
    qtbot.waitUntil(lambda: _visible_banners(window) == ["Fault 2"])
    show_all = find_button(window.banners, "all-notices")
    show_all.setFocus()
    QTest.keyClick(show_all, Qt.Key.Key_Space)
    assert len(_visible_banners(window)) == 3
    assert window.banners.isAncestorOf(window.focusWidget()), "it was in the message box"
    window.banners.remove("2")
    window.banners.remove("1")
    window.banners.show_banner(Banner("3", "error", "Fault 3"))
    assert _visible_banners(window) == ["Fault 3"]
    window.resize(1440, 900)
    qtbot.waitUntil(lambda: _visible_banners(window) == ["Fault 0", "Fault 3"])


def test_in_a_low_window_an_answer_is_seen_above_an_older_warning(qtbot: QtBot, window: MainWindow) -> None:
    """Its Undo was behind a warning, or a question, that was there before."""
    window.resize(1024, 600)
    undo = (BannerAction("undo", "Undo"),)
    window.banners.show_banner(Banner("crash", "warning", "It didn't close"))
    window.banners.show_banner(Banner("edit", "info", "Editing", dismissable=False))
    window.banners.show_banner(Banner("deleted", "info", "Deleted", actions=undo, is_brief=True))
    qtbot.waitUntil(lambda: _visible_banners(window) == ["Deleted"])
    assert find_button(window.banners, "undo").isVisible()
    assert "3" in find_button(window.banners, "all-notices").text()
    window.banners.show_banner(Banner("fault", "error", "Fault"))
    assert _visible_banners(window) == ["Fault"]
    window.banners.remove("fault")
    window.banners.remove("deleted")
    assert _visible_banners(window) == ["Editing"]


def test_a_brief_banner_goes_by_itself_unless_it_has_the_keyboard(window: MainWindow) -> None:
    undo = (BannerAction("undo", "Undo"),)
    window.banners.show_banner(Banner("stays", "info", "Filter deleted"))
    window.banners.show_banner(Banner("goes", "info", "Moved to the trash", actions=undo, is_brief=True))
    timers = [timer for timer in window.banners.findChildren(QTimer) if timer.isActive()]
    assert len(timers) == 1
    window.activateWindow()
    find_button(window.banners, "undo").setFocus()
    timers[0].timeout.emit()
    assert window.banners.banner_ids() == ("stays", "goes")
    find_button(window.banners, "undo").clearFocus()
    QCursor.setPos(QCursor.pos() + QPoint(9, 9))
    timers[0].timeout.emit()
    assert window.banners.banner_ids() == ("stays", "goes"), "a click now would hit what moves up"
    timers[0].timeout.emit()
    assert window.banners.banner_ids() == ("stays",)


def test_a_brief_banner_goes_also_while_the_user_works_with_the_mouse(window: MainWindow) -> None:
    """It stood for minutes over other pages."""
    window.activateWindow()
    window.banners.show_banner(Banner("goes", "info", "Nothing to undo", is_brief=True))
    (timer,) = [timer for timer in window.banners.findChildren(QTimer) if timer.isActive()]
    looks = 0
    while window.banners.banner_ids() and looks < 20:
        QCursor.setPos(QCursor.pos() + QPoint(9 if looks % 2 else -9, 9))
        timer.timeout.emit()
        looks += 1
    assert 2 < looks < 10


def test_a_brief_banner_of_another_session_waits_until_this_is_shown(window: MainWindow) -> None:
    window.banners.set_context("w", "a")
    window.banners.show_banner(
        Banner("b", "info", "Restored", workspace_id="w", session_id="b", is_brief=True)
    )
    timers = window.banners.findChildren(QTimer)
    assert not any(timer.isActive() for timer in timers)
    window.banners.set_context("w", "b")
    assert [timer.isActive() for timer in timers] == [True]


def test_a_banner_of_the_same_id_is_replaced(window: MainWindow) -> None:
    window.banners.show_banner(Banner("b", "error", "First"))
    window.banners.show_banner(Banner("b", "warning", "Second"))

    assert window.banners.banner_ids() == ("b",)


def test_an_error_goes_once_the_same_action_works_in_its_place(window: MainWindow) -> None:
    """It stood on all pages after what it was about had long been done; a store's error says more."""
    banners, errors = window.banners, ErrorBanners(window.banners)
    banners.set_context("w", "s")
    here = errors.bind_place()
    refused = OutputFormUnavailable(
        verbatim("No extract."), verbatim("Nothing was chosen."), verbatim("Choose.")
    )
    damaged = ContentDamaged(verbatim("Damaged."), verbatim("One bit."), verbatim("Repair it."))
    here("recall into context", refused)
    here("verify", damaged)
    assert banners.banner_ids() == ("No extract.", "Damaged.")
    here("undo", None)
    banners.set_context("w", "other")
    errors.bind_place()("recall into context", None)
    banners.set_context("w", "s")
    assert banners.banner_ids() == ("No extract.", "Damaged."), "another action, another session"
    here("recall into context", None)
    here("verify", None)
    assert banners.banner_ids() == ("Damaged.",)
    here("recall into context", refused)
    here("recall into context", refused)
    assert banners.banner_ids() == ("Damaged.", "No extract.")
    here("recall into context", None)
    assert banners.banner_ids() == ("Damaged.",)
