"""The git checkout that a workspace is in: its branch, its state, and what differs from the last commit."""

from __future__ import annotations

from typing import Literal

import msgspec

GitProblem = Literal["", "slow", "failed", "owner", "too_many"]
"""Why the state of a checkout is not known: git did not answer in time, refused or failed, would not read a
checkout of another user, or listed more than is read."""

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The id of a tree without files, which every git has: what there is before the first commit."""

SUBMODULE_MODE = 0o160000
LINK_MODE = 0o120000

_ID_DIGITS = 8


class GitStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """Branch and state of a checkout; where `is_known` is False only the branch is, if that.

    `branch` is empty where HEAD is detached, then `detached_at` is its commit. `has_commit` is False on a
    branch without one. `ahead` and `behind` count commits against `upstream`, `changed`, `untracked` and
    `conflicts` paths of the workspace's folder; a path in conflict is a changed one, too. `worktree` is the
    name of a linked worktree, `main_folder` the folder that it was made from.
    """

    branch: str = ""
    detached_at: str = ""
    has_commit: bool = True
    upstream: str = ""
    ahead: int = 0
    behind: int = 0
    changed: int = 0
    untracked: int = 0
    conflicts: int = 0
    worktree: str = ""
    main_folder: str = ""
    is_known: bool = True
    problem: GitProblem = ""

    @property
    def short_commit(self) -> str:
        """The first digits of the commit that HEAD is detached at."""
        return self.detached_at[:_ID_DIGITS]


class GitEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A path of the workspace that differs from the last commit.

    `before` is the id of its content there, `before_mode` and `after_mode` are modes as git writes them
    (0o100644, 0o120000 …; 0: nothing). `moved_from` is the path that it had there. `letter` is git's own:
    A, M, D, R, T, U (in conflict), ? (untracked).
    """

    path: str
    letter: str
    before: str = ""
    before_mode: int = 0
    after_mode: int = 0
    moved_from: str = ""
