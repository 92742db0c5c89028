"""The git folder of a checkout that lies outside of the workspace: which it is, and what of it is written.

So it is with linked worktrees, submodules, folders of a larger repository and `--separate-git-dir`. Git only
reads there until the user allows more. Then the sandbox mounts what must stay read-only, and what a command
makes beside that is looked at by its name afterwards: what ordinary work doesn't make is taken out.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.permissions.git_folder_names import (
    CHECKOUT_NAMES,
    FIXED_NAMES,
    SHARED_NAMES,
    is_changed_by_git,
)
from helix_desktop.system.files import read_start
from helix_desktop.system.folders import NEW_FILE, OpenFolders, stat_in

_GIT = ".git"
_GITDIR = b"gitdir:"
_PATH_CAP = 4096  # bytes of a file of git that holds a path
_HEAD_CAP = 1024  # bytes
_OBJECTS = "objects"  # of which only the top is looked at: names in it are hashes
_WALKED = (_OBJECTS, "refs", "logs", "rr-cache")
_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}


class GitFolder(msgspec.Struct, frozen=True):
    """A git folder outside of the workspace, links resolved, and the names that commands may change in it."""

    path: Path
    names: tuple[str, ...]

    def changes(self, name: str) -> bool:
        """Return True if ordinary work changes the entry of that name."""
        return is_changed_by_git(name, self.names)


class OuterGit(msgspec.Struct, frozen=True):
    """A checkout that the workspace is, or is a part of: its top, and its git folders outside.

    The shared one comes first. Every path is there, with links resolved.
    """

    top: Path
    folders: tuple[GitFolder, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """The folders that the user allows together."""
        return tuple(str(folder.path) for folder in self.folders)


def find_outer_git(root: Path) -> OuterGit | None:
    """Return the git folders outside of a workspace that its checkout uses; None: it uses none. Blocks.

    Links in such a folder lead commands elsewhere: a folder with one counts as none.
    """
    top = next((folder for folder in (root, *root.parents) if os.path.lexists(folder / _GIT)), None)
    if top is None:
        return None
    folder = _led_to(top / _GIT)
    if folder is None:
        return None
    common = _named(folder, read_start(folder / "commondir", _PATH_CAP))
    names = SHARED_NAMES if common is not None else CHECKOUT_NAMES
    found = [GitFolder(folder, CHECKOUT_NAMES)]
    if common is not None:
        found.insert(0, GitFolder(common, names))
    outside = tuple(each for each in found if not each.path.is_relative_to(root))
    if not outside or not all(_is_plain(each.path) for each in outside):
        return None
    return OuterGit(top, outside)


def allowed_git(root: Path, allowed: Iterable[str]) -> OuterGit | None:
    """Return the git folders outside of a workspace if the user allowed all of them. Blocks."""
    known = frozenset(allowed)
    git = find_outer_git(root) if known else None
    return git if git is not None and known.issuperset(git.paths) else None


_REFUSALS = (b"not a git repository", b"Read-only file system", b"Permission denied")


def outer_git_note(root: Path, output: bytes, sandbox: str) -> str:
    """Return why git failed in a workspace whose git folder is outside; empty: for no such reason.

    Blocks.
    """
    if not any(refusal in output for refusal in _REFUSALS) or b"git" not in output:
        return ""
    git = find_outer_git(root)
    if git is None:
        return ""
    folders = " and ".join(map(escape_hidden_name, git.paths))
    way = _ALLOW if sandbox == "bubblewrap" else _TURN_OFF
    why = "the git folder of this checkout is outside of the workspace, where commands can't write"
    return f"{why}: {folders}; {way}"


_ALLOW = "the user can allow commits there in Settings > Permissions, or with helix-desktop run --allow-git"
_TURN_OFF = "the user can commit, or turn off the sandbox in Settings > Permissions"


def _led_to(place: Path) -> Path | None:
    """Return the git folder that a `.git` is or leads to; None if that is none."""
    real = Path(os.path.realpath(place))
    folder = real
    if not real.is_dir():
        data = read_start(real, _PATH_CAP)
        named = _named(real.parent, data.removeprefix(_GITDIR)) if data.startswith(_GITDIR) else None
        if named is None:
            return None
        folder = named
    return folder if (folder / "HEAD").is_file() else None


def _named(folder: Path, data: bytes) -> Path | None:
    name = os.fsdecode(data.strip().partition(b"\0")[0])
    if not name:
        return None
    real = Path(os.path.realpath(folder / name))
    return real if real.is_dir() else None


def _is_plain(folder: Path) -> bool:
    """Return True if no entry of a git folder is a link."""
    try:
        with os.scandir(folder) as entries:
            return not any(entry.is_symlink() for entry in entries)
    except OSError:
        return False


def git_mounts(git: OuterGit, *, is_read_only: bool) -> Iterator[str]:
    """Yield the options of bubblewrap for git folders outside: what ordinary work changes can be written.

    What is changed as a folder is a mount of its own, which no command can put a link in the place of.
    """
    for folder in git.folders:
        path = str(folder.path)
        if is_read_only:
            yield from ("--ro-bind", path, path)
            continue
        yield from ("--bind", path, path)
        for name in sorted(os.listdir(path)):
            inner = os.path.join(path, name)
            if not folder.changes(name):
                yield from ("--ro-bind-try", inner, inner)
            elif os.path.isdir(inner):
                yield from ("--bind-try", inner, inner)
        for name in FIXED_NAMES:
            yield from ("--ro-bind-try", os.path.join(path, name), os.path.join(path, name))


class OuterGitState(msgspec.Struct, frozen=True):
    """What a git folder outside has, by name: a file, a folder, a link or something else; and its HEAD.

    `names` are those that commands may change.
    """

    names: tuple[str, ...]
    kinds: dict[str, str] = {}
    head: bytes = b""


def look_at(folders: Iterable[GitFolder]) -> dict[str, OuterGitState]:
    """Return what is in git folders outside, by their paths. Blocks."""
    return {
        str(folder.path): OuterGitState(
            folder.names, _kinds_in(folder.path), read_start(folder.path / "HEAD", _HEAD_CAP)
        )
        for folder in folders
    }


def _kinds_in(path: Path) -> dict[str, str]:
    kinds: dict[str, str] = {}
    with suppress(OSError), os.scandir(path) as entries:
        for entry in entries:
            kinds[entry.name] = _kind(entry.stat(follow_symlinks=False))
    for name in FIXED_NAMES:
        with suppress(OSError):
            kinds[name] = _kind(os.lstat(path / name))
    for name in _WALKED:
        if kinds.get(name) == "folder":
            kinds.update(_odd_entries(path, name))
    return kinds


def _odd_entries(path: Path, name: str) -> Iterator[tuple[str, str]]:
    """Yield the links and special files below a folder of a git folder: git writes logs through links."""
    pending = [name]
    while pending:
        folder = pending.pop()
        with suppress(OSError), os.scandir(path / folder) as entries:
            for entry in entries:
                kind = _kind(entry.stat(follow_symlinks=False))
                inner = f"{folder}/{entry.name}"
                if kind == "folder":
                    pending += [inner] if name != _OBJECTS else []
                elif kind != "file":
                    yield inner, kind


def _kind(status: os.stat_result) -> str:
    return _KINDS.get(stat.S_IFMT(status.st_mode), "other")


class TakenOut(msgspec.Struct, frozen=True):
    """What a command left in a git folder outside; `kept_at` is where it is now, empty: nowhere."""

    path: str
    kept_at: str


def take_out_of(path: Path, before: OuterGitState, keep: Path) -> Iterator[TakenOut]:
    """Take out what a command made in a git folder that ordinary work doesn't make; move it to `keep`.

    Blocks. Raises OSError if something can't be taken out.
    """
    for name, kind in _kinds_in(path).items():
        is_usual = kind in ("file", "folder") and is_changed_by_git(name, before.names)
        if is_usual or before.kinds.get(name) == kind:
            continue
        yield TakenOut(str(path / name), _take_out(path, name, kind, keep))
    if before.head and not os.path.lexists(path / "HEAD"):
        _write_head(path, before.head)


def _take_out(folder: Path, name: str, kind: str, keep: Path) -> str:
    *parts, last = name.split("/")
    with OpenFolders(folder, follows_link=False) as folders:
        for part in parts:
            folders.enter(part)
        stat_in(folders.descriptor, last)
        if kind == "other":
            os.unlink(last, dir_fd=folders.descriptor)
            return ""
        keep.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = keep / f"{last}-{secrets.token_hex(4)}"
        try:
            os.rename(last, place, src_dir_fd=folders.descriptor)
        except OSError:  # on another disk
            shutil.move(folder / name, place)
        return str(place)


def _write_head(folder: Path, head: bytes) -> None:
    with OpenFolders(folder, follows_link=False) as folders:
        descriptor = os.open("HEAD", NEW_FILE, 0o644, dir_fd=folders.descriptor)
        with os.fdopen(descriptor, "wb") as file:
            file.write(head)
