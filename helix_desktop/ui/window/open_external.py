"""Opens what came from outside: an exported workspace that was double-clicked, and links of ours.

Neither does anything by itself. A file is taken in after a question; a link shows what is there, and what is
not open yet is opened after a question, because opening starts what the user has agreed to there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtGui import QGuiApplication

from helix_desktop.domain.errors import InvalidInput, WorkspaceMissing
from helix_desktop.domain.store_reports import ArchiveInfo
from helix_desktop.domain.text_format import first_line
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.services.links import Link, parse_link
from helix_desktop.ui.cache.entry_actions import CopyEntryLinks
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.dialogs import DialogChoice
from helix_desktop.ui.kit.intents import CopyLink, ImportArchive, OpenCacheEntry, handles
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.window.import_export import ImportExportController
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.window_group import WindowGroup
from helix_desktop.ui.window.workspace_controller import WorkspaceController
from helix_desktop.words.times import format_date
from helix_desktop.words.translation import Translator, translate
from helix_desktop.workspaces.registry import WorkspaceRecord

text = TextContext("Workspaces")
tr = Translator("Workspaces")

_NAME_CAP = 60  # characters of a name that a file or a folder brings along
_OPEN, _HERE, _FOLDER = "open", "here", "folder"


class ExternalOpenController:
    """Asks, and does what was agreed to; one question at a time."""

    def __init__(
        self,
        window: MainWindow,
        session: Session,
        windows: WindowGroup,
        workspace_controller: WorkspaceController,
        import_export: ImportExportController,
    ) -> None:
        self._window, self._services = window, session.app
        self._session, self._workspace_controller = session, workspace_controller
        self._import_export = import_export
        self._is_asking, self._windows = False, windows
        window.intents.add(self)

    @handles(CopyLink)
    def copy_link(self, workspace_id: str, session_id: str) -> None:
        if place := workspace_id or self._session.workspace_id:
            QGuiApplication.clipboard().setText(Link(place, session_id=session_id).text)

    @handles(CopyEntryLinks)
    def copy_entry_links(self, digests: Sequence[str]) -> None:
        """Put links to contents on the clipboard, one per line."""
        if self._session.workspace_id:
            links = (Link(self._session.workspace_id, digest).text for digest in digests)
            QGuiApplication.clipboard().setText("\n".join(links))

    async def open_link(self, text: str) -> None:
        """Show what a link leads to. Raises HelixError when it leads nowhere."""
        link = parse_link(text)
        record = self._find_workspace(link)
        if record.id not in self._services.open_workspaces and not await self._may_open(record):
            return
        if link.session_id and self._windows.other_with(self._window, record.id, link.session_id) is not None:
            await self._workspace_controller.open_in_front(record.id, link.session_id)
            return
        if self._session.workspace_id != record.id or record.id not in self._services.open_workspaces:
            await self._workspace_controller.open_workspace(record.id)
        if self._session.workspace_id != record.id or record.id not in self._services.open_workspaces:
            return  # the window says why it could not be opened, or the user has gone elsewhere
        if link.session_id:
            await self._show_session(link)
        elif link.digest:
            await self._show_content(link)

    def _find_workspace(self, link: Link) -> WorkspaceRecord:
        for record in self._services.registry.list_workspaces(include_removed=True):
            if record.id == link.workspace_id and record.listed:
                return record
            if record.id == link.workspace_id:
                raise WorkspaceMissing(
                    text(
                        "This link points to {workspace}, which was removed from the list.",
                        workspace=_short_name(record.name),
                    ),
                    text("Its sessions and cache are kept."),
                    text("Open its folder again: {folder}", folder=record.path),
                )
        raise WorkspaceMissing(
            text("This link points to a workspace that isn't on this computer."),
            text(
                "No workspace with ID {id} is in {folder}.",
                id=link.workspace_id,
                folder=str(self._services.data_folder),
            ),
            text("Open the link where it was copied, or import an export of that workspace."),
        )

    async def _may_open(self, record: WorkspaceRecord) -> bool:
        answer = await self._ask(
            tr("Open {workspace}?", workspace=_short_name(record.name)),
            tr("A link points to this workspace: {folder}", folder=record.path),
            (DialogChoice("", tr("Cancel")), DialogChoice(_OPEN, tr("Open", "verb"))),
        )
        return answer == _OPEN

    async def _show_session(self, link: Link) -> None:
        workspace = self._services.open_workspaces[link.workspace_id]
        if link.session_id not in {session.id for session in await workspace.store.sessions()}:
            raise InvalidInput(
                text(
                    "This link points to a session that isn't in {workspace}.",
                    workspace=_short_name(self._services.registry.get(workspace.id).name),
                ),
                text("It may have been deleted."),
                text("Check the trash (File menu)."),
            )
        await self._workspace_controller.open_session(link.session_id)
        self._window.show_page("chat")

    async def _show_content(self, link: Link) -> None:
        workspace = self._services.open_workspaces[link.workspace_id]
        await workspace.store.entry(link.digest)  # says so itself when there is none, or none any more
        if not self._session.has_conversation:
            raise InvalidInput(
                text("The linked cache entry can't be shown yet."),
                text("The cache opens with a session, and this workspace has none."),
                text("Start a session, then open the link again."),
            )
        self._session.perform(OpenCacheEntry(link.digest))

    @handles(ImportArchive)
    async def import_file(self, path: Path) -> None:
        """Ask where an exported workspace is to be merged into, and do it. Raises HelixError."""
        inside = await self._services.backup.inspect(path)
        into = self._import_target(inside)
        choices = [
            DialogChoice("", tr("Cancel")),
            DialogChoice(_FOLDER, tr("Choose folder…"), "" if into else "primary"),
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
            await self._merge(into.id, path)
        elif answer == _FOLDER:
            folder = await dialogs.pick_folder(self._window, tr("Choose a workspace folder to import into"))
            if folder is not None:
                await self._merge(self._services.registry.add(folder).id, path)

    async def _merge(self, workspace_id: str, path: Path) -> None:
        await self._import_export.merge_file(workspace_id, path)
        if self._session.workspace_id != workspace_id:
            await self._workspace_controller.open_folder(Path(self._services.registry.get(workspace_id).path))

    def _import_target(self, archive_info: ArchiveInfo) -> WorkspaceRecord | None:
        """Return the workspace that the file was made of, if it is here; else the one on screen, if any."""
        listed = {record.id: record for record in self._services.registry.list_workspaces()}
        return listed.get(archive_info.workspace_id) or listed.get(self._session.workspace_id)

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
        entries=tr.plural(archive_info.entries, "%n cache entry", "%n cache entries"),
    )
    adds = tr("Importing only adds; nothing is replaced.")
    return translate(join_sentences(_archive_origin(archive_info, is_own), contents, adds))


def _archive_origin(archive_info: ArchiveInfo, is_own: bool) -> str:
    workspace = _short_name(archive_info.name)
    # A file may say any time; dates of people have four digits.
    if archive_info.created >= _MAX_CREATED_MS:
        if is_own:
            return tr("The file says it was exported from this workspace.")
        return tr("The file says it was exported from {workspace}.", workspace=workspace)
    day = format_date(archive_info.created)
    if is_own:
        return tr("The file says it was exported from this workspace on {day}.", day=day)
    return tr("The file says it was exported from {workspace} on {day}.", workspace=workspace, day=day)


_MAX_CREATED_MS = 253_370_764_800_000  # milliseconds: the year 9999


def _short_name(name: str) -> str:
    """Return a name on one line, nothing hidden in it."""
    return escape_hidden_name(first_line(name, _NAME_CAP) or name[:_NAME_CAP])
