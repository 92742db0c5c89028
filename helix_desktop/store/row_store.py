"""What both stores do with their rows: commits, reads, drafts, the list of sessions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from msgspec.structs import replace

from helix_desktop.domain.digest import is_digest
from helix_desktop.domain.errors import DigestUnknown
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.passages import PassagePage, PassageQuery
from helix_desktop.domain.store import (
    CacheEntry,
    Commit,
    Content,
    Draft,
    EntryPage,
    EntrySort,
    PartialOutput,
    SessionSummary,
    StoreTotals,
    sort_position,
)
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.store import kinds, store_errors
from helix_desktop.store.commits import StoreAccess, read_events, read_handovers, stage_commit
from helix_desktop.store.contents import find_digests, missing_error
from helix_desktop.store.kinds import MAX_VALUE_BYTES, ROWS, RowDamaged, RowView
from helix_desktop.store.passage_index import scan_passages
from helix_desktop.store.shown_contents import ShownContents
from helix_desktop.store.store_search import EntryQuery, StoreSearch
from helix_desktop.store.threads import WriteBatch

_text = TextContext("Store")

_DIGEST_BYTES = 32


def read_sessions(view: RowView) -> list[SessionSummary]:
    """Return all sessions except those in the trash, last updated first. Raise RowDamaged."""
    summaries = [summary for _, summary in ROWS.summary.scan(view, kinds.SUMMARIES)]
    listed = [summary for summary in summaries if not (summary.trashed or summary.is_removed)]
    return sorted(listed, key=lambda summary: (-summary.updated, summary.id))


class RowStore(StoreSearch):
    """One workspace's store as its rows answer it; how queries and writes are run is up to `access`."""

    def __init__(self, access: StoreAccess) -> None:
        self._access = access
        self._shown = ShownContents()

    @abstractmethod
    def _check_open(self) -> None:
        """Raise StoreClosed if the store is closed."""

    async def commit(self, commit: Commit) -> None:
        self._check_open()
        if commit.is_empty:
            return
        at_ms = self._access.clock()
        await self._access.write(
            lambda batch: stage_commit(batch, self._access.contents, commit, at_ms), commit.size
        )
        self._shown.drop(content.digest for content in commit.contents)

    async def show_contents(self, session_id: str, contents: Sequence[Content], at_ms: int) -> None:
        """Let contents be read, listed and found that a look at a session made, and that are not stored.

        They take the place of those that were shown for the session before.
        """
        self._shown.show(session_id, contents, at_ms)

    @abstractmethod
    async def list_stored_page(self, entry_query: EntryQuery, terms: Sequence[str] = ()) -> EntryPage:
        """Return one page of what is stored, as `list_page`."""

    @abstractmethod
    async def list_stored_digests(self, entry_query: EntryQuery) -> bytes:
        """Return the digests of all that is stored, as `list_digests`."""

    async def list_page(self, entry_query: EntryQuery, terms: Sequence[str] = ()) -> EntryPage:
        page = await self.list_stored_page(entry_query, terms)
        return self._shown.with_shown(page, entry_query)

    async def list_digests(self, entry_query: EntryQuery) -> bytes:
        digests = await self.list_stored_digests(entry_query)
        for shown in self._shown.entries(entry_query):
            digests = await self._with_digest(digests, shown, entry_query.sort)
        return digests

    async def _with_digest(self, digests: bytes, shown: CacheEntry, sort: EntrySort) -> bytes:
        """Return the digests of a listing with one more in its place, which a few others are read for."""
        place = sort_position(shown, sort.column)
        first = 0
        last = len(digests) // _DIGEST_BYTES
        while first < last:
            middle = (first + last) // 2
            at = middle * _DIGEST_BYTES
            other = await self.entry(digests[at : at + _DIGEST_BYTES].hex())
            is_before = sort_position(other, sort.column) < place
            if is_before != sort.descending:
                first = middle + 1
            else:
                last = middle
        cut = first * _DIGEST_BYTES
        return digests[:cut] + bytes.fromhex(shown.digest) + digests[cut:]

    async def events(self, session_id: str) -> list[RecordedEvent]:
        return await self._access.run_query(lambda view: read_events(view, session_id))

    async def sessions(self) -> list[SessionSummary]:
        return await self._access.run_query(read_sessions)

    async def get(self, digest: str) -> bytes:
        try:
            return await self._access.run_query(lambda view: self._access.contents.read(view, digest))
        except DigestUnknown as error:
            return self._shown.find(digest, error).data

    async def entry(self, digest: str) -> CacheEntry:
        def query(view: RowView) -> CacheEntry:
            try:
                record = ROWS.record.get(view, digest) if is_digest(digest) else None
            except RowDamaged as error:
                why = _text("Its record can't be read ({detail}).", detail=str(error))
                raise store_errors.content_damaged(digest, why) from error
            if record is None:
                raise missing_error(view, digest)
            return record.to_entry(digest)

        try:
            return await self._access.run_query(query)
        except DigestUnknown as error:
            return self._shown.find(digest, error).entry

    async def find(self, prefix: str, limit: int = 20) -> list[str]:
        found = await self._access.run_query(lambda view: find_digests(view, prefix, limit))
        return sorted({*found, *self._shown.digests(prefix)})[:limit]

    async def totals(self) -> StoreTotals:
        return await self._access.run_query(kinds.read_totals)

    async def save_draft(self, session_id: str, text: str, attachments: Sequence[Attachment] = ()) -> None:
        draft = Draft(text, tuple(attachments))
        await self._change_draft(session_id, draft.size, text=text, attachments=draft.attachments)

    async def save_partial_answer(self, session_id: str, answer: RecordedEvent | None) -> None:
        await self._change_draft(session_id, partial_answer=answer)

    async def save_partial_outputs(self, session_id: str, outputs: Sequence[PartialOutput]) -> None:
        size = sum(len(output.text) for output in outputs)
        await self._change_draft(session_id, size, partial_outputs=tuple(outputs))

    async def _change_draft(self, session_id: str, size: int = 0, **fields: object) -> None:
        self._check_open()
        kinds.session_bytes(session_id)

        def stage(batch: WriteBatch) -> None:
            ROWS.draft.change(
                batch, session_id, lambda stored: replace(stored, **fields), max_bytes=MAX_VALUE_BYTES
            )

        await self._access.write(stage, size)

    async def draft(self, session_id: str) -> Draft:
        kinds.session_bytes(session_id)
        draft = await self._access.run_query(lambda view: ROWS.draft.get(view, session_id))
        return draft if draft is not None else Draft()

    async def handovers(self, with_checkpoints: bool = False) -> list[tuple[str, RecordedEvent]]:
        """Return every handover, and checkpoint if asked, with its session, in any order."""
        return await self._access.run_query(lambda view: read_handovers(view, with_checkpoints))

    async def find_passages(self, query: PassageQuery) -> PassagePage:
        return await self._access.run_query(lambda view: scan_passages(view, query))
