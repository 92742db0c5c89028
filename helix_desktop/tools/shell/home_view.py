"""What commands see of homes: the listed names, the programs of the PATH, and what the project needs."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from helix_desktop.domain.permissions.home_folder import (
    FILTERED_HOME_FILES,
    RELOCATED,
    is_mixed,
    relocated_names,
)
from helix_desktop.tools.shell.linked_projects import LinkedProjects
from helix_desktop.tools.shell.secret_paths import names_there

_HOMES = ("/home", "/root", "/var/home")
_WINDOWS_HOMES = "[a-z]/Users"  # below /mnt, in the Windows Subsystem for Linux
_NO_HOMES = frozenset(
    map(Path, ("/", "/bin", "/dev", "/etc", "/lib", "/mnt", "/opt", "/proc", "/sbin", "/srv", "/sys", "/tmp",
               "/usr", "/usr/local", "/usr/sbin", "/var", "/var/lib", "/nonexistent"))
)  # fmt: skip
"""What system users have as home: nothing of it is theirs alone."""
_SHARED_IN_HOMES = (Path("/home/linuxbrew/.linuxbrew"),)
_OWN_FOLDERS = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
_ENVIRONMENTS = ("VIRTUAL_ENV", "CONDA_PREFIX")
_MAX_LINKS = 500  # of one folder of the PATH that are followed
_MAX_INCLUDES = 10
_FILE_CAP = 256 * 1024  # bytes of a configuration
_GIT_FILES = re.compile(
    r"(?im)^[ \t]*(?:path|excludesfile|attributesfile|template|hookspath|templatedir)"
    r"[ \t]*=[ \t]*\"?([^\"\n]+)"
)
_SECRET = re.compile(
    r"token|passw|passphrase|secret|auth(?!or)|credential|api.?key|private.?key|access.?key|extraheader|cookie"
    r"|bearer|_key\b|-----|https?://[^/\s@]+@",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ShownPath:
    """A path that commands see in a covered folder: what `source` is, which is no link.

    Of a filtered file they see the lines that hold no key.
    """

    path: Path
    source: Path
    is_filtered: bool = False


@dataclass(frozen=True)
class HomeView:
    """The folders of which commands see nothing but `shown`; `secrets` lie in what is shown."""

    covered: tuple[Path, ...] = ()
    shown: tuple[ShownPath, ...] = ()
    secrets: tuple[Path, ...] = ()


def find_home_view(
    root: Path, home: Path, names: Sequence[str], environ: Mapping[str, str], hidden: Sequence[Path]
) -> HomeView:
    """Find what commands of the workspace at `root` see of home folders; `hidden` paths never. Blocks."""
    covered = _covered(home, environ)
    finder = _Finder(root, home, covered, hidden)
    for base, listed in _listed(home, names, environ):
        for name in names_there(base, listed):
            finder.add(base / name)
    for base, listed in _listed(home, FILTERED_HOME_FILES, environ):
        for name in names_there(base, listed):
            finder.add_filtered(base / name)
    for shared in _SHARED_IN_HOMES:
        finder.add(shared)
    finder.add_programs(environ.get("PATH", ""))
    projects = LinkedProjects(root, home, covered, hidden)
    environments = [Path(environ[name]) for name in _ENVIRONMENTS if environ.get(name)]
    for path in projects.find(environments):
        if path.parent.name == ".cargo":
            finder.add_filtered(path)
        else:
            finder.add_folder(path)
    return HomeView(covered, finder.topmost(), projects.secrets)


def _covered(home: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the folders with homes that exist, none in another one."""
    own = (Path(environ[name]) for name in _OWN_FOLDERS if environ.get(name))
    names = (*map(Path, _HOMES), *Path("/mnt").glob(_WINDOWS_HOMES), home, *own)
    real = {Path(os.path.realpath(path)) for path in names if path.is_absolute() and path.is_dir()}
    real -= _NO_HOMES
    return tuple(sorted(path for path in real if not any(parent in real for parent in path.parents)))


def _listed(
    home: Path, names: Sequence[str], environ: Mapping[str, str]
) -> Iterator[tuple[Path, Sequence[str]]]:
    """Yield folders and the names to see below them: the home, and where variables lead instead."""
    yield home, names
    for variable in RELOCATED:
        folder = environ.get(variable, "").partition(os.pathsep)[0]
        if folder.startswith("/"):
            yield Path(folder), relocated_names(names, variable)


class _Finder:
    """Collects the paths that commands see."""

    def __init__(self, root: Path, home: Path, covered: Sequence[Path], hidden: Sequence[Path]) -> None:
        self._root, self._home = root, home
        self._covered, self._hidden = covered, frozenset(hidden)
        self._shown: dict[Path, ShownPath] = {}

    def add(self, path: Path) -> None:
        """Add a file or folder if it is in a home and may be seen; where a link leads, too."""
        source = self._source(path)
        if source is None:
            return
        self._put(ShownPath(path, source))
        if source != path and self._is_covered(source) and source.is_dir():
            self._put(ShownPath(source, source))

    def add_filtered(self, path: Path, depth: int = 0) -> None:
        """Add a file without its lines that hold keys, and what the configuration of git names in it."""
        source = self._source(path)
        if source is None or not source.is_file() or path in self._shown:
            return
        text = read_text(source)
        self._put(ShownPath(path, source, is_filtered=filtered(text) != text))
        if "git" not in path.name and path.parent.name != "git" and not depth:
            return
        for value in _GIT_FILES.findall(text)[:_MAX_INCLUDES] if depth < _MAX_INCLUDES else ():
            name = value.strip()
            name = f"{self._home}{name[1:]}" if name.startswith("~/") else name
            target = Path(os.path.normpath(path.parent / name))
            if target.is_dir():
                self.add_folder(target)
            else:
                self.add_filtered(target, depth + 1)

    def add_folder(self, path: Path) -> None:
        """Add a folder unless it is one where programs keep all kinds of things."""
        if path.is_relative_to(self._home) and is_mixed(str(path.relative_to(self._home))):
            return
        self.add(path)

    def add_programs(self, search_path: str) -> None:
        """Add the folders of programs, what links there lead to, and the installations that have them."""
        for name in dict.fromkeys(search_path.split(os.pathsep)):
            folder = Path(name)
            if not folder.is_absolute() or not self._is_covered(Path(os.path.realpath(folder))):
                continue
            self.add_folder(folder)
            self._add_installation(folder)
            for target in _link_targets(folder):
                if self._is_covered(target):
                    self.add(target)
                    self._add_installation(target.parent)

    def topmost(self) -> tuple[ShownPath, ...]:
        """Return what was added, parents first, without what is in another one."""
        kept: dict[Path, ShownPath] = {}
        for path, shown in sorted(self._shown.items()):
            above = next((kept[parent] for parent in path.parents if parent in kept), None)
            inside = above is not None and above.source / path.relative_to(above.path) == shown.source
            if not inside or shown.is_filtered:
                kept[path] = shown
        return tuple(kept.values())

    def _add_installation(self, programs: Path) -> None:
        """Add the folder of an installation, `PREFIX`, whose programs are in `PREFIX/bin`."""
        prefix = programs.parent
        if programs.name in ("bin", "shims") and any(
            (prefix / name).is_dir() for name in ("lib", "libexec", "lib64")
        ):
            self.add_folder(prefix)

    def _put(self, shown: ShownPath) -> None:
        if self._is_covered(shown.path):
            self._shown.setdefault(shown.path, shown)

    def _is_covered(self, path: Path) -> bool:
        return any(folder in path.parents for folder in self._covered)

    def _source(self, path: Path) -> Path | None:
        """Return what a path is, links resolved; None if commands must not see it, or it is no file."""
        source = Path(os.path.realpath(path))
        try:
            mode = source.stat().st_mode
        except OSError:
            return None
        for each in (path, source):
            whole = each == self._home or each in self._home.parents
            if whole or each in self._hidden or not self._hidden.isdisjoint(each.parents):
                return None
        return source if stat.S_ISDIR(mode) or stat.S_ISREG(mode) else None


def _link_targets(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            links = [entry.path for entry in entries if entry.is_symlink()][:_MAX_LINKS]
    except OSError:
        return
    for link in links:
        target = Path(os.path.realpath(link))
        if target.is_file() and target.parent != folder:
            yield target


def unlisted(home: Path, shown: Iterable[ShownPath]) -> Iterator[Path]:
    """Yield the hidden entries of a home that is in a workspace, whose names begin with a dot: not `shown`.

    A home that is a checkout is full of files that begin with a dot and belong to it: nothing is yielded.
    """
    if os.path.lexists(home / ".git"):
        return
    seen = {entry.path for entry in shown if not entry.is_filtered}
    above = {parent for path in seen for parent in path.parents}
    filtered_files = {entry.path for entry in shown if entry.is_filtered}
    pending = [path for path in _entries(home) if path.name.startswith(".")]
    while pending:
        path = pending.pop()
        if path in above:
            pending += _entries(path)
        elif path not in seen and path not in filtered_files:
            yield path


def _entries(folder: Path) -> list[Path]:
    try:
        return [folder / name for name in os.listdir(folder)]
    except OSError:
        return []


def filtered(text: str) -> str:
    """Return the lines of a configuration that hold no key, password or address with one."""
    kept: list[str] = []
    skips_section = continues = False
    for line in text.splitlines(keepends=True):
        is_secret = _SECRET.search(line) is not None
        if continues:
            is_secret = True
        elif line.lstrip().startswith("["):
            skips_section = is_secret
        if not is_secret and not skips_section:
            kept.append(line)
        continues = is_secret and line.rstrip("\r\n").endswith("\\")
    return "".join(kept)


def read_text(path: Path) -> str:
    """Return the start of a file as text; empty if it can't be read."""
    try:
        with path.open("rb") as file:
            return file.read(_FILE_CAP).decode(errors="surrogateescape")
    except OSError:
        return ""
