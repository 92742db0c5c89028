"""The tools of a workspace, with what its person lets them do."""

from __future__ import annotations

from pathlib import Path

from helix_desktop.config.paths import DataDir, resources_dir
from helix_desktop.tools.cache import Cache, Count
from helix_desktop.tools.grants import Grants
from helix_desktop.tools.sandboxes import Sandboxes
from helix_desktop.tools.toolbox import Toolbox
from helix_desktop.workspaces.registry import Registry


class Tooling:
    """Makes toolboxes; what a workspace's record grants holds from the next call on."""

    def __init__(self, data: DataDir, registry: Registry, count: Count) -> None:
        self._data, self._registry, self._count = data, registry, count
        self.sandboxes = Sandboxes(hidden=(data.root,))

    def box(self, identity: str, root: Path, store: Cache) -> Toolbox:
        """The tools of the workspace whose folder is `root`."""
        data = self._data
        return Toolbox(
            root,
            store,
            resources_dir() / "prompts" / "tools",
            self._count,
            protected=(data.settings_file, data.workspaces_dir, data.logs_dir),
            sandboxes=self.sandboxes,
            granted=lambda: self.granted(identity),
        )

    def granted(self, identity: str) -> Grants:
        """What holds in a workspace now."""
        record = self._registry.get(identity)
        return Grants(record.sandbox, record.network, record.fetch)
