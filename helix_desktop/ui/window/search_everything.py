"""Searches messages for the switcher, and all there is for the panel of Ctrl+Shift+F."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from contextlib import aclosing
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace
from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QButtonGroup, QWidget

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.retention import DAY_MS
from helix_desktop.domain.text_search import word_spans
from helix_desktop.services.search_everything import (
    SEARCH_KINDS,
    SearchFindings,
    SearchHit,
    SearchKind,
    SearchRequest,
    SessionHits,
)
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.ui.design import accessibility
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import elide_title
from helix_desktop.ui.design.layout import FlowBox
from helix_desktop.ui.kit.boxes import Box, Frame, Icon, Row, Text
from helix_desktop.ui.kit.intents import GoToSession, SearchEverything, handles, perform
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.rows.quick_picker import Line, QuickPicker, heading, line
from helix_desktop.words.lines import dotted
from helix_desktop.words.numbers import format_size, format_whole_percent
from helix_desktop.words.sessions import session_title
from helix_desktop.words.times import format_short_time
from helix_desktop.words.translation import Translator, error_text

tr = Translator("Workspaces")

_SHOW_MS = 60  # between two times that what was found is shown
_AGAIN_MS = 1_500  # until it searches again what is being indexed


class RunningSearch:
    """Searches for one thing at a time, and again while some of the messages are not in the index.

    `on_found` is called with what is found so far and, at the end, with True.
    """

    def __init__(
        self, parent: QObject, session: Session, on_found: Callable[[SearchFindings, bool], None]
    ) -> None:
        self._session, self._service, self._on_found = session, session.app.search, on_found
        self.findings = SearchFindings(SearchRequest(""))
        self.mark = ""  # the longest of the words, which is marked where it stands in a message
        self._task: asyncio.Task[None] | None = None
        self._show_timer = QTimer(parent, singleShot=True, interval=_SHOW_MS)
        self._show_timer.timeout.connect(lambda: on_found(self.findings, False))
        self._again_timer = QTimer(parent, singleShot=True, interval=_AGAIN_MS)
        self._again_timer.timeout.connect(lambda: self.start(self.findings.request))

    def start(self, request: SearchRequest) -> None:
        """Search in place of what is searched for now. Raises InvalidInput."""
        self.stop()
        self.mark = max(request.terms, key=len, default="")
        self._task = self._session.start(self._find(request), "search")

    def stop(self) -> None:
        self._again_timer.stop()
        self._show_timer.stop()
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def end(self) -> None:
        """Stop, and close the stores that were opened for it."""
        self.stop()
        self._session.start(self._service.release(), "close searched stores")

    async def _find(self, request: SearchRequest) -> None:
        is_again = self.findings.request == request
        findings = SearchFindings(request)
        async with aclosing(self._service.find(request)) as parts:
            async for part in parts:
                findings.add(part)
                if not is_again:
                    self.findings = findings
                    if not self._show_timer.isActive():
                        self._show_timer.start()
        self.findings = findings
        self._show_timer.stop()
        self._on_found(findings, True)
        if findings.unindexed[0]:
            self._again_timer.start()
            closed = {workspace for workspace, (behind, _) in findings.progress.items() if behind}
            closed -= self._session.app.open_workspaces.keys()  # open ones do it by themselves
            if closed and not is_again and not self._service.is_indexing:
                self._session.start(self._index(closed), "index closed workspaces")

    async def _index(self, workspaces: Collection[str]) -> None:
        await self._session.job(
            tr("Indexing sessions for search…"),
            lambda tell: self._service.index_closed(tell, workspaces), tr("Cancel"),
        )  # fmt: skip


def indexing_note(findings: SearchFindings) -> str:
    """Say that not all could be searched yet; empty if all was."""
    behind, events = findings.unindexed
    if not behind:
        return ""
    share = format_whole_percent((events - behind) / events)
    return tr("Still indexing ({share}): older messages may be missing.", share=share)


_WIDE_PX, _MAX_LINES, _LINE_PX = 860, 14, 34
_DAYS = (7, 30)  # that a search can be limited to
_PAUSE_MS = 120  # of typing, before it searches
_SHOWN = 400  # results; more are not built at once
_EDGE_PX, _ICON_PX, _SIGN_PX, _TEXT_PX = 12, 15, 44, 40
_DETAIL_SHARE = 0.36  # of a line's width that says where and when
_ICONS = {"user": "user", "agent": "bot", "output": "archive", "handover": "book-open", "file": "file-text"}


class FoundHit(NamedTuple):
    """A hit in the panel: with whose it is, where and when, and where the words are in its line."""

    hit: SearchHit
    found: SessionHits
    detail: str
    marks: tuple[tuple[int, int], ...]


class SearchPanel(QuickPicker):
    """Searches while it is open; what was found stays until the next search."""

    wide_px, line_px, max_lines = _WIDE_PX, _LINE_PX, _MAX_LINES

    def __init__(self, window: QWidget, session: Session) -> None:
        names = {
            "": tr("All"),
            "message": tr("Messages"),
            "output": tr("Outputs"),
            "handover": tr("Summaries"),
            "file": tr("Files"),
        }
        kinds = [_filter(text, f"search_kind-{kind or 'all'}") for kind, text in names.items()]
        days = [
            _filter(tr.plural(count, "Last day", "Last %n days"), f"search_days-{count}") for count in _DAYS
        ]
        self._here = _filter(tr("This workspace"), "search_here")
        self._filters = FlowBox((*kinds, *days, self._here), right_from=len(kinds))
        self._clear = PushButton(tr("Clear filters"), "link", name="clear_filters")
        super().__init__(
            window,
            tr("Search everything"),
            tr("Search messages, outputs, summaries and file names"),
            tr("open", "what the Enter key does"),
            (self._clear,),
            head=self._filters,
        )
        self._kinds, self._days = QButtonGroup(self), QButtonGroup(self)
        for place, button in enumerate(kinds):
            self._kinds.addButton(button, place)
        kinds[0].setChecked(True)
        self._days.setExclusive(False)
        for button, count in zip(days, _DAYS, strict=True):
            self._days.addButton(button, count)
        self.setObjectName("search_everything")
        self._shown: list[SessionHits] = []
        self._terms: tuple[str, ...] = ()  # that they were found by
        self._offers_outputs = False  # to search those that were left out
        self._pause_timer = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause_timer.timeout.connect(self._request)
        self.search.textChanged.connect(lambda _: self._pause_timer.start())
        self._kinds.idClicked.connect(lambda _: self._on_filter())
        self._days.buttonClicked.connect(self._on_days)
        self._here.clicked.connect(self._on_filter)
        self._clear.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._clear.clicked.connect(self.clear_filters)
        self._clear.hide()
        self.note.show()
        self._show_state(tr("Type words to search all workspaces."), "")
        self._session, self._search = session, RunningSearch(self, session, self._show)
        self._announced = SearchRequest("")
        session.changed.connect(self._allow_here)
        self._allow_here()

    @property
    def words(self) -> str:
        return self.search.text().strip()

    @property
    def kinds(self) -> tuple[SearchKind, ...]:
        place = self._kinds.checkedId()
        return (SEARCH_KINDS[place - 1],) if place > 0 else SEARCH_KINDS

    @property
    def days(self) -> int:
        return next((self._days.id(button) for button in self._days.buttons() if button.isChecked()), 0)

    @property
    def is_here(self) -> bool:
        return self._here.isChecked()

    @handles(SearchEverything)
    def open_with(self, words: str) -> None:
        """Appear; without words with those of the last search, selected."""
        words = words or self.search.text()
        super().open()
        self.search.setText(words)
        self.search.selectAll()

    def _allow_here(self) -> None:
        """Offer to search the workspace on screen alone, if there is one."""
        self._here.setVisible(self._session.has_workspace)
        self._filters.rearrange()

    def clear_filters(self) -> None:
        self._kinds.button(0).setChecked(True)
        for button in (*self._days.buttons(), self._here):
            button.setChecked(False)
        self._on_filter()

    def _show_state(self, empty_text: str, note: str) -> None:
        """Say what is the matter where there are no lines, and below those that are there."""
        self.set_empty_text(empty_text)
        self.note.setText(note or tr('Quotes find a phrase: "end of file".'))
        if self.isVisible():
            self._position(self.height())

    def _request(self) -> None:
        """Search for what is asked for now, in place of what is searched for."""
        here = (self._session.workspace_id,) if self.is_here and self._session.workspace_id else ()
        since = wall_clock_ms() - self.days * DAY_MS if self.days else 0
        if self.words:
            self._start(SearchRequest(self.words, self.kinds, here, since))
            return
        self._search.stop()
        self._clear_shown()
        self._show_state(tr("Type words to search all workspaces. All of them must be in one place."), "")

    def _clear_shown(self) -> None:
        self._shown, self._offers_outputs = [], False
        self.refresh()

    def _start(self, request: SearchRequest) -> None:
        try:
            self._search.start(request)
        except InvalidInput as error:
            self._clear_shown()
            self._show_state(error_text(error), "")
        else:
            self._show_state(tr("Searching…"), "")

    def _show(self, findings: SearchFindings, is_over: bool) -> None:
        shown, count = list[SessionHits](), 0
        for found in findings.sessions():
            if count < _SHOWN:
                shown.append(found)
                count += len(found.hits) + found.has_more
        if (shown, findings.outputs_left) != (self._shown, self._offers_outputs):
            self._shown, self._offers_outputs = shown, findings.outputs_left
            self._terms = findings.request.terms
            self.refresh()  # the chosen line stays chosen if it is among them
        if is_over:
            self._say(findings)
        elif findings.unindexed[0]:
            self._show_state(tr("Searching…"), indexing_note(findings))

    def _say(self, findings: SearchFindings) -> None:
        """Say what was found, and what was not searched and why."""
        notes = list(filter(None, [indexing_note(findings)]))
        if findings.errors:
            names = ", ".join(self._name_of(workspace_id) for workspace_id in findings.errors)
            notes.append(tr("Can't be searched: {names}. Open it to see why.", names=names))
        if findings.has_more:
            notes.append(tr("Only the newest results. Add a word to narrow them down."))
        if findings.request.session:
            notes.append(tr("Only one session. Change a word to search all."))
        filters = self.days or self.is_here or len(self.kinds) == 1
        nothing = tr("No results with these filters.") if filters else tr("No results. Try fewer words.")
        self._show_state(nothing, " ".join(notes))
        if findings.request != self._announced:
            self._announced = findings.request
            sessions = len(findings.sessions())
            places = tr.plural(findings.count, "%n result", "%n results")
            accessibility.announce(
                self,
                f"{places} {tr.plural(sessions, 'in %n session', 'in %n sessions')}" if sessions else nothing,
            )

    def _name_of(self, workspace_id: str) -> str:
        return self._session.app.registry.get(workspace_id).name

    def find_lines(self, needle: str) -> Iterable[Line]:
        now = datetime.now()
        for found in self._shown:
            workspace, summary = self._name_of(found.workspace_id), found.summary
            title, detail = tr("Outputs of deleted sessions"), workspace
            if summary is not None:
                title, archived = session_title(summary.title), tr("Archived") if summary.archived else ""
                detail = dotted((workspace, archived, format_short_time(summary.updated, now)))
            yield heading(f"{title}, {detail}", (title, detail), title)
            for hit in found.hits:
                yield _hit_line(hit, found, title, self._terms, now)
            if found.has_more and summary is not None:
                words = tr("More in this session")
                yield line(found, words, _LINE_PX, (), (words, title))
        if self._offers_outputs:
            title, words = tr("Not searched yet"), tr("Search large outputs, too")
            yield heading(f"{title}, ", (title, ""), title)
            yield line(None, words, _LINE_PX, (), (words, title))

    def initial_row(self, needle: str) -> int:
        return 1

    def accept(self, row: FoundHit | SessionHits | None) -> None:
        request = self._search.findings.request
        if isinstance(row, FoundHit):
            self.hide()
            hit, found = row.hit, row.found
            mark = self._search.mark if hit.kind == "message" else ""
            session_id = found.summary.id if found.summary is not None else ""
            perform(self, GoToSession(found.workspace_id, session_id, hit.seq, mark, hit.digest))
        elif row is None:
            self._start(replace(request, all_outputs=True))
        elif row.summary is not None:
            self._start(replace(request, workspaces=(row.workspace_id,), session=row.summary.id))

    def draw(self, line: Line, width: float) -> Box:
        if line.is_heading:
            title, detail = line.value
            words = Text(title, 12, weight=600, cut=elide_title, grow=True, shrink=True)
            content = Row([words, _detail(detail, (width - 2 * _EDGE_PX) / 2)], 16)
            return Frame(content, (_EDGE_PX, 4, _EDGE_PX, 0))
        if not isinstance(line.value, FoundHit):
            return Frame(Text(line.words, color="accent_text"), (_TEXT_PX, 0, _EDGE_PX, 0))
        hit, detail, marks = line.value.hit, line.value.detail, line.value.marks
        name = _ICONS[(hit.speaker or "output") if hit.kind == "message" else hit.kind]
        elide = Qt.TextElideMode.ElideLeft if hit.kind == "file" else Qt.TextElideMode.ElideRight
        text = Text(line.words, elide=elide, marks=marks, grow=True, shrink=True)
        most = (width - _TEXT_PX - _EDGE_PX) * _DETAIL_SHARE
        content = Row([text, _detail(detail, most)], 16, grow=True, shrink=True)
        sign = Frame(Icon(name, "muted", _ICON_PX), wide=_SIGN_PX, least=_LINE_PX - 2)
        return Frame(Row([sign, content], _TEXT_PX - _SIGN_PX), (0, 0, _EDGE_PX, 0))

    def on_closed(self) -> None:
        self._pause_timer.stop()
        self._search.end()

    def _on_days(self, clicked: PushButton) -> None:
        for button in self._days.buttons():
            if button is not clicked:
                button.setChecked(False)
        self._on_filter()

    def _on_filter(self) -> None:
        self._clear.setVisible(len(self.kinds) == 1 or bool(self.days) or self.is_here)
        self._footer.rearrange()
        self._request()


def _detail(words: str, most: float) -> Box:
    text = Text(words, 12, "muted", elide=Qt.TextElideMode.ElideMiddle)
    return Frame(text, wide=min(text.width(), most))


def _filter(text: str, name: str) -> PushButton:
    button = PushButton(text, "filter", name=name)
    button.setCheckable(True)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button


def _hit_line(hit: SearchHit, found: SessionHits, title: str, terms: tuple[str, ...], now: datetime) -> Line:
    kinds = {"output": tr("Output"), "handover": tr("Summary"), "file": tr("File")}
    speakers = {"user": tr("You"), "agent": tr("Agent")}
    kind = kinds.get(hit.kind, speakers.get(hit.speaker, tr("Program")))
    source, size = (
        (f"{hit.tool} {hit.target}".strip(), format_size(hit.size)) if hit.kind == "output" else ("", "")
    )
    words, detail = hit.excerpt or source, dotted((source, size, format_short_time(hit.at, now)))
    row = FoundHit(hit, found, detail, word_spans(hit.excerpt, terms))
    return line(row, words, _LINE_PX, (words, detail), (kind, words, detail, title))
