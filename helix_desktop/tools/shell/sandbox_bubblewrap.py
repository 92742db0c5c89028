"""The sandbox by bubblewrap: the system read-only, the workspace writable, no other program in sight.

A network of its own for a command in bubblewrap, by pasta or slirp4netns: no socket of others is in it. For
kernels whose Landlock can't keep a command away from sockets without a path. The host's localhost is out of
reach as well; host names are found through an address of the program.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import msgspec
from msgspec.structs import replace

from helix_desktop.system.folders import NEW_FILE, OpenFolders, stat_in
from helix_desktop.system.home import NO_HOME
from helix_desktop.tools.process import ProcessSpec
from helix_desktop.tools.shell.file_lookups import read_text
from helix_desktop.tools.shell.git_config import GitPaths, find_git_paths
from helix_desktop.tools.shell.home_view import filtered
from helix_desktop.tools.shell.outer_git import git_mounts
from helix_desktop.tools.shell.sandbox_landlock import SCOPE_SINCE, abi_version, create_socket_restriction
from helix_desktop.tools.shell.sandbox_scope import (
    NetworkReach,
    SandboxKind,
    SandboxScope,
    sandbox_environment,
)

_SEARCH_PATH = "/usr/bin:/bin:/usr/local/bin"
_COVERED_FOLDERS = (Path("/tmp"), Path("/dev"))  # every command has its own of these
_NETWORK_PROBE_S = 10
_RESOLVERS = {"pasta": "169.254.1.1", "slirp4netns": "10.0.2.3"}
"""The programs, the preferred one first, and where each finds host names for commands."""
_CONNECT = """
exec 4<>"$1/start" 5<"$1/life"
read -r pid <&5 || exit
case $2 in
*/pasta)
    as_root=; [ "$(id -u)" != 0 ] || as_root='--runas 0:0'
    "$2" $as_root --config-net -t none -u none -T none -U none --no-map-gw --dns-forward "$3" \\
        -P "$1/pid" "$pid" 2>"$1/log" 4<&- 5<&- && read -r connected <"$1/pid"
    ;;
*)
    "$2" -c --disable-host-loopback -r 6 "$pid" tap0 2>"$1/log" 4<&- 5<&- 6>"$1/ready" &
    connected=$!
    read -r _ <"$1/ready"
    kill -0 $connected || connected=
    ;;
esac
[ -n "$connected" ] || echo "The network of the sandbox could not be connected." >&2
exec 2>/dev/null
echo >&4
read -r _ <&5
[ -z "$connected" ] || { kill "$connected"; wait; }
"""
"""A script that connects the network of a process, lets it go on, and disconnects when it has ended.

It is no part of the group of the command, which may be killed at once.
"""
_RUN = """
env -i PATH="$PATH" setsid sh -c "$1" connect "$2" "$3" "$4" </dev/null >/dev/null &
start=$2/start
exec 5>"$2/life"
shift 4
exec unshare --user --map-current-user --net \\
    /bin/sh -c 'start=$1; shift; echo $$ >&5; read -r _ <"$start"; exec "$@"' sh "$start" "$@"
"""
_HAS_ROUTE = """
tail -n +2 /proc/net/route | grep -q . ||
    grep '^00000000000000000000000000000000 00 ' /proc/net/ipv6_route | grep -qv ' lo$'
"""


class NetworkProgram(msgspec.Struct, frozen=True):
    """A program that connects a sandbox's network; `resolver` is where it finds host names for commands."""

    path: str
    resolver: str

    @contextmanager
    def wrap(self, line: Sequence[str], folder: Path | None) -> Iterator[tuple[list[str], list[str]]]:
        """Yield what runs a line of bubblewrap after some words, and the options that it needs; blocks.

        `folder` is for files that no command sees. Raises OSError.
        """
        made = Path(tempfile.mkdtemp(dir=folder))
        try:
            for name in ("life", "start", "ready"):
                os.mkfifo(made / name, 0o600)
            (made / "resolv.conf").write_text(f"nameserver {self.resolver}\n")
            names = os.path.realpath("/etc/resolv.conf")
            options = ["--sync-fd", "5", "--ro-bind-try", str(made / "resolv.conf"), names]
            yield ["/bin/sh", "-c", _RUN, "sh", _CONNECT, str(made), self.path, self.resolver, *line], options
        finally:
            shutil.rmtree(made, ignore_errors=True)


def find_network_program(
    bwrap: Sequence[str], names: Sequence[str] = tuple(_RESOLVERS)
) -> NetworkProgram | None:
    """Return the first of the programs that works here with bubblewrap and its options.

    Blocks for 50 to 200 ms.
    """
    for name in names:
        path = shutil.which(name, path=_SEARCH_PATH)
        if path is not None:
            program = NetworkProgram(path, _RESOLVERS[name])
            if _works(program, bwrap):
                return program
    return None


def _works(program: NetworkProgram, bwrap: Sequence[str]) -> bool:
    """Return True if a sandbox with this program has a way out."""
    system = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    listing = ("--", "/bin/sh", "-c", _HAS_ROUTE)
    try:
        with program.wrap(bwrap, None) as (line, options):
            command = [*line, *system, *options, *listing]
            probe = subprocess.run(command, capture_output=True, timeout=_NETWORK_PROBE_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return probe.returncode == 0


_PROBE_S = 5
_COPY = "copy"  # of the home, in the private folder
_NAMES = (
    "/run/systemd/resolve",
    "/run/NetworkManager",
    "/run/resolvconf",
    "/run/nscd",
)  # who knows host names


def find_bwrap() -> Bubblewrap | None:
    """Return this system's bubblewrap if it works; some systems forbid it. Blocks for 30 to 200 ms."""
    program = shutil.which("bwrap", path="/usr/bin:/bin:/usr/local/bin")
    if program is None:
        return None
    command = [
        program,
        *NAMESPACE_OPTIONS,
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
    if probe.returncode:
        return None
    abi = abi_version()
    own_network = find_network_program([program, *NAMESPACE_OPTIONS]) if abi < SCOPE_SINCE else None
    return Bubblewrap(program, abi, own_network)


NAMESPACE_OPTIONS = (
    "--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
    "--cap-drop", "ALL",
)  # fmt: skip


class Bubblewrap:
    """Runs commands in namespaces of their own; whatever they start ends with them."""

    kind: SandboxKind = "bubblewrap"

    def __init__(
        self, program: str, landlock_abi: int | None = None, own_network: NetworkProgram | None = None
    ) -> None:
        """`landlock_abi` is the version of Landlock that is used along with it; None: that of this kernel.

        Without its scope for sockets, `own_network` connects commands that may use the network.
        """
        self._program = program
        is_setuid = os.stat(program).st_mode & stat.S_ISUID  # which Landlock would take away
        abi = abi_version() if landlock_abi is None else landlock_abi
        self._restrict_sockets = None if is_setuid else create_socket_restriction(abi)
        self._own_network = own_network

    @property
    def network_reach(self) -> NetworkReach:
        if self._restrict_sockets is not None:
            return "network"
        return "programs" if self._own_network is None else "other computers"

    @contextmanager
    def wrap(self, spec: ProcessSpec, scope: SandboxScope, network: bool) -> Iterator[ProcessSpec]:
        """Yield the process wrapped in bubblewrap; its `cwd` may be a folder that is held open."""
        command = [spec.command] if isinstance(spec.command, str) else spec.command
        mounts = _Mounts(scope)
        folder = os.path.realpath(spec.cwd)
        line = [self._program, *NAMESPACE_OPTIONS, *mounts.options(network)]
        end = ["--chdir", folder, "--", *command]
        environment = sandbox_environment(spec.environment, scope, "/tmp")
        wrapped = replace(spec, cwd="/", environment=environment)
        try:
            if not network:
                yield replace(wrapped, command=[*line, "--unshare-net", *end])
            elif self._restrict_sockets is not None or self._own_network is None:
                yield replace(wrapped, command=[*line, *end], confine=self._restrict_sockets)
            else:
                with self._own_network.wrap(line, scope.private) as (connected, options):
                    yield replace(wrapped, command=[*connected, *options, *end])
        finally:
            mounts.remove_filtered_files()


class _Mounts:
    """The mount options of a command; later ones cover earlier ones."""

    def __init__(self, scope: SandboxScope) -> None:
        self._scope = scope
        self._view = scope.view
        self._filtered_files: list[Path] = []

    def options(self, network: bool) -> list[str]:
        """Return the options, with the mount points made that are in the copy of the home."""
        scope = self._scope
        root = self._scope.root
        is_all = root == Path("/")
        bind_root = "--ro-bind" if scope.is_read_only else "--bind"
        words = [bind_root if is_all else "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        for setting in _kernel_settings():
            words += ("--ro-bind-try", setting, setting)
        words += ("--bind", str(scope.scratch), "/tmp")
        covered = self._view.covered
        for path in scope.hidden:
            if not any(path.is_relative_to(folder) for folder in (root, Path("/tmp"), *covered)):
                words += _hide(path)
        words += self._homes()
        if network:
            for name in _NAMES:
                words += ("--ro-bind-try", name, name)
        words += self._outer_checkout()
        if not is_all:
            words += (bind_root, str(root), str(root))
        for folder in self._around_hidden():
            # Being a mount of its own, it cannot be moved to where nothing in it is hidden.
            words += (bind_root, str(folder), str(folder))
        for path in scope.hidden:
            if path.is_relative_to(root) and path != root:
                words += _hide(path)
        for path in scope.read_only:
            words += ("--ro-bind-try", str(path), str(path))
        if scope.contains_home:
            words += self._filtered()
        if scope.outer_git is not None:
            words += git_mounts(scope.outer_git, is_read_only=scope.is_read_only)
        if not scope.is_read_only:
            words += _protect_git(find_git_paths(root, scope.home))
        for folder in covered:
            if folder != scope.home and not folder.is_relative_to(root):
                words += ("--remount-ro", str(folder))
        return words

    def remove_filtered_files(self) -> None:
        """Remove what was written for this command alone."""
        for path in self._filtered_files:
            path.unlink(missing_ok=True)

    def _around_hidden(self) -> list[Path]:
        """Return the folders of the workspace in which something is covered, parents first."""
        root = self._scope.root
        home = self._scope.home
        filtered_files = (entry.path for entry in self._view.shown if entry.is_filtered)
        paths = (*self._scope.hidden, *self._scope.read_only, *filtered_files)
        folders = {folder for path in paths for folder in path.parents if root in folder.parents}
        is_all = root == Path("/")
        return sorted(folder for folder in folders if not is_all or folder.is_relative_to(home))

    def _outer_checkout(self) -> Iterator[str]:
        """Yield the options that show the checkout around a workspace where nothing else is seen.

        Without its files, git would count them as deleted.
        """
        git = self._scope.outer_git
        if git is None or git.top == self._scope.root:
            return
        if not any(folder in git.top.parents for folder in _COVERED_FOLDERS):
            return
        yield from ("--ro-bind", str(git.top), str(git.top))
        for path in (*self._scope.hidden, *self._view.secrets):
            if git.top in path.parents and not path.is_relative_to(self._scope.root):
                yield from _hide(path)

    def _homes(self) -> Iterator[str]:
        """Yield the options that cover homes, and show what commands see of them."""
        scope = self._scope
        view = self._view
        covered = [folder for folder in view.covered if not folder.is_relative_to(scope.root)]
        for folder in covered:
            if folder != scope.home:
                yield from ("--tmpfs", str(folder))
        if not scope.contains_home and scope.home != NO_HOME:
            if scope.private is None:
                yield from ("--tmpfs", str(scope.home))
            else:
                yield from self._copy(scope.private / _COPY)
        for shown in view.shown:
            if not shown.is_filtered and not shown.path.is_relative_to(scope.root):
                yield from ("--ro-bind-try", str(shown.source), str(shown.path))
                for path in (*scope.hidden, *view.secrets):
                    if shown.source in path.parents:
                        yield from _hide(path, shown.path / path.relative_to(shown.source))
        if not scope.contains_home:
            yield from self._filtered()

    def _copy(self, home_copy: Path) -> Iterator[str]:
        """Yield the options for the copy of the home, with every folder on the way to a mount point.

        As mount points these can't be replaced by links, which later mounts would follow out of the copy.
        """
        scope = self._scope
        home_copy.mkdir(mode=0o700, exist_ok=True)
        yield from ("--bind", str(home_copy), str(scope.home))
        shown = ((entry.path, entry.source.is_dir()) for entry in self._view.shown)
        others = ((path, path.is_dir()) for path in (scope.root, *scope.read_only, *self._git_folders()))
        points = {
            path.relative_to(scope.home): is_folder
            for path, is_folder in (*shown, *others)
            if scope.home in path.parents
        }
        folders = {parent for point in points for parent in point.parents if parent.parts}
        for folder in sorted(folders):
            make_mount_point(home_copy, folder.parts, is_folder=True)
            yield from ("--bind", str(home_copy / folder), str(scope.home / folder))
        inside = {point for point in points if folders.isdisjoint((point,))}
        for point in sorted(inside):
            if not any(parent in points for parent in point.parents):
                make_mount_point(home_copy, point.parts, is_folder=points[point])

    def _git_folders(self) -> tuple[Path, ...]:
        git = self._scope.outer_git
        return () if git is None else tuple(folder.path for folder in git.folders)

    def _filtered(self) -> Iterator[str]:
        for shown in self._view.shown if self._scope.private else ():
            if shown.is_filtered:
                handle, name = tempfile.mkstemp(dir=self._scope.private)
                self._filtered_files.append(Path(name))
                with os.fdopen(handle, "w", errors="surrogateescape") as file:
                    file.write(filtered(read_text(str(shown.source))))
                yield from ("--ro-bind", name, str(shown.path))


def make_mount_point(base: Path, parts: Sequence[str], is_folder: bool) -> None:
    """Make a folder or an empty file below `base` in place of what else stands there; no link is followed."""
    with OpenFolders(base, follows_link=False) as folders:
        for number, name in enumerate(parts, 1):
            is_file = number == len(parts) and not is_folder
            _make_entry(folders.descriptor, name, is_file)
            if not is_file:
                folders.enter(name)


def _make_entry(folder: int, name: str, is_file: bool) -> None:
    try:
        mode = stat_in(folder, name).st_mode
    except FileNotFoundError:
        mode = 0
    if stat.S_ISREG(mode) if is_file else stat.S_ISDIR(mode):
        return
    if stat.S_ISDIR(mode):
        shutil.rmtree(name, dir_fd=folder)
    elif mode:
        os.unlink(name, dir_fd=folder)
    if is_file:
        os.close(os.open(name, NEW_FILE, 0o600, dir_fd=folder))
    else:
        os.mkdir(name, 0o700, dir_fd=folder)


@cache
def _kernel_settings() -> tuple[str, ...]:
    """Return what of `/proc` is the whole machine's: root may write some of it."""
    with os.scandir("/proc") as entries:
        return tuple(
            sorted(
                entry.path
                for entry in entries
                if not entry.name.isdigit()
                and not entry.is_symlink()
                and (entry.is_dir() or entry.stat().st_mode & 0o222)
            )
        )


def _hide(path: Path, seen_at: Path | None = None) -> tuple[str, ...]:
    seen = str(seen_at or path)
    return ("--tmpfs", seen) if path.is_dir() else ("--ro-bind", "/dev/null", seen)


def _protect_git(git: GitPaths) -> Iterator[str]:
    for folder in git.folders:
        # Being a mount of its own, the folder cannot be moved away and replaced by another one.
        yield from ("--bind", str(folder), str(folder))
    for path in git.read_only:
        yield from ("--ro-bind-try", str(path), str(path))
    for folder in git.folders:
        if (folder / "objects").is_dir() and not (folder / "hooks").exists():
            yield from ("--tmpfs", str(folder / "hooks"))
