"""Forgetting's twin in memory: the same answers, and nothing lies in files."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.session import RecordedEvent, digests_in
from helix_desktop.domain.redaction.redaction import Redaction, RedactionMatches, RedactionRequest
from helix_desktop.domain.store.entries import CacheEntry
from helix_desktop.domain.store.retention import ContentReference
from helix_desktop.store.core import keys
from helix_desktop.store.core.commit import Clock
from helix_desktop.store.core.tombstone import Tombstone
from helix_desktop.store.memory.retention import MemoryData


class MemoryRedaction:
    """Removes what the person names from one store in memory."""

    def __init__(self, data: MemoryData, clock: Clock, check_open: Callable[[], None]) -> None:
        self._data, self._clock, self._check_open = data, clock, check_open

    async def preview(
        self, request: RedactionRequest, on_progress: Callable[[int, int], None] = lambda done, total: None
    ) -> RedactionMatches:
        """Where it stands; changes nothing. Raises InputUnusable."""
        self._check_open()
        return _RedactionPass(self._data, Redaction(request, self._clock())).matches()

    async def carry_out(
        self, request: RedactionRequest, on_progress: Callable[[int, int], None] = lambda done, total: None
    ) -> RedactionMatches:
        """Remove it everywhere in this store; what was changed. Raises InputUnusable."""
        self._check_open()
        at = self._clock()
        return _RedactionPass(self._data, Redaction(request, at)).apply(at)

    async def when(self, digest: str) -> int:
        """When a content was forgotten, in milliseconds since 1970; 0 when it was not, or may come back."""
        self._check_open()
        keys.digest_bytes(digest)
        found = self._data.tombstones.get(digest)
        return found.at if found is not None and not found.lifted else 0

    async def lift(self, digest: str) -> bool:
        """Let a forgotten content be stored again; whether it was forgotten."""
        self._check_open()
        keys.digest_bytes(digest)
        found = self._data.tombstones.get(digest)
        if found is not None:
            self._data.tombstones[digest] = msgspec.structs.replace(found, lifted=True)
        return found is not None and not found.lifted


class _RedactionPass:
    """One look through everything that is held."""

    def __init__(self, data: MemoryData, redaction: Redaction) -> None:
        self._data, self._redaction = data, redaction
        self._rewritten: dict[str, bytes] = {}
        entries = [data.entries[digest] for digest in sorted(data.entries)]
        here = [one for one in entries if self._holds_secret(one)]
        whole = [one for one in entries if one.kind == "index" and one.digest not in redaction.digests]
        self.contents = [one for one in here if one not in whole]
        self.indexes = [one for one in here if one in whole]
        if self.indexes:
            self._rewrite_indexes(whole)
        self.indexes += [one for one in whole if one.digest in self._rewritten and one not in self.indexes]
        clean = [one for one in entries if one not in (*self.contents, *self.indexes)]
        self.labels = [one for one in clean if self._with_clean_labels(one) != one]
        self.events = [
            (session, at, changed)
            for session in sorted(data.logs, key=str.encode)
            for at, changed in self._changed_events(data.logs[session])
        ]

    def _holds_secret(self, entry: CacheEntry) -> bool:
        redaction = self._redaction
        return entry.digest in redaction.digests or redaction.matches(self._data.contents[entry.digest])

    def _rewrite_indexes(self, indexes: list[CacheEntry]) -> None:
        changed = True
        while changed:
            changed = False
            for entry in indexes:
                former = self._rewritten.get(entry.digest, self._data.contents[entry.digest])
                now = self._redaction.redact_data(former)
                if now != former:
                    changed = True
                    self._rewritten[entry.digest] = now
                    self._redaction.move_index(entry.digest, now)

    def _with_clean_labels(self, entry: CacheEntry) -> CacheEntry:
        said = self._redaction.redact_text
        return msgspec.structs.replace(
            entry, tool=said(entry.tool), target=said(entry.target), first_line=said(entry.first_line)
        )

    def _changed_events(self, log: list[RecordedEvent]) -> list[tuple[int, RecordedEvent]]:
        muted: set[int] = set()
        changed = []
        for at, recorded in enumerate(log):
            if self._redaction.should_blank(recorded):
                muted.add(recorded.seq)
            now = self._redaction.redact_event(recorded, frozenset(muted))
            if now is not recorded:
                changed.append((at, now))
        return changed

    def matches(self) -> RedactionMatches:
        """What was found."""
        said = self._redaction.redact_text
        titles = (one.id for one in self._data.summaries.values() if said(one.title) != one.title)
        drafts = (
            one for one, typed in self._data.drafts.items() if self._redaction.redact_draft(typed) != typed
        )
        return RedactionMatches(
            tuple(self.contents),
            tuple(self.indexes),
            tuple(one.digest for one in self.labels),
            tuple(ContentReference(session, now.seq) for session, _, now in self.events),
            tuple(sorted(titles, key=str.encode)),
            tuple(sorted(drafts, key=str.encode)),
        )

    def apply(self, at_ms: int) -> RedactionMatches:
        """Change it; what was changed."""
        found, held = self.matches(), self._data
        for entry in self.indexes:
            self._store_rewritten(entry, at_ms)
        for session, place, now in self.events:
            former, held.logs[session][place] = held.logs[session][place], now
            for digest in {*digests_in(former.event)} ^ {*digests_in(now.event)}:
                self._add_references(digest, 1 if digest in digests_in(now.event) else -1)
        for entry in self.labels:
            held.entries[entry.digest] = self._with_clean_labels(held.entries[entry.digest])
        for session in found.titles:
            summary = held.summaries[session]
            clean = self._redaction.redact_text(summary.title)
            held.summaries[session] = msgspec.structs.replace(summary, title=clean)
        for session in found.drafts:
            held.drafts[session] = self._redaction.redact_draft(held.drafts[session])
        for entry in (*self.contents, *self.indexes):
            del held.entries[entry.digest], held.contents[entry.digest]
            held.tombstones[entry.digest] = Tombstone(
                at_ms, self._redaction.new_digests.get(entry.digest, "")
            )
        return found

    def _store_rewritten(self, entry: CacheEntry, at_ms: int) -> None:
        data = self._rewritten[entry.digest]
        digest = digest_of(data)
        if digest not in self._data.entries:
            self._data.contents[digest] = data
            self._data.entries[digest] = msgspec.structs.replace(
                self._with_clean_labels(entry),
                digest=digest,
                size=len(data),
                stored_size=len(data),
                created=at_ms,
                last_used=at_ms,
                recalls=0,
                references=0,
                pinned=False,
                trashed=0,
            )

    def _add_references(self, digest: str, delta: int) -> None:
        entry = self._data.entries.get(digest)
        if entry is not None:
            trashed = 0 if delta > 0 else entry.trashed
            self._data.entries[digest] = msgspec.structs.replace(
                entry, references=entry.references + delta, trashed=trashed
            )
