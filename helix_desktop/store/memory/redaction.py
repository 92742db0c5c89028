"""Redaction in the in-memory store: the same results as on disk, without files to rewrite."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.recorded_event import RecordedEvent, digests_in
from helix_desktop.domain.progress import OnProgress, no_progress
from helix_desktop.domain.redaction.redaction import Redaction, RedactionMatches, RedactionRequest
from helix_desktop.domain.store.entries import CacheEntry
from helix_desktop.domain.store.retention import ContentReference
from helix_desktop.store.core import keys
from helix_desktop.store.core.tombstone import Tombstone
from helix_desktop.store.memory.retention import MemoryData
from helix_desktop.system.clock import ClockMs


class MemoryRedaction:
    """Remove what the user names from one in-memory store."""

    def __init__(self, data: MemoryData, clock: ClockMs, check_open: Callable[[], None]) -> None:
        self._data, self._clock, self._check_open = data, clock, check_open

    async def preview(
        self, request: RedactionRequest, on_progress: OnProgress = no_progress
    ) -> RedactionMatches:
        """Return where the request matches; change nothing. Raise InvalidInput."""
        self._check_open()
        return _RedactionPass(self._data, Redaction(request, self._clock())).matches()

    async def redact(
        self, request: RedactionRequest, on_progress: OnProgress = no_progress
    ) -> RedactionMatches:
        """Remove the matches everywhere in this store; return what was changed. Raise InvalidInput."""
        self._check_open()
        at_ms = self._clock()
        return _RedactionPass(self._data, Redaction(request, at_ms)).apply(at_ms)

    async def redacted_at(self, digest: str) -> int:
        """Return when a content was redacted, in ms since 1970; 0 if it was not, or may be stored again."""
        self._check_open()
        keys.digest_bytes(digest)
        tombstone = self._data.tombstones.get(digest)
        return tombstone.at if tombstone is not None and not tombstone.lifted else 0

    async def lift(self, digest: str) -> bool:
        """Allow a redacted content to be stored again; return True if it was redacted."""
        self._check_open()
        keys.digest_bytes(digest)
        tombstone = self._data.tombstones.get(digest)
        if tombstone is not None:
            self._data.tombstones[digest] = msgspec.structs.replace(tombstone, lifted=True)
        return tombstone is not None and not tombstone.lifted


class _RedactionPass:
    """One pass through all data of the store."""

    def __init__(self, data: MemoryData, redaction: Redaction) -> None:
        self._data, self._redaction = data, redaction
        self._rewritten: dict[str, bytes] = {}
        self._removed = (
            {session_id: redaction.find_removed(data.log_of(session_id)) for session_id in data.logs}
            if redaction.digests
            else {}
        )
        entries = [data.entries[digest] for digest in sorted(data.entries)]
        here = [entry for entry in entries if self._holds_secret(entry)]
        indexes = [
            entry for entry in entries if entry.kind == "index" and entry.digest not in redaction.digests
        ]
        self.contents = [entry for entry in here if entry not in indexes]
        self.indexes = [entry for entry in here if entry in indexes]
        if self.indexes or redaction.digests:
            self._rewrite_indexes(indexes)
        self.indexes += [
            entry for entry in indexes if entry.digest in self._rewritten and entry not in self.indexes
        ]
        clean = [entry for entry in entries if entry not in (*self.contents, *self.indexes)]
        self.labels = [entry for entry in clean if self._with_clean_labels(entry) != entry]
        self.events = [
            (session_id, index, changed)
            for session_id in sorted(data.logs, key=str.encode)
            for index, changed in self._changed_events(session_id)
        ]

    def _holds_secret(self, entry: CacheEntry) -> bool:
        redaction = self._redaction
        if entry.digest in redaction.digests:
            return True
        data = self._data.contents[entry.digest]
        return redaction.matches(data) or redaction.repeats_removed(entry.tool, data)

    def _rewrite_indexes(self, indexes: list[CacheEntry]) -> None:
        changed = True
        while changed:
            changed = False
            for entry in indexes:
                previous = self._rewritten.get(entry.digest, self._data.contents[entry.digest])
                current = self._redaction.redact_data(previous)
                if current != previous:
                    changed = True
                    self._rewritten[entry.digest] = current
                    self._redaction.move_index(entry.digest, current)

    def _with_clean_labels(self, entry: CacheEntry) -> CacheEntry:
        redact = self._redaction.redact_text
        return msgspec.structs.replace(
            entry, tool=redact(entry.tool), target=redact(entry.target), first_line=redact(entry.first_line)
        )

    def _changed_events(self, session_id: str) -> list[tuple[int, RecordedEvent]]:
        removed = self._removed.get(session_id, {})
        changed = []
        for index, recorded in enumerate(self._data.logs[session_id]):
            redacted = self._redaction.redact_event(recorded, removed)
            if redacted is not recorded:
                changed.append((index, redacted))
        return changed

    def matches(self) -> RedactionMatches:
        """Return what matches the request."""
        redact = self._redaction.redact_summary
        titles = (summary.id for summary in self._data.summaries.values() if redact(summary) != summary)
        drafts = (
            session_id
            for session_id, draft in self._data.drafts.items()
            if self._redaction.redact_draft(draft) != draft
        )
        return RedactionMatches(
            tuple(self.contents),
            tuple(self.indexes),
            tuple(entry.digest for entry in self.labels),
            tuple(ContentReference(session_id, redacted.seq) for session_id, _, redacted in self.events),
            tuple(sorted(titles, key=str.encode)),
            tuple(sorted(drafts, key=str.encode)),
        )

    def apply(self, at_ms: int) -> RedactionMatches:
        """Apply the redaction; return what was changed."""
        matches, data = self.matches(), self._data
        for entry in self.indexes:
            self._store_rewritten(entry, at_ms)
        for session_id, index, redacted in self.events:
            previous, data.logs[session_id][index] = data.logs[session_id][index], redacted
            for digest in {*digests_in(previous.event)} ^ {*digests_in(redacted.event)}:
                self._add_references(digest, 1 if digest in digests_in(redacted.event) else -1)
        for entry in self.labels:
            data.entries[entry.digest] = self._with_clean_labels(data.entries[entry.digest])
        for session_id in matches.titles:
            data.summaries[session_id] = self._redaction.redact_summary(data.summaries[session_id])
        for session_id in matches.drafts:
            data.drafts[session_id] = self._redaction.redact_draft(data.drafts[session_id])
        for entry in (*self.contents, *self.indexes):
            del data.entries[entry.digest], data.contents[entry.digest]
            data.tombstones[entry.digest] = Tombstone(
                at_ms, self._redaction.new_digests.get(entry.digest, "")
            )
        return matches

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
