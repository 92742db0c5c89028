"""What a file history takes on disk, and what of it may go."""

from __future__ import annotations

import msgspec


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
