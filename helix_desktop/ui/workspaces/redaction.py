"""Redaction from its dialog to the files: preview, then redact, then reload what is open."""

from __future__ import annotations

import asyncio
from typing import Protocol

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.digest import format_bytes
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.redaction.redaction import RedactionMatches, RedactionRequest
from helix_desktop.services.redaction import WorkspaceRedaction
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.dialogs import exec_async
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.redaction.dialog import RedactDialog
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.words.store_reports import summary_lines


class SessionScreen(Protocol):
    """What is on screen of the workspace."""

    async def close_views(self) -> str:
        """Take the conversation off the screen, and what goes along with its next message; its session."""
        ...

    async def reopen_views(self, session: str) -> None:
        """Show a session as it is stored now."""
        ...


class RedactionPresenter:
    """One forgetting in one workspace, while its dialog is open."""

    def __init__(
        self,
        window: MainWindow,
        async_actions: AsyncActions,
        workspace: OpenWorkspace,
        redaction: WorkspaceRedaction,
        screen: SessionScreen,
        digest: str = "",
    ) -> None:
        """`digest` is the output that is to be forgotten; without one only a text is."""
        self._window, self._async_actions, self._workspace = window, async_actions, workspace
        self._redaction, self._screen, self._digest = redaction, screen, digest
        self._search_task: asyncio.Task[None] | None = None
        self._redaction_task: asyncio.Task[None] | None = None
        self.dialog: RedactDialog | None = None

    async def run(self) -> None:
        """Open the dialog and wait until it is closed. Raises DigestUnknown."""
        target = ""
        if self._digest:
            entry = await self._workspace.store.entry(self._digest)
            name = f"{entry.tool} {entry.target}".strip() or self._digest[:12]
            target = f"{name}, {format_bytes(entry.size)}"
        dialog = self.dialog = RedactDialog(self._window, target)
        dialog.search_requested.connect(self._search)
        dialog.cancel_requested.connect(self._stop)
        dialog.redact_requested.connect(self._redact)
        retint(dialog, self._window.theme)
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
            finds = await self._redaction.preview(request, self._on_progress)
        except HelixError as error:
            self._show_error(error)
            return
        if self.dialog is not None:
            self.dialog.show_matches(summary_lines(finds), await self._notes(finds))

    async def _notes(self, matches: RedactionMatches) -> list[str]:
        titles = {session.id: session.title for session in await self._workspace.store.sessions()}
        quoted_titles = [f"“{titles[session_id]}”" for session_id in matches.sessions if session_id in titles]
        notes = []
        if quoted_titles:
            more = f" and {len(quoted_titles) - 3:,} more" if quoted_titles[3:] else ""
            notes.append(f"In {', '.join(quoted_titles[:3])}{more}.")
        if matches.unreadable:
            notes.append(f"{len(matches.unreadable):,} damaged entries cannot be looked through.")
        return notes

    def _stop(self) -> None:
        if self._search_task is not None:
            self._search_task.cancel()

    def _redact(self, text: str) -> None:
        self._redaction_task = self._async_actions.start(self._run_redaction(self._request(text)), "forget")

    async def _run_redaction(self, request: RedactionRequest) -> None:
        session = await self._screen.close_views()
        try:
            finds = await self._redaction.redact(request, self._on_progress)
        except HelixError as error:
            self._show_error(error)
        else:
            if self.dialog is not None:
                self.dialog.show_done(summary_lines(finds))
        finally:
            await self._screen.reopen_views(session)

    def _on_progress(self, done: int, total: int) -> None:
        if self.dialog is not None:
            self.dialog.show_progress(done, total)

    def _show_error(self, error: HelixError) -> None:
        if self.dialog is not None:
            self.dialog.show_problem(error.what, error.why, error.fix)
        else:
            self._async_actions.show_error(error)
