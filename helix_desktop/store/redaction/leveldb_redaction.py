"""Redaction in a workspace on disk: preview, removal, tombstones, and files without the removed data."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from helix_desktop.domain.errors import StoreDamaged, StoreWriteFailed
from helix_desktop.domain.progress import OnProgress, no_progress
from helix_desktop.domain.redaction.redaction import Redaction, RedactionMatches, RedactionRequest
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.store.core import keys
from helix_desktop.store.core.tombstone import PendingDeletion
from helix_desktop.store.core.write_batch import WriteBatch
from helix_desktop.store.files.store_files import StoreFiles
from helix_desktop.store.leveldb.access import StoreAccess
from helix_desktop.store.leveldb.rows import ROWS
from helix_desktop.store.redaction.redactor import Redactor
from helix_desktop.store.redaction.secret_search import SecretMatches, find_secret
from helix_desktop.store.redaction.secure_delete import delete_copies, find_copies, rewrite_all_files

text = TextContext("Store")

_MAX_ROUNDS = 3  # what is written while one search runs is found by the next


class LevelDbRedaction:
    """Remove what the user names from one workspace's LevelDB; lives as long as its store."""

    def __init__(
        self,
        access: StoreAccess,
        store_files: StoreFiles,
        wait_for_index: Callable[[], Awaitable[object]],
    ) -> None:
        self._access, self._store_files, self._wait_for_index = access, store_files, wait_for_index

    async def preview(
        self, request: RedactionRequest, on_progress: OnProgress = no_progress
    ) -> RedactionMatches:
        """Return where the request matches; change nothing. Raise InvalidInput."""
        redaction = Redaction(request, self._access.clock())
        return await self._matches(await self._search(redaction, on_progress), redaction)

    async def redact(
        self, request: RedactionRequest, on_progress: OnProgress = no_progress
    ) -> RedactionMatches:
        """Remove the matches in this store and its files; return what was changed. Raise InvalidInput."""
        at_ms = self._access.clock()
        first: RedactionMatches | None = None
        for _ in range(_MAX_ROUNDS):
            matches = await self._run_round(
                Redaction(request, at_ms), at_ms, on_progress, is_repeat=first is not None
            )
            first = first or matches
            if _without_own_quarantine(matches).is_empty and first is not matches:
                break
        else:
            raise StoreWriteFailed(
                text("The text was removed, but it is being written again."),
                text("A running turn keeps mentioning it."),
                text("Stop all tasks in this workspace, then remove it again."),
            )
        await (
            self._wait_for_index()
        )  # before the note is deleted that makes the next opening rebuild the index
        try:
            await self._access.write(self._rewrite_files)
        except StoreDamaged as error:
            raise StoreDamaged(
                text("Removed text may still be in the workspace files, which are damaged."),
                error.why,
                text("Close and reopen the workspace to repair it, then remove the text again."),
            ) from error
        assert first is not None  # there is a first round
        return first

    async def redacted_at(self, digest: str) -> int:
        """Return when a content was redacted, in ms since 1970; 0 if it was not, or may be stored again."""
        keys.digest_bytes(digest)
        tombstone = await self._access.run_query(lambda view: ROWS.tombstone.get(view, digest))
        return tombstone.at if tombstone is not None and not tombstone.lifted else 0

    async def lift(self, digest: str) -> bool:
        """Allow a redacted content to be stored again; return True if it was redacted."""
        lifted: list[bool] = []

        def stage(batch: WriteBatch) -> None:
            tombstone = ROWS.tombstone.get(batch, digest)
            lifted.append(tombstone is not None and not tombstone.lifted)
            if tombstone is not None:
                lifted_tombstone = msgspec.structs.replace(tombstone, lifted=True)
                ROWS.tombstone.put(batch, lifted_tombstone, digest)

        keys.digest_bytes(digest)
        await self._access.write(stage)
        return lifted[0]

    async def _search(self, redaction: Redaction, on_progress: OnProgress) -> SecretMatches:
        return await find_secret(self._access, redaction, on_progress)

    async def _matches(self, search_result: SecretMatches, redaction: Redaction) -> RedactionMatches:
        def find_files() -> tuple[list[str], list[str]]:
            removed = {entry.digest for entry in (*search_result.contents, *search_result.indexes)}
            holds_secret = redaction.matches if redaction.needles else None
            contents = self._access.contents
            damaged = contents.quarantine.find_suspects(removed, contents.content_of, holds_secret)
            return damaged, [path.name for path in find_copies(self._store_files)]

        return search_result.to_matches(*await self._access.run_query(lambda _: find_files()))

    async def _run_round(
        self, redaction: Redaction, at_ms: int, on_progress: OnProgress, is_repeat: bool
    ) -> RedactionMatches:
        """Search, and change what was found; a repeated search that finds nothing changes nothing."""
        search_result = await self._search(redaction, on_progress)
        matches = await self._matches(search_result, redaction)

        def stage(batch: WriteBatch) -> None:
            pending = PendingDeletion(at_ms, matches.damaged, matches.store_copies)
            Redactor(batch, self._access, redaction, at_ms).stage(search_result)
            ROWS.pending_deletion.put(batch, pending)

        if not (is_repeat and _without_own_quarantine(matches).is_empty):
            await self._access.write(stage)
        await self._access.run_query(
            lambda _: delete_copies(self._store_files, matches.damaged, matches.store_copies)
        )
        return matches

    def _rewrite_files(self, batch: WriteBatch) -> None:
        rewrite_all_files(self._access.database, self._store_files)
        batch.delete(keys.PENDING_DELETION)


def _without_own_quarantine(matches: RedactionMatches) -> RedactionMatches:
    """Return the matches without the damaged rows that the search itself quarantined again."""
    rows = (row for row in matches.damaged if row.partition(".")[0] not in matches.unreadable)
    return msgspec.structs.replace(matches, damaged=tuple(rows))
