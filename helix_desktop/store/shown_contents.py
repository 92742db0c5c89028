"""Contents that are read and listed as if they were stored: of outputs that a crash cut off.

The draft of their session keeps what they are made from, until the user acts in it: then they are stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from helix_desktop.domain.errors import ContentRedacted, DigestUnknown
from helix_desktop.domain.store import CacheEntry, Content, EntryPage, sort_position
from helix_desktop.store.contents import new_record
from helix_desktop.store.store_search import EntryQuery, page_from_ordered


class ShownContent(msgspec.Struct, frozen=True):
    entry: CacheEntry
    data: bytes


class ShownContents:
    def __init__(self) -> None:
        self._contents: dict[str, ShownContent] = {}

    def show(self, session_id: str, contents: Sequence[Content], at_ms: int) -> None:
        """Show these contents of a session, and no others of it any more."""
        self.drop([digest for digest, one in self._contents.items() if one.entry.session == session_id])
        for content in contents:
            record = new_record(content, len(content.data), at_ms, session_id)
            entry = record.to_entry(content.digest)
            self._contents[content.digest] = ShownContent(entry, content.data)

    def drop(self, digests: Iterable[str]) -> None:
        for digest in digests:
            self._contents.pop(digest, None)

    def find(self, digest: str, missing: DigestUnknown) -> ShownContent:
        """Return a content. Raises `missing` if it is not shown, or the user removed it."""
        shown = self._contents.get(digest)
        if shown is None or isinstance(missing, ContentRedacted):
            raise missing
        return shown

    def digests(self, prefix: str) -> list[str]:
        return [digest for digest in self._contents if digest.startswith(prefix)]

    def entries(self, entry_query: EntryQuery) -> list[CacheEntry]:
        """Return the entries that a listing has, in any order."""
        entries = (shown.entry for shown in self._contents.values())
        return [entry for entry in entries if entry_query.includes(entry)]

    def with_shown(self, page: EntryPage, entry_query: EntryQuery) -> EntryPage:
        """Return a page of what is stored with what is shown in it, in order."""
        self.drop([entry.digest for entry in page.entries])  # another process has stored it
        shown = self.entries(entry_query)
        if not shown:
            return page
        column = entry_query.sort.column
        is_last = not page.cursor
        entries = sorted(
            [*page.entries, *shown],
            key=lambda entry: sort_position(entry, column),
            reverse=entry_query.sort.descending,
        )
        if not is_last:
            entries = entries[: entries.index(page.entries[-1]) + 1]
        merged = page_from_ordered(entry_query, entries[: entry_query.limit + 1])
        cursor = merged.cursor
        if not cursor:
            cursor = page.cursor
        return msgspec.structs.replace(page, entries=merged.entries, cursor=cursor)
