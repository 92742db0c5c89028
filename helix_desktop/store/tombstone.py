"""Tombstones: that a content was removed on the person's word, so that it does not come back silently."""

from __future__ import annotations

import msgspec

from helix_desktop.store import keys
from helix_desktop.store.batch import Batch, Get
from helix_desktop.store.codec import Codec, Shape


class Tombstone(msgspec.Struct, array_like=True, frozen=True):
    """When a content was forgotten; `successor` is the digest of what an index entry became without it.

    `lifted`: it may be stored again.
    """

    at: int
    successor: str = ""
    lifted: bool = False


TOMBSTONE = Shape(Tombstone)


def read_tombstone(get: Get, codec: Codec, digest: str) -> Tombstone | None:
    """The tombstone of a digest, lifted or not; None when there is none. Raises RowDamaged."""
    key = keys.forgotten(digest)
    row = get(key)
    return None if row is None else codec.unseal(key, row, TOMBSTONE)


def is_forgotten(get: Get, codec: Codec, digest: str) -> bool:
    """Whether a content must not be stored. Raises RowDamaged."""
    found = read_tombstone(get, codec, digest)
    return found is not None and not found.lifted


def write_tombstone(batch: Batch, codec: Codec, digest: str, tombstone: Tombstone) -> None:
    """Set or change a tombstone."""
    key = keys.forgotten(digest)
    batch.put(key, codec.seal(key, tombstone))
