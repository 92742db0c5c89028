"""States of workspaces are read when somebody listens, once for many reasons, and of trusted folders only."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from helix_desktop.domain.git import GitStatus
from helix_desktop.services.git import GitCheckouts
from helix_desktop.tools.environment import WorkspaceEnvironment
from helix_desktop.tools.files.jail_posix import PosixJail
from helix_desktop.tools.shell.sandbox_detect import no_sandbox_provider
from helix_desktop.tools.tool import ToolGrants
from helix_desktop.workspaces.registry import WorkspaceRegistry
from tests.support.git_checkouts import make_checkout, needs_git

pytestmark = needs_git


class _Rig:
    """A registry with one checkout, its states, and how often it was read."""

    def __init__(self, folder: Path, trusted: bool = True) -> None:
        self.root = folder / "project"
        make_checkout(self.root, {"a": "1\n"})
        self.registry = WorkspaceRegistry(folder / "workspaces", lambda: 0)
        self.id = self.registry.add(self.root, trusted=trusted).id
        self.states = GitCheckouts(self.registry, self._environment, debounce_s=0.01)
        self.published: asyncio.Queue[GitStatus | None] = asyncio.Queue()
        counter = folder / "bin"
        counter.mkdir()
        (counter / "git").write_text(f'#!/bin/sh\necho x >> "{folder}/runs"\nPATH=$OLD exec git "$@"\n')
        (counter / "git").chmod(0o755)
        self._variables = {**os.environ, "OLD": os.environ["PATH"], "PATH": str(counter)}
        self._runs = folder / "runs"

    def listen(self) -> Callable[[], None]:
        """Collect the states that are published."""
        return self.states.listen(lambda key: self.published.put_nowait(self.states.status(key)))

    @property
    def runs(self) -> int:
        """How often the git program was started."""
        return len(self._runs.read_text().split()) if self._runs.exists() else 0

    def _environment(self, _id: str, root: Path) -> WorkspaceEnvironment:
        return WorkspaceEnvironment(root, PosixJail(root), self._variables, no_sandbox_provider(), ToolGrants)


async def test_many_reasons_are_one_reading_and_a_change_is_published(tmp_path: Path) -> None:
    rig = _Rig(tmp_path)
    rig.states.refresh(rig.id)
    rig.listen()
    for _ in range(5):
        rig.states.refresh(rig.id)
    assert await rig.published.get() == GitStatus("main")
    assert rig.runs == 2, "the names of filters, and the state"
    (rig.root / "a").write_text("2\n")
    rig.states.refresh(rig.id)
    assert await rig.published.get() == GitStatus("main", changed=1)
    await rig.states.close()


async def test_without_trust_nothing_is_run(tmp_path: Path) -> None:
    rig = _Rig(tmp_path, trusted=False)
    rig.listen()
    rig.states.refresh(rig.id)
    rig.registry.change(rig.id, trusted=True)
    assert rig.runs == 0
    rig.states.refresh(rig.id)
    assert await rig.published.get() == GitStatus("main")
    rig.states.forget(rig.id)
    assert await rig.published.get() is None
    await rig.states.close()
