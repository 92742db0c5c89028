"""The words of a row of the session list that is too narrow for them."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QApplication

from helix_desktop.ui.shell.sidebar.session_list import fitted_text

WORDS = "over ≈ $0.0342 · 2,966 messages · From “A plan of 1999” · sonnet-4.5"


@pytest.mark.parametrize(
    ("room_for", "expected"),
    [
        (WORDS, WORDS),
        (f"{WORDS[:-5]}…", f"{WORDS[:-5]}…"),
        (WORDS.replace("99” · sonnet-4.5", "…"), WORDS.replace("1999” · sonnet-4.5", "…")),
        ("over ≈ $0.0342 · 2,966 mess…", "over ≈ $0.0342 · 2,966 mess…"),
        ("over ≈ $0.0342 · 2,9…", "over ≈ $0.0342 · …"),
        ("over ≈ $0.0342…", "over ≈ $0.0342"),
        ("over ≈ $0.…", "over ≈ …"),
    ],
)
def test_figures_are_shown_whole_and_what_is_left_out_is_marked(
    qapp: QApplication, room_for: str, expected: str
) -> None:
    metrics = QFontMetricsF(qapp.font())
    assert fitted_text(WORDS, metrics, metrics.horizontalAdvance(room_for) + 0.5) == expected
