"""The store's twin in memory: the same answers and refusals, nothing durable. For tests and replay."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import msgspec

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.draft import Draft
from helix_desktop.domain.errors import DigestUnknown
from helix_desktop.domain.events.session import Attachment, RecordedEvent, digests_in
from helix_desktop.domain.store.entries import CacheEntry, Content, SessionSummary, StoreTotals
from helix_desktop.domain.store.retention import must_revive
from helix_desktop.store.core import keys, store_errors
from helix_desktop.store.core.commit import Clock, Commit, check_digest, check_sequence, check_stored, now_ms
from helix_desktop.store.core.tombstone import Tombstone
from helix_desktop.store.memory.health import MemoryHealth
from helix_desktop.store.memory.redaction import MemoryRedaction
from helix_desktop.store.memory.retention import MemoryData, MemoryRetention
from helix_desktop.store.memory.search import MemorySearch


class MemoryStore(MemorySearch):
    """One workspace's memory while the process lives. Nothing is compressed: `stored_size` equals `size`."""

    def __init__(self, clock: Clock = now_ms) -> None:
        super().__init__()
        self._clock = clock
        self._closed = False
        self._data: dict[str, bytes] = {}
        self._summaries: dict[str, SessionSummary] = {}
        self._drafts: dict[str, Draft] = {}
        self.health = MemoryHealth(self._data, self._check_open)
        self._tombstones: dict[str, Tombstone] = {}
        held = MemoryData(
            self._data, self._entries, self._logs, self._summaries, self._drafts, self._tombstones
        )
        self.retention = MemoryRetention(held, clock, self._check_open)
        self.redaction = MemoryRedaction(held, clock, self._check_open)

    async def commit(
        self,
        session: str,
        events: Sequence[RecordedEvent] = (),
        contents: Sequence[Content] = (),
        recalls: Sequence[str] = (),
        summary: SessionSummary | None = None,
    ) -> None:
        """Store all of it, or nothing. Raises ContentTooLarge, StoreClosed, ValueError as LevelStore does."""
        self._check_open()
        made = Commit(session, self._clock(), tuple(events), tuple(contents), tuple(recalls), summary)
        made.validate()
        self._check_commit(made)
        for content in made.contents:
            await self._store_content(content, made.at_ms, session)
        for recorded in made.events:
            self._logs.setdefault(session, []).append(recorded)
            for digest in digests_in(recorded.event):
                if digest in self._entries:
                    self._update_entry(digest, references=self._entries[digest].references + 1, trashed=0)
        for digest in made.recalls:
            if digest in self._entries:
                times = self._entries[digest].recalls + 1
                self._update_entry(digest, recalls=times, last_used=made.at_ms, trashed=0)
        if summary is not None:
            self._summaries[session] = summary

    async def events(self, session: str) -> list[RecordedEvent]:
        """A session's whole log, in order; empty when there is none."""
        self._check_open()
        keys.session_bytes(session)
        return list(self._logs.get(session, ()))

    async def sessions(self) -> list[SessionSummary]:
        """All sessions but those in the trash, last updated first."""
        self._check_open()
        listed = (one for one in self._summaries.values() if not one.trashed)
        return sorted(listed, key=lambda one: (-one.updated, one.id))

    async def get(self, digest: str) -> bytes:
        """The bytes of a full digest. Raises DigestUnknown (with near matches)."""
        self._check_open()
        if digest not in self._data:
            raise self._missing_error(digest)
        return self._data[digest]

    async def entry(self, digest: str) -> CacheEntry:
        """What is known of a content. Raises DigestUnknown."""
        self._check_open()
        if digest not in self._entries:
            raise self._missing_error(digest)
        return self._entries[digest]

    async def find(self, prefix: str, limit: int = 20) -> list[str]:
        """The digests that begin with `prefix` (1 to 64 hex digits), in order. Raises ValueError."""
        self._check_open()
        return self._find_digests(prefix, limit)

    async def totals(self) -> StoreTotals:
        """Counts and sizes of the whole store."""
        self._check_open()
        size = sum(len(data) for data in self._data.values())
        return StoreTotals(len(self._entries), size, size, len(self._summaries))

    async def save_draft(self, session: str, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Save what was typed and attached, and not sent; nothing of both deletes it."""
        self._check_open()
        keys.session_bytes(session)
        self._drafts[session] = Draft(text, tuple(attachments))

    async def draft(self, session: str) -> Draft:
        """Return what was typed and attached, and not sent."""
        self._check_open()
        keys.session_bytes(session)
        return self._drafts.get(session, Draft())

    async def close(self) -> None:
        """Calls after it raise StoreClosed. Idempotent."""
        self._closed = True

    async def _store_content(self, content: Content, at_ms: int, session: str) -> None:
        digest = content.digest
        known = self._entries.get(digest)
        if known is not None and must_revive(known.references, known.trashed, known.last_used, at_ms):
            self._update_entry(digest, trashed=0, last_used=at_ms)
        elif known is None and not self._is_redacted(digest):
            self._data[digest] = content.data
            self._entries[digest] = _new_entry(content, at_ms, session)
            if self._tombstones.pop(digest, None):
                self._update_entry(digest, references=len(await self.retention.references(digest)))

    def _check_open(self) -> None:
        if self._closed:
            raise store_errors.store_closed()

    def _check_commit(self, commit: Commit) -> None:
        """Refuse before anything is changed."""
        for content in commit.contents:
            check_digest(content, digest_of(content.data))
        held = self._entries.keys() | {content.digest for content in commit.contents}
        held |= {digest for digest in self._tombstones if self._is_redacted(digest)}
        check_sequence(commit.session, len(self._logs.get(commit.session, ())), commit.events)
        for recorded in commit.events:
            for digest in digests_in(recorded.event):
                check_stored(digest, digest in held, f"event {recorded.seq}")
        for digest in commit.recalls:
            check_stored(digest, digest in held, "a recall")

    def _is_redacted(self, digest: str) -> bool:
        buried = self._tombstones.get(digest)
        return buried is not None and not buried.lifted

    def _missing_error(self, digest: str) -> DigestUnknown:
        buried = self._tombstones.get(digest)
        if buried is not None:
            return store_errors.content_redacted(digest, buried.at, buried.successor)
        return store_errors.digest_unknown(digest, self._find_digests)

    def _update_entry(self, digest: str, **fields: int) -> None:
        self._entries[digest] = msgspec.structs.replace(self._entries[digest], **fields)

    def _find_digests(self, prefix: str, limit: int) -> list[str]:
        span = keys.records_of(prefix)
        found = _in_span(sorted(keys.record(one) for one in self._entries), span)
        return [keys.digest_in(key) for key in found[:limit]]


def _in_span(sorted_keys: list[bytes], span: keys.Span) -> list[bytes]:
    return sorted_keys[bisect_left(sorted_keys, span[0]) : bisect_left(sorted_keys, span[1])]


def _new_entry(content: Content, at_ms: int, session: str) -> CacheEntry:
    return CacheEntry(
        content.digest,
        len(content.data),
        len(content.data),
        content.tokens,
        content.tool,
        content.target,
        content.first_line,
        content.kind,
        at_ms,
        at_ms,
        session=session,
    )
