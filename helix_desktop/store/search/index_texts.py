"""The texts in the search index: which contents are indexed, and how."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from helix_desktop.domain.errors import ContentDamaged, DigestUnknown
from helix_desktop.domain.search_query import normalize
from helix_desktop.domain.text_search import split_chunks
from helix_desktop.store.search.queries import to_indexed_text

MAX_INDEXED_BYTES = (
    1024 * 1024
)  # bytes of a content whose text is indexed; larger ones are scanned by every search
_PENDING, _INDEXED, _NOT_INDEXABLE = range(3)
_MAX_BATCH_BYTES, _MAX_BATCH_CONTENTS = 256 * 1024, 64  # bytes and contents per transaction: about 20 ms
_NUL_CHECK_BYTES = 8_192  # bytes that are checked for a NUL

ReadContent = Callable[[str], bytes]
"""Return the verified bytes of a digest. Raise StoreError."""

_NEXT_PENDING = (
    "SELECT id, digest, size, tool || ' ' || target || char(10) || line FROM entries"
    f" WHERE text <> {_INDEXED} AND text = {_PENDING} ORDER BY id LIMIT {_MAX_BATCH_CONTENTS}"
)


def has_pending_texts(db: sqlite3.Connection) -> bool:
    """Return True if there are contents whose text could be indexed and is not."""
    return db.execute(_NEXT_PENDING).fetchone() is not None


def index_texts(db: sqlite3.Connection, read: ReadContent) -> int:
    """Index the texts of some pending contents; return how many there were."""
    used_bytes, done = 0, []
    with db:
        for number, digest, size, description in db.execute(_NEXT_PENDING).fetchall():
            text = _indexed_text(digest.hex(), description, read) if size <= MAX_INDEXED_BYTES else None
            if text is not None:
                db.execute("INSERT INTO words(rowid, text) VALUES (?, ?)", (number, text))
            done.append((_NOT_INDEXABLE if text is None else _INDEXED, number))
            used_bytes += size
            if used_bytes >= _MAX_BATCH_BYTES:
                break
        db.executemany("UPDATE entries SET text = ? WHERE id = ?", done)
    return len(done)


def _indexed_text(digest: str, description: str, read: ReadContent) -> str | None:
    """Return a content's text for the index, normalized as the scan does; None if it must be scanned."""
    try:
        data = read(digest)
    except (ContentDamaged, DigestUnknown):
        return None
    if b"\0" in data[:_NUL_CHECK_BYTES]:
        return None
    return to_indexed_text(
        "\n".join([normalize(description), *(normalize(piece.text) for piece in split_chunks(data))])
    )
