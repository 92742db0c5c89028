"""Path rules: the form of the agent's paths, and the paths that may never be written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path, PureWindowsPath

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.files.names import normalized_name
from helix_desktop.tools.errors import path_refused

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


def startup_files(home: Path) -> tuple[Path, ...]:
    """Return files and folders below `home` that the system runs or obeys without asking; never writable."""
    return tuple(home / name for name in _STARTUP)


def parts_of(path: str, roots: Iterable[Path], windows: bool = os.name == "nt") -> tuple[str, ...]:
    """Return the components of a path inside the workspace, without dots; empty for the workspace itself.

    An absolute path is accepted when it begins with one of `roots`. Raises ToolError for every other absolute
    path, for `..`, and for names that no file can have or that mean something else on Windows.
    """
    _refuse_hidden_characters(path)
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


def _refuse_hidden_characters(path: str) -> None:
    if "\0" in path:
        raise path_refused(path, "it holds a NUL character.")
    if any("\ud800" <= sign <= "\udfff" for sign in path):
        raise path_refused(path, "it is not valid Unicode.")
    if len(path) > _MAX_LENGTH:
        raise ToolError("The path was refused: it is longer than 4,096 characters.")


def _inside(path: str, text: str, roots: Iterable[Path]) -> str:
    for root in roots:
        top = root.as_posix().rstrip("/")
        if text == top or text.startswith(top + "/"):
            return text[len(top) :]
    raise path_refused(path, "it is an absolute path outside the workspace.")


def _refuse_windows(path: str, parts: Iterable[str]) -> None:
    for part in parts:
        if ":" in part or part[-1] in ". " or part.split(".", 1)[0].rstrip().casefold() in _DEVICES:
            raise path_refused(path, f"{part!r} means something else than a file on Windows.")
