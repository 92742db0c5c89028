"""The page of the settings for the user's own instructions, which every agent is told, and for skills."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QVBoxLayout, QWidget

from helix_desktop.domain.skills import SKILLS_SHARE
from helix_desktop.domain.slash_command import SLASH
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.services.prompt_files import PromptCatalog
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout import card, clear_layout, column, pane, row
from helix_desktop.ui.design.text_fields import TextArea
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.settings.page_layout import EditConflict, scrolling_page
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Instructions")

_EDITOR_PX = 150
_MAX_SKILL_ROWS = 100
_DESCRIPTION_CHARS = 240  # of one that are shown


class InstructionsEditor(QWidget):
    """One text: a heading, the text, where it is stored, and a button that saves it.

    It is the text of all workspaces, or of one: `_owner` is that one's id.
    """

    def __init__(self, session: Session, name: str, title: str, placeholder: str) -> None:
        super().__init__()
        self._own = session.app.user_instructions
        self._stored = self._edited_from = ""  # what is stored now, and what was when the user began to edit
        self._owner = ""
        self._drafts: dict[str, tuple[str, str]] = {}  # not saved, of owners not on screen; and edited from
        self.title = label(title, "strong", wrap=True)
        self.text = TextArea(placeholder=placeholder)
        self.text.setObjectName(f"instructions:{name}")
        self.text.setMinimumHeight(_EDITOR_PX)
        self.text.textChanged.connect(self._show_state)
        self.file = label("", "faint", wrap=True)
        self.save_button = PushButton(tr("Save"), name=f"save:{name}")
        start = session.start
        self.save_button.clicked.connect(lambda: start(self._save(), "save instructions"))
        self.conflict = EditConflict(f"instructions:{name}", self._use_stored, self._keep_edit)
        below = row(self.file, self.save_button, gap=10, stretch=0)
        self.setLayout(column(self.title, self.text, self.conflict, below, gap=6))
        self.text.setAccessibleName(title)
        self._show_state()

    async def refresh(self, title: str, owner: str = "") -> None:
        """Show the stored text of an owner; what the user is writing stays. Raises HelixError."""
        if owner != self._owner:
            if self.has_changes:  # waits until that workspace is back
                self._drafts[self._owner] = self.text.toPlainText(), self._edited_from
            self._stored, self._edited_from, self._owner = "", "", owner
            self.text.setPlainText("")
        text = await self._own.read(owner)
        if owner != self._owner:  # another workspace is on screen by now
            return
        self.title.setText(title)
        self.text.setAccessibleName(title)
        self.file.setText(tr("Saved in {file}", file=str(self._own.path(owner))))
        if owner in self._drafts and not self.has_changes:
            words, self._edited_from = self._drafts.pop(owner)
            self.text.setPlainText(words)
        self._show_stored(text)

    async def _save(self) -> None:
        """Save the text, unless another one was saved since the user began to edit it: the user decides."""
        text, edited_from, owner = self.text.toPlainText(), self._edited_from, self._owner
        stored = (await self._own.read(owner)).strip()
        is_replaceable = stored in (edited_from, text.strip())
        if is_replaceable:
            await self._own.save(text, owner)
            stored = text.strip()
        if owner == self._owner:
            if is_replaceable:
                self._edited_from = stored  # what was typed since is made of it
            self._show_stored(stored)

    def _show_stored(self, text: str) -> None:
        """Show what is stored now; what the user is writing stays, and one made of another text says so."""
        self._stored = text.strip()
        if self.text.toPlainText().strip() == self._edited_from and self.has_changes:
            self.text.setPlainText(self._stored)
        if not self.has_changes:
            self._edited_from = self._stored
        self._show_state()

    @property
    def has_changes(self) -> bool:
        return self.text.toPlainText().strip() != self._stored

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


class SkillList(QWidget):
    """The skills of the workspace on screen and of the user; first what can't be used, with the reason."""

    def __init__(self) -> None:
        super().__init__()
        self._rows = QVBoxLayout()
        lead = tr(
            "Folders with a SKILL.md in .agents/skills and .claude/skills, of the workspace and of your home "
            "folder. The agent is told names and descriptions, in at most {share} % of the context window; "
            "it reads one when a task fits it, or when you type its name after a slash.",
            share=100 // SKILLS_SHARE,
        )
        title = label(tr("Skills"), "strong")
        self.setLayout(column(title, label(lead, "faint", wrap=True), self._rows, gap=6))

    def show_catalog(self, catalog: PromptCatalog) -> None:
        clear_layout(self._rows)
        lines = [*_unused_skills(catalog), *_used_skills(catalog)]
        rows = [_skill_row(*line) for line in lines[:_MAX_SKILL_ROWS]]
        notes = []
        if more := len(lines) - len(rows):
            notes.append(
                tr.plural(more, "%n more (helix-desktop commands)", "%n more (helix-desktop commands)")
            )
        if catalog.is_untrusted:
            notes.append(tr("Skills of this workspace aren't read until you trust its folder."))
        if not (rows or notes):
            notes.append(tr("No skills found"))
        notes_below = (label(note, "faint", wrap=True) for note in notes)
        self._rows.addWidget(card(column(*rows, *notes_below, gap=10, margins=(14, 10, 14, 10))))


def _unused_skills(catalog: PromptCatalog) -> Iterator[tuple[str, str, str, str]]:
    for file in catalog.skills.unusable:
        yield "triangle-alert", "warn", file.path, translate(join_sentences(file.why, file.fix))
    for other in catalog.skills.hidden:
        yield "info", "muted", other.skill.path, tr("Not used: {file} comes first", file=other.by)


def _used_skills(catalog: PromptCatalog) -> Iterator[tuple[str, str, str, str]]:
    """Yield icon, color, name and details of each; its command may be another one's."""
    for skill in catalog.skills.skills.values():
        command, name, by_user = catalog.find(skill.name), SLASH + skill.name, ""
        if skill.is_manual:
            by_user = tr("Only you start it, with {command}", command=name)
        if command is None:
            by_user = tr("{command} is a built-in command", command=name)
        elif command.path != skill.path:
            by_user = tr("{command} is the prompt file {file}", command=name, file=command.path)
        description = ellipsize(skill.description, _DESCRIPTION_CHARS)
        details = " · ".join(filter(None, (description, by_user, skill.path)))
        yield "book-open", "muted", skill.name, details


def _skill_row(icon: str, color: str, title: str, details: str) -> QWidget:
    words = column(label(title, wrap=True), label(details, "faint", wrap=True), gap=2)
    face = IconLabel(icon, px=16, color_token=color)
    return pane(row(face, words, gap=10, stretch=1, top=[face]))


class InstructionsPage(QWidget):
    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        example = tr("For example: answer in short sentences.")
        self.personal = InstructionsEditor(session, "personal", tr("For all workspaces"), example)
        example = tr("For example: run the tests after each change.")
        self.workspace = InstructionsEditor(session, "workspace", tr("For this workspace"), example)
        files = tr(
            "AGENTS.md and CLAUDE.md of the workspace are sent too, those of other folders when the agent "
            "first works there. {file} lists what tools must not read.",
            file=".agentignore",
        )
        lead = tr(
            "Sent to every new session with its first message. Running sessions learn of a change with your "
            "next message. The context panel shows each text with its tokens."
        )
        self.skills = SkillList()
        parts = (self.personal, self.workspace, label(files, "faint", wrap=True), self.skills)
        page, _ = scrolling_page(tr("Instructions"), lead, column(*parts, gap=18))
        self.setLayout(column(page))

    async def refresh(self) -> None:
        await self.personal.refresh(tr("For all workspaces"))
        workspace = self._session.opened
        self.workspace.setVisible(workspace is not None)
        if workspace is not None:
            name = self._session.app.registry.get(workspace.id).name
            await self.workspace.refresh(tr("For the workspace {name}", name=name), workspace.id)
        catalog = await self._session.app.prompt_files.read(workspace.id if workspace is not None else "")
        if workspace is self._session.opened:
            self.skills.show_catalog(catalog)

    def has_unsaved_edits(self) -> bool:
        return self.personal.has_unsaved_edits() or self.workspace.has_unsaved_edits()
