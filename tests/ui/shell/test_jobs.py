"""The lines of running jobs: two share a line by what their words need."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from helix_desktop.ui.design.labels import ElidedLabel
from helix_desktop.ui.window.status_lines import JobAction, JobLines, JobRow

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
