"""The search of the picker, again while something is being indexed; and its results as lines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator
from contextlib import aclosing
from datetime import datetime
from typing import NamedTuple

from PySide6.QtCore import QObject, Qt, QTimer

from helix_desktop.domain.text_search import word_spans
from helix_desktop.services.search_everything import SearchFindings, SearchHit, SearchRequest, SessionHits
from helix_desktop.ui.design.labels import elide_title
from helix_desktop.ui.kit.boxes import Box, Frame, Icon, Row, Text
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.rows.quick_picker import Line, heading, line
from helix_desktop.words.lines import dotted
from helix_desktop.words.numbers import format_size, format_whole_percent
from helix_desktop.words.sessions import session_title
from helix_desktop.words.times import format_short_time
from helix_desktop.words.translation import Translator

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
        self._session = session
        self._service = session.app.search
        self._on_found = on_found
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


_LINE_PX = 34
MAX_SHOWN = 150  # results; more are not built at once
_EDGE_PX = 12
_ICON_PX = 15
_SIGN_PX = 44
_TEXT_PX = 40
_DETAIL_SHARE = 0.36  # of a line's width that says where and when
_ICONS = {
    "user": "user",
    "agent": "bot",
    "output": "archive",
    "handover": "book-open",
    "file": "file-text",
}


class FoundHit(NamedTuple):
    """A hit in a list: with whose it is, where and when, and where the words are in its line."""

    hit: SearchHit
    found: SessionHits
    detail: str
    marks: tuple[tuple[int, int], ...]


class SearchMore(NamedTuple):
    """A line that searches on: in one session, or with None in large outputs, too."""

    found: SessionHits | None


LineGroup = tuple[Line, list[Line]]
"""A heading, and what stands below it."""


def hit_groups(findings: SearchFindings, name_of: Callable[[str], str]) -> Iterator[LineGroup]:
    """Yield what was found by session; `name_of` returns the name of a workspace by its id.

    The session with which there are `MAX_SHOWN` lines is the last one.
    """
    now = datetime.now()
    terms = findings.request.terms
    count = 0
    for found in findings.sessions():
        if count >= MAX_SHOWN:
            break
        title = tr("Outputs of deleted sessions")
        detail = name_of(found.workspace_id)
        if found.summary is not None:
            title = session_title(found.summary.title)
            archived = tr("Archived") if found.summary.archived else ""
            when = format_short_time(found.summary.updated, now)
            detail = dotted((detail, archived, when))
        lines = [_hit_line(hit, found, title, terms, now) for hit in found.hits]
        if found.has_more and found.summary is not None:
            words = tr("More in this session")
            lines.append(line(SearchMore(found), words, _LINE_PX, (), (words, title)))
        count += len(lines)
        yield heading(f"{title}, {detail}", (title, detail), title), lines
    if findings.outputs_left:
        title = tr("Not searched yet")
        words = tr("Search large outputs, too")
        more = line(SearchMore(None), words, _LINE_PX, (), (words, title))
        yield heading(title, (title, ""), title), [more]


def _hit_line(hit: SearchHit, found: SessionHits, title: str, terms: tuple[str, ...], now: datetime) -> Line:
    kinds = {"output": tr("Output"), "handover": tr("Handover summary"), "file": tr("File")}
    speakers = {"user": tr("You"), "agent": tr("Agent")}
    kind = kinds.get(hit.kind, speakers.get(hit.speaker, tr("Program")))
    source = ""
    size = ""
    if hit.kind == "output":
        source = f"{hit.tool} {hit.target}".strip()
        size = format_size(hit.size)
    words = hit.excerpt or source
    detail = dotted((source, size, format_short_time(hit.at, now)))
    row = FoundHit(hit, found, detail, word_spans(hit.excerpt, terms))
    return line(row, words, _LINE_PX, (words, detail), (kind, words, detail, title))


def draw_session(title: str, detail: str, width: float) -> Box:
    """Return the heading of a session's hits, in a line so wide."""
    words = Text(title, 12, weight=600, cut=elide_title, grow=True, shrink=True)
    content = Row([words, _detail(detail, (width - 2 * _EDGE_PX) / 2)], 16)
    return Frame(content, (_EDGE_PX, 4, _EDGE_PX, 0))


def draw_hit(found: FoundHit, words: str, width: float) -> Box:
    hit = found.hit
    name: str = hit.kind
    if hit.kind == "message":
        name = hit.speaker or "output"
    elide = Qt.TextElideMode.ElideRight
    if hit.kind == "file":
        elide = Qt.TextElideMode.ElideLeft
    text = Text(words, elide=elide, marks=found.marks, grow=True, shrink=True)
    most = (width - _TEXT_PX - _EDGE_PX) * _DETAIL_SHARE
    content = Row([text, _detail(found.detail, most)], 16, grow=True, shrink=True)
    sign = Frame(Icon(_ICONS[name], "muted", _ICON_PX), wide=_SIGN_PX, least=_LINE_PX - 2)
    return Frame(Row([sign, content], _TEXT_PX - _SIGN_PX), (0, 0, _EDGE_PX, 0))


def draw_more(words: str) -> Box:
    return Frame(Text(words, color="accent_text"), (_TEXT_PX, 0, _EDGE_PX, 0))


def _detail(words: str, most: float) -> Box:
    text = Text(words, 12, "muted", elide=Qt.TextElideMode.ElideMiddle)
    return Frame(text, wide=min(text.width(), most))
