"""Reads a configuration of git as git does, and finds where git takes programs and settings from.

Commands can't change these places, and an edit of them asks. Read from files alone; nothing of git runs. Too
much is found rather than too little: it is made read-only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from helix_desktop.permissions.files_run_by_programs import runs_program
from helix_desktop.system.files import read_start

_BOM = "\ufeff".encode().decode("latin-1")
_HEADER = re.compile(r'\[([A-Za-z0-9.-]+)(?:[ \t\r]+"((?:[^"\\\n]|\\[^\n])*)")?\]')
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_BLANKS = " \t\r"
_WORDS = re.compile(r"""[^\s"'!|&;()<>=$`]+|[!|&;(`]""")
_OPERATOR = re.compile(r"[!|&;(`]")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "\\": "\\", '"': '"'}

PROGRAMS_OFF = (
    "core.fsmonitor=",
    f"core.hooksPath={os.devnull}",
    "core.pager=cat",
    "core.alternateRefsCommand=",
    "core.askPass=",
    "credential.helper=",
    "protocol.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
)
"""Settings with which git runs no program that a repository names, but those for differences and filters."""

USERS_CONFIG_VARIABLES = (
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES",
)  # fmt: skip
"""The user's variables that hold for git that reads, too: where their configuration is, where git looks."""


class InvalidConfig(ValueError):
    """A configuration that git would refuse."""


class GitSetting(msgspec.Struct, frozen=True):
    """A setting: its section and key in lower case, the subsection as it is, and its bytes `start` to `end`.

    A `value` of None stands for a switch without one.
    """

    section: str
    subsection: str
    key: str
    value: str | None
    start: int = 0
    end: int = 0

    @property
    def name(self) -> str:
        return _readable(".".join(filter(None, (self.section, self.subsection, self.key))))

    @property
    def line(self) -> str:
        return self.name if self.value is None else f"{self.name} = {_readable(self.value)}"

    @property
    def names_program(self) -> bool:
        """True if git runs a program because of it, or reads another configuration."""
        return runs_program(self.section, self.subsection, self.key, self.value)


def _readable(latin: str) -> str:
    return latin.encode("latin-1").decode("utf-8", "replace")


def parse_git_config(data: bytes) -> list[GitSetting]:
    """Return the settings of a configuration. Raises InvalidConfig."""
    text = data.decode("latin-1")  # a character is a byte
    at = len(_BOM) if text.startswith(_BOM) else 0
    settings: list[GitSetting] = []
    section = subsection = ""
    while at < len(text):
        sign = text[at]
        if sign in _BLANKS or sign == "\n":
            at += 1
        elif sign in "#;":
            at = _line_end(text, at)
        elif sign == "[":
            header = _HEADER.match(text, at)
            if header is None:
                raise InvalidConfig
            section, _, dotted = header[1].lower().partition(".")
            quoted = re.sub(r"\\(.)", r"\1", header[2] or "")
            subsection = ".".join(filter(None, (dotted, quoted)))
            at = header.end()
        else:
            name = _NAME.match(text, at)
            if name is None:
                raise InvalidConfig
            value, end = _value(text, name.end())
            settings.append(GitSetting(section, subsection, name[0].lower(), value, at, end))
            at = end
    return settings


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _value(text: str, at: int) -> tuple[str | None, int]:
    """Return the value that begins behind a key, and where it ends: at the end of a line."""
    while at < len(text) and text[at] in " \t\r":
        at += 1
    if at == len(text) or text[at] == "\n":
        return None, at
    if text[at] != "=":
        raise InvalidConfig
    at += 1
    signs: list[str] = []
    is_quoted = False
    kept = 0  # characters that stand before blanks at the end
    while at < len(text) and text[at] != "\n":
        sign = text[at]
        at += 1
        if sign == "\\":
            if text.startswith("\r\n", at):
                at += 1
            if at == len(text):
                break
            escaped = text[at]
            at += 1
            if escaped == "\n":
                continue
            if escaped not in _ESCAPES:
                raise InvalidConfig
            signs.append(_ESCAPES[escaped])
        elif sign == '"':
            is_quoted = not is_quoted
            kept = len(signs)
            continue
        elif sign in "#;" and not is_quoted:
            at = _line_end(text, at)
            break
        elif sign in _BLANKS and not is_quoted:
            if signs:
                signs.append(" ")
            continue
        else:
            signs.append(sign)
        kept = len(signs)
    if is_quoted:
        raise InvalidConfig
    return "".join(signs[:kept]), at


def files_in_value(value: str, top: str, home: str, planned: str = "") -> Iterator[str]:
    """Yield the files that a program's line names by a path, links resolved; git starts it in `top`.

    `planned` is a file that counts although it may not be there yet.

    A command without a slash is found by the PATH. Folders that the line names may be where it goes first.
    """
    folders = [top]
    names = list[str]()
    is_command = True
    for word in _WORDS.findall(value.encode("latin-1").decode(errors="surrogateescape")):
        is_operator = bool(_OPERATOR.fullmatch(word))
        if not is_operator and "\0" not in word:
            name = f"{home}/{word[2:]}" if word.startswith("~/") else word
            if os.path.isdir(folder := os.path.join(top, name)):
                folders.append(folder)
            elif "/" in word or not is_command:
                names.append(name)
        is_command = is_operator
    for folder in folders:
        for path in (os.path.realpath(os.path.join(folder, name)) for name in names):
            if path == planned or os.path.isfile(path):
                yield path


def without_settings(data: bytes, settings: Iterable[GitSetting]) -> bytes:
    """Return a configuration without some of its settings; all else stays byte for byte."""
    for setting in sorted(settings, key=lambda setting: setting.start, reverse=True):
        end = setting.end
        start = data.rfind(b"\n", 0, setting.start) + 1
        is_alone = not data[start : setting.start].strip()
        if is_alone and data[end : end + 1] == b"\n":
            end += 1
        data = data[: start if is_alone else setting.start] + data[end:]
    return data


_MAX_FOLDERS = 20_000
# What stands there is made and removed as a whole: a mount in it would stop `rm -rf build`.
_SKIPPED = frozenset({"node_modules", "__pycache__", ".venv", "venv", "target", "build", "dist", ".tox"})
_FILE_CAP = 1024 * 1024  # bytes of a configuration
_GITDIR = "gitdir:"
_SETTINGS = ("hooks", "config", "config.worktree", "commondir", "info/attributes")
_HOOKS = (
    "applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-commit",
    "post-merge", "post-rewrite", "pre-applypatch", "pre-auto-gc", "pre-commit", "pre-merge-commit",
    "pre-push", "pre-rebase", "prepare-commit-msg", "reference-transaction", "sendemail-validate",
)  # fmt: skip
_FOLLOWED_SECTIONS = ("include", "includeif")
_USER_CONFIGS = (".gitconfig", ".config/git/config")

_CONTINUED = re.compile(r"\\\r?\n")
_FOLLOWED = re.compile(r"(?im)(?:^|\])[ \t\r]*(path|hookspath)[ \t]*=[ \t]*(.*?)\s*$")
_VALUE = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|\\.|[^"\\#;])*""")  # up to a comment
_QUOTE_OR_ESCAPE = re.compile(r'"|\\(.)')


class GitPaths(msgspec.Struct, frozen=True):
    """The git folders of a workspace, and what git follows beside them or in them; every path exists."""

    folders: tuple[Path, ...]
    read_only: tuple[Path, ...]


def find_git_paths(root: Path, home: Path) -> GitPaths:
    """Find what git follows in a workspace, at any depth; `home` has the user's own configuration. Blocks.

    A checkout around the workspace counts too, and git folders outside: their configuration may lead here.
    """
    read_only: dict[Path, None] = {}
    around = (parent for parent in root.parents if os.path.lexists(parent / ".git"))
    followed = _follow((*_tops(root), *around), home, read_only)
    folders = tuple(dict.fromkeys(folder for folder in followed if folder.is_relative_to(root)))
    settings = (folder / name for folder in folders for name in _SETTINGS)
    found = (path for path in (*settings, *read_only) if root in path.parents and path.exists())
    return GitPaths(folders, tuple(dict.fromkeys(found)))


def is_run_by_git(path: Path, home: Path) -> bool:
    """Return True if settings of git around a file, or the user's, name it; it need not be there yet.

    Blocks.
    """
    path = Path(os.path.realpath(path))
    read_only: dict[Path, None] = {}
    tops = [top for top in path.parents if os.path.lexists(top / ".git")]
    _follow(tops, home, read_only, str(path))
    return not read_only.keys().isdisjoint((path, *path.parents))


def _tops(root: Path) -> Iterator[Path]:
    """Yield the folders with a `.git`, topmost first."""
    pending = [str(root)]
    visited = 0
    while pending and visited < _MAX_FOLDERS:
        folders = pending
        pending = []
        for folder in folders:
            visited += 1
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        if entry.name == ".git":
                            yield Path(folder)
                        elif entry.name not in _SKIPPED and entry.is_dir(follow_symlinks=False):
                            pending.append(entry.path)
            except OSError:
                continue


def _git_folders(top: Path, read_only: dict[Path, None]) -> Iterator[Path]:
    """Yield the folders of git that a `.git` is or names, with those of submodules and work trees in it."""
    pending = [_real(top, ".git")]
    seen = set[Path]()
    while pending:
        path = pending.pop(0)
        if path in seen:
            continue
        seen.add(path)
        if path.is_file():
            read_only[path] = None
            target = _read(path)
            if target.startswith(_GITDIR):
                pending.append(_real(path.parent, target.removeprefix(_GITDIR).strip()))
        elif path.is_dir():
            yield path
            if common := _read(path / "commondir").strip():
                pending.append(_real(path, common))
            pending += [config.parent for config in (path / "modules").glob("**/config*")]
            pending += (path / "worktrees").glob("*/")


def _follow(tops: Sequence[Path], home: Path, read_only: dict[Path, None], planned: str = "") -> list[Path]:
    """Return the folders of git; add what their configurations include and run, and where they have hooks."""
    places = [(folder, top) for top in tops for folder in _git_folders(top, read_only)]
    configs = [(folder / name, top) for folder, top in places for name in ("config", "config.worktree")]
    configs += [(home / name, top) for name in _USER_CONFIGS for top in tops]
    seen = set[tuple[Path, Path]]()
    while configs:
        config, top = configs.pop()
        if (config, top) in seen:
            continue
        seen.add((config, top))
        with suppress(InvalidConfig):
            for setting in parse_git_config(_read(config).encode(errors="surrogateescape")):
                if setting.names_program and setting.value and setting.section not in _FOLLOWED_SECTIONS:
                    found = files_in_value(setting.value, str(top), os.path.expanduser("~"), planned)
                    read_only.update(dict.fromkeys(map(Path, found)))
        for key, value in _FOLLOWED.findall(_CONTINUED.sub("", _read(config))):
            written = _VALUE.match(value)
            assert written is not None  # it may be empty
            name = os.path.expanduser(_QUOTE_OR_ESCAPE.sub(lambda quote: quote[1] or "", written[0]).strip())
            if not name or "\0" in name:
                continue
            path = _real(config.parent if key.lower() == "path" else top, name)
            if path.is_file():
                read_only[path] = None
                configs.append((path, top))
            elif path in top.parents or path == top:  # the whole workspace can't be made read-only
                read_only.update(dict.fromkeys(path / hook for hook in _HOOKS))
            else:
                read_only[path] = None
    return [folder for folder, _ in places]


def _real(folder: Path, name: str) -> Path:
    return Path(os.path.realpath(folder / name))


def _read(path: Path) -> str:
    return read_start(path, _FILE_CAP).decode(errors="surrogateescape")
