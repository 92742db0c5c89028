"""The dialog that goes back to a message: what of, and what that would change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

import msgspec
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QRadioButton, QWidget

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.file_history.changes import RevertPlan
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.ui.changes.reverts.plan_dialog import PlanView, files_changed
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.fields import ComboBox
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import DIALOG_MARGINS, column
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.kit.forms import FieldRow, align_labels
from helix_desktop.words.errors import error_text
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

RewindPart: TypeAlias = Literal["both", "files", "conversation"]
REWIND_PARTS: tuple[RewindPart, ...] = get_args(RewindPart)
_SIZE, _MIN_SIZE = (680, 600), (480, 420)
_MESSAGE_CHARS = 90  # of a message in the list
_RANGE_CHARS = 24  # of a message that are shown at least


class RewindPoint(msgspec.Struct, frozen=True):
    """A message of the user, by its event; `messages` is how many of them go, with it."""

    seq: int
    text: str
    messages: int


class RewindDialog(SizedDialog):
    """Accepted: `part` is to go back to `seq`, with `files.choices`."""

    point_changed = Signal(int)
    """The event of the message that the user chose."""

    def __init__(self, parent: QWidget, points: Sequence[RewindPoint], seq: int) -> None:
        """Offer these messages, in the order of the chat, with that of an event chosen."""
        super().__init__(parent, _SIZE, _MIN_SIZE)
        self.setModal(True)
        self.setWindowTitle(tr("Rewind"))
        self._points = {point.seq: point for point in points}
        self._is_planned = False
        self.message_box = ComboBox()
        self.message_box.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.message_box.setMinimumContentsLength(_RANGE_CHARS)
        for point in points:
            words = ellipsize(" ".join(point.text.split()), _MESSAGE_CHARS)
            self.message_box.addItem(words or tr("Message without text"), point.seq)
        self.message_box.setCurrentIndex(max(0, self.message_box.findData(seq)))
        self.message_box.setToolTip(self.message_box.currentText())
        self.message_box.currentTextChanged.connect(self.message_box.setToolTip)
        self.message_box.currentIndexChanged.connect(lambda _: self._choose_point())
        self.buttons: dict[RewindPart, QRadioButton] = {}
        group = QButtonGroup(self)
        labels = (tr("Files and conversation"), tr("Files only"), tr("Conversation only"))
        for part, words in zip(REWIND_PARTS, labels, strict=True):
            button = QRadioButton(words)
            button.setObjectName(f"rewind-{part}")
            group.addButton(button)
            self.buttons[part] = button
        self.files = PlanView()
        self._conversation_note = label("", "muted", wrap=True)
        self._conversation_note.setObjectName("rewind-messages")
        self._files_note = label("", "muted", wrap=True)
        self._files_note.setObjectName("rewind-files")
        self.rewind_button = PushButton(tr("Rewind"), "primary", "rewind", name="rewind")
        self.rewind_button.setDefault(True)
        self.rewind_button.clicked.connect(self.accept)
        self._lay_out()
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

    def _lay_out(self) -> None:
        lead = tr(
            "Go back to just before a message. Nothing is lost: the conversation continues as a branch, and "
            "the files can be put back."
        )
        words = column(label(tr("Rewind"), "title"), label(lead, "muted", wrap=True), gap=5)
        cancel = PushButton(tr("Cancel"), name="cancel")
        cancel.clicked.connect(self.reject)
        parts = FlowBox(list(self.buttons.values()))
        buttons = FlowBox([cancel, self.rewind_button], right_from=0)
        layout = column(
            words,
            *align_labels(FieldRow(tr("Before"), self.message_box)),
            parts,
            self._conversation_note,
            self._files_note,
            self.files,
            None,
            buttons,
            margins=DIALOG_MARGINS,
            gap=12,
        )
        layout.setStretch(5, 100)
        self.setLayout(layout)

    def _choose_point(self) -> None:
        self._is_planned = False
        self._update()
        self.point_changed.emit(self.seq)

    def _update(self) -> None:
        messages = self._points[self.seq].messages if self.seq in self._points else 0
        self._conversation_note.setText(
            tr.plural(
                messages,
                "%n of your messages leaves the conversation. It returns to the message input.",
                "%n of your messages leave the conversation. The first returns to the message input.",
            )
        )
        self._conversation_note.setVisible(self.part != "files")
        with_files = self.part != "conversation"
        count = files_changed(self.files.plan, self.files.choices)
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
