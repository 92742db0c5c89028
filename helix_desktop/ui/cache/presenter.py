"""Answers the cache browser: previews, verifying, exporting."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentDamaged, HelixError
from helix_desktop.domain.file_history.diff import diff_contents
from helix_desktop.domain.translatable_text import TextContext, system_reason
from helix_desktop.services.entry_export import file_name
from helix_desktop.ui.cache.entry_actions import (
    PinEntries,
    RestoreEntries,
    SaveEntry,
    VerifyAllEntries,
    VerifyEntries,
)
from helix_desktop.ui.cache.rows import DIGEST_BYTES, CacheFilter, CacheProgress, PreviewState
from helix_desktop.ui.cache.source import WorkspaceCacheSource
from helix_desktop.ui.cache.view import CacheBrowser
from helix_desktop.ui.design.dialogs import pick_save_file
from helix_desktop.ui.kit.intents import handles
from helix_desktop.ui.kit.notices import Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.words.errors import error_text
from helix_desktop.words.translation import Translator, translate

text = TextContext("Cache")
tr = Translator("Cache")

_PROGRESS_STEP = 25  # entries between two steps of the progress bar
_VERIFIED = "verified"


class CachePresenter:
    def __init__(self, view: CacheBrowser, session: Session) -> None:
        self._view, self._session = view, session
        self._source: WorkspaceCacheSource | None = None  # while a workspace is on screen
        self._verified: dict[tuple[str, str], str] = {}  # when, in words, by workspace and digest
        self._verify_task: asyncio.Task[None] | None = None
        self._compare_task: asyncio.Task[None] | None = None
        self._preview_task: asyncio.Task[None] | None = None
        view.selection_changed.connect(self._select)
        view.preview.content.diff_requested.connect(self._start_comparing)
        view.cancel_requested.connect(self._cancel)
        session.changed.connect(self._show)
        session.on_refresh_page("cache", view.refresh)

    def _show(self) -> None:
        self._cancel()
        self._cancel_preview()
        self._source = None
        if self._session.has_workspace:
            self._source = WorkspaceCacheSource(self._session.workspace, self._session.find_conversation)
        self._view.set_source(self._source)

    def _select(self, digest: str) -> None:
        self._cancel_preview()  # what nobody looks at any more is not read
        if digest:
            self._preview_task = self._session.start(self._preview(digest), "preview")

    def _cancel_preview(self) -> None:
        if self._preview_task is not None:
            self._preview_task.cancel()

    async def _preview(self, digest: str) -> None:
        workspace, source = self._session.workspace, self._source
        if source is None:
            return
        rows = await source.rows([digest])
        if not rows:
            return
        try:
            data = await workspace.store.get(digest)
        except ContentDamaged as error:
            source.damaged.add(digest)
            self._view.show_preview(PreviewState(rows[0], None, error_text(error)))
            return
        if not self._session.shows(workspace):
            return
        self._view.show_preview(PreviewState(rows[0], data))
        if verified := self._verified.get((workspace.id, digest)):
            self._view.set_verified(digest, True, verified)
        previous = await source.previous_version(digest)
        if previous is not None and self._session.shows(workspace):
            self._view.show_preview(PreviewState(rows[0], data, previous=previous))

    def _start_comparing(self, previous: str, digest: str) -> None:
        if self._compare_task is not None:
            self._compare_task.cancel()
        self._compare_task = self._session.start(self._compare(previous, digest), "compare")

    async def _compare(self, previous: str, digest: str) -> None:
        """Show what differs between two versions; of one that is damaged or removed, that it is."""
        workspace, content = self._session.workspace, self._view.preview.content
        try:
            before, after = await workspace.store.get(previous), await workspace.store.get(digest)
        except HelixError as error:
            content.show_diff_error(previous, digest, error_text(error))
            return
        diff = await asyncio.to_thread(diff_contents, before, after)
        content.show_diff(previous, digest, diff)

    @handles(VerifyEntries)
    async def verify(self, digests: Sequence[str]) -> None:
        """Verify contents; the verdict on the one in the preview is shown there, on several in a notice."""
        workspace, source = self._session.workspace, self._source
        if source is None:
            return
        damaged = 0
        for digest in digests:
            if not await self._verify_one(workspace, source, digest):
                damaged += 1
        if len(digests) > 1:
            self._notify_result(workspace.id, len(digests), damaged)

    async def _verify_one(self, workspace: OpenWorkspace, source: WorkspaceCacheSource, digest: str) -> bool:
        """Verify a content, show the verdict, and remember a good one while the window lives."""
        verdict = await workspace.contents.verify(digest)
        words = translate(verdict.text)
        self._verified.pop((workspace.id, digest), None)
        if verdict.is_valid:
            self._verified[workspace.id, digest] = words
        else:
            source.damaged.add(digest)
        self._view.set_verified(digest, verdict.is_valid, words)
        return verdict.is_valid

    @handles(PinEntries)
    async def pin(self, digests: Sequence[str], is_pinned: bool) -> None:
        """Keep entries from clean-ups, or no longer."""
        for digest in digests:
            await self._session.workspace.store.retention.pin(digest, is_pinned)
        await self._show_change(digests)

    @handles(RestoreEntries)
    async def restore(self, digests: Sequence[str]) -> None:
        await self._session.workspace.store.retention.restore(digests)
        await self._show_change(digests)

    async def _show_change(self, digests: Sequence[str]) -> None:
        self._view.refresh()
        if self._view.preview.digest in digests:
            await self._preview(self._view.preview.digest)

    @handles(VerifyAllEntries)
    def start_verify_all(self) -> None:
        if self._verify_task is None:
            self._verify_task = self._session.start(self._verify_all(), "verify all")

    async def _verify_all(self) -> None:
        workspace, source = self._session.workspace, self._source
        try:
            if source is None:
                return
            ids = await source.ids(CacheFilter())
            digests = [ids[at : at + DIGEST_BYTES].hex() for at in range(0, len(ids), DIGEST_BYTES)]
            for done, digest in enumerate(digests):
                if done % _PROGRESS_STEP == 0:
                    self._view.set_progress(CacheProgress(done, len(digests)))
                await self._verify_one(workspace, source, digest)
            self._notify_result(workspace.id, len(digests), len(source.damaged))
        finally:
            self._verify_task = None
            self._view.set_progress(None)

    def _notify_result(self, workspace_id: str, verified: int, damaged: int) -> None:
        if not damaged:
            what = tr.plural(verified, "%n entry verified.", "%n entries verified.")
            why = tr("Their bytes match their SHA-256.")
            self._session.notify(Notice(_VERIFIED, what, why, workspace_id=workspace_id, is_brief=True))
            return
        self._session.notify(
            Notice(
                _VERIFIED,
                tr.plural(
                    damaged,
                    "%n of {total} entries is damaged.",
                    "%n of {total} entries are damaged.",
                    total=verified,
                ),
                tr("Their bytes no longer match their SHA-256."),
                tr("Filter by Damaged to see them. Run the tool again to repair an entry."),
                level="error",
                workspace_id=workspace_id,
            )
        )
        self._view.refresh()

    def _cancel(self) -> None:
        if self._verify_task is not None:
            self._verify_task.cancel()

    @handles(SaveEntry)
    async def export(self, digest: str) -> None:
        store = self._session.workspace.store
        entry = await store.entry(digest)
        place = await pick_save_file(self._view, tr("Save cached output"), file_name(entry))
        if place is None:
            return
        data = await store.get(digest)
        await _write(place, data)
        content = await asyncio.to_thread(place.read_bytes)
        self._view.set_verified(digest, digest_of(content) == digest, tr("Saved as {file}", file=place.name))


async def _write(path: Path, data: bytes) -> None:
    try:
        await asyncio.to_thread(path.write_bytes, data)
    except OSError as error:
        raise HelixError(
            text("Couldn't save {file}.", file=path),
            system_reason(error),
            text("Choose another folder."),
        ) from error
