"""Lists of what is stored, read from LevelDB: entries in any order, tools, sessions."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress

from helix_desktop.context.content import Entry, Filter, Page, SessionSummary
from helix_desktop.context.listing import passes, tie_start
from helix_desktop.store import keys
from helix_desktop.store.codec import Codec, RowDamaged, Shape
from helix_desktop.store.handle import View
from helix_desktop.store.ordering import Listing, cut, page_of
from helix_desktop.store.record import RECORD, read_record

SUMMARY = Shape(SessionSummary)
_LAST = b"\xff" * keys.DIGEST_BYTES  # sorts behind every digest

_log = logging.getLogger(__name__)


def read_page(view: View, codec: Codec, asked: Listing) -> Page:
    """The page of a listing. By age or by digest it is read off an index; another order costs a scan of all.

    Raises RowDamaged.
    """
    sort = asked.sort
    if sort.column == "created" and not asked.wanted.prefix:
        entries = _entries(view, codec, _by_age(asked), backwards=not sort.descending)
    elif sort.column == "digest":
        entries = _entries(view, codec, _by_digest(asked), backwards=sort.descending)
    else:
        return page_of(asked, _entries(view, codec, _records(asked)))
    found: list[Entry] = []
    plain = asked.wanted == Filter(prefix=asked.wanted.prefix)
    for entry in entries:
        if not entry.trashed if plain else passes(entry, asked.wanted):
            found.append(entry)
            if len(found) > asked.limit:
                break
    return cut(asked, found)


def read_digests(codec: Codec, asked: Listing, view: View) -> bytes:
    """The digests of all that a listing lists, in order, joined. Raises RowDamaged."""
    found = bytearray()
    while True:
        page = read_page(view, codec, asked)
        found += b"".join([bytes.fromhex(entry.digest) for entry in page.entries])
        if not page.cursor:
            return bytes(found)
        asked = asked.behind(page.entries[-1])


def read_tools(view: View, codec: Codec) -> list[str]:
    """The tools by whose name something is stored, in order. Raises RowDamaged."""
    return sorted({entry.tool for entry in _entries(view, codec, keys.RECORDS)})


def read_sessions(view: View, codec: Codec) -> list[SessionSummary]:
    """All sessions but those in the trash, last updated first. Raises RowDamaged."""
    found = [codec.unseal(key, row, SUMMARY) for key, row in view.scan(keys.SUMMARIES)]
    listed = [one for one in found if not one.trashed]
    return sorted(listed, key=lambda one: (-one.updated, one.id))


def _records(asked: Listing) -> keys.Span:
    return keys.records_of(asked.wanted.prefix) if asked.wanted.prefix else keys.RECORDS


def _by_age(asked: Listing) -> keys.Span:
    """What is left of the index by time, which lies newest first."""
    first, stop = keys.NEWEST
    if asked.after is None:
        return first, stop
    created, tied = asked.after
    shown = keys.newest_from(int(created), tie_start(int(tied)))
    return (shown + _LAST, stop) if asked.sort.descending else (first, shown)


def _by_digest(asked: Listing) -> keys.Span:
    first, stop = _records(asked)
    if asked.after is None:
        return first, stop
    shown = keys.record(str(asked.after[0]))
    return (first, min(stop, shown)) if asked.sort.descending else (max(first, shown + b"\0"), stop)


def _entries(view: View, codec: Codec, span: keys.Span, backwards: bool = False) -> Iterator[Entry]:
    for key, row in view.scan(span, backwards):
        entry = _entry_in(view, codec, key, row)
        if entry is not None:
            yield entry


def _entry_in(view: View, codec: Codec, key: bytes, row: bytes) -> Entry | None:
    """The entry of a record or index row; a damaged one must not hide the others."""
    digest = keys.digest_in(key)
    try:
        return codec.unseal(key, row, RECORD).entry(digest)
    except RowDamaged as error:
        _log.warning("A record of %s is damaged: %s", digest, error)
    with suppress(RowDamaged):
        record = read_record(view.get, codec, digest)
        return record.entry(digest) if record else None
    return None
