"""The words of a row of the session list that is too narrow for them."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QApplication

from helix_desktop.ui.shell.sidebar.session_delegate import fitted_text

WORDS = "30 messages · $0.0342 · sonnet-large"


@pytest.mark.parametrize(
    ("room_for", "expected"),
    [
        (WORDS, WORDS),
        ("30 messages · $0.0342 · son…", "30 messages · $0.0342 · son…"),
        ("30 messages · $0.0342", "30 messages · $0.0342"),
        ("30 messages · $0.…", "30 messages"),
        ("30 mess…", "30 mess…"),
    ],
)
def test_a_sum_is_shown_whole_or_not_at_all(qapp: QApplication, room_for: str, expected: str) -> None:
    metrics = QFontMetricsF(qapp.font())
    assert fitted_text(WORDS, metrics, metrics.horizontalAdvance(room_for) + 0.5) == expected
