"""Ctrl+K: a few letters find a workspace, a session, a message or a command; Enter goes there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing, suppress
from datetime import datetime
from itertools import islice
from typing import Any

import msgspec
from PySide6.QtCore import QRectF, Qt, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.errors import InvalidInput, StoreError
from helix_desktop.domain.store import SessionSummary, SessionVersions
from helix_desktop.domain.text_format import matches_query, message_query
from helix_desktop.domain.text_search import ExcerptSize, word_spans
from helix_desktop.services.search_everything import SearchFindings, SearchHit, SearchRequest
from helix_desktop.ui.design import accessibility
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.git_label import fit_git_text
from helix_desktop.ui.design.labels import elide_title
from helix_desktop.ui.kit import intents
from helix_desktop.ui.kit.boxes import Box, Column, Dot, Drawing, Frame, Icon, Pen, Row, Text, face
from helix_desktop.ui.kit.intents import handles, perform
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.rows.quick_picker import Line, QuickPicker, heading, key_hint, line
from helix_desktop.ui.window.command_list import CommandList, OfferedCommand
from helix_desktop.ui.window.search_everything import RunningSearch, indexing_note
from helix_desktop.ui.window.sidebar.rail import paint_workspace_badge
from helix_desktop.ui.window.workspace_badges import STATES, WorkspaceRow, WorkState, state_words, work_state
from helix_desktop.words.lines import dotted
from helix_desktop.words.sessions import session_title
from helix_desktop.words.times import format_short_time
from helix_desktop.words.translation import Translator, translate

tr = Translator("Window")


class SessionRow(msgspec.Struct, frozen=True):
    """A session of an open workspace. `detail` names its workspace, `when` is when it was last used."""

    workspace_id: str
    id: str
    title: str
    detail: str
    when: str
    badge: WorkState = ""
    active: bool = False  # on screen
    archived: bool = False
    icon: str = "message-square"


class MessageRow(msgspec.Struct, frozen=True):
    """A message that a search found: whose, in which session, when; where the words are in its line."""

    workspace_id: str
    hit: SearchHit
    detail: str
    when: str
    marks: tuple[tuple[int, int], ...]


_MAX_LINES = 9
_WIDE_PX = 680
_GROUP_ROWS = 6  # of workspaces, sessions and commands each, where a search looks for all of them
_NAMED_UNREAD = 3  # workspaces that are not open
_PAUSE_MS = 120  # of typing, before messages are searched
_MAX_MESSAGES, _EXCERPT = 30, ExcerptSize(room=80, lead=30)
_COMMANDS, _SESSIONS, _MESSAGES = ">", "@", "#"

_ROW_PX = 50
_GIT_SHARE = 0.45  # of a row's width that the git state may take
_EDGE_PX, _ICON_PX, _KIND_PX = 12, 12, 16


def _name(words: str) -> Text:
    return Text(words, weight=600, cut=elide_title, grow=True, shrink=True)


def _end(words: str, badge: WorkState = "") -> list[Box]:
    """Return words at the end of a line, with the dot of a badge before them."""
    dot = [Dot(STATES[badge].dot, 7)] if badge else []
    return [*dot, *([Text(words, 12, "muted")] if words else [])]


def _workspace_lines(workspace: WorkspaceRow, git_px: float) -> Box:
    """Return name and path, with state and git state; `git_px` is what the git state may take."""
    cache = tr("Outputs: {size}", size=workspace.cache) if workspace.cache else ""
    words = dotted((state_words(workspace.badge), cache))
    if not words and workspace.active:
        words = tr("Open", "state of a workspace")
    state, git = _end(words, workspace.badge), list[Box]()
    if fitting := fit_git_text(workspace.git, face(12)[1], git_px):
        git = [Icon("git-branch", "muted", _ICON_PX), Text(fitting, 12, "muted")]
    elide = Qt.TextElideMode.ElideMiddle
    path = Text(workspace.path, 12, "muted", elide=elide, grow=True, shrink=True)
    if workspace.git.on_one_line:
        return Column([Row([_name(workspace.name), *state]), Row([path, *git])])
    return Row([Column([_name(workspace.name), path], grow=True, shrink=True), *state])


FindUnused = Callable[[OpenWorkspace, Sequence[SessionSummary]], Awaitable[frozenset[str]]]
"""Returns which sessions of a workspace nobody used, by id."""


class Switcher(QuickPicker):
    """Lists what it knows at once; messages come a moment after the last letter."""

    wide_px, line_px, max_lines = _WIDE_PX, _ROW_PX, _MAX_LINES

    def __init__(self, window: QWidget, commands: CommandList) -> None:
        hint = key_hint("Ctrl+Enter", tr("new session there", "what the keys do"))
        add = PushButton(tr("Open folder…"), "link", name="add_folder")
        super().__init__(
            window,
            tr("Go to"),
            tr("Search workspaces, sessions, messages and commands"),
            tr("open", "what the Enter key does"),
            (hint, add),
        )
        self._commands = commands
        self._workspaces: tuple[WorkspaceRow, ...] = ()
        self._recent_ids: tuple[str, ...] = ()
        self._sessions: tuple[SessionRow, ...] = ()
        self._messages: list[MessageRow] = []
        self._searched_words = ""  # that the messages were found by
        self._is_searching, self._search_note = False, ""
        self._opening: dict[str, str] = {}  # workspaces: id and name
        self._unread: Sequence[str] = ()  # names of workspaces whose sessions can't be read
        self._pause_timer = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause_timer.timeout.connect(self._search_messages)
        self.search.textChanged.connect(lambda _: self._request_messages())
        commands.changed.connect(self.refresh)
        self._show_state()
        self.note.show()
        add.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        add.clicked.connect(self._add)
        self._session: Session
        self._find_unused: FindUnused
        self._found: RunningSearch | None = None
        self._listing: asyncio.Task[None] | None = None  # of what is in closed workspaces

    def follow(self, session: Session, find_unused: FindUnused) -> None:
        """List and search the sessions of all workspaces whenever it is open."""
        self._session, self._find_unused = session, find_unused
        self._found = RunningSearch(self, session, self._show_found)

    def _show_state(self) -> None:
        """Say how a search is limited, or where it does not look; and why nothing is listed."""
        nothing = tr("No results yet") if self._opening else tr("No results")
        self.set_empty_text(tr("Searching messages…") if self._is_searching else nothing)
        prefix, words = _split_query(self.search.text())
        if self._opening and prefix != _COMMANDS:
            self.note.setText(
                tr(
                    "Still opening: {names}. Sessions and messages are listed as soon as that is done.",
                    names=", ".join(self._opening.values()),
                )
            )
            return
        unread = self._unread
        if not words or prefix == _COMMANDS or not unread:
            self.note.setText(self._search_note or tr("> commands  ·  @ sessions  ·  # messages"))
            return
        more = len(unread) - _NAMED_UNREAD
        names = [*unread[:_NAMED_UNREAD], *([tr.plural(more, "%n more", "%n more")] if more > 0 else [])]
        self.note.setText(tr("Can't be searched: {names}. Choose one to see why.", names=", ".join(names)))

    @handles(intents.OpenSwitcher)
    def open(self) -> None:
        """Appear with what is listed already, and list what is new."""
        super().open()
        if self._found is not None:
            self._session.start(self._list_sessions(), "list sessions")

    def on_closed(self) -> None:
        self._pause_timer.stop()
        self._messages, self._searched_words = [], ""
        self._show_searching(False)
        self._end_listing()
        if self._found is not None:
            self._found.end()

    def show_workspaces(self, workspaces: Sequence[WorkspaceRow], recent_ids: Sequence[str] = ()) -> None:
        """List these workspaces, those of `recent_ids` first and in that order, the active one last."""
        self._recent_ids = tuple(recent_ids) or self._recent_ids
        places = {workspace_id: place for place, workspace_id in enumerate(self._recent_ids)}
        self._workspaces = tuple(
            sorted(workspaces, key=lambda row: (row.active, places.get(row.id, len(places))))
        )
        self._show_state()
        self.refresh()

    def show_opening(self, workspace_id: str, name: str) -> None:
        """Say that a workspace is being opened, and lists nothing until then; no name: this is over."""
        self._opening.pop(workspace_id, None)
        if name:
            self._opening[workspace_id] = name
        self._show_state()

    def show_unread(self, names: Sequence[str]) -> None:
        """Say of which workspaces no session can be listed or searched."""
        self._unread = tuple(names)
        self._show_state()

    async def _list_sessions(self) -> None:
        """List the sessions of all workspaces: those of open ones at once, the others a moment later."""
        listed = list[tuple[str, SessionSummary]]()
        for workspace in list(self._session.app.open_workspaces.values()):
            with suppress(StoreError):  # it says so itself
                summaries = await workspace.store.sessions()
                unused = await self._find_unused(workspace, summaries)
                listed += [(workspace.id, summary) for summary in summaries if summary.id not in unused]
        self._show_sessions(listed)
        self._end_listing()
        self._listing = self._session.start(self._add_closed(listed), "list closed sessions")

    def _end_listing(self) -> None:
        if self._listing is not None:
            self._listing.cancel()
            self._listing = None

    async def _add_closed(self, listed: Sequence[tuple[str, SessionSummary]]) -> None:
        """List the sessions of workspaces that are not open, too."""
        if not self.isVisible():
            return
        found, unread = list(listed), list[str]()
        async with aclosing(self._session.app.closed_sessions.list_by_workspace()) as closed:
            async for record, summaries in closed:
                if summaries is None:
                    unread.append(record.name)
                found += [(record.id, summary) for summary in summaries or ()]
        self.show_unread(unread)
        self._show_sessions(found)

    async def list_again(self) -> None:
        if self.isVisible():
            await self._list_sessions()
            self._request_messages()
            self.refresh()

    def _show_sessions(self, listed: Iterable[tuple[str, SessionSummary]]) -> None:
        """List sessions, last used first, the active one last: of versions one row."""
        newest_first = sorted(listed, key=lambda session: session[1].updated, reverse=True)
        versions = SessionVersions(summary for _, summary in newest_first)
        on_screen = self._session.id
        now, rows = datetime.now(), list[SessionRow]()
        for workspace_id, summary in newest_first:
            ids = versions.ids_of(summary.id)
            if summary.id != (on_screen if on_screen in ids else versions.row_of(summary).id):
                continue
            is_archived = versions.place_of(summary).archived
            kind = tr("Subagent") if summary.parent else tr("Archived") if is_archived else ""
            counts = translate(summary.counts.text) if summary.counts is not None else ""
            detail, group = dotted((self._name_of(workspace_id), kind, counts)), versions.of(summary)
            when = format_short_time(max(version.updated for version in group), now)
            badge = _session_badge(self._session.app.open_workspaces.get(workspace_id), group)
            icon = "split" if versions.parent_of(summary) else "message-square"
            icon, is_here = "bot" if summary.parent else icon, summary.id == on_screen
            title = session_title(summary.title)
            rows.append(
                SessionRow(workspace_id, summary.id, title, detail, when, badge, is_here, is_archived, icon)
            )
        self._sessions = tuple(sorted(rows, key=lambda row: row.active))
        self.refresh()

    def _name_of(self, workspace_id: str) -> str:
        listed = (row.name for row in self._workspaces if row.id == workspace_id)
        return next(listed, "") or self._session.app.registry.get(workspace_id).name

    def _search_messages(self) -> None:
        query, size = self._message_query(), _MAX_MESSAGES
        if query and self._found is not None:
            request = SearchRequest(query, ("message",), per_session=size, limit=size, excerpt=_EXCERPT)
            try:
                self._found.start(request)
            except InvalidInput:
                self._show_searching(False)

    def _show_found(self, findings: SearchFindings, is_over: bool) -> None:
        """List the messages that a search found; those of an older search are over."""
        now, rows = datetime.now(), list[MessageRow]()
        for found in findings.sessions():
            title = "" if found.summary is None else session_title(found.summary.title)
            for hit in found.hits:
                speakers = {"user": tr("You"), "agent": tr("Agent")}
                speaker = speakers.get(hit.speaker, tr("Program"))
                detail = dotted((speaker, self._name_of(found.workspace_id), title))
                marks = word_spans(hit.excerpt, findings.request.terms)
                when = format_short_time(hit.at, now)
                rows.append(MessageRow(found.workspace_id, hit, detail, when, marks))
        if findings.request.query == self._message_query():
            self._messages, self._searched_words = rows[:_MAX_MESSAGES], findings.request.query
            self.refresh()
        if is_over:
            self._show_searching(False, indexing_note(findings))

    def _show_searching(self, is_searching: bool, note: str = "") -> None:
        """Say that messages are searched or, with a note, what could not be."""
        was_searching, self._is_searching, self._search_note = self._is_searching, is_searching, note
        self._show_state()
        if was_searching and not is_searching and self.isVisible() and self._message_query():
            accessibility.announce(
                self, tr.plural(len(self._messages), "%n message found", "%n messages found")
            )

    def find_lines(self, needle: str) -> Iterator[Line]:
        """Return what matches, by kind; with nothing typed what was used last, where the user is not now."""
        prefix, words = _split_query(needle)
        every = None if prefix else _GROUP_ROWS
        if prefix == _COMMANDS:
            groups = [(tr("Commands"), self._commands.find(words))]
        else:
            there = [
                row for row in self._workspaces if matches_query(words, row.name, row.path, row.git.head)
            ]
            used = (
                row
                for row in self._sessions
                if (
                    matches_query(words, row.title, row.detail) if words else not (row.active or row.archived)
                )
            )
            workspaces = (tr("Workspaces"), map(_workspace_line, there[: _GROUP_ROWS if words else None]))
            sessions = (tr("Sessions"), map(_session_line, islice(used, every)))
            commands = (tr("Commands"), self._commands.find(words) if words else self._commands.recent())
            groups = [workspaces, sessions, (commands[0], islice(commands[1], _GROUP_ROWS))]
            if not words and all(workspace.active for workspace in self._workspaces):
                groups = [sessions, commands, workspaces]  # where the user is comes last
            if prefix:
                groups = [sessions] if prefix == _SESSIONS else []
        if words and words == self._searched_words and prefix in {"", _MESSAGES}:
            groups.append((tr("Messages"), map(_message_line, self._messages)))
        return _with_headings(groups)

    def draw(self, line: Line, width: float) -> Box:
        match line.value:
            case WorkspaceRow() as workspace:

                def paint_badge(pen: Pen, rect: QRectF) -> None:  # it does not grow with the text
                    square = QRectF(rect.x(), rect.center().y() - 16, 32, 32)
                    paint_workspace_badge(pen.qt, square, workspace, pen.theme)

                sign: Box = Drawing((32, 32), paint_badge)
                lines = _workspace_lines(workspace, width * _GIT_SHARE)
            case SessionRow() as row:
                sign = Icon(row.icon, "muted", _KIND_PX)
                top = [_name(row.title), *_end(dotted((state_words(row.badge), row.when)), row.badge)]
                lines = Column([Row(top), Text(row.detail, 12, "muted", shrink=True)])
            case MessageRow() as row:
                icons = {"user": "user", "agent": "bot"}
                sign = Icon(icons.get(row.hit.speaker, "archive"), "muted", _KIND_PX)
                excerpt = Text(row.hit.excerpt, color="text" if row.marks else "muted", marks=row.marks)
                detail = Text(row.detail, 12, "muted", cut=elide_title, grow=True, shrink=True)
                lines = Column([excerpt, Row([detail, *_end(row.when)])])
            case OfferedCommand() as command:
                return command.draw()
            case _:
                return super().draw(line, width)
        lines.grow = lines.shrink = True
        return Frame(Row([Frame(sign, wide=32), lines], 12), (9, 0, _EDGE_PX, 0))

    def initial_row(self, needle: str) -> int:
        """Return the first line that can be chosen and leads elsewhere."""
        lines = self.list_view.rows
        choosable = [at for at, line in enumerate(lines) if not line.is_heading]
        rows = (WorkspaceRow, SessionRow)
        others = (
            at for at in choosable if not (isinstance(lines[at].value, rows) and lines[at].value.active)
        )
        return next(others, choosable[0] if choosable else 0)

    def accept(self, row: object) -> None:
        if isinstance(row, OfferedCommand):
            self._commands.run(row.action, self)
            return
        self.hide()
        match row:
            case WorkspaceRow(id=workspace_id):
                perform(self, intents.ShowWorkspace(workspace_id))
            case SessionRow(workspace_id=workspace_id, id=session_id):
                perform(self, intents.GoToSession(workspace_id, session_id))
            case MessageRow(workspace_id=workspace_id, hit=hit):
                mark = self._found.mark if self._found is not None else ""
                perform(self, intents.GoToSession(workspace_id, hit.session, hit.seq, mark))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_enter = event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}
        line = self.list_view.current
        row: Any = line.value if line is not None else None
        is_place = isinstance(row, WorkspaceRow | SessionRow | MessageRow)
        if is_enter and is_place and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.hide()
            perform(self, intents.NewSession(row.id if isinstance(row, WorkspaceRow) else row.workspace_id))
        else:
            super().keyPressEvent(event)

    def _message_query(self) -> str:
        prefix, words = _split_query(self.search.text())
        return message_query(words) if prefix in {"", _MESSAGES} else ""

    def _request_messages(self) -> None:
        """End the search for what was typed before, and begin another one when the user pauses."""
        self._messages, self._searched_words = [], ""
        if self._found is not None:
            self._found.stop()
        is_searching = bool(self._message_query()) and self.isVisible()
        self._show_searching(is_searching)
        if is_searching:
            self._pause_timer.start()
        else:
            self._pause_timer.stop()

    def _add(self) -> None:
        self.hide()
        perform(self, intents.OpenFolder())


def _split_query(needle: str) -> tuple[str, str]:
    """Return the sign that limits a search, if any, and the words."""
    words = needle.strip()
    return (words[0], words[1:].strip()) if words[:1] in {_COMMANDS, _SESSIONS, _MESSAGES} else ("", words)


def _with_headings(groups: Iterable[tuple[str, Iterable[Line]]]) -> Iterator[Line]:
    for words, lines in groups:
        for place, each in enumerate(lines):
            if not place:
                yield heading(words)
            yield each


def _workspace_line(workspace: WorkspaceRow) -> Line:
    details = (workspace.name, workspace.path, *workspace.git.details)
    words = (workspace.name, workspace.path, state_words(workspace.badge), workspace.git.on_one_line)
    return line(workspace, workspace.name, _ROW_PX, details, (tr("Workspace"), *words))


def _session_line(session: SessionRow) -> Line:
    details = (session.title, session.detail, session.when)
    accessible_words = (tr("Session"), *details, state_words(session.badge))
    return line(session, session.title, _ROW_PX, details, accessible_words)


def _message_line(message: MessageRow) -> Line:
    details = (message.hit.excerpt, message.detail, message.when)
    return line(message, message.hit.excerpt, _ROW_PX, details, (tr("Message"), *details))


def _session_badge(workspace: OpenWorkspace | None, versions: Sequence[SessionSummary]) -> WorkState:
    """Return the badge of a session with these versions; `workspace` is None if it is not open."""
    if workspace is None:
        return work_state((), is_interrupted=any(version.interrupted for version in versions))
    found = filter(None, (workspace.find_open(version.id) for version in versions))
    return work_state(found, is_interrupted=any(map(workspace.is_interrupted, versions)))
