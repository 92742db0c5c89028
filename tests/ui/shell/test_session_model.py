"""What the session list says of a session besides its title."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtGui import Qt
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from helix_desktop.ui.shell.sidebar.session_model import SessionModel
from helix_desktop.ui.shell.sidebar.session_rows import SessionItem


def test_why_a_session_failed_is_said_as_words(qtbot: QtBot) -> None:
    """A reason wraps in the tooltip and is no markup there; a screen reader says it too."""
    reason = "The server said <b>no</b>. " * 8
    model = SessionModel()
    failed = SessionItem("a", "Fix the parser", "Last turn failed", 0, 0.4, False, False, failure=reason)
    model.show_sessions([failed], datetime(2026, 11, 20, 15, 4))
    index = model.index_of("a")
    tooltip = index.data(Qt.ItemDataRole.ToolTipRole)
    label = QLabel(tooltip)
    qtbot.addWidget(label)
    label.setWordWrap(Qt.mightBeRichText(tooltip))  # as Qt's tooltips do
    assert label.sizeHint().width() < 600
    assert "&lt;b&gt;no" in tooltip
    assert reason in index.data(Qt.ItemDataRole.AccessibleTextRole)
