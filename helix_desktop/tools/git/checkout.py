"""Finds the checkout that a folder is in, by its files alone; everything blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.system.files import open_regular

_FILE_CAP = 4096  # bytes of a file of git that holds a path or a name
_BRANCH = "ref: refs/heads/"
_COMMIT = re.compile("[0-9a-f]{40,64}")
_GIT = ".git"


@dataclass(frozen=True)
class Checkout:
    """A checkout: its topmost folder and its git folder; a linked worktree shares `common_folder`."""

    top: Path
    git_folder: Path
    common_folder: Path | None = None

    @property
    def worktree(self) -> str:
        """The name of a linked worktree; empty: it is none."""
        return escape_hidden_name(self.git_folder.name) if self.common_folder else ""

    @property
    def main_folder(self) -> str:
        """The folder that a linked worktree was made from."""
        if self.common_folder is None:
            return ""
        is_inside = self.common_folder.name == _GIT  # else it is bare
        return escape_hidden_name(str(self.common_folder.parent if is_inside else self.common_folder))

    @property
    def git_folders(self) -> tuple[Path, ...]:
        """What git has to read besides the files."""
        return (self.git_folder, *([self.common_folder] if self.common_folder else []))


def find_checkout(root: Path) -> Checkout | None:
    """Return the checkout that a folder is in; None: it is in none, or not there."""
    if not root.is_dir():
        return None
    for folder in (root, *root.parents):
        git = folder / _GIT
        if git.is_dir():
            return Checkout(folder, git)
        target = _read(git).removeprefix("gitdir: ") if git.is_file() else ""
        if target:
            return _linked_checkout(folder, Path(folder, target).resolve())
    return None


def _linked_checkout(folder: Path, git_folder: Path) -> Checkout:
    """Return the checkout of a linked worktree, or of a submodule."""
    common = _read(git_folder / "commondir")
    return Checkout(folder, git_folder, (git_folder / common).resolve() if common else None)


def read_head(checkout: Checkout) -> tuple[str, str]:
    """Return the branch, or the commit, that HEAD names as a file."""
    words = _read(checkout.git_folder / "HEAD")
    if words.startswith(_BRANCH):
        return escape_hidden_name(words.removeprefix(_BRANCH)), ""
    return "", words if _COMMIT.fullmatch(words) else ""


def _read(path: Path) -> str:
    try:
        with open_regular(path) as file:
            return file.read(_FILE_CAP).decode(errors="replace").strip()
    except OSError:
        return ""
