"""The record of a content: its metadata as it is stored."""

from __future__ import annotations

import msgspec

from helix_desktop.domain.store.entries import CacheEntry, Content, ContentKind


class EntryRecord(msgspec.Struct, array_like=True, frozen=True):
    """The stored form of a CacheEntry. Fields are only added, last and with a default: old rows load."""

    created: int
    last_used: int
    size: int
    stored_size: int
    tokens: int
    tool: str
    target: str
    first_line: str
    kind: ContentKind
    recalls: int = 0
    references: int = 0
    session: str = ""
    pinned: bool = False
    trashed: int = 0

    def to_entry(self, digest: str) -> CacheEntry:
        """Return the record as a CacheEntry, the form outside of the store."""
        return CacheEntry(
            digest,
            self.size,
            self.stored_size,
            self.tokens,
            self.tool,
            self.target,
            self.first_line,
            self.kind,
            self.created,
            self.last_used,
            self.recalls,
            self.references,
            self.session,
            self.pinned,
            self.trashed,
        )


def new_record(content: Content, stored_size: int, at_ms: int, session_id: str) -> EntryRecord:
    """Return the record of a content first stored by `session_id` at `at_ms` (ms since 1970)."""
    return EntryRecord(
        at_ms,
        at_ms,
        len(content.data),
        stored_size,
        content.tokens,
        content.tool,
        content.target,
        content.first_line,
        content.kind,
        session=session_id,
    )
