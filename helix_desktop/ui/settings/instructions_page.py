"""The page of the settings for the user's own instructions, which every agent is told, and for skills."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtWidgets import QVBoxLayout, QWidget

from helix_desktop.domain.skills import SKILLS_SHARE
from helix_desktop.domain.slash_command import SLASH
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.services.prompt_files import PromptCatalog
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout import card, clear_layout, column, pane, row
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.settings.page_layout import open_text_file, scrolling_page
from helix_desktop.words.prompt_files import cut_description_text
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Instructions")

_MAX_LINES = 6
_EXCERPT_CHARS = 600
_MAX_SKILL_ROWS = 100
_DESCRIPTION_CHARS = 240  # of one that are shown


class InstructionsFile(QWidget):
    """The beginning of one text, the file that it is in, and a button that opens the file."""

    def __init__(self, session: Session, name: str, title: str) -> None:
        super().__init__()
        self._own = session.app.user_instructions
        self._owner = ""
        self._title = label(title, "strong", wrap=True)
        self.excerpt = label("", "muted", wrap=True)
        self.file = label("", "faint", wrap=True)
        self.open_button = PushButton(tr("Open file"), name=f"open:{name}")
        self.open_button.clicked.connect(lambda: session.start(self._open(), "open instructions"))
        below = row(self.file, self.open_button, gap=10, stretch=0)
        inside = column(self.excerpt, below, gap=8, margins=(14, 10, 14, 10))
        self.setLayout(column(self._title, card(inside), gap=6))

    async def refresh(self, title: str, owner: str = "") -> None:
        """Show the text of a workspace by its id, or of all workspaces. Raises HelixError."""
        self._owner = owner
        self._title.setText(title)
        self.file.setText(str(self._own.path(owner)))
        words = await self._own.read(owner)
        if owner != self._owner:  # another workspace is on screen by now
            return
        lines = words.splitlines()
        shown = ellipsize("\n".join(lines[:_MAX_LINES]), _EXCERPT_CHARS)
        more = len(lines) - _MAX_LINES
        if more > 0:
            shown = f"{shown}\n{tr.plural(more, '%n more line', '%n more lines')}"
        self.excerpt.setText(shown or tr("Nothing yet"))

    async def _open(self) -> None:
        """Open the file in the system's editor, and make it before if it is missing. Raises HelixError."""
        open_text_file(await self._own.create(self._owner))


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
        command = catalog.find(skill.name)
        name = SLASH + skill.name
        by_user = ""
        if skill.is_manual:
            by_user = tr("Only you start it, with {command}", command=name)
        if command is None and skill.is_manual:
            by_user = tr("Not used: only you start it, and {command} is a built-in command", command=name)
        elif command is None:
            by_user = tr("The agent uses it; {command} is a built-in command", command=name)
        elif command.path != skill.path:
            by_user = tr("{command} is the prompt file {file}", command=name, file=command.path)
        description = ellipsize(skill.description, _DESCRIPTION_CHARS)
        cut = cut_description_text(skill)
        details = " · ".join(filter(None, (description, cut, by_user, skill.path)))
        yield "book-open", "muted", skill.name, details


def _skill_row(icon: str, color: str, title: str, details: str) -> QWidget:
    words = column(label(title, wrap=True), label(details, "faint", wrap=True), gap=2)
    face = IconLabel(icon, px=16, color_token=color)
    return pane(row(face, words, gap=10, stretch=1, top=[face]))


class InstructionsPage(QWidget):
    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self.personal = InstructionsFile(session, "personal", tr("For all workspaces"))
        self.workspace = InstructionsFile(session, "workspace", tr("For this workspace"))
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

    read_files = refresh
