"""The page of the context policy: a slider, the session replayed under it, and the numbers of its story."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QWidget

from helix_desktop.context.policy import ContextPolicy
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import card, column
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.design.themed import Themed
from helix_desktop.ui.kit.forms import Form
from helix_desktop.ui.settings.page_layout import scrolling_page
from helix_desktop.ui.settings.policy.apply_bar import ApplyBar, PolicyUse
from helix_desktop.ui.settings.policy.form import POLICY, PolicyValues
from helix_desktop.ui.settings.policy.replay_card import ReplayCard
from helix_desktop.ui.settings.policy.slider import PolicySlider
from helix_desktop.words.translation import Translator

tr = Translator("Settings: Policy")


class PolicyPage(Themed, QWidget):
    """The context policy of a session and its workspace: previewed here, then applied or discarded."""

    open_requested = Signal()
    """The policy file is to be opened in an editor."""
    replace_requested = Signal()
    """The policy file is to be replaced by the policy in use."""
    visibility_changed = Signal(bool)

    def __init__(self) -> None:
        """Start without a policy."""
        super().__init__()
        self.slider, self.replay_card = PolicySlider(), ReplayCard()
        self.values = PolicyValues()
        self.form, self.apply_bar = Form(POLICY, self.values, gap=12), ApplyBar(self.slider.track)
        self._file_error = label("", "error", wrap=True)
        self._file_card = self._error_card()
        open_file = PushButton(
            tr("Open policy.toml"), "link", "external-link", px=13, name="open_policy_file"
        )
        open_file.setToolTip(tr("All numbers of the policy. They count as soon as the file is saved."))
        open_file.clicked.connect(self.open_requested)
        words = label(tr("These numbers change most. The file has all of them."), "faint", wrap=True)
        file_row = ResponsiveRow(words, [open_file])
        head = card(column(self.slider, margins=(16, 13, 16, 14)))
        self._of_workspace = QWidget()
        self._of_workspace.setLayout(
            column(self._file_card, head, self.replay_card, file_row, self.form, gap=12)
        )
        page, self._lead = scrolling_page(tr("Context policy"), " ", column(self._of_workspace))
        self.setLayout(column(page, self.apply_bar, gap=0))
        self.show_no_workspace()

    def _error_card(self) -> QFrame:
        open_file, replace = (
            PushButton(tr("Open file"), name="open_file"),
            PushButton(tr("Replace file"), name="replace_file"),
        )
        open_file.clicked.connect(self.open_requested)
        replace.clicked.connect(self.replace_requested)
        replace.setToolTip(tr("Overwrite the file with the policy in use. A copy of the file is kept."))
        note = label(tr("The previous policy stays in use until you fix the file."), "note", wrap=True)
        parts = (self._file_error, note, FlowBox([open_file, replace]))
        framed = card(column(*parts, margins=(16, 13, 16, 14), gap=7))
        framed.setObjectName("policy_file_error")
        framed.hide()
        return framed

    def show_file_error(self, message: str) -> None:
        """Say what is wrong with the policy file; an empty text takes it away."""
        self._file_error.setText(join_sentences(tr("The policy file has an error."), message))
        self._file_card.setVisible(bool(message))

    def show_no_workspace(self) -> None:
        """Offer nothing: each workspace has a policy of its own."""
        self._lead.setText(tr("Open a workspace to see its policy."))
        for part in (self._of_workspace, self.apply_bar):
            part.hide()

    def show_policy(self, workspace_name: str, policy: ContextPolicy, use: PolicyUse) -> None:
        """Show a policy, and where it is or may be in use."""
        self._lead.setText(
            tr(
                "What leaves the context in {workspace}, and when. Changes apply from the next request.",
                workspace=workspace_name,
            )
        )
        self.slider.show_policy(policy)
        self.values.use(policy)
        self.form.setEnabled(policy.enabled)
        self.apply_bar.show_use(use)
        for part in (self._of_workspace, self.apply_bar):
            part.show()

    def show_effects(self, effects: Mapping[str, str]) -> None:
        """Say at each number what it does to the session on screen; those without a text say nothing."""
        for name, line in self.form.rows.items():
            line.show_note(effects.get(name, ""))

    def showEvent(self, event: QShowEvent) -> None:
        """Say that the page is in sight: only then sessions are replayed."""
        super().showEvent(event)
        self.visibility_changed.emit(True)

    def hideEvent(self, event: QHideEvent) -> None:
        """Say that the page is out of sight."""
        super().hideEvent(event)
        self.visibility_changed.emit(False)
