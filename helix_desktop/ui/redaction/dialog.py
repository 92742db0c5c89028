"""The dialog that forgets a secret: say what, look where it stands, type the word, done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QLineEdit, QPlainTextEdit, QProgressBar, QWidget

from helix_desktop.domain.redaction.text_variants import MIN_BASE64_BYTES
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout.boxes import card, clear_layout, column, row
from helix_desktop.ui.design.themed import Themed, retint

RedactStep: TypeAlias = Literal["ask", "looking", "found", "forgetting", "done"]

CONFIRMATION_WORD = "forget"
"""What must be typed before anything is removed."""
_WIDTH, _TEXT_LINES = 560, 3
_LEAD = (
    "Removes a password, a key or any other text from this workspace: from sessions, cached outputs, "
    "summaries, drafts and logs, and from the files they are kept in. It cannot be undone."
)
_LIMITS = (
    "A provider that was sent it still has it: change the password or revoke the key there.",
    "Also finds JSON-escaped and URL-encoded forms, and Base64 from "
    f"{MIN_BASE64_BYTES} characters on. Base64 split over lines is not found.",
    "Backups and exports that were made elsewhere are not touched.",
)
_OPEN = "Agents that run in this workspace are stopped, and open sessions are read anew."


class RedactDialog(Themed, QDialog):
    """One window whose lower half follows what is known; what it asks for comes out as signals."""

    search_requested = Signal(str)
    redact_requested = Signal(str)
    cancel_requested = Signal()  # of the looking

    def __init__(self, parent: QWidget, entry_text: str = "") -> None:
        """`entry_text` describes the output to redact, with all that was shown of it."""
        super().__init__(parent)
        self.setWindowTitle("Forget")
        self.setModal(True)
        self.setFixedWidth(_WIDTH)
        self._entry_text, self._has_matches = entry_text, False
        self._step: RedactStep = "ask"
        self.text_input = QPlainTextEdit()
        self.text_input.setAccessibleName("Text to forget")
        self.text_input.setPlaceholderText(
            "Anything else to forget wherever it stands (optional)"
            if entry_text
            else "Paste the text exactly"
        )
        self.text_input.setTabChangesFocus(True)
        self.text_input.setFixedHeight(self.text_input.fontMetrics().lineSpacing() * _TEXT_LINES + 18)
        self.confirm_input = QLineEdit()
        self.confirm_input.setAccessibleName(f"Type {CONFIRMATION_WORD} to confirm")
        self.confirm_input.setPlaceholderText(f"Type {CONFIRMATION_WORD} to confirm")
        self._progress_bar = QProgressBar()
        self._progress_bar.setTextVisible(False)
        self._progress_label = label("", "muted")
        self._lines = column(gap=6)
        self._problem = label("", "error", wrap=True)
        self.search_button = PushButton("Look where it stands", "primary", name="search")
        self.redact_button = PushButton("Forget for good", "danger", name="redact")
        self.cancel_button = PushButton("Cancel", name="cancel")
        self._lay_out()
        self._connect()
        self._show("ask")

    @property
    def step(self) -> RedactStep:
        """Return how far it is."""
        return self._step

    @property
    def secret(self) -> str:
        """Return the text, without the line's end that pasting often adds."""
        return self.text_input.toPlainText().rstrip("\n")

    def show_progress(self, done: int, total: int) -> None:
        """Say how many of the cached outputs were looked through."""
        self._progress_bar.setRange(0, total)
        self._progress_bar.setValue(done)
        verb = "Removing, and looking again" if self.step == "forgetting" else "Looking"
        self._progress_label.setText(f"{verb}: {done:,} of {total:,} cached outputs")

    def show_matches(self, lines: Sequence[str], notes: Sequence[str] = ()) -> None:
        """Say where it stands; without lines it stands nowhere."""
        self._fill(lines or ["It stands nowhere in this workspace."], (*notes, *_LIMITS))
        self._has_matches = bool(lines)
        self.confirm_input.clear()
        self._show("found")
        (self.confirm_input if lines else self.cancel_button).setFocus(Qt.FocusReason.OtherFocusReason)

    def show_done(self, lines: Sequence[str]) -> None:
        """Say what was done."""
        self._fill([*lines, "The files of the workspace were written anew without it."], _LIMITS)
        self.text_input.clear()
        self._show("done")
        self.cancel_button.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_problem(self, *messages: str) -> None:
        """Show in place what is wrong, and let the user try again."""
        self._problem.setText(" ".join(part for part in messages if part))
        if any(messages):
            self._show("ask")

    def reject(self) -> None:
        """Esc: ends the looking first; the removal itself cannot be ended."""
        if self.step == "looking":
            self.cancel_requested.emit()
            self._show("ask")
        elif self.step != "forgetting":
            super().reject()

    def _fill(self, lines: Sequence[str], notes: Sequence[str]) -> None:
        clear_layout(self._lines)
        for line in lines:
            self._lines.addWidget(label(line, "strong", wrap=True))
        for note in notes:
            self._lines.addWidget(label(note, "note", wrap=True))
        retint(self, self._theme)

    def _lay_out(self) -> None:
        words = column(label("Forget for good", "title"), label(_LEAD, "muted", wrap=True), gap=5)
        what = column(gap=8)
        if self._entry_text:
            what.addWidget(
                label(f"{self._entry_text}, with everything that was shown of it", "strong", wrap=True)
            )
        what.addWidget(self.text_input)
        self._result = card(column(self._lines, margins=(14, 12, 14, 12)))
        self._warning = QWidget()
        face = row(
            IconLabel("triangle-alert", px=15, color_token="warn"), label(_OPEN, "note", wrap=True), gap=8
        )
        face.setStretch(1, 1)
        self._warning.setLayout(face)
        self._progress_area = QWidget()
        self._progress_area.setLayout(column(self._progress_label, self._progress_bar, gap=6))
        buttons = row(None, self.cancel_button, self.search_button, self.redact_button, gap=8)
        self.setLayout(
            column(
                words,
                what,
                self._progress_area,
                self._result,
                self._warning,
                self.confirm_input,
                self._problem,
                buttons,
                margins=(22, 20, 22, 16),
                gap=12,
            )
        )

    def _connect(self) -> None:
        self.search_button.clicked.connect(self._start_search)
        self.redact_button.clicked.connect(self._start_redaction)
        self.confirm_input.returnPressed.connect(self.redact_button.click)
        self.cancel_button.clicked.connect(self.reject)
        self.text_input.textChanged.connect(self._on_text_changed)
        self.confirm_input.textChanged.connect(lambda _: self._show(self.step))

    def _on_text_changed(self) -> None:
        if self.step in ("ask", "found"):  # what was found was found of another text
            self._problem.clear()
            self._show("ask")

    def _start_search(self) -> None:
        self._problem.clear()
        self.show_progress(0, 0)
        self._show("looking")
        self.search_requested.emit(self.secret)

    def _start_redaction(self) -> None:
        self._show("forgetting")
        self.show_progress(0, 0)
        self.redact_requested.emit(self.secret)

    def _show(self, step: RedactStep) -> None:
        self._step = step
        working = step in ("looking", "forgetting")
        self.text_input.setReadOnly(working)
        self.text_input.setVisible(step != "done")
        self._progress_area.setVisible(working)
        self._result.setVisible(step in ("found", "done"))
        confirming = step == "found" and self._has_matches
        self._warning.setVisible(confirming)
        self.confirm_input.setVisible(confirming)
        self.search_button.setVisible(step in ("ask", "looking"))
        self.search_button.setEnabled(step == "ask" and bool(self.secret or self._entry_text))
        self.redact_button.setVisible(confirming)
        self.redact_button.setEnabled(self.confirm_input.text().strip().lower() == CONFIRMATION_WORD)
        self._problem.setVisible(bool(self._problem.text()))
        self.cancel_button.setVisible(step != "forgetting")
        self.cancel_button.setText("Stop" if step == "looking" else "Close" if step == "done" else "Cancel")
        layout = self.layout()
        if layout is not None:
            self.setFixedHeight(max(layout.heightForWidth(_WIDTH), layout.minimumSize().height()))
