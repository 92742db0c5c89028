"""Plans of reverts: what would stand at each path, why some cannot be reverted, and in which direction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from helix_desktop.domain.choices import RevertChoice
from helix_desktop.domain.file_history.changes import ChangeSource, FileState, RevertScope

RevertStatus = Literal["ready", "same", "merge", "conflict", "blocked"]
"""ready: the path is as the change left it. same: nothing is to do. merge: it was changed later in other
lines, and both can hold. conflict: it was changed later in the same lines, or is no text. blocked: see
`RevertProblem`."""

RevertProblem = Literal[
    "",
    "not_covered",
    "content_removed",
    "folder_gone",
    "not_a_folder",
    "not_empty",
    "no_permission",
    "disk_full",
    "hard_links",
    "outside",
    "busy",
]
"""Why a path cannot be reverted: its former content is known by hash only, was removed from the history, the
folder it was in is gone or is something else now, a folder holds other files, permissions, no room, it has
other names (hard links), a link leads outside, or a command that may write it is running."""


class PlannedFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """One path of a plan: what stands there now, and what would.

    `base` is what the change left, `former` what was there before it: with `present` the three sides of a
    three-way view. `merged` is the digest of the text with both changes, of a path with status `merge`.
    """

    path: str
    present: FileState | None = None
    base: FileState | None = None
    former: FileState | None = None
    status: RevertStatus = "ready"
    problem: RevertProblem = ""
    merged: FileState | None = None

    @property
    def can_apply(self) -> bool:
        """True if it is reverted without a choice of the user."""
        return self.status in ("ready", "same")


class RevertPlan(msgspec.Struct, frozen=True):
    """What a revert would do, by path. `captures` are the ids of what it takes back.

    `is_redo`: it brings back what was taken back.
    """

    files: tuple[PlannedFile, ...]
    capture_ids: tuple[str, ...] = msgspec.field(default=(), name="captures")
    scope: RevertScope = ""
    is_redo: bool = False

    def target(self, file: PlannedFile, choices: Mapping[str, RevertChoice]) -> FileState | None:
        """Return what shall stand at a path, by the user's choices by path."""
        match choices.get(file.path, "former" if file.status == "ready" else "present"):
            case "present":
                return file.present
            case "merged":
                return file.merged
        return file.former


class RevertDirections:
    """Knows of captures, added in order, which of them redo what was taken back."""

    def __init__(self) -> None:
        self._is_redo: dict[str, bool | None] = {}  # None: of no revert

    def add(self, capture_id: str, source: ChangeSource, scope: RevertScope, reverts: Iterable[str]) -> bool:
        """Add the next capture; return True if it is a redo."""
        is_redo = source == "revert" and self.is_redo(scope, reverts)
        self._is_redo[capture_id] = is_redo if source == "revert" else None
        return is_redo

    def is_redo(self, scope: RevertScope, reverts: Iterable[str]) -> bool:
        """Return True if a revert of these captures is a redo: it takes back what is none itself."""
        directions = [self._is_redo[capture_id] for capture_id in reverts if capture_id in self._is_redo]
        if scope == "rewind":
            return False
        if not directions or None in directions:
            return scope == "redo"
        return not directions[0]
