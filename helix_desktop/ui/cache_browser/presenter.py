"""Answers the cache browser: previews, verifying, exporting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from helix_desktop.agent.room import Room
from helix_desktop.context.content import Entry
from helix_desktop.context.digest import count_text, digest_of
from helix_desktop.context.errors import ContentDamaged, HelixError
from helix_desktop.context.transcript import Transcript
from helix_desktop.ui.cache_browser.rows import DIGEST_BYTES, CacheFilter, CacheProgress, PreviewState
from helix_desktop.ui.cache_browser.source import RoomSource
from helix_desktop.ui.cache_browser.view import CacheBrowser
from helix_desktop.ui.dialogs import pick_folder, pick_save_file
from helix_desktop.ui.frame.rows import Banner
from helix_desktop.ui.intents import Intents

_TOLD_EVERY = 25  # entries between two steps of the progress bar
_VERIFIED = "verified"
_SAVED = "saved"


class CachePresenter:
    """Binds the cache browser to one room at a time; `inform` is told how long work ended."""

    def __init__(self, view: CacheBrowser, intents: Intents, inform: Callable[[Banner], None]) -> None:
        self._view, self._intents, self._inform = view, intents, inform
        self._room: Room | None = None
        self._source: RoomSource | None = None
        self._verifying: asyncio.Task[None] | None = None
        view.selection_changed.connect(self._select)
        view.verify_requested.connect(lambda digest: intents.start(self._verify(digest), "verify"))
        view.table.pin_requested.connect(lambda *what: intents.start(self._pin(*what), "pin"))
        view.table.restore_requested.connect(lambda digests: intents.start(self._restore(digests), "restore"))
        view.table.verify_requested.connect(
            lambda digests: intents.start(self._verify_several(digests), "verify several")
        )
        view.table.export_requested.connect(
            lambda digests: intents.start(self._export_all(digests), "export")
        )
        view.verify_all_requested.connect(self._begin_verify_all)
        view.cancel_requested.connect(self._cancel)
        view.export_requested.connect(lambda digest: intents.start(self._export(digest), "export"))

    def show(self, room: Room | None, transcript: Callable[[], Transcript | None]) -> None:
        """Show the entries of a room, with the state they have in one session."""
        self._cancel()
        self._room = room
        self._source = RoomSource(room, transcript) if room is not None else None
        self._view.set_source(self._source)

    def _select(self, digest: str) -> None:
        if digest:
            self._intents.start(self._preview(digest), "preview")

    async def _preview(self, digest: str) -> None:
        room, source = self._room, self._source
        if room is None or source is None:
            return
        rows = await source.rows([digest])
        if not rows:
            return
        try:
            data = await room.store.get(digest)
        except ContentDamaged as error:
            source.damaged.add(digest)
            self._view.show_preview(PreviewState(rows[0], None, str(error)))
            return
        if room is self._room:
            self._view.show_preview(PreviewState(rows[0], data))

    async def _verify(self, digest: str) -> None:
        if self._room is None or self._source is None:
            return
        verdict = await self._room.verify(digest)
        if not verdict.sound:
            self._source.damaged.add(digest)
        self._view.set_verified(digest, verdict.sound, verdict.text)

    async def _verify_several(self, digests: Sequence[str]) -> None:
        room, source = self._room, self._source
        if room is None or source is None:
            return
        damaged = 0
        for digest in digests:
            verdict = await room.verify(digest)
            if not verdict.sound:
                damaged += 1
                source.damaged.add(digest)
        self._tell_result(room.id, len(digests), damaged)

    async def _pin(self, digests: Sequence[str], on: bool) -> None:
        if self._room is not None:
            for digest in digests:
                await self._room.store.keep.pin(digest, on)
            await self._show_change(digests)

    async def _restore(self, digests: Sequence[str]) -> None:
        if self._room is not None:
            await self._room.store.keep.restore(digests)
            await self._show_change(digests)

    async def _show_change(self, digests: Sequence[str]) -> None:
        self._view.refresh()
        if self._view.preview.digest in digests:
            await self._preview(self._view.preview.digest)

    def _begin_verify_all(self) -> None:
        if self._verifying is None:
            self._verifying = self._intents.start(self._verify_all(), "verify all")

    async def _verify_all(self) -> None:
        room, source = self._room, self._source
        try:
            if room is None or source is None:
                return
            ids = await source.ids(CacheFilter())
            digests = [ids[at : at + DIGEST_BYTES].hex() for at in range(0, len(ids), DIGEST_BYTES)]
            for done, digest in enumerate(digests):
                if done % _TOLD_EVERY == 0:
                    self._view.set_progress(CacheProgress("Verifying", done, len(digests)))
                verdict = await room.verify(digest)
                if not verdict.sound:
                    source.damaged.add(digest)
            self._tell_result(room.id, len(digests), len(source.damaged))
        finally:
            self._verifying = None
            self._view.set_progress(None)

    def _tell_result(self, workspace: str, verified: int, damaged: int) -> None:
        if not damaged:
            why = "The bytes of each have the SHA-256 they are stored under."
            said = "The one entry is sound." if verified == 1 else f"All {verified:,} entries are sound."
            self._inform(Banner(_VERIFIED, "info", said, why, workspace=workspace))
            return
        self._inform(
            Banner(
                _VERIFIED,
                "error",
                f"{damaged:,} of {verified:,} entries are damaged.",
                "Their bytes no longer have the SHA-256 they are stored under.",
                "Filter by the state damaged to see them; running the tool again heals an entry.",
                workspace=workspace,
            )
        )
        self._view.refresh()

    def _cancel(self) -> None:
        if self._verifying is not None:
            self._verifying.cancel()

    async def _export(self, digest: str) -> None:
        if self._room is None:
            return
        entry = await self._room.store.entry(digest)
        place = await pick_save_file(self._view, "Save the cached output", _file_name(entry))
        if place is None:
            return
        data = await self._room.store.get(digest)
        await _write(place, data)
        written = await asyncio.to_thread(place.read_bytes)
        self._view.set_verified(digest, digest_of(written) == digest, f"saved as {place.name}")

    async def _export_all(self, digests: Sequence[str]) -> None:
        """Save several contents into a folder that the user chooses; none takes the place of a file there."""
        room = self._room
        folder = await pick_folder(self._view, "Save the cached outputs to a folder")
        if room is None or folder is None:
            return
        for digest in digests:
            entry = await room.store.entry(digest)
            place = folder / _file_name(entry)
            if await asyncio.to_thread(place.exists):
                place = folder / f"{digest[:12]}-{place.name}"
            await _write(place, await room.store.get(digest))
        said = f"{count_text(len(digests), 'entry', 'entries')} saved to {folder}."
        self._inform(Banner(_SAVED, "info", said, workspace=room.id))


def _file_name(entry: Entry) -> str:
    return Path(entry.target).name if entry.tool == "read_file" else f"{entry.digest[:12]}.txt"


async def _write(place: Path, data: bytes) -> None:
    try:
        await asyncio.to_thread(place.write_bytes, data)
    except OSError as error:
        raise HelixError(f"{place} could not be written.", f"{error}.", "Choose another place.") from error
