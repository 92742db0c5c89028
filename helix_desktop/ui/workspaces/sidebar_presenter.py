"""Keeps rail, switcher and session list in step with the workspaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.cost import format_usd
from helix_desktop.domain.digest import format_bytes, pluralize
from helix_desktop.domain.store.entries import SessionSummary
from helix_desktop.services.app_services import AppServices
from helix_desktop.ui.design.usage_bar import pressure_of
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.shell.sidebar.rows import (
    SessionItem,
    WorkspaceBadge,
    WorkspaceRow,
    disambiguate,
    distinct_colors,
)
from helix_desktop.words.models import model_name
from helix_desktop.workspaces.record import WorkspaceRecord

_DEMO_PROVIDER = "demo/"


class SidebarPresenter:
    """Shows the app's workspaces; `active` is the one that is open in the window."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window
        self._cache_sizes: dict[str, str] = {}

    def show_workspaces(self, services: AppServices, active_workspace_id: str) -> None:
        """Show the workspaces of the list; two of one name say where they are, and differ in color."""
        rows = [
            self._row(services, record, active_workspace_id) for record in services.registry.list_workspaces()
        ]
        self._window.show_workspaces(_disambiguated(rows))
        active_row = next((row for row in rows if row.active), None)
        closed = active_row is not None and active_workspace_id not in services.open_workspaces
        self._window.sidebar.show_closed(_closed_reason(active_row) if active_row and closed else "")

    def _row(self, services: AppServices, record: WorkspaceRecord, active_workspace_id: str) -> WorkspaceRow:
        return WorkspaceRow(
            id=record.id,
            name=record.name,
            path=record.path,
            active=record.id == active_workspace_id,
            badge=_badge(services.open_workspaces.get(record.id), record),
            cache=self._cache_sizes.get(record.id, ""),
        )

    async def show_sessions(self, workspace: OpenWorkspace | None, active_session_id: str) -> bool:
        """Show the sessions and the cache size of a room; whether it is known how full each one is."""
        sidebar = self._window.sidebar
        if workspace is None:
            sidebar.show_sessions([], datetime.now())
            sidebar.show_cache("")
            return True
        sessions = await workspace.store.sessions()
        totals = await workspace.store.totals()
        size = format_bytes(totals.size)
        self._cache_sizes[workspace.id] = size if totals.entries else ""
        listed = {session.id for session in sessions}
        items = [
            _item(session, workspace, active_session_id, sessions)
            for session in sessions
            if session.parent in {"", *listed}
        ]
        sidebar.show_sessions(items, datetime.now())
        count = pluralize(totals.entries, "entry", "entries")
        sidebar.show_cache(f"{size} · {count}" if totals.entries else "")
        return all(session.parent or workspace.usage_of(session) is not None for session in sessions)


def _closed_reason(row: WorkspaceRow) -> str:
    reason = "Folder missing" if row.badge == "missing" else "Not open"
    return f"{reason}; sessions are kept."


def _disambiguated(rows: list[WorkspaceRow]) -> list[WorkspaceRow]:
    places: dict[str, str] = {}
    colors: dict[str, str] = {}
    for alike in _groups(rows, lambda row: row.name.casefold()):
        places |= zip((row.id for row in alike), disambiguate([row.path for row in alike]), strict=True)
    for alike in _groups(rows, WorkspaceRow.display_initials):
        colors |= distinct_colors(row.id for row in alike)
    return [
        replace(
            row,
            name=f"{row.name} ({places[row.id]})" if row.id in places else row.name,
            initials=row.display_initials(),
            color=colors.get(row.id, row.color),
        )
        for row in rows
    ]


def _groups(rows: list[WorkspaceRow], key: Callable[[WorkspaceRow], str]) -> list[list[WorkspaceRow]]:
    """Return the rows that share a key, where there are several."""
    alike: dict[str, list[WorkspaceRow]] = {}
    for row in rows:
        alike.setdefault(key(row), []).append(row)
    return [group for group in alike.values() if group[1:]]


def _badge(workspace: OpenWorkspace | None, record: WorkspaceRecord) -> WorkspaceBadge:
    if not Path(record.path).is_dir():
        return "missing"
    if workspace is None:
        return ""
    if any(conversation.asks for conversation in workspace.conversations):
        return "waiting"
    return "running" if any(conversation.is_running for conversation in workspace.conversations) else ""


def _item(
    session: SessionSummary,
    workspace: OpenWorkspace,
    active_session_id: str,
    others: Sequence[SessionSummary],
) -> SessionItem:
    here = workspace.find_open(session.id)
    name = model_name(session.model, session.model.startswith(_DEMO_PROVIDER))
    parts = (
        [pluralize(session.messages, "message"), name] if name else [pluralize(session.messages, "message")]
    )
    cost = session.cost + sum(other.cost for other in others if other.parent == session.id)
    if cost:
        parts.append(format_usd(cost))
    gauge = workspace.usage_of(session)
    return SessionItem(
        id=session.id,
        title=session.title or "New session",
        subtitle=" · ".join(parts),
        updated_ms=session.updated,
        used=gauge.share if gauge else None,
        pressure=pressure_of(gauge) if gauge else "calm",
        running=here is not None and here.is_running,
        active=session.id == active_session_id,
        waiting=here is not None and bool(here.asks),
        parent=session.parent,
        created_ms=session.created,
    )
