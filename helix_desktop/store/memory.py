"""The store's twin in memory: the same answers and refusals, nothing durable. For tests and replay."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import msgspec

from helix_desktop.context.content import Content, Entry, Order, Page, SessionSummary, StoreTotals
from helix_desktop.context.event import Recorded, digests_in
from helix_desktop.store import keys, refusals
from helix_desktop.store.commit import Clock, Commit, check_bytes, check_continues, check_held, now
from helix_desktop.store.memory_health import MemoryHealth
from helix_desktop.store.paging import cursor_after, stretch


class MemoryStore:
    """One workspace's memory while the process lives. Nothing is compressed: `stored_size` equals `size`."""

    def __init__(self, clock: Clock = now) -> None:
        self._clock = clock
        self._closed = False
        self._bytes: dict[str, bytes] = {}
        self._entries: dict[str, Entry] = {}
        self._logs: dict[str, list[Recorded]] = {}
        self._summaries: dict[str, SessionSummary] = {}
        self._drafts: dict[str, str] = {}
        self.health = MemoryHealth(self._bytes, self._check_open)

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
            if content.digest not in self._entries:
                self._bytes[content.digest] = content.data
                self._entries[content.digest] = _entry(content, made.at)
        for recorded in made.events:
            self._logs.setdefault(session, []).append(recorded)
            for digest in digests_in(recorded.event):
                self._change(digest, references=self._entries[digest].references + 1)
        for digest in made.recalls:
            self._change(digest, recalls=self._entries[digest].recalls + 1, last_used=made.at)
        if summary is not None:
            self._summaries[session] = summary

    async def events(self, session: str) -> list[Recorded]:
        """A session's whole log, in order; empty when there is none."""
        self._check_open()
        keys.session_bytes(session)
        return list(self._logs.get(session, ()))

    async def sessions(self) -> list[SessionSummary]:
        """All sessions, last updated first."""
        self._check_open()
        return sorted(self._summaries.values(), key=lambda one: (-one.updated, one.id))

    async def get(self, digest: str) -> bytes:
        """The bytes of a full digest. Raises DigestUnknown (with near matches)."""
        self._check_open()
        if digest not in self._bytes:
            raise refusals.unknown(digest, self._find)
        return self._bytes[digest]

    async def entry(self, digest: str) -> Entry:
        """What is known of a content. Raises DigestUnknown."""
        self._check_open()
        if digest not in self._entries:
            raise refusals.unknown(digest, self._find)
        return self._entries[digest]

    async def find(self, prefix: str, limit: int = 20) -> list[str]:
        """The digests that begin with `prefix` (1 to 64 hex digits), in order. Raises ValueError."""
        self._check_open()
        return self._find(prefix, limit)

    async def page(
        self, cursor: str = "", limit: int = 200, order: Order = "newest", prefix: str = ""
    ) -> Page:
        """Entries by time of creation, or (with a prefix) by digest, from a cursor on. Raises ValueError."""
        self._check_open()
        asked = stretch(cursor, limit, order, prefix)
        held = (
            keys.record(one) if prefix else keys.newest(self._entries[one].created, one)
            for one in self._entries
        )
        left = _within(sorted(held), asked.span)
        shown = (left[::-1] if asked.backwards else left)[:limit]
        entries = tuple(self._entries[keys.digest_in(key)] for key in shown)
        return Page(entries, cursor_after(shown[-1]) if len(shown) < len(left) else "")

    async def totals(self) -> StoreTotals:
        """Counts and sizes of the whole store."""
        self._check_open()
        size = sum(len(data) for data in self._bytes.values())
        return StoreTotals(len(self._entries), size, size, len(self._summaries))

    async def save_draft(self, session: str, text: str) -> None:
        """Keep what was typed and not sent; empty text forgets it."""
        self._check_open()
        keys.session_bytes(session)
        self._drafts[session] = text

    async def draft(self, session: str) -> str:
        """What was typed and not sent; empty when nothing was."""
        self._check_open()
        keys.session_bytes(session)
        return self._drafts.get(session, "")

    async def close(self) -> None:
        """Calls after it raise StoreClosed. Idempotent."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise refusals.closed()

    def _check(self, made: Commit) -> None:
        """Refuse before anything is changed."""
        for content in made.contents:
            check_bytes(content)
        held = self._entries.keys() | {content.digest for content in made.contents}
        check_continues(made.session, len(self._logs.get(made.session, ())), made.events)
        for recorded in made.events:
            for digest in digests_in(recorded.event):
                check_held(digest, digest in held, f"event {recorded.seq}")
        for digest in made.recalls:
            check_held(digest, digest in held, "a recall")

    def _change(self, digest: str, **fields: int) -> None:
        self._entries[digest] = msgspec.structs.replace(self._entries[digest], **fields)

    def _find(self, prefix: str, limit: int) -> list[str]:
        span = keys.records_of(prefix)
        found = _within(sorted(keys.record(one) for one in self._entries), span)
        return [keys.digest_in(key) for key in found[:limit]]


def _within(held: list[bytes], span: keys.Span) -> list[bytes]:
    return held[bisect_left(held, span[0]) : bisect_left(held, span[1])]


def _entry(content: Content, at: int) -> Entry:
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
    )
