"""The sandbox by Landlock, where bubblewrap does not work: the kernel keeps a command to allowed paths.

Numbers and bits are those of the kernel's `linux/landlock.h`, `linux/seccomp.h` and `linux/filter.h`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from helix_desktop.tools.process import ProcessSpec
from helix_desktop.tools.shell.file_lookups import read_text
from helix_desktop.tools.shell.home_view import filtered, redirect_git_files
from helix_desktop.tools.shell.sandbox_scope import (
    NetworkReach,
    SandboxKind,
    SandboxScope,
    sandbox_environment,
)

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, _REMOVE_DIR, _REMOVE_FILE = (1 << bit for bit in range(6))
_REFER = 1 << 13
_TRUNCATE = 1 << 14
_IOCTL = 1 << 15
READ = EXECUTE | READ_FILE | READ_DIR
MOVE = _REMOVE_DIR | _REMOVE_FILE | _REFER
"""What a move needs, and a link to a file of another folder; one in the same folder needs none of it."""
_OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | _TRUNCATE | _IOCTL
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}  # bits known by each version of the interface; later ones: 16
_NET_SINCE = 4
SCOPE_SINCE = 6
_CREATE = 444
_ADD = 445
_RESTRICT = 446
_NO_NEW_PRIVILEGES = 38
_SECCOMP = 22
_FILTER = 2
_BENEATH = 1
_VERSION = 1
_ABSTRACT_SOCKETS = 1
_DROP_CAPABILITY = 24
_CAPABILITIES = 64


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("yes", ctypes.c_uint8),
        ("no", ctypes.c_uint8),
        ("k", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("filter", ctypes.POINTER(_Instruction)))


@cache
def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def abi_version() -> int:
    """Return the interface version of this kernel; 0: none, or an unknown machine."""
    if sys.platform != "linux" or platform.machine() not in _MACHINES:
        return 0
    return max(0, int(_libc().syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))))


def all_rights(abi: int) -> int:
    return (1 << _RIGHTS.get(abi, 16)) - 1


def open_ruleset(abi: int, network: bool) -> int:
    """Open a new ruleset that allows nothing yet; return its descriptor. Raises OSError."""
    scoped = 3 if abi >= SCOPE_SINCE else 0  # no signals to others, no sockets without a path
    attributes = _Ruleset(all_rights(abi), 0 if network or abi < _NET_SINCE else 3, scoped)
    if abi >= SCOPE_SINCE:
        size = 24
    elif abi >= _NET_SINCE:
        size = 16
    else:
        size = 8
    return _checked(
        _libc().syscall(_CREATE, ctypes.byref(attributes), ctypes.c_size_t(size), ctypes.c_uint32(0))
    )


def create_socket_restriction(abi: int) -> Callable[[], None] | None:
    """Return the function by which a new process gives up sockets without a path; None: not in this kernel.

    Those of what it starts itself stay within reach, as do localhost and names, which builds and tests need.
    """
    if abi < SCOPE_SINCE:
        return None
    libc = _libc()
    attributes = _Ruleset(0, 0, _ABSTRACT_SOCKETS)

    def restrict() -> None:
        ruleset = libc.syscall(_CREATE, ctypes.byref(attributes), ctypes.c_size_t(24), ctypes.c_uint32(0))
        failed = ruleset < 0 or libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        if failed or libc.syscall(_RESTRICT, ruleset, 0):
            os._exit(126)  # rather no command than one that is not held back

    return restrict


def allow(ruleset: int, path: str, rights: int) -> None:
    """Allow rights on what lies at a path; nothing happens when it is gone. Raises OSError."""
    try:
        path_fd = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(path_fd).st_mode):
            rights &= _OF_FILES
        rule = _PathBeneath(rights, path_fd)
        _checked(_libc().syscall(_ADD, ruleset, _BENEATH, ctypes.byref(rule), ctypes.c_uint32(0)))
    finally:
        os.close(path_fd)


def create_restriction(ruleset: int, network: bool, is_read_only: bool = False) -> Callable[[], None]:
    """Return the function that a new process calls to restrict itself; prepare all it needs.

    With `is_read_only` it can't change modes, times or the like of files that it can read.
    """
    libc = _libc()
    program = None if network and not is_read_only else _filter(network, not is_read_only)

    def restrict() -> None:
        for capability in range(
            _CAPABILITIES
        ):  # only root has any to lose; with them it could look into others
            libc.prctl(_DROP_CAPABILITY, capability, 0, 0, 0)
        failed = libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        failed = failed or libc.syscall(_RESTRICT, ruleset, 0)
        if program is not None:
            failed = failed or libc.prctl(_SECCOMP, _FILTER, ctypes.byref(program), 0, 0)
        if failed:
            os._exit(126)  # rather no command than one that is not held back

    return restrict


# The audit name of a machine, and its numbers of socket and connect.
_X86 = (0xC000003E, 41, 42)
_ARM = (0xC00000B7, 198, 203)
_MACHINES = {"x86_64": _X86, "aarch64": _ARM, "arm64": _ARM}
_IO_URING = 425
_X32 = 0x40000000
_UNIX = 1
_NONE = 0xFFFFFFFF
_LOAD = 0x20
_EQUAL = 0x15
_AT_LEAST = 0x35
_RETURN = 0x06
_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_REFUSE = 0x00050000
_NUMBER_AT = 0
_ARCH_AT = 4
_FIRST_AT = 16


# chmod, fchmod, fchmodat, fchmodat2; chown, fchown, lchown, fchownat; utime, utimes, futimesat, utimensat;
# setxattr, lsetxattr, fsetxattr, setxattrat; removexattr, lremovexattr, fremovexattr, removexattrat;
# truncate, file_setattr
_SETS_ATTRIBUTES = {
    _X86: (
        90, 91, 268, 452, 92, 93, 94, 260, 132, 235, 261, 280, 188, 189, 190, 463, 197, 198, 199, 466, 76,
        469,
    ),
    _ARM: (52, 53, 452, 54, 55, 88, 5, 6, 7, 463, 14, 15, 16, 466, 45, 469),
}  # fmt: skip
"""By machine, the calls that change a file that can be read only, which Landlock does not refuse."""


def _filter(sockets: bool, attributes: bool) -> _Program:
    """No `sockets` but local ones, and those lead to no other program; no change of files' `attributes`.

    No way around it: by io_uring, or by calls of another kind of program.
    """
    machine = _MACHINES[platform.machine()]
    arch, socket, connect = machine
    refused = [_IO_URING]
    refused += [] if sockets else [connect]
    refused += _SETS_ATTRIBUTES[machine] if not attributes else ()
    checks = len(refused) + 4  # lines between the first check of a number and the refusal
    lines = [
        (_LOAD, 0, 0, _ARCH_AT),
        (_EQUAL, 1, 0, arch),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_AT_LEAST, checks - 1, 0, _X32),
        *((_EQUAL, checks - 2 - at, 0, number) for at, number in enumerate(refused)),
        (_EQUAL, 0, 3, _NONE if sockets else socket),
        (_LOAD, 0, 0, _FIRST_AT),
        (_EQUAL, 1, 0, _UNIX),
        (_RETURN, 0, 0, _REFUSE | errno.EACCES),
        (_RETURN, 0, 0, _ALLOW),
    ]
    array = (_Instruction * len(lines))(*(_Instruction(*line) for line in lines))
    return _Program(len(lines), ctypes.cast(array, ctypes.POINTER(_Instruction)))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


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
            environment = sandbox_environment(spec.environment, scope, str(scope.scratch))
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
