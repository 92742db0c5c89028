"""The dialog of a rewind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QRadioButton, QWidget

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.file_history.changes import (
    RevertPlan,
)
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.ui.changes.reverts.plan_dialog import PlanView
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.choice_fields import ComboBox
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout import (
    DIALOG_MARGINS,
    FlowBox,
    column,
)
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.kit.forms import FieldRow, align_labels
from helix_desktop.words.translation import Translator, error_text

tr = Translator("Changes")


RewindPart: TypeAlias = Literal["both", "files", "conversation"]
_SIZE = (680, 600)
_LEAST_SIZE = (480, 420)
_MESSAGE_CHARS = 90  # of a message in the list
_RANGE_CHARS = 24  # of a message that are shown at least


class RewindDialog(SizedDialog):
    """Accepted: `part` is to go back to `seq`, with `files.choices`."""

    point_changed = Signal(int)
    """The event of the message that the user chose."""

    def __init__(self, parent: QWidget, messages: Mapping[int, str], seq: int) -> None:
        """Offer the user's newest messages, by event in the order of the chat, with one chosen."""
        super().__init__(parent, tr("Rewind"), _SIZE, _LEAST_SIZE)
        self._is_planned = False
        self.message_box = ComboBox(least_chars=_RANGE_CHARS)
        for event, message in messages.items():
            shown = ellipsize(" ".join(message.split()), _MESSAGE_CHARS)
            self.message_box.addItem(shown or tr("Message without text"), event)
        self.message_box.setCurrentIndex(max(0, self.message_box.findData(seq)))
        self.message_box.setToolTip(self.message_box.currentText())
        self.message_box.currentTextChanged.connect(self.message_box.setToolTip)
        self.message_box.currentIndexChanged.connect(lambda _: self._choose_point())
        self.buttons: dict[RewindPart, QRadioButton] = {}
        group = QButtonGroup(self)
        labels: dict[RewindPart, str] = {
            "both": tr("Files and conversation"),
            "files": tr("Files only"),
            "conversation": tr("Conversation only"),
        }
        for part, verb in labels.items():
            button = QRadioButton(verb)
            button.setObjectName(f"rewind-{part}")
            group.addButton(button)
            self.buttons[part] = button
        self.files = PlanView()
        self._conversation_note = label("", "muted", wrap=True, name="rewind-messages")
        self._files_note = label("", "muted", wrap=True, name="rewind-files")
        self.rewind_button = PushButton(tr("Rewind"), "primary", "rewind", name="rewind")
        self.rewind_button.setDefault(True)
        self.rewind_button.clicked.connect(self.accept)
        lead = tr(
            "Go back to just before a message. Nothing is lost: the conversation continues as a branch, and "
            "the files can be put back."
        )
        words = column(label(tr("Rewind"), "title"), label(lead, "muted", wrap=True), gap=5)
        cancel = PushButton(tr("Cancel"), name="cancel", on_click=self.reject)
        parts = FlowBox(list(self.buttons.values()))
        buttons = FlowBox([cancel, self.rewind_button], right_from=0)
        before = FieldRow(tr("Before"), self.message_box)
        notes = (self._conversation_note, self._files_note)
        align_labels(before)
        layout = column(
            words, before, parts, *notes, self.files, None, buttons, margins=DIALOG_MARGINS, gap=12
        )
        layout.setStretch(5, 100)
        self.setLayout(layout)
        self.buttons["both"].setChecked(True)
        self.files.changed.connect(self._update)
        group.buttonToggled.connect(lambda *_: self._update())
        self._update()

    @property
    def seq(self) -> int:
        return int(self.message_box.currentData() or 0)

    @property
    def part(self) -> RewindPart:
        return next((part for part, button in self.buttons.items() if button.isChecked()), "both")

    def show_plan(self, plan: RevertPlan) -> None:
        self._is_planned = True
        self.files.show_plan(plan)
        self._update()

    def show_error(self, error: HelixError) -> None:
        """Say why the files can't go back; the conversation still can."""
        self._is_planned = True
        self.files.show_plan(RevertPlan(()))
        for part in ("both", "files"):
            self.buttons[part].setEnabled(False)
        self.buttons["conversation"].setChecked(True)
        self._update()
        self._files_note.setText(error_text(error))
        self._files_note.show()

    def _choose_point(self) -> None:
        self._is_planned = False
        self._update()
        self.point_changed.emit(self.seq)

    def _update(self) -> None:
        messages = self.message_box.count() - self.message_box.currentIndex()
        self._conversation_note.setText(
            tr.plural(
                messages,
                "%n of your messages leaves the conversation. It returns to the message input.",
                "%n of your messages leave the conversation. The first returns to the message input.",
            )
        )
        self._conversation_note.setVisible(self.part != "files")
        with_files = self.part != "conversation"
        count = len(self.files.plan.counted_changes(self.files.choices))
        if not self._is_planned:
            self._files_note.setText(tr("Looking at the files…"))
        elif count:
            self._files_note.setText(tr.plural(count, "%n file goes back.", "%n files go back."))
        else:
            self._files_note.setText(tr("No file goes back."))
        self._files_note.setVisible(with_files)
        self.files.setVisible(with_files and bool(self.files.plan.files))
        can_rewind = bool(count) if self.part == "files" else True
        self.rewind_button.setEnabled(can_rewind and (self._is_planned or not with_files))
