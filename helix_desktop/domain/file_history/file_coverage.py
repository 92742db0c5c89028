"""What of a workspace the file history covers, what it takes on disk, and what of it may go."""

from __future__ import annotations

from typing import Literal

import msgspec

UncoveredReason = Literal[
    "pending",
    "ignored",
    "secret",
    "too_large",
    "mount",
    "special",
    "unreadable",
    "hard_links",
    "name",
    "quota",
    "own_data",
    "git",
]
"""Why changes of a path cannot be undone: not copied yet, ignored by git's rules or a build folder, a secret
(hash only), over the size limit, another file system, a pipe or the like, no permission, other names of the
file (hard links), a name that is no text, no room left in the quota, the app's own data, or git's own.
"""


MAX_FILE = 20 * 1024 * 1024  # bytes
QUOTA = 2 * 1024 * 1024 * 1024  # bytes


class FileCoverageSettings(msgspec.Struct, frozen=True):
    """What the user chose of a workspace's coverage: places that are covered though the rules leave them out.

    `max_file` (bytes) is the largest file that is, `quota` (bytes on disk) what all contents may take;
    0: any number. While `is_paused` the first copy waits until the user resumes it.
    """

    included: tuple[str, ...] = ()
    max_file: int = MAX_FILE
    quota: int = QUOTA
    is_paused: bool = False


class UncoveredPlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """A path that is not covered, and why; a folder stands for all that is in it (`files` 0: not counted)."""

    path: str
    reason: UncoveredReason
    is_folder: bool = False
    files: int = 0
    size: int = 0


class FileCoverage(msgspec.Struct, frozen=True):
    """What is covered now: files and bytes that are, what is not (the first of them), and how many that are.

    `pending` files of the first copy are not in yet; `is_complete` is False until all are. If the user paused
    it, it `is_paused`; `error` says why it stopped, if it did.
    """

    files: int = 0
    size: int = 0
    stored_size: int = 0
    places: tuple[UncoveredPlace, ...] = ()
    uncovered: int = 0
    pending: int = 0
    is_complete: bool = False
    is_paused: bool = False
    error: str = ""


class FileHistoryTotals(msgspec.Struct, frozen=True):
    """What a file history holds: `contents` of files, all bytes, those stored, and those of it on disk.

    The bytes are those of the lists of changes, too. `tree_size` is what of the stored bytes the workspace's
    files need as they are now. `saved_copies_size` are the bytes of copies beside it, of files that commands
    changed and other programs run by themselves.
    """

    contents: int = 0
    size: int = 0
    stored_size: int = 0
    tree_size: int = 0
    disk_size: int = 0
    saved_copies_size: int = 0


class FileHistoryCleanup(msgspec.Struct, frozen=True):
    """What a clean-up removes, or would: `contents` of files, and captures of deleted sessions.

    `stored_size` is in bytes, with the lists of changes that go with their captures.
    `over_quota` counts the contents that captures still name: the changes stay listed, and can't be undone.
    `short` is by how many bytes the quota is missed all the same, because the workspace's own files need it.
    """

    captures: int = 0
    contents: int = 0
    stored_size: int = 0
    over_quota: int = 0
    short: int = 0

    def plus(self, other: FileHistoryCleanup) -> FileHistoryCleanup:
        """Return both together; `short` is that of the other, which comes later."""
        return FileHistoryCleanup(
            self.captures + other.captures,
            self.contents + other.contents,
            self.stored_size + other.stored_size,
            self.over_quota + other.over_quota,
            other.short,
        )


class DamagedVersion(msgspec.Struct, frozen=True):
    """A former version of a file, or of several, that is not as it was stored."""

    digest: str
    size: int = 0
    paths: tuple[str, ...] = ()


class FileHistoryCheck(msgspec.Struct, frozen=True):
    """What a full check of a file history found.

    `damaged` are versions that can't be restored any more, `lost_lists` captures whose list of changes can't
    be read. With `problems` the file itself is damaged: at the next opening a new one begins.
    """

    contents: int = 0
    damaged: tuple[DamagedVersion, ...] = ()
    lost_lists: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Return True if everything is as it was written."""
        return not (self.damaged or self.lost_lists or self.problems)
