"""The tools of a workspace, with what its person lets them do."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from helix_desktop.agent.toolset import Toolset
from helix_desktop.app.fetching import WebFetcher, resolve
from helix_desktop.app.sample_python import with_python
from helix_desktop.config.paths import DataDir, resources_dir
from helix_desktop.tools.cache import Cache, Count
from helix_desktop.tools.grants import Grants
from helix_desktop.tools.reach import Reach
from helix_desktop.tools.sandbox import Cell, Kind, holds, told
from helix_desktop.tools.sandboxes import Sandboxes
from helix_desktop.tools.scratch import temporary_base
from helix_desktop.tools.toolbox import Toolbox
from helix_desktop.workspaces.record import Grant
from helix_desktop.workspaces.registry import Registry

NO_SANDBOX = (
    "Install bubblewrap to have a sandbox."
    if sys.platform == "linux"
    else "This system has no sandbox for them."
)


class Tooling:
    """Makes toolboxes; what a workspace's record grants holds from the next call on."""

    def __init__(self, data: DataDir, registry: Registry, count: Count) -> None:
        self._data, self._registry, self._count = data, registry, count
        self.sandboxes = Sandboxes(hidden=(data.root, temporary_base()))
        self._toolsets: dict[str, Toolset] = {}

    def box(self, identity: str, root: Path, store: Cache) -> Toolbox:
        """The tools of the workspace whose folder is `root`."""
        data = self._data
        return Toolbox(
            root,
            store,
            resources_dir() / "prompts" / "tools",
            self._count,
            protected=(data.settings_file, data.workspaces_dir, data.logs_dir),
            environ=with_python(os.environ) if self._registry.get(identity).demo else None,
            reach=Reach(self.sandboxes, lambda: self.granted(identity), (WebFetcher(), resolve)),
        )

    def opened(self, identity: str, tools: Toolset) -> None:
        """A workspace is open with these tools, which follow what it is granted."""
        self._toolsets[identity] = tools

    def close(self, identity: str) -> None:
        """It is open no longer."""
        self._toolsets.pop(identity, None)

    async def grant(self, identity: str, name: Grant, on: bool) -> None:
        """Let a workspace's agent have one thing more, or less, from its next call on. Raises HelixError."""
        self._registry.change(identity, **{name: on})
        if identity in self._toolsets:
            await self._toolsets[identity].refresh()

    async def confines(self, identity: str) -> bool:
        """Whether commands of a workspace stay in its folder and off the network."""
        kind, cell = await self._walls(identity)
        return holds(kind, cell, self.granted(identity).network)

    async def walls(self, identity: str) -> tuple[str, bool]:
        """What holds commands of a workspace back, in a sentence for people, and whether anything does."""
        kind, cell = await self._walls(identity)
        said = told(kind, self.granted(identity).network, cell.holds_home)
        missing = kind == "none" and self.granted(identity).sandbox
        return (f"{said} {NO_SANDBOX}" if missing else said), kind != "none"

    async def _walls(self, identity: str) -> tuple[Kind, Cell]:
        root = await asyncio.to_thread(Path(self._registry.get(identity).path).resolve)
        cell = await asyncio.to_thread(self.sandboxes.cell, root, root)
        kind = (await self.sandboxes.best()).kind if self.granted(identity).sandbox else "none"
        return kind, cell

    def granted(self, identity: str) -> Grants:
        """What holds in a workspace now."""
        record = self._registry.get(identity)
        return Grants(record.sandbox, record.network, record.fetch)
