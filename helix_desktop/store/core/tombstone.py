"""What a redaction leaves behind: tombstones of contents, and files that are still to be deleted."""

from __future__ import annotations

import msgspec


class Tombstone(msgspec.Struct, array_like=True, frozen=True):
    """When a content was redacted; `successor` is the digest of an index entry's redacted version.

    `lifted`: it may be stored again.
    """

    at: int
    successor: str = ""
    lifted: bool = False


class PendingDeletion(msgspec.Struct, array_like=True, frozen=True):
    """What a written redaction still has to delete: damaged rows and copies of the store, by name."""

    at: int
    damaged: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()
