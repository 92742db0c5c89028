"""The rows of one redaction: all changes that a search for a secret requires are one batch."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.recorded_event import RecordedEvent, digests_in
from helix_desktop.domain.redaction.output_copies import OutputCopies
from helix_desktop.domain.redaction.redaction import Redaction
from helix_desktop.domain.store.entries import Content
from helix_desktop.store.core.tombstone import Tombstone
from helix_desktop.store.core.write_batch import WriteBatch
from helix_desktop.store.leveldb.access import StoreAccess
from helix_desktop.store.leveldb.commit_rows import add_reference, remove_reference
from helix_desktop.store.leveldb.entry_record import EntryRecord
from helix_desktop.store.leveldb.rows import ROWS
from helix_desktop.store.redaction.secret_search import SecretMatches
from helix_desktop.store.retention.garbage_collection import remove_content


class Redactor:
    """Stage the changes of one redaction at the time `at_ms`, in ms since 1970."""

    def __init__(
        self,
        batch: WriteBatch,
        access: StoreAccess,
        redaction: Redaction,
        at_ms: int,
    ) -> None:
        self._batch, self._access = batch, access
        self._redaction, self._at_ms = redaction, at_ms

    def stage(self, search_result: SecretMatches) -> None:
        """Put all changes into the batch."""
        for digest, data in search_result.rewritten_indexes.items():
            self._stage_rewritten(digest, data)
        for reference in search_result.events:
            self._redact_event(
                reference.session, reference.seq, search_result.removed.get(reference.session, {})
            )
        for digest in search_result.labels:
            self._clean_labels(digest)
        for session_id in search_result.titles:
            self._redact_summary(session_id)
        for session_id in search_result.drafts:
            self._redact_draft(session_id)
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

    def _clean_labels(self, digest: str) -> None:
        record = ROWS.record.get(self._batch, digest)
        if record is not None:
            ROWS.record.put(self._batch, self._with_clean_labels(record), digest)

    def _redact_event(self, session_id: str, seq: int, removed: Mapping[int, OutputCopies]) -> None:
        previous = ROWS.event.get(self._batch, session_id, seq)
        if previous is not None:
            redacted = self._redaction.redact_event(previous, removed)
            ROWS.event.put(self._batch, redacted, session_id, seq)
            self._update_references(session_id, previous, redacted)

    def _update_references(self, session_id: str, previous: RecordedEvent, redacted: RecordedEvent) -> None:
        before, after = set(digests_in(previous.event)), set(digests_in(redacted.event))
        for digest in before - after:
            remove_reference(self._batch, session_id, redacted.seq, digest)
        for digest in after - before:
            add_reference(self._batch, session_id, redacted.seq, digest)

    def _redact_summary(self, session_id: str) -> None:
        summary = ROWS.summary.get(self._batch, session_id)
        if summary is not None:
            ROWS.summary.put(self._batch, self._redaction.redact_summary(summary), session_id)

    def _redact_draft(self, session_id: str) -> None:
        draft = ROWS.draft.get(self._batch, session_id)
        if draft is not None:
            ROWS.draft.put(self._batch, self._redaction.redact_draft(draft), session_id)

    def _replace_by_tombstone(self, digest: str, successor: str = "") -> None:
        record = ROWS.record.get(self._batch, digest)
        if record is not None:
            remove_content(self._batch, self._access.database, digest, record)
        ROWS.tombstone.put(self._batch, Tombstone(self._at_ms, successor), digest)
