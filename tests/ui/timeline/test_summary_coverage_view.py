"""How much a summary names, as its card shows it and as a screen reader says it."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from helix_desktop.ui.design.labels import SelectableText
from helix_desktop.ui.timeline.summary_coverage_view import SummaryCoverageView


def test_it_is_no_window_before_it_has_a_place_and_is_read_with_plain_spaces(qtbot: QtBot) -> None:
    counts = "Named in text and lists: 1 of 2 files · 3 of 3 commands"
    view = SummaryCoverageView(counts)
    qtbot.addWidget(view)
    assert not view.isVisible()
    assert [text.accessibleName() for text in view.findChildren(SelectableText)] == [counts]
