"""Tombstones: a content was removed at the user's request and must not silently come back."""

from __future__ import annotations

import msgspec

from helix_desktop.store.core import keys
from helix_desktop.store.core.row_codec import Codec, RowType
from helix_desktop.store.core.write_batch import RowGetter, WriteBatch


class Tombstone(msgspec.Struct, array_like=True, frozen=True):
    """When a content was redacted; `successor` is the digest of an index entry's redacted version.

    `lifted`: it may be stored again.
    """

    at: int
    successor: str = ""
    lifted: bool = False


TOMBSTONE_TYPE = RowType(Tombstone)


def read_tombstone(get: RowGetter, codec: Codec, digest: str) -> Tombstone | None:
    """Return the tombstone of a digest, lifted or not; None if there is none. Raise RowDamaged."""
    key = keys.tombstone(digest)
    row = get(key)
    return None if row is None else codec.decode(key, row, TOMBSTONE_TYPE)


def is_redacted(get: RowGetter, codec: Codec, digest: str) -> bool:
    """Return True if a content must not be stored. Raise RowDamaged."""
    tombstone = read_tombstone(get, codec, digest)
    return tombstone is not None and not tombstone.lifted


def write_tombstone(batch: WriteBatch, codec: Codec, digest: str, tombstone: Tombstone) -> None:
    """Set or change a tombstone."""
    key = keys.tombstone(digest)
    batch.put(key, codec.encode(key, tombstone))
