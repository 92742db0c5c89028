"""Ctrl+K: a few letters find a workspace, a session, a command or what was said; Enter goes there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing, suppress
from datetime import datetime
from itertools import islice
from typing import Any

import msgspec
from msgspec.structs import replace
from PySide6.QtCore import QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QButtonGroup, QWidget

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.errors import InvalidInput, StoreError
from helix_desktop.domain.retention import DAY_MS
from helix_desktop.domain.store import SessionSummary, SessionVersions
from helix_desktop.domain.text_format import matches_query, message_query
from helix_desktop.domain.text_search import RankedText, WordRank, normalize
from helix_desktop.services.search_everything import (
    SEARCH_KINDS,
    SearchFindings,
    SearchKind,
    SearchRequest,
    SessionHits,
)
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.ui.design import accessibility
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.git_label import fit_git_text
from helix_desktop.ui.design.labels import elide_title
from helix_desktop.ui.design.layout import FlowBox
from helix_desktop.ui.kit import intents
from helix_desktop.ui.kit.boxes import Box, Column, Dot, Drawing, Frame, Icon, Pen, Row, Text, face
from helix_desktop.ui.kit.intents import handles, perform
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.rows.quick_picker import Line, QuickPicker, heading, key_hint, line
from helix_desktop.ui.window.command_list import CommandList, OfferedCommand
from helix_desktop.ui.window.search_everything import (
    MAX_SHOWN,
    FoundHit,
    LineGroup,
    RunningSearch,
    SearchMore,
    draw_hit,
    draw_more,
    draw_session,
    hit_groups,
    indexing_note,
)
from helix_desktop.ui.window.sidebar.rail import paint_workspace_badge
from helix_desktop.ui.window.workspace_badges import STATES, WorkspaceRow, WorkState, state_words, work_state
from helix_desktop.words.lines import dotted
from helix_desktop.words.sessions import session_title
from helix_desktop.words.times import format_short_time
from helix_desktop.words.translation import Translator, error_text, translate

tr = Translator("Window")


class ListedSession:
    """A session that can be found, with the name of its workspace. Its row is made when it is listed."""

    def __init__(
        self,
        workspace_id: str,
        workspace: str,
        summary: SessionSummary,
        versions: SessionVersions,
        is_active: bool,
    ) -> None:
        """`is_active` says that it is on screen."""
        self.workspace_id = workspace_id
        self.workspace = workspace
        self.summary = summary
        self.versions = versions
        self.is_active = is_active
        self.title = session_title(summary.title)
        self.is_archived = versions.place_of(summary).archived
        self.kind = tr("Archived") if self.is_archived else ""
        if summary.parent:
            self.kind = tr("Subagent")
        self.ranked_title = RankedText(self.title)
        self.folded = normalize(f"{self.title} {workspace} {self.kind}")


class SessionRow(msgspec.Struct, frozen=True):
    """A session in the list. `detail` names its workspace, `when` is when it was last used."""

    workspace_id: str
    id: str
    title: str
    detail: str
    when: str
    badge: WorkState = ""
    active: bool = False  # on screen
    icon: str = "message-square"


_WIDE_PX = 860
_LINE_PX = 34
_MAX_LINES = 14
_GROUP_ROWS = 6  # of workspaces, sessions and commands each, where a search looks for all of them
_NAMED_UNREAD = 3  # workspaces that can't be read
_PLACE_MESSAGES = 30  # of a workspace that are found beside places
_MAX_SESSIONS = 200  # in the list of sessions alone
_SLICE = 200  # sessions that are taken at once
_PAUSE_MS = 120  # of typing, before it searches
_COMMANDS = ">"
_SESSIONS = "@"

_ROW_PX = 50  # of a workspace or a session
_GIT_SHARE = 0.45  # of a row's width that the git state may take
_EDGE_PX = 12
_ICON_PX = 12
_KIND_PX = 16


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
    state = _end(words, workspace.badge)
    git = list[Box]()
    if fitting := fit_git_text(workspace.git, face(12)[1], git_px):
        git = [Icon("git-branch", "muted", _ICON_PX), Text(fitting, 12, "muted")]
    elide = Qt.TextElideMode.ElideMiddle
    path = Text(workspace.path, 12, "muted", elide=elide, grow=True, shrink=True)
    if workspace.git.on_one_line:
        return Column([Row([_name(workspace.name), *state]), Row([path, *git])])
    return Row([Column([_name(workspace.name), path], grow=True, shrink=True), *state])


_PLACES = 0
_EVERYTHING = 1
_SEARCHED: tuple[tuple[SearchKind, ...], ...] = (
    ("message",),
    SEARCH_KINDS,
    *((kind,) for kind in SEARCH_KINDS),
)
"""By the number of a button: what is searched beside places, everything, and one kind each."""
_DAYS = (7, 30)  # that a search can be limited to


class SearchFilters(FlowBox):
    """Buttons for what is searched: places and messages at first, else everything or one kind of it."""

    changed = Signal()

    def __init__(self) -> None:
        names = {
            "places": tr("Go to"),
            "all": tr("Everything"),
            "message": tr("Messages"),
            "output": tr("Outputs"),
            "handover": tr("Handover summaries"),
            "file": tr("Files"),
        }
        kinds = [_filter_button(words, f"search_kind-{name}") for name, words in names.items()]
        self._days = {
            days: _filter_button(tr.plural(days, "Last day", "Last %n days"), f"search_days-{days}")
            for days in _DAYS
        }
        self._here = _filter_button(tr("This workspace"), "search_here")
        super().__init__((*kinds, *self._days.values(), self._here), right_from=len(kinds))
        self._kinds = QButtonGroup(self)
        for number, button in enumerate(kinds):
            self._kinds.addButton(button, number)
        self._kinds.idClicked.connect(lambda _: self._update())
        for button in self._days.values():
            button.clicked.connect(lambda _=False, button=button: self._choose_days(button))
        self._here.clicked.connect(self._update)
        self.has_workspace = False  # on screen, to search that one alone
        self.choose(_PLACES)

    @property
    def lists_places(self) -> bool:
        return self._kinds.checkedId() == _PLACES

    @property
    def days(self) -> int:
        """How many days back is searched; 0 is all of them."""
        checked = (days for days, button in self._days.items() if button.isChecked())
        return 0 if self.lists_places else next(checked, 0)

    @property
    def is_here(self) -> bool:
        return self._here.isChecked() and self.has_workspace and not self.lists_places

    @property
    def is_narrow(self) -> bool:
        """Return True if something is left out beside places."""
        return bool(self.days) or self.is_here or self._kinds.checkedId() > _EVERYTHING

    def choose(self, kind: int) -> None:
        """Let a kind be searched, by the number of its button, of all days and workspaces."""
        self._kinds.button(kind).setChecked(True)
        for button in (*self._days.values(), self._here):
            button.setChecked(False)
        self._update()

    def request(self, words: str, workspace_id: str) -> SearchRequest:
        """Return what to search for; the workspace is that on screen."""
        workspaces = (workspace_id,) if self.is_here else ()
        since = wall_clock_ms() - self.days * DAY_MS if self.days else 0
        request = SearchRequest(words, _SEARCHED[self._kinds.checkedId()], workspaces, since)
        return replace(request, limit=_PLACE_MESSAGES) if self.lists_places else request

    def _choose_days(self, clicked: PushButton) -> None:
        for button in self._days.values():
            if button is not clicked:
                button.setChecked(False)
        self._update()

    def _update(self) -> None:
        for button in self._days.values():
            button.setVisible(not self.lists_places)
        self._here.setVisible(self.has_workspace and not self.lists_places)
        self.rearrange()
        self.changed.emit()


def _filter_button(words: str, name: str) -> PushButton:
    button = PushButton(words, "filter", name=name)
    button.setCheckable(True)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button


FindUnused = Callable[[OpenWorkspace, Sequence[SessionSummary]], Awaitable[frozenset[str]]]
"""Returns which sessions of a workspace nobody used, by id."""


class Picker(QuickPicker):
    """Lists the places and commands that it knows at once; what a search finds comes a moment later."""

    wide_px = _WIDE_PX
    line_px = _LINE_PX
    max_lines = _MAX_LINES

    def __init__(self, window: QWidget, commands: CommandList) -> None:
        self._new_session_hint = key_hint("Ctrl+Enter", tr("new session there", "what the keys do"))
        add = PushButton(tr("Open folder…"), "link", name="add_folder")
        self.filters = SearchFilters()
        super().__init__(
            window,
            tr("Go to"),
            tr("Search sessions, messages, outputs and commands"),
            tr("open", "what the Enter key does"),
            (self._new_session_hint, add),
            head=self.filters,
        )
        self.note.show()
        add.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        add.clicked.connect(self._add)
        self._commands = commands
        self._workspaces: tuple[WorkspaceRow, ...] = ()
        self._recent_ids: tuple[str, ...] = ()
        self._sessions: tuple[ListedSession, ...] = ()
        self._opening: dict[str, str] = {}  # workspaces: id and name
        self._unread: Sequence[str] = ()  # names of workspaces whose sessions can't be read
        self._session: Session
        self._find_unused: FindUnused
        self._listing: asyncio.Task[None] | None = None  # of what is in closed workspaces
        self._search: RunningSearch | None = None
        self._last_words = ""  # that were searched for
        self._is_searching = False
        self._findings: SearchFindings | None = None  # of the words and filters that are there now
        self._hits: list[LineGroup] = []
        self._hits_words = ""  # that they were found by
        self._error = ""  # why the words can't be searched
        self._announced: SearchRequest | None = None
        self._pause_timer = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause_timer.timeout.connect(self._start_search)
        self.search.textChanged.connect(lambda _: self._search_soon())
        self.filters.changed.connect(self._search_anew)
        commands.changed.connect(self.refresh)
        self._show_state()

    def follow(self, session: Session, find_unused: FindUnused) -> None:
        """List and search the sessions of all workspaces whenever it is open."""
        self._session = session
        self._find_unused = find_unused
        self._search = RunningSearch(self, session, self._show_found)

    @handles(intents.OpenPicker)
    def open(self, typed: str = "") -> None:
        """Appear with places and commands that are listed already, and list what is new."""
        self._open(_PLACES, typed)

    @handles(intents.SearchEverything)
    def search_everything(self, words: str) -> None:
        """Appear with everything searched; without words for those of the last search, selected."""
        self._open(_EVERYTHING, words or self._last_words)
        self.search.selectAll()

    def _open(self, kind: int, typed: str) -> None:
        if self._search is not None:
            self.filters.has_workspace = self._session.has_workspace
        self.filters.choose(kind)
        super().open()
        self.search.setText(typed)
        if self._search is not None:
            self._list_sessions()

    def on_closed(self) -> None:
        self._pause_timer.stop()
        self._forget_hits()
        self._end_listing()
        if self._search is not None:
            self._search.end()

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

    def _list_sessions(self) -> None:
        """Begin to list the sessions of all workspaces."""
        self._end_listing()
        self._listing = self._session.start(self._read_sessions(), "list sessions")

    def _end_listing(self) -> None:
        if self._listing is not None:
            self._listing.cancel()
            self._listing = None

    async def _read_sessions(self) -> None:
        """List the sessions of open workspaces, and a moment later those of the others, too."""
        listed = list[tuple[str, SessionSummary]]()
        for workspace in list(self._session.app.open_workspaces.values()):
            with suppress(StoreError):  # it says so itself
                stored = await workspace.store.sessions()
                unused = await self._find_unused(workspace, stored)
                listed += [(workspace.id, summary) for summary in stored if summary.id not in unused]
        await self._show_sessions(listed)
        in_open = len(listed)
        unread = list[str]()
        async with aclosing(self._session.app.closed_sessions.list_by_workspace()) as closed:
            async for record, summaries in closed:
                if summaries is None:
                    unread.append(record.name)
                listed += [(record.id, summary) for summary in summaries or ()]
        self.show_unread(unread)
        if len(listed) > in_open:
            await self._show_sessions(listed)

    def list_again(self) -> None:
        if self.isVisible():
            self._list_sessions()
            self._search_soon()

    async def _show_sessions(self, listed: Iterable[tuple[str, SessionSummary]]) -> None:
        """List sessions, last used first, the active one last: of versions one row.

        Thousands are taken in slices, between which the window goes on.
        """
        newest_first = sorted(listed, key=lambda session: session[1].updated, reverse=True)
        versions = SessionVersions(summary for _, summary in newest_first)
        workspaces = {workspace_id for workspace_id, _ in newest_first}
        names = {workspace_id: self._name_of(workspace_id) for workspace_id in workspaces}
        on_screen = self._session.id
        rows = list[ListedSession]()
        for number, (workspace_id, summary) in enumerate(newest_first, 1):
            if number % _SLICE == 0:
                await asyncio.sleep(0)
            ids = versions.ids_of(summary.id)
            shown_id = on_screen if on_screen in ids else versions.row_of(summary).id
            if summary.id == shown_id:
                is_active = summary.id == on_screen
                rows.append(ListedSession(workspace_id, names[workspace_id], summary, versions, is_active))
        self._sessions = tuple(sorted(rows, key=lambda row: row.is_active))
        self.refresh()
        self._show_state()

    def _name_of(self, workspace_id: str) -> str:
        listed = (row.name for row in self._workspaces if row.id == workspace_id)
        return next(listed, "") or self._session.app.registry.get(workspace_id).name

    def _split_query(self) -> tuple[str, str]:
        """Return the sign that limits places to sessions or commands, if any, and the words."""
        words = self.search.text().strip()
        if self.filters.lists_places and words[:1] in {_COMMANDS, _SESSIONS}:
            return words[0], words[1:].strip()
        return "", words

    def _search_words(self) -> str:
        """Return the words to search for; empty where a search would not answer to what is typed."""
        sign, words = self._split_query()
        return "" if sign or self._search is None else message_query(words)

    def _search_anew(self) -> None:
        """Search for the same words as the filters are now."""
        self._forget_hits()
        self.refresh()
        self._search_soon()

    def _forget_hits(self) -> None:
        self._findings = None
        self._hits = []

    def _search_soon(self) -> None:
        """End the search for what was typed before, and begin another one when the user pauses."""
        if self._search is not None:
            self._search.stop()
        self._findings = None
        self._error = ""
        self._is_searching = self.isVisible() and bool(self._search_words())
        if self._is_searching:
            self._pause_timer.start()
        else:
            self._pause_timer.stop()
        self._show_state()

    def _start_search(self) -> None:
        self._search_for(self.filters.request(self._search_words(), self._session.workspace_id))

    def _search_for(self, request: SearchRequest) -> None:
        assert self._search is not None
        self._last_words = request.query
        self._is_searching = True
        try:
            self._search.start(request)
        except InvalidInput as error:
            self._is_searching = False
            self._error = error_text(error)
        self._show_state()

    def _show_found(self, findings: SearchFindings, is_over: bool) -> None:
        """List what a search has found so far; the chosen line stays chosen if it is among that."""
        self._findings = findings
        self._hits = list(hit_groups(findings, self._name_of))
        self._hits_words = findings.request.query
        if is_over:
            self._is_searching = False
        self.refresh()
        self._show_state()
        if is_over and findings.request != self._announced:
            self._announced = findings.request
            sessions = findings.session_count
            places = tr.plural(findings.count, "%n result", "%n results")
            places_words = f"{places} {tr.plural(sessions, 'in %n session', 'in %n sessions')}"
            accessibility.announce(self, places_words if sessions else self._empty_text())

    def _show_state(self) -> None:
        """Say why nothing is listed, and below the lines what is not searched."""
        sign, _ = self._split_query()
        self.filters.setVisible(not sign)
        self._new_session_hint.setVisible(sign != _COMMANDS)
        self.set_empty_text(self._empty_text())
        hint = tr("> commands  ·  @ sessions")
        if not self.filters.lists_places:
            hint = tr('Quotes find a phrase: "end of file".')
        self.note.setText(" ".join(self._notes()) or hint)
        if self.isVisible():
            self._position(self.height())

    def _empty_text(self) -> str:
        sign, _ = self._split_query()
        if self._error:
            return self._error
        if self._is_searching:
            return tr("Searching…")
        if self._opening and sign != _COMMANDS:
            return tr("No results yet")
        if not self.filters.lists_places and not self._search_words():
            return tr("Type words to search all workspaces. All of them must be in one place.")
        if self.filters.is_narrow:
            return tr("No results with these filters.")
        return tr("No results. Try fewer words.")

    def _notes(self) -> Iterator[str]:
        """Yield what is not listed or searched, and why."""
        sign, words = self._split_query()
        if sign == _COMMANDS:
            return
        if self._opening:
            names = ", ".join(self._opening.values())
            yield tr(
                "Still opening: {names}. Sessions and messages are listed as soon as that is done.",
                names=names,
            )
        findings = self._findings
        unread = dict.fromkeys(self._unread)
        if findings is not None:
            unread |= dict.fromkeys(self._name_of(workspace_id) for workspace_id in findings.errors)
        if words and unread:
            names = ", ".join(islice(unread, _NAMED_UNREAD))
            more = len(unread) - _NAMED_UNREAD
            if more > 0:
                names = f"{names}, {tr.plural(more, '%n more', '%n more')}"
            yield tr("Can't be searched: {names}. Open it to see why.", names=names)
        is_cut = sign == _SESSIONS and len(self.list_view.rows) > _MAX_SESSIONS
        if is_cut or (findings is not None and (findings.has_more or findings.count > MAX_SHOWN)):
            yield tr("Not all results are listed. Add a word to narrow them down.")
        if findings is None:
            return
        if note := indexing_note(findings):
            yield note
        if findings.request.session:
            yield tr("Only one session. Change a word to search all.")

    def find_lines(self, needle: str) -> Iterator[Line]:
        """Return what matches, by kind; with nothing typed what was used last, where the user is not now."""
        sign, words = self._split_query()
        groups = list[tuple[Line, Iterable[Line]]]()
        if sign == _COMMANDS:
            groups.append((heading(tr("Commands")), self._commands.find(words)))
        elif self.filters.lists_places:
            groups += self._place_groups(sign, words)
        if self._search_words():
            groups += self._hits_with(words)
        for head, lines in groups:
            for place, each in enumerate(lines):
                if not place:
                    yield head
                yield each

    def _place_groups(self, sign: str, words: str) -> list[tuple[Line, Iterable[Line]]]:
        found = self._matching_sessions(words)
        if sign == _SESSIONS:
            return [(heading(tr("Sessions")), self._session_lines(found[:_MAX_SESSIONS]))]
        there = self._matching_workspaces(words)
        every = _GROUP_ROWS if words else None
        workspaces = (heading(tr("Workspaces")), map(_workspace_line, there[:every]))
        sessions = (heading(tr("Sessions")), self._session_lines(found[:_GROUP_ROWS]))
        offered = self._commands.find(words) if words else self._commands.recent()
        commands = (heading(tr("Commands")), islice(offered, _GROUP_ROWS))
        if not words and all(workspace.active for workspace in self._workspaces):
            return [sessions, commands, workspaces]  # where the user is comes last
        return [workspaces, sessions, commands]

    def _matching_workspaces(self, words: str) -> list[WorkspaceRow]:
        """Return those with all words, the best name first."""
        rank = WordRank(normalize(words).split())
        found = [row for row in self._workspaces if matches_query(words, row.name, row.path, row.git.head)]
        return sorted(found, key=lambda row: rank.of(RankedText(row.name)))

    def _matching_sessions(self, words: str) -> list[ListedSession]:
        """Return those with all words, the best title first; without words those that are elsewhere."""
        if not words:
            return [row for row in self._sessions if not (row.is_active or row.is_archived)]
        typed = normalize(words).split()
        rank = WordRank(typed)
        found = list(self._sessions)
        for word in typed:
            found = [row for row in found if word in row.folded]
        return sorted(found, key=lambda row: rank.of(row.ranked_title))

    def _session_lines(self, sessions: Iterable[ListedSession]) -> Iterator[Line]:
        now = datetime.now()
        for listed in sessions:
            workspace = self._session.app.open_workspaces.get(listed.workspace_id)
            yield _session_line(_session_row(listed, workspace, now))

    def _hits_with(self, words: str) -> Iterator[LineGroup]:
        """Yield the hits that are known; of those for other words what has the present ones."""
        for head, lines in self._hits:
            if words == self._hits_words:
                yield head, lines
            else:
                yield head, [hit for hit in lines if matches_query(words, hit.words)]

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
            case OfferedCommand() as command:
                return command.draw()
            case FoundHit() as found:
                return draw_hit(found, line.words, width)
            case SearchMore():
                return draw_more(line.words)
            case (title, detail):
                return draw_session(title, detail, width)
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
        match row:
            case OfferedCommand(action=action):
                self._commands.run(action, self)
            case WorkspaceRow(id=workspace_id):
                self._go(intents.ShowWorkspace(workspace_id))
            case SessionRow(workspace_id=workspace_id, id=session_id):
                self._go(intents.GoToSession(workspace_id, session_id))
            case FoundHit():
                self._go(self._way_to(row))
            case SearchMore(found=found):
                self._search_on(found)

    def _go(self, intent: intents.Intent) -> None:
        self.hide()
        perform(self, intent)

    def _way_to(self, row: FoundHit) -> intents.GoToSession:
        """Return where a hit stands: in the version on screen if that holds it, else in the newest one."""
        assert self._search is not None
        hit = row.hit
        workspace_id = row.found.workspace_id
        session_id = ""
        if row.found.summary is not None:
            versions = self._search.findings.versions_with(workspace_id, hit)
            session_id = self._session.id if self._session.id in versions else versions[-1]
        mark = self._search.mark if hit.kind == "message" or hit.line else ""
        return intents.GoToSession(workspace_id, session_id, hit.seq, mark, hit.digest, hit.line)

    def _search_on(self, found: SessionHits | None) -> None:
        """Search all of one session; without one, large outputs, too."""
        assert self._search is not None
        request = self._search.findings.request
        if found is None:
            self._search_for(replace(request, all_outputs=True))
        elif found.summary is not None:
            here = (found.workspace_id,)
            self._search_for(replace(request, workspaces=here, session=found.summary.id))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_enter = event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}
        is_with_ctrl = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        line = self.list_view.current
        workspace_id = _workspace_of(line.value) if line is not None else ""
        if is_enter and is_with_ctrl and workspace_id:
            self._go(intents.NewSession(workspace_id))
        else:
            super().keyPressEvent(event)

    def _add(self) -> None:
        self._go(intents.OpenFolder())


def _workspace_of(row: Any) -> str:
    """Return the workspace that a row is in; empty for commands."""
    match row:
        case WorkspaceRow():
            return row.id
        case SessionRow():
            return row.workspace_id
        case FoundHit():
            return row.found.workspace_id
    return ""


def _workspace_line(workspace: WorkspaceRow) -> Line:
    details = (workspace.name, workspace.path, *workspace.git.details)
    words = (workspace.name, workspace.path, state_words(workspace.badge), workspace.git.on_one_line)
    return line(workspace, workspace.name, _ROW_PX, details, (tr("Workspace"), *words))


def _session_row(listed: ListedSession, workspace: OpenWorkspace | None, now: datetime) -> SessionRow:
    """Return a session as it is listed; `workspace` is None if it is not open."""
    summary = listed.summary
    versions = listed.versions.of(summary)
    counts = translate(summary.counts.text) if summary.counts is not None else ""
    icon = "split" if listed.versions.parent_of(summary) else "message-square"
    if summary.parent:
        icon = "bot"
    return SessionRow(
        listed.workspace_id,
        summary.id,
        listed.title,
        detail=dotted((listed.workspace, listed.kind, counts)),
        when=format_short_time(max(version.updated for version in versions), now),
        badge=_session_badge(workspace, versions),
        active=listed.is_active,
        icon=icon,
    )


def _session_line(session: SessionRow) -> Line:
    details = (session.title, session.detail, session.when)
    accessible_words = (tr("Session"), *details, state_words(session.badge))
    return line(session, session.title, _ROW_PX, details, accessible_words)


def _session_badge(workspace: OpenWorkspace | None, versions: Sequence[SessionSummary]) -> WorkState:
    """Return the badge of a session with these versions; `workspace` is None if it is not open."""
    if workspace is None:
        return work_state((), is_interrupted=any(version.interrupted for version in versions))
    found = filter(None, (workspace.find_open(version.id) for version in versions))
    return work_state(found, is_interrupted=any(map(workspace.is_interrupted, versions)))
