"""Keeps rail, switcher and session list in step with the workspaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from time import perf_counter

from PySide6.QtCore import QObject, QTimer

from helix_desktop.agent.open_workspace import OpenWorkspace, subagent_sessions, total_spending
from helix_desktop.agent.session import (
    ApprovalRequested,
    ErrorRaised,
    EventRecorded,
    ExternalChange,
    QuestionAsked,
    RequestChanged,
    SpendRequestsChanged,
    SubagentProgress,
    TurnChanged,
)
from helix_desktop.domain.cost import Spending
from helix_desktop.domain.errors import HelixError, StoreClosed
from helix_desktop.domain.events.session import NEW_TITLE
from helix_desktop.domain.store import SessionSummary, SessionVersions
from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.ui.chat.drafts.attachments import DraftAttachments
from helix_desktop.ui.design.minute_clock import MinuteClock
from helix_desktop.ui.kit.intents import LocateWorkspace, RefreshLists, handles
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.window.jobs import WaitingSession
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.sidebar.rail import (
    WorkspaceBadge,
    WorkspaceRow,
    disambiguate,
    distinct_colors,
)
from helix_desktop.ui.window.sidebar.session_list import SessionItem
from helix_desktop.ui.window.window_group import WindowGroup
from helix_desktop.words.costs import CostState
from helix_desktop.words.direction import dotted
from helix_desktop.words.failed_turns import turn_failure_reason
from helix_desktop.words.git import git_text
from helix_desktop.words.models import model_name
from helix_desktop.words.numbers import format_size
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import Translator
from helix_desktop.workspaces.registry import WorkspaceRecord

tr = Translator("Workspaces")

_DEMO_PROVIDER = "demo/"
_COALESCE_MS = 250
_PAUSE_FACTOR = 10  # the list takes at most so much less time than there is between two updates of it
MISSING_FOLDER = "folder-missing"
"""Of the notice that the folder of a workspace is gone."""

ListedUpdate = (
    EventRecorded
    | ApprovalRequested
    | QuestionAsked
    | SpendRequestsChanged
    | SubagentProgress
    | TurnChanged
    | RequestChanged
    | ErrorRaised
    | ExternalChange
)
"""What may change a row of the lists."""


class SidebarPresenter(QObject):
    def __init__(
        self, window: MainWindow, session: Session, windows: WindowGroup, attachments: DraftAttachments
    ) -> None:
        super().__init__(window)
        self._window, self._services = window, session.app
        self._session, self._windows = session, windows
        self._opening_id = ""  # the session that is on screen soon
        self._cache_sizes: dict[str, str] = {}
        self._recounting: set[str] = set()  # workspaces whose sessions are being counted
        self._lists_interrupted = False
        self._last_shown: dict[str, str] = {}  # by session: which of its versions was on screen last
        self._refresh_timer = QTimer(self, singleShot=True, interval=_COALESCE_MS)
        self._refresh_timer.timeout.connect(lambda: self._session.start(self._refresh(), "refresh sidebar"))
        attachments.content_stored.connect(self.schedule_refresh)
        attachments.content_stored.connect(lambda: self._windows.lists_changed.emit(self._window))
        window.intents.add(self)
        sessions = window.sidebar.session_list
        # The user may have moved a folder meanwhile.
        window.activated.connect(self.show_workspaces)
        MinuteClock(sessions).ticked.connect(lambda: sessions.update_time(datetime.now()))

    def mark_opening(self, session_id: str) -> None:
        """Mark a session as if it were on screen, until `end_opening`."""
        self._opening_id = session_id
        self._window.sidebar.session_list.mark_open(session_id)

    def end_opening(self, session_id: str) -> None:
        """Mark the session that is on screen from the next refresh on."""
        if self._opening_id == session_id:
            self._opening_id = ""

    def schedule_refresh(self) -> None:
        """Show the lists as they are within a moment, once for many changes."""
        if not self._refresh_timer.isActive():
            self._refresh_timer.start()

    @handles(RefreshLists)
    async def refresh(self) -> None:
        """Show workspaces and sessions as they are now: something changed them here. Others follow."""
        self._windows.lists_changed.emit(self._window)
        await self._refresh()

    async def _refresh(self) -> None:
        workspace = self._session.opened
        complete = await self._show_sessions(workspace)
        await self._note_interrupted()
        self.show_workspaces()
        if workspace is not None and not complete and workspace.id not in self._recounting:
            self._session.start(self._recount(workspace), "recount sessions")

    async def _note_interrupted(self) -> None:
        """Note in the records of open workspaces in which a turn was interrupted, for when they are closed.

        A turn that runs is noted too: after a crash nobody could.
        """
        for workspace in list(self._services.open_workspaces.values()):
            with suppress(HelixError):  # a store says so itself, without a record only the list marks it
                was_noted = self._services.registry.get(workspace.id).interrupted
                is_noted = any(conversation.is_running for conversation in workspace.conversations)
                if not is_noted and workspace.id == self._session.workspace_id:
                    is_noted = self._lists_interrupted
                elif not is_noted and was_noted:
                    is_noted = any(map(workspace.is_interrupted, await workspace.store.sessions()))
                if is_noted != was_noted:
                    self._services.registry.change(workspace.id, interrupted=is_noted)

    def show_workspaces(self) -> None:
        """Show the workspaces of the list, in different colors; two of one name say where they are."""
        records = self._services.registry.list_workspaces()
        rows = [self._row(record) for record in records]
        # By age: a new workspace must not change the color of another.
        colors = distinct_colors(record.id for record in sorted(records, key=lambda record: record.added))
        self._window.show_workspaces(_disambiguated(rows, colors), self._services.settings.recent)
        self._show_waiting_sessions()
        active_row = next((row for row in rows if row.active), None)
        closed = active_row is not None and self._session.opened is None
        if closed and self._session.is_opening:
            return
        self._window.sidebar.show_closed(_closed_reason(active_row) if active_row and closed else "")
        if active_row is not None and not closed:
            self._report_folder(active_row)

    def _show_waiting_sessions(self) -> None:
        """Show which sessions of open workspaces wait for the user; what a subagent asks, its parent asks."""
        waiting = [
            WaitingSession(
                workspace.id, conversation.session.id, ellipsize_title(session_title(transcript.title))
            )
            for workspace in self._services.open_workspaces.values()
            for conversation in workspace.conversations
            if conversation.asks and not (transcript := conversation.session.transcript).parent
        ]
        self._window.show_waiting_sessions(waiting, self._session.transcript.parent or self._session.id)

    def _report_folder(self, row: WorkspaceRow) -> None:
        """Say that the folder of an open workspace is gone, or no longer."""
        notices, opened = self._window.notices, self._session.opened
        if row.badge != "missing" or opened is None or opened.is_read_only:
            notices.end(MISSING_FOLDER, row.id)
        elif MISSING_FOLDER not in notices.names():
            locate = partial(self._window.perform, LocateWorkspace(row.id))
            notices.notify(
                Notice(
                    MISSING_FOLDER,
                    tr("Folder not found"),
                    f"{row.path}.",
                    tr("The agent can't read or change its files until the folder is back."),
                    (Answer(tr("Locate…"), locate, "locate"),),
                    "warning",
                    can_dismiss=False,
                    workspace_id=row.id,
                )
            )

    async def _recount(self, workspace: OpenWorkspace) -> None:
        """Count the sessions whose usage is not known, then show them."""
        self._recounting.add(workspace.id)
        try:
            with suppress(StoreClosed):
                if await workspace.usage.recount_missing():
                    await self._refresh()
        finally:
            self._recounting.discard(workspace.id)

    def _row(self, record: WorkspaceRecord) -> WorkspaceRow:
        return WorkspaceRow(
            id=record.id,
            name=record.name,
            path=record.path,
            active=record.id == self._session.workspace_id,
            badge=_badge(self._services.open_workspaces.get(record.id), record),
            cache=self._cache_sizes.get(record.id, ""),
            git=git_text(self._services.git.status(record.id)),
        )

    async def _show_sessions(self, workspace: OpenWorkspace | None) -> bool:
        """Show a workspace's sessions; return True if every session's usage is known."""
        sidebar = self._window.sidebar
        if workspace is None and self._session.is_opening:
            return True
        if workspace is None:
            sidebar.show_sessions([], datetime.now())
            return True
        sessions = await workspace.store.sessions()
        self._lists_interrupted = any(map(workspace.is_interrupted, sessions))
        totals = await workspace.store.totals()
        self._cache_sizes[workspace.id] = format_size(totals.size) if totals.entries else ""
        started_s = perf_counter()
        titles = {session.id: session.title for session in sessions}
        versions = SessionVersions(session for session in sessions if not session.parent)
        marked_id = self._opening_id if self._opening_id in titles else self._session.id
        unused = await unused_sessions(self._windows, workspace, sessions) - {marked_id}
        subagents = subagent_sessions(sessions)
        self._last_shown |= dict.fromkeys(versions.ids_of(marked_id), marked_id)
        shown = {
            session.id: self._shown_version(versions.ids_of(session.id)) or versions.row_of(session).id
            for session in sessions
            if not session.parent
        }
        items = [
            _item(session, workspace, marked_id, titles.get(session.origin, ""), subagents, versions, shown)
            for session in sessions
            if session.id not in unused
            and (session.parent in titles if session.parent else shown[session.id] == session.id)
        ]
        sidebar.show_sessions(items, datetime.now())
        took_ms = round((perf_counter() - started_s) * 1000)
        self._refresh_timer.setInterval(max(_COALESCE_MS, took_ms * _PAUSE_FACTOR))
        return all(session.parent or workspace.usage.of(session) is not None for session in sessions)

    def _shown_version(self, versions: Sequence[str]) -> str:
        """Return which of a session's versions was on screen last, the same for each of them; empty: none."""
        last_shown = (self._last_shown.get(version, "") for version in versions)
        return next((version for version in last_shown if version in versions), "")


async def unused_sessions(
    windows: WindowGroup, workspace: OpenWorkspace, sessions: Sequence[SessionSummary]
) -> frozenset[str]:
    """Return which sessions of a workspace nobody used, by id: without a draft, and in no window.

    Where there are no others, all of them are listed.
    """
    on_screen = {window.shown_session.session_id for window in windows.windows}
    unused = [
        session.id
        for session in sessions
        if is_untouched(session)
        and session.id not in on_screen
        and not await workspace.store.draft(session.id)
    ]
    return frozenset(unused) if len(unused) < len(sessions) else frozenset()


def is_untouched(session: SessionSummary) -> bool:
    """Return True if nothing was recorded in a session but that it began: no message, choice, name or pin."""
    is_of_another = session.parent or session.origin or session.branch_of
    return session.events == 1 and session.title == NEW_TITLE and not is_of_another


def _closed_reason(row: WorkspaceRow) -> str:
    if row.badge == "missing":
        return tr("Folder not found. Sessions are kept.")
    return tr("Not open. Sessions are kept.")


def _disambiguated(rows: list[WorkspaceRow], colors: dict[str, str]) -> list[WorkspaceRow]:
    """Tell similar workspaces apart: by their place, and by color where there are too many for all."""
    places: dict[str, str] = {}
    for alike in _groups(rows, lambda row: row.name.casefold()):
        places |= zip((row.id for row in alike), disambiguate([row.path for row in alike]), strict=True)
    for alike in _groups(rows, WorkspaceRow.display_initials):
        if len({colors[row.id] for row in alike}) < len(alike):
            colors = colors | distinct_colors(sorted(row.id for row in alike))
    return [
        replace(
            row,
            name=f"{row.name} ({places[row.id]})" if row.id in places else row.name,
            initials=row.display_initials(),
            color=colors[row.id],
        )
        for row in rows
    ]


def _groups(rows: list[WorkspaceRow], key: Callable[[WorkspaceRow], str]) -> list[list[WorkspaceRow]]:
    """Return the rows that share a key, where there are several."""
    alike: dict[str, list[WorkspaceRow]] = {}
    for row in rows:
        alike.setdefault(key(row), []).append(row)
    return [group for group in alike.values() if group[1:]]


def _began_as(first: SessionSummary) -> str:
    """Return what a session began as, by its first version: a branch or a rewind."""
    if not first.branch_of or first.is_version:
        return ""
    return tr("Rewound") if first.branch_how == "rewind" else tr("Branch")


def _badge(workspace: OpenWorkspace | None, record: WorkspaceRecord) -> WorkspaceBadge:
    if not Path(record.path).is_dir():
        return "missing"
    conversations = workspace.conversations if workspace is not None else ()
    if any(conversation.asks for conversation in conversations):
        return "waiting"
    if any(conversation.is_running for conversation in conversations):
        return "running"
    return "interrupted" if record.interrupted else ""


def _item(
    session: SessionSummary,
    workspace: OpenWorkspace,
    active_session_id: str,
    origin: str,
    subagents: Mapping[str, Sequence[SessionSummary]],
    versions: SessionVersions,
    shown: Mapping[str, str],
) -> SessionItem:
    """Return a session as the list shows it; `origin` is the title of the session that it continues.

    `shown` has by session the version that its row opens: this one. What it costs, and what runs or asks, is
    that of all versions; the rest is its own.
    """
    group = versions.of(session)
    conversations = [here for version in group if (here := workspace.find_open(version.id)) is not None]
    here = workspace.find_open(session.id)
    is_demo = session.model.startswith(_DEMO_PROVIDER)
    is_running = any(conversation.is_running for conversation in conversations)
    has_budget_again = session.budget_spent and here is not None and here.session.failed_end is None
    failure = "" if is_running or has_budget_again else turn_failure_reason(session.failure)
    is_interrupted = not is_running and any(map(workspace.is_interrupted, group))
    spent = sum((total_spending(version, subagents) for version in group), Spending())
    parts = [CostState(spent, is_demo=is_demo).short_cost_text]
    if len(group) > 1:
        parts.append(tr.plural(len(group), "%n version", "%n versions"))
    elif session.counts is not None:
        parts.append(tr.plural(session.messages, "%n message", "%n messages"))
    parts += [tr("From “{title}”", title=session_title(origin))] if origin else []
    parts.append(tr("Demo") if is_demo else model_name(session.model, demo=False))
    gauge = workspace.usage.of(session)
    return SessionItem(
        id=session.id,
        title=session_title(session.title),
        subtitle=dotted(parts),
        updated_ms=max(version.updated for version in group),
        used=gauge.share if gauge else None,
        running=is_running,
        active=session.id == active_session_id,
        waiting=any(conversation.asks for conversation in conversations),
        parent=shown.get(session.parent, session.parent),
        created_ms=group[0].created,
        branch_of=shown.get(versions.parent_of(session), versions.parent_of(session)),
        place=versions.place_of(session),
        failure=failure,
        budget_spent=session.budget_spent,
        stopped=session.stopped and not is_running,
        interrupted=is_interrupted,
        began_as=_began_as(group[0]),
        versions=tuple((version.id, version.title) for version in group) if len(group) > 1 else (),
    )
