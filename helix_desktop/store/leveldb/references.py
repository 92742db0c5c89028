"""The references between events and contents, read from the rows that link both ways."""

from __future__ import annotations

from helix_desktop.domain.store.retention import ContentReference
from helix_desktop.store.core import keys
from helix_desktop.store.leveldb.database import ReadView


def read_references(view: ReadView, digest: str) -> list[ContentReference]:
    """Return the events that name a content, by session and seq. Raise RowDamaged; ValueError."""
    rows = view.scan(keys.references_of(digest))
    references = [ContentReference(keys.session_in(key), keys.seq_in(key)) for key, _ in rows]
    return sorted(references, key=lambda reference: (reference.session, reference.seq))


def read_session_digests(view: ReadView, session: str) -> list[str]:
    """Return the contents a session names, each once, in order of the first event. Raise RowDamaged."""
    rows = view.scan(keys.back_references_of(session))
    return list(dict.fromkeys(keys.digest_in(key) for key, _ in rows))


def is_referenced(view: ReadView, digest: str) -> bool:
    """Return True if any log names a content, whatever its record says. Raise RowDamaged."""
    return next(iter(view.scan(keys.references_of(digest))), None) is not None
