"""Moves outputs to the trash, shows what is there and deletes it, for the workspace on screen."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.domain.retention import CleanupResult, RetentionRule
from helix_desktop.ui.design.dialogs import confirm
from helix_desktop.ui.kit.intents import (
    DeletePermanently,
    EmptyTrash,
    RefreshLists,
    ShowTrash,
    ShowUnused,
    TrashUnused,
    handles,
)
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.outputs.entry_actions import TrashEntries, UndoTrash
from helix_desktop.ui.outputs.filter_bar import ORPHAN_OPTION, FilterOption, state_option
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.session_lists import DELETED_SESSION
from helix_desktop.ui.window.window_group import WindowGroup, WindowPart
from helix_desktop.words.numbers import format_size
from helix_desktop.words.store_reports import deletion_lines, retention_reason
from helix_desktop.words.translation import Translator

tr = Translator("Workspaces")

_CLEANED = "cleanup"
_STAYS = "stays"
_ASK_ABOVE = 1_000  # entries that go to the trash without a question
_JOB_DELAY_S = 0.5  # what is over by then has no line


class CleanupController(WindowPart):
    def __init__(self, window: MainWindow, windows: WindowGroup) -> None:
        super().__init__(window, windows)
        self._last_cleanup: tuple[str, CleanupResult] | None = None  # of a workspace
        # It answers what was asked for in the cache, and says nothing of another page.
        window.page_shown.connect(lambda _: window.notices.end(_STAYS))

    @handles(TrashUnused)
    async def trash_unused(self) -> None:
        """Move all outputs to the trash that no session uses and that aren't pinned or new."""
        workspace = self._session.workspace
        plan = await workspace.store.retention.plan(RetentionRule())
        result = await workspace.store.retention.collect([entry.digest for entry in plan.to_trash])
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
    def show_trash(self) -> None:
        self._window.sidebar.session_list.unfold("trash")
        self._show_outputs(state_option("in_trash"))

    @handles(ShowUnused)
    def show_unused(self) -> None:
        self._show_outputs(ORPHAN_OPTION)

    def _show_outputs(self, option: FilterOption) -> None:
        self._window.show_page("outputs")
        self._window.pages.outputs.get().filter_bar.show_only(option)

    @handles(EmptyTrash)
    async def empty_trash(self) -> None:
        trash = await self._session.workspace.store.retention.trash()
        digests = tuple(entry.digest for entry in trash.entries)
        await self.delete_permanently(digests, tuple(session.id for session in trash.sessions))

    @handles(DeletePermanently)
    async def delete_permanently(self, digests: Sequence[str], sessions: Sequence[str]) -> None:
        """Say what goes for good, and delete it when the user confirms."""
        workspace = self._session.workspace
        retention = workspace.store.retention
        history = self._services.history_storage(workspace.id)
        plan = await retention.delete_permanently(digests, sessions, dry_run=True)
        versions = await history.plan_deletion(plan.sessions)
        why = " ".join((*deletion_lines(plan, versions), tr("This can't be undone.")))
        what = tr("Delete permanently?")
        delete = tr("Delete permanently")
        if not await confirm(self._window, what, why, "delete", delete):
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


def _without(digests: Sequence[str], gone: Sequence[str]) -> list[str]:
    left_out = set(gone)
    return [digest for digest in digests if digest not in left_out]
