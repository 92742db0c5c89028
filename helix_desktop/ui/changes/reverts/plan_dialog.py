"""What a revert would do where files were changed since: a choice for each of them."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from helix_desktop.domain.file_history.changes import RevertPlan
from helix_desktop.ui.changes.reverts.plan_texts import (
    files_changed,
    plan_lead,
    plan_title,
    revert_button_text,
)
from helix_desktop.ui.changes.reverts.plan_view import PlanView
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import DIALOG_MARGINS, column
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

_SIZE, _MIN_SIZE = (700, 520), (460, 320)


class PlanDialog(SizedDialog):
    """Accepted: the plan is to be carried out with `files.choices`."""

    merge_requested = Signal(str)
    """The path of a file that the user wants to merge by hand."""

    def __init__(self, parent: QWidget, plan: RevertPlan) -> None:
        super().__init__(parent, _SIZE, _MIN_SIZE)
        self.setModal(True)
        self.setWindowTitle(plan_title(plan))
        self.files = PlanView()
        self.files.changed.connect(self._update_button)
        self.files.merge_requested.connect(self.merge_requested)
        self.revert_button = PushButton("", "primary", name="revert")
        self.revert_button.clicked.connect(self.accept)
        cancel = PushButton(tr("Cancel"), name="cancel")
        cancel.clicked.connect(self.reject)
        words = column(
            label(plan_title(plan), "title", wrap=True), label(plan_lead(plan), "muted", wrap=True), gap=5
        )
        buttons = FlowBox([cancel, self.revert_button], right_from=0)
        layout = column(words, self.files, buttons, margins=DIALOG_MARGINS, gap=12)
        layout.setStretch(1, 1)
        self.setLayout(layout)
        self.files.show_plan(plan)

    def _update_button(self) -> None:
        count = files_changed(self.files.plan, self.files.choices)
        self.revert_button.setText(revert_button_text(self.files.plan, count))
        self.revert_button.setEnabled(count > 0)
