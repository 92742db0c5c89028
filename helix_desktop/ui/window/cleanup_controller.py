"""Cleans up and shows the trash, for the workspace on screen."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.domain.retention import CleanupResult, RetentionRule
from helix_desktop.ui.design.dialogs import confirm, exec_async
from helix_desktop.ui.kit.intents import CleanUp, RefreshLists, ShowTrash, handles
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.outputs.entry_actions import TrashEntries, UndoTrash
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.session_lists import DELETED_SESSION
from helix_desktop.ui.window.window_group import WindowGroup, WindowPart
from helix_desktop.ui.workspace_dialogs.cleanup_dialogs import CleanupDialog, TrashDialog
from helix_desktop.words.numbers import format_size
from helix_desktop.words.store_reports import deletion_lines, retention_reason
from helix_desktop.words.translation import Translator

tr = Translator("Workspaces")

_CLEANED, _STAYS = "cleanup", "stays"
_ASK_ABOVE = 1_000  # entries that go to the trash without a question
_JOB_DELAY_S = 0.5  # what is over by then has no line


class CleanupController(WindowPart):
    def __init__(self, window: MainWindow, windows: WindowGroup) -> None:
        super().__init__(window, windows)
        self._last_cleanup: tuple[str, CleanupResult] | None = None  # of a workspace
        self._plan_task: asyncio.Task[None] | None = None
        self.cleanup_dialog: CleanupDialog | None = None
        self.trash_dialog: TrashDialog | None = None
        # It answers what was asked for in the cache, and says nothing of another page.
        window.page_shown.connect(lambda _: window.notices.end(_STAYS))

    @handles(CleanUp)
    async def clean_up(self) -> None:
        """Show what could go, and move it to the trash when the user confirms."""
        workspace, start = self._session.workspace, self._start
        history = self._services.history_storage(workspace.id)
        record = self._services.registry.get(workspace.id)
        dialog = CleanupDialog(self._window, RetentionRule(record.quota, record.unused_ms))
        self.cleanup_dialog = dialog

        async def plan(rule: RetentionRule) -> None:
            found = await workspace.store.retention.plan(rule)
            if self.cleanup_dialog is dialog and dialog.rule == rule:
                dialog.show_plan(found)

        def start_plan() -> None:
            if self._plan_task is not None:
                self._plan_task.cancel()
            self._plan_task = start(plan(dialog.rule), "plan a clean-up")

        async def show_history() -> None:
            totals, plan = await history.totals(), await history.plan()
            if self.cleanup_dialog is dialog:
                dialog.show_history(totals, plan, history.quota)

        async def clean_up_history() -> None:
            dialog.history_button.setEnabled(False)
            await history.clean_up()
            await show_history()

        dialog.rule_changed.connect(start_plan)
        dialog.collect_button.clicked.connect(lambda: start(self._collect(workspace, dialog), "collect"))
        dialog.history_button.clicked.connect(lambda: start(clean_up_history(), "clean up the file history"))
        start_plan()
        start(show_history(), "plan a clean-up of the file history")
        try:
            await exec_async(dialog)
        finally:
            self.cleanup_dialog = None
        if dialog.leads_to_trash:
            await self.show_trash()

    async def _collect(self, workspace: OpenWorkspace, dialog: CleanupDialog) -> None:
        dialog.collect_button.setEnabled(False)
        rule, retention = dialog.rule, workspace.store.retention
        saved_rule = rule if dialog.values.get("automatic") else RetentionRule()
        self._services.registry.change(workspace.id, quota=saved_rule.quota, unused_ms=saved_rule.unused_ms)
        plan = await retention.plan(rule)
        result = await retention.collect([entry.digest for entry in plan.to_trash])
        dialog.accept()
        await self._show_trashed(workspace, result)

    @handles(TrashEntries)
    async def move_to_trash(self, digests: Sequence[str]) -> None:
        """Move entries to the trash, very many after a question, and say why one stays.

        Raises WorkspaceMissing, StoreError.
        """
        workspace = self._session.workspace
        if len(digests) > _ASK_ABOVE:
            what = tr.plural(len(digests), "Move %n entry to the trash?", "Move %n entries to the trash?")
            why = tr("What a session uses and what is pinned stays. You can restore the rest from the trash.")
            if not await confirm(self._window, what, why, "trash", tr("Move to trash")):
                return

        async def trash(on_progress: OnProgress) -> tuple[CleanupResult, list[str]]:
            shown = asyncio.get_running_loop().call_later(_JOB_DELAY_S, on_progress, 0, 0)
            try:
                result = await workspace.store.retention.collect(digests, grace_ms=0)
                return result, await asyncio.to_thread(_without, digests, result.digests)
            finally:
                shown.cancel()

        words = tr.plural(len(digests), "Moving %n entry to the trash…", "Moving %n entries to the trash…")
        result, left = await self._session.job(words, trash)
        if result.digests:
            await self._show_trashed(workspace, result)
        if not left:
            return
        why, fix = retention_reason(await workspace.store.entry(left[0]))
        what = tr.plural(len(left), "%n output stays stored.", "%n outputs stay stored.")
        if len(left) > 1:
            why = tr("One of them: {reason}", reason=why)
        self._session.notify(Notice(_STAYS, what, why, fix, level="warning", workspace_id=workspace.id))

    async def _show_trashed(self, workspace: OpenWorkspace, result: CleanupResult) -> None:
        self._last_cleanup = (workspace.id, result)
        self._session.notices.end(_STAYS)
        count = len(result.digests)
        what = tr.plural(count, "%n entry moved to the trash.", "%n entries moved to the trash.")
        why = tr("{size} on disk. You can restore from the trash.", size=format_size(result.stored_size))
        answers = (Answer(tr("Undo"), partial(self._window.perform, UndoTrash()), "undo"),) if count else ()
        notice = Notice(_CLEANED, what, why, answers=answers, workspace_id=workspace.id, is_brief=True)
        self._session.notify(notice)
        await self._refresh_views()

    @handles(ShowTrash)
    async def show_trash(self) -> None:
        workspace = self._session.workspace
        dialog = self.trash_dialog = TrashDialog(self._window, self._services.registry.get(workspace.id).name)
        dialog.restore_requested.connect(lambda *ids: self._start(self._restore(workspace, *ids), "restore"))
        dialog.delete_requested.connect(
            lambda *ids: self._start(self._delete(workspace, dialog, *ids), "delete permanently")
        )
        dialog.show_trash(await workspace.store.retention.trash())
        try:
            await exec_async(dialog)
        finally:
            self.trash_dialog = None

    async def _restore(self, workspace: OpenWorkspace, digests: list[str], sessions: list[str]) -> None:
        await workspace.store.retention.restore(digests)
        for session_id in sessions:
            await workspace.store.retention.restore_session(session_id)
        if sessions:
            self._session.notices.end(DELETED_SESSION)
        await self._refresh_views()

    async def _delete(
        self, workspace: OpenWorkspace, dialog: TrashDialog, digests: list[str], sessions: list[str]
    ) -> None:
        """Say what goes for good, and delete it when the user confirms."""
        retention, count = workspace.store.retention, len(digests) + len(sessions)
        history = self._services.history_storage(workspace.id)
        plan = await retention.delete_permanently(digests, sessions, dry_run=True)
        versions = await history.plan_deletion(plan.sessions)
        what = tr.plural(count, "Permanently delete %n item?", "Permanently delete %n items?")
        why = " ".join((*deletion_lines(plan, versions), tr("This can't be undone.")))
        if not await confirm(dialog, what, why, "delete", tr("Delete permanently")):
            return
        done = await retention.delete_permanently(digests, sessions)
        await history.clean_up()
        if done.sessions:
            self._session.notices.end(DELETED_SESSION)
        if done.digests:  # also those that went with a session
            self._session.notices.end(_CLEANED)
        await self._refresh_views()

    @handles(UndoTrash)
    async def undo_trash(self) -> None:
        """Take what was moved to the trash last out of it again."""
        workspace = self._session.workspace
        if self._last_cleanup is None or self._last_cleanup[0] != workspace.id:
            return
        _, result = self._last_cleanup
        self._last_cleanup = None
        await workspace.store.retention.restore(result.digests)
        self._session.notices.end(_CLEANED)
        await self._refresh_views()

    async def _refresh_views(self) -> None:
        if (outputs := self._window.pages.outputs.find()) is not None:
            outputs.refresh()
        await self._session.run(RefreshLists())
        if self.trash_dialog is not None:
            self.trash_dialog.show_trash(await self._session.workspace.store.retention.trash())


def _without(digests: Sequence[str], gone: Sequence[str]) -> list[str]:
    left_out = set(gone)
    return [digest for digest in digests if digest not in left_out]
