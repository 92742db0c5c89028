"""The store's twin in memory: the same answers and refusals, nothing durable. For tests and replay."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import msgspec

from helix_desktop.context.content import Content, Entry, SessionSummary, StoreTotals
from helix_desktop.context.digest import digest_of
from helix_desktop.context.draft import Draft
from helix_desktop.context.errors import DigestUnknown
from helix_desktop.context.event import Attachment, Recorded, digests_in
from helix_desktop.context.keeping import comes_alive
from helix_desktop.store import keys, refusals
from helix_desktop.store.commit import Clock, Commit, check_continues, check_held, check_match, now
from helix_desktop.store.memory_finder import MemoryFinder
from helix_desktop.store.memory_forget import MemoryForgetting
from helix_desktop.store.memory_health import MemoryHealth
from helix_desktop.store.memory_keep import Held, MemoryKeeper
from helix_desktop.store.tombstone import Tombstone


class MemoryStore(MemoryFinder):
    """One workspace's memory while the process lives. Nothing is compressed: `stored_size` equals `size`."""

    def __init__(self, clock: Clock = now) -> None:
        super().__init__()
        self._clock = clock
        self._closed = False
        self._bytes: dict[str, bytes] = {}
        self._summaries: dict[str, SessionSummary] = {}
        self._drafts: dict[str, Draft] = {}
        self.health = MemoryHealth(self._bytes, self._check_open)
        self._buried: dict[str, Tombstone] = {}
        held = Held(self._bytes, self._entries, self._logs, self._summaries, self._drafts, self._buried)
        self.keep = MemoryKeeper(held, clock, self._check_open)
        self.forgetting = MemoryForgetting(held, clock, self._check_open)

    async def commit(
        self,
        session: str,
        events: Sequence[Recorded] = (),
        contents: Sequence[Content] = (),
        recalls: Sequence[str] = (),
        summary: SessionSummary | None = None,
    ) -> None:
        """Store all of it, or nothing. Raises ContentTooLarge, StoreClosed, ValueError as LevelStore does."""
        self._check_open()
        made = Commit(session, self._clock(), tuple(events), tuple(contents), tuple(recalls), summary)
        made.check()
        self._check(made)
        for content in made.contents:
            await self._take(content, made.at, session)
        for recorded in made.events:
            self._logs.setdefault(session, []).append(recorded)
            for digest in digests_in(recorded.event):
                if digest in self._entries:
                    self._change(digest, references=self._entries[digest].references + 1, trashed=0)
        for digest in made.recalls:
            if digest in self._entries:
                times = self._entries[digest].recalls + 1
                self._change(digest, recalls=times, last_used=made.at, trashed=0)
        if summary is not None:
            self._summaries[session] = summary

    async def events(self, session: str) -> list[Recorded]:
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
        if digest not in self._bytes:
            raise self._missing(digest)
        return self._bytes[digest]

    async def entry(self, digest: str) -> Entry:
        """What is known of a content. Raises DigestUnknown."""
        self._check_open()
        if digest not in self._entries:
            raise self._missing(digest)
        return self._entries[digest]

    async def find(self, prefix: str, limit: int = 20) -> list[str]:
        """The digests that begin with `prefix` (1 to 64 hex digits), in order. Raises ValueError."""
        self._check_open()
        return self._find(prefix, limit)

    async def totals(self) -> StoreTotals:
        """Counts and sizes of the whole store."""
        self._check_open()
        size = sum(len(data) for data in self._bytes.values())
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

    async def _take(self, content: Content, at: int, session: str) -> None:
        digest = content.digest
        known = self._entries.get(digest)
        if known is not None and comes_alive(known.references, known.trashed, known.last_used, at):
            self._change(digest, trashed=0, last_used=at)
        elif known is None and not self._is_buried(digest):
            self._bytes[digest] = content.data
            self._entries[digest] = _entry(content, at, session)
            if self._buried.pop(digest, None):
                self._change(digest, references=len(await self.keep.references(digest)))

    def _check_open(self) -> None:
        if self._closed:
            raise refusals.closed()

    def _check(self, made: Commit) -> None:
        """Refuse before anything is changed."""
        for content in made.contents:
            check_match(content, digest_of(content.data))
        held = self._entries.keys() | {content.digest for content in made.contents}
        held |= {digest for digest in self._buried if self._is_buried(digest)}
        check_continues(made.session, len(self._logs.get(made.session, ())), made.events)
        for recorded in made.events:
            for digest in digests_in(recorded.event):
                check_held(digest, digest in held, f"event {recorded.seq}")
        for digest in made.recalls:
            check_held(digest, digest in held, "a recall")

    def _is_buried(self, digest: str) -> bool:
        buried = self._buried.get(digest)
        return buried is not None and not buried.lifted

    def _missing(self, digest: str) -> DigestUnknown:
        buried = self._buried.get(digest)
        if buried is not None:
            return refusals.forgotten(digest, buried.at, buried.successor)
        return refusals.unknown(digest, self._find)

    def _change(self, digest: str, **fields: int) -> None:
        self._entries[digest] = msgspec.structs.replace(self._entries[digest], **fields)

    def _find(self, prefix: str, limit: int) -> list[str]:
        span = keys.records_of(prefix)
        found = _within(sorted(keys.record(one) for one in self._entries), span)
        return [keys.digest_in(key) for key in found[:limit]]


def _within(held: list[bytes], span: keys.Span) -> list[bytes]:
    return held[bisect_left(held, span[0]) : bisect_left(held, span[1])]


def _entry(content: Content, at: int, session: str) -> Entry:
    return Entry(
        content.digest,
        len(content.data),
        len(content.data),
        content.tokens,
        content.tool,
        content.target,
        content.first_line,
        content.kind,
        at,
        at,
        session=session,
    )
