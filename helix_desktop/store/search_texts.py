"""The texts in the search index: which contents have theirs in it, and how it gets there."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from helix_desktop.context.errors import ContentDamaged, DigestUnknown
from helix_desktop.context.sighting import pieces
from helix_desktop.context.words import fold
from helix_desktop.store.search_sql import indexed

LARGEST = 1024 * 1024  # bytes of a content whose text is indexed; larger ones are scanned by every search
_WAITS, _INDEXED, _SCANNED = range(3)
_ROOM, _AT_ONCE = 256 * 1024, 64  # bytes and contents per transaction: about 20 ms
_SNIFF = 8_192  # bytes that are looked at for a NUL

Read = Callable[[str], bytes]
"""The bytes of a digest, verified. Raises StoreError."""

_NEXT = (
    "SELECT id, digest, size, tool || ' ' || target || char(10) || line FROM entries"
    f" WHERE text <> {_INDEXED} AND text = {_WAITS} ORDER BY id LIMIT {_AT_ONCE}"
)


def texts_wait(db: sqlite3.Connection) -> bool:
    """Whether there are contents whose text could be indexed and is not."""
    return db.execute(_NEXT).fetchone() is not None


def index_texts(db: sqlite3.Connection, read: Read) -> bool:
    """Index the texts of some contents that wait; whether more do."""
    used, done = 0, []
    with db:
        for number, digest, size, about in db.execute(_NEXT).fetchall():
            text = _text(digest.hex(), about, read) if size <= LARGEST else None
            if text is not None:
                db.execute("INSERT INTO words(rowid, text) VALUES (?, ?)", (number, text))
            done.append((_SCANNED if text is None else _INDEXED, number))
            used += size
            if used >= _ROOM:
                break
        db.executemany("UPDATE entries SET text = ? WHERE id = ?", done)
    return bool(done)


def _text(digest: str, about: str, read: Read) -> str | None:
    """What is indexed of a content: folded as the scan folds it. None for what is left to be scanned."""
    try:
        data = read(digest)
    except (ContentDamaged, DigestUnknown):
        return None
    if b"\0" in data[:_SNIFF]:
        return None
    return indexed("\n".join([fold(about), *(fold(piece.text) for piece in pieces(data))]))
