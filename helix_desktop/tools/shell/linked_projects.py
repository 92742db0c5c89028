"""What a project needs that lies elsewhere in a home: its checkout, its environment, packages by their paths.

A confined command writes the files that are read here. What they name is therefore shown only if it is a
project itself, an environment, or a git folder, and no folder with a dot is on the way to it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from helix_desktop.domain.files.secret_names import is_secret_file, is_secret_folder

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
_MAX_ENTRIES = 2_000
_FILE_CAP = 256 * 1024  # bytes


class LinkedProjects:
    """Finds what a project needs that lies in a covered folder; `hidden` paths never belong to it."""

    def __init__(self, root: Path, home: Path, covered: Sequence[Path], hidden: Sequence[Path]) -> None:
        self._root, self._home, self._covered = root, home, covered
        self._hidden = frozenset(hidden)
        self._projects: dict[Path, None] = {}
        self.secrets: tuple[Path, ...] = ()
        """Files in what was found whose names say that they hold keys."""

    def find(self, environments: Iterable[Path]) -> tuple[Path, ...]:
        """Find them; `environments` are Python environments that variables name. Blocks."""
        paths: dict[Path, None] = {}
        checkout = self._checkout()
        if checkout is not None:
            self._projects[checkout] = None
        paths.update(dict.fromkeys(self._git_folders(checkout or self._root)))
        paths.update(dict.fromkeys(self._around()))
        environments = (*environments, *self._environments())
        for environment in environments:
            paths.update(dict.fromkeys(self._environment_paths(environment)))
        pending = [self._root]
        while pending and len(self._projects) < _MAX_PROJECTS:
            for target in self._dependencies(pending.pop()):
                project = self._project_of(target)
                if project is not None and project not in self._projects:
                    self._projects[project] = None
                    pending.append(project)
        self.secrets = tuple(path for project in self._projects for path in _secrets_in(project, self._root))
        return (*paths, *self._projects)

    def _is_allowed(self, path: Path) -> bool:
        """Return True if a folder is in a home, is none, and no folder with a dot is on the way to it."""
        base = next((folder for folder in self._covered if folder in path.parents), None)
        if base is None or path == self._home or path in self._home.parents:
            return False
        if not self._hidden.isdisjoint((path, *path.parents)):
            return False
        if self._home in path.parents:
            base = self._home
        elif base != self._home and str(base) != "/root" and path.parent == base:
            return False  # the home of another user
        return not any(part.startswith(".") for part in path.relative_to(base).parts)

    def _project_of(self, target: Path) -> Path | None:
        """Return the project that a path leads to; None if it is none, or no covered folder hides it."""
        real = Path(os.path.realpath(target))
        known = (self._root, *self._projects)
        if not real.exists() or any(real.is_relative_to(folder) for folder in known):
            return None
        for folder in (real, *list(real.parents)[:3]):
            if not self._is_allowed(folder) or folder in self._root.parents:
                return None
            if any(os.path.lexists(folder / name) for name in _PROJECT_FILES):
                return folder
        return None

    def _checkout(self) -> Path | None:
        """Return the checkout that the workspace is a part of; None if it is its top, or in none."""
        for folder in (self._root, *self._root.parents):
            if os.path.lexists(folder / ".git"):
                return folder if folder != self._root and self._is_allowed(folder) else None
        return None

    def _git_folders(self, top: Path) -> Iterator[Path]:
        """Yield the git folders of a checkout that are elsewhere, and those that they borrow from."""
        pending, seen = [_git_folder(top / ".git")], set[Path]()
        while pending:
            folder = pending.pop()
            if folder is None or folder in seen:
                continue
            seen.add(folder)
            is_git = (folder / "HEAD").is_file() and (
                (folder / "objects").is_dir() or (folder / "commondir").is_file()
            )
            parts = folder.parts
            holder = Path(*parts[: parts.index(".git")]) if ".git" in parts else folder
            if is_git and self._is_allowed(holder):
                yield folder
            if common := _read(folder / "commondir").strip():
                pending.append(Path(os.path.realpath(folder / common)))
            for line in _read(folder / "objects/info/alternates").splitlines():
                objects = Path(os.path.realpath(folder / "objects" / line))
                pending.append(objects.parent if objects.name == "objects" else None)

    def _around(self) -> Iterator[Path]:
        """Yield the files of the folders around the workspace that build tools read."""
        for folder in self._root.parents:
            if not any(base == folder or base in folder.parents for base in self._covered):
                return
            yield from (folder / name for name in _PARENT_FILES if (folder / name).exists())

    def _environments(self) -> Iterator[Path]:
        """Yield the Python environments of the workspace and of the home, down to its folders' folders."""
        yield from (self._root / name for name in _ENVIRONMENT_NAMES)
        count = 0
        for folder in (path for path in _folders(self._home) if not path.name.startswith(".")):
            for environment in (folder, *_folders(folder)):
                count += 1
                if count > _MAX_ENTRIES:
                    return
                if (environment / "pyvenv.cfg").is_file():
                    yield environment

    def _environment_paths(self, environment: Path) -> Iterator[Path]:
        """Yield an environment, its interpreter's installation, and the projects installed editable in it."""
        real = Path(os.path.realpath(environment))
        if not any((real / mark).exists() for mark in _ENVIRONMENT_MARKS):
            return
        if not real.is_relative_to(self._root):
            if real == self._home or real in self._home.parents:
                return
            yield real
        python = Path(os.path.realpath(real / "bin/python"))
        prefix = python.parent.parent
        is_python = python.name.startswith(("python", "pypy")) and python.is_file()
        if is_python and any((prefix / "lib").glob("python*")) and prefix not in self._home.parents:
            yield from (prefix,) if prefix != self._home else ()
        for packages in (real / "lib").glob("python*/site-packages"):
            for name in _names(packages):
                if name.endswith(".pth") or (name.startswith("__editable__") and name.endswith(".py")):
                    text = _read(packages / name)
                    for target in {*_PTH_LINE.findall(text), *_EDITABLE.findall(text)}:
                        project = self._project_of(Path(target))
                        if project is not None:
                            self._projects[project] = None

    def _dependencies(self, project: Path) -> Iterator[Path]:
        """Yield what the manifests and links of a project name outside it."""
        pending, visited = [(project, 0)], 0
        while pending and visited < _MAX_FOLDERS:
            folder, depth = pending.pop(0)
            visited += 1
            for entry in _scan(folder):
                if entry.is_symlink():
                    yield Path(entry.path)
                elif entry.name in _MANIFESTS:
                    text = _read(Path(entry.path))
                    if "../" in text:  # which takes no time to find out
                        yield from (folder / name for name in _RELATIVE.findall(text))
                elif entry.name == "node_modules" and depth == 0:
                    yield from _package_links(Path(entry.path))
                elif depth < _MAX_DEPTH and _is_searched(entry):
                    pending.append((Path(entry.path), depth + 1))


def _is_searched(entry: os.DirEntry[str]) -> bool:
    is_named_so = entry.name.startswith(".") or entry.name in _SKIPPED
    return not is_named_so and entry.is_dir(follow_symlinks=False)


def _package_links(folder: Path) -> Iterator[Path]:
    for entry in _scan(folder):
        if entry.is_symlink():
            yield Path(entry.path)
        elif entry.name.startswith("@"):
            yield from (Path(inner.path) for inner in _scan(Path(entry.path)) if inner.is_symlink())


def _secrets_in(project: Path, root: Path) -> Iterator[Path]:
    """Yield the files at the top of a project, and one folder deeper, that hold keys by their names."""
    for entry in _scan(project):
        if entry.is_dir(follow_symlinks=False):
            if is_secret_folder(entry.name):
                yield Path(entry.path)
            elif entry.name not in _SKIPPED and Path(entry.path) != root:
                inner = (Path(found.path) for found in _scan(Path(entry.path)) if is_secret_file(found.name))
                yield from inner
        elif is_secret_file(entry.name):
            yield Path(entry.path)


def _git_folder(path: Path) -> Path | None:
    if path.is_dir():
        return Path(os.path.realpath(path))
    target = _read(path).strip()
    is_named = target.startswith("gitdir:")
    return Path(os.path.realpath(path.parent / target.removeprefix("gitdir:").strip())) if is_named else None


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for _, entry in zip(range(_MAX_ENTRIES), entries, strict=False)]
    except OSError:
        return []


def _names(folder: Path) -> list[str]:
    return [entry.name for entry in _scan(folder)]


def _folders(folder: Path) -> list[Path]:
    return [Path(entry.path) for entry in _scan(folder) if entry.is_dir()]


def _read(path: Path) -> str:
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(_FILE_CAP).decode(errors="surrogateescape")
    except OSError:
        return ""
