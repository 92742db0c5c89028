"""The sandbox by Landlock, where bubblewrap does not work: the kernel keeps a command to allowed paths."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from helix_desktop.tools.process import ProcessSpec
from helix_desktop.tools.shell.file_lookups import read_text
from helix_desktop.tools.shell.home_view import filtered, redirect_git_files
from helix_desktop.tools.shell.landlock_syscalls import (
    EXECUTE,
    MOVE,
    READ,
    READ_DIR,
    READ_FILE,
    abi_version,
    all_rights,
    allow,
    create_restriction,
    open_ruleset,
)
from helix_desktop.tools.shell.sandbox import NetworkReach, SandboxKind, SandboxScope, sandbox_environment

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts")
_SHARED_MEMORY = Path(
    "/dev/shm"
)  # of all programs; what is made there must be read, so only its list can't be
_SHARED = Path("/tmp")  # of all programs; a command has a folder of its own instead
_PROCESSES = Path("/proc")  # its folders come and go: those of the command are not there yet
_RESOLVER_PATHS = (
    Path("/run/systemd/resolve"),
    Path("/run/NetworkManager"),
    Path("/run/resolvconf"),
)  # host names


def find_landlock() -> Landlock | None:
    abi = abi_version()
    return Landlock(abi) if abi else None


class Landlock:
    """Runs commands under rules that they cannot shed. It cannot freeze a part of what may be written."""

    kind: SandboxKind = "landlock"
    network_reach: NetworkReach = "programs"  # by their sockets with a path that it knows

    def __init__(self, abi: int) -> None:
        self._abi = abi

    @contextmanager
    def wrap(self, spec: ProcessSpec, scope: SandboxScope, network: bool) -> Iterator[ProcessSpec]:
        ruleset = open_ruleset(self._abi, network)
        try:
            every = all_rights(self._abi)
            for path in readable_paths(scope):
                allow(ruleset, str(path), READ)
            for name in _DEVICES:
                allow(ruleset, f"/dev/{name}", every)
            allow(ruleset, str(_SHARED_MEMORY), every & ~READ_DIR)
            allow(ruleset, str(scope.scratch), every)
            for path, rights in _workspace_rights(scope, READ if scope.is_read_only else every):
                allow(ruleset, str(path), rights)
            for path in _RESOLVER_PATHS if network else ():
                allow(ruleset, str(path), READ)
            environment = sandbox_environment(spec.environment, str(scope.scratch))
            if files := _filtered_git_config(scope, environment):
                for path in files:
                    allow(ruleset, str(path), READ)
                environment.setdefault("GIT_CONFIG_GLOBAL", str(files[0]))
            confine = create_restriction(ruleset, network, scope.is_read_only)
            yield replace(spec, environment=environment, confine=confine)
        finally:
            os.close(ruleset)


def _filtered_git_config(scope: SandboxScope, environment: Mapping[str, str]) -> list[Path]:
    """Write the user's configuration of git without its keys, as git doesn't run if it can't read all of it.

    Return the file to use instead, then those that it includes; nothing if git can read the original.
    """
    sources = {str(entry.path): entry.source for entry in scope.view.shown if entry.is_filtered}
    if scope.private is None or not sources:
        return []
    home = str(scope.home)
    copies = {path: str(scope.private / f"gitconfig-{number}") for number, path in enumerate(sources)}
    for path, source in sources.items():
        text = redirect_git_files(filtered(read_text(str(source))), os.path.dirname(path), home, copies)
        _update(Path(copies[path]), text)
    folder = environment.get("XDG_CONFIG_HOME") or f"{home}/.config"
    parts = [path for path in (f"{folder}/git/config", f"{home}/.gitconfig") if os.path.exists(path)]
    config = scope.private / "gitconfig"
    _update(config, "".join(f'[include]\n\tpath = "{copies.get(path, path)}"\n' for path in parts))
    return [config, *map(Path, copies.values())]


def _update(path: Path, text: str) -> None:
    """Write a file unless it has this text, which another command may be reading."""
    if read_text(str(path)) != text:
        path.write_text(text, errors="surrogateescape")


def readable_paths(scope: SandboxScope) -> list[Path]:
    """Return the topmost folders, and the files next to them, with nothing hidden; without the workspace."""
    shown = [entry.source for entry in scope.view.shown if not entry.is_filtered]
    hidden = _hidden(scope)
    around = _without(
        [Path("/"), *shown], hidden | {_SHARED, _SHARED_MEMORY, *scope.view.covered, scope.root}
    )
    return [*around, *_without(list(scope.read_only), hidden)]


def _hidden(scope: SandboxScope) -> set[Path]:
    """Return what commands must not read; of the processes' folders that is for the kernel to say."""
    return {path for path in scope.unreadable if _PROCESSES not in path.parents}


def _workspace_rights(scope: SandboxScope, rights: int) -> list[tuple[Path, int]]:
    """Return the rights on the workspace: all on what holds nothing hidden, such as the keys of a home.

    What is around something hidden can be written and listed only, as a right holds for all below it. So
    what a command makes there can be read by the next one. Nothing there can be moved or removed: under
    another name, the next command would read what is hidden. Links to it stay hidden as well.
    """
    hidden = {path for path in _hidden(scope) if path.is_relative_to(scope.root) and path != scope.root}
    if not hidden:
        return [(scope.root, rights)]
    linked = set(map(_identity, hidden))
    visible = (path for path in _without([scope.root], hidden) if _identity(path) not in linked)
    return [(scope.root, rights & ~READ_FILE & ~EXECUTE & ~MOVE), *((path, rights) for path in visible)]


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _without(tops: list[Path], hidden: set[Path]) -> list[Path]:
    """Return the topmost paths at or below some that hold nothing hidden."""
    parents = {parent for path in hidden for parent in path.parents}
    found: list[Path] = []
    pending = list(tops)
    while pending:
        path = pending.pop()
        if path in hidden:
            continue
        if path not in parents:
            found.append(path)
        else:
            pending += _entries(path)
    return found


def _entries(folder: Path) -> list[Path]:
    """Return the entries of a folder except links, which lead to paths with rights of their own."""
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if not entry.is_symlink()]
    except OSError:
        return []
