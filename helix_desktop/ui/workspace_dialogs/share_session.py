"""The dialog that shows a session's documents for others before one of them is saved."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from PySide6.QtGui import QGuiApplication

from helix_desktop.services.sharing import SharedText
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import label, show_text
from helix_desktop.ui.design.viewer.content_viewer import TEXT_NAME, TextsDialog
from helix_desktop.ui.kit.session import Session
from helix_desktop.words.numbers import format_size
from helix_desktop.words.store_reports import removed_text
from helix_desktop.words.translation import Translator, error_text

tr = Translator("Workspaces")


class ShareDialog(TextsDialog):
    """A session as a page for a browser, as Markdown, and as JSON lines: what is on screen is saved."""

    def __init__(self, session: Session, title: str, documents: Mapping[str, SharedText]) -> None:
        """`documents` are by the endings of their files, whose names begin with the title."""
        self._sharing = session.app.sharing
        name = Path(session.app.backup.session_file_name(title, ".md")).stem
        self._documents = {f"{name}{suffix}": document for suffix, document in documents.items()}
        self._files, self._title = list(self._documents), tr("Share “{title}”", title=title)
        self._actions = AsyncActions(
            session.actions.scope, lambda error: show_text(self._error, error_text(error))
        )
        self.saved: tuple[Path, int] | None = None
        """Path of the file, and its size in bytes."""
        save, copy = PushButton(tr("Save…"), "primary", name="save"), PushButton(tr("Copy all"), name="copy")
        self._removed, self._error = label("", "note", wrap=True), label("", "error", wrap=True)
        super().__init__(
            session.window,
            self._title,
            (tr("Long outputs are cut. Keys, tokens, email addresses and your home folder are removed; other "
                "names and texts stay. Read it before you pass it on."),),
            {file: document.text for file, document in self._documents.items()},
            below=(self._removed, self._error),
            buttons=(copy, save),
        )  # fmt: skip
        self.setObjectName("share")
        self._error.hide()
        self.list.currentItemChanged.connect(lambda *_: self._show_removed())
        save.clicked.connect(lambda: self._actions.start(self._save(), "save a shared session"))
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.document.text))
        formats = {".md": tr("Markdown"), ".html": tr("Page for a browser"), ".jsonl": tr("JSON lines")}
        for item in self.list.items():
            file = item.data(0, TEXT_NAME)
            size = format_size(len(self._documents[file].text.encode()))
            item.setText(0, tr("{file} · {state}", file=formats[Path(file).suffix], state=size))
        self._show_removed()

    @property
    def file_name(self) -> str:
        return self._files[self.list.currentIndex().row()]

    @property
    def document(self) -> SharedText:
        return self._documents[self.file_name]

    async def _save(self) -> None:
        suffix = Path(self.file_name).suffix
        if path := await dialogs.pick_save_file(self, self._title, self.file_name, suffix):
            self.saved = path, await self._sharing.save(path, self.document)
            self.accept()

    def _show_removed(self) -> None:
        count = self.document.removed
        self._removed.setText(removed_text(count) if count else tr("Nothing had to be removed."))
