"""Finds the checkout that a folder is in, by its files alone; everything blocks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from helix_desktop.domain.unicode_safety import escape_hidden_name

_FILE_CAP = 4096  # bytes of a file of git that holds a path or a name
_BRANCH = "ref: refs/heads/"


@dataclass(frozen=True)
class Checkout:
    """A checkout: its topmost folder and its git folder; `main_folder` is what a linked worktree is of."""

    top: Path
    git_folder: Path
    main_folder: Path | None = None

    @property
    def worktree(self) -> str:
        """The name of a linked worktree; empty: it is none."""
        return escape_hidden_name(self.git_folder.name) if self.main_folder else ""


def find_checkout(root: Path) -> Checkout | None:
    """Return the checkout that a folder is in, or None."""
    for folder in (root, *root.parents):
        git = folder / ".git"
        if git.is_dir():
            return Checkout(folder, git)
        target = _read(git).removeprefix("gitdir: ") if git.is_file() else ""
        if target:
            return _linked(folder, Path(folder, target))
    return None


def _linked(folder: Path, git_folder: Path) -> Checkout:
    """Return the checkout of a linked worktree, or of a submodule."""
    common = _read(git_folder / "commondir")
    return Checkout(folder, git_folder, (git_folder / common).resolve().parent if common else None)


def branch_in_head(checkout: Checkout) -> str:
    """Return the branch as its file names it; empty if it names none."""
    words = _read(checkout.git_folder / "HEAD")
    return escape_hidden_name(words.removeprefix(_BRANCH)) if words.startswith(_BRANCH) else ""


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_FILE_CAP).decode(errors="replace").strip()
    except OSError:
        return ""
