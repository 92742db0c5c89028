"""The dialog of a handover by hand: choose, watch it being written, read and change it, hand over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QLineEdit, QPlainTextEdit, QStackedWidget, QWidget

from helix_desktop.context.errors import HelixError
from helix_desktop.ui.field import Field
from helix_desktop.ui.figures import tokens_text
from helix_desktop.ui.frame.rows import level_of
from helix_desktop.ui.handover.rows import DraftRow, Reach
from helix_desktop.ui.pill import Pill
from helix_desktop.ui.theme import LIGHT, Theme
from helix_desktop.ui.timeline.disclosure import ledger_part
from helix_desktop.ui.timeline.flow import FlowBox
from helix_desktop.ui.timeline.handover_view import duration_text
from helix_desktop.ui.timeline.rows import Phase
from helix_desktop.ui.timeline.running_view import Steps
from helix_desktop.ui.widgets import (
    Combo,
    PushButton,
    card,
    column,
    empty_layout,
    label,
    restyle,
    retint,
    row,
)

Stage: TypeAlias = Literal["choose", "writing", "draft"]
_STAGES: tuple[Stage, ...] = ("choose", "writing", "draft")

_SIZE, _SMALL, _LEAST = (780, 720), (780, 360), (520, 360)
_LEAD = (
    "A summary in six sections takes the place of older messages. Nothing is lost: it can be undone at any "
    "time, and everything that it covers can be recalled."
)
_CHOICE = 96  # pixels; the pages below may not squeeze it
_HINT = "Nothing is recorded until you hand over. Write a draft, read it, and change what you like."
_UNSAVED = "What you changed is not recorded. Press Esc again to drop it."


class HandoverDialog(QDialog):
    """Three stages in one window; what it asks for comes out as signals."""

    write_requested = Signal(str, int)  # focus, and the last event to cover (0: as far as possible)
    cancel_requested = Signal()  # of the writing
    commit_requested = Signal(str)  # the text of the six sections

    def __init__(self, parent: QWidget) -> None:
        """Ready to choose."""
        super().__init__(parent)
        self.setWindowTitle("Hand over older messages")
        self.setModal(True)
        self.resize(*_SMALL)
        self.setMinimumSize(*_LEAST)
        self._theme, self._draft = LIGHT, ""
        self._warned = False
        self.reach, self.focus = Combo(), QLineEdit()
        self.focus.setPlaceholderText("What must not be missing, for example the open questions (optional)")
        self.price = label("", "muted")
        self.price.setObjectName("handover-price")
        self.steps, self.said = Steps(), QPlainTextEdit()
        self.said.setReadOnly(True)
        self.said.setAccessibleName("What the model has written so far")
        self.editor = QPlainTextEdit()
        self.editor.setAccessibleName("The six sections, as Markdown")
        self.editor.setTabChangesFocus(True)
        self.refused = QPlainTextEdit()
        self.refused.setReadOnly(True)
        self.refused.setObjectName("refused-summary")
        self.refused.setAccessibleName("Summary not used")
        self.refused.setTabChangesFocus(True)
        self.refused.hide()
        self._figures = column(gap=8)
        self._problem = label("", "error", wrap=True)
        self._problem.hide()
        self._stages = QStackedWidget()
        for page in (self._choose_page(), self._writing_page(), self._draft_page()):
            self._stages.addWidget(page)
        self.write = PushButton("Write a draft", "primary")
        self.commit = PushButton("Hand over", "primary")
        self.leave = PushButton("Cancel")
        self._lay_out()
        self._wire()
        self._show("choose")

    @property
    def stage(self) -> Stage:
        """What it shows: the choice, the writing, or the draft."""
        return _STAGES[self._stages.currentIndex()]

    @property
    def problem(self) -> str:
        """What is told as wrong, or an empty text."""
        return "" if self._problem.isHidden() else self._problem.text()

    @property
    def changed(self) -> bool:
        """Whether the person has changed the draft."""
        return self.stage == "draft" and self.editor.toPlainText() != self._draft

    def show_reaches(self, reaches: Sequence[Reach]) -> None:
        """Offer these ranges."""
        self.reach.clear()
        for one in reaches:
            self.reach.addItem(one.text, one.upto)
        self.reach.setEnabled(len(reaches) > 1)

    def show_price(self, text: str) -> None:
        """Say what writing a draft takes, in tokens and money."""
        self.price.setText(text)

    def show_writing(self, phase: Phase, text: str = "") -> None:
        """Show how far the writing is, and what has arrived."""
        if self.stage != "writing":
            self.said.clear()
            self._show("writing")
        self.steps.set_phase(phase)
        shown = self.said.toPlainText()
        if text.startswith(shown):
            bar = self.said.verticalScrollBar()
            at_end = bar.value() >= bar.maximum() - 4
            cursor = self.said.textCursor()
            cursor.movePosition(cursor.MoveOperation.End)
            cursor.insertText(text[len(shown) :])
            if at_end:
                bar.setValue(bar.maximum())
        elif text:
            self.said.setPlainText(text)

    def show_draft(self, draft: DraftRow) -> None:
        """Let the person read and change a draft."""
        self._draft = draft.text
        self.editor.setPlainText(draft.text)
        empty_layout(self._figures)
        self._figures.addWidget(self._pills(draft))
        if draft.fallback:
            self._figures.addWidget(label(draft.fallback, "muted", wrap=True))
        if draft.ledger:
            self._figures.addWidget(ledger_part(draft.ledger, "muted"))
        self._show("draft")
        retint(self, self._theme)
        self.editor.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_refused(self, text: str) -> None:
        """Show what the model wrote that is not used; it can be asked again."""
        self.refused.setPlainText(text)
        self.refused.show()
        self.write.setText("Try again")
        if self.height() < _SIZE[1]:
            self.resize(self.width(), _SIZE[1])

    def show_choice(self) -> None:
        """Go back to the draft, or to the choice where none was written."""
        self._show("draft" if self._draft else "choose")

    def show_error(self, error: HelixError) -> None:
        """Say in place what is wrong, or why it cannot be done now; nothing typed is lost."""
        self.show_problem(error.what, error.why, error.fix)
        restyle(self._problem, "role", "error" if level_of(error) == "error" else "note")

    def show_problem(self, *words: str) -> None:
        """Say in place what is wrong; nothing typed is lost."""
        restyle(self._problem, "role", "error")
        self._problem.setText(" ".join(part for part in words if part))
        self._problem.setVisible(any(words))

    def reject(self) -> None:
        """Esc: ends the writing first; a changed draft only goes when it is pressed again."""
        if self.stage == "writing":
            self.cancel_requested.emit()
        elif self.changed and not self._warned:
            self._warned = True
            self.show_problem(_UNSAVED)
        else:
            super().reject()

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme, also for what is shown later."""
        self._theme = theme

    def _choose_page(self) -> QWidget:
        page = QWidget()
        body = column(label(_HINT, "faint", wrap=True), self.refused, None, gap=8)
        body.setStretch(1, 1)
        page.setLayout(body)
        return page

    def _writing_page(self) -> QWidget:
        page = QWidget()
        body = column(self.steps, self.said, gap=8)
        body.setStretch(1, 1)
        page.setLayout(body)
        return page

    def _draft_page(self) -> QWidget:
        page = QWidget()
        body = column(self.editor, self._figures, gap=8)
        body.setStretch(0, 1)
        page.setLayout(body)
        return page

    def _lay_out(self) -> None:
        choice = card(
            column(Field("Covers", self.reach), Field("Focus", self.focus), margins=(16, 12, 16, 13), gap=9)
        )
        choice.setMinimumHeight(_CHOICE)
        buttons = row(self.price, None, self.leave, self.write, self.commit, gap=8)
        words = column(label("Hand over older messages", "title"), label(_LEAD, "muted", wrap=True), gap=5)
        whole = column(words, choice, self._stages, self._problem, buttons, margins=(22, 20, 22, 16), gap=12)
        whole.setStretch(2, 1)
        self.setLayout(whole)

    def _wire(self) -> None:
        self.write.clicked.connect(
            lambda: self.write_requested.emit(self.focus.text().strip(), self.reach.currentData() or 0)
        )
        self.focus.returnPressed.connect(self.write.click)
        self.commit.clicked.connect(lambda: self.commit_requested.emit(self.editor.toPlainText()))
        self.leave.clicked.connect(self.reject)
        self.editor.textChanged.connect(self._edited)

    def _edited(self) -> None:
        self._warned = False
        if self._problem.text() == _UNSAVED:
            self.show_problem()

    def _show(self, stage: Stage) -> None:
        self._stages.setCurrentIndex(_STAGES.index(stage))
        if stage != "choose" and self.height() < _SIZE[1]:
            self.resize(self.width(), _SIZE[1])
        writing = stage == "writing"
        self.refused.hide()
        self.reach.setEnabled(not writing and self.reach.count() > 1)
        self.focus.setEnabled(not writing)
        self.write.setVisible(not writing)
        self.write.setText("Write it again" if stage == "draft" else "Write a draft")
        restyle(self.write, "kind", "" if stage == "draft" else "primary")
        self.commit.setVisible(stage == "draft")
        self.leave.setText("Stop writing" if writing else "Cancel")

    def _pills(self, draft: DraftRow) -> QWidget:
        change = f"{tokens_text(draft.before)} → {tokens_text(draft.after)} tokens"
        messages = f"{draft.messages:,} message{'s' if draft.messages != 1 else ''}"
        pills: list[QWidget] = [
            Pill(change, "accent", "gauge"),
            Pill(messages, glyph="message-square"),
            Pill(draft.model, "warn" if draft.fallback else "neutral", "bot"),
            Pill(duration_text(draft.duration_ms), glyph="clock"),
        ]
        return FlowBox(pills)
