"""What stands below the policy page: which policy is in use, and what becomes of the one on the page."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import column, line
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.settings.page_layout import page_column
from helix_desktop.words.translation import Translator

tr = Translator("Settings: Policy")


class PolicyUse(msgspec.Struct, frozen=True):
    """Which policies are in use, by name, and where the one on the page differs.

    `session_policy` is empty without one; `has_session` is False without a session that can have
    one. `is_edited`: the page has changes that are applied nowhere.
    """

    workspace_policy: str
    session_policy: str = ""
    has_session: bool = False
    is_edited: bool = False
    differs_from_session: bool = False
    differs_from_workspace: bool = False


class ApplyBar(QWidget):
    apply_to_session = Signal()
    apply_to_workspace = Signal()
    discarded = Signal()
    session_policy_removed = Signal()

    def __init__(self, fallback: QWidget) -> None:
        """`fallback` gets the keyboard of a button that can't be used any more."""
        super().__init__()
        self._fallback = fallback
        self._text = label("", "muted", wrap=True)
        self._text.setObjectName("policy_in_use")
        self.use_workspace = PushButton(tr("Use workspace policy"), name="use_workspace_policy")
        self.use_workspace.setToolTip(tr("This session follows the workspace again"))
        self.discard = PushButton(tr("Discard"), name="discard_policy")
        self.workspace = PushButton(tr("Apply to workspace"), name="apply_to_workspace")
        self.session = PushButton(tr("Apply to this session"), "primary", name="apply_to_session")
        self.session.setToolTip(tr("Only this session, the subagents it starts, and branches of it"))
        for button, signal in (
            (self.use_workspace, self.session_policy_removed),
            (self.discard, self.discarded),
            (self.workspace, self.apply_to_workspace),
            (self.session, self.apply_to_session),
        ):
            button.clicked.connect(signal)
        self._buttons = (self.use_workspace, self.discard, self.workspace, self.session)
        words = ResponsiveRow(self._text, self._buttons, 180)
        self.setLayout(column(line(), page_column(column(words, margins=(28, 10, 28, 12))), gap=0))

    def show_use(self, use: PolicyUse) -> None:
        """Show another state; no other button gets the keyboard of one that can't be used any more.

        Its neighbor does the opposite, and is pressed by the second of two Spaces.
        """
        focused = next((button for button in self._buttons if button.hasFocus()), None)
        self._text.setText(_use_text(use))
        self.use_workspace.setVisible(bool(use.session_policy) and not use.is_edited)
        self.discard.setVisible(use.is_edited)
        self.session.setVisible(use.has_session)
        self.session.setEnabled(use.differs_from_session)
        self.workspace.setEnabled(use.differs_from_workspace)
        self.workspace.setToolTip(
            tr("All sessions of the workspace but this one, which keeps its own policy")
            if use.session_policy
            else tr("All sessions of the workspace without a policy of their own")
        )
        if focused is not None and (focused.isHidden() or not focused.isEnabled()):
            self._fallback.setFocus()

    def text(self) -> str:
        return self._text.text()


def _use_text(use: PolicyUse) -> str:
    if use.is_edited:
        return tr("Preview. Nothing changes until you apply it.")
    if use.session_policy and not use.differs_from_workspace:
        return tr("In use: {policy}, set for this session too.", policy=use.session_policy)
    if use.session_policy:
        return tr(
            "This session: {session}. Workspace: {workspace}.",
            session=use.session_policy,
            workspace=use.workspace_policy,
        )
    return tr("In use: {workspace}, in the whole workspace.", workspace=use.workspace_policy)
