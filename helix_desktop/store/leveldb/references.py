"""Who names a content, and what a session names: read from the rows that lead both ways."""

from __future__ import annotations

from helix_desktop.domain.store.retention import ContentReference
from helix_desktop.store.core import keys
from helix_desktop.store.leveldb.database import ReadView


def read_references(view: ReadView, digest: str) -> list[ContentReference]:
    """The events that name a content, by session and seq. Raises RowDamaged; ValueError for no digest."""
    rows = view.scan(keys.references_of(digest))
    found = [ContentReference(keys.session_in(key), keys.seq_in(key)) for key, _ in rows]
    return sorted(found, key=lambda one: (one.session, one.seq))


def read_session_digests(view: ReadView, session: str) -> list[str]:
    """The contents that a session names, each once, in the order of their first event. Raises RowDamaged."""
    rows = view.scan(keys.back_references_of(session))
    return list(dict.fromkeys(keys.digest_in(key) for key, _ in rows))


def is_referenced(view: ReadView, digest: str) -> bool:
    """Whether any log names a content, whatever its record says. Raises RowDamaged."""
    return next(iter(view.scan(keys.references_of(digest))), None) is not None
