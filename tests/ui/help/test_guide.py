"""The guide: every topic explains itself, with the numbers of the default policy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.context.policy import ContextPolicy
from helix_desktop.ui.design.style.theme import LIGHT
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.help.guide import GuideDialog
from helix_desktop.ui.help.guide_texts import TOPICS, topic_lead, topic_sections, topic_title

SHORTCUTS = (("Send the message", "Enter"), ("Next or previous result", "F3, Shift+F3"))


@pytest.fixture
def guide(qtbot: QtBot) -> Iterator[GuideDialog]:
    """The guide on screen, with two shortcuts."""
    parent = QWidget()
    qtbot.addWidget(parent)
    dialog = GuideDialog(parent, SHORTCUTS)
    with qtbot.waitExposed(dialog):
        dialog.show_topic("context")
    yield dialog
    dialog.close()


def _visible_text(guide: GuideDialog) -> str:
    return "\n".join(label.text() for label in guide.findChildren(QLabel) if label.isVisible())


@pytest.mark.parametrize("topic", TOPICS)
def test_every_topic_explains_itself(guide: GuideDialog, topic: str) -> None:
    """Its title, its sentence and its parts are on the page."""
    guide.show_topic(topic)
    text = _visible_text(guide)
    page = next(page for page in TOPICS if page == topic)
    assert guide._pages.current_page() == topic
    assert topic_title(page) in text
    assert topic_lead(page) in text
    assert all(paragraph in text for section in topic_sections(page) for paragraph in section.paragraphs)
    assert all(words in text for section in topic_sections(page) for line in section.rows for words in line)
    assert topic_sections(page) or all(words in text for words, _ in SHORTCUTS)


def test_the_numbers_are_those_of_the_default_policy(guide: GuideDialog) -> None:
    """A changed default changes the guide."""
    policy = ContextPolicy()
    for topic, number in (
        ("cached", f"{policy.intake_above:,} tokens"),
        ("noted", f"{policy.observe_at:.0%}".replace("%", " %")),
        ("summarized", f"{policy.handover_at:.0%}".replace("%", " %")),
    ):
        guide.show_topic(topic)
        assert number in _visible_text(guide)


def test_the_list_of_topics_follows_the_arrow_keys(guide: GuideDialog) -> None:
    """Down goes to the next topic, and from the first Up to the last."""
    first = guide.findChild(QPushButton, "page:context")
    assert isinstance(first, QPushButton)
    first.setFocus()
    QTest.keyClick(first, Qt.Key.Key_Down)
    assert guide._pages.current_page() == TOPICS[1]
    guide.show_topic("context")
    first.setFocus()
    QTest.keyClick(first, Qt.Key.Key_Up)
    assert guide._pages.current_page() == TOPICS[-1]


def test_the_longest_topic_fits_when_it_is_chosen(qtbot: QtBot, guide: GuideDialog) -> None:
    """Its name is bold then, and wider than its hint."""
    retint(guide, LIGHT)
    name = guide.findChild(QPushButton, "page:keys")
    assert isinstance(name, QPushButton)
    bold = QFont(name.font())
    bold.setWeight(QFont.Weight.DemiBold)
    more = QFontMetrics(bold).horizontalAdvance(name.text()) - name.fontMetrics().horizontalAdvance(
        name.text()
    )
    assert more > 0
    qtbot.waitUntil(lambda: name.width() >= name.sizeHint().width() + more)


def test_an_unknown_topic_shows_the_first(guide: GuideDialog) -> None:
    """A link of another version still opens the guide."""
    guide.show_topic("of another version")
    assert guide._pages.current_page() == TOPICS[0]


def test_every_key_of_a_shortcut_has_its_own_cap(guide: GuideDialog) -> None:
    """Two keys for one command are two labels."""
    guide.show_topic("keys")
    caps = [label.text() for label in guide.findChildren(QLabel) if label.property("role") == "key"]
    assert caps == ["Enter", "F3", "Shift+F3"]
