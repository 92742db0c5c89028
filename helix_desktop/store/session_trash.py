"""Deleted sessions: hidden from the list with their subagents, brought back, or removed for good."""

from __future__ import annotations

from collections import Counter

import msgspec

from helix_desktop.context.content import SessionSummary
from helix_desktop.store import keys
from helix_desktop.store.batch import Batch
from helix_desktop.store.codec import Codec
from helix_desktop.store.handle import Handle, View
from helix_desktop.store.listing import SUMMARY
from helix_desktop.store.record import Record, change_record


def read_trashed(view: View, codec: Codec) -> list[SessionSummary]:
    """The sessions in the trash, the last that went there first. Raises RowDamaged."""
    found = [codec.unseal(key, row, SUMMARY) for key, row in view.scan(keys.SUMMARIES)]
    return sorted((one for one in found if one.trashed), key=lambda one: (-one.trashed, one.id))


def stage_hide(batch: Batch, handle: Handle, codec: Codec, session: str, trashed: int) -> list[str]:
    """Set since when (0: no more) a session and its subagents' are in the trash; the ids of those changed."""
    changed: list[str] = []
    for one in _family(batch, handle, codec, session):
        if bool(one.trashed) != bool(trashed):
            key = keys.summary(one.id)
            batch.put(key, codec.seal(key, msgspec.structs.replace(one, trashed=trashed)))
            changed.append(one.id)
    return changed


def _family(batch: Batch, handle: Handle, codec: Codec, session: str) -> list[SessionSummary]:
    rows = handle.read(lambda view: list(view.scan(keys.SUMMARIES)))
    wanted = [keys.summary(session)]
    wanted += [key for key, row in rows if codec.unseal(key, row, SUMMARY).parent == session]
    current = [(key, batch.get(key)) for key in wanted]
    return [codec.unseal(key, row, SUMMARY) for key, row in current if row is not None]


def stage_remove(batch: Batch, handle: Handle, codec: Codec, session: str, before: int) -> bool:
    """Remove a session that went to the trash before `before`, in one piece; False when it came back."""
    row = batch.get(keys.summary(session))
    if row is None or batch.pending(keys.last_event(session)):
        return False
    if not 0 < codec.unseal(keys.summary(session), row, SUMMARY).trashed < before:
        return False
    named: Counter[str] = Counter()
    for key in handle.read(lambda view: _rows_of(view, session)):
        batch.delete(key)
        if key[:1] == b"R":
            seq, digest = keys.named_by(key)
            batch.delete(keys.reference(digest, session, seq))
            named[digest] += 1
    for digest, times in named.items():
        _release(batch, codec, digest, times)
    for key in (keys.summary(session), keys.draft(session), keys.last_event(session)):
        batch.delete(key)
    batch.count(sessions=-1)
    return True


def _rows_of(view: View, session: str) -> list[bytes]:
    spans = (keys.events_of(session), keys.handovers_of(session), keys.back_references_of(session))
    return [key for span in spans for key, _ in view.scan(span)]


def _release(batch: Batch, codec: Codec, digest: str, times: int) -> None:
    def released(record: Record) -> Record:
        return msgspec.structs.replace(record, references=max(0, record.references - times))

    change_record(batch, codec, digest, released)
