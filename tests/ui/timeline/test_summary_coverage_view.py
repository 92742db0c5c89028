"""How much a summary names, as its card shows it and as a screen reader says it."""

from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from helix_desktop.ui.design.labels import SelectableText
from helix_desktop.ui.design.layout.disclosure import DisclosureHead
from helix_desktop.ui.timeline.summary_coverage_view import SummaryCoverageView
from helix_desktop.words.summary_coverage import MissingText

_COUNTS = MissingText("Added below it", (("Files", "a.py"),))


def test_it_is_no_window_before_it_has_a_place_and_is_read_with_plain_spaces(qtbot: QtBot) -> None:
    view = SummaryCoverageView(_COUNTS)
    qtbot.addWidget(view)
    assert not view.isVisible()
    assert view.accessibleName() == _COUNTS.text


def test_what_is_missing_stays_open_while_the_summary_grows(qtbot: QtBot) -> None:
    view = SummaryCoverageView(is_folded=True)
    qtbot.addWidget(view)
    view.show_missing(_COUNTS)
    assert not view.findChildren(SelectableText)
    (head,) = view.findChildren(DisclosureHead)
    assert head.full_text() == "Added below it · Files"
    head.click()
    view.show_missing(MissingText("Added below it", (("Files", "a.py · b.py"),)))
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    assert [text.text() for text in view.findChildren(SelectableText)] == ["Files", "a.py · b.py"]
