"""Redaction of a workspace: store, file history, what was taken out, rules, filters, MCP servers, logs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import msgspec

from helix_desktop.agent.open_workspace import OpenWorkspace, redact
from helix_desktop.domain.errors import StoreLocked
from helix_desktop.domain.listeners import OnProgress, no_progress
from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.domain.redaction import Redaction, RedactionMatches, RedactionRequest
from helix_desktop.domain.store import SavedFilter
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.file_history.maintenance import FileHistoryMaintenance
from helix_desktop.store.remote.client import RemoteStore
from helix_desktop.tools.shell.auto_run_guard import AutoRunGuard
from helix_desktop.workspaces.registry import WorkspaceRegistry

log = logging.getLogger(__name__)
text = TextContext("Services")


class WorkspaceRedaction:
    def __init__(
        self,
        registry: WorkspaceRegistry,
        logs_dir: Path,
        workspace: OpenWorkspace,
        history: FileHistoryMaintenance,
        guard: AutoRunGuard,
    ) -> None:
        self._registry = registry
        self._logs_dir = logs_dir
        self._workspace = workspace
        self._history = history
        self._guard = guard

    async def preview(
        self, request: RedactionRequest, on_progress: OnProgress = no_progress
    ) -> RedactionMatches:
        """Find the matches, in the store and outside it, and change nothing. Raises InvalidInput."""
        redaction = Redaction(request, self._workspace.clock())
        matches = await self._workspace.store.redaction.preview(request, on_progress)
        matches = _with_history(matches, await self._history.preview(redaction, on_progress))
        return await self._add_outside_store(redaction, matches)

    async def redact(
        self, request: RedactionRequest, on_progress: OnProgress = no_progress
    ) -> RedactionMatches:
        """Remove a secret, in the store and outside it, and return what changed. Running turns end.

        Raises InvalidInput, StoreWriteFailed; StoreLocked when another process owns the store.
        """
        workspace = self._workspace
        redaction = Redaction(request, workspace.clock())
        if isinstance(workspace.store, RemoteStore):  # its owner's open conversations would write it again
            raise StoreLocked(
                text("Nothing was removed."),
                workspace.store.owner_pid,
                text("This workspace is open in another Helix Desktop, which would write the text again."),
                text("If it's a window, remove it there or close it. If it's a command, wait until it ends."),
            )
        outside = await self._add_outside_store(redaction, RedactionMatches())
        matches = await redact(workspace, request, on_progress)
        # Once no conversation is open, nothing captures any more what the secret is in.
        matches = _with_history(matches, await self._history.redact(redaction, on_progress))
        if outside.rules:
            rules = self._registry.get(workspace.id).rules
            clean = tuple(rule for rule in rules if redaction.redact_text(rule.subject) == rule.subject)
            self._registry.change(workspace.id, rules=clean)
        if outside.filters:
            filters = self._registry.get(workspace.id).cache_filters
            clean_filters = tuple(
                saved for saved in filters if not _is_in_filter(saved, redaction.redact_text)
            )
            self._registry.change(workspace.id, cache_filters=clean_filters)
        if outside.servers:
            servers = tuple(
                _redact_server(server, redaction.redact_text)
                for server in self._registry.get(workspace.id).servers
            )
            self._registry.change(workspace.id, servers=servers)
        if outside.taken_out:
            await asyncio.to_thread(self._guard.redact, redaction)
        for name in outside.logs:
            await asyncio.to_thread(_redact_log, self._logs_dir / name, redaction)
        return msgspec.structs.replace(
            matches,
            rules=outside.rules,
            logs=outside.logs,
            servers=outside.servers,
            filters=outside.filters,
            taken_out=outside.taken_out,
        )

    async def lift(self, digest: str) -> bool:
        """Allow a removed content to be stored again; return True if it was removed. Raises StoreError."""
        in_store = await self._workspace.store.redaction.lift(digest)
        return await self._history.lift(digest) or in_store

    async def _add_outside_store(self, redaction: Redaction, matches: RedactionMatches) -> RedactionMatches:
        if not redaction.needles:
            return matches
        redact_text = redaction.redact_text
        record = self._registry.get(self._workspace.id)
        rules = (redact_text(rule.text) for rule in record.rules if redact_text(rule.subject) != rule.subject)
        servers = tuple(
            server.name for server in record.servers if _redact_server(server, redact_text) != server
        )
        filters = (saved for saved in record.cache_filters if _is_in_filter(saved, redact_text))
        names = tuple(redact_text(saved.name) for saved in filters)
        logs = await asyncio.to_thread(_logs_containing, self._logs_dir, redaction)
        return msgspec.structs.replace(
            matches,
            rules=tuple(rules),
            logs=logs,
            servers=servers,
            filters=names,
            taken_out=await asyncio.to_thread(self._guard.containing, redaction),
        )


def _with_history(matches: RedactionMatches, history: RedactionMatches) -> RedactionMatches:
    return msgspec.structs.replace(
        matches,
        store_copies=matches.store_copies + history.store_copies,
        unreadable=matches.unreadable + history.unreadable,
        file_versions=history.file_versions,
        change_lists=history.change_lists,
        workspace_files=history.workspace_files,
    )


def _redact_server(config: McpServerConfig, redact_text: Callable[[str], str]) -> McpServerConfig:
    """Return a server without the secret; the user's consent was for another fingerprint."""
    return msgspec.structs.replace(
        config,
        command=redact_text(config.command),
        args=tuple(map(redact_text, config.args)),
        env={name: redact_text(value) for name, value in config.env.items()},
        cwd=redact_text(config.cwd),
        url=redact_text(config.url),
        headers={name: redact_text(value) for name, value in config.headers.items()},
        approved_files={redact_text(path): digest for path, digest in config.approved_files.items()},
        consent_changes=tuple(map(redact_text, config.consent_changes)),
    )


def _is_in_filter(saved: SavedFilter, redact_text: Callable[[str], str]) -> bool:
    return any(redact_text(word) != word for word in saved.words)


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
