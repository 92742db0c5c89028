"""Rebuild records, index, counts and totals from contents and from the events that name them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from heapq import merge
from itertools import groupby

import msgspec

from helix_desktop.domain.errors import ContentDamaged, DigestUnknown
from helix_desktop.domain.events.conversation import AssistantSpoke, OutputHeld, ToolAnswered
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade
from helix_desktop.domain.store.entries import StoreTotals
from helix_desktop.domain.store.repair_report import LostContent
from helix_desktop.store.core import keys
from helix_desktop.store.leveldb.contents import ContentStore, rebuild_head, row_created_ms
from helix_desktop.store.leveldb.database import ReadView
from helix_desktop.store.leveldb.entry_record import EntryRecord
from helix_desktop.store.leveldb.rows import ROWS
from helix_desktop.store.repair.bulk_writer import BulkWriter


class ContentRebuilder:
    """Verify every content of a database whose logs are intact, and rebuild what is derived."""

    def __init__(
        self,
        bulk_writer: BulkWriter,
        contents: ContentStore,
        on_progress: Callable[[int], None],
    ) -> None:
        """`on_progress` is called with the bytes of contents, as stored, that have been processed."""
        self._bulk_writer = bulk_writer
        self._contents, self._on_progress = contents, on_progress
        self.lost: list[LostContent] = []
        self.entries = self.size = self.stored_size = 0

    def run(self, view: ReadView) -> None:
        """Rebuild every record. Raise StoreWriteFailed."""
        for digest in _all_digests(view):
            self._rebuild(view, digest)
            self._on_progress(self.stored_size)

    def totals(self, sessions: int) -> StoreTotals:
        """Return the counts and sizes of what was processed."""
        return StoreTotals(self.entries, self.size, self.stored_size, sessions)

    def _rebuild(self, view: ReadView, digest: str) -> None:
        record = ROWS.record.get(view, digest)
        tombstone = ROWS.tombstone.get(view, digest)
        if tombstone is not None and not (tombstone.lifted and record):
            self._drop(view, digest)  # removed at the user's request: it must not come back
            self._bulk_writer.delete(keys.record(digest))
            return
        size = self._verified_size(view, digest)
        references = [keys.session_and_seq(key) for key, _ in view.scan(keys.references_of(digest))]
        if size is None and record is None and not references:
            self._drop(view, digest)  # chunks of an interrupted write, or a row under a damaged key
            return
        if record is None:
            record = self._rebuild_record(view, digest, references, size or 0)
        record = msgspec.structs.replace(record, references=len(references))
        ROWS.record.put(self._bulk_writer, record, digest)
        self.entries += 1
        self.size += record.size
        self.stored_size += record.stored_size
        if size is None:
            self._drop(view, digest)
            details = (record.size, record.tool, record.target, record.first_line, record.references)
            self.lost.append(LostContent(digest, *details))

    def _verified_size(self, view: ReadView, digest: str) -> int | None:
        """Return the content's size in bytes; None if its bytes are lost."""
        with suppress(DigestUnknown, ContentDamaged):
            return len(self._contents.read(view, digest))
        rebuilt = rebuild_head(view, digest)
        if rebuilt is None:
            return None
        head, size = rebuilt
        self._bulk_writer.put(keys.content(digest), head)
        if self._contents.quarantine.holds(digest):
            self._contents.quarantine.mark_healed(digest)
        return size

    def _drop(self, view: ReadView, digest: str) -> None:
        self._bulk_writer.delete(keys.content(digest))
        for key, _ in view.scan(keys.chunks_of(digest)):
            self._bulk_writer.delete(key)

    def _rebuild_record(
        self, view: ReadView, digest: str, references: list[tuple[str, int]], size: int
    ) -> EntryRecord:
        """Return a lost record, rebuilt from the first event that names the content."""
        head = view.get(keys.content(digest))
        stored = [head] if head else []
        stored += [row for _, row in view.scan(keys.chunks_of(digest))]
        stored_size = sum(map(len, stored))
        for reference in references[:1]:
            recorded = ROWS.event.get(view, *reference)
            if recorded is not None:
                record = _record_from_event(recorded, digest, size, stored_size)
                return msgspec.structs.replace(record, session=reference[0])
        created = row_created_ms(stored[0])
        return EntryRecord(created, created, size, stored_size, 0, "", "", "", "output")


def _record_from_event(recorded: RecordedEvent, digest: str, size: int, stored_size: int) -> EntryRecord:
    bare = EntryRecord(recorded.at, recorded.at, size, stored_size, 0, "", "", "", "output")
    match recorded.event:
        case ToolAnswered() as output if output.digest == digest:
            return _with_answer(bare, output)
        case OutputHeld(answer=answer):
            return _with_answer(bare, answer)
        case AssistantSpoke(short=short):
            sizes = {
                name: size_of
                for call in short
                for name, size_of in zip(call.digests, call.sizes, strict=False)
            }
            return msgspec.structs.replace(bare, kind="argument", size=size or sizes.get(digest, 0))
        case HandoverMade() | FoldMade() | ObservationsMade():
            return msgspec.structs.replace(bare, kind="index")
    return bare


def _with_answer(record: EntryRecord, output: ToolAnswered) -> EntryRecord:
    return msgspec.structs.replace(
        record,
        size=record.size or output.size,
        tokens=output.tokens if output.whole and output.form == "full" else 0,
        tool=output.name,
        target=output.target,
        first_line=output.first_line,
    )


def _all_digests(view: ReadView) -> Iterator[str]:
    """Yield every digest that a row refers to, each once, in order."""
    spans = (keys.CONTENTS, keys.CHUNKS, keys.RECORDS, keys.REFERENCES)
    kinds = [(key[1 : 1 + keys.DIGEST_BYTES] for key, _ in view.scan(span)) for span in spans]
    return (digest.hex() for digest, _ in groupby(merge(*kinds)))
