"""Where messages, summaries and file names are found by words: passages in the search index, newest first.

Passages are made of the logs and never the truth. The number of a passage is its time with a counter behind
it, so the order of FTS5's rows is the order of time. A text ends with two marks, of its kind and its log:
trigrams like all others, so FTS5 finds a session's few passages among a million without looking at the rest.
Each hit is read from the store and verified there: what the store no longer holds is not found. No text of a
message is stored here, only its trigrams.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from helix_desktop.context.summaries.handover import searchable_text
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.events.foreign import ForeignCompaction
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.session import ChangesRecorded, FilesChanged
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.files.file_use import call_target, file_use
from helix_desktop.domain.passages import (
    MAX_PASSAGE,
    PASSAGE_KINDS,
    Passage,
    PassageHit,
    PassageKind,
    PassagePage,
    PassageQuery,
)
from helix_desktop.domain.store import BranchPoint, listed_session
from helix_desktop.domain.text_search import ExcerptSize, excerpt_of, normalize, visible_text
from helix_desktop.domain.typed_text import program_texts, typed_text
from helix_desktop.store import kinds
from helix_desktop.store.commits import read_branches
from helix_desktop.store.kinds import ROWS, RowDamaged, RowView
from helix_desktop.store.search_index import match_expression, to_indexed_text

_log = logging.getLogger(__name__)

_COUNTER_BITS = 20  # of a passage's number, behind the time in ms
_MAX_TIME = (1 << 42) - 1  # ms since 1970: the year 2109; later ones count as that
# Private characters are marks: one is that of a kind, two are that of a log.
_MARK_BASE = 0xF0000
_MARK_ROOM = 0xFFFE
_STAMP_BYTES = 4  # of an event's row: its checksum
# So much is indexed in one transaction, which takes about 20 ms.
_BATCH_EVENTS = 200
_BATCH_BYTES = 256 * 1024
_SLICE_S = 0.06  # seconds that a page may take before it ends with a cursor
_CHECKED_AT_ONCE = 64  # candidates between two looks at the clock

T = TypeVar("T")


class ReadStore(Protocol):
    """Returns the result of a query on the store's rows."""

    def __call__(self, query: Callable[[RowView], T], /) -> T: ...


def passages_in(event: Event) -> Iterator[Passage]:
    """Yield what can be found of an event."""
    match event:
        case UserSpoke(text=text, attachments=attachments):
            if words := typed_text(text):
                yield Passage("message", words[:MAX_PASSAGE], "user")
            for program in program_texts(text):
                yield Passage("message", program.text[:MAX_PASSAGE])
            for attachment in attachments:
                if attachment.path:
                    yield Passage("file", attachment.path)
        case AssistantSpoke(text=text, calls=calls):
            targets = (call_target(call.arguments) for call in calls)
            if said := "\n".join(filter(None, (text, *targets))):
                yield Passage("message", said[:MAX_PASSAGE], "agent")
            for use in filter(None, map(file_use, calls)):
                yield from (Passage("file", path) for path in use.paths)
        case HandoverMade():
            yield Passage("handover", searchable_text(event)[:MAX_PASSAGE])
        case ForeignCompaction(summary=summary):
            if summary:
                yield Passage("handover", summary[:MAX_PASSAGE])
        case ChangesRecorded(paths=paths, first_path=first):
            yield from (Passage("file", path) for path in dict.fromkeys((*paths, first)) if path)
        case FilesChanged(files=files):
            yield from (Passage("file", file.path) for file in files)


class PassageIndex:
    """The passages in an open index. Methods may raise sqlite3.Error, and what reading the store raises."""

    def __init__(self, db: sqlite3.Connection, read: ReadStore) -> None:
        self._db = db
        self._read = read
        self._pending: dict[str, None] = {}
        self._events: dict[str, int] = {}  # the last event of each session
        self._indexed: dict[str, int] = {}

    @property
    def has_pending(self) -> bool:
        """Return True if a log has events that are not indexed."""
        return bool(self._pending)

    def compare(self, is_in_sync: bool) -> None:
        """Find out which logs have events that are not indexed; unless it `is_in_sync`, which have others."""
        known = {
            session: (seq, stamp)
            for session, seq, stamp in self._db.execute("SELECT session, seq, stamp FROM logs")
        }

        def compare(view: RowView) -> tuple[dict[str, int], list[str], list[str]]:
            rows = ROWS.last_seq.scan(view, kinds.LAST_EVENTS)
            last = {kinds.session_of(key, kinds.LAST_EVENTS): seq for key, seq in rows}
            wrong = [] if is_in_sync else [
                session
                for session, (seq, stamp) in known.items()
                if last.get(session, -1) < seq or _stamp(view, session, seq) != stamp
            ]  # fmt: skip
            right = {session: seq for session, (seq, _) in known.items()} | dict.fromkeys(wrong, 0)
            behind = [session for session, seq in last.items() if right.get(session, 0) < seq]
            used = _last_used(view) if len(behind) > 1 else {}
            return last, wrong, sorted(behind, key=lambda session: -used.get(session, 0))

        events, wrong, behind = self._read(compare)
        self.remove(wrong)
        self._events = events
        self._pending = dict.fromkeys(behind)
        self._indexed = {session: seq for session, (seq, _) in known.items() if session not in set(wrong)}

    def note_changes(self, sessions: Iterable[str]) -> None:
        """Take notice that logs have grown, or are gone."""

        def read(view: RowView) -> dict[str, int | None]:
            return {session: ROWS.last_seq.get(view, session) for session in sessions}

        gone = []
        for session, last in self._read(read).items():
            if last is None:
                gone.append(session)
            else:
                self._events[session] = last
                if last > self._indexed.get(session, 0):
                    self._pending[session] = None
        self.remove(gone)

    def remove(self, sessions: Sequence[str]) -> None:
        """Drop the passages of logs. What is left of them are trigrams of numbers that nothing names."""
        if not sessions:
            return
        with self._db:
            gone = [self._find_log(session) for session in sessions]
            places = ", ".join(str(log) for log in gone if log is not None)
            self._db.execute(f"DELETE FROM passages WHERE log IN ({places})")
            self._db.execute(f"DELETE FROM logs WHERE id IN ({places})")
        for session in sessions:
            self._indexed.pop(session, None)
            self._pending.pop(session, None)
            self._events.pop(session, None)

    def step(self) -> None:
        """Index some events of the log that was used last."""
        session = next(iter(self._pending))
        after = self._indexed.get(session, 0)
        last = self._events[session]
        rows, is_all = self._read(lambda view: _rows_after(view, session, after))
        reached = last if is_all else kinds.seq_in(rows[-1][0])
        stamp = self._read(lambda view: _stamp(view, session, reached))
        with self._db:
            self._db.execute("INSERT OR IGNORE INTO logs(session, seq) VALUES (?, 0)", (session,))
            log = self._find_log(session)
            assert log is not None
            self._put(log, _decoded(session, rows))
            self._db.execute("UPDATE logs SET seq = ?, stamp = ? WHERE id = ?", (reached, stamp, log))
        self._indexed[session] = reached
        if is_all:
            del self._pending[session]

    def find(self, query: PassageQuery) -> PassagePage:
        """Return a page of hits, within about 70 ms: what is left then is found from its cursor on."""
        return self._read(lambda view: self._find(view, query))

    def _find(self, view: RowView, query: PassageQuery) -> PassagePage:
        deadline = time.monotonic() + _SLICE_S
        hits: list[PassageHit] = []
        counts = Counter[str]()
        unreadable = 0
        finder = PassageFinder(view, query)
        candidates = self._candidates(query)
        cursor = 0
        for checked, (number, session, seq, kind, path) in enumerate(candidates):
            if len(hits) >= query.limit or (
                checked % _CHECKED_AT_ONCE == _CHECKED_AT_ONCE - 1 and time.monotonic() > deadline
            ):
                cursor = number + 1
                break
            is_over = 0 < query.per_session < counts[session]
            is_named = query.names_file(path)
            if is_over and not is_named:
                continue
            try:
                hit = finder.check(session, seq, PASSAGE_KINDS[kind], path)
            except RowDamaged as error:
                _log.warning("Event %d of session %s is damaged: %s", seq, session, error)
                unreadable += 1
                continue
            if hit is not None:
                counts[session] += 1
                if is_named or not 0 < query.per_session < counts[session]:
                    hits.append(hit)
        candidates.close()
        behind = sum(self._events[session] - self._indexed.get(session, 0) for session in self._pending)
        more = tuple(finder.listed(session) for session, count in counts.items()
                     if query.per_session and count > query.per_session)  # fmt: skip
        return PassagePage(tuple(hits), cursor, more, behind, sum(self._events.values()), unreadable)

    def _candidates(self, query: PassageQuery) -> Generator[tuple[int, str, int, int, str | None]]:
        """Yield what may match: number, session, seq, kind and path, newest first."""
        match = match_expression(query.terms)
        upto = query.cursor or (_MAX_TIME + 1) << _COUNTER_BITS
        values: list[object] = [upto, query.since << _COUNTER_BITS]
        kinds = [PASSAGE_KINDS.index(kind) for kind in query.kinds]
        log = self._find_log(query.session) if query.session else 0
        if log is None:
            return
        if match:
            if len(kinds) < len(PASSAGE_KINDS):
                match += " AND (" + " OR ".join(f'"{_kind_mark(kind)}"' for kind in kinds) + ")"
            if query.session:
                match += f' AND "{_log_mark(log)}"'
            sql = (
                "SELECT w.rowid, l.session, p.seq, p.kind, p.path FROM passage_words w"
                " CROSS JOIN passages p ON p.id = w.rowid CROSS JOIN logs l ON l.id = p.log"
                " WHERE passage_words MATCH ? AND w.rowid < ? AND w.rowid >= ? ORDER BY w.rowid DESC"
            )
            values.insert(0, match)
        else:  # words of one or two characters have no trigram: all are looked at, newest first
            places = ", ".join("?" * len(kinds))
            of_log = " AND p.log = ?" if query.session else ""
            sql = (
                "SELECT p.id, l.session, p.seq, p.kind, p.path"
                " FROM passages p CROSS JOIN logs l ON l.id = p.log"
                f" WHERE p.id < ? AND p.id >= ? AND p.kind IN ({places}){of_log} ORDER BY p.id DESC"
            )
            values += [*kinds, *([log] if query.session else ())]
        cursor = self._db.execute(sql, values)
        try:
            yield from cursor
        finally:
            cursor.close()

    def _find_log(self, session: str) -> int | None:
        row = self._db.execute("SELECT id FROM logs WHERE session = ?", (session,)).fetchone()
        return None if row is None else int(row[0])

    def _put(self, log: int, events: Iterable[RecordedEvent]) -> None:
        number = 0
        for recorded in events:
            for passage in passages_in(recorded.event):
                path = passage.text if passage.kind == "file" else None
                if path is not None and self._has_path(log, path):
                    continue
                number = max(number + 1, min(max(recorded.at, 0), _MAX_TIME) << _COUNTER_BITS)
                while self._db.execute("SELECT 1 FROM passages WHERE id = ?", (number,)).fetchone():
                    number += 1
                kind = PASSAGE_KINDS.index(passage.kind)
                text = to_indexed_text(normalize(passage.text))
                self._db.execute(
                    "INSERT INTO passages VALUES (?, ?, ?, ?, ?)", (number, log, recorded.seq, kind, path)
                )
                self._db.execute(
                    "INSERT INTO passage_words(rowid, text) VALUES (?, ?)",
                    (number, f"{text}\n{_kind_mark(kind)}{_log_mark(log)}"),
                )

    def _has_path(self, log: int, path: str) -> bool:
        sql = "SELECT 1 FROM passages WHERE log = ? AND path = ?"
        return self._db.execute(sql, (log, path)).fetchone() is not None


class PassageFinder:
    """Verifies candidates in a view of the store."""

    def __init__(self, view: RowView, query: PassageQuery) -> None:
        self._view = view
        self._query = query
        self._size = ExcerptSize(query.room, query.lead)
        self._hidden = _HiddenSessions(view)
        self._branches: dict[str, BranchPoint] | None = None

    def listed(self, session: str, seq: int = 0) -> str:
        """Return a session that has an event and is not hidden; it may be hidden if there is none."""
        if session not in self._hidden:
            return session
        if self._branches is None:
            self._branches = read_branches(self._view)
        return listed_session(session, seq, self._hidden, self._branches)

    def is_hidden(self, session: str) -> bool:
        return session in self._hidden

    def check(self, session: str, seq: int, kind: PassageKind, path: str | None) -> PassageHit | None:
        """Return the hit in an event; None if it does not have the words. Raise RowDamaged."""
        listed = self.listed(session, seq)
        recorded = None if self.is_hidden(listed) else ROWS.event.get(self._view, session, seq)
        if recorded is None:
            return None
        for passage in passages_in(recorded.event):
            if passage.kind == kind and (path is None or passage.text == path):
                return self.check_passage(listed, recorded, passage)
        return None

    def check_passage(self, session: str, recorded: RecordedEvent, passage: Passage) -> PassageHit | None:
        """Return the hit in a passage of an event; None if it does not have the words, or is too old."""
        folded = normalize(passage.text)
        terms = self._query.terms
        if recorded.at < self._query.since or not all(term in folded for term in terms):
            return None
        is_path = passage.kind == "file"
        excerpt = (
            visible_text(passage.text) if is_path else excerpt_of(passage.text, folded, terms, self._size)
        )
        return PassageHit(session, recorded.seq, recorded.at, passage.kind, excerpt, passage.speaker)


class _HiddenSessions:
    """The sessions in the trash, and those of which only a part of the log is left; each is read once."""

    def __init__(self, view: RowView) -> None:
        self._view = view
        self._known: dict[str, bool] = {}

    def __contains__(self, session: object) -> bool:
        assert isinstance(session, str)
        if session not in self._known:
            summary = ROWS.summary.get(self._view, session)
            self._known[session] = summary is not None and (bool(summary.trashed) or summary.is_removed)
        return self._known[session]


def scan_passages(view: RowView, query: PassageQuery) -> PassagePage:
    """Return what a search finds without an index, in one page: all logs are read."""
    finder = PassageFinder(view, query)
    found = list[PassageHit]()
    unreadable = 0
    known_paths = set[tuple[str, str]]()
    for key, row in view.scan(kinds.rows_of(query.session, b"e") if query.session else kinds.EVENTS):
        session = kinds.session_of_event(key)
        try:
            recorded = ROWS.event.decode(key, row)
            listed = finder.listed(session, recorded.seq)
        except RowDamaged:
            unreadable += 1
            continue
        for passage in passages_in(recorded.event):
            is_known = passage.kind == "file" and (session, passage.text) in known_paths
            if passage.kind == "file":
                known_paths.add((session, passage.text))
            if passage.kind in query.kinds and not is_known and not finder.is_hidden(listed):
                hit = finder.check_passage(listed, recorded, passage)
                found += [hit] if hit is not None else []
    found.sort(key=lambda hit: (hit.at, hit.session, hit.seq))
    found.reverse()  # not sorted in reverse: what an event has last comes first, as in the index
    hits = list[PassageHit]()
    counts = Counter[str]()
    for hit in found:
        counts[hit.session] += 1
        is_named = hit.kind == "file" and query.names_file(hit.excerpt)
        if len(hits) < query.limit and (is_named or not 0 < query.per_session < counts[hit.session]):
            hits.append(hit)
    more = [session for session, count in counts.items() if 0 < query.per_session < count]
    return PassagePage(tuple(hits), more=tuple(more), unreadable=unreadable)


def _kind_mark(kind: int) -> str:
    return "\2" + chr(_MARK_BASE + kind) + "\2"


def _log_mark(log: int) -> str:
    return "\3" + chr(_MARK_BASE + log // _MARK_ROOM % _MARK_ROOM) + chr(_MARK_BASE + log % _MARK_ROOM)


def _stamp(view: RowView, session: str, seq: int) -> bytes | None:
    """Return the checksum of an event's row; None for a branch without events of its own, or no row."""
    row = view.get(kinds.event_key(session, seq)) if seq else None
    return None if row is None else row[-_STAMP_BYTES:]


def _last_used(view: RowView) -> dict[str, int]:
    used: dict[str, int] = {}
    for key, row in view.scan(kinds.SUMMARIES):
        try:
            summary = ROWS.summary.decode(key, row)
        except RowDamaged:
            continue
        used[summary.id] = summary.updated
    return used


def _rows_after(view: RowView, session: str, seq: int) -> tuple[list[tuple[bytes, bytes]], bool]:
    """Return the rows of some events behind one, and whether they are all."""
    rows = list[tuple[bytes, bytes]]()
    size = 0
    for key, row in view.scan(kinds.events_after(session, seq)):
        if len(rows) >= _BATCH_EVENTS or size >= _BATCH_BYTES:
            return rows, False
        rows.append((key, row))
        size += len(row)
    return rows, True


def _decoded(session: str, rows: Iterable[tuple[bytes, bytes]]) -> Iterator[RecordedEvent]:
    for key, row in rows:
        try:
            yield ROWS.event.decode(key, row)
        except RowDamaged as error:
            _log.warning(
                "Event %d of session %s is damaged and is not searched: %s", kinds.seq_in(key), session, error
            )
