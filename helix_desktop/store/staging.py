"""Turns one commit into rows: contents, events, references, recall counts and summary."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from helix_desktop.context.content import SessionSummary
from helix_desktop.store import keys
from helix_desktop.store.batch import Batch
from helix_desktop.store.codec import Codec, Shape
from helix_desktop.store.commit import Commit, check_held
from helix_desktop.store.content import Contents
from helix_desktop.store.event_log import is_known, stage_events
from helix_desktop.store.packing import Packing
from helix_desktop.store.record import Record, change_record

TEXT = Shape(str)


def stage_commit(
    batch: Batch, codec: Codec, contents: Contents, commit: Commit, packings: Sequence[Packing]
) -> None:
    """Put everything of a commit, and the packings of its contents, into the batch.

    Raises ValueError when what is stored does not allow it.
    """
    for packing in packings:
        contents.stage_packed(batch, packing, commit.at, commit.session)
    stage_events(batch, codec, commit.session, commit.events)
    for digest in commit.recalls:
        check_held(digest, is_known(batch, codec, digest), "a recall")
        change_record(batch, codec, digest, lambda record: _recalled(record, commit.at))
    if commit.summary is not None:
        stage_summary(batch, codec, commit.summary)


def _recalled(record: Record, at: int) -> Record:
    return msgspec.structs.replace(record, recalls=record.recalls + 1, last_used=at, trashed=0)


def stage_summary(batch: Batch, codec: Codec, summary: SessionSummary) -> None:
    """Put a session's line for the list into the batch."""
    key = keys.summary(summary.id)
    if batch.get(key) is None:
        batch.count(sessions=1)
    batch.put(key, codec.seal(key, summary))
