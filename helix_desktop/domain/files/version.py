"""Versions of a file: how one is told from another without keeping it."""

from __future__ import annotations

import msgspec

FINGERPRINT_DIGITS = 32  # hex digits of a SHA-256: enough, and never taken for the digest of stored content


class FileVersion(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file of the workspace as it was at one moment.

    `size` is in bytes, `modified_ns` in nanoseconds since 1970; 0 if the file had just been written, so that
    its time says little. `fingerprint` is how the SHA-256 of its bytes begins; it is empty for a file too
    large to be hashed.
    """

    path: str
    size: int
    modified_ns: int
    inode: int = 0
    fingerprint: str = ""


class ChangedFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file that is not as it was; fingerprints before and after, empty where they are not known.

    `is_gone`: there is no file of that path in the workspace any more.
    """

    path: str
    before: str = ""
    after: str = ""
    is_gone: bool = False


class ChangeReport(msgspec.Struct, frozen=True):
    """Which of some files changed, and how many could not be looked at."""

    files: tuple[ChangedFile, ...] = ()
    unchecked: int = 0
