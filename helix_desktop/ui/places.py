"""Keeps rail, switcher and session list in step with the workspaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from helix_desktop.agent.room import Room
from helix_desktop.context.content import SessionSummary
from helix_desktop.context.digest import size_text
from helix_desktop.context.spending import dollars
from helix_desktop.ui.chat.from_events import model_name
from helix_desktop.ui.frame.rows import messages_text
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.ports import Desk
from helix_desktop.ui.sidebar.rows import Badge, SessionItem, WorkspaceRow, colors_of, told_apart
from helix_desktop.ui.usage_bar import pressure_of
from helix_desktop.workspaces.record import WorkspaceRecord

_DEMO_PROVIDER = "demo/"


class SidebarPresenter:
    """Shows what the desk knows; `active` is the workspace that is open in the window."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window
        self._cache: dict[str, str] = {}

    def show_workspaces(self, desk: Desk, active: str) -> None:
        """Show the workspaces of the list; two of one name say where they are, and differ in colour."""
        rows = [self._row(desk, record, active) for record in desk.registry.listed()]
        self._window.show_workspaces(_distinct(rows))
        shown = next((row for row in rows if row.active), None)
        closed = shown is not None and active not in desk.rooms
        self._window.sidebar.show_closed(_why_closed(shown) if shown and closed else "")

    def _row(self, desk: Desk, record: WorkspaceRecord, active: str) -> WorkspaceRow:
        return WorkspaceRow(
            id=record.id,
            name=record.name,
            path=record.path,
            active=record.id == active,
            badge=_badge(desk.rooms.get(record.id), record),
            cache=self._cache.get(record.id, ""),
        )

    async def show_sessions(self, room: Room | None, active: str) -> bool:
        """Show the sessions and the cache size of a room; whether it is known how full each one is."""
        sidebar = self._window.sidebar
        if room is None:
            sidebar.show_sessions([], datetime.now())
            sidebar.show_cache("")
            return True
        sessions = await room.store.sessions()
        totals = await room.store.totals()
        size = size_text(totals.size)
        self._cache[room.id] = size if totals.entries else ""
        listed = {one.id for one in sessions}
        items = [_item(one, room, active, sessions) for one in sessions if one.parent in {"", *listed}]
        sidebar.show_sessions(items, datetime.now())
        count = "1 entry" if totals.entries == 1 else f"{totals.entries:,} entries"
        sidebar.show_cache(f"{size} · {count}" if totals.entries else "")
        return all(one.parent or room.gauge(one) is not None for one in sessions)


def _why_closed(row: WorkspaceRow) -> str:
    reason = "Folder missing" if row.badge == "missing" else "Not open"
    return f"{reason}; sessions are kept."


def _distinct(rows: list[WorkspaceRow]) -> list[WorkspaceRow]:
    places: dict[str, str] = {}
    colors: dict[str, str] = {}
    for alike in _groups(rows, lambda row: row.name.casefold()):
        places |= zip((row.id for row in alike), told_apart([row.path for row in alike]), strict=True)
    for alike in _groups(rows, WorkspaceRow.shown_initials):
        colors |= colors_of(row.id for row in alike)
    return [
        replace(
            row,
            name=f"{row.name} ({places[row.id]})" if row.id in places else row.name,
            initials=row.shown_initials(),
            color=colors.get(row.id, row.color),
        )
        for row in rows
    ]


def _groups(rows: list[WorkspaceRow], key: Callable[[WorkspaceRow], str]) -> list[list[WorkspaceRow]]:
    """The rows that share a key, where there are several."""
    alike: dict[str, list[WorkspaceRow]] = {}
    for row in rows:
        alike.setdefault(key(row), []).append(row)
    return [group for group in alike.values() if group[1:]]


def _badge(room: Room | None, record: WorkspaceRecord) -> Badge:
    if not Path(record.path).is_dir():
        return "missing"
    if room is None:
        return ""
    if any(conversation.asks for conversation in room.conversations):
        return "waiting"
    return "running" if any(conversation.running for conversation in room.conversations) else ""


def _item(session: SessionSummary, room: Room, active: str, others: Sequence[SessionSummary]) -> SessionItem:
    here = room.known(session.id)
    name = model_name(session.model, session.model.startswith(_DEMO_PROVIDER))
    parts = [messages_text(session.messages), name] if name else [messages_text(session.messages)]
    cost = session.cost + sum(one.cost for one in others if one.parent == session.id)
    if cost:
        parts.append(dollars(cost))
    gauge = room.gauge(session)
    return SessionItem(
        id=session.id,
        title=session.title or "New session",
        subtitle=" · ".join(parts),
        updated_ms=session.updated,
        used=gauge.share if gauge else None,
        pressure=pressure_of(gauge) if gauge else "calm",
        running=here is not None and here.running,
        active=session.id == active,
        waiting=here is not None and bool(here.asks),
        parent=session.parent,
        created_ms=session.created,
    )
