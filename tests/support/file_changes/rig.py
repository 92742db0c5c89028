"""A real file history of a real folder, and the real tools that change it."""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from helix_desktop.agent.ports import FileHistory
from helix_desktop.domain.choices import RevertChoice
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.file_history.changes import (
    CallMark,
    CapturedChanges,
    FileCoverageSettings,
    RevertPlan,
)
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.tools import ApprovalRequest
from helix_desktop.file_history.history import WorkspaceFileHistory
from helix_desktop.system.clock import wall_clock_ms
from tests.support.file_changes.cases import SIZE_LIMIT, Calls, ChangeCase
from tests.support.file_changes.tree import Tree, make_tree, walk_tree
from tests.support.tool_rig import make_tools

SESSION = "s"


class HistoryRig:
    """A workspace with its history: calls are captured as the agent has them captured."""

    def __init__(self, root: Path, history: FileHistory) -> None:
        self.root = root
        self.history = history
        self._tools = make_tools(root)
        self._ids = itertools.count(1)
        self.log: list[CapturedChanges] = []

    def walk(self) -> Tree:
        return walk_tree(self.root)

    async def run(self, calls: Calls, may_fail: bool = False) -> list[CapturedChanges]:
        """Run calls of tools one after the other; return what each changed, if it did."""
        captures = []
        for name, arguments in calls:
            call = ToolCall(f"call {next(self._ids)}", name, json.dumps(arguments))
            try:
                request = await self._tools.approval(call)
                assert isinstance(request, ApprovalRequest)
                is_edit = request.kind == "edit"
                paths = (request.subject, *request.other_paths) if is_edit else None
                await self.history.begin_call(CallMark(SESSION, call.id, name, paths))
                result = await self._tools.run(call)
                assert result.ok or may_fail, result.content.decode()
            except ToolError:
                assert may_fail
            captured = await self.history.end_call(SESSION, call.id)
            captures += [captured] if captured is not None else []
            await self.record()
        return captures

    async def record(self) -> list[CapturedChanges]:
        """Put what was captured into the log, as a session does; return it."""
        captures = await self.history.unrecorded(SESSION)
        await self.history.acknowledge([captured.capture.id for captured in captures])
        self.log += captures
        return list(captures)

    async def scan(self) -> list[CapturedChanges]:
        """Look for what changed outside all calls; return it."""
        await self.history.scan(SESSION)
        return await self.record()

    async def run_command(self, command: str) -> CapturedChanges | None:
        captures = await self.run((("run_command", {"command": command}),))
        return captures[0] if captures else None

    async def plan(self, captures: Sequence[CapturedChanges], *paths: str) -> RevertPlan:
        """Plan to take back captures, or only what they did at some paths."""
        changes = [
            change
            for captured in captures
            for change in captured.list.changes
            if not paths or change.path in paths
        ]
        return await self.history.plan_revert(changes, [captured.capture.id for captured in captures])

    async def revert(
        self, plan: RevertPlan, choices: Mapping[str, RevertChoice] | None = None
    ) -> list[CapturedChanges]:
        captured = await self.history.revert(SESSION, plan, choices or {})
        await self.record()
        return [captured] if captured is not None else []


def database_file(folder: Path) -> Path:
    """Return the database of the history of a workspace `work` in a folder."""
    return folder / "data" / "file-history.db"


def open_history(folder: Path, quota: int = 0) -> WorkspaceFileHistory:
    """Return the file history of the workspace `work` in a folder; not started yet."""
    settings = FileCoverageSettings(max_file=SIZE_LIMIT, quota=quota)
    return WorkspaceFileHistory(folder / "work", database_file(folder), lambda: settings, wall_clock_ms)


@asynccontextmanager
async def open_rig(folder: Path, quota: int = 0, is_copied: bool = True) -> AsyncIterator[HistoryRig]:
    """A rig on the workspace `work` in a folder, once all that is covered is copied, or at once."""
    (folder / "data").mkdir(exist_ok=True)
    history = open_history(folder, quota)
    try:
        await history.start()
        if is_copied:
            await wait_until_copied(history)
        yield HistoryRig(folder / "work", history)
    finally:
        await history.close()


async def wait_until_copied(history: FileHistory) -> None:
    """Wait until the first copy is complete."""
    changed = asyncio.Event()
    unsubscribe = history.listen(changed.set)
    while not history.coverage.is_complete:
        changed.clear()
        await changed.wait()
    unsubscribe()


def prepare_workspace(root: Path, case: ChangeCase) -> None:
    """Make what stands before a change."""
    root.mkdir()
    make_tree(root, case.before)
    if case.prepare:
        line = ["/bin/sh", "-c", case.prepare]
        run = subprocess.run(line, cwd=root, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
