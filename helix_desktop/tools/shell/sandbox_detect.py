"""Detects the sandbox of this system, once, and builds the scopes of workspaces."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from helix_desktop.domain.permissions.home_folder import DEFAULT_HOME_NAMES
from helix_desktop.tools.files.paths import startup_files
from helix_desktop.tools.shell.home_view import find_home_view, unlisted
from helix_desktop.tools.shell.sandbox import NoSandbox, Sandbox, SandboxScope
from helix_desktop.tools.shell.sandbox_bwrap import find_bwrap
from helix_desktop.tools.shell.sandbox_landlock import find_landlock
from helix_desktop.tools.shell.secret_paths import escape_sockets, existing_paths, secret_paths

_NONE = NoSandbox()


def find_sandbox() -> Sandbox:
    """Return the strictest sandbox that works here; blocks."""
    return find_bwrap() or find_landlock() or _NONE


class SandboxProvider:
    """The sandbox of this system, and the scopes of its workspaces."""

    def __init__(
        self,
        find: Callable[[], Sandbox] = find_sandbox,
        home: Path | None = None,
        hidden: Sequence[Path] = (),
        home_names: Callable[[], Sequence[str]] = lambda: DEFAULT_HOME_NAMES,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """`hidden` paths are this program's own, which no command may see; `home` is the user's folder.

        `home_names` are the files and folders of a home that commands see.
        """
        self._find, self._hidden = find, tuple(hidden)
        self._home = Path(os.path.realpath(home or Path.home()))
        self._home_names, self._environ = home_names, environ
        self._lock = asyncio.Lock()
        self._detected: Sandbox | None = None

    async def detect(self) -> Sandbox:
        """Return the strictest sandbox that works here, detected once."""
        async with self._lock:
            if self._detected is None:
                self._detected = await asyncio.to_thread(self._find)
            return self._detected

    @property
    def home(self) -> Path:
        """The user's home folder, links resolved."""
        return self._home

    def scope_for(self, root: Path, scratch: Path, private: Path | None = None) -> SandboxScope:
        """Return what commands of the workspace at `root` may access; blocks."""
        home = self._home
        secrets = secret_paths(home, self._environ)
        candidates = (*secrets, *escape_sockets(), *existing_paths(self._hidden))
        hidden = tuple(path for path in candidates if path != root)
        view = find_home_view(root, home, self._home_names(), self._environ, hidden)
        if home.is_relative_to(root):
            others = (path for path in existing_paths(unlisted(home, view.shown)) if home in path.parents)
            hidden = tuple(dict.fromkeys((*hidden, *others)))
        startup = existing_paths(path for path in startup_files(home) if path.is_relative_to(root))
        frozen = tuple(
            path for path in startup if not any(path.is_relative_to(hidden_path) for hidden_path in hidden)
        )
        return SandboxScope(root, scratch, hidden, frozen, home, view=view, private=private)


def no_sandbox_provider() -> SandboxProvider:
    """Return a provider that never has a sandbox."""
    return SandboxProvider(lambda: _NONE)
