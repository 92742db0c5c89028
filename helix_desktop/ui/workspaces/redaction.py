"""Redaction from its dialog to the files: preview, then redact, then reload what is open."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

import msgspec
from PySide6.QtCore import QObject

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.messages import display_name
from helix_desktop.domain.redaction import Redaction, RedactionMatches, RedactionRequest
from helix_desktop.domain.store import Draft
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.dialogs import exec_async
from helix_desktop.ui.kit.intents import RemoveSecret, handles
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.redaction.dialog import RedactDialog
from helix_desktop.ui.session.composer_controller import ComposerController
from helix_desktop.ui.session.window_group import WindowGroup
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.workspaces.controller import WorkspaceController
from helix_desktop.words.errors import error_text
from helix_desktop.words.numbers import format_size
from helix_desktop.words.store_reports import summary_lines, workspace_files_note
from helix_desktop.words.translation import Translator

tr = Translator("Workspaces")

_MAX_NAMED = 3  # sessions that are named as places of a secret


class RedactionController(QObject):
    """One redaction at a time, in one workspace, while its dialog is open."""

    def __init__(
        self,
        window: MainWindow,
        session: Session,
        windows: WindowGroup,
        workspace_controller: WorkspaceController,
        composer: ComposerController,
    ) -> None:
        super().__init__(window)
        self._window, self._session, self._windows = window, session, windows
        self._workspace_controller, self._composer = workspace_controller, composer
        # Errors are shown with what is on screen when they happen: the session was taken off by then.
        self._async_actions = AsyncActions(session.actions.scope, session.actions.show_error)
        self._search_task: asyncio.Task[None] | None = None
        self.dialog: RedactDialog | None = None
        window.intents.add(self)

    @handles(RemoveSecret)
    async def redact(self, digest: str = "") -> None:
        """Let the user redact a text, or an output and a text, of the workspace on screen.

        Raises HelixError.
        """
        self._workspace, self._digest = self._session.workspace, digest
        self._redaction = self._session.app.redaction(self._workspace.id)
        target = ""
        if digest:
            entry = await self._workspace.store.entry(digest)
            name = f"{display_name(entry.tool)} {entry.target}".strip() or digest[:12]
            target = f"{name} · {format_size(entry.size)}"
        dialog = self.dialog = RedactDialog(self._window, target)
        dialog.search_requested.connect(self._search)
        dialog.cancel_requested.connect(self._stop)
        dialog.redact_requested.connect(self._redact)
        try:
            await exec_async(dialog)
        finally:
            self.dialog = None
            self._stop()

    def _request(self, text: str) -> RedactionRequest:
        return RedactionRequest(text, (self._digest,) if self._digest else ())

    def _search(self, text: str) -> None:
        self._search_task = self._async_actions.start(
            self._run_search(self._request(text)), "look for a secret"
        )

    async def _run_search(self, request: RedactionRequest) -> None:
        try:
            await self._settle()
            matches = await self._redaction.preview(request, self._on_progress)
            matches = _with_unsaved(matches, self._unsaved_with(request))
        except HelixError as error:
            self._show_error(error)
            return
        if self.dialog is not None:
            self.dialog.show_matches(summary_lines(matches), await self._notes(matches))

    async def _notes(self, matches: RedactionMatches) -> list[str]:
        titles = {session.id: session.title for session in await self._workspace.store.sessions()}
        quoted = [
            tr("“{title}”", title=titles[session_id])
            for session_id in matches.sessions
            if session_id in titles
        ]
        notes = []
        if quoted:
            sessions = tuple(quoted[:_MAX_NAMED])
            if more := len(quoted) - len(sessions):
                sessions += (tr.plural(more, "%n more", "%n more", "sessions in a list"),)
            notes.append(tr("In {sessions}.", sessions=sessions))
        if matches.unreadable:
            notes.append(
                tr.plural(
                    len(matches.unreadable),
                    "%n damaged entry can't be searched.",
                    "%n damaged entries can't be searched.",
                )
            )
        if files := workspace_files_note(matches):
            notes.append(files)
        return notes

    def _stop(self) -> None:
        if self._search_task is not None:
            self._search_task.cancel()

    def _redact(self, text: str) -> None:
        self._async_actions.start(self._run_redaction(self._request(text)), "forget")

    async def _run_redaction(self, request: RedactionRequest) -> None:
        async with self._windows.away_from(self._window, self._workspace.id):
            await self._redact_stored(request)

    async def _redact_stored(self, request: RedactionRequest) -> None:
        session_id = await self._close_views()
        try:
            unsaved = self._unsaved_with(request)
            matches = _with_unsaved(await self._redaction.redact(request, self._on_progress), unsaved)
            self._put_unsaved(unsaved)
            self._composer.outgoing.change(self._of(request).redact_draft, self._workspace.id)
        except HelixError as error:
            self._show_error(error)
        else:
            if self.dialog is not None:
                self.dialog.show_done(summary_lines(matches), workspace_files_note(matches))
        finally:
            await self._reopen_views(session_id)

    def _of(self, request: RedactionRequest) -> Redaction:
        return Redaction(request, self._workspace.clock())

    def _unsaved_with(self, request: RedactionRequest) -> dict[str, Draft]:
        """Return the drafts that could not be saved and have the secret by session, without it."""
        redaction, attachments = self._of(request), self._composer.attachments
        drafts = {
            draft.session_id: Draft(draft.text, tuple(attachments.of(draft.session_id)))
            for draft in self._composer.drafts.unsaved.all()
            if draft.workspace.id == self._workspace.id
        }
        clean = {session_id: redaction.redact_draft(draft) for session_id, draft in drafts.items()}
        return {session_id: draft for session_id, draft in clean.items() if draft != drafts[session_id]}

    def _put_unsaved(self, drafts: Mapping[str, Draft]) -> None:
        for session_id, draft in drafts.items():
            self._composer.drafts.unsaved.set_text(session_id, draft.text)
            self._composer.attachments.change(session_id, draft.attachments)

    async def _settle(self) -> None:
        """Wait for what is on its way: what is recorded later would have the secret again."""
        await self._composer.attachments.wait()
        await self._composer.outgoing.settle(self._workspace.id)

    async def _close_views(self) -> str:
        """Take the conversation off the screen, with what is stored; return its session, empty if none."""
        session_id = self._session.id
        await self._session.show(self._workspace, None)
        await self._settle()
        unsaved = {draft.session_id for draft in self._composer.drafts.unsaved.all()}
        self._composer.attachments.clear(but=unsaved)
        return session_id

    async def _reopen_views(self, session_id: str) -> None:
        if session_id:
            await self._workspace_controller.session_opener.open_session(session_id)
        self._window.pages.cache.refresh()
        self._window.sidebar.search.clear()  # it may show a line with the secret
        await self._workspace_controller.sidebar.refresh()

    def _on_progress(self, done: int, total: int) -> None:
        if self.dialog is not None:
            self.dialog.show_progress(done, total)

    def _show_error(self, error: HelixError) -> None:
        if self.dialog is not None:
            self.dialog.show_problem(error_text(error))
        else:
            self._async_actions.show_error(error)


def _with_unsaved(matches: RedactionMatches, unsaved: Iterable[str]) -> RedactionMatches:
    sessions = dict.fromkeys((*matches.drafts, *unsaved))
    return msgspec.structs.replace(matches, drafts=tuple(sessions))
