"""What of a workspace the file history covers: what it can bring back."""

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
