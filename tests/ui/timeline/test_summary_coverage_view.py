"""How much a summary names, as its card shows it and as a screen reader says it."""

from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from helix_desktop.ui.design.labels import SelectableText
from helix_desktop.ui.design.layout.disclosure import DisclosureHead
from helix_desktop.ui.timeline.summary_coverage_view import SummaryCoverageView
from helix_desktop.words.summary_coverage import MissingText


def test_it_is_no_window_before_it_has_a_place_and_is_read_with_plain_spaces(qtbot: QtBot) -> None:
    counts = "Named in text and lists: 1 of 2 files · 3 of 3 commands"
    view = SummaryCoverageView(counts)
    qtbot.addWidget(view)
    assert not view.isVisible()
    assert [text.accessibleName() for text in view.findChildren(SelectableText)] == [counts]


def test_what_is_missing_stays_open_while_the_summary_grows(qtbot: QtBot) -> None:
    view = SummaryCoverageView(is_folded=True)
    qtbot.addWidget(view)
    view.show_coverage("1 of 2 files", MissingText("Added below it", (("Files", "a.py"),)))
    assert [text.text() for text in view.findChildren(SelectableText)] == ["1 of 2 files"]
    (head,) = view.findChildren(DisclosureHead)
    assert head.full_text() == "Added below it · Files"
    head.click()
    view.show_coverage("1 of 3 files", MissingText("Added below it", (("Files", "a.py · b.py"),)))
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    assert [text.text() for text in view.findChildren(SelectableText)] == [
        "1 of 3 files",
        "Files",
        "a.py · b.py",
    ]
