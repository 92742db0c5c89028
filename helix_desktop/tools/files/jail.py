"""The jail: gives tools access to files inside the workspace's folder, none outside or in the ignore file.

What the workspace's ignore file lists, in the syntax of .gitignore, no tool reads or writes. Commands can:
builds and tests need files that a model need not read. Their approval says so.
"""

from __future__ import annotations

import codecs
import errno
import os
import re
import stat
import sys
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from difflib import get_close_matches
from io import BufferedReader
from pathlib import Path, PureWindowsPath
from typing import Literal, Protocol

import msgspec

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.files.names import IgnoreRules, normalized_name
from helix_desktop.domain.unicode_safety import escape_hidden_name, escape_undecodable
from helix_desktop.system.folders import WorkspaceRoot
from helix_desktop.tools.tool import PathRefused, path_refused

IGNORE_FILE = ".agentignore"
LEFT_OUT = f"(what {IGNORE_FILE} lists is left out)\n"
_GIT_IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")
_MAX_BYTES = 256 * 1024
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_IGNORES_CASE = sys.platform in ("win32", "darwin")


class IgnoreFile:
    """The ignore file of one workspace, read again when it changes; all methods block."""

    def __init__(self, root: Path) -> None:
        self._path = root / IGNORE_FILE
        self._read_as: tuple[int, ...] = ()
        self._rules = IgnoreRules("")

    @property
    def exists(self) -> bool:
        return os.path.lexists(self._path)

    def ignores(self, parts: Sequence[str], is_folder: bool = False) -> bool:
        """Return True if no tool may touch a path. Raises ToolError while the file cannot be read."""
        return self._current().ignores(parts, is_folder)

    def without_ignored(self, folder: str, files: Iterable[str]) -> list[str]:
        """Return the files, by their paths below a folder of the workspace, that tools may touch."""
        inside = tuple(folder.split("/")) if folder else ()
        rules = self._current()
        return [file for file in files if not rules.ignores((*inside, *file.split("/")))]

    def _current(self) -> IgnoreRules:
        try:
            now = self._path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return IgnoreRules("")
        except OSError as error:
            raise _unreadable(f"{error.strerror}.") from error
        stamp = (now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns)
        if stamp != self._read_as:
            self._rules = _read(self._path, now)
            self._read_as = stamp
        return self._rules


class MarkedIgnoreFiles:
    """Git's ignore files with a byte order mark, which ripgrep takes for a part of their first rule.

    `folder` is where a search begins; rules of folders above it don't count there. All methods block.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._rules: dict[str, tuple[IgnoreRules, ...]] = {}

    def ignores(self, path: str) -> bool:
        """Return True if such a file lists a path below the folder, or one of the folders it is in."""
        parts = path.split("/")
        for depth in range(len(parts) - 1, -1, -1):
            inside = "/".join(parts[:depth])
            if inside not in self._rules:
                self._rules[inside] = tuple(self._read(inside))
            if any(rules.ignores(parts[depth:]) for rules in self._rules[inside]):
                return True
        return False

    def _read(self, inside: str) -> Iterator[IgnoreRules]:
        for name in _GIT_IGNORE_FILES:
            path = os.path.join(self._folder, inside, name)
            try:
                descriptor = os.open(path, os.O_RDONLY | _SAFE)
            except (OSError, ValueError):
                continue
            with os.fdopen(descriptor, "rb") as file:
                is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
                if is_file and file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8:
                    yield IgnoreRules(file.read(_MAX_BYTES).decode(errors="replace"), _IGNORES_CASE)


def _read(path: Path, file_stat: os.stat_result) -> IgnoreRules:
    if not stat.S_ISREG(file_stat.st_mode):
        raise _unreadable("It is a link or no file; only a file of the workspace counts.")
    try:
        descriptor = os.open(path, os.O_RDONLY | _SAFE)
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(f"{error.strerror}.") from error
    if len(data) > _MAX_BYTES or b"\0" in data:
        raise _unreadable(f"It is no text, or over {_MAX_BYTES // 1024} KB.")
    return IgnoreRules(data.decode(errors="replace"), _IGNORES_CASE)


def _unreadable(why: str) -> ToolError:
    """Return the error for every path, as long as it is not known what the user excluded."""
    return ToolError(
        f"No file was touched: {IGNORE_FILE} of this workspace cannot be read.",
        why,
        "Tell the user; files can be read again once it is repaired or deleted.",
    )


_MAX_LENGTH = 4096  # characters
_STARTUP = (
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile",
    ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".xprofile", ".xsessionrc", ".inputrc",
    ".config/fish", ".config/autostart", ".config/systemd", ".config/environment.d", ".ssh", ".gitconfig",
    ".config/git", "Library/LaunchAgents", ".bash_aliases", ".pam_environment", ".local/bin", ".local/lib",
    ".local/share/applications", ".local/share/systemd", ".local/share/dbus-1", ".gnupg", ".config/zsh",
    ".vimrc", ".vim", ".exrc", ".config/nvim", ".emacs", ".emacs.d", ".config/emacs", ".tmux.conf",
    ".config/tmux", ".npmrc", ".pypirc", ".pip", ".config/pip", ".cargo/config.toml", ".cargo/bin",
)  # fmt: skip
_DEVICES = {"con", "prn", "aux", "nul", "conin$", "conout$", "clock$"} | {
    f"{name}{digit}" for name in ("com", "lpt") for digit in "0123456789¹²³"
}


_WINDOWS_PATH = re.compile(r"[A-Za-z]:[\\/]|\\\\")


def startup_files(home: Path) -> tuple[Path, ...]:
    """Return files and folders below `home` that the system runs or obeys without asking; never writable."""
    return tuple(home / name for name in _STARTUP)


def parts_of(path: str, roots: Iterable[Path], windows: bool = os.name == "nt") -> tuple[str, ...]:
    """Return the components of a path inside the workspace, without dots; empty for the workspace itself.

    An absolute path is accepted when it begins with one of `roots`, or with a link to one. Raises ToolError
    for every other absolute path, for `..`, for paths of Windows on other systems, and for names that no file
    can have or that mean something else on Windows. Blocks.
    """
    if "\0" in path:
        raise path_refused(path, "it holds a NUL character.")
    if any("\ud800" <= sign <= "\udfff" for sign in path):
        raise path_refused(path, "it is not valid Unicode.")
    if len(path) > _MAX_LENGTH:
        raise ToolError("The path was refused: it is longer than 4,096 characters.")
    if not windows and _WINDOWS_PATH.match(path):
        raise path_refused(path, "it is a path of Windows, and this is another system.")
    text = path.replace("\\", "/") if windows else path
    if text.startswith("/") or (windows and PureWindowsPath(path).drive):
        text = _inside(path, text, roots)
    parts = tuple(part for part in text.split("/") if part not in ("", "."))
    if ".." in parts:
        raise path_refused(path, "it holds '..'.")
    if windows:
        _refuse_windows(path, parts)
    return parts


def is_below(parts: Sequence[str], tops: Iterable[Sequence[str]]) -> bool:
    """Return True if `parts` is one of `tops` or below one, as a lenient file system compares them."""
    names = tuple(normalized_name(part) for part in parts)
    return any(names[: len(top)] == tuple(normalized_name(part) for part in top) for top in tops)


def is_git_internal(parts: Sequence[str]) -> bool:
    """Return True if the path is, or is in, a `.git`: its hooks and config run commands without asking."""
    return any(normalized_name(part) in (".git", "git~1") for part in parts)


def relative_parts(paths: Iterable[Path], root: Path) -> tuple[tuple[str, ...], ...]:
    """Return the `paths` below `root`, as components relative to it; links resolved too."""
    # Compared as text: every jail compares fifty, and a Path costs more than the question to the system.
    top = os.path.normcase(os.path.join(root, ""))
    forms = (form for path in map(os.fspath, paths) for form in (path, os.path.realpath(path)))
    relative = (Path(form[len(top) :]).parts for form in forms if os.path.normcase(form).startswith(top))
    return tuple(parts for parts in dict.fromkeys(relative) if parts)


def _inside(path: str, text: str, roots: Iterable[Path]) -> str:
    for root in roots:
        top = root.as_posix().rstrip("/")
        if text == top or text.startswith(top + "/"):
            return text[len(top) :]
    rest = _below_link(text, {os.path.realpath(root) for root in roots})
    if rest is not None:
        return rest
    raise path_refused(path, "it is an absolute path outside the workspace.")


def _below_link(text: str, roots: Container[str]) -> str | None:
    """Return what of an absolute path is below a link to one of `roots`; None: it passes no such link."""
    names = text.split("/")
    for count, name in enumerate(names[1:], 2):
        if name == "..":
            return None
        top = "/".join(names[:count])
        if os.path.realpath(top) in roots:
            return text[len(top) :]
    return None


def _refuse_windows(path: str, parts: Iterable[str]) -> None:
    for part in parts:
        if ":" in part or part[-1] in ". " or part.split(".", 1)[0].rstrip().casefold() in _DEVICES:
            raise path_refused(path, f"{part!r} means something else than a file on Windows.")


EntryKind = Literal["file", "folder", "link", "other"]


class FileStamp(msgspec.Struct, frozen=True):
    """A fingerprint to detect changes of a file: identity, size in bytes, mtime in nanoseconds."""

    device: int
    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, stat: os.stat_result) -> FileStamp:
        return cls(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)


class OpenFile(msgspec.Struct, frozen=True):
    """An open regular file, the path it really has in the workspace, and its stamp."""

    path: str
    file: BufferedReader
    stamp: FileStamp


class DirEntry(msgspec.Struct, frozen=True):
    """An entry of a folder; `size` in bytes for files, `link_target` for links."""

    name: str
    kind: EntryKind
    size: int = 0
    link_target: str = ""


class SearchRoot(msgspec.Struct, frozen=True):
    """A folder to start a search in: its path in the workspace, and a folder that cannot be swapped.

    `file_name` is the file in it when a file was requested, else empty.
    """

    path: str
    cwd: str
    file_name: str = ""


class Jail(Protocol):
    """Opens, lists and replaces files of one folder; all methods block and raise ToolError."""

    @property
    def limits(self) -> PathLimits: ...

    def check_root(self) -> None:
        """Raise WorkspaceAway if the workspace's folder is away."""
        ...

    def open_file(self, path: str) -> AbstractContextManager[OpenFile]:
        """Open a regular file to read."""
        ...

    def list_entries(self, path: str) -> tuple[str, list[DirEntry]]:
        """Return a folder's path in the workspace and its entries, unsorted."""
        ...

    def hold_folder(self, path: str) -> AbstractContextManager[SearchRoot]:
        """Hold a folder, or a file's folder, to search in."""
        ...

    def resolve_writable(self, path: str) -> str:
        """Return the path that a write would really change. Raises ToolError when it may not be written."""
        ...

    def write(self, path: str, data: bytes, stamp: FileStamp | None) -> str:
        """Replace a file as a whole, or make it (folders too); gives its path in the workspace.

        `stamp` is what the file must still be; None means that it must not exist yet.
        """
        ...


class WorkspaceAway(ToolError):
    """The workspace's folder is away: nothing is known of its files, not even that one is gone."""


@contextmanager
def root_in_place(jail: Jail) -> Iterator[None]:
    """Run a block that takes what it does not find for gone; raise WorkspaceAway if the folder was away."""
    jail.check_root()
    yield
    jail.check_root()


class PathLimits:
    """The paths that are out of bounds inside a workspace, by path components."""

    def __init__(self, root: Path, hidden: tuple[Path, ...], read_only: tuple[Path, ...]) -> None:
        self.hidden = relative_parts(hidden, root)
        self._read_only = relative_parts(read_only, root)
        self.ignore_file = IgnoreFile(root)

    def check_read(self, path: str, parts: tuple[str, ...], is_folder: bool = False) -> None:
        """Raise ToolError when the path holds the app's own data, or the ignore file lists it."""
        if is_below(parts, self.hidden):
            raise path_refused(path, "it holds this program's own data.")
        if self.ignore_file.ignores(parts, is_folder):
            raise PathRefused(
                f"'{escape_undecodable(path)}' was refused: the user excluded it from all tools, in "
                f"{IGNORE_FILE}.",
                fix="Do not try it in another way; ask the user if you need it.",
            )

    def check_write(self, path: str, parts: tuple[str, ...]) -> None:
        """Raise ToolError when no tool may ever write there."""
        self.check_read(path, parts)
        if not parts:
            raise ToolError("The workspace itself is a folder, not a file.", fix="Name a file in it.")
        if is_below(parts, [(IGNORE_FILE,)]):
            raise path_refused(path, "only the user changes what tools may not read.")
        if is_git_internal(parts):
            raise path_refused(path, "files inside .git can make git run commands.")
        if is_below(parts, self._read_only):
            raise path_refused(path, "the system runs or obeys that file unasked.")


class RootedJail:
    """What the jails of all systems have: the workspace's folder as it was when it was opened."""

    def __init__(self, root: Path, hidden: tuple[Path, ...] = (), read_only: tuple[Path, ...] = ()) -> None:
        self._unresolved_root = root.absolute()
        self._root = root.resolve()
        self.limits = PathLimits(self._root, hidden, read_only)
        self._opened_root = WorkspaceRoot(self._root)

    def check_root(self) -> None:
        try:
            self._opened_root.check()
        except OSError as error:
            if error.errno == errno.ENODEV:
                raise WorkspaceAway(
                    "The workspace's folder is on another drive than when it was opened.",
                    "Its own drive was removed, or another one is in front of it.",
                    "Nothing was changed: tell the user to connect the drive, or to open the folder again.",
                ) from None
            raise WorkspaceAway(
                "The workspace's folder is missing.",
                "It was moved, renamed or deleted, or its drive was removed.",
                "No path works until it is back: tell the user, and do not look for it.",
            ) from None


def near_name_hint(jail: Jail, path: str) -> str:
    """Return what to do about a missing file: the most similar name of its folder, or a look there."""
    folder, _, name = path.rpartition("/")
    with suppress(ToolError):
        place, entries = jail.list_entries(folder)
        names = [entry.name for entry in entries if entry.kind == "file"]
        for near in get_close_matches(name, jail.limits.ignore_file.without_ignored(place, names), 1):
            return f"The nearest name there is {escape_hidden_name(f'{place}/{near}' if place else near)}."
        return "List its folder to see what is there."
    return f"Its folder is not there either: list {_nearest_folder(jail, folder) or 'the workspace'}."


def _nearest_folder(jail: Jail, path: str) -> str:
    """Return the nearest folder above a missing one that is there; empty: the workspace."""
    folder = path.rpartition("/")[0]
    while folder:
        with suppress(ToolError):
            jail.list_entries(folder)
            return folder
        folder = folder.rpartition("/")[0]
    return ""


def special_file_refused(path: str, kind: str) -> ToolError:
    return ToolError(f"{path} was refused: it is {kind}, not a regular file.")


def hard_link_refused(path: str, links: int) -> ToolError:
    """Return the error for writing a file with hard links, perhaps outside the workspace."""
    return ToolError(
        f"{path} was refused: it has {links} hard links.",
        "Its other names may lie outside the workspace.",
        "Ask the user to replace it by a copy.",
    )


def changed_file_refused(path: str) -> ToolError:
    return ToolError(
        f"{path} was not written: it was changed by something else meanwhile.",
        fix="Read it again, then write.",
    )
