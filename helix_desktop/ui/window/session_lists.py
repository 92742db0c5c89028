"""Rail, picker and session list in step with the workspaces; pin, archive, delete, each with Undo."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from PySide6.QtCore import QTimer

from helix_desktop.agent.open_workspace import (
    OpenWorkspace,
    delete_session,
    subagent_sessions,
    total_spending,
)
from helix_desktop.agent.session import (
    ApprovalRequested,
    ErrorRaised,
    EventRecorded,
    ExternalChange,
    QuestionAsked,
    RequestChanged,
    RetryEnded,
    SpendRequestsChanged,
    SubagentProgress,
    TurnChanged,
)
from helix_desktop.domain.cost import Spending
from helix_desktop.domain.errors import HelixError, StoreClosed
from helix_desktop.domain.events.session import NEW_TITLE
from helix_desktop.domain.messages import RetryScheduled
from helix_desktop.domain.retention import TRASH_DAYS
from helix_desktop.domain.store import ListPlace, SessionSummary, SessionVersions
from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.minute_clock import MinuteClock
from helix_desktop.ui.kit import intents
from helix_desktop.ui.kit.commands import OWN_PLACE, set_action_words
from helix_desktop.ui.kit.intents import handles
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.sidebar.session_list import SessionItem
from helix_desktop.ui.window.status_lines import WaitingSession
from helix_desktop.ui.window.window_group import WindowGroup, WindowPart
from helix_desktop.ui.window.workspace_badges import WorkspaceRow, disambiguate, distinct_colors, work_state
from helix_desktop.words.costs import CostState
from helix_desktop.words.failed_turns import turn_failure_reason
from helix_desktop.words.git import git_text
from helix_desktop.words.lines import dotted
from helix_desktop.words.model_names import model_name
from helix_desktop.words.numbers import format_size
from helix_desktop.words.sessions import session_title
from helix_desktop.words.times import format_date
from helix_desktop.words.translation import Translator, translate
from helix_desktop.workspaces.registry import WorkspaceRecord

tr = Translator("Workspaces")

_DEMO_PROVIDER = "demo/"
_COALESCE_MS = 250
_SLICE = 100  # sessions: about 5 ms, after which the window goes on first
_PAUSE_FACTOR = 10  # the list takes at most so much less time than there is between two updates of it
MISSING_FOLDER = "folder-missing"
"""Of the notice that the folder of a workspace is gone."""

ListedUpdate = (
    EventRecorded | ApprovalRequested | QuestionAsked | SpendRequestsChanged | SubagentProgress
    | TurnChanged | RetryScheduled | RetryEnded | RequestChanged | ErrorRaised | ExternalChange
)  # fmt: skip
"""What may change a row of the lists."""

_MOVED = "session-moved"
DELETED_SESSION = "session-deleted"
"""Of the notice that a session is in the trash: what takes it out of there ends it."""


class _ListMove(NamedTuple):
    workspace_id: str
    session_id: str
    previous: ListPlace
    place: ListPlace


class SessionLists(WindowPart):
    """Fills rail, picker and session list; pins, archives and deletes sessions, each with Undo."""

    def __init__(self, window: MainWindow, windows: WindowGroup) -> None:
        super().__init__(window, windows)
        self._moved: _ListMove | None = None  # what the notice is about
        self._deleted: dict[str, str] = {}  # session and its workspace, the last deleted at the end
        self._opening_id = ""  # the session that is on screen soon
        self._trashed: list[SessionItem] = []
        self._trashed_for: tuple[str, frozenset[str]] | None = None  # workspace, and what it lists beside
        self._cache_sizes: dict[str, str] = {}
        self._recounting: set[str] = set()  # workspaces whose sessions are being counted
        self._uncounted: set[str] = set()  # sessions of the list whose usage is not known
        self._lists_interrupted = False
        self._refreshing = asyncio.Lock()
        self._listed: dict[str, SessionItem] = {}  # those that stay equal stay the same
        self._last_shown: dict[str, str] = {}  # by session: which of its versions was on screen last
        self._refresh_timer = QTimer(self, singleShot=True, interval=_COALESCE_MS)
        self._refresh_timer.timeout.connect(lambda: self._start(self._refresh(), "refresh sidebar"))
        self._session.changed.connect(self._show_actions)
        sessions = window.sidebar.session_list
        recount_timer = QTimer(self, singleShot=True, interval=_COALESCE_MS)
        recount_timer.timeout.connect(self._recount_in_view)
        scroll_bar = sessions.verticalScrollBar()
        scroll_bar.valueChanged.connect(lambda _: recount_timer.start())
        scroll_bar.rangeChanged.connect(lambda *_: recount_timer.start())  # more room, more rows
        # The user may have moved a folder meanwhile.
        window.activated.connect(self.show_workspaces)
        MinuteClock(sessions).ticked.connect(lambda: sessions.update_time(datetime.now()))

    @contextmanager
    def opening(self, session_id: str) -> Iterator[None]:
        """Mark a session as if it were on screen, until it is, or until it can't be opened."""
        self._opening_id = session_id
        self._window.sidebar.session_list.mark_open(session_id)
        try:
            yield
        except HelixError:
            self.schedule_refresh()  # the one on screen is marked again
            raise
        finally:
            if self._opening_id == session_id:
                self._opening_id = ""

    def follow(self, workspace: OpenWorkspace, session_id: str, update: ListedUpdate) -> None:
        """Show what an update of any session changed; a notice that is not true any more goes."""
        self.schedule_refresh()
        if not isinstance(update, EventRecorded):
            return
        self._show_actions()
        conversation = workspace.find_open(session_id)
        moved = self._moved
        if moved is None or conversation is None or session_id != moved.session_id:
            return
        if conversation.session.transcript.place != moved.place:
            self._session.notices.end(_MOVED)

    def schedule_refresh(self) -> None:
        """Show the lists as they are within a moment, once for many changes."""
        if not self._refresh_timer.isActive():
            self._refresh_timer.start()

    @handles(intents.RefreshLists)
    async def refresh(self) -> None:
        """Show workspaces and sessions as they are now: something changed them here. Others follow."""
        self._trashed_for = None
        self._windows.lists_changed.emit(self._window)
        await self._refresh()

    async def _refresh(self) -> None:
        async with self._refreshing:
            await self._show_sessions()
            await asyncio.sleep(0)
            await self._note_interrupted()
            self.show_workspaces()

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
        reason = ""
        if active_row is not None and closed:
            is_missing = active_row.badge == "missing"
            lost = tr("Folder not found. Sessions are kept.")
            shut = tr("Not open. Sessions are kept.")
            reason = lost if is_missing else shut
        self._window.sidebar.show_closed(reason)
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
        notices = self._window.notices
        opened = self._session.opened
        if row.badge != "missing" or opened is None or opened.is_read_only:
            notices.end(MISSING_FOLDER, row.id)
        elif MISSING_FOLDER not in notices.names():
            locate = partial(self._window.perform, intents.LocateWorkspace(row.id))
            fix = tr("The agent can't read or change its files until the folder is back.")
            answers = (Answer(tr("Locate…"), locate, "locate"),)
            what = tr("Folder not found")
            why = f"{row.path}."
            notices.notify(
                Notice(
                    MISSING_FOLDER, what, why, fix, answers, "warning", can_dismiss=False, workspace_id=row.id
                )
            )

    def _recount_in_view(self) -> None:
        """Count how full the sessions in view are, where that is not known: the others can wait."""
        workspace = self._session.opened
        if workspace is None or workspace.id in self._recounting:
            return
        in_view = self._window.sidebar.session_list.ids_in_view()
        session_ids = self._uncounted.intersection(in_view)
        if session_ids:
            self._uncounted -= session_ids
            self._start(self._recount(workspace, session_ids), "recount sessions")

    async def _recount(self, workspace: OpenWorkspace, session_ids: Collection[str]) -> None:
        self._recounting.add(workspace.id)
        try:
            with suppress(StoreClosed):
                if await workspace.usage.recount(session_ids):
                    await self._refresh()
        finally:
            self._recounting.discard(workspace.id)
        self._recount_in_view()  # the user may have scrolled meanwhile

    def _row(self, record: WorkspaceRecord) -> WorkspaceRow:
        workspace = self._services.open_workspaces.get(record.id)
        conversations = workspace.conversations if workspace is not None else ()
        badge = work_state(conversations, is_interrupted=record.interrupted)
        return WorkspaceRow(
            id=record.id,
            name=record.name,
            path=record.path,
            active=record.id == self._session.workspace_id,
            badge=badge if Path(record.path).is_dir() else "missing",
            cache=self._cache_sizes.get(record.id, ""),
            git=git_text(self._services.git.status(record.id)),
        )

    async def _show_sessions(self) -> None:
        """Show the workspace's sessions, in slices; count those in view whose usage is not known."""
        sidebar = self._window.sidebar
        workspace = self._session.opened
        if workspace is None:
            if not self._session.is_opening:
                sidebar.show_sessions([], datetime.now())
            return
        sessions = await workspace.store.sessions()
        totals = await workspace.store.totals()
        self._cache_sizes[workspace.id] = format_size(totals.size) if totals.entries else ""
        started_s = perf_counter()
        began_at = self._place_on_screen
        titles = {session.id: session.title for session in sessions}
        versions = SessionVersions(session for session in sessions if not session.parent)
        marked_id = self._opening_id if self._opening_id in titles else self._session.id
        await asyncio.sleep(0)
        unused = await unused_sessions(self._windows, workspace, sessions) - {marked_id}
        subagents = subagent_sessions(sessions)
        self._last_shown |= dict.fromkeys(versions.ids_of(marked_id), marked_id)
        shown = {
            session_id: self._shown_version(versions.ids_of(session_id)) or versions.row_of(group[0]).id
            for session_id, group in versions.groups.items()
        }
        items = list[SessionItem]()
        is_interrupted = False
        uncounted = set[str]()
        for at, session in enumerate(sessions):
            if at % _SLICE == 0:
                await asyncio.sleep(0)
            is_interrupted = is_interrupted or workspace.is_interrupted(session)
            if workspace.usage.needs_count(session):
                uncounted.add(session.id)
            has_lost_parent = session.parent and session.parent not in titles
            is_shown = shown.get(session.id, session.id) == session.id and session.id not in unused
            if is_shown and not has_lost_parent:
                origin = titles.get(session.origin, "")
                item = _item(session, workspace, marked_id, origin, subagents, versions, shown)
                items.append(known if (known := self._listed.get(item.id)) == item else item)
        self._listed = {item.id: item for item in items}
        if totals.sessions > len(sessions):
            items += await self._trashed_items(workspace, frozenset(titles))
        sidebar.session_list.arrange(items)
        await asyncio.sleep(0)
        if began_at != self._place_on_screen:
            await self._show_sessions()
            return
        self._lists_interrupted = is_interrupted
        sidebar.show_sessions(items, datetime.now())
        took_ms = round((perf_counter() - started_s) * 1000)
        self._refresh_timer.setInterval(max(_COALESCE_MS, took_ms * _PAUSE_FACTOR))
        self._uncounted = uncounted
        self._recount_in_view()

    async def _trashed_items(self, workspace: OpenWorkspace, listed_ids: frozenset[str]) -> list[SessionItem]:
        """Return the sessions in the trash; what is listed beside them says whether they are the same."""
        if self._trashed_for != (workspace.id, listed_ids):
            trash = await workspace.store.retention.trash()
            self._trashed = [_trashed_item(*each) for each in trash.session_rows.items()]
            self._trashed_for = (workspace.id, listed_ids)
        return self._trashed

    @property
    def _place_on_screen(self) -> tuple[str, str]:
        """Return the workspace and the session that are on screen, or soon."""
        return self._session.workspace_id, self._opening_id or self._session.id

    def _shown_version(self, versions: Sequence[str]) -> str:
        """Return which of a session's versions was on screen last, the same for each of them; empty: none."""
        last_shown = (self._last_shown.get(version, "") for version in versions)
        return next((version for version in last_shown if version in versions), "")

    def _show_actions(self) -> None:
        """Let the menu say what it would do with the session on screen; a subagent's goes with its parent."""
        place = self._session.transcript.place
        commands = self._window.commands
        commands.set_met(OWN_PLACE, not self._session.transcript.parent)
        pin = tr("Unpin from top") if place.pinned else tr("Pin to top")
        set_action_words(commands.pin_session, pin)
        archive = tr("Unarchive session") if place.archived else tr("Archive session")
        set_action_words(commands.archive_session, archive)

    @handles(intents.PinSession)
    async def _pin(self, session_id: str, is_on: bool) -> None:
        is_pinned = self._session.transcript.place.pinned
        await self._move(session_id, pinned=is_on if session_id else not is_pinned)

    @handles(intents.ArchiveSession)
    async def _archive(self, session_id: str, is_on: bool) -> None:
        is_archived = self._session.transcript.place.archived
        await self._move(session_id, archived=is_on if session_id else not is_archived)

    async def _move(
        self, session_id: str, *, pinned: bool | None = None, archived: bool | None = None
    ) -> None:
        """Move a session in the list, the one on screen without an id, and offer to undo it."""
        session_id = session_id or self._session.conversation.session.id
        workspace = self._session.workspace
        previous = await workspace.move_in_list(session_id, pinned=pinned, archived=archived)
        transcript = (await workspace.open_session(session_id)).session.transcript
        title = ellipsize_title(session_title(transcript.title))
        self._moved = _ListMove(workspace.id, session_id, previous, transcript.place)

        undo = Answer(tr("Undo"), lambda: self._start(self._undo(session_id), "undo"), session_id)
        why = tr("A new message unarchives it.") if archived else ""
        what = _moved_text(title, pinned, archived)
        notice = Notice(_MOVED, what, why, answers=(undo,), workspace_id=workspace.id, is_brief=True)
        self._session.notices.notify(notice)
        await self.refresh()

    async def _undo(self, session_id: str) -> None:
        self._session.notices.end(_MOVED)
        moved = self._moved
        self._moved = None
        workspace = self._services.open_workspaces.get(moved.workspace_id) if moved is not None else None
        if moved is None or workspace is None:
            return
        listed = {info.id for info in await workspace.sessions()}
        if session_id in listed:  # else it is in the trash meanwhile
            place = moved.previous
            await workspace.move_in_list(session_id, pinned=place.pinned, archived=place.archived)
            await self.refresh()

    @handles(intents.TrashSession)
    async def _delete(self, session_id: str) -> None:
        if self._moved is not None and session_id == self._moved.session_id:
            self._session.notices.end(_MOVED)
        workspace = self._session.workspace
        listed = await workspace.store.sessions()
        versions = SessionVersions(listed).ids_of(session_id)
        working = {each.session.id for each in workspace.conversations if each.is_running}
        what = tr("Stop the agent and move this session to the trash?")
        why = tr("You can restore the session.")
        stop = tr("Stop and move to trash")
        is_working = bool(working.intersection(versions))
        if is_working and not await dialogs.confirm(self._window, what, why, "delete", stop):
            return
        has_keyboard = self._window.sidebar.session_list.hasFocus()
        titles = {info.id: info.title for info in listed}
        gone = {*versions, *(info.id for info in listed if info.parent in versions)}
        async with self._windows.away_from_sessions(self._window, workspace.id, gone):
            if self._session.id in gone:
                await self._session.show(workspace, None)
            await delete_session(workspace, session_id)
        for version in versions:
            self._windows.drafts.hide_unsaved(version)
        self._deleted.pop(session_id, None)
        self._deleted[session_id] = workspace.id
        if not self._session.has_conversation:
            await self._session.run(intents.ShowWorkspace(workspace.id))

        async def undo() -> None:
            await self._restore(session_id)

        what = _deleted_text(ellipsize_title(titles.get(session_id) or tr("Session")), len(versions))
        why = tr("You can restore it and its outputs from the trash for {days} days.", days=TRASH_DAYS)
        if any(info.branch_of in versions and info.id not in versions for info in listed):
            why = tr(
                "You can restore it and its outputs from the trash for {days} days. Its branches stay.",
                days=TRASH_DAYS,
            )
        answer = Answer(tr("Undo"), lambda: self._start(undo(), "undo delete"), session_id)
        self._session.notify(
            Notice(DELETED_SESSION, what, why, answers=(answer,), workspace_id=workspace.id, is_brief=True)
        )
        await self.refresh()
        if has_keyboard:  # which the opening of a session gives to the message
            self._window.sidebar.session_list.setFocus()

    @handles(intents.RestoreSession)
    async def _restore_of_here(self, session_id: str) -> None:
        """Restore a session of the workspace on screen: without an id the last deleted one of this run."""
        here = self._session.workspace_id
        if session_id:
            self._deleted[session_id] = here
            await self._restore(session_id)
            return
        for last in [session for session, place in reversed(self._deleted.items()) if place == here]:
            if await self._restore(last):
                return

    async def _restore(self, session_id: str) -> bool:
        """Restore a session, on screen if its workspace is; return False if it was not in the trash."""
        workspace = self._services.open_workspaces.get(self._deleted.pop(session_id, ""))
        self._session.notices.end(DELETED_SESSION)
        if workspace is None:
            return False
        retention = workspace.store.retention
        trashed = SessionVersions((await retention.trash()).sessions)
        restored = [await retention.restore_session(version) for version in trashed.ids_of(session_id)]
        if not any(restored):
            return False
        if self._session.workspace_id == workspace.id:
            has_keyboard = self._window.sidebar.session_list.hasFocus()
            await self._session.run(intents.OpenSession(session_id))
            if has_keyboard:
                self._window.sidebar.session_list.setFocus()
        return True


def _moved_text(title: str, pinned: bool | None, archived: bool | None) -> str:
    match pinned, archived:
        case _, True:
            return tr("“{title}” archived.", title=title)
        case _, False:
            return tr("“{title}” unarchived.", title=title)
        case True, _:
            return tr("“{title}” pinned.", title=title)
    return tr("“{title}” unpinned.", title=title)


def _deleted_text(title: str, versions: int) -> str:
    if versions == 1:
        return tr("“{title}” moved to the trash.", title=title)
    return tr.plural(
        versions,
        "“{title}” and its %n version moved to the trash.",
        "“{title}” with its %n versions moved to the trash.",
        title=title,
    )


def _trashed_item(versions: tuple[str, ...], session: SessionSummary) -> SessionItem:
    """Return the row of a session in the trash, which stands for all its `versions`."""
    return SessionItem(
        id=session.id,
        title=session_title(session.title),
        subtitle=tr("Moved to the trash on {date}", date=format_date(session.trashed)),
        updated_ms=session.trashed,
        used=None,
        active=False,
        versions=tuple((version, "") for version in versions) if len(versions) > 1 else (),
        is_trashed=True,
    )


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


def _disambiguated(rows: list[WorkspaceRow], colors: dict[str, str]) -> list[WorkspaceRow]:
    """Tell similar workspaces apart: by their place, and by color where there are too many for all."""
    places: dict[str, str] = {}
    for alike in _groups(rows, lambda row: row.name.casefold()):
        places |= zip((row.id for row in alike), disambiguate([row.path for row in alike]), strict=True)
    for alike in _groups(rows, WorkspaceRow.display_initials):
        if len({colors[row.id] for row in alike}) < len(alike):
            colors = colors | distinct_colors(sorted(row.id for row in alike))
    return [
        row._replace(
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
    retries = filter(None, (conversation.response.retry_reason for conversation in conversations))
    state = work_state(conversations)
    reason = translate(next(retries, ""))
    if not state:
        has_budget_again = session.budget_spent and here is not None and here.session.failed_end is None
        reason = "" if has_budget_again else turn_failure_reason(session.failure)
        if reason:
            state = "budget" if session.budget_spent else "failed"
        elif any(map(workspace.is_interrupted, group)):
            state = "interrupted"
        elif session.stopped:
            state = "stopped"
    spent = sum((total_spending(version, subagents) for version in group), Spending())
    parts = [CostState(spent, is_demo=is_demo).short_cost_text]
    if len(group) > 1:
        parts.append(tr.plural(len(group), "%n version", "%n versions"))
    elif session.counts is not None:
        parts.append(tr.plural(session.messages, "%n message", "%n messages"))
    parts += [tr("From “{title}”", title=session_title(origin))] if origin else []
    parts.append(tr("Demo") if is_demo else model_name(session.model, demo=False))
    began_as = ""
    if group[0].branch_of and not group[0].is_version:
        began_as = tr("Rewound") if group[0].branch_how == "rewind" else tr("Branch")
    return SessionItem(
        id=session.id,
        title=session_title(session.title),
        subtitle=dotted(parts),
        updated_ms=max(version.updated for version in group),
        used=workspace.usage.of(session),
        active=session.id == active_session_id,
        state=state,
        reason=reason,
        parent=shown.get(session.parent, session.parent),
        created_ms=group[0].created,
        branch_of=shown.get(versions.parent_of(session), versions.parent_of(session)),
        place=versions.place_of(session),
        began_as=began_as,
        versions=tuple((version.id, version.title) for version in group) if len(group) > 1 else (),
    )
