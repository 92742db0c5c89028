"""The store in memory: the same results and errors as on disk, nothing durable. For tests and replay."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence

import msgspec

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import DigestUnknown, HelixError, StoreWriteFailed
from helix_desktop.domain.events.conversation import Attachment, SubagentStarted
from helix_desktop.domain.events.recorded_event import RecordedEvent, digests_in
from helix_desktop.domain.events.summary import HandoverMade, checkpoint_in
from helix_desktop.domain.listeners import OnProgress, no_progress
from helix_desktop.domain.redaction import Redaction, RedactionMatches, RedactionRequest
from helix_desktop.domain.retention import (
    GRACE_MS,
    MAX_TIME_MS,
    CleanupPlan,
    CleanupResult,
    ContentReference,
    EntryTotals,
    PermanentDeletion,
    RetentionRule,
    TrashContents,
    plan_cleanup,
    purgeable_entries,
    unindexed_entries,
)
from helix_desktop.domain.store import (
    BranchPoint,
    CacheEntry,
    Commit,
    Content,
    Draft,
    EntryPage,
    PartialOutput,
    SessionSummary,
    StoreTotals,
    listed_session,
    point_in,
    without_partial_answer,
)
from helix_desktop.domain.store_reports import IntegrityReport, LostContent, RepairReport
from helix_desktop.store.core import keys, store_errors
from helix_desktop.store.core.commit import (
    Tombstone,
    check_branch,
    check_commit,
    check_digest,
    check_sequence,
    check_stored,
)
from helix_desktop.store.core.store_search import EntryQuery, StoreSearch, page_from_unordered
from helix_desktop.system.clock import ClockMs, wall_clock_ms


class MemoryData(msgspec.Struct, frozen=True):
    """The data of an in-memory store, shared by its parts."""

    contents: dict[str, bytes] = msgspec.field(default_factory=dict)
    entries: dict[str, CacheEntry] = msgspec.field(default_factory=dict)
    logs: dict[str, list[RecordedEvent]] = msgspec.field(default_factory=dict)
    summaries: dict[str, SessionSummary] = msgspec.field(default_factory=dict)
    drafts: dict[str, Draft] = msgspec.field(default_factory=dict)
    tombstones: dict[str, Tombstone] = msgspec.field(default_factory=dict)
    branches: dict[str, BranchPoint] = msgspec.field(default_factory=dict)

    def last_seq(self, session_id: str) -> int:
        """Return the seq of a session's last event; 0 if it has none."""
        own, point = self.logs.get(session_id), self.branches.get(session_id)
        return own[-1].seq if own else point.seq if point is not None else 0

    def log_of(self, session_id: str) -> list[RecordedEvent]:
        """Return a session's full log, a branch's with its parent's part."""
        own, point = self.logs.get(session_id, []), self.branches.get(session_id)
        return list(own) if point is None else [*self.log_of(point.parent)[: point.seq], *own]

    def holder_of(self, session_id: str, seq: int) -> str:
        """Return the session that holds event `seq` of a log itself."""
        point = self.branches.get(session_id)
        return session_id if point is None or seq > point.seq else self.holder_of(point.parent, seq)

    def names(self) -> set[tuple[str, int, str]]:
        """Return session, seq (0: its draft) and digest of every place that names a content."""
        drafts = self.drafts.items()
        return {(session_id, 0, digest) for session_id, draft in drafts for digest in draft.digests} | {
            (session_id, recorded.seq, digest)
            for session_id, log in self.logs.items()
            for recorded in log
            for digest in digests_in(recorded.event)
        }

    def copied(self) -> MemoryData:
        """Return a copy to try a change on."""
        return MemoryData(*(dict(getattr(self, name)) for name in self.__struct_fields__))

    def shared_end(self, session_id: str) -> int:
        """Return the last event of a session that branches begin with; 0: none."""
        return max((point.seq for point in self.branches.values() if point.parent == session_id), default=0)


class MemoryRetention:
    """References, pins, clean-up and trash of one in-memory store."""

    def __init__(self, data: MemoryData, clock: ClockMs, check_open: Callable[[], None]) -> None:
        self._data, self._clock, self._check_open = data, clock, check_open

    async def references(self, digest: str) -> list[ContentReference]:
        """Return the events that name a content. Raise ValueError if `digest` is not a digest."""
        self._check_open()
        keys.digest_bytes(digest)
        references = [
            ContentReference(session_id, recorded.seq)
            for session_id, log in self._data.logs.items()
            for recorded in log
            if digest in digests_in(recorded.event)
        ]
        return sorted(references, key=lambda reference: (reference.session, reference.seq))

    async def session_digests(self, session_id: str) -> list[str]:
        """Return the contents that a session names, each once, in the order of their first event."""
        self._check_open()
        keys.session_bytes(session_id)
        log = self._data.log_of(session_id)
        return list(
            dict.fromkeys(digest for recorded in log for digest in sorted(digests_in(recorded.event)))
        )

    async def pin(self, digest: str, pinned: bool) -> None:
        """Exempt a content from every clean-up, or end that. Raise DigestUnknown."""
        self._check_open()
        keys.digest_bytes(digest)
        entry = self._data.entries.get(digest)
        if entry is None:
            raise store_errors.digest_unknown(digest, self._find_digests)
        self._update_entry(entry, pinned=pinned, trashed=0 if pinned else entry.trashed)

    async def plan(self, rule: RetentionRule) -> CleanupPlan:
        """Return what a clean-up would do now; change nothing."""
        self._check_open()
        return plan_cleanup(self._entries(), self._data.contents.get, rule, self._clock())

    async def collect(self, digests: Sequence[str], grace_ms: int = GRACE_MS) -> CleanupResult:
        """Move contents of a plan to the trash, if they are still collectable."""
        self._check_open()
        wall_clock_ms, trashed_ms = self._clock(), self._trash_time_ms()
        rule = RetentionRule(grace_ms=grace_ms)
        free = plan_cleanup(self._entries(), self._data.contents.get, rule, wall_clock_ms).to_trash
        selected = set(digests)
        collected = sorted(
            (entry for entry in free if entry.digest in selected), key=lambda entry: entry.digest
        )
        for entry in collected:
            self._update_entry(entry, trashed=trashed_ms)
        return _result_of(collected)

    async def trash(self) -> TrashContents:
        self._check_open()
        entries = (entry for entry in self._data.entries.values() if entry.trashed)
        summaries = self._data.summaries.values()
        sessions = (summary for summary in summaries if summary.trashed and not summary.is_removed)
        return TrashContents(
            tuple(sorted(entries, key=lambda entry: (-entry.trashed, entry.digest))),
            tuple(sorted(sessions, key=lambda summary: (-summary.trashed, summary.id))),
        )

    async def restore(self, digests: Sequence[str]) -> CleanupResult:
        """Restore contents from the trash."""
        self._check_open()
        trashed_ms = self._trash_time_ms()
        restored = [entry for entry in self._existing(digests) if entry.trashed]
        for entry in restored:
            self._update_entry(entry, trashed=0, last_used=trashed_ms)
        return _result_of(restored)

    async def trash_session(self, session_id: str) -> tuple[str, ...]:
        """Move a session and its subagents' sessions to the trash; return the ids that were moved."""
        self._check_open()
        return self._set_trashed(session_id, self._trash_time_ms())

    async def restore_session(self, session_id: str) -> tuple[str, ...]:
        """Restore a session and its subagents' sessions from the trash; return the ids that were restored."""
        self._check_open()
        return self._set_trashed(session_id, 0)

    async def empty_trash(self, before_ms: int = 0) -> CleanupResult:
        """Delete what was trashed before `before_ms` (ms since 1970; 0: everything in the trash)."""
        self._check_open()
        limit = before_ms or MAX_TIME_MS
        trash = await self.trash()
        removed = [summary.id for summary in trash.sessions if summary.trashed < limit]
        for session_id in removed:
            if session_id in self._data.summaries:  # a subagent may have gone with its session
                self._remove_session(session_id)
        purged = purgeable_entries(self._entries(), self._data.contents.get, limit)
        for entry in purged:
            del self._data.entries[entry.digest], self._data.contents[entry.digest]
        return msgspec.structs.replace(_result_of(purged), sessions=tuple(removed))

    async def delete_permanently(
        self, digests: Sequence[str], sessions: Sequence[str], dry_run: bool = False
    ) -> PermanentDeletion:
        """Delete these items of the trash, all at once or not at all; with `dry_run` only say what would."""
        self._check_open()
        if dry_run:
            copy = self._data.copied()
            trial = MemoryRetention(copy, self._clock, self._check_open)
            return await trial.delete_permanently(digests, sessions)
        data, before, summaries = self._data, self._data.names(), dict(self._data.summaries)
        selected = set(sessions)
        family = [
            summary.id
            for summary in (await self.trash()).sessions
            if summary.id in selected or summary.parent in selected
        ]
        for session_id in family:
            if session_id in data.summaries:  # a subagent may have gone with its session
                self._remove_session(session_id)
        trashed_ms: dict[str, int] = {}
        for session_id, _, digest in before - data.names():
            summary = summaries[session_id]
            while summary.parent and not summary.trashed:  # a branch kept this subagent out of the trash
                summary = summaries[summary.parent]
            trashed_ms[digest] = max(trashed_ms.get(digest, 0), summary.trashed)
        candidates = [
            entry
            for entry in self._entries()
            if entry.digest in trashed_ms or (entry.digest in set(digests) and entry.trashed)
        ]
        used = {
            entry.digest
            for entry in candidates
            if not entry.trashed and entry.last_used > trashed_ms[entry.digest]
        }
        free = [
            entry for entry in candidates if not (entry.references or entry.pinned or entry.digest in used)
        ]
        staying = data.entries.keys() - {entry.digest for entry in free}
        indexes = [digest for digest in staying if data.entries[digest].kind == "index"]
        gone = unindexed_entries(free, indexes, data.contents.get)
        for entry in gone:
            del data.entries[entry.digest], data.contents[entry.digest]
        left = EntryTotals()
        for entry in candidates:
            left = left if entry in gone else left.plus(entry)
        with_branches = sum(bool(data.shared_end(session_id)) for session_id in family)
        freed = sum(entry.stored_size for entry in gone)
        return PermanentDeletion(
            tuple(sorted(entry.digest for entry in gone)), tuple(family), freed, left, with_branches
        )

    def _entries(self) -> list[CacheEntry]:
        """Return all entries by digest; an entry that a draft names counts as referenced."""
        data = self._data
        in_drafts = frozenset[str]().union(*(draft.digests for draft in data.drafts.values()))
        return [
            msgspec.structs.replace(entry, references=max(1, entry.references))
            if digest in in_drafts
            else entry
            for digest, entry in sorted(data.entries.items())
        ]

    def _trash_time_ms(self) -> int:
        """Return the time, but not before the newest content: a clock set back must not age the trash."""
        return max(self._clock(), max((entry.created for entry in self._data.entries.values()), default=0))

    def _set_trashed(self, session_id: str, trashed_ms: int) -> tuple[str, ...]:
        keys.session_bytes(session_id)
        summaries = self._data.summaries
        children = sorted(
            (name for name in summaries if summaries[name].parent == session_id), key=str.encode
        )
        if trashed_ms and self._data.shared_end(session_id):
            children = []  # branches may show them
        family = [name for name in (session_id, *children) if name in summaries]
        changed = [
            name
            for name in family
            if bool(summaries[name].trashed) != bool(trashed_ms) and not summaries[name].is_removed
        ]
        for name in changed:
            summaries[name] = msgspec.structs.replace(summaries[name], trashed=trashed_ms)
        return tuple(changed)

    def _remove_session(self, session_id: str) -> None:
        """Delete what no branch needs of a session, and what was left of its parent for its sake."""
        data, end = self._data, self._data.shared_end(session_id)
        log = data.logs.pop(session_id, [])
        later = [recorded for recorded in log if recorded.seq > end]
        for recorded in later:
            for digest in digests_in(recorded.event):
                entry = data.entries.get(digest)
                if entry is not None:
                    self._update_entry(entry, references=entry.references - 1)
        data.drafts.pop(session_id, None)
        subagents = {name for name, summary in data.summaries.items() if summary.parent == session_id}
        summary = data.summaries.pop(session_id)
        if end:
            data.logs[session_id] = log[: len(log) - len(later)]
            data.summaries[session_id] = SessionSummary(
                session_id, "", 0, 0, events=end, trashed=summary.trashed, is_removed=True
            )
            started = (recorded.event for recorded in later)
            subagents &= {event.session for event in started if isinstance(event, SubagentStarted)}
        elif not summary.is_removed:
            subagents = set()  # those of a session that goes at once have their own place in the trash
        point = data.branches.pop(session_id, None) if not end else None
        parent = data.summaries.get(point.parent) if point is not None else None
        for name in (*sorted(subagents), *([parent.id] if parent is not None and parent.is_removed else [])):
            self._remove_session(name)

    def _existing(self, digests: Sequence[str]) -> list[CacheEntry]:
        return [
            self._data.entries[digest] for digest in dict.fromkeys(digests) if digest in self._data.entries
        ]

    def _update_entry(self, entry: CacheEntry, **fields: int | bool) -> None:
        self._data.entries[entry.digest] = msgspec.structs.replace(entry, **fields)

    def _find_digests(self, prefix: str, limit: int) -> list[str]:
        return sorted(digest for digest in self._data.entries if digest.startswith(prefix))[:limit]


def _result_of(entries: Sequence[CacheEntry]) -> CleanupResult:
    return CleanupResult(
        tuple(entry.digest for entry in entries), stored_size=sum(entry.stored_size for entry in entries)
    )


class MemoryRedaction:
    """Remove what the user names from one in-memory store."""

    def __init__(self, data: MemoryData, clock: ClockMs, check_open: Callable[[], None]) -> None:
        self._data, self._clock, self._check_open = data, clock, check_open

    async def preview(
        self, request: RedactionRequest, on_progress: OnProgress = no_progress
    ) -> RedactionMatches:
        """Return where the request matches; change nothing. Raise InvalidInput."""
        self._check_open()
        return _RedactionPass(self._data, Redaction(request, self._clock())).matches()

    async def redact(
        self, request: RedactionRequest, on_progress: OnProgress = no_progress
    ) -> RedactionMatches:
        """Remove the matches everywhere in this store; return what was changed. Raise InvalidInput."""
        self._check_open()
        at_ms = self._clock()
        return _RedactionPass(self._data, Redaction(request, at_ms)).apply(at_ms)

    async def redacted_at(self, digest: str) -> int:
        """Return when a content was redacted, in ms since 1970; 0 if it was not, or may be stored again."""
        self._check_open()
        keys.digest_bytes(digest)
        tombstone = self._data.tombstones.get(digest)
        return tombstone.at if tombstone is not None and not tombstone.lifted else 0

    async def lift(self, digest: str) -> bool:
        """Allow a redacted content to be stored again; return True if it was redacted."""
        self._check_open()
        keys.digest_bytes(digest)
        tombstone = self._data.tombstones.get(digest)
        if tombstone is not None:
            self._data.tombstones[digest] = msgspec.structs.replace(tombstone, lifted=True)
        return tombstone is not None and not tombstone.lifted


class _RedactionPass:
    """One pass through all data of the store."""

    def __init__(self, data: MemoryData, redaction: Redaction) -> None:
        self._data, self._redaction = data, redaction
        self._rewritten: dict[str, bytes] = {}
        self._removed = (
            {session_id: redaction.find_removed(data.log_of(session_id)) for session_id in data.logs}
            if redaction.digests
            else {}
        )
        entries = [data.entries[digest] for digest in sorted(data.entries)]
        here = [entry for entry in entries if self._holds_secret(entry)]
        indexes = [
            entry for entry in entries if entry.kind == "index" and entry.digest not in redaction.digests
        ]
        self.contents = [entry for entry in here if entry not in indexes]
        self.indexes = [entry for entry in here if entry in indexes]
        if self.indexes or redaction.digests:
            self._rewrite_indexes(indexes)
        self.indexes += [
            entry for entry in indexes if entry.digest in self._rewritten and entry not in self.indexes
        ]
        clean = [entry for entry in entries if entry not in (*self.contents, *self.indexes)]
        self.labels = [entry for entry in clean if self._with_clean_labels(entry) != entry]
        self.events = [
            (session_id, index, changed)
            for session_id in sorted(data.logs, key=str.encode)
            for index, changed in self._changed_events(session_id)
        ]

    def _holds_secret(self, entry: CacheEntry) -> bool:
        redaction = self._redaction
        if entry.digest in redaction.digests:
            return True
        data = self._data.contents[entry.digest]
        return redaction.matches(data) or redaction.repeats_removed(entry.tool, data)

    def _rewrite_indexes(self, indexes: list[CacheEntry]) -> None:
        changed = True
        while changed:
            changed = False
            for entry in indexes:
                previous = self._rewritten.get(entry.digest, self._data.contents[entry.digest])
                current = self._redaction.redact_data(previous)
                if current != previous:
                    changed = True
                    self._rewritten[entry.digest] = current
                    self._redaction.move_index(entry.digest, current)

    def _with_clean_labels(self, entry: CacheEntry) -> CacheEntry:
        redact = self._redaction.redact_text
        return msgspec.structs.replace(
            entry, tool=redact(entry.tool), target=redact(entry.target), first_line=redact(entry.first_line)
        )

    def _changed_events(self, session_id: str) -> list[tuple[int, RecordedEvent]]:
        removed = self._removed.get(session_id, {})
        changed = []
        for index, recorded in enumerate(self._data.logs[session_id]):
            redacted = self._redaction.redact_event(recorded, removed)
            if redacted is not recorded:
                changed.append((index, redacted))
        return changed

    def matches(self) -> RedactionMatches:
        """Return what matches the request."""
        redact = self._redaction.redact_summary
        titles = (summary.id for summary in self._data.summaries.values() if redact(summary) != summary)
        drafts = (
            session_id
            for session_id, draft in self._data.drafts.items()
            if self._redaction.redact_draft(draft) != draft
        )
        return RedactionMatches(
            tuple(self.contents),
            tuple(self.indexes),
            tuple(entry.digest for entry in self.labels),
            tuple(ContentReference(session_id, redacted.seq) for session_id, _, redacted in self.events),
            tuple(sorted(titles, key=str.encode)),
            tuple(sorted(drafts, key=str.encode)),
        )

    def apply(self, at_ms: int) -> RedactionMatches:
        """Apply the redaction; return what was changed."""
        matches, data = self.matches(), self._data
        for entry in self.indexes:
            self._store_rewritten(entry, at_ms)
        for session_id, index, redacted in self.events:
            previous, data.logs[session_id][index] = data.logs[session_id][index], redacted
            for digest in {*digests_in(previous.event)} ^ {*digests_in(redacted.event)}:
                self._add_references(digest, 1 if digest in digests_in(redacted.event) else -1)
        for entry in self.labels:
            data.entries[entry.digest] = self._with_clean_labels(data.entries[entry.digest])
        for session_id in matches.titles:
            data.summaries[session_id] = self._redaction.redact_summary(data.summaries[session_id])
        for session_id in matches.drafts:
            data.drafts[session_id] = self._redaction.redact_draft(data.drafts[session_id])
        for entry in (*self.contents, *self.indexes):
            del data.entries[entry.digest], data.contents[entry.digest]
            data.tombstones[entry.digest] = Tombstone(
                at_ms, self._redaction.new_digests.get(entry.digest, "")
            )
        return matches

    def _store_rewritten(self, entry: CacheEntry, at_ms: int) -> None:
        data = self._rewritten[entry.digest]
        digest = digest_of(data)
        if digest not in self._data.entries:
            self._data.contents[digest] = data
            self._data.entries[digest] = msgspec.structs.replace(
                self._with_clean_labels(entry),
                digest=digest,
                size=len(data),
                stored_size=len(data),
                created=at_ms,
                last_used=at_ms,
                recalls=0,
                references=0,
                pinned=False,
                trashed=0,
            )

    def _add_references(self, digest: str, delta: int) -> None:
        entry = self._data.entries.get(digest)
        if entry is not None:
            trashed = 0 if delta > 0 else entry.trashed
            self._data.entries[digest] = msgspec.structs.replace(
                entry, references=entry.references + delta, trashed=trashed
            )


class MemoryHealth:
    """The health of a store that never has damage."""

    def __init__(self, contents: Mapping[str, bytes], check_open: Callable[[], None]) -> None:
        self._contents, self._check_open = contents, check_open

    @property
    def report(self) -> RepairReport | None:
        """Return None: nothing is ever repaired."""
        return None

    async def acknowledge(self) -> None:
        """Do nothing: there is no report to acknowledge."""
        self._check_open()

    def listen(self, listener: Callable[[HelixError], None]) -> Callable[[], None]:
        """Return an unsubscribe function; the listener is never called, bytes in memory cannot be damaged."""
        return lambda: None

    async def missing_files(self) -> StoreWriteFailed | None:
        """Return None: there are no files."""
        return None

    async def check(self, on_progress: OnProgress | None = None) -> IntegrityReport:
        """Compare the content of every entry with its SHA-256."""
        self._check_open()
        wrong = [digest for digest, data in self._contents.items() if digest_of(data) != digest]
        count = len(self._contents)
        if on_progress is not None:
            on_progress(count, count)
        return IntegrityReport(count, count, tuple(map(LostContent, wrong)))


class MemoryStore(StoreSearch):
    """One workspace's store while the process lives. Nothing is compressed: `stored_size` equals `size`."""

    def __init__(self, clock: ClockMs = wall_clock_ms) -> None:
        self._clock = clock
        self._closed = False
        self._data = MemoryData()
        self.retention = MemoryRetention(self._data, clock, self._check_open)
        self.redaction = MemoryRedaction(self._data, clock, self._check_open)
        self.health = MemoryHealth(self._data.contents, self._check_open)

    async def commit(self, commit: Commit) -> None:
        """Store all or nothing. Raise ContentTooLarge, StoreClosed, ValueError as LevelDbStore does."""
        self._check_open()
        session_id, at_ms = commit.session_id, self._clock()
        check_commit(commit)
        self._check_against_stored(commit)
        for content in commit.contents:
            await self._store_content(content, at_ms, session_id)
        self._begin_branch(commit)
        for recorded in commit.events:
            self._data.logs.setdefault(session_id, []).append(recorded)
            for digest in digests_in(recorded.event):
                if digest in self._data.entries:
                    self._update_entry(
                        digest, references=self._data.entries[digest].references + 1, trashed=0
                    )
        for digest in commit.recalls:
            if digest in self._data.entries:
                recall_count = self._data.entries[digest].recalls + 1
                self._update_entry(digest, recalls=recall_count, last_used=at_ms, trashed=0)
        if commit.summary is not None:
            self._data.summaries[session_id] = commit.summary
        if commit.ends_partial_answer and session_id in self._data.drafts:
            self._data.drafts[session_id] = without_partial_answer(self._data.drafts[session_id])

    async def events(self, session_id: str) -> list[RecordedEvent]:
        """Return a session's full log, in order; empty if there is none."""
        self._check_open()
        keys.session_bytes(session_id)
        return self._data.log_of(session_id)

    async def sessions(self) -> list[SessionSummary]:
        """Return all sessions except those in the trash, last updated first."""
        self._check_open()
        summaries = self._data.summaries.values()
        listed = (summary for summary in summaries if not (summary.trashed or summary.is_removed))
        return sorted(listed, key=lambda summary: (-summary.updated, summary.id))

    async def get(self, digest: str) -> bytes:
        """Return the bytes of a full digest. Raise DigestUnknown (with near matches)."""
        self._check_open()
        if digest not in self._data.contents:
            raise self._missing_error(digest)
        return self._data.contents[digest]

    async def entry(self, digest: str) -> CacheEntry:
        """Return the metadata of a content. Raise DigestUnknown."""
        self._check_open()
        if digest not in self._data.entries:
            raise self._missing_error(digest)
        return self._data.entries[digest]

    async def find(self, prefix: str, limit: int = 20) -> list[str]:
        """Return the digests that begin with `prefix` (1 to 64 hex digits), sorted. Raise ValueError."""
        self._check_open()
        return self._find_digests(prefix, limit)

    async def totals(self) -> StoreTotals:
        """Return counts and sizes of the store."""
        self._check_open()
        size = sum(len(data) for data in self._data.contents.values())
        sessions = sum(not summary.is_removed for summary in self._data.summaries.values())
        return StoreTotals(len(self._data.entries), size, size, sessions)

    async def save_draft(self, session_id: str, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Save what was typed and attached but not sent; if both are empty, delete the draft."""
        self._check_open()
        keys.session_bytes(session_id)
        stored = self._data.drafts.get(session_id, Draft())
        self._data.drafts[session_id] = msgspec.structs.replace(
            stored, text=text, attachments=tuple(attachments)
        )

    async def save_partial_answer(self, session_id: str, answer: RecordedEvent | None) -> None:
        """Save what came so far of an answer, until it is recorded; None: delete it."""
        self._check_open()
        keys.session_bytes(session_id)
        stored = self._data.drafts.get(session_id, Draft())
        self._data.drafts[session_id] = msgspec.structs.replace(stored, partial_answer=answer)

    async def save_partial_outputs(self, session_id: str, outputs: Sequence[PartialOutput]) -> None:
        """Save what running calls printed so far, until their answers are recorded; empty: delete it."""
        self._check_open()
        keys.session_bytes(session_id)
        stored = self._data.drafts.get(session_id, Draft())
        self._data.drafts[session_id] = msgspec.structs.replace(stored, partial_outputs=tuple(outputs))

    async def draft(self, session_id: str) -> Draft:
        """Return what was typed and attached but not sent, and what came of an answer not yet recorded."""
        self._check_open()
        keys.session_bytes(session_id)
        return self._data.drafts.get(session_id, Draft())

    async def tools(self) -> tuple[str, ...]:
        """Return the names of the tools that stored something, sorted."""
        self._check_open()
        return tuple(sorted({entry.tool for entry in self._data.entries.values()}))

    async def wait_until_indexed(self) -> None:
        """Return at once: nothing is indexed here, every search scans everything."""
        self._check_open()

    async def list_page(self, entry_query: EntryQuery, terms: Sequence[str] = ()) -> EntryPage:
        """Return one page of a listing; `terms` are left to the caller's text search."""
        self._check_open()
        return page_from_unordered(entry_query, self._data.entries.values())

    async def list_digests(self, entry_query: EntryQuery) -> bytes:
        """Return all digests of a listing, joined."""
        everything = msgspec.structs.replace(entry_query, limit=len(self._data.entries) + 1)
        page = await self.list_page(everything)
        return b"".join(bytes.fromhex(entry.digest) for entry in page.entries)

    async def handovers(self, with_checkpoints: bool = False) -> list[tuple[str, RecordedEvent]]:
        """Return every handover, and checkpoint if asked, with its session, in any order."""
        self._check_open()
        hidden = {summary.id for summary in self._data.summaries.values() if summary.trashed}
        return [
            (listed_session(session_id, recorded.seq, hidden, self._data.branches), recorded)
            for session_id, log in self._data.logs.items()
            for recorded in log
            if isinstance(recorded.event, HandoverMade)
            or (with_checkpoints and checkpoint_in(recorded.event) is not None)
        ]

    async def close(self) -> None:
        """Close the store: later calls raise StoreClosed. Idempotent."""
        self._closed = True

    def _new_point(self, commit: Commit) -> BranchPoint | None:
        """Return where the branch begins that a commit makes; None if it makes none."""
        is_new = not self._data.last_seq(commit.session_id)
        return point_in(commit.events[0]) if commit.events and is_new else None

    def _begin_branch(self, commit: Commit) -> None:
        point = self._new_point(commit)
        if point is not None:
            holder = self._data.holder_of(point.parent, point.seq)
            self._data.branches[commit.session_id] = BranchPoint(holder, point.seq)

    async def _store_content(self, content: Content, at_ms: int, session_id: str) -> None:
        digest = content.digest
        entry = self._data.entries.get(digest)
        if entry is not None:
            self._update_entry(digest, trashed=0, last_used=max(at_ms, entry.last_used))
        elif entry is None and not self._is_redacted(digest):
            self._data.contents[digest] = content.data
            self._data.entries[digest] = _new_entry(content, at_ms, session_id)
            if self._data.tombstones.pop(digest, None):
                self._update_entry(digest, references=len(await self.retention.references(digest)))

    def _check_open(self) -> None:
        if self._closed:
            raise store_errors.store_closed()

    def _check_against_stored(self, commit: Commit) -> None:
        """Refuse the commit before anything is changed."""
        for content in commit.contents:
            check_digest(content, digest_of(content.data))
        added = {content.digest for content in commit.contents}

        def is_stored(digest: str) -> bool:
            return digest in self._data.entries or digest in added or self._is_redacted(digest)

        point = self._new_point(commit)
        if point is not None:
            check_branch(commit.session_id, point, self._data.last_seq(point.parent))
        last_seq = point.seq if point is not None else self._data.last_seq(commit.session_id)
        check_sequence(commit.session_id, last_seq, commit.events)
        for recorded in commit.events:
            for digest in digests_in(recorded.event):
                check_stored(digest, is_stored(digest), f"event {recorded.seq}")
        for digest in commit.recalls:
            check_stored(digest, is_stored(digest), "a recall")

    def _is_redacted(self, digest: str) -> bool:
        tombstone = self._data.tombstones.get(digest)
        return tombstone is not None and not tombstone.lifted

    def _missing_error(self, digest: str) -> DigestUnknown:
        tombstone = self._data.tombstones.get(digest)
        if tombstone is not None:
            return store_errors.content_redacted(digest, tombstone.at, tombstone.successor)
        return store_errors.digest_unknown(digest, self._find_digests)

    def _update_entry(self, digest: str, **fields: int) -> None:
        self._data.entries[digest] = msgspec.structs.replace(self._data.entries[digest], **fields)

    def _find_digests(self, prefix: str, limit: int) -> list[str]:
        span = keys.records_of(prefix)
        matches = _in_span(sorted(keys.record(digest) for digest in self._data.entries), span)
        return [keys.digest_in(key) for key in matches[:limit]]


def _in_span(sorted_keys: list[bytes], span: keys.Span) -> list[bytes]:
    return sorted_keys[bisect_left(sorted_keys, span[0]) : bisect_left(sorted_keys, span[1])]


def _new_entry(content: Content, at_ms: int, session_id: str) -> CacheEntry:
    return CacheEntry(
        content.digest,
        len(content.data),
        len(content.data),
        content.tokens,
        content.tool,
        content.target,
        content.first_line,
        content.kind,
        at_ms,
        at_ms,
        session=session_id,
    )
