"""Events on changes of the workspace's files: what changed them, what was taken back, what is accepted."""

from __future__ import annotations

from helix_desktop.domain.events.base import EventBase
from helix_desktop.domain.file_history.capture import ChangeSource, RevertScope

MAX_PATHS = 50
"""Paths that the event of a capture names: what a summary can say was reverted."""


class ChangesRecorded(EventBase, frozen=True, tag="changes-recorded"):
    """Files of the workspace changed; `changes` is the digest of their list in the file history.

    `capture` is the id it was captured under; `source` says by what, `call_id` by which call, `others` are
    the titles of calls that ran at the same time. A revert names the captures that it takes back, and how
    much that is. The counts are of paths, without those that others imply (see `implied_changes.py`),
    `added_lines` and `removed_lines` of the texts that were compared. `first_path` is one of the paths,
    `paths` the first MAX_PATHS of them (older events have none). `uncovered` counts the paths whose change
    cannot be taken back, `binary` the files among the compared ones that have no lines (older events: 0).
    """

    capture: str
    changes: str
    source: ChangeSource
    call_id: str = ""
    others: tuple[str, ...] = ()
    reverts: tuple[str, ...] = ()
    scope: RevertScope = ""
    created: int = 0
    changed: int = 0
    deleted: int = 0
    moved: int = 0
    added_lines: int = 0
    removed_lines: int = 0
    first_path: str = ""
    uncovered: int = 0
    paths: tuple[str, ...] = ()
    binary: int = 0

    @property
    def files(self) -> int:
        """The number of paths that changed."""
        return self.created + self.changed + self.deleted + self.moved


class ChangesAccepted(EventBase, frozen=True, tag="changes-accepted"):
    """The user accepted what changed up to event `upto`: of these paths, or (none named) of all."""

    upto: int
    paths: tuple[str, ...] = ()
