"""The dialog that forgets a secret: say what, look where it stands, type the word, done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QLineEdit, QPlainTextEdit, QProgressBar, QWidget

from helix_desktop.context.disguise import LEAST_BYTES
from helix_desktop.ui.theme import LIGHT, Theme
from helix_desktop.ui.widgets import (
    IconLabel,
    PushButton,
    card,
    column,
    empty_layout,
    label,
    retint,
    row,
)

Stage: TypeAlias = Literal["ask", "looking", "found", "forgetting", "done"]

WORD = "forget"
"""What must be typed before anything is removed."""
_WIDTH, _TEXT_LINES = 560, 3
_LEAD = (
    "Removes a password, a key or any other text from this workspace: from sessions, cached outputs, "
    "summaries, drafts and logs, and from the files they are kept in. It cannot be undone."
)
_LIMITS = (
    "A provider that was sent it still has it: change the password or revoke the key there.",
    "Also finds JSON-escaped and URL-encoded forms, and Base64 from "
    f"{LEAST_BYTES} characters on. Base64 split over lines is not found.",
    "Backups and exports that were made elsewhere are not touched.",
)
_OPEN = "Agents that run in this workspace are stopped, and open sessions are read anew."


class ForgetDialog(QDialog):
    """One window whose lower half follows what is known; what it asks for comes out as signals."""

    look_requested = Signal(str)
    forget_requested = Signal(str)
    cancel_requested = Signal()  # of the looking

    def __init__(self, parent: QWidget, chosen: str = "") -> None:
        """`chosen` describes the output that is to be forgotten with all that was shown of it."""
        super().__init__(parent)
        self.setWindowTitle("Forget")
        self.setModal(True)
        self.setFixedWidth(_WIDTH)
        self._theme, self._chosen, self._found = LIGHT, chosen, False
        self._stage: Stage = "ask"
        self.text = QPlainTextEdit()
        self.text.setAccessibleName("Text to forget")
        self.text.setPlaceholderText(
            "Anything else to forget wherever it stands (optional)" if chosen else "Paste the text exactly"
        )
        self.text.setTabChangesFocus(True)
        self.text.setFixedHeight(self.text.fontMetrics().lineSpacing() * _TEXT_LINES + 18)
        self.word = QLineEdit()
        self.word.setAccessibleName(f"Type {WORD} to confirm")
        self.word.setPlaceholderText(f"Type {WORD} to confirm")
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._doing = label("", "muted")
        self._lines = column(gap=6)
        self._problem = label("", "error", wrap=True)
        self.look = PushButton("Look where it stands", "primary")
        self.forget = PushButton("Forget for good", "danger")
        self.leave = PushButton("Cancel")
        self._lay_out()
        self._wire()
        self._show("ask")

    @property
    def stage(self) -> Stage:
        """How far it is."""
        return self._stage

    @property
    def wanted(self) -> str:
        """The text, without the line's end that pasting often adds."""
        return self.text.toPlainText().rstrip("\n")

    def show_progress(self, done: int, total: int) -> None:
        """Say how many of the cached outputs were looked through."""
        self._bar.setRange(0, total)
        self._bar.setValue(done)
        verb = "Removing, and looking again" if self.stage == "forgetting" else "Looking"
        self._doing.setText(f"{verb}: {done:,} of {total:,} cached outputs")

    def show_found(self, lines: Sequence[str], notes: Sequence[str] = ()) -> None:
        """Say where it stands; without lines it stands nowhere."""
        self._fill(lines or ["It stands nowhere in this workspace."], (*notes, *_LIMITS))
        self._found = bool(lines)
        self.word.clear()
        self._show("found")
        (self.word if lines else self.leave).setFocus(Qt.FocusReason.OtherFocusReason)

    def show_done(self, lines: Sequence[str]) -> None:
        """Say what was done."""
        self._fill([*lines, "The files of the workspace were written anew without it."], _LIMITS)
        self.text.clear()
        self._show("done")
        self.leave.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_problem(self, *words: str) -> None:
        """Say in place what is wrong, and let the person try again."""
        self._problem.setText(" ".join(part for part in words if part))
        if any(words):
            self._show("ask")

    def reject(self) -> None:
        """Esc: ends the looking first; the removal itself cannot be ended."""
        if self.stage == "looking":
            self.cancel_requested.emit()
            self._show("ask")
        elif self.stage != "forgetting":
            super().reject()

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme, also for what is shown later."""
        self._theme = theme

    def _fill(self, lines: Sequence[str], notes: Sequence[str]) -> None:
        empty_layout(self._lines)
        for line in lines:
            self._lines.addWidget(label(line, "strong", wrap=True))
        for note in notes:
            self._lines.addWidget(label(note, "note", wrap=True))
        retint(self, self._theme)

    def _lay_out(self) -> None:
        words = column(label("Forget for good", "title"), label(_LEAD, "muted", wrap=True), gap=5)
        what = column(gap=8)
        if self._chosen:
            what.addWidget(
                label(f"{self._chosen}, with everything that was shown of it", "strong", wrap=True)
            )
        what.addWidget(self.text)
        self._result = card(column(self._lines, margins=(14, 12, 14, 12)))
        self._warning = QWidget()
        face = row(IconLabel("triangle-alert", px=15, ink="warn"), label(_OPEN, "note", wrap=True), gap=8)
        face.setStretch(1, 1)
        self._warning.setLayout(face)
        self._work = QWidget()
        self._work.setLayout(column(self._doing, self._bar, gap=6))
        buttons = row(None, self.leave, self.look, self.forget, gap=8)
        self.setLayout(
            column(
                *(words, what, self._work, self._result, self._warning, self.word, self._problem, buttons),
                margins=(22, 20, 22, 16),
                gap=12,
            )
        )

    def _wire(self) -> None:
        self.look.clicked.connect(self._look)
        self.forget.clicked.connect(self._forget)
        self.word.returnPressed.connect(self.forget.click)
        self.leave.clicked.connect(self.reject)
        self.text.textChanged.connect(self._changed)
        self.word.textChanged.connect(lambda _: self._show(self.stage))

    def _changed(self) -> None:
        if self.stage in ("ask", "found"):  # what was found was found of another text
            self._problem.clear()
            self._show("ask")

    def _look(self) -> None:
        self._problem.clear()
        self.show_progress(0, 0)
        self._show("looking")
        self.look_requested.emit(self.wanted)

    def _forget(self) -> None:
        self._show("forgetting")
        self.show_progress(0, 0)
        self.forget_requested.emit(self.wanted)

    def _show(self, stage: Stage) -> None:
        self._stage = stage
        working = stage in ("looking", "forgetting")
        self.text.setReadOnly(working)
        self.text.setVisible(stage != "done")
        self._work.setVisible(working)
        self._result.setVisible(stage in ("found", "done"))
        confirming = stage == "found" and self._found
        self._warning.setVisible(confirming)
        self.word.setVisible(confirming)
        self.look.setVisible(stage in ("ask", "looking"))
        self.look.setEnabled(stage == "ask" and bool(self.wanted or self._chosen))
        self.forget.setVisible(confirming)
        self.forget.setEnabled(self.word.text().strip().lower() == WORD)
        self._problem.setVisible(bool(self._problem.text()))
        self.leave.setVisible(stage != "forgetting")
        self.leave.setText("Stop" if stage == "looking" else "Close" if stage == "done" else "Cancel")
        layout = self.layout()
        if layout is not None:
            self.setFixedHeight(max(layout.heightForWidth(_WIDTH), layout.minimumSize().height()))
