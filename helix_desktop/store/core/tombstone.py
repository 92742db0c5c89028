"""Tombstones: that a content was removed on the person's word, so that it does not come back silently."""

from __future__ import annotations

import msgspec

from helix_desktop.store.core import keys
from helix_desktop.store.core.row_codec import Codec, RowType
from helix_desktop.store.core.write_batch import RowGetter, WriteBatch


class Tombstone(msgspec.Struct, array_like=True, frozen=True):
    """When a content was forgotten; `successor` is the digest of what an index entry became without it.

    `lifted`: it may be stored again.
    """

    at: int
    successor: str = ""
    lifted: bool = False


TOMBSTONE_TYPE = RowType(Tombstone)


def read_tombstone(get: RowGetter, codec: Codec, digest: str) -> Tombstone | None:
    """The tombstone of a digest, lifted or not; None when there is none. Raises RowDamaged."""
    key = keys.tombstone(digest)
    row = get(key)
    return None if row is None else codec.decode(key, row, TOMBSTONE_TYPE)


def is_redacted(get: RowGetter, codec: Codec, digest: str) -> bool:
    """Whether a content must not be stored. Raises RowDamaged."""
    found = read_tombstone(get, codec, digest)
    return found is not None and not found.lifted


def write_tombstone(batch: WriteBatch, codec: Codec, digest: str, tombstone: Tombstone) -> None:
    """Set or change a tombstone."""
    key = keys.tombstone(digest)
    batch.put(key, codec.encode(key, tombstone))
