"""What a project needs that lies elsewhere in a home: its checkout, its environment, packages by their paths.

A confined command writes the files that are read here. What they name is therefore shown only if it is a
project itself, an environment, or a git folder, and no folder with a dot is on the way to it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from helix_desktop.domain.files.names import is_secret_file, is_secret_folder
from helix_desktop.tools.shell.file_lookups import MAX_ENTRIES, Entry, FileLookups, is_inside, parents

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
        self._root, self._home, self._covered = root, home, frozenset(covered)
        self._around_root, self._around_home = set(parents(root)), {"/", *parents(home)}
        self._hidden, self._lookups = frozenset(hidden), lookups
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
            if self._is_project(folder):
                return folder
        return None

    def _is_project(self, folder: str) -> bool:
        return any(self._lookups.exists(f"{folder}/{name}") for name in _PROJECT_FILES)

    def _checkout(self) -> str | None:
        """Return the checkout that the workspace is a part of; None if it is its top, or in none."""
        for folder in (self._root, *parents(self._root)):
            if self._lookups.exists(f"{folder}/.git"):
                return folder if folder != self._root and self._is_allowed(folder) else None
        return None

    def _git_folders(self, top: str) -> Iterator[str]:
        """Yield the git folders of a checkout that are elsewhere, and those that they borrow from."""
        lookups = self._lookups
        pending, seen = [self._git_folder(f"{top}/.git")], set[str]()
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
            if common := lookups.text(f"{folder}/commondir").strip():
                pending.append(lookups.real_path(os.path.join(folder, common)))
            for line in lookups.text(f"{folder}/objects/info/alternates").splitlines():
                objects, _, name = lookups.real_path(os.path.join(folder, "objects", line)).rpartition("/")
                pending.append(objects if name == "objects" else "")

    def _git_folder(self, path: str) -> str:
        """Return the folder that a `.git` is or names; empty if it is none."""
        if self._lookups.is_folder(path):
            return self._lookups.real_path(path)
        target = self._lookups.text(path).strip()
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
                text = self._lookups.text(entry.path)
                for target in dict.fromkeys((*_PTH_LINE.findall(text), *_EDITABLE.findall(text))):
                    project = self._project_of(target)
                    if project is not None:
                        self._projects[project] = None

    def _dependencies(self, project: str) -> Iterator[str]:
        """Yield what the manifests and links of a project name outside it."""
        pending, visited = [(project, 0)], 0
        while pending and visited < _MAX_FOLDERS:
            folder, depth = pending.pop(0)
            visited += 1
            for entry in self._lookups.entries(folder):
                if entry.is_link:
                    yield entry.path
                elif entry.name in _MANIFESTS:
                    text = self._lookups.text(entry.path)
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
