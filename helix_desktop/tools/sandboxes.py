"""Which sandbox this system has: looked for once, and taken for every command from then on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from helix_desktop.tools.paths import startup_files
from helix_desktop.tools.sandbox import Cell, NoSandbox, Sandbox
from helix_desktop.tools.sandbox_bwrap import find_bwrap
from helix_desktop.tools.sandbox_landlock import find_landlock
from helix_desktop.tools.secret_places import doors, existing, secret_places

_NONE = NoSandbox()


def find_sandbox() -> Sandbox:
    """The strictest sandbox that works here; blocks."""
    return find_bwrap() or find_landlock() or _NONE


class Sandboxes:
    """The sandbox of this system, and the cells of its workspaces."""

    def __init__(
        self,
        find: Callable[[], Sandbox] = find_sandbox,
        home: Path | None = None,
        hidden: Sequence[Path] = (),
    ) -> None:
        """`hidden` paths are this program's own, which no command may see; `home` is the person's folder."""
        self._find, self._hidden = find, tuple(hidden)
        self._home = Path(os.path.realpath(home or Path.home()))
        self._finding = asyncio.Lock()
        self._found: Sandbox | None = None

    async def best(self) -> Sandbox:
        """The strictest sandbox that works here."""
        async with self._finding:
            if self._found is None:
                self._found = await asyncio.to_thread(self._find)
            return self._found

    def cell(self, root: Path, scratch: Path) -> Cell:
        """What commands of the workspace at `root` may touch; blocks."""
        places = (*secret_places(self._home), *doors(), *existing(self._hidden))
        hidden = tuple(path for path in places if path != root)
        obeyed = existing(path for path in startup_files(self._home) if path.is_relative_to(root))
        frozen = tuple(path for path in obeyed if not any(path.is_relative_to(one) for one in hidden))
        return Cell(root, scratch, hidden, frozen, self._home)


def no_sandboxes() -> Sandboxes:
    """Commands as on a system that has no sandbox."""
    return Sandboxes(lambda: _NONE)
