"""Plans of reverts: what would stand at each path, and why some cannot be reverted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from helix_desktop.domain.file_history.capture import RevertScope
from helix_desktop.domain.file_history.revert_choice import RevertChoice
from helix_desktop.domain.file_history.state import FileState

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
