"""Redaction outside the store too: saved rules and MCP servers of the workspace, and the app's logs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.redaction import redact
from helix_desktop.config.paths import DataDir
from helix_desktop.domain.errors import StoreLocked
from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.domain.redaction.redaction import Redaction, RedactionMatches, RedactionRequest
from helix_desktop.store.remote.client import RemoteStore
from helix_desktop.workspaces.registry import WorkspaceRegistry

log = logging.getLogger(__name__)
OnProgress = Callable[[int, int], None]


class AppData(Protocol):
    """The app's data outside the store."""

    @property
    def registry(self) -> WorkspaceRegistry:
        """The workspaces and their saved rules."""
        ...

    @property
    def data(self) -> DataDir:
        """The data directory with the logs."""
        ...


def _no_progress(done: int, total: int) -> None:
    """Ignore progress."""


async def preview_redaction(
    app_data: AppData,
    workspace: OpenWorkspace,
    request: RedactionRequest,
    on_progress: OnProgress = _no_progress,
) -> RedactionMatches:
    """Find the matches, in the store and outside it, and change nothing. Raises InvalidInput."""
    redaction = Redaction(request, workspace.clock())
    matches = await workspace.store.redaction.preview(request, on_progress)
    return await _add_outside_store(app_data, workspace.id, redaction, matches)


async def redact_workspace(
    app_data: AppData,
    workspace: OpenWorkspace,
    request: RedactionRequest,
    on_progress: OnProgress = _no_progress,
) -> RedactionMatches:
    """Remove a secret for good, in the store and outside it, and return what changed. Running turns end.

    Raises InvalidInput, StoreWriteFailed; StoreLocked when another process owns the store.
    """
    redaction = Redaction(request, workspace.clock())
    if isinstance(workspace.store, RemoteStore):  # its owner's open conversations would write it again
        raise StoreLocked(
            "Nothing was forgotten: this workspace is open in another Helix Desktop.",
            workspace.store.owner_pid,
            "What it holds in memory would be written again.",
            "Forget it in that window, or close that and try again.",
        )
    outside = await _add_outside_store(app_data, workspace.id, redaction, RedactionMatches())
    matches = await redact(workspace, request, on_progress)
    if outside.rules:
        rules = app_data.registry.get(workspace.id).rules
        clean = tuple(rule for rule in rules if redaction.redact_text(rule.subject) == rule.subject)
        app_data.registry.change(workspace.id, rules=clean)
    if outside.servers:
        servers = tuple(
            _redact_server(server, redaction.redact_text)
            for server in app_data.registry.get(workspace.id).servers
        )
        app_data.registry.change(workspace.id, servers=servers)
    for name in outside.logs:
        await asyncio.to_thread(_redact_log, app_data.data.logs_dir / name, redaction)
    return msgspec.structs.replace(matches, rules=outside.rules, logs=outside.logs, servers=outside.servers)


async def _add_outside_store(
    app_data: AppData, workspace_id: str, redaction: Redaction, matches: RedactionMatches
) -> RedactionMatches:
    if not redaction.needles:
        return matches
    redact_text, record = redaction.redact_text, app_data.registry.get(workspace_id)
    rules = (redact_text(rule.text) for rule in record.rules if redact_text(rule.subject) != rule.subject)
    servers = tuple(server.name for server in record.servers if _redact_server(server, redact_text) != server)
    logs = await asyncio.to_thread(_logs_containing, app_data.data.logs_dir, redaction)
    return msgspec.structs.replace(matches, rules=tuple(rules), logs=logs, servers=servers)


def _redact_server(entry: McpServerConfig, redact_text: Callable[[str], str]) -> McpServerConfig:
    """Return a server without the secret; the user's consent was for another fingerprint."""
    return msgspec.structs.replace(
        entry,
        command=redact_text(entry.command),
        args=tuple(map(redact_text, entry.args)),
        env={name: redact_text(value) for name, value in entry.env.items()},
        cwd=redact_text(entry.cwd),
        url=redact_text(entry.url),
        headers={name: redact_text(value) for name, value in entry.headers.items()},
    )


def _logs_containing(folder: Path, redaction: Redaction) -> tuple[str, ...]:
    names = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        try:
            if path.is_file() and redaction.matches(path.read_bytes()):
                names.append(path.name)
        except OSError as error:
            log.warning("a log could not be looked through: %s", error)
    return tuple(names)


def _redact_log(path: Path, redaction: Redaction) -> None:
    # In place: the app goes on writing to the end of this very file.
    with path.open("r+b") as file:
        clean = redaction.redact_data(file.read())
        file.seek(0)
        file.write(clean)
        file.truncate()


class WorkspaceRedaction:
    """The redaction of one open workspace, in its store and outside it, for the window."""

    def __init__(self, app_data: AppData, workspace: OpenWorkspace) -> None:
        self._app_data, self._workspace = app_data, workspace

    async def preview(self, request: RedactionRequest, on_progress: OnProgress) -> RedactionMatches:
        """Find the matches and change nothing. Raises InvalidInput."""
        return await preview_redaction(self._app_data, self._workspace, request, on_progress)

    async def carry_out(self, request: RedactionRequest, on_progress: OnProgress) -> RedactionMatches:
        """Remove a secret for good and return what changed. Raises InvalidInput, StoreWriteFailed."""
        return await redact_workspace(self._app_data, self._workspace, request, on_progress)
