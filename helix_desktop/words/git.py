"""The git checkout of a workspace, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from helix_desktop.words.translation import Translator

if TYPE_CHECKING:  # the window's first frame needs these words, not git
    from helix_desktop.domain.git import GitProblem, GitStatus

tr = Translator("Git")


class GitText(NamedTuple):
    """A checkout in short: where it is, in which state, of what it is a worktree; and `details` in full."""

    head: str = ""
    state: str = ""
    worktree: str = ""
    details: tuple[str, ...] = ()

    @property
    def on_one_line(self) -> str:
        """All of it on one line; empty outside a checkout."""
        return " · ".join(filter(None, (self.head, self.state, self.worktree)))


NO_GIT = GitText()
"""Of a workspace that is in no checkout."""


def git_text(status: GitStatus | None) -> GitText:
    if status is None:
        return NO_GIT
    worktree = tr("worktree {name}", name=status.worktree) if status.worktree else ""
    return GitText(_head(status), _state(status), worktree, tuple(_details(status)))


def _head(status: GitStatus) -> str:
    if status.detached_at:
        return tr("at {commit}", "a commit", commit=status.short_commit)
    return status.branch or tr("git")


def _state(status: GitStatus) -> str:
    """Return what matters most of the state; nothing where nothing has changed."""
    if not status.is_known:
        return tr("status unknown")
    if status.conflicts:
        return tr.plural(status.conflicts, "%n conflict", "%n conflicts")
    changed = tr.plural(status.changed, "%n changed", "%n changed") if status.changed else ""
    untracked = tr.plural(status.untracked, "%n untracked", "%n untracked") if status.untracked else ""
    if changed or untracked:
        return " · ".join(filter(None, (changed, untracked)))
    return "" if status.has_commit else tr("no commits yet")


def _details(status: GitStatus) -> list[str]:
    lines = [_where(status)]
    if status.worktree:
        lines.append(tr("Worktree {name} of {folder}", name=status.worktree, folder=status.main_folder))
    if not status.is_known:
        return [*lines, _problem(status.problem)]
    if not status.has_commit:
        lines.append(tr("No commits yet"))
    lines += _distance(status)
    if status.changed:
        lines.append(tr.plural(status.changed, "%n changed file", "%n changed files"))
    if status.conflicts:
        lines.append(tr.plural(status.conflicts, "%n of them in conflict", "%n of them in conflict"))
    if status.untracked:
        lines.append(
            tr.plural(status.untracked, "%n untracked file or folder", "%n untracked files or folders")
        )
    if not status.changed and not status.untracked:
        lines.append(tr("No changes"))
    return lines


def _where(status: GitStatus) -> str:
    if status.detached_at:
        return tr("Detached at commit {commit}", commit=status.short_commit)
    return tr("Branch {name}", name=status.branch) if status.branch else tr("A git checkout")


def _distance(status: GitStatus) -> list[str]:
    """Return how far branch and upstream are apart."""
    if not status.upstream:
        return []
    name = status.upstream
    lines = []
    if status.ahead:
        lines.append(
            tr.plural(status.ahead, "%n commit ahead of {name}", "%n commits ahead of {name}", name=name)
        )
    if status.behind:
        lines.append(
            tr.plural(status.behind, "%n commit behind {name}", "%n commits behind {name}", name=name)
        )
    return lines or [tr("Up to date with {name}", name=name)]


def _problem(problem: GitProblem) -> str:
    match problem:
        case "slow":
            return tr("Changes aren't known: git didn't answer in time.")
        case "owner":
            return tr("Changes aren't known: another user owns this folder, and git doesn't read it.")
        case "too_many":
            return tr("Changes aren't known: there are too many to count.")
    return tr("Changes aren't known: git reported an error.")
