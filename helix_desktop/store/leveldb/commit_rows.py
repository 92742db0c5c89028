"""The rows of one commit: contents, events, references, recall counts and summary."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from helix_desktop.domain.store.entries import SessionSummary
from helix_desktop.store.core import keys
from helix_desktop.store.core.commit import Commit, check_stored
from helix_desktop.store.core.row_codec import Codec, RowType
from helix_desktop.store.core.write_batch import WriteBatch
from helix_desktop.store.leveldb.compression import ContentEncoding
from helix_desktop.store.leveldb.contents import ContentStore
from helix_desktop.store.leveldb.entry_record import EntryRecord, change_record
from helix_desktop.store.leveldb.event_log import is_referable, stage_events

TEXT_TYPE = RowType(str)


def stage_commit(
    batch: WriteBatch,
    codec: Codec,
    contents: ContentStore,
    commit: Commit,
    encodings: Sequence[ContentEncoding],
) -> None:
    """Put everything of a commit, with the encodings of its contents, into the batch.

    Raise ValueError if the stored rows do not allow it.
    """
    for encoding in encodings:
        contents.stage_encoded(batch, encoding, commit.at_ms, commit.session)
    stage_events(batch, codec, commit.session, commit.events)
    for digest in commit.recalls:
        check_stored(digest, is_referable(batch, codec, digest), "a recall")
        change_record(batch, codec, digest, lambda record: _with_recall(record, commit.at_ms))
    if commit.summary is not None:
        stage_summary(batch, codec, commit.summary)


def _with_recall(record: EntryRecord, at_ms: int) -> EntryRecord:
    return msgspec.structs.replace(record, recalls=record.recalls + 1, last_used=at_ms, trashed=0)


def stage_summary(batch: WriteBatch, codec: Codec, summary: SessionSummary) -> None:
    """Put a session's summary for the session list into the batch."""
    key = keys.summary(summary.id)
    if batch.get(key) is None:
        batch.add_totals(sessions=1)
    batch.put(key, codec.encode(key, summary))
