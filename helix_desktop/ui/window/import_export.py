"""Carries workspaces into files, and files into workspaces; a file from outside only after a question."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QTreeWidgetItem, QWidget

from helix_desktop.agent.open_workspace import delete_session
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.handover import handover_counts, render_handover
from helix_desktop.domain.choices import (
    ARCHIVE_SUFFIX,
    HTML_SUFFIX,
    JSON_LINES_SUFFIX,
    SHARED_SUFFIXES,
    TRANSCRIPT_SUFFIX,
)
from helix_desktop.domain.errors import HelixError, InvalidInput
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.domain.store_reports import ArchiveInfo, ExportResult, ImportResult
from helix_desktop.domain.text_format import ellipsize_title, first_line
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.services.entry_export import ExportedEntries, export_to_folder, export_to_zip
from helix_desktop.services.foreign_import import ForeignImport, ids_of
from helix_desktop.services.sharing import Removal, SharedSession
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.choice_fields import AT_END, CheckList
from helix_desktop.ui.design.dialogs import DialogChoice
from helix_desktop.ui.design.labels import label, show_text
from helix_desktop.ui.design.layout import DIALOG_MARGINS, FlowBox, column
from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.design.sized_dialog import FittedDialog
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.viewer.content_viewer import TEXT_NAME, TextsDialog
from helix_desktop.ui.kit import intents
from helix_desktop.ui.kit.forms import Choice, Choices, Draft, Form
from helix_desktop.ui.kit.intents import handles
from helix_desktop.ui.kit.notices import Answer, Notice, NoticeLevel, show_folder
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.outputs.entry_actions import is_readable
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.window_group import WindowGroup, WindowPart
from helix_desktop.ui.window.workspace_controller import WorkspaceController
from helix_desktop.ui.workspace_dialogs.import_sessions import ImportSessionsDialog
from helix_desktop.words.context_changes import trigger_text
from helix_desktop.words.foreign_sessions import data_records_text, sessions_text
from helix_desktop.words.numbers import format_integer, format_size
from helix_desktop.words.private_values import kind_text
from helix_desktop.words.sessions import session_title
from helix_desktop.words.store_reports import export_summary, import_summary, removed_text
from helix_desktop.words.summaries import handover_titles
from helix_desktop.words.times import format_date
from helix_desktop.words.translation import Translator, error_text, translate

tr = Translator("Workspaces")
text = TextContext("Workspaces")

_DONE = "carried"
_STEPS_PER_WORKSPACE = 1_000  # of the bar, for each workspace
_MAX_NAMED = 3  # workspaces that could not be written, listed by name
_NAME_CAP = 60  # characters of a name that a file or a folder brings along
_HERE = "here"
_WIDTH_PX = 482
_LIST_PX = 360
_REMOVAL_COLUMNS = (
    (text("Why"), 220),
    (text("Taken out"), 0),
    (text("First place"), 180),
    (text("Places"), 70),
)
_REMOVAL_ROWS = 5
_REMOVAL_ROW_PX = 28
_VALUE_CHARS = 200
_VALUE = Qt.ItemDataRole.UserRole
FOLDER = "folder"
ZIP_SUFFIX = ".zip"
BACKUP = "backup"
_OTHERS = "others"
_EXACT = "exact"
_FILES = "files"
_DOCUMENT = text(
    "Long outputs are cut, and keys, tokens, email addresses and home folders are taken out. You read it "
    "before it is saved, with a list of what was taken out, and can put each back."
)
_PURPOSES = {
    _OTHERS: text("For others to read"),
    _EXACT: text("Exact, to import again"),
    _FILES: text("Exact, as files"),
}
_FORMATS = {
    ARCHIVE_SUFFIX: (
        text("Helix file (.helix)"),
        text("With every output, verified. Nothing is taken out."),
    ),
    HTML_SUFFIX: (text("Page for a browser (.html)"), _DOCUMENT),
    TRANSCRIPT_SUFFIX: (text("Markdown (.md)"), _DOCUMENT),
    JSON_LINES_SUFFIX: (text("JSON lines (.jsonl)"), _DOCUMENT),
    FOLDER: (text("Files in a folder"), text("One file for each output, and a list of what they are.")),
    ZIP_SUFFIX: (text("Zip (.zip)"), text("One file for each output, and a list of what they are.")),
    BACKUP: (text("Helix files in a folder"), text("A backup: one verified file for each workspace.")),
}
"""By the ending of the file, or a name: its words, and what it is for."""
_FORMATS_OF: dict[str, dict[str, tuple[str, ...]]] = {
    "session": {
        _OTHERS: (HTML_SUFFIX, TRANSCRIPT_SUFFIX, JSON_LINES_SUFFIX),
        _EXACT: (ARCHIVE_SUFFIX,),
    },
    "outputs": {_FILES: (FOLDER, ZIP_SUFFIX)},
    "workspace": {_EXACT: (ARCHIVE_SUFFIX,)},
    "all": {_EXACT: (BACKUP,)},
}
"""By what is exported and for whom, the one that is offered first at the beginning."""


class ExportDialog(FittedDialog):
    def __init__(self, parent: QWidget, subjects: Mapping[str, str], subject: str) -> None:
        """`subjects` are what can be exported, of `_FORMATS_OF`, with their words; `subject` is chosen."""
        super().__init__(parent, tr("Export"), _WIDTH_PX)
        self.setObjectName("export")
        self._values = Draft({"subject": subject, "purpose": "", "format": ""})
        self._choose_first()
        self.form = Form(
            (
                Choice("subject", text("What"), choices=tuple(subjects.items())),
                Choice("purpose", text("Purpose"), choices=self._purposes),
                Choice("format", text("Format"), choices=self._formats),
            ),
            self._values,
            is_dialog=True,
            gap=8,
        )
        for control in self.form.controls.values():
            control.setFixedWidth(_LIST_PX)
        self._note = label("", "muted", wrap=True)
        cancel = PushButton(tr("Cancel"), name="cancel", on_click=self.reject)
        export = PushButton(tr("Export…"), "primary", name="export", on_click=self.accept)
        export.setDefault(True)
        buttons = FlowBox([cancel, export], right_from=0)
        body = column(label(tr("Export"), "title"), 4, self.form, self._note, 8, buttons)
        body.setContentsMargins(*DIALOG_MARGINS)
        self.setLayout(body)
        self._values.changed.connect(self._show)
        self._show("format")

    @property
    def chosen(self) -> tuple[str, str]:
        return self._values.get("subject"), self._values.get("format")

    def _purposes(self) -> Choices:
        return [(each, _PURPOSES[each]) for each in _FORMATS_OF[self._values.get("subject")]]

    def _formats(self) -> Choices:
        of_subject = _FORMATS_OF[self._values.get("subject")]
        return [(each, _FORMATS[each][0]) for each in of_subject[self._values.get("purpose")]]

    def _choose_first(self) -> None:
        self._values.set("purpose", self._purposes()[0][0])
        self._values.set("format", self._formats()[0][0])

    def _show(self, name: str) -> None:
        if name == "subject":
            self._choose_first()
        elif name == "purpose":
            self._values.set("format", self._formats()[0][0])
        if self._values.get("format") not in dict(self._formats()):
            return  # the one of the former choice, until the next is set
        self._note.setText(translate(_FORMATS[self._values.get("format")][1]))
        self.form.controls["purpose"].setEnabled(len(self._purposes()) > 1)
        self.form.controls["format"].setEnabled(len(self._formats()) > 1)


class RemovalList(CheckList):
    """What was taken out of a document, checked; what the user unchecks is to be put back."""

    def __init__(self, removals: Sequence[Removal]) -> None:
        super().__init__(tr("Taken out"), _REMOVAL_COLUMNS, numbers=(3,))
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        with QSignalBlocker(self):
            for removal in removals:
                self._add(removal)
        rows = min(max(len(removals), 2), _REMOVAL_ROWS)
        head = self.header().sizeHint().height()
        self.setFixedHeight(scaled(_REMOVAL_ROW_PX) * rows + head + 2 * self.frameWidth())

    @property
    def put_back(self) -> frozenset[str]:
        checked = {item.data(0, _VALUE) for item in self.checked()}
        return frozenset(item.data(0, _VALUE) for item in self.items()) - checked

    def _add(self, removal: Removal) -> None:
        kind = kind_text(removal.kind, removal.label)
        value = escape_hidden_name(first_line(removal.value, _VALUE_CHARS))
        item = QTreeWidgetItem([kind, value, removal.place, format_integer(removal.count)])
        item.setData(0, _VALUE, removal.value)
        item.setCheckState(0, Qt.CheckState.Checked)
        item.setTextAlignment(3, AT_END)
        for column_number in range(3):
            item.setToolTip(column_number, plain_tooltip(removal.line))
        self.addTopLevelItem(item)


class DocumentDialog(TextsDialog):
    """A document for others, in one format or several, and what was taken out of it, before it is saved."""

    def __init__(
        self, session: Session, title: str, shared: SharedSession, documents: Mapping[str, str]
    ) -> None:
        """`documents` are by the endings of their files, whose names begin with the title."""
        self._sharing = session.app.sharing
        self._shared = shared
        name = Path(session.app.backup.session_file_name(title, ".md")).stem
        texts = {f"{name}{suffix}": document for suffix, document in documents.items()}
        self._title = tr("Export “{title}”", title=title)
        self._actions = AsyncActions(
            session.actions.scope, lambda error: show_text(self._error, error_text(error))
        )
        self.saved: tuple[Path, int] | None = None
        """Path of the file, and its size in bytes."""
        self._put_back = frozenset[str]()  # what the documents have
        self._is_writing = False
        self._save_button = PushButton(tr("Save…"), "primary", name="save")
        self._copy_button = PushButton(tr("Copy all"), name="copy")
        self._removed = label("", "note", wrap=True)
        self._error = label("", "error", wrap=True)
        self.removals = RemovalList(shared.removals)
        self.removals.setVisible(bool(shared.removals))
        super().__init__(
            session.window,
            self._title,
            (tr("Long outputs are cut. Keys, tokens, email addresses and home folders are removed; other "
                "names and texts stay. Read it before you pass it on."),),
            texts,
            below=(self._removed, self.removals, self._error),
            buttons=(self._copy_button, self._save_button),
        )  # fmt: skip
        self.setObjectName("export_document")
        self._error.hide()
        self.removals.changed.connect(lambda: self._actions.start(self._write_again(), "write a document"))
        self._save_button.clicked.connect(lambda: self._actions.start(self._save(), "save a shared session"))
        self._copy_button.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.document))
        formats = {".md": tr("Markdown"), ".html": tr("Page for a browser"), ".jsonl": tr("JSON lines")}
        for item in self.list.items():
            file = item.data(0, TEXT_NAME)
            size = format_size(len(texts[file].encode()))
            item.setText(0, tr("{file} · {state}", file=formats[Path(file).suffix], state=size))
        self._show_removed()

    @property
    def file_name(self) -> str:
        item = self.list.currentItem() or self.list.items()[0]
        name: str = item.data(0, TEXT_NAME)
        return name

    @property
    def document(self) -> str:
        return self.texts[self.file_name] or ""

    async def _write_again(self) -> None:
        """Write the documents with what is to be put back, again while the user changes that."""
        if self._is_writing:
            return
        self._is_writing = True
        self._allow_saving(False)
        try:
            while self._put_back != self.removals.put_back:
                put_back = self.removals.put_back
                for file in self.texts:
                    self.texts[file] = await asyncio.to_thread(
                        self._shared.document, Path(file).suffix, put_back
                    )
                self._put_back = put_back
        finally:
            self._is_writing = False
            self._allow_saving(True)
        self.show_current()
        self._show_removed()

    def _allow_saving(self, is_allowed: bool) -> None:
        for button in (self._save_button, self._copy_button):
            button.setEnabled(is_allowed)

    async def _save(self) -> None:
        suffix = Path(self.file_name).suffix
        if path := await dialogs.pick_save_file(self, self._title, self.file_name, suffix):
            self.saved = path, await self._sharing.save(path, self.document)
            self.accept()

    def _show_removed(self) -> None:
        count = len(self._shared.removals) - len(self._put_back)
        words = removed_text(count) if count else tr("Nothing had to be removed.")
        if self._put_back:
            back = tr.plural(len(self._put_back), "%n was put back.", "%n were put back.", "private values")
            words = translate(join_sentences(removed_text(count), back)) if count else back
        elif count:
            words = translate(join_sentences(words, tr("Uncheck what is to stay.")))
        self._removed.setText(words)


class ImportExportController(WindowPart):
    """What comes from outside is taken in, or opened, after a question; one question at a time."""

    def __init__(self, window: MainWindow, windows: WindowGroup, workspaces: WorkspaceController) -> None:
        super().__init__(window, windows)
        self._workspaces = workspaces
        self._is_asking = False

    @handles(intents.Export)
    async def _export(
        self, workspace_id: str, session_id: str, digests: Sequence[str], all_workspaces: bool
    ) -> None:
        """Ask what to export, with what the intent names chosen, and in which format. Raises HelixError.

        For a workspace that is named nothing is read: its files may be gone.
        """
        opened = self._session.opened
        subjects = dict[str, str]()
        subject = "outputs" if digests else ""
        if session_id:
            subject = "session"
        if opened is not None and not workspace_id:
            if not digests and self._window.page() == "outputs":
                digests = self._window.pages.outputs.get().entry_actions.digests_of(is_readable)
            if not session_id and self._session.has_conversation:
                session_id = self._session.conversation.session.id
            if session_id:
                subjects["session"] = tr("Session “{title}”", title=await self._title_of(session_id))
            if digests:
                subjects["outputs"] = tr.plural(len(digests), "%n selected output", "%n selected outputs")
        if workspace_id:
            subject = "workspace"
        elif opened is not None:
            workspace_id = opened.id
        if workspace_id:
            name = _short_name(self._services.registry.get(workspace_id).name)
            subjects["workspace"] = tr("Workspace {workspace}", workspace=name)
        subjects["all"] = tr("All workspaces")
        if all_workspaces:
            subject = "all"
        dialog = ExportDialog(self._window, subjects, subject or next(iter(subjects)))
        if not await dialogs.exec_async(dialog):
            return
        match dialog.chosen:
            case "session", suffix:
                await self._export_session(session_id, suffix)
            case "outputs", kind:
                await self._export_outputs(digests, is_folder=kind == FOLDER)
            case "workspace", _:
                await self._export_workspace(workspace_id)
            case _:
                await self._back_up()

    @handles(intents.Import)
    async def _import(self, workspace_id: str) -> None:
        """Ask what to import where there is a choice; sessions of other agents need an open workspace."""
        opened = self._session.opened
        kind = "file"
        if workspace_id or opened is not None:
            choices = (
                ("file", tr("Helix file…"), tr("What Helix exported: a session, a workspace or a backup.")),
                (
                    "sessions",
                    tr("Sessions of other agents…"),
                    tr("Found on this computer, or in a file or folder that you choose."),
                ),
            )
            kind = await dialogs.choose(self._window, tr("Import"), choices)
        if kind == "sessions":
            await self._import_sessions(workspace_id)
        elif kind and (into := workspace_id or self._session.workspace_id):
            await self.import_file(into)
        elif kind and (path := await dialogs.pick_file(self._window, tr("Import"), _name_filter())):
            self._session.perform(intents.ImportArchive(path))

    async def _export_outputs(self, digests: Sequence[str], *, is_folder: bool) -> None:
        if is_folder:
            place = await dialogs.pick_folder(self._window, tr("Export outputs to a folder"))
        else:
            title = tr("Export outputs as a zip")
            place = await dialogs.pick_save_file(self._window, title, f"cache{ZIP_SUFFIX}", ZIP_SUFFIX)
        if place is not None:
            await self.save_entries(digests, place, is_folder=is_folder)

    async def save_entries(self, digests: Sequence[str], place: Path, *, is_folder: bool) -> None:
        """Write entries into a folder, or a zip."""
        store = self._session.workspace.store
        done = ExportedEntries(place)

        export = export_to_folder if is_folder else export_to_zip

        async def save(on_progress: OnProgress) -> bool:
            try:
                await export(store, digests, done, on_progress)
            except HelixError:
                if is_folder:
                    self._report_entries(done, place, tr("Saving stopped."))
                raise
            return True

        kept = tr("No new file is left. A file that was there stays as it is.")
        if is_folder:
            kept = tr("What was saved so far stays in the folder.")
        words = tr.plural(len(digests), "Saving %n entry", "Saving %n entries")
        if await self._session.job(words, save, kept):
            self._report_entries(done, place if is_folder else place.parent)
        elif is_folder:
            self._report_entries(done, place, tr("Saving canceled."))

    @handles(intents.ExportUpTo)
    async def _share_upto(self, seq: int) -> None:
        session_id = self._session.conversation.session.id
        await self._share_session(session_id, await self._title_of(session_id), upto=seq)

    async def _title_of(self, session_id: str) -> str:
        titles = {summary.id: summary.title for summary in await self._session.workspace.store.sessions()}
        return ellipsize_title(session_title(titles.get(session_id, "")))

    async def _share_session(
        self, session_id: str, title: str, suffixes: Sequence[str] = SHARED_SUFFIXES, upto: int = 0
    ) -> None:
        workspace_id = self._session.workspace.id
        sharing = self._services.sharing

        await self._share(title, await sharing.session(workspace_id, session_id, upto), suffixes)

    @handles(intents.ExportHandover)
    async def _share_handover(self, seq: int) -> None:
        session = self._session.conversation.session
        transcript = self._session.transcript
        handover = transcript.written_handovers.get(seq)
        if handover is None:
            return
        markdown = _handover_markdown(handover, transcript)
        recorded = session.log[seq - 1]
        shared = await self._services.sharing.handover(session.id, recorded, markdown)
        await self._share(handover_titles(transcript)[seq], shared)

    async def _share(
        self, title: str, shared: SharedSession, suffixes: Sequence[str] = SHARED_SUFFIXES
    ) -> None:
        workspace_id = self._session.workspace.id
        documents = {suffix: await asyncio.to_thread(shared.document, suffix) for suffix in suffixes}
        dialog = DocumentDialog(self._session, title, shared, documents)
        await dialogs.exec_async(dialog)
        if dialog.saved is not None:
            path, size = dialog.saved
            what = tr("{file} saved: {size}.", file=path.name, size=format_size(size))
            self._show_file(workspace_id, path, what)

    def _report_entries(self, done: ExportedEntries, folder: Path, end: str = "") -> None:
        """Say what was saved; `end` says that it ended before its time."""
        count = done.files
        place = done.place.name
        what = tr.plural(count, "%n entry saved to {place}.", "%n entries saved to {place}.", place=place)
        why = tr("{size}. The file index.json lists what they are.", size=format_size(done.size))
        if end:
            what = end
            why = tr.plural(
                count, "%n entry was saved to {place}.", "%n entries were saved to {place}.", place=place
            )
        if done.damaged:
            left_out = tr.plural(
                done.damaged, "%n damaged entry was left out.", "%n damaged entries were left out."
            )
            why = f"{why} {left_out}"
        level: NoticeLevel = "warning" if done.damaged else "info"
        answers = (show_folder(folder),)
        workspace_id = self._session.workspace_id
        self._session.notify(
            Notice("entries_saved", what, why, "", answers, level, workspace_id=workspace_id)
        )

    async def _export_workspace(self, workspace_id: str) -> None:
        backup = self._services.backup
        name = self._services.registry.get(workspace_id).name
        title = tr("Export {workspace}", workspace=name)
        words = tr("Exporting {workspace}", workspace=name)
        write = partial(backup.export, workspace_id)
        await self._save_archive(workspace_id, title, backup.file_name(workspace_id), words, write)

    async def _save_archive(
        self,
        workspace_id: str,
        title: str,
        file_name: str,
        words: str,
        write: Callable[[Path, OnProgress], Awaitable[ExportResult]],
    ) -> None:
        """Ask for a file, have it written, and say what is in it; `words` are those of the job."""
        place = await dialogs.pick_save_file(self._window, title, file_name, ARCHIVE_SUFFIX)
        if place is None:
            return
        kept = tr("No new file is left. A file that was there stays as it is.")
        done = await self._session.job(words, lambda tell: write(place, tell), kept)
        if done is None:
            return
        path = Path(done.path)
        what = tr("{file} exported: {size}, verified.", file=path.name, size=format_size(done.file_size))
        is_complete = not (done.totals.lost or done.totals.left_out)
        level: NoticeLevel = "info" if is_complete else "warning"
        self._show_file(workspace_id, path, what, export_summary(done), level)

    async def _export_session(self, session_id: str, suffix: str) -> None:
        workspace_id = self._session.workspace.id
        backup = self._services.backup
        title = await self._title_of(session_id)
        if suffix != ARCHIVE_SUFFIX:
            await self._share_session(session_id, title, (suffix,))
            return
        what = tr("Export “{title}”", title=title)
        words = tr("Exporting {session}", session=title)
        file_name = backup.session_file_name(title, suffix)
        write = partial(backup.export_session, workspace_id, session_id)
        await self._save_archive(workspace_id, what, file_name, words, write)

    async def import_file(self, workspace_id: str) -> None:
        """Ask for a file, and merge it into the workspace, which is closed meanwhile. Raises HelixError."""
        title = tr("Import into {workspace}", workspace=self._services.registry.get(workspace_id).name)
        if path := await dialogs.pick_file(self._window, title, _name_filter()):
            await self.merge_file(workspace_id, path)

    async def merge_file(self, workspace_id: str, path: Path) -> None:
        """Merge a file into the workspace, which is closed meanwhile. Raises HelixError."""
        backup = self._services.backup
        if not await self._may_close(workspace_id):
            return
        async with self._workspaces.closed(workspace_id):
            done = await self._session.job(
                tr("Importing {file}", file=path.name),
                lambda tell: backup.import_file(workspace_id, path, tell),
                tr("What was imported so far is complete and stays. Import again to continue."),
            )
        if done is not None:
            await self._show_imported(workspace_id, path.name, done)

    @handles(intents.ImportSessions)
    async def _import_sessions(self, workspace_id: str = "") -> None:
        """Let sessions of other agents be chosen for a workspace, which is shown, else the one on screen."""
        if workspace_id not in ("", self._session.workspace_id):
            await self._workspaces.open_workspace(workspace_id)
            if self._session.workspace_id != workspace_id or self._session.opened is None:
                return  # the window says why it could not be opened, or the user has gone elsewhere
        workspace = self._session.workspace
        name = self._services.registry.get(workspace.id).name
        here = {session.id for session in await workspace.sessions()}
        chosen = await ImportSessionsDialog(self._session, name, here).choose()
        if not chosen:
            return
        # What is open in memory would not see what is added to its log.
        imported = {session_id for found in chosen for session_id in ids_of(found)}
        is_open = any(
            imported & {each.session.id, each.session.transcript.parent, *each.session.transcript.ancestors}
            for each in workspace.conversations
        )
        if is_open and not await self._may_close(workspace.id):
            return
        async with self._workspaces.closed(workspace.id) if is_open else nullcontext():
            done = await self._session.job(
                tr.plural(len(chosen), "Importing %n session", "Importing %n sessions"),
                lambda tell: self._services.foreign_sessions.import_into(workspace.id, chosen, tell),
                tr("What was imported so far is complete and stays. Import again to continue."),
            )
        self._windows.lists_changed.emit(None)  # also where it was canceled
        if done is not None:
            self._show_foreign_import(workspace.id, done)

    def _show_foreign_import(self, workspace_id: str, done: ForeignImport) -> None:
        """Say what came in, what is kept as data and what was skipped, and offer to open it."""
        result = done.result
        added = {*result.new, *result.apart}
        news = {*result.new, *result.extended}
        to_open = next((session for session in done.sessions if session in news), "".join(result.apart[:1]))
        failed = [
            tr("{session} can't be read: {reason}", session=escape_hidden_name(name), reason=why)
            for name, why in done.failed
        ]

        answers = []
        if to_open:
            go = partial(self._session.perform, intents.GoToSession(workspace_id, to_open))
            compare = partial(self._show_comparison, workspace_id, to_open)
            answers = [
                Answer(tr("Open session"), go, "open_imported", ends=True),
                Answer(
                    tr("Compare with and without Helix"),
                    lambda: self._start(compare(), "show what survives"), "show_comparison", ends=True,
                ),
            ]  # fmt: skip
        if added and not result.extended:  # what came to sessions that were here can't be taken out of them
            answers.append(self._undo(workspace_id, added))
        what = f"{sessions_text(result, done.sessions)}."
        why = " ".join(filter(None, (*failed, data_records_text(done.by_kind, done.damaged))))
        fix = tr("Close the sessions that are open elsewhere, and import again.") if result.busy else ""
        level: NoticeLevel = "warning" if failed or result.busy else "info"
        place = self._notice_workspace(workspace_id)
        self._session.notify(Notice(_DONE, what, why, fix, tuple(answers), level, workspace_id=place))

    async def _show_comparison(self, workspace_id: str, session_id: str) -> None:
        await self._workspaces.open_in_front(workspace_id, session_id)
        if self._session.id == session_id:
            self._session.perform(intents.ShowPage("comparison"))

    async def _show_imported(self, workspace_id: str, file_name: str, result: ImportResult) -> None:
        """Say what was added, and open the newest session of it if its workspace is on screen."""
        added = {*result.new, *result.apart} - {*result.trashed}
        workspace = self._session.opened
        is_on_screen = workspace is not None and workspace.id == workspace_id
        if workspace is not None and is_on_screen:
            for newest in [session.id for session in await workspace.sessions() if session.id in added][:1]:
                await self._workspaces.open_session(newest)
        # What it added to sessions that were here can't be taken out of them.
        can_undo = is_on_screen and added and not result.extended
        what = tr("{file} imported.", file=file_name)
        place = self._notice_workspace(workspace_id)
        answers = (self._undo(workspace_id, added),) if can_undo else ()
        self._session.notify(Notice(_DONE, what, import_summary(result), answers=answers, workspace_id=place))

    def _undo(self, workspace_id: str, imported: Set[str]) -> Answer:
        undo = partial(self._undo_import, workspace_id, imported)
        return Answer(tr("Undo"), lambda: self._start(undo(), "undo the import"), "undo", ends=True)

    async def _undo_import(self, workspace_id: str, imported: Set[str]) -> None:
        workspace = self._session.opened
        if workspace is None or workspace.id != workspace_id:
            return
        sessions = [session.id for session in await workspace.sessions() if session.id in imported]
        async with self._windows.away_from_sessions(self._window, workspace_id, sessions):
            await self._session.show(workspace, None)
            for session_id in sessions:
                await delete_session(workspace, session_id, with_versions=False)
        await self._workspaces.open_workspace(workspace_id)
        count = len(sessions)
        what = tr.plural(count, "%n session moved to the trash.", "%n sessions moved to the trash.")
        self._session.notify(Notice(_DONE, what, workspace_id=workspace_id, is_brief=True))

    async def _may_close(self, workspace_id: str) -> bool:
        """Return True if nothing runs in a workspace, or the user agrees that it may be stopped."""
        workspace = self._services.open_workspaces.get(workspace_id)
        if workspace is None or not any(conversation.is_running for conversation in workspace.conversations):
            return True
        what = tr("Stop running tasks to import?")
        why = tr("The workspace closes during the import. Messages so far are kept.")
        return await dialogs.confirm(self._window, what, why, "stop", tr("Stop and import"), "primary")

    def _show_file(
        self, workspace_id: str, path: Path, what: str, why: str = "", level: NoticeLevel = "info"
    ) -> None:
        about = self._notice_workspace(workspace_id)
        self._session.notify(
            Notice(_DONE, what, why, "", (show_folder(path.parent),), level, workspace_id=about)
        )

    def _notice_workspace(self, workspace_id: str) -> str:
        """Return the workspace of a result's notice; one that is not on screen gets its notice everywhere."""
        return workspace_id if workspace_id == self._session.workspace_id else ""

    @handles(intents.ImportArchive)
    async def import_archive(self, path: Path) -> None:
        inside = await self._services.backup.inspect(path)
        # The workspace that the file was made of, if it is here; else the one on screen, if any.
        listed = {record.id: record for record in self._services.registry.list_workspaces()}
        into = listed.get(inside.workspace_id) or listed.get(self._session.workspace_id)
        choices = [
            DialogChoice("", tr("Cancel")),
            DialogChoice(FOLDER, tr("Choose folder…"), "" if into else "primary"),
        ]
        if into is not None:
            choices.append(DialogChoice(_HERE, tr("Import"), "primary"))
        name = _short_name(path.name)
        answer = await self._ask(
            tr("Import {file} into {workspace}?", file=name, workspace=_short_name(into.name))
            if into
            else tr("Import {file}?", file=name),
            _archive_description(inside, is_own=into is not None and into.id == inside.workspace_id),
            tuple(choices),
        )
        if answer == _HERE and into is not None:
            await self._merge_and_show(into.id, path)
        elif answer == FOLDER:
            title = tr("Choose a workspace folder to import into")
            if folder := await dialogs.pick_folder(self._window, title):
                await self._merge_and_show(self._services.registry.add(folder).id, path)

    async def _merge_and_show(self, workspace_id: str, path: Path) -> None:
        await self.merge_file(workspace_id, path)
        if self._session.workspace_id != workspace_id:
            await self._workspaces.open_folder(Path(self._services.registry.get(workspace_id).path))

    async def _back_up(self) -> None:
        backup = self._services.backup
        records = backup.stored_workspaces()
        errors = backup.unreadable_workspaces()
        if errors and not records:
            raise errors[0]
        if not records:
            raise InvalidInput(text("Nothing to back up."), text("No workspace has data yet."))
        folder = await dialogs.pick_folder(self._window, tr("Choose a backup folder"))
        if folder is None:
            return
        await backup.check_folder(folder)
        problems = [(tr("Not backed up"), translate(error.what)) for error in errors]
        count = len(records) + len(errors)
        files = list[ExportResult]()

        async def write(on_progress: OnProgress) -> bool:
            for number, record in enumerate(records):

                def report(done: int, size: int, before: int = number) -> None:
                    steps = before * _STEPS_PER_WORKSPACE + done * _STEPS_PER_WORKSPACE // max(1, size)
                    on_progress(steps, len(records) * _STEPS_PER_WORKSPACE)

                try:
                    result = await backup.back_up(record.id, folder, report)
                except HelixError as error:
                    problems.append((record.name, translate(join_sentences(error.what, error.why))))
                    continue
                files.append(result)
                if lost := len(result.totals.lost) + len(result.totals.left_out):
                    problem = tr.plural(
                        lost,
                        "%n part is damaged and isn't in the file.",
                        "%n parts are damaged and aren't in the file.",
                    )
                    problems.append((record.name, problem))
            return True

        words = tr.plural(count, "Backing up %n workspace", "Backing up %n workspaces")
        ended = await self._session.job(
            words, write, tr("Files of workspaces that are done stay in the folder.")
        )
        what = _backup_text(files, count)
        if ended is None:
            what = translate(join_sentences(tr("Backup canceled."), what))
        named = problems[:_MAX_NAMED]
        lines = [tr("{workspace}: {problem}", workspace=name, problem=problem) for name, problem in named]
        if (more := len(problems) - _MAX_NAMED) > 0:
            lines.append(tr.plural(more, "and %n more", "and %n more", "problems"))
        why = "\n".join(lines) or tr("Folder: {folder}", folder=folder)
        answers = (show_folder(folder),) if files else ()
        self._session.notify(Notice("backup", what, why, "", answers, "warning" if problems else "info"))

    async def _ask(self, what: str, why: str, choices: tuple[DialogChoice, ...]) -> str:
        if self._is_asking:  # whoever sends links or files in a row is not to bury the window in questions
            return ""
        self._is_asking = True
        try:
            return await dialogs.ask(self._window, what, why, choices)
        finally:
            self._is_asking = False


def _archive_description(archive_info: ArchiveInfo, is_own: bool) -> str:
    contents = tr(
        "It contains {sessions} and {entries}.",
        sessions=tr.plural(archive_info.sessions, "%n session", "%n sessions"),
        entries=tr.plural(archive_info.entries, "%n output", "%n outputs"),
    )
    workspace = _short_name(archive_info.name)
    day = ""
    if archive_info.created < _MAX_CREATED_MS:  # a file may say any time; dates of people have four digits
        day = format_date(archive_info.created)
    if is_own:
        origin = tr("The file says it was exported from this workspace.")
        origin = tr("The file says it was exported from this workspace on {day}.", day=day) if day else origin
    elif day:
        origin = tr("The file says it was exported from {workspace} on {day}.", workspace=workspace, day=day)
    else:
        origin = tr("The file says it was exported from {workspace}.", workspace=workspace)
    return translate(join_sentences(origin, contents, tr("Importing only adds; nothing is replaced.")))


_MAX_CREATED_MS = 253_370_764_800_000  # milliseconds: the year 9999


def _short_name(name: str) -> str:
    """Return a name on one line, nothing hidden in it."""
    return escape_hidden_name(first_line(name, _NAME_CAP) or name[:_NAME_CAP])


def _handover_markdown(handover: HandoverMade, transcript: Transcript) -> str:
    change = tr("{before} → {after} tokens", before=handover.before, after=handover.after)
    parts = (
        translate(handover_counts(transcript, handover).text),
        "" if handover.origin else change,  # there was nothing before it
        handover.model,
        trigger_text(handover.trigger, handover.threshold),
    )
    summary = " · ".join(filter(None, parts))
    return f"# {tr('Handover summary')}\n\n{summary}\n\n{render_handover(handover, ())}\n"


def _name_filter() -> str:
    return tr("Helix files ({pattern});;All files (*)", pattern=f"*{ARCHIVE_SUFFIX}")


def _backup_text(files: Sequence[ExportResult], requested: int) -> str:
    count = len(files)
    size = format_size(sum(result.file_size for result in files))
    if not count:
        return tr("No workspace was backed up.")
    if count == requested:
        return tr.plural(
            count,
            "%n workspace backed up: {size}, verified.",
            "%n workspaces backed up: {size}, verified.",
            size=size,
        )
    return tr.plural(
        requested,
        "{count} of %n workspace backed up: {size}, verified.",
        "{count} of %n workspaces backed up: {size}, verified.",
        count=count,
        size=size,
    )
