"""The guide's window: its pages, links to and between them, the search, the keyboard."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QFont, QFontMetrics, QPalette
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.config.paths import resources_dir
from helix_desktop.ui.design.cards import HelpLink
from helix_desktop.ui.design.layout import column
from helix_desktop.ui.design.style.theme import DARK
from helix_desktop.ui.help.guide import GuideDialog, guide_contents, guide_pages, shortcut_table
from helix_desktop.ui.window.command_list import shortcuts
from helix_desktop.ui.window.main_window import MainWindow
from tests.support.window.bare_window import make_window
from tests.support.window.buttons import find_child
from tests.support.window.looks import ShowLook

SHORTCUTS = (("Send the message", "Enter"), ("Next or previous result", "F3, Shift+F3"))

TOPICS = tuple(guide_pages())

NOTHING = "xylophone"


@pytest.fixture
def guide(qtbot: QtBot) -> Iterator[GuideDialog]:
    parent = QWidget()
    qtbot.addWidget(parent)
    dialog = GuideDialog(parent, SHORTCUTS)
    with qtbot.waitExposed(dialog):
        dialog.show_topic("context")
    yield dialog
    dialog.close()


def _name(guide: GuideDialog, topic: str) -> QPushButton:
    return find_child(guide, QPushButton, f"page:{topic}")


def _listed(guide: GuideDialog) -> list[str]:
    return [topic for topic in TOPICS if _name(guide, topic).isVisible()]


def _marked(guide: GuideDialog) -> list[str]:
    return [mark.cursor.selectedText().casefold() for mark in guide.browser.extraSelections()]


def test_every_page_is_shown_whole(guide: GuideDialog) -> None:
    """Under its title, with its first sentence and its headings; no mark of Markdown is left."""
    for topic in TOPICS:
        guide.show_topic(topic)
        shown = guide.browser.toPlainText()
        written = (resources_dir() / "guide" / f"{topic}.md").read_text()
        title, _, lead = written.splitlines()[:3]
        headings = [line.removeprefix("## ") for line in written.splitlines() if line.startswith("## ")]
        assert guide.topic == topic
        assert shown.splitlines()[0] == title.removeprefix("# ") == guide.browser.accessibleName()
        assert shown.splitlines()[1] == lead.replace("`", "").replace("**", "")
        assert set(headings) <= set(shown.splitlines()), topic
        assert not any(mark in shown for mark in ("**", "](", "|--", "```", "`-")), topic


def test_the_list_of_topics_follows_the_arrow_keys(guide: GuideDialog) -> None:
    """Down goes to the next topic, and from the first Up to the last."""
    guide.show_topic(TOPICS[0])
    first = _name(guide, TOPICS[0])
    first.setFocus()
    QTest.keyClick(first, Qt.Key.Key_Down)
    assert guide.topic == TOPICS[1]
    QTest.keyClick(_name(guide, TOPICS[1]), Qt.Key.Key_Up)
    QTest.keyClick(first, Qt.Key.Key_Up)
    assert guide.topic == TOPICS[-1]


def test_the_longest_topic_fits_when_it_is_chosen(qtbot: QtBot, guide: GuideDialog) -> None:
    """Its name is bold then, and wider than its hint."""
    name = max((_name(guide, topic) for topic in TOPICS), key=lambda button: button.sizeHint().width())
    bold = QFont(name.font())
    bold.setWeight(QFont.Weight.DemiBold)
    words = name.text()
    more = QFontMetrics(bold).horizontalAdvance(words) - name.fontMetrics().horizontalAdvance(words)
    assert more > 0
    qtbot.waitUntil(lambda: name.width() >= name.sizeHint().width() + more)


def test_the_name_of_the_page_is_in_sight(qtbot: QtBot, guide: GuideDialog) -> None:
    """Also that of the last one, in a window that becomes low."""
    guide.show_topic(TOPICS[-1])
    guide.resize(guide.minimumSize())
    name = _name(guide, TOPICS[-1])
    qtbot.waitUntil(lambda: name.visibleRegion().boundingRect().height() == name.height())


def test_an_unknown_topic_shows_the_first(guide: GuideDialog) -> None:
    """A link of another version still opens the guide."""
    guide.show_topic("of another version")
    assert guide.topic == TOPICS[0]


def test_links_are_followed_by_the_keyboard_and_back(guide: GuideDialog) -> None:
    """Tab goes to a link and Enter follows it; back returns to the same place of the page."""
    guide.resize(guide.minimumSize())
    guide.browser.setFocus()
    QTest.keyClick(guide.browser, Qt.Key.Key_Tab)
    QTest.keyClick(guide.browser, Qt.Key.Key_Return)
    assert guide.topic == "cached"
    assert (guide.back.isEnabled(), guide.forward.isEnabled()) == (True, False)
    bar = guide.browser.verticalScrollBar()
    bar.setValue(bar.maximum())
    scrolled = bar.value()
    assert scrolled > 0
    QTest.keyClick(guide.browser, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert guide.topic == "context"
    assert (guide.back.isEnabled(), guide.forward.isEnabled()) == (False, True)
    guide.search.setFocus()
    QTest.keyClick(guide.search, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    assert (guide.topic, bar.value()) == ("cached", scrolled)


def test_the_search_lists_pages_and_marks_the_words(guide: GuideDialog) -> None:
    """Pages with all words are left, the first of them is shown; F3 goes through what is on them."""
    QTest.keyClicks(guide.search, "landlock limits")
    assert guide.topic == "permissions"
    assert _listed(guide) == ["permissions"]
    assert set(_marked(guide)) == {"landlock", "limits"}
    guide.search.setText("LANDLOCK")
    marks = _marked(guide)
    shown = []
    for _ in range(len(marks) + 1):
        shown.append(guide.browser.textCursor().position())
        QTest.keyClick(guide.search, Qt.Key.Key_F3)
    assert len(marks) > 1
    assert len(set(shown)) == len(marks)
    assert shown[0] == shown[-1], "after the last one comes the first again"
    QTest.keyClick(guide.search, Qt.Key.Key_Escape)
    assert (guide.isVisible(), guide.search.text(), _marked(guide)) == (True, "", [])
    assert _listed(guide) == list(TOPICS)


def test_results_continue_on_the_next_page(guide: GuideDialog) -> None:
    """Enter goes on where the last result of a page was, Shift+Enter back to it."""
    guide.search.setText("budget")
    pages = _listed(guide)
    assert len(pages) > 1
    guide.search.setFocus()
    for _ in _marked(guide):
        QTest.keyClick(guide.search, Qt.Key.Key_Return)
    assert guide.topic == pages[1]
    QTest.keyClick(guide.search, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert guide.topic == pages[0]


def test_a_link_out_of_the_results_ends_the_search(guide: GuideDialog) -> None:
    """Its page is in the list again, and there is nothing left to go through."""
    guide.search.setText("landlock")
    guide.browser.anchorClicked.emit(QUrl("work.md"))
    assert (guide.topic, guide.search.text(), _listed(guide)) == ("work", "", list(TOPICS))
    QTest.keyClick(guide.search, Qt.Key.Key_F3)
    assert guide.topic == "work"


def test_words_on_no_page_are_said_to_be_on_none(guide: GuideDialog) -> None:
    """The page stays; opening a topic ends the search."""
    guide.search.setText(NOTHING)
    QTest.keyClick(guide.search, Qt.Key.Key_F3)
    assert (guide.topic, _listed(guide), guide.no_results.isVisible()) == ("context", [], True)
    guide.show_topic("compacted")
    assert (guide.topic, _listed(guide), guide.no_results.isVisible()) == ("compacted", list(TOPICS), False)


def test_ctrl_f_goes_to_the_search(guide: GuideDialog) -> None:
    """From the page and from the list."""
    for start in (guide.browser, _name(guide, "context")):
        start.setFocus()
        QTest.keyClick(start, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
        assert guide.focusWidget() is guide.search


def test_another_theme_keeps_the_place(guide: GuideDialog, show_look: ShowLook) -> None:
    """Its colors come at once."""
    guide.show_topic("edge_cases")
    bar = guide.browser.verticalScrollBar()
    bar.setValue(200)
    show_look(DARK)
    assert bar.value() == 200
    assert guide.browser.palette().color(QPalette.ColorRole.Text).name() == DARK.text
    (lead,) = guide.browser.document().firstBlock().next().textFormats()
    assert lead.format.foreground().color().name() == DARK.muted


def test_shortcuts_are_those_that_commands_have_now(guide: GuideDialog) -> None:
    """Not those of the file, which are the first ones; they can change while the guide is open."""
    guide.show_topic("keys")
    assert guide.browser.toPlainText().splitlines()[-4:] == [
        *("Send the message", "Enter"),
        *("Next or previous result", "F3, Shift+F3"),
    ]
    guide.show_shortcuts((("Send the message", "F12"),))
    assert guide.browser.toPlainText().splitlines()[-2:] == ["Send the message", "F12"]
    guide.search.setText("F12")
    assert _listed(guide) == ["keys"]


def test_the_file_has_the_first_shortcuts(window: MainWindow) -> None:
    """Who reads it in the repository reads what a new installation has, on Linux and Windows."""
    table = shortcut_table(shortcuts(window.key_bindings))
    assert (resources_dir() / "guide" / "keys.md").read_text(encoding="utf-8").endswith(f"\n\n{table}")


def test_every_page_has_an_icon_of_its_own() -> None:
    """Else it would be that of another page."""
    icons = [page.icon for _, pages in guide_contents() for page in pages]
    assert len(set(icons)) == len(icons)


def _dialog_with_links(window: MainWindow) -> tuple[QDialog, HelpLink, HelpLink]:
    dialog = QDialog(window)
    compacted = HelpLink("compacted")
    cached = HelpLink("cached", QLabel("Stored, can be recalled."))
    dialog.setLayout(column(cached, compacted))
    dialog.show()
    return dialog, cached, compacted


def test_a_link_opens_the_guide_at_its_topic_once(window: MainWindow) -> None:
    """Also from a dialog of the window; afterwards it makes room, and the other links stay."""
    dialog, cached, compacted = _dialog_with_links(window)
    assert cached.findChildren(QLabel)[0].isVisible()
    QTest.mouseClick(cached.link, Qt.MouseButton.LeftButton)
    assert not cached.findChildren(QLabel)[0].isVisible()
    guide = window.help_windows.guide
    assert guide is not None
    assert guide.isVisible()
    assert guide.topic == "cached"
    assert (cached.isHidden(), compacted.isHidden()) == (True, False)
    dialog.close()


def test_a_followed_link_stays_away_in_the_next_run(
    window: MainWindow, layout_states: dict[str, bytes], qtbot: QtBot
) -> None:
    """What the user has opened is remembered with the window's layout."""
    _, cached, _ = _dialog_with_links(window)
    cached.link.click()
    later = make_window(layout_states)
    qtbot.addWidget(later)
    _, cached, compacted = _dialog_with_links(later)
    later.help_windows.hide_followed_links()
    assert (cached.isHidden(), compacted.isHidden()) == (True, False)
    later.allow_close()


def test_help_opens_the_guide_and_its_shortcuts(window: MainWindow) -> None:
    """Both are commands of the window; every shortcut of a command is listed."""
    window.commands.guide.trigger()
    guide = window.help_windows.guide
    assert guide is not None
    assert guide.topic == "start"
    window.commands.keys.trigger()
    assert guide.topic == "keys"
    assert window.help_windows.guide is guide
