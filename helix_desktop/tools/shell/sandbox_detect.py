"""Detects the sandbox of this system, once, and builds the scopes of workspaces."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from helix_desktop.permissions.home_folder import DEFAULT_HOME_NAMES
from helix_desktop.system.home import find_home
from helix_desktop.tools.files.jail import startup_files
from helix_desktop.tools.shell.file_lookups import (
    FileLookups,
    escape_sockets,
    existing_paths,
    is_inside,
    parents,
    secret_paths,
)
from helix_desktop.tools.shell.home_view import HomeView, find_home_view, unlisted
from helix_desktop.tools.shell.sandbox_bubblewrap import find_bwrap
from helix_desktop.tools.shell.sandbox_landlock import find_landlock
from helix_desktop.tools.shell.sandbox_scope import NoSandbox, Sandbox, SandboxScope

_NONE = NoSandbox()


def find_sandbox() -> Sandbox:
    """Return the strictest sandbox that works here; blocks."""
    return find_bwrap() or find_landlock() or _NONE


class SandboxProvider:
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
        self._find = find
        self._hidden = tuple(hidden)
        self._home = Path(os.path.realpath(home or find_home(environ)))
        self._home_names = home_names
        self._environ = environ
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
        if os.name == "nt":  # which has no sandbox
            return SandboxScope(root, scratch, home=self._home, private=private)
        home = str(self._home)
        top = str(root)
        environ = dict(self._environ)
        lookups = FileLookups()
        secrets = secret_paths(home, environ, lookups)
        own = existing_paths(map(str, self._hidden), lookups)
        candidates = (*secrets, *escape_sockets(lookups), *own)
        hidden = tuple(path for path in candidates if path != top)
        view = find_home_view(top, home, self._home_names(), environ, hidden, lookups)
        hidden, frozen = _in_workspace(top, home, hidden, view, lookups)
        return SandboxScope(
            root,
            scratch,
            tuple(map(Path, hidden)),
            tuple(map(Path, frozen)),
            self._home,
            view=view,
            private=private,
        )


def _in_workspace(
    root: str, home: str, hidden: tuple[str, ...], view: HomeView, lookups: FileLookups
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what is hidden, also in a home that is in the workspace, and what of a home is only read."""
    if is_inside(home, root):
        found = existing_paths(unlisted(home, view.shown, lookups), lookups)
        hidden = tuple(dict.fromkeys((*hidden, *(path for path in found if home in parents(path)))))
    places = (str(path) for path in startup_files(Path(home)))
    startup = existing_paths((path for path in places if is_inside(path, root)), lookups)
    frozen = (path for path in startup if not any(is_inside(path, covered) for covered in hidden))
    return hidden, tuple(frozen)


def no_sandbox_provider() -> SandboxProvider:
    return SandboxProvider(lambda: _NONE)
