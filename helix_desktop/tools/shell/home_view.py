"""What commands see of homes: the listed names, the programs of the PATH, and what the project needs.

What a project needs that lies elsewhere in a home: its checkout, its environment, packages by their paths. A
confined command writes the files that are read here. What they name is therefore shown only if it is a
project itself, an environment, or a git folder, and no folder with a dot is on the way to it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from helix_desktop.domain.files.names import is_secret_file, is_secret_folder
from helix_desktop.permissions.home_folder import (
    FILTERED_HOME_FILES,
    RELOCATED,
    is_mixed,
    relocated_names,
)
from helix_desktop.tools.shell.file_lookups import (
    MAX_ENTRIES,
    Entry,
    FileLookups,
    is_inside,
    names_there,
    parents,
    read_text,
)

_PROJECT_FILES = (
    ".git", "Cargo.toml", "go.mod", "package.json", "pyproject.toml", "setup.py", "setup.cfg", "pom.xml",
    "build.gradle", "build.gradle.kts", "CMakeLists.txt", "Gemfile", "composer.json", "mix.exs",
    "pubspec.yaml", "Package.swift", "meson.build", "MODULE.bazel", "stack.yaml", "dune-project",
)  # fmt: skip
_MANIFESTS = frozenset((
    "Cargo.toml", "go.mod", "go.work", "package.json", "pyproject.toml", "setup.py", "requirements.txt",
    "requirements-dev.txt", "pom.xml", "settings.gradle", "settings.gradle.kts", "CMakeLists.txt", "Gemfile",
    "composer.json", "mix.exs", "pubspec.yaml", "Package.swift", "pnpm-workspace.yaml", "tsconfig.json",
))  # fmt: skip
_PARENT_FILES = (
    "Cargo.toml", ".cargo/config.toml", "pom.xml", "package.json", "pnpm-workspace.yaml", "tsconfig.json",
    "tsconfig.base.json", "go.work", "go.work.sum", "settings.gradle", "settings.gradle.kts",
    "Directory.Build.props", "Directory.Build.targets", "Directory.Packages.props", "global.json",
    "pyproject.toml", "setup.cfg", "mypy.ini", "ruff.toml", ".editorconfig", ".eslintrc.json", ".prettierrc",
    ".python-version", ".node-version", ".nvmrc", ".ruby-version", ".tool-versions", ".rubocop.yml",
    ".clang-format", "rust-toolchain", "rust-toolchain.toml", "node_modules",
)  # fmt: skip
"""What build tools look for in the folders around a project."""
_ENVIRONMENT_NAMES = (".venv", "venv", "env", ".env")
_ENVIRONMENT_MARKS = ("pyvenv.cfg", "conda-meta")
_SKIPPED = frozenset({"node_modules", "__pycache__", ".git", "target", "build", "dist"})
_RELATIVE = re.compile(r"(?<![\w./])(?:\.\./)+[\w.@+/-]*")
_PTH_LINE = re.compile(r"(?m)^(/.+)$")
_EDITABLE = re.compile(r"['\"](/[^'\"\n]+)['\"]")
_MAX_FOLDERS = 60  # of a project, in which manifests are read
_MAX_DEPTH = 2
_MAX_PROJECTS = 30


class LinkedProjects:
    """Finds what a project needs that lies in a covered folder; `hidden` paths never belong to it."""

    def __init__(
        self, root: str, home: str, covered: Sequence[str], hidden: Sequence[str], lookups: FileLookups
    ) -> None:
        self._root = root
        self._home = home
        self._covered = frozenset(covered)
        self._around_root = set(parents(root))
        self._around_home = {"/", *parents(home)}
        self._hidden = frozenset(hidden)
        self._lookups = lookups
        self._projects: dict[str, None] = {}
        self.secrets: tuple[str, ...] = ()
        """Files in what was found whose names say that they hold keys."""

    def find(self, environments: Iterable[str]) -> tuple[str, ...]:
        """Find them; `environments` are Python environments that variables name. Blocks."""
        paths: dict[str, None] = {}
        checkout = self._checkout()
        if checkout is not None:
            self._projects[checkout] = None
        paths.update(dict.fromkeys(self._git_folders(checkout or self._root)))
        paths.update(dict.fromkeys(self._around()))
        for environment in (*environments, *self._environments()):
            paths.update(dict.fromkeys(self._environment_paths(environment)))
        pending = [self._root]
        while pending and len(self._projects) < _MAX_PROJECTS:
            for target in self._dependencies(pending.pop()):
                project = self._project_of(target)
                if project is not None and project not in self._projects:
                    self._projects[project] = None
                    pending.append(project)
        self.secrets = tuple(path for project in self._projects for path in self._secrets_in(project))
        return (*paths, *self._projects)

    def _is_allowed(self, path: str) -> bool:
        """Return True if a folder is in a home, is none, and no folder with a dot is on the way to it."""
        above = tuple(parents(path))
        base = next((folder for folder in above if folder in self._covered), None)
        if base is None or path == self._home or path in self._around_home:
            return False
        if not self._hidden.isdisjoint((path, *above)):
            return False
        if self._home in above:
            base = self._home
        elif base not in (self._home, "/root") and above[0] == base:
            return False  # the home of another user
        return "/." not in path[len(base) :]

    def _project_of(self, target: str) -> str | None:
        """Return the project that a path leads to; None if it is none, or no covered folder hides it."""
        real = self._lookups.real_path(target)
        if not self._lookups.mode(real) or any(
            is_inside(real, folder) for folder in (self._root, *self._projects)
        ):
            return None
        for folder in (real, *islice(parents(real), 3)):
            if not self._is_allowed(folder) or folder in self._around_root:
                return None
            if any(os.path.lexists(f"{folder}/{name}") for name in _PROJECT_FILES):
                return folder
        return None

    def _checkout(self) -> str | None:
        """Return the checkout that the workspace is a part of; None if it is its top, or in none."""
        for folder in (self._root, *parents(self._root)):
            if os.path.lexists(f"{folder}/.git"):
                return folder if folder != self._root and self._is_allowed(folder) else None
        return None

    def _git_folders(self, top: str) -> Iterator[str]:
        """Yield the git folders of a checkout that are elsewhere, and those that they borrow from."""
        lookups = self._lookups
        pending = [self._git_folder(f"{top}/.git")]
        seen = set[str]()
        while pending:
            folder = pending.pop()
            if not folder or folder in seen:
                continue
            seen.add(folder)
            is_git = lookups.is_file(f"{folder}/HEAD") and (
                lookups.is_folder(f"{folder}/objects") or lookups.is_file(f"{folder}/commondir")
            )
            holder, is_in_checkout, _ = f"{folder}/".partition("/.git/")
            if is_git and self._is_allowed(holder if is_in_checkout else folder):
                yield folder
            if common := read_text(f"{folder}/commondir").strip():
                pending.append(lookups.real_path(os.path.join(folder, common)))
            for line in read_text(f"{folder}/objects/info/alternates").splitlines():
                objects, _, name = lookups.real_path(os.path.join(folder, "objects", line)).rpartition("/")
                pending.append(objects if name == "objects" else "")

    def _git_folder(self, path: str) -> str:
        """Return the folder that a `.git` is or names; empty if it is none."""
        if self._lookups.is_folder(path):
            return self._lookups.real_path(path)
        target = read_text(path).strip()
        if not target.startswith("gitdir:"):
            return ""
        name = target.removeprefix("gitdir:").strip()
        return self._lookups.real_path(os.path.join(os.path.dirname(path), name))

    def _around(self) -> Iterator[str]:
        """Yield the files of the folders around the workspace that build tools read."""
        for folder in parents(self._root):
            if folder not in self._covered and self._covered.isdisjoint(parents(folder)):
                return
            places = (f"{folder}/{name}" for name in _PARENT_FILES)
            yield from (place for place in places if self._lookups.mode(place))

    def _environments(self) -> Iterator[str]:
        """Yield the Python environments of the workspace and of the home, down to its folders' folders."""
        yield from (f"{self._root}/{name}" for name in _ENVIRONMENT_NAMES)
        count = 0
        for folder in self._folders(self._home):
            if folder.rpartition("/")[2].startswith("."):
                continue
            for environment in (folder, *self._folders(folder)):
                count += 1
                if count > MAX_ENTRIES:
                    return
                if self._lookups.is_file(f"{environment}/pyvenv.cfg"):
                    yield environment

    def _environment_paths(self, environment: str) -> Iterator[str]:
        """Yield an environment, its interpreter's installation, and the projects installed editable in it."""
        lookups = self._lookups
        real = lookups.real_path(environment)
        if not any(lookups.mode(f"{real}/{mark}") for mark in _ENVIRONMENT_MARKS):
            return
        if not is_inside(real, self._root):
            if real == self._home or real in self._around_home:
                return
            yield real
        python = lookups.real_path(f"{real}/bin/python")
        prefix = os.path.dirname(os.path.dirname(python))
        is_python = os.path.basename(python).startswith(("python", "pypy")) and lookups.is_file(python)
        if is_python and any(name.startswith("python") for name in lookups.names(f"{prefix}/lib")):
            yield from (prefix,) if prefix != self._home and prefix not in self._around_home else ()
        for version in lookups.entries(f"{real}/lib"):
            if version.name.startswith("python"):
                self._add_editable(f"{version.path}/site-packages")

    def _add_editable(self, packages: str) -> None:
        for entry in self._lookups.entries(packages):
            name = entry.name
            if name.endswith(".pth") or (name.startswith("__editable__") and name.endswith(".py")):
                text = read_text(entry.path)
                for target in dict.fromkeys((*_PTH_LINE.findall(text), *_EDITABLE.findall(text))):
                    project = self._project_of(target)
                    if project is not None:
                        self._projects[project] = None

    def _dependencies(self, project: str) -> Iterator[str]:
        """Yield what the manifests and links of a project name outside it."""
        pending = [(project, 0)]
        visited = 0
        while pending and visited < _MAX_FOLDERS:
            folder, depth = pending.pop(0)
            visited += 1
            for entry in self._lookups.entries(folder):
                if entry.is_link:
                    yield entry.path
                elif entry.name in _MANIFESTS:
                    text = read_text(entry.path)
                    if "../" in text:  # which takes no time to find out
                        yield from (f"{folder}/{name}" for name in _RELATIVE.findall(text))
                elif entry.name == "node_modules" and depth == 0:
                    yield from self._package_links(entry.path)
                elif depth < _MAX_DEPTH and _is_searched(entry):
                    pending.append((entry.path, depth + 1))

    def _package_links(self, folder: str) -> Iterator[str]:
        for entry in self._lookups.entries(folder):
            if entry.is_link:
                yield entry.path
            elif entry.name.startswith("@"):
                yield from (inner.path for inner in self._lookups.entries(entry.path) if inner.is_link)

    def _secrets_in(self, project: str) -> Iterator[str]:
        """Yield the files at the top of a project, and one folder deeper, that hold keys by their names."""
        for entry in self._lookups.entries(project):
            if entry.is_folder:
                if is_secret_folder(entry.name):
                    yield entry.path
                elif entry.name not in _SKIPPED and entry.path != self._root:
                    inner = self._lookups.entries(entry.path)
                    yield from (found.path for found in inner if is_secret_file(found.name))
            elif is_secret_file(entry.name):
                yield entry.path

    def _folders(self, folder: str) -> list[str]:
        entries = self._lookups.entries(folder)
        return [
            entry.path
            for entry in entries
            if entry.is_folder or (entry.is_link and self._lookups.is_folder(entry.path))
        ]


def _is_searched(entry: Entry) -> bool:
    return entry.is_folder and not entry.name.startswith(".") and entry.name not in _SKIPPED


_HOMES = ("/home", "/root", "/var/home")
_WINDOWS_DRIVES = "/mnt"  # in the Windows Subsystem for Linux
_DRIVE = re.compile("[a-z]")
_NO_HOMES = frozenset((
    "/", "/bin", "/dev", "/etc", "/lib", "/mnt", "/opt", "/proc", "/sbin", "/srv", "/sys", "/tmp", "/usr",
    "/usr/local", "/usr/sbin", "/var", "/var/lib", "/nonexistent",
))  # fmt: skip
"""What system users have as home: nothing of it is theirs alone."""
_SHARED_IN_HOMES = ("/home/linuxbrew/.linuxbrew",)
_OWN_FOLDERS = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
_ENVIRONMENTS = ("VIRTUAL_ENV", "CONDA_PREFIX")
_MAX_LINKS = 500  # of one folder of the PATH that are followed
_MAX_INCLUDES = 10
_GIT_FILES = re.compile(
    r"(?im)^[ \t]*(?:path|excludesfile|attributesfile|template|hookspath|templatedir)"
    r"[ \t]*=[ \t]*\"?([^\"\n]+)"
)
_SECRET = re.compile(
    r"token|passw|passphrase|secret|auth(?!or)|credential|api.?key|private.?key|access.?key|extraheader|cookie"
    r"|bearer|_key\b|-----|https?://[^/\s@]+@",
    re.IGNORECASE,
)


class ShownPath(msgspec.Struct, frozen=True):
    """A path that commands see in a covered folder: what `source` is, which is no link.

    Of a filtered file they see the lines that hold no key.
    """

    path: Path
    source: Path
    is_filtered: bool = False


class HomeView(msgspec.Struct, frozen=True):
    """The folders of which commands see nothing but `shown`; `secrets` lie in what is shown."""

    covered: tuple[Path, ...] = ()
    shown: tuple[ShownPath, ...] = ()
    secrets: tuple[Path, ...] = ()


def find_home_view(
    root: str,
    home: str,
    names: Sequence[str],
    environ: Mapping[str, str],
    hidden: Sequence[str],
    lookups: FileLookups,
) -> HomeView:
    """Find what commands of the workspace at `root` see of home folders; `hidden` paths never. Blocks."""
    covered = _covered(home, environ, lookups)
    finder = _Finder(home, covered, hidden, lookups)
    for base, listed in _listed(home, names, environ):
        for name in names_there(base, listed, lookups):
            finder.add(os.path.join(base, name))
    for base, listed in _listed(home, FILTERED_HOME_FILES, environ):
        for name in names_there(base, listed, lookups):
            finder.add_filtered(os.path.join(base, name))
    for shared in _SHARED_IN_HOMES:
        finder.add(shared)
    finder.add_programs(environ.get("PATH", ""))
    projects = LinkedProjects(root, home, covered, hidden, lookups)
    for path in projects.find([environ[name] for name in _ENVIRONMENTS if environ.get(name)]):
        if "/.cargo/" in path:
            finder.add_filtered(path)
        else:
            finder.add_folder(path)
    return HomeView(tuple(map(Path, covered)), finder.topmost(), tuple(map(Path, projects.secrets)))


def _covered(home: str, environ: Mapping[str, str], lookups: FileLookups) -> tuple[str, ...]:
    """Return the folders with homes that exist, none in another one."""
    own = (environ[name] for name in _OWN_FOLDERS if environ.get(name))
    drives = (name for name in lookups.names(_WINDOWS_DRIVES) if _DRIVE.fullmatch(name))
    homes = (f"{_WINDOWS_DRIVES}/{name}/Users" for name in drives)
    real = {
        lookups.real_path(path)
        for path in (*_HOMES, *homes, home, *own)
        if path.startswith("/") and lookups.is_folder(path)
    }
    real -= _NO_HOMES
    return tuple(sorted(path for path in real if real.isdisjoint(parents(path))))


def _listed(
    home: str, names: Sequence[str], environ: Mapping[str, str]
) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield folders and the names to see below them: the home, and where variables lead instead."""
    yield home, names
    for variable in RELOCATED:
        folder = environ.get(variable, "").partition(os.pathsep)[0]
        if folder.startswith("/"):
            yield os.path.normpath(folder), relocated_names(names, variable)


class _Finder:
    """Collects the paths that commands see."""

    def __init__(
        self, home: str, covered: Sequence[str], hidden: Sequence[str], lookups: FileLookups
    ) -> None:
        self._home = home
        self._covered = covered
        self._hidden = frozenset(hidden)
        self._never = {home, "/", *parents(home)}
        self._lookups = lookups
        self.shown: dict[str, ShownPath] = {}

    def add(self, path: str) -> None:
        """Add a file or folder if it is in a home and may be seen; where a link leads, too."""
        path = path.rstrip("/")
        source = self._source(path)
        if source is None:
            return
        self._put(path, source)
        if source != path and self._is_covered(source) and self._lookups.is_folder(source):
            self._put(source, source)

    def add_filtered(self, path: str, depth: int = 0) -> None:
        """Add a file without its lines that hold keys, and what the configuration of git names in it."""
        source = self._source(path)
        if source is None or not self._lookups.is_file(source) or path in self.shown:
            return
        text = read_text(source)
        self._put(path, source, is_filtered=filtered(text) != text)
        folder, _, file_name = path.rpartition("/")
        if "git" not in file_name and not folder.endswith("/git") and not depth:
            return
        for value in _GIT_FILES.findall(text)[:_MAX_INCLUDES] if depth < _MAX_INCLUDES else ():
            target = _git_target(value, folder, self._home)
            if self._lookups.is_folder(target):
                self.add_folder(target)
            else:
                self.add_filtered(target, depth + 1)

    def add_folder(self, path: str) -> None:
        """Add a folder unless it is one where programs keep all kinds of things."""
        if not is_mixed(path.removeprefix(f"{self._home}/")):
            self.add(path)

    def add_programs(self, search_path: str) -> None:
        """Add the folders of programs, what links there lead to, and the installations that have them."""
        for name in dict.fromkeys(search_path.split(os.pathsep)):
            if not name.startswith("/") or not self._is_covered(self._lookups.real_path(name)):
                continue
            folder = os.path.normpath(name)
            self.add_folder(folder)
            self._add_installation(folder)
            for target in self._link_targets(folder):
                if self._is_covered(target):
                    self.add(target)
                    self._add_installation(target.rpartition("/")[0])

    def topmost(self) -> tuple[ShownPath, ...]:
        """Return what was added, parents first, without what is in another one."""
        kept: dict[str, ShownPath] = {}
        for path, shown in sorted(self.shown.items()):
            above = next((kept[parent] for parent in parents(path) if parent in kept), None)
            inside = above is not None and str(above.source) + path[len(str(above.path)) :] == str(
                shown.source
            )
            if not inside or shown.is_filtered:
                kept[path] = shown
        return tuple(kept.values())

    def _add_installation(self, programs: str) -> None:
        """Add the folder of an installation, `PREFIX`, whose programs are in `PREFIX/bin`."""
        prefix, _, name = programs.rpartition("/")
        if name in ("bin", "shims") and any(
            self._lookups.is_folder(f"{prefix}/{each}") for each in ("lib", "libexec", "lib64")
        ):
            self.add_folder(prefix)

    def _link_targets(self, folder: str) -> Iterator[str]:
        links = (entry.path for entry in self._lookups.entries(folder) if entry.is_link)
        for link in islice(links, _MAX_LINKS):
            target = self._lookups.real_path(link)
            if target.rpartition("/")[0] != folder and self._lookups.is_file(target):
                yield target

    def _put(self, path: str, source: str, is_filtered: bool = False) -> None:
        if path not in self.shown and self._is_covered(path):
            self.shown[path] = ShownPath(Path(path), Path(source), is_filtered)

    def _is_covered(self, path: str) -> bool:
        return not set(self._covered).isdisjoint(parents(path))

    def _source(self, path: str) -> str | None:
        """Return what a path is, links resolved; None if commands must not see it, or it is no file."""
        source = self._lookups.real_path(path)
        mode = self._lookups.mode(source)
        for each in (path, source):
            if each in self._never or each in self._hidden or not self._hidden.isdisjoint(parents(each)):
                return None
        return source if stat.S_ISDIR(mode) or stat.S_ISREG(mode) else None


def unlisted(home: str, shown: Iterable[ShownPath], lookups: FileLookups) -> Iterator[str]:
    """Yield the hidden entries of a home that is in a workspace, whose names begin with a dot: not `shown`.

    A home that is a checkout is full of files that begin with a dot and belong to it: nothing is yielded.
    """
    if os.path.lexists(f"{home}/.git"):
        return
    seen = {str(entry.path): entry.is_filtered for entry in shown}
    above = {parent for path, is_filtered in seen.items() if not is_filtered for parent in parents(path)}
    pending = [entry.path for entry in lookups.entries(home) if entry.name.startswith(".")]
    while pending:
        path = pending.pop()
        if path in above:
            pending += (entry.path for entry in lookups.entries(path))
        elif path not in seen:
            yield path


def redirect_git_files(text: str, folder: str, home: str, copies: Mapping[str, str]) -> str:
    """Return a configuration of git, from a folder, for another place: it names `copies` of files."""

    def redirect(match: re.Match[str]) -> str:
        target = _git_target(match[1], folder, home)
        start = match[0].removesuffix(match[1])
        if target in copies or os.path.exists(target):
            return f"{start}{copies.get(target, target)}"
        return match[0]

    return _GIT_FILES.sub(redirect, text)


def _git_target(value: str, folder: str, home: str) -> str:
    name = value.strip()
    name = f"{home}{name[1:]}" if name.startswith("~/") else name
    return os.path.normpath(os.path.join(folder, name))


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
