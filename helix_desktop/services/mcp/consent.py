"""Consent to what MCP servers run of their workspace: noted when the user agrees, checked at each start."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.file_history.changes import AgentChanges
from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.mcp.client.server_actor import ConsentEnded
from helix_desktop.mcp.client.start_files import FolderState, StartFiles, find_start_files, read_folders
from helix_desktop.services.file_history import FileHistories
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.workspaces.registry import WorkspaceRegistry

MAX_NAMED = 20  # changed paths that a record keeps
_EVERYWHERE = frozenset({""})
_BYTECODE_FOLDER = "bytecode"


class StartConsent:
    """What the user agreed to besides a server's configuration: the files of the workspace that it runs.

    Their digests belong to the consent, whoever changes them. Where a program can load more from a folder,
    the consent ends with any change by the agent in it, as the file history knows them; of places that the
    history does not see, with any change.
    """

    def __init__(
        self,
        registry: WorkspaceRegistry,
        histories: FileHistories,
        inherited_env: Mapping[str, str],
        on_change: Callable[[str], None],
    ) -> None:
        """`on_change` is called with the workspace in whose record a check changed a server's consent."""
        self._registry, self._histories = registry, histories
        self._inherited_env, self._on_change = inherited_env, on_change

    async def give(self, workspace_id: str, config: McpServerConfig) -> McpServerConfig:
        """Return a server with the user's consent to it as it is now."""
        now_ms = wall_clock_ms()
        start_files, states = await self._look(workspace_id, config)
        return msgspec.structs.replace(
            config,
            approved=config.fingerprint,
            approved_ms=now_ms,
            approved_files={**start_files.files, **_digests(states)},
            consent_changes=(),
        )

    async def start_files(self, workspace_id: str, config: McpServerConfig) -> tuple[str, ...]:
        """Return what a server runs of its workspace: files, and folders with a `/` at their end."""
        found = await asyncio.to_thread(
            find_start_files, config, self._root(workspace_id), self._inherited_env
        )
        return (*found.files, *(f"{folder or '.'}/" for folder in found.folders))

    async def check(self, workspace_id: str, config: McpServerConfig) -> Mapping[str, str]:
        """Return variables for a server that is about to start: Python's bytecode goes where no agent writes.

        Raises ConsentEnded if what it runs is not what the user agreed to: the record says so from now on.
        """
        start_files, states = await self._look(workspace_id, config)
        if not config.approved_ms and not start_files:  # approved by a release that did not look
            with suppress(HelixError):  # it is tried again at the next start
                self._save(workspace_id, config, msgspec.structs.replace(config, approved_ms=wall_clock_ms()))
            return {}
        changes = (
            await self._changes(workspace_id, config, start_files, states)
            if config.approved_ms
            else (*start_files.files, *_digests(states))[:MAX_NAMED]
        )
        if changes:
            ended = msgspec.structs.replace(config, approved="", consent_changes=changes)
            self._save(workspace_id, config, ended)
            raise ConsentEnded.of(ended)
        if not start_files or start_files.reads_bytecode:
            return {}
        return {"PYTHONPYCACHEPREFIX": str(self._registry.data_folder(workspace_id) / _BYTECODE_FOLDER)}

    async def _changes(
        self,
        workspace_id: str,
        config: McpServerConfig,
        start_files: StartFiles,
        states: Mapping[str, FolderState],
    ) -> tuple[str, ...]:
        """Return what of a server's files changed since the consent: a few of the paths, files first."""
        before, present = config.approved_files, {**start_files.files, **_digests(states)}
        paths = dict.fromkeys(
            path
            for path in (*before, *present)
            if not path.endswith("/") and before.get(path) != present.get(path)
        )
        by_agent = await self._agent_changes(workspace_id, config.approved_ms, tuple(states))
        paths |= dict.fromkeys(by_agent.paths)
        for folder, state in states.items():
            name = f"{folder or '.'}/"
            covered, _, uncovered = before.get(name, "").partition(" ")
            if not state.covered or state.uncovered != uncovered:
                is_newer = state.newest_ms >= config.approved_ms
                paths[state.newest if is_newer and state.newest else name] = None
            elif not by_agent.is_certain and state.covered != covered:
                paths[name] = None
        return tuple(paths)[:MAX_NAMED]

    async def _agent_changes(
        self, workspace_id: str, since_ms: int, folders: tuple[str, ...]
    ) -> AgentChanges:
        history = self._histories.of(workspace_id)
        if not folders:
            return AgentChanges()
        if history is not None:
            with suppress(HelixError):
                return await history.agent_changes(since_ms, folders)
        return AgentChanges(is_certain=False)

    async def _look(
        self, workspace_id: str, config: McpServerConfig
    ) -> tuple[StartFiles, dict[str, FolderState]]:
        """Return what a server runs of its workspace, and the state of the folders that it loads from."""
        root = self._root(workspace_id)
        start_files = await asyncio.to_thread(find_start_files, config, root, self._inherited_env)
        if not start_files.folders:
            return start_files, {}
        history, uncovered = self._histories.of(workspace_id), _EVERYWHERE
        if history is not None:
            with suppress(HelixError):  # too many files, say: then any change counts
                uncovered = await history.uncovered_places()
        states, start_files = await asyncio.to_thread(read_folders, root, start_files, uncovered)
        return start_files, states

    def _save(self, workspace_id: str, config: McpServerConfig, other: McpServerConfig) -> None:
        """Save another state of a server, if the record still has it as it was checked. Raises HelixError."""
        servers = self._registry.get(workspace_id).servers
        self._registry.change(
            workspace_id,
            servers=tuple(other if _is_same(server, config) else server for server in servers),
        )
        self._on_change(workspace_id)

    def _root(self, workspace_id: str) -> Path:
        return Path(self._registry.get(workspace_id).path)


def _is_same(server: McpServerConfig, config: McpServerConfig) -> bool:
    return (server.name, server.approved, server.approved_ms) == (
        config.name, config.approved, config.approved_ms,
    )  # fmt: skip


def _digests(states: Mapping[str, FolderState]) -> dict[str, str]:
    return {f"{folder or '.'}/": f"{state.covered} {state.uncovered}" for folder, state in states.items()}
