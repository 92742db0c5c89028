"""The dialog to compact a conversation: choose, watch the handover being written, edit it, compact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from PySide6.QtCore import Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from helix_desktop.domain.errors import HelixError
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.fields import TextField
from helix_desktop.ui.design.form_field import FormField, align_labels
from helix_desktop.ui.design.labels import label, show_text
from helix_desktop.ui.design.layout.boxes import DIALOG_MARGINS, card, column
from helix_desktop.ui.design.layout.fitted_stack import FittedStack
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.shell_data import error_level
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.design.themed import Themed, restyle, retint
from helix_desktop.ui.handover.dialog_data import WHOLE_CONVERSATION, DraftRow, HandoverRange, compact_purpose
from helix_desktop.ui.handover.draft_page import DraftPage
from helix_desktop.ui.handover.range_box import RangeBox
from helix_desktop.ui.timeline.card_data import Phase
from helix_desktop.ui.timeline.running_view import PhaseSteps
from helix_desktop.words.errors import error_text
from helix_desktop.words.translation import Translator

tr = Translator("Compact")

HandoverStep: TypeAlias = Literal["choose", "writing", "draft"]
_STEPS: tuple[HandoverStep, ...] = ("choose", "writing", "draft")

_SIZE, _SMALL, _MIN_SIZE = (780, 720), (780, 260), (520, 260)
_CHOICE_PX = 96  # pixels; the pages below may not squeeze it


class HandoverDialog(Themed, SizedDialog):
    """Three stages in one window; what it asks for comes out as signals."""

    write_requested = Signal(str, int)  # focus, and the last event to cover (0: as far as possible)
    cancel_requested = Signal()  # of the writing
    commit_requested = Signal(str)  # the text of the six sections
    redo_requested = Signal()  # of the undone summary of the range

    def __init__(self, parent: QWidget, former_title: str = "") -> None:
        """Start with the choice; `former_title` is that of the handover that is written again."""
        super().__init__(parent, _SMALL, _MIN_SIZE)
        self.setModal(True)
        self._title, self._lead = label("", "title"), label("", "muted", wrap=True)
        self._hint, self._gain = label("", "faint", wrap=True), label("", "note", wrap=True)
        self._gain.setObjectName("gain-warning")
        self._gain.hide()
        self._draft, self._former_title = "", former_title
        self._draft_range: HandoverRange | None = None  # that the draft covers
        self._is_committing = False
        self.range_box, self.focus_input = (
            RangeBox(),
            TextField(tr("What to keep, for example open questions (optional)")),
        )
        self.estimate_label = label("", "muted")
        self.estimate_label.setObjectName("handover-price")
        self.phase_steps, self.model_output = PhaseSteps(), QPlainTextEdit()
        self.model_output.setReadOnly(True)
        self.model_output.setAccessibleName(tr("Text from the model"))
        self.draft_page = DraftPage()
        self.editor = self.draft_page.editor
        self._problem = label("", "error", wrap=True)
        self._problem.hide()
        pages = []
        choice = column(self._hint, self._gain, gap=8)
        choice.addStretch(0)
        for body in (choice, column(self.phase_steps, self.model_output, gap=8)):
            page = QWidget()
            body.setStretch(1, 1)
            page.setLayout(body)
            pages.append(page)
        self._pages = FittedStack(*pages, self.draft_page)
        self.draft_button = PushButton(tr("Write draft"), "primary", name="write_draft")
        self.redo_button = PushButton("", "primary", name="redo_handover")
        self.commit_button = PushButton(tr("Compact"), "primary", name="hand_over")
        self.cancel_button = PushButton(tr("Cancel"), name="cancel")
        self._lay_out()
        self._connect()
        self._show_purpose()
        self._show("choose")

    @property
    def step(self) -> HandoverStep:
        """Return what it shows: the choice, the writing, or the draft."""
        return _STEPS[self._pages.currentIndex()]

    @property
    def problem(self) -> str:
        """Return the problem that is shown, or an empty text."""
        return "" if self._problem.isHidden() else self._problem.text()

    @property
    def is_outdated(self) -> bool:
        """Return True if the draft covers another range than the chosen one."""
        drafted = self._draft_range
        return drafted is not None and drafted.upto != self._upto

    @property
    def _upto(self) -> int:
        return int(self.range_box.currentData() or 0)

    def show_ranges(self, ranges: Sequence[HandoverRange]) -> None:
        """Offer these ranges."""
        self.range_box.show_ranges(ranges)

    def _show_purpose(self) -> None:
        """Say what becomes of the handover: it replaces messages here, or another session starts with it."""
        purpose = compact_purpose(self._upto == WHOLE_CONVERSATION, self._former_title)
        self.setWindowTitle(purpose.title)
        self._title.setText(purpose.title)
        self._lead.setText(purpose.lead)
        self._hint.setText(purpose.hint)
        self.commit_button.setText(purpose.commit)

    def show_estimate(self, text: str) -> None:
        """Show what writing a draft takes, in tokens and money."""
        self.estimate_label.setText(text)

    def show_gain_warning(self, *, is_shown: bool) -> None:
        """Say that the chosen range may free little; whether to compact it is up to the user."""
        words = tr("This range may free little, or less than the summary takes. The draft shows its figures.")
        self._gain.setText(words if is_shown else "")
        self._gain.setVisible(is_shown)

    def show_undone_summary(self, time: str) -> None:
        """Offer the undone summary of the range that was made at this time; empty: there is none."""
        self.redo_button.setText(tr("Use summary of {time}: no request", time=time) if time else "")
        self._show_buttons()

    def show_writing(self, phase: Phase, text: str = "") -> None:
        """Show how far the writing is, and what has arrived."""
        if self.step != "writing":
            self.model_output.clear()
            self._show("writing")
        self.phase_steps.set_phase(phase)
        current_text = self.model_output.toPlainText()
        if text.startswith(current_text):
            bar = self.model_output.verticalScrollBar()
            at_end = bar.value() >= bar.maximum() - 4
            cursor = self.model_output.textCursor()
            cursor.movePosition(cursor.MoveOperation.End)
            cursor.insertText(text[len(current_text) :])
            if at_end:
                bar.setValue(bar.maximum())
        elif text:
            self.model_output.setPlainText(text)

    def show_draft(self, draft: DraftRow) -> None:
        """Let the user read and change a draft of the chosen range."""
        self._draft = draft.text
        self._draft_range = HandoverRange(self._upto, self.range_box.currentText())
        self.draft_page.show_draft(draft)
        self._show("draft")
        retint(self, self._theme)
        self.draft_page.focus_text()

    def show_saved_draft(self, draft: DraftRow, upto: int, text: str, focus: str) -> None:
        """Show a draft that was saved when the user left it, with their own text."""
        self.range_box.setCurrentIndex(self.range_box.findData(upto))
        self.focus_input.setText(self.focus_input.text() or focus)
        self.show_draft(draft)
        self.editor.setPlainText(text)

    def show_committing(self, *, is_committing: bool) -> None:
        """Let nothing be pressed twice while the draft is put in place."""
        self._is_committing = is_committing
        self._show_buttons()

    def show_choice(self) -> None:
        """Go back to the draft, or to the choice where none was written."""
        self._show("draft" if self._draft else "choose")

    def show_error(self, error: HelixError) -> None:
        """Show in place what is wrong, or why it cannot be done now; nothing typed is lost."""
        self.show_problem(error_text(error))
        restyle(self._problem, "role", "error" if error_level(error) == "error" else "note")

    def show_problem(self, message: str = "") -> None:
        """Show in place what is wrong; nothing typed is lost."""
        restyle(self._problem, "role", "error")
        show_text(self._problem, message)

    def reject(self) -> None:
        """Stop the writing first; a draft is kept as it stands."""
        if self.step == "writing":
            self.cancel_requested.emit()
        else:
            super().reject()

    def _lay_out(self) -> None:
        choice = card(
            column(
                *align_labels(
                    FormField(tr("Range"), self.range_box), FormField(tr("Focus"), self.focus_input)
                ),
                margins=(16, 12, 16, 13),
                gap=9,
            )
        )
        choice.setMinimumHeight(_CHOICE_PX)
        buttons = FlowBox(
            [
                *(self.estimate_label, self.cancel_button),
                *(self.draft_button, self.redo_button, self.commit_button),
            ],
            right_from=1,
        )
        words = column(self._title, self._lead, gap=5)
        layout = column(words, choice, self._pages, self._problem, buttons, margins=DIALOG_MARGINS, gap=12)
        layout.setStretch(2, 1)
        self.setLayout(layout)

    def _connect(self) -> None:
        self.draft_button.clicked.connect(
            lambda: self.write_requested.emit(self.focus_input.text().strip(), self._upto)
        )
        self.range_box.currentTextChanged.connect(self.range_box.setToolTip)
        self.range_box.currentIndexChanged.connect(lambda _: self._on_range_changed())
        self.draft_page.range_requested.connect(self._choose_range_of_draft)
        self.focus_input.returnPressed.connect(self.draft_button.click)
        self.redo_button.clicked.connect(self.redo_requested)
        self.commit_button.clicked.connect(lambda: self.commit_requested.emit(self.editor.toPlainText()))
        self.cancel_button.clicked.connect(self.reject)
        for keys in ("Ctrl+Return", "Ctrl+Enter"):
            QShortcut(QKeySequence(keys), self, self._press_primary)
        self.editor.textChanged.connect(self._edited)

    def _on_range_changed(self) -> None:
        self._show_purpose()
        self._show_buttons()

    def _choose_range_of_draft(self) -> None:
        if self._draft_range is not None:
            self.range_box.setCurrentIndex(self.range_box.findData(self._draft_range.upto))
            self.draft_page.focus_text()

    def _press_primary(self) -> None:
        """Press the highlighted button of the step; there is none while a draft is written."""
        buttons = (self.commit_button, self.redo_button, self.draft_button)
        primary = next((button for button in buttons if button.isVisible() and button.isEnabled()), None)
        if primary is not None and not self._is_committing:
            primary.click()

    def _edited(self) -> None:
        if self.problem:
            self.show_problem()

    def _show(self, step: HandoverStep) -> None:
        self._pages.setCurrentIndex(_STEPS.index(step))
        writing = step == "writing"
        self.range_box.setEnabled(not writing and self.range_box.count() > 1)
        self.focus_input.setEnabled(not writing)
        self._show_buttons()
        self.cancel_button.setText(tr("Stop") if writing else tr("Cancel"))
        self.fit_height((_SMALL if step == "choose" else _SIZE)[1])

    def _show_buttons(self) -> None:
        """Show the buttons of the step; the first of those that lead on is the marked one."""
        step, is_outdated = self.step, self.is_outdated
        has_summary = step == "choose" and bool(self.redo_button.text())
        has_commit = step == "draft" and not is_outdated
        self.draft_button.setVisible(step != "writing")
        self.draft_button.setEnabled(not self._is_committing)
        self.draft_button.setText(tr("Write again") if step == "draft" else tr("Write draft"))
        restyle(self.draft_button, "kind", "" if has_commit or has_summary else "primary")
        self.redo_button.setVisible(has_summary)
        self.commit_button.setVisible(step == "draft")
        self.commit_button.setEnabled(not (is_outdated or self._is_committing))
        restyle(self.commit_button, "kind", "" if is_outdated else "primary")
        self.commit_button.setToolTip(_other_range_text() if is_outdated else tr("Ctrl+Enter", "keys"))
        drafted = self._draft_range if is_outdated else None
        self.draft_page.show_other_range(drafted.text if drafted is not None else "")


def _other_range_text() -> str:
    return tr("The draft covers another range. Write it again, or go back to its range.")
