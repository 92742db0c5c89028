"""The dialog that shows a session's documents for others before one of them is saved."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from helix_desktop.services.app_services import AppServices
from helix_desktop.services.sharing import SharedText
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.viewer.content_viewer import TEXT_NAME, TextsDialog
from helix_desktop.words.errors import error_text
from helix_desktop.words.numbers import format_size
from helix_desktop.words.store_reports import removed_text
from helix_desktop.words.translation import Translator

tr = Translator("Workspaces")


class ShareDialog(TextsDialog):
    """A session as a page for a browser, as Markdown, and as JSON lines: what is on screen is saved."""

    def __init__(self, parent: QWidget, title: str, name: str, documents: Mapping[str, SharedText]) -> None:
        """`documents` are by the endings of their files, whose names begin with `name`."""
        self._documents = {f"{name}{suffix}": document for suffix, document in documents.items()}
        self._files = list(self._documents)
        self.save, self._copy = (
            PushButton(tr("Save…"), "primary", name="save"),
            PushButton(tr("Copy all"), name="copy"),
        )
        self._removed, self._error = label("", "note", wrap=True), label("", "error", wrap=True)
        super().__init__(
            parent,
            tr("Share “{title}”", title=title),
            (tr("Long outputs are cut. Keys, tokens, email addresses and your home folder are removed; other "
                "names and texts stay. Read it before you pass it on."),),
            {file: document.text for file, document in self._documents.items()},
            below=(self._removed, self._error),
            buttons=(self._copy, self.save),
        )  # fmt: skip
        self.setObjectName("share")
        self._error.hide()
        self.list.currentItemChanged.connect(lambda *_: self._show_removed())
        self._copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.document.text))
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

    def show_error(self, text: str) -> None:
        self._error.setText(text)
        self._error.show()

    def _show_removed(self) -> None:
        count = self.document.removed
        self._removed.setText(removed_text(count) if count else tr("Nothing had to be removed."))


async def share_documents(
    parent: QWidget,
    services: AppServices,
    actions: AsyncActions,
    documents: Mapping[str, SharedText],
    title: str,
) -> tuple[Path, int] | None:
    """Let the user read documents, which are by the endings of their files, and save one.

    Returns its path and size in bytes; None: none was saved.
    """
    name = Path(services.backup.session_file_name(title, ".md")).stem
    dialog = ShareDialog(parent, title, name, documents)
    saved: list[tuple[Path, int]] = []
    guarded = AsyncActions(actions.scope, lambda error: dialog.show_error(error_text(error)))

    async def save() -> None:
        suffix = Path(dialog.file_name).suffix
        path = await dialogs.pick_save_file(
            dialog, tr("Share “{title}”", title=title), dialog.file_name, suffix
        )
        if path is not None:
            saved.append((path, await services.sharing.save(path, dialog.document)))
            dialog.accept()

    dialog.save.clicked.connect(lambda: guarded.start(save(), "save a shared session"))
    await dialogs.exec_async(dialog)
    return saved[0] if saved else None
