"""The sandbox by bubblewrap: the system read-only, the workspace writable, no other program in sight."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from helix_desktop.tools.process.runner import ProcessSpec
from helix_desktop.tools.shell.git_paths import GitPaths, find_git_paths
from helix_desktop.tools.shell.sandbox import SandboxKind, SandboxScope, sandbox_environment

_PROBE_S = 5
_NAMES = (
    "/run/systemd/resolve",
    "/run/NetworkManager",
    "/run/resolvconf",
    "/run/nscd",
)  # who knows host names


def find_bwrap() -> Bubblewrap | None:
    """Return this system's bubblewrap if it works; some systems forbid it. Blocks for 30 ms."""
    program = shutil.which("bwrap", path="/usr/bin:/bin:/usr/local/bin")
    if program is None:
        return None
    command = [
        program,
        *_NAMESPACE_OPTIONS,
        "--unshare-net",
        "--ro-bind",
        "/",
        "/",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
    ]
    try:
        probe = subprocess.run([*command, "/bin/true"], capture_output=True, timeout=_PROBE_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return Bubblewrap(program) if probe.returncode == 0 else None


_NAMESPACE_OPTIONS = (
    "--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
    "--cap-drop", "ALL",
)  # fmt: skip


class Bubblewrap:
    """Runs commands in namespaces of their own; whatever they start ends with them."""

    kind: SandboxKind = "bubblewrap"

    def __init__(self, program: str) -> None:
        self._program = program

    @contextmanager
    def wrap(self, spec: ProcessSpec, scope: SandboxScope, network: bool) -> Iterator[ProcessSpec]:
        """Yield the process wrapped in bubblewrap; its `cwd` may be a folder that is held open."""
        command = [spec.command] if isinstance(spec.command, str) else spec.command
        options = [*_NAMESPACE_OPTIONS, *([] if network else ["--unshare-net"]), *_mounts(scope, network)]
        folder = os.path.realpath(spec.cwd)
        line = [self._program, *options, "--chdir", folder, "--", *command]
        yield replace(spec, command=line, cwd="/", environment=sandbox_environment(spec.environment, "/tmp"))


def _mounts(scope: SandboxScope, network: bool) -> Iterator[str]:
    """Return the mount options; later ones cover earlier ones."""
    yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    yield from ("--bind", str(scope.scratch), "/tmp")
    for path in scope.hidden:
        if not path.is_relative_to(scope.root) and not path.is_relative_to("/tmp"):
            yield from _hide(path)
    if network:
        for name in _NAMES:
            yield from ("--ro-bind-try", name, name)
    yield from ("--ro-bind" if scope.is_read_only else "--bind", str(scope.root), str(scope.root))
    for path in scope.hidden:
        if path.is_relative_to(scope.root) and path != scope.root:
            yield from _hide(path)
    for path in scope.read_only:
        yield from ("--ro-bind-try", str(path), str(path))
    if not scope.is_read_only:
        yield from _protect_git(find_git_paths(scope.root, scope.home))


def _hide(path: Path) -> tuple[str, ...]:
    return ("--tmpfs", str(path)) if path.is_dir() else ("--ro-bind", "/dev/null", str(path))


def _protect_git(git: GitPaths) -> Iterator[str]:
    for folder in git.folders:
        # Being a mount of its own, the folder cannot be moved away and replaced by another one.
        yield from ("--bind", str(folder), str(folder))
    for path in git.read_only:
        yield from ("--ro-bind-try", str(path), str(path))
    for folder in git.folders:
        if (folder / "objects").is_dir() and not (folder / "hooks").exists():
            yield from ("--tmpfs", str(folder / "hooks"))
