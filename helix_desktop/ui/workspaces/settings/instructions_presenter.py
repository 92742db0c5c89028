"""Fills the page of the user's instructions and saves them."""

from __future__ import annotations

from PySide6.QtCore import QObject

from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.settings.instructions_page import InstructionsPage
from helix_desktop.words.translation import Translator

tr = Translator("Settings: Instructions")


class InstructionsPresenter(QObject):
    """Binds the page to the user's files."""

    def __init__(self, page: InstructionsPage, session: Session) -> None:
        super().__init__(page)
        self._page, self._services = page, session.app
        self._session, start = session, session.actions.start
        self._workspace_id = ""
        page.personal.save_requested.connect(
            lambda words, before: start(self._save(words, before, ""), "save instructions")
        )
        page.workspace.save_requested.connect(
            lambda words, before: start(self._save(words, before, self._workspace_id), "save instructions")
        )

    async def show(self) -> None:
        """Show the texts as they are stored now. Raises HelixError."""
        own, page = self._services.user_instructions, self._page
        page.personal.show_text(tr("For all workspaces"), await own.read(), str(own.path()))
        workspace = self._session.opened
        page.workspace.setVisible(workspace is not None)
        if workspace is None:
            return
        page.workspace.show_owner(workspace.id)
        self._workspace_id = workspace.id
        title = tr("For the workspace {name}", name=self._services.registry.get(workspace.id).name)
        words = await own.read(workspace.id)
        if workspace.id == self._workspace_id:  # else another one is on screen by now
            page.workspace.show_text(title, words, str(own.path(workspace.id)))

    async def _save(self, text: str, edited_from: str, workspace_id: str) -> None:
        """Save a text, unless another one was saved since the user began to edit it: the user decides."""
        own = self._services.user_instructions
        stored = (await own.read(workspace_id)).strip()
        is_replaceable = stored in (edited_from, text.strip())
        if is_replaceable:
            await own.save(text, workspace_id)
        if workspace_id in ("", self._workspace_id):  # else another workspace is on screen by now
            editor = self._page.workspace if workspace_id else self._page.personal
            if is_replaceable:
                editor.show_saved(text)
            else:
                editor.note_stored(stored)
