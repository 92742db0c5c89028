"""Lists of what is stored: a page of entries, all sessions."""

from __future__ import annotations

import logging
from contextlib import suppress

from helix_desktop.context.content import Entry, Page, SessionSummary
from helix_desktop.store import keys
from helix_desktop.store.codec import Codec, RowDamaged, Shape
from helix_desktop.store.handle import View
from helix_desktop.store.paging import Stretch, cursor_after
from helix_desktop.store.record import RECORD, read_record

SUMMARY = Shape(SessionSummary)

_log = logging.getLogger(__name__)


def read_page(view: View, codec: Codec, asked: Stretch, limit: int) -> Page:
    """At most `limit` entries of a stretch, and the cursor of what follows. Raises RowDamaged."""
    entries: list[Entry] = []
    last = b""
    for key, row in view.scan(asked.span, asked.backwards):
        entry = _entry_in(view, codec, key, row)
        if entry is None or entry.trashed:
            continue
        if len(entries) >= limit:
            return Page(tuple(entries), cursor_after(last))
        entries.append(entry)
        last = key
    return Page(tuple(entries))


def read_sessions(view: View, codec: Codec) -> list[SessionSummary]:
    """All sessions but those in the trash, last updated first. Raises RowDamaged."""
    found = [codec.unseal(key, row, SUMMARY) for key, row in view.scan(keys.SUMMARIES)]
    listed = [one for one in found if not one.trashed]
    return sorted(listed, key=lambda one: (-one.updated, one.id))


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
