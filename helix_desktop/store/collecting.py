"""Cleaning up: what may go is moved to the trash, comes back from it, or is removed from it for good."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from helix_desktop.context.content import Entry
from helix_desktop.context.errors import ContentDamaged
from helix_desktop.context.keeping import CleanUp, Plan, Swept, may_go, plan_of, purgeable
from helix_desktop.store import keys
from helix_desktop.store.batch import Batch
from helix_desktop.store.codec import Codec, RowDamaged
from helix_desktop.store.content import WHOLE, Contents
from helix_desktop.store.draft_rows import read_digests
from helix_desktop.store.handle import Handle, View
from helix_desktop.store.record import RECORD, Record, read_record, write_record
from helix_desktop.store.references import is_named

_log = logging.getLogger(__name__)


def read_plan(view: View, codec: Codec, contents: Contents, asked: CleanUp, at: int) -> Plan:
    """What a clean-up at `at` would do. Raises RowDamaged."""
    return plan_of(_entries(view, codec), _index_in(view, contents), asked, at)


def read_purgeable(view: View, codec: Codec, contents: Contents, before: int) -> list[str]:
    """The contents that may be removed for good. Raises RowDamaged."""
    found = purgeable(_entries(view, codec), _index_in(view, contents), before)
    return [one.digest for one in found]


def _index_in(view: View, contents: Contents) -> Callable[[str], bytes | None]:
    def read(digest: str) -> bytes | None:
        try:
            return contents.read(view, digest)
        except ContentDamaged as error:
            _log.warning("A damaged index entry leads nowhere for the clean-up: %s", error)
            return None

    return read


def read_trash(view: View, codec: Codec) -> list[Entry]:
    """The contents in the trash, the last that went there first. Raises RowDamaged."""
    found = [one for one in _entries(view, codec) if one.trashed]
    return sorted(found, key=lambda one: (-one.trashed, one.digest))


def read_newest(view: View) -> int:
    """When the newest content was stored, in milliseconds since 1970; 0 without any. Raises RowDamaged."""
    return next((keys.created_in(key) for key, _ in view.scan(keys.NEWEST)), 0)


def _entries(view: View, codec: Codec) -> Iterator[Entry]:
    in_drafts = read_digests(view, codec)
    for key, row in view.scan(keys.RECORDS):
        digest = keys.digest_in(key)
        try:
            record = codec.unseal(key, row, RECORD)
        except RowDamaged:
            continue  # of which nothing is known stays
        if not record.references and (digest in in_drafts or is_named(view, digest)):
            record = msgspec.structs.replace(record, references=1)
        yield record.entry(digest)


def stage_trash(
    batch: Batch, handle: Handle, codec: Codec, digests: Iterable[str], grace_ms: int, at: int, stamp: int
) -> Swept:
    """Move to the trash, as of `stamp`, what still may go at `at`; the rest stays."""
    gone: list[str] = []
    freed = 0
    in_drafts = handle.read(lambda view: read_digests(view, codec))
    for digest, record in _known(batch, codec, digests):
        free = may_go(record.entry(digest), at, grace_ms) and digest not in in_drafts
        if free and not _named(handle, digest):
            write_record(batch, codec, digest, msgspec.structs.replace(record, trashed=stamp))
            gone.append(digest)
            freed += record.stored_size
    return Swept(tuple(gone), stored_size=freed)


def stage_restore(batch: Batch, codec: Codec, digests: Iterable[str], at: int) -> Swept:
    """Bring back from the trash; the time of grace begins anew."""
    back: list[str] = []
    size = 0
    for digest, record in _known(batch, codec, digests):
        if record.trashed:
            alive = msgspec.structs.replace(record, trashed=0, last_used=at)
            write_record(batch, codec, digest, alive)
            back.append(digest)
            size += record.stored_size
    return Swept(tuple(back), stored_size=size)


def stage_purge(batch: Batch, handle: Handle, codec: Codec, digests: Sequence[str], before: int) -> Swept:
    """Remove for good what went to the trash before `before` and is still there; what a log names stays."""
    gone: list[str] = []
    freed = 0
    in_drafts = handle.read(lambda view: read_digests(view, codec))
    for digest, record in _known(batch, codec, digests):
        free = 0 < record.trashed < before and not record.references and digest not in in_drafts
        if free and not _named(handle, digest):
            remove_content(batch, handle, codec, digest, record)
            gone.append(digest)
            freed += record.stored_size
    return Swept(tuple(gone), stored_size=freed)


def remove_content(batch: Batch, handle: Handle, codec: Codec, digest: str, record: Record) -> None:
    """Delete every row of a content but those that say who names it."""
    chunks: list[bytes] = []
    if record.size > WHOLE:
        chunks = handle.read(lambda view: [key for key, _ in view.scan(keys.chunks_of(digest))])
    for key in (
        keys.content(digest),
        *chunks,
        keys.record(digest),
        keys.newest(record.created, digest),
    ):
        batch.delete(key)
    batch.count(entries=-1, size=-record.size, stored_size=-record.stored_size)


def _known(batch: Batch, codec: Codec, digests: Iterable[str]) -> Iterator[tuple[str, Record]]:
    for digest in digests:
        try:
            record = read_record(batch.get, codec, digest)
        except RowDamaged as error:
            _log.warning("The record of %s is damaged (%s): it stays as it is.", digest, error)
            continue
        if record is not None:
            yield digest, record


def _named(handle: Handle, digest: str) -> bool:
    try:
        return handle.read(lambda view: is_named(view, digest))
    except RowDamaged:
        return True  # what cannot be known is taken for named
