"""The page of the settings for the user's own instructions, which every agent is told."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QWidget

from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.fields import TextArea
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import column, row
from helix_desktop.ui.settings.page_layout import EditConflict, scrolling_page
from helix_desktop.words.translation import Translator

tr = Translator("Settings: Instructions")

_EDITOR_PX = 150


class InstructionsEditor(QWidget):
    """One text: a heading, the text, where it is stored, and a button that saves it."""

    save_requested = Signal(str, str)
    """The text, and the stored one that it was made of."""

    def __init__(self, name: str, title: str, placeholder: str) -> None:
        """`name` names the widgets for tests."""
        super().__init__()
        self._stored = self._edited_from = ""  # what is stored now, and what was when the user began to edit
        self._owner = ""
        self._drafts: dict[str, tuple[str, str]] = {}  # not saved, of owners not on screen; and edited from
        self.title = label(title, "strong", wrap=True)
        self.text = TextArea()
        self.text.setObjectName(f"instructions:{name}")
        self.text.setPlaceholderText(placeholder)
        self.text.setTabChangesFocus(True)
        self.text.setMinimumHeight(_EDITOR_PX)
        self.text.textChanged.connect(self._show_state)
        self.file = label("", "faint", wrap=True)
        self.save_button = PushButton(tr("Save"), name=f"save:{name}")
        self.save_button.clicked.connect(
            lambda: self.save_requested.emit(self.text.toPlainText(), self._edited_from)
        )
        self.conflict = EditConflict(f"instructions:{name}")
        self.conflict.stored_chosen.connect(self._use_stored)
        self.conflict.edit_kept.connect(self._keep_edit)
        below = row(self.file, self.save_button, gap=10)
        below.setStretch(0, 1)
        self.setLayout(column(self.title, self.text, self.conflict, below, gap=6))
        self.show_text(title, "", "")

    def show_text(self, title: str, text: str, file: str) -> None:
        """Show what is stored in a file; what the user is writing stays."""
        self.title.setText(title)
        self.text.setAccessibleName(title)
        self.file.setText(tr("Saved in {file}", file=file) if file else "")
        if self._owner in self._drafts and not self.has_changes:
            words, self._edited_from = self._drafts.pop(self._owner)
            self.text.setPlainText(words)
        self.note_stored(text)

    def note_stored(self, text: str) -> None:
        """Show what is stored now; what the user is writing stays, and one made of another text says so."""
        self._stored = text.strip()
        if self.text.toPlainText().strip() == self._edited_from and self.has_changes:
            self.text.setPlainText(self._stored)
        if not self.has_changes:
            self._edited_from = self._stored
        self._show_state()

    def show_saved(self, text: str) -> None:
        """Note that the user's text is stored now; what was typed since is made of it."""
        self._edited_from = text.strip()
        self.note_stored(text)

    @property
    def has_changes(self) -> bool:
        """True while the text is not the stored one."""
        return self.text.toPlainText().strip() != self._stored

    def show_owner(self, owner: str) -> None:
        """Make room for the text of another workspace; what is not saved waits until this one is back."""
        if owner == self._owner:
            return
        if self.has_changes:
            self._drafts[self._owner] = self.text.toPlainText(), self._edited_from
        self._stored, self._edited_from, self._owner = "", "", owner
        self.text.setPlainText("")

    def has_unsaved_edits(self) -> bool:
        """Return True if a text was edited and not saved, on screen or of another workspace."""
        return self.has_changes or bool(self._drafts)

    def _use_stored(self) -> None:
        """Show what is stored; Undo brings back what was typed."""
        self._edited_from = self._stored
        cursor = self.text.textCursor()
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(self._stored)
        self.text.setFocus()

    def _keep_edit(self) -> None:
        self._edited_from = self._stored
        self._show_state()
        self.text.setFocus()

    def _show_state(self) -> None:
        has_conflict = self.has_changes and self._edited_from != self._stored
        self.conflict.setVisible(has_conflict)
        self.save_button.setEnabled(self.has_changes and not has_conflict)


class InstructionsPage(QWidget):
    """The user's instructions for all workspaces, and for the one on screen."""

    def __init__(self) -> None:
        super().__init__()
        self.personal = InstructionsEditor(
            "personal", tr("For all workspaces"), tr("For example: answer in short sentences.")
        )
        self.workspace = InstructionsEditor(
            "workspace",
            tr("For this workspace"),
            tr("For example: run the tests after each change."),
        )
        files = label(
            tr(
                "AGENTS.md and CLAUDE.md of the workspace are sent too, those of other folders when the "
                "agent first works there. {file} lists what tools must not read.",
                file=".agentignore",
            ),
            "faint",
            wrap=True,
        )
        lead = tr(
            "Sent to every new session with its first message. Running sessions learn of a change with your "
            "next message. The context panel shows each text with its tokens."
        )
        page, _ = scrolling_page(
            tr("Instructions"), lead, column(self.personal, self.workspace, files, gap=18)
        )
        self.setLayout(column(page))

    def has_unsaved_edits(self) -> bool:
        """Return True if a text was edited and not saved."""
        return self.personal.has_unsaved_edits() or self.workspace.has_unsaved_edits()
