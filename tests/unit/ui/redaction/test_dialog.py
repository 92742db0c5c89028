"""The dialog that removes a secret says what is searched, and what is not."""

from __future__ import annotations

from base64 import b64encode, encodebytes
from urllib.parse import quote

import pytest
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.domain.redaction import Redaction, RedactionRequest
from helix_desktop.domain.text_variants import MIN_BASE64_BYTES
from helix_desktop.ui.window.redaction import RedactDialog

LONG = "a secret that is long enough to be broken into lines, as mail does with what it carries"


@pytest.mark.parametrize(
    ("statement", "data"),
    [
        (f"Base64 of texts with at least {MIN_BASE64_BYTES} characters", b64encode(LONG.encode())),
        ("Base64 split over lines isn't found", encodebytes(LONG.encode())),
        ("URL-encoded", quote(LONG).encode()),
    ],
)
def test_the_dialog_s_statements_are_true(qtbot: QtBot, statement: str, data: bytes) -> None:
    """Check each statement."""
    parent = QWidget()
    qtbot.addWidget(parent)
    dialog = RedactDialog(parent)
    dialog.show_done(["Done."], "It is still in notes.md.")
    text = " ".join(label.text() for label in dialog.findChildren(QLabel))
    assert statement in text
    assert "still in notes.md" in text
    assert Redaction(RedactionRequest(LONG), 0).matches(data) is ("isn't found" not in statement)


def test_the_dialog_says_what_stays_of_an_output_and_not_of_a_text(qtbot: QtBot) -> None:
    """An output is removed by its hash: nobody knows what in other texts means it."""
    parent = QWidget()
    qtbot.addWidget(parent)
    for entry_text in ("shell ls · 1 KB", ""):
        dialog = RedactDialog(parent, entry_text)
        dialog.show_matches(["1 output: removed permanently"])
        text = " ".join(label.text() for label in dialog.findChildren(QLabel))
        assert ("enter the text to remove it everywhere" in text) is bool(entry_text)


def test_the_dialog_is_as_high_as_its_words_and_stays_on_the_screen(qtbot: QtBot) -> None:
    """What it found makes it higher: its buttons would be below the screen."""
    parent = QWidget()
    qtbot.addWidget(parent)
    dialog = RedactDialog(parent, "shell ls · 1 KB")
    dialog.show()
    screen = dialog.screen().availableGeometry()
    dialog.move(screen.left(), screen.bottom() - dialog.frameGeometry().height())
    dialog.show_matches(["1 output: removed permanently"] * 4)
    assert dialog.frameGeometry().bottom() <= screen.bottom()
    note = next(label for label in dialog.findChildren(QLabel) if "Backups" in label.text())
    note.setText("what a style makes higher later " * 20)
    qtbot.waitUntil(lambda: note.height() >= note.heightForWidth(note.width()))
