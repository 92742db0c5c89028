"""Turns what a search for a secret found into rows: all changes of one forgetting are one batch."""

from __future__ import annotations

import msgspec

from helix_desktop.context.content import Content, SessionSummary
from helix_desktop.context.digest import digest_of
from helix_desktop.context.event import Recorded, digests_in
from helix_desktop.context.forgetting import Redaction
from helix_desktop.store import keys
from helix_desktop.store.batch import Batch
from helix_desktop.store.codec import Codec
from helix_desktop.store.collecting import remove_content
from helix_desktop.store.content import Contents
from helix_desktop.store.draft_rows import read_draft, stage_draft
from helix_desktop.store.event_log import EVENT, refer, unrefer
from helix_desktop.store.handle import Handle
from helix_desktop.store.listing import SUMMARY
from helix_desktop.store.record import Record, read_record, write_record
from helix_desktop.store.secret_search import Search
from helix_desktop.store.tombstone import Tombstone, write_tombstone


class Redactor:
    """Stages the changes of one forgetting at the time `at`, in milliseconds since 1970."""

    def __init__(
        self, batch: Batch, handle: Handle, codec: Codec, contents: Contents, redaction: Redaction, at: int
    ) -> None:
        self._batch, self._handle, self._codec = batch, handle, codec
        self._contents, self._redaction, self._at = contents, redaction, at

    def stage(self, found: Search) -> None:
        """Put everything into the batch."""
        for digest, data in found.anew.items():
            self._renew(digest, data)
        for place in found.events:
            self._event(place.session, place.seq, found.muted.get(place.session, frozenset()))
        for digest in found.labels:
            self._label(digest)
        for session in found.titles:
            self._title(session)
        for session in found.drafts:
            self._draft(session)
        for entry in found.contents:
            self._bury(entry.digest)
        for digest in found.anew:
            self._bury(digest, self._redaction.moved[digest])

    def _renew(self, digest: str, data: bytes) -> None:
        record = read_record(self._batch.get, self._codec, digest)
        if record is not None:
            named = self._described(record)
            made = Content(
                digest_of(data),
                data,
                named.tool,
                named.target,
                named.first_line,
                record.tokens,
                record.kind,
            )
            self._contents.stage(self._batch, made, self._at)

    def _described(self, record: Record) -> Record:
        said = self._redaction.text
        return msgspec.structs.replace(
            record,
            tool=said(record.tool),
            target=said(record.target),
            first_line=said(record.first_line),
        )

    def _label(self, digest: str) -> None:
        record = read_record(self._batch.get, self._codec, digest)
        if record is not None:
            write_record(self._batch, self._codec, digest, self._described(record))

    def _event(self, session: str, seq: int, muted: frozenset[int]) -> None:
        key = keys.event(session, seq)
        row = self._batch.get(key)
        if row is None:
            return
        former = self._codec.unseal(key, row, EVENT)
        now = self._redaction.event(former, muted)
        self._batch.put(key, self._codec.seal(key, now))
        self._point(session, former, now)

    def _point(self, session: str, former: Recorded, now: Recorded) -> None:
        before, after = set(digests_in(former.event)), set(digests_in(now.event))
        for digest in before - after:
            unrefer(self._batch, self._codec, session, now.seq, digest)
        for digest in after - before:
            refer(self._batch, self._codec, session, now.seq, digest)

    def _title(self, session: str) -> None:
        key = keys.summary(session)
        row = self._batch.get(key)
        if row is not None:
            summary: SessionSummary = self._codec.unseal(key, row, SUMMARY)
            clean = msgspec.structs.replace(summary, title=self._redaction.text(summary.title))
            self._batch.put(key, self._codec.seal(key, clean))

    def _draft(self, session: str) -> None:
        key = keys.draft(session)
        row = self._batch.get(key)
        if row is not None:
            clean = self._redaction.draft(read_draft(self._codec, key, row))
            stage_draft(self._batch, self._codec, session, clean)

    def _bury(self, digest: str, successor: str = "") -> None:
        record = read_record(self._batch.get, self._codec, digest)
        if record is not None:
            remove_content(self._batch, self._handle, self._codec, digest, record)
        write_tombstone(self._batch, self._codec, digest, Tombstone(self._at, successor))
