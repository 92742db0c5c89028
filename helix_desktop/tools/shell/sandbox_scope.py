"""What holds a command back: bubblewrap where it works, else Landlock, else nothing; and which it is."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal, Protocol

import msgspec
from msgspec.structs import replace

from helix_desktop.domain.translatable_text import TextContext, TranslatableText, join_sentences
from helix_desktop.system.home import NO_HOME, home_fault
from helix_desktop.tools.process import ProcessSpec
from helix_desktop.tools.shell.home_view import HomeView
from helix_desktop.tools.shell.outer_git import OuterGit

text = TextContext("Tools")

SandboxKind = Literal["bubblewrap", "landlock", "none"]
NetworkReach = Literal["programs", "network", "other computers"]
"""Also other programs of the user by their sockets, all of the network, or all but this computer."""
_REMOVED_VARIABLES = frozenset((
    "AT_SPI_BUS_ADDRESS", "CONTAINER_HOST", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "DISPLAY",
    "DOCKER_HOST", "GNOME_KEYRING_CONTROL", "GPG_AGENT_INFO", "I3SOCK", "ICEAUTHORITY", "JOURNAL_STREAM",
    "KITTY_LISTEN_ON", "KRB5CCNAME", "NOTIFY_SOCKET", "NVIM", "NVIM_LISTEN_ADDRESS", "PIPEWIRE_REMOTE",
    "PULSE_SERVER", "SESSION_MANAGER", "SSH_AGENT_PID", "SSH_ASKPASS", "SSH_AUTH_SOCK", "STY", "SUDO_ASKPASS",
    "SWAYSOCK", "TMUX", "VSCODE_GIT_IPC_HANDLE", "VSCODE_IPC_HOOK", "VSCODE_IPC_HOOK_CLI", "WAYLAND_DISPLAY",
    "WAYLAND_SOCKET", "WEZTERM_UNIX_SOCKET", "XAUTHORITY", "XDG_RUNTIME_DIR",
))  # fmt: skip
"""Variables that lead to other programs: displays, buses, agents with keys, terminals, editors."""
_OWN_HOME = "home"  # in the temporary folder
_TEMP_VARIABLES = ("TMPDIR", "TMP", "TEMP")


class SandboxScope(msgspec.Struct, frozen=True):
    """What a command may touch: `root` and `scratch` to write, all else to read.

    Of all else, `hidden` paths cannot be seen, unless they are `read_only`: those can be read, not written.
    Every path exists, with links resolved. `is_read_only`: `root` is only read. Of homes, `view` says what is
    seen. `private` is a folder of the workspace that commands don't see; it gets what they write to
    the home. `outer_git` are git folders outside of the workspace that the user allowed to be changed.
    """

    root: Path
    scratch: Path
    hidden: tuple[Path, ...] = ()
    read_only: tuple[Path, ...] = ()
    home: Path = NO_HOME
    is_read_only: bool = False
    view: HomeView = msgspec.field(default_factory=HomeView)
    private: Path | None = None
    outer_git: OuterGit | None = None

    @property
    def contains_home(self) -> bool:
        return self.home.is_relative_to(self.root)

    @property
    def unreadable(self) -> set[Path]:
        """What commands must not read, with the files of which they read a part elsewhere."""
        filtered_files = (entry.source for entry in self.view.shown if entry.is_filtered)
        return {*self.hidden, *self.view.secrets, *filtered_files}

    def hides(self, path: Path) -> bool:
        """Return True if commands do not see a path, links resolved, that exists."""
        if any(path.is_relative_to(hidden) for hidden in (*self.hidden, *self.view.secrets)):
            return True
        if path.is_relative_to(self.root) or any(path.is_relative_to(known) for known in self.read_only):
            return False
        if not any(folder in path.parents for folder in self.view.covered):
            return False
        return not any(path.is_relative_to(shown.source) for shown in self.view.shown)


class Sandbox(Protocol):
    @property
    def kind(self) -> SandboxKind: ...

    @property
    def network_reach(self) -> NetworkReach: ...

    def wrap(
        self, spec: ProcessSpec, scope: SandboxScope, network: bool
    ) -> AbstractContextManager[ProcessSpec]:
        """Yield the spec of a command inside the sandbox, valid in the block; blocks. Raises OSError."""
        ...


class NoSandbox:
    kind: SandboxKind = "none"
    network_reach: NetworkReach = "programs"

    @contextmanager
    def wrap(self, spec: ProcessSpec, scope: SandboxScope, network: bool) -> Iterator[ProcessSpec]:
        """Yield the spec unchanged, but with the temporary folder of its workspace."""
        environment = with_home(spec.environment, scope, str(scope.scratch))
        yield replace(spec, environment={**environment, **_temp_environment(str(scope.scratch))})


def confines(kind: SandboxKind, contains_home: bool, network: bool) -> bool:
    """Return True if a command really stays in the workspace, which may contain a home, and off the network.

    Landlock cannot freeze a part of a folder that may be written, such as `.git/hooks`: it does not count.
    """
    return kind == "bubblewrap" and not network and not contains_home


_BUBBLEWRAP = text("Sandboxed: writes only in the workspace and a temporary folder; no network.")
_BUBBLEWRAP_WITH_NETWORK = text(
    "Sandboxed: writes only in the workspace and a temporary folder; network allowed."
)
_AROUND_HOME = text("Sandboxed, but your home folder is inside the workspace; no network.")
_AROUND_HOME_WITH_NETWORK = text("Sandboxed, but your home folder is inside the workspace; network allowed.")
_LANDLOCK = text(
    "Sandboxed (Landlock): writes only in the workspace, including .git/hooks, and a temporary folder; "
    "no network."
)
_LANDLOCK_WITH_NETWORK = text(
    "Sandboxed (Landlock): writes only in the workspace, including .git/hooks, and a temporary folder; "
    "network allowed."
)
_LANDLOCK_AROUND_HOME = text(
    "Sandboxed (Landlock), but your home folder is inside the workspace; no network."
)
_LANDLOCK_AROUND_HOME_WITH_NETWORK = text(
    "Sandboxed (Landlock), but your home folder is inside the workspace; network allowed."
)
_REACHES_PROGRAMS = text("It can also reach your other programs, such as your display and keyboard.")


_REACHES_NO_LOCALHOST = text("It can't reach servers on your computer's localhost.")


def describe_sandbox(
    kind: SandboxKind, network: bool, contains_home: bool = False, network_reach: NetworkReach = "programs"
) -> TranslatableText:
    """Return for the user, in one or two sentences, what a command run this way can access."""
    limits = _describe_limits(kind, network, contains_home)
    if not network or kind == "none" or network_reach != "programs":
        return limits
    return join_sentences(limits, _REACHES_PROGRAMS)


def describe_unreached(network: bool, network_reach: NetworkReach) -> str:
    """Return what a sandboxed command with network can't reach; empty: nothing, or it has no network."""
    return _REACHES_NO_LOCALHOST if network and network_reach == "other computers" else ""


def _describe_limits(kind: SandboxKind, network: bool, contains_home: bool) -> TranslatableText:
    match kind:
        case "bubblewrap" if contains_home:
            return _AROUND_HOME_WITH_NETWORK if network else _AROUND_HOME
        case "bubblewrap":
            return _BUBBLEWRAP_WITH_NETWORK if network else _BUBBLEWRAP
        case "landlock" if contains_home:
            return _LANDLOCK_AROUND_HOME_WITH_NETWORK if network else _LANDLOCK_AROUND_HOME
        case "landlock":
            return _LANDLOCK_WITH_NETWORK if network else _LANDLOCK
        case "none":
            return text("Not sandboxed: it can do anything you can, on this computer and the network.")


def with_home(environment: Mapping[str, str], scope: SandboxScope, temp_dir: str) -> dict[str, str]:
    """Return an environment whose `HOME` is a folder: where the user has none, one in the temporary folder.

    `temp_dir` is the path of the temporary folder for the command. Blocks. Raises OSError.
    """
    if os.name == "nt" or not home_fault(environment):
        return dict(environment)
    if scope.home != NO_HOME:
        return {**environment, "HOME": str(scope.home)}
    (scope.scratch / _OWN_HOME).mkdir(mode=0o700, exist_ok=True)
    return {**environment, "HOME": f"{temp_dir}/{_OWN_HOME}"}


def sandbox_environment(environment: Mapping[str, str], scope: SandboxScope, temp_dir: str) -> dict[str, str]:
    """Return a sandboxed command's environment: no sockets of other programs, a home, a temporary folder.

    `temp_dir` is the path of the temporary folder for the command. Blocks. Raises OSError.
    """
    environment = with_home(environment, scope, temp_dir)
    cleaned = {name: value for name, value in environment.items() if name not in _REMOVED_VARIABLES}
    return cleaned | _temp_environment(temp_dir) | {"XDG_CACHE_HOME": f"{temp_dir}/.cache"}


def _temp_environment(folder: str) -> dict[str, str]:
    return dict.fromkeys(_TEMP_VARIABLES, folder)
