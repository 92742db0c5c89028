"""Redaction in a workspace: search, preview, removal, tombstones; on disk, files without the removed data.

What was removed from the rows is removed from the files too: LevelDB keeps old versions of rows until it
happens to compact them, and a manual compaction skips the deepest level. So every live row is copied into new
files, and the old ones are deleted: what is not live is not copied, nor are chunks of a write that was never
completed.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import msgspec

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentDamaged, DigestUnknown, StoreDamaged, StoreWriteFailed
from helix_desktop.domain.events.recorded_event import digests_in
from helix_desktop.domain.listeners import OnProgress, no_progress
from helix_desktop.domain.redaction import Redaction, RedactionMatches, RedactionRequest
from helix_desktop.domain.retention import ContentReference
from helix_desktop.domain.store import CacheEntry, Content, EntryRecord
from helix_desktop.domain.text_variants import OutputCopies
from helix_desktop.domain.translatable_text import ByteSize, TextContext
from helix_desktop.store import kinds
from helix_desktop.store.commits import StoreAccess, add_reference, log_parts, read_branches, remove_reference
from helix_desktop.store.contents import ContentStore
from helix_desktop.store.database import Database
from helix_desktop.store.files import Quarantine, StoreFiles
from helix_desktop.store.kinds import ROWS, PendingDeletion, RowDamaged, RowView, Tombstone
from helix_desktop.store.retention import remove_content
from helix_desktop.store.threads import WriteBatch
from helix_desktop.system.files import delete_database

text = TextContext("Store")

_SLICE_BYTES = 4 * 1024 * 1024  # bytes per synced write
_RESERVED_BYTES = 16 * 1024 * 1024  # free space that must remain, in bytes

_log = logging.getLogger(__name__)


def rewrite_all_files(database: Database, store_files: StoreFiles) -> None:
    """Rewrite all files of the LevelDB; on the writer's thread, readers continue meanwhile.

    An interruption leaves either the old files or the new ones complete; the note of the pending deletion
    stays until it is done. Raise StoreWriteFailed if there is no space, RowDamaged for a damaged row.
    """
    _check_free_space(store_files)
    shutil.rmtree(store_files.new_db, ignore_errors=True)
    new = Database(store_files.new_db, create=True)
    try:
        database.read(lambda view: _copy_rows(view, new))
    finally:
        new.close()
    database.replace_files(lambda: _swap_in_new_db(store_files))
    _delete_replaced_db(store_files)


def delete_copies(store_files: StoreFiles, damaged: Iterable[str], copies: Iterable[str]) -> None:
    """Delete damaged rows and copies of the store that contain redacted data. Raise OSError."""
    for name in damaged:
        Quarantine(store_files.quarantine).delete(name)
    for name in copies:
        shutil.rmtree(store_files.folder / name, ignore_errors=True)
    # A report without its copy is not valid: its text is deleted.
    if store_files.repair_notes.read_unreported() is None:
        store_files.repair_notes.mark_reported()


def finish_pending_deletion(database: Database, store_files: StoreFiles) -> None:
    """Complete at the opening of a store what a crash or a full disk prevented."""
    if store_files.old_db.exists():
        _delete_replaced_db(store_files)
    row = database.get(kinds.PENDING_DELETION_KEY)
    if row is None:
        return
    try:
        pending = _read_pending_deletion(row)
        delete_copies(store_files, pending.damaged, pending.aside)
        delete_database(store_files.search_index)
        rewrite_all_files(database, store_files)
        batch = WriteBatch(database.get)
        batch.delete(kinds.PENDING_DELETION_KEY)
        database.write(batch)
    except (StoreWriteFailed, RowDamaged, OSError) as error:
        _log.warning("Files that may hold what was forgotten could not be rewritten: %s", error)


def _read_pending_deletion(row: bytes) -> PendingDeletion:
    try:
        return ROWS.pending_deletion.decode(kinds.PENDING_DELETION_KEY, row)
    except RowDamaged:  # or of a version that noted only the time: the files are rewritten in any case
        return PendingDeletion(0)


def _delete_replaced_db(store_files: StoreFiles) -> None:
    shutil.rmtree(store_files.old_db, ignore_errors=True)
    if store_files.old_db.exists():
        _log.warning("%s could not be deleted; it is tried again at the next start.", store_files.old_db.name)


def find_copies(store_files: StoreFiles) -> list[Path]:
    """Return copies of the LevelDB that were kept in the store's folder, and data salvaged from it."""
    own = {store_files.db, store_files.new_db, store_files.old_db, store_files.quarantine}
    folders = (path for path in store_files.folder.iterdir() if path.is_dir() and path not in own)
    return sorted(path for path in folders if any(_is_leveldb_file(file) for file in path.rglob("*")))


def _is_leveldb_file(path: Path) -> bool:
    return path.suffix in (".ldb", ".sst") or (path.suffix == ".log" and path.stem.isdigit())


def _copy_rows(view: RowView, target: Database) -> None:
    batch = WriteBatch(target.get)
    size = 0
    for key, row in view.scan(kinds.ALL_ROWS):
        if key[:1] == kinds.CHUNKS[0] and not _has_content(view, key):
            continue
        batch.put(key, row)
        size += len(key) + len(row)
        if size >= _SLICE_BYTES:
            target.write(batch)
            batch = WriteBatch(target.get)
            size = 0
    target.write(batch)


def _has_content(view: RowView, chunk_key: bytes) -> bool:
    """Return True if there are rows of the content that a chunk belongs to."""
    name = chunk_key[1 : 1 + kinds.DIGEST_BYTES]
    return any(view.get(kind + name) is not None for kind in (kinds.CONTENTS[0], kinds.RECORDS[0]))


def _swap_in_new_db(store_files: StoreFiles) -> None:
    shutil.rmtree(store_files.old_db, ignore_errors=True)
    store_files.db.rename(store_files.old_db)
    store_files.adopt_new_db()


def _check_free_space(store_files: StoreFiles) -> None:
    needed = sum(path.stat().st_size for path in store_files.db.iterdir()) + _RESERVED_BYTES
    free = shutil.disk_usage(store_files.folder).free
    if free < needed:
        raise StoreWriteFailed(
            text("Removed text may still be in the workspace files."),
            text(
                "Rewriting them needs {needed} of disk space; {free} are free.",
                needed=ByteSize(needed),
                free=ByteSize(free),
            ),
            text("Free up disk space. They are rewritten when this workspace opens next."),
        )


_CONTENTS_PER_READ = 50  # contents per read: other readers get their turn in between


@dataclass(slots=True)
class SecretMatches:
    """The matches, by the rows that must change.

    `rewritten_indexes` maps an index entry's digest to its redacted bytes; `removed` holds, by session, the
    outputs that are redacted, by their seqs.
    """

    contents: list[CacheEntry] = field(default_factory=list)
    indexes: list[CacheEntry] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    events: list[ContentReference] = field(default_factory=list)
    removed: dict[str, dict[int, OutputCopies]] = field(default_factory=dict)
    titles: list[str] = field(default_factory=list)
    drafts: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    rewritten_indexes: dict[str, bytes] = field(default_factory=dict)

    def to_matches(self, damaged: Sequence[str] = (), copies: Sequence[str] = ()) -> RedactionMatches:
        return RedactionMatches(
            tuple(self.contents),
            tuple(self.indexes),
            tuple(self.labels),
            tuple(self.events),
            tuple(self.titles),
            tuple(self.drafts),
            tuple(damaged),
            tuple(copies),
            tuple(self.unreadable),
        )


async def find_secret(access: StoreAccess, redaction: Redaction, on_progress: OnProgress) -> SecretMatches:
    """Search everything in a store. Raise StoreUnreadable if a log is damaged."""
    run_query = access.run_query
    contents = access.contents
    result = SecretMatches()
    entries = await run_query(lambda view: list(_entries(view, result)))
    if redaction.digests:
        result.removed = await run_query(lambda view: _find_removed(view, redaction))

    async def search_part(part: Sequence[CacheEntry]) -> None:
        await run_query(lambda view: _search_contents(view, contents, redaction, part, result))

    for index in range(0, len(entries), _CONTENTS_PER_READ):
        on_progress(index, len(entries))
        await search_part(entries[index : index + _CONTENTS_PER_READ])
    indexes = [entry for entry in entries if entry.kind == "index" and entry.digest not in redaction.digests]
    if result.indexes or redaction.digests:
        await run_query(lambda view: _rewrite_indexes(view, contents, redaction, indexes, result))
    on_progress(len(entries), len(entries))
    await run_query(lambda view: _search_logs(view, redaction, result))
    return result


def _entries(view: RowView, matches: SecretMatches) -> Iterator[CacheEntry]:
    for key, row in view.scan(kinds.RECORDS):
        digest = kinds.digest_in(key)
        try:
            yield ROWS.record.decode(key, row).to_entry(digest)
        except RowDamaged:
            matches.unreadable.append(digest)  # its description is not known
            yield CacheEntry(0, 0, 0, 0, 0, "", "", "", "output", digest=digest)


def _search_contents(
    view: RowView,
    contents: ContentStore,
    redaction: Redaction,
    entries: Sequence[CacheEntry],
    matches: SecretMatches,
) -> None:
    for entry in entries:
        if entry.digest in redaction.digests:
            matches.contents.append(entry)
            continue
        has_secret = False
        try:
            data = contents.read(view, entry.digest) if redaction.reads(entry) else b""
            has_secret = redaction.matches(data) or redaction.repeats_removed(entry.tool, data)
        except ContentDamaged:  # its description can still be read
            if entry.digest not in matches.unreadable:
                matches.unreadable.append(entry.digest)
        except DigestUnknown:
            continue  # removed since the entries were listed
        if has_secret:
            found = matches.indexes if entry.kind == "index" else matches.contents
            found.append(entry)
        elif any(
            redaction.redact_text(label) != label for label in (entry.tool, entry.target, entry.first_line)
        ):
            matches.labels.append(entry.digest)


def _rewrite_indexes(
    view: RowView,
    contents: ContentStore,
    redaction: Redaction,
    indexes: Sequence[CacheEntry],
    matches: SecretMatches,
) -> None:
    """Rewrite index entries, and then those that lead to them, until none leads to an old one."""
    changed = True
    while changed:
        changed = False
        for entry in indexes:
            try:
                previous = matches.rewritten_indexes.get(entry.digest) or contents.read(view, entry.digest)
            except (ContentDamaged, DigestUnknown):
                continue
            current = redaction.redact_data(previous)
            if current != previous:
                changed = True
                matches.rewritten_indexes[entry.digest] = current
                redaction.move_index(entry.digest, current)
    known_digests = {entry.digest for entry in matches.indexes}
    matches.indexes += [
        entry
        for entry in indexes
        if entry.digest in matches.rewritten_indexes and entry.digest not in known_digests
    ]
    matches.labels = [digest for digest in matches.labels if digest not in matches.rewritten_indexes]


def _find_removed(view: RowView, redaction: Redaction) -> dict[str, dict[int, OutputCopies]]:
    """Return the redacted outputs of each session, a branch's with those of its parent.

    Such a branch's log is read as a whole: it can have chosen another form of its parent's output.
    """
    rows = groupby(ROWS.event.scan(view, kinds.EVENTS), lambda row: kinds.session_of_event(row[0]))
    own = {session_id: redaction.find_removed(recorded for _, recorded in log) for session_id, log in rows}
    removed = dict(own)
    for branch in read_branches(view):
        *shared, last = log_parts(view, branch)
        if any(part.after < seq <= part.upto for part in shared for seq in own.get(part.session_id, ())):
            spans = (kinds.events_between(part.session_id, part.after, part.upto) for part in (*shared, last))
            removed[branch] = redaction.find_removed(
                recorded for span in spans for _, recorded in ROWS.event.scan(view, span)
            )
    return removed


def _search_logs(view: RowView, redaction: Redaction, matches: SecretMatches) -> None:
    for key, recorded in ROWS.event.scan(view, kinds.EVENTS):
        session_id = kinds.session_of_event(key)
        if redaction.redact_event(recorded, matches.removed.get(session_id, {})) is not recorded:
            matches.events.append(ContentReference(session_id, recorded.seq))
    for key, summary in ROWS.summary.scan(view, kinds.SUMMARIES):
        if redaction.redact_summary(summary) != summary:
            matches.titles.append(key[1:].decode())
    for key, draft in ROWS.draft.scan(view, kinds.DRAFTS):
        if redaction.redact_draft(draft) != draft:
            matches.drafts.append(key[1:].decode())


class Redactor:
    """Stage the changes of one redaction at the time `at_ms`, in ms since 1970."""

    def __init__(self, batch: WriteBatch, access: StoreAccess, redaction: Redaction, at_ms: int) -> None:
        self._batch = batch
        self._access = access
        self._redaction = redaction
        self._at_ms = at_ms

    def stage(self, search_result: SecretMatches) -> None:
        for digest, data in search_result.rewritten_indexes.items():
            self._stage_rewritten(digest, data)
        for reference in search_result.events:
            self._redact_event(
                reference.session, reference.seq, search_result.removed.get(reference.session, {})
            )
        for digest in search_result.labels:
            if (record := ROWS.record.get(self._batch, digest)) is not None:
                ROWS.record.put(self._batch, self._with_clean_labels(record), digest)
        for session_id in search_result.titles:
            if (summary := ROWS.summary.get(self._batch, session_id)) is not None:
                ROWS.summary.put(self._batch, self._redaction.redact_summary(summary), session_id)
        for session_id in search_result.drafts:
            if (draft := ROWS.draft.get(self._batch, session_id)) is not None:
                ROWS.draft.put(self._batch, self._redaction.redact_draft(draft), session_id)
        for entry in search_result.contents:
            self._replace_by_tombstone(entry.digest)
        for digest in search_result.rewritten_indexes:
            self._replace_by_tombstone(digest, self._redaction.new_digests[digest])

    def _stage_rewritten(self, digest: str, data: bytes) -> None:
        record = ROWS.record.get(self._batch, digest)
        if record is not None:
            labels = self._with_clean_labels(record)
            content = Content(
                digest_of(data),
                data,
                labels.tool,
                labels.target,
                labels.first_line,
                record.tokens,
                record.kind,
            )
            self._access.contents.stage(self._batch, content, self._at_ms)

    def _with_clean_labels(self, record: EntryRecord) -> EntryRecord:
        redact = self._redaction.redact_text
        return msgspec.structs.replace(
            record,
            tool=redact(record.tool),
            target=redact(record.target),
            first_line=redact(record.first_line),
        )

    def _redact_event(self, session_id: str, seq: int, removed: Mapping[int, OutputCopies]) -> None:
        previous = ROWS.event.get(self._batch, session_id, seq)
        if previous is not None:
            redacted = self._redaction.redact_event(previous, removed)
            ROWS.event.put(self._batch, redacted, session_id, seq)
            before = set(digests_in(previous.event))
            after = set(digests_in(redacted.event))
            for digest in before - after:
                remove_reference(self._batch, session_id, redacted.seq, digest)
            for digest in after - before:
                add_reference(self._batch, session_id, redacted.seq, digest)

    def _replace_by_tombstone(self, digest: str, successor: str = "") -> None:
        record = ROWS.record.get(self._batch, digest)
        if record is not None:
            remove_content(self._batch, self._access.database, digest, record)
        ROWS.tombstone.put(self._batch, Tombstone(self._at_ms, successor), digest)


_MAX_ROUNDS = 3  # what is written while one search runs is found by the next


class RowRedaction:
    """Remove what the user names from the rows of one workspace; lives as long as its store."""

    def __init__(self, access: StoreAccess) -> None:
        self._access = access

    async def preview(
        self, request: RedactionRequest, on_progress: OnProgress = no_progress
    ) -> RedactionMatches:
        redaction = Redaction(request, self._access.clock())
        return await self._matches(await find_secret(self._access, redaction, on_progress), redaction)

    async def redact(
        self, request: RedactionRequest, on_progress: OnProgress = no_progress
    ) -> RedactionMatches:
        at_ms = self._access.clock()
        redaction = Redaction(request, at_ms)
        found = await find_secret(self._access, redaction, on_progress)
        await self._access.write(lambda batch: Redactor(batch, self._access, redaction, at_ms).stage(found))
        return await self._matches(found, redaction)

    async def redacted_at(self, digest: str) -> int:
        kinds.digest_bytes(digest)
        tombstone = await self._access.run_query(lambda view: ROWS.tombstone.get(view, digest))
        return tombstone.at if tombstone is not None and not tombstone.lifted else 0

    async def lift(self, digest: str) -> bool:
        def stage(batch: WriteBatch) -> bool:
            tombstone = ROWS.tombstone.get(batch, digest)
            if tombstone is None or tombstone.lifted:
                return False
            ROWS.tombstone.put(batch, msgspec.structs.replace(tombstone, lifted=True), digest)
            return True

        kinds.digest_bytes(digest)
        return await self._access.write(stage)

    async def _matches(self, search_result: SecretMatches, redaction: Redaction) -> RedactionMatches:
        return search_result.to_matches()


class LevelDbRedaction(RowRedaction):
    """Remove what the user names from one workspace's LevelDB, and from its files."""

    def __init__(
        self,
        access: StoreAccess,
        database: Database,
        store_files: StoreFiles,
        wait_for_index: Callable[[], Awaitable[object]],
    ) -> None:
        super().__init__(access)
        self._database = database
        self._store_files = store_files
        self._wait_for_index = wait_for_index

    async def redact(
        self, request: RedactionRequest, on_progress: OnProgress = no_progress
    ) -> RedactionMatches:
        """Remove the matches in this store and its files; return what was changed. Raise InvalidInput."""
        at_ms = self._access.clock()
        first: RedactionMatches | None = None
        for _ in range(_MAX_ROUNDS):
            matches = await self._run_round(
                Redaction(request, at_ms), at_ms, on_progress, is_repeat=first is not None
            )
            first = first or matches
            if _without_own_quarantine(matches).is_empty and first is not matches:
                break
        else:
            raise StoreWriteFailed(
                text("The text was removed, but it is being written again."),
                text("A running turn keeps mentioning it."),
                text("Stop all tasks in this workspace, then remove it again."),
            )
        # Before the note is deleted that makes the next opening rebuild the index:
        await self._wait_for_index()
        try:
            await self._access.write(self._rewrite_files)
        except StoreDamaged as error:
            raise StoreDamaged(
                text("Removed text may still be in the workspace files, which are damaged."),
                error.why,
                text("Close and reopen the workspace to repair it, then remove the text again."),
            ) from error
        assert first is not None  # there is a first round
        return first

    async def _matches(self, search_result: SecretMatches, redaction: Redaction) -> RedactionMatches:
        def find_files() -> tuple[list[str], list[str]]:
            removed = {entry.digest for entry in (*search_result.contents, *search_result.indexes)}
            holds_secret = redaction.matches if redaction.needles else None
            contents = self._access.contents
            damaged = contents.quarantine.find_suspects(removed, contents.content_of, holds_secret)
            return damaged, [path.name for path in find_copies(self._store_files)]

        return search_result.to_matches(*await self._access.run_query(lambda _: find_files()))

    async def _run_round(
        self, redaction: Redaction, at_ms: int, on_progress: OnProgress, is_repeat: bool
    ) -> RedactionMatches:
        """Search, and change what was found; a repeated search that finds nothing changes nothing."""
        search_result = await find_secret(self._access, redaction, on_progress)
        matches = await self._matches(search_result, redaction)

        def stage(batch: WriteBatch) -> None:
            pending = PendingDeletion(at_ms, matches.damaged, matches.store_copies)
            Redactor(batch, self._access, redaction, at_ms).stage(search_result)
            ROWS.pending_deletion.put(batch, pending)

        if not (is_repeat and _without_own_quarantine(matches).is_empty):
            await self._access.write(stage)
        await self._access.run_query(
            lambda _: delete_copies(self._store_files, matches.damaged, matches.store_copies)
        )
        return matches

    def _rewrite_files(self, batch: WriteBatch) -> None:
        rewrite_all_files(self._database, self._store_files)
        batch.delete(kinds.PENDING_DELETION_KEY)


def _without_own_quarantine(matches: RedactionMatches) -> RedactionMatches:
    """Return the matches without the damaged rows that the search itself quarantined again."""
    rows = (row for row in matches.damaged if row.partition(".")[0] not in matches.unreadable)
    return msgspec.structs.replace(matches, damaged=tuple(rows))
