"""Makes records, index, counts and totals anew from contents and from the events that name them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from heapq import merge
from itertools import groupby

import msgspec

from helix_desktop.context.content import StoreTotals
from helix_desktop.context.damage import LostContent
from helix_desktop.context.errors import ContentDamaged, DigestUnknown
from helix_desktop.context.event import AssistantSpoke, OutputHeld, Recorded, ToolAnswered
from helix_desktop.context.event_rewrite import FoldMade
from helix_desktop.context.event_summary import HandoverMade, ObservationsMade
from helix_desktop.store import keys
from helix_desktop.store.codec import Codec
from helix_desktop.store.content import Contents, created_in, head_of_chunks
from helix_desktop.store.event_log import EVENT
from helix_desktop.store.filler import Filler
from helix_desktop.store.handle import View
from helix_desktop.store.record import Record, read_record, write_record
from helix_desktop.store.tombstone import read_tombstone


class ContentMender:
    """Goes through the contents of a database whose logs are sound, and verifies every one."""

    def __init__(self, filler: Filler, codec: Codec, contents: Contents, told: Callable[[int], None]) -> None:
        """`told` hears how many bytes of contents, as they are stored, have been gone through."""
        self._filler, self._codec = filler, codec
        self._contents, self._told = contents, told
        self.lost: list[LostContent] = []
        self.entries = self.size = self.stored_size = 0

    def run(self, view: View) -> None:
        """Mend every record. Raises StoreWriteFailed."""
        for digest in _digests(view):
            self._mend(view, digest)
            self._told(self.stored_size)

    def totals(self, sessions: int) -> StoreTotals:
        """The counts and sizes of what was gone through."""
        return StoreTotals(self.entries, self.size, self.stored_size, sessions)

    def _mend(self, view: View, digest: str) -> None:
        record = read_record(view.get, self._codec, digest)
        buried = read_tombstone(view.get, self._codec, digest)
        if buried is not None and not (buried.lifted and record):
            self._drop(view, digest)  # removed on the person's word: it must not come back
            self._filler.delete(keys.record(digest))
            return
        size = self._verified(view, digest)
        places = [keys.place_in(key) for key, _ in view.scan(keys.references_of(digest))]
        if size is None and record is None and not places:
            self._drop(view, digest)  # chunks of a write that was cut off, or a row under a damaged key
            return
        if record is None:
            record = self._described(view, digest, places, size or 0)
        record = msgspec.structs.replace(record, references=len(places))
        write_record(self._filler, self._codec, digest, record)
        self.entries += 1
        self.size += record.size
        self.stored_size += record.stored_size
        if size is None:
            self._drop(view, digest)
            about = (record.size, record.tool, record.target, record.first_line, record.references)
            self.lost.append(LostContent(digest, *about))

    def _verified(self, view: View, digest: str) -> int | None:
        """The content's size in bytes; None when its bytes are gone."""
        with suppress(DigestUnknown, ContentDamaged):
            return len(self._contents.read(view, digest))
        found = head_of_chunks(view, self._codec, digest)
        if found is None:
            return None
        head, size = found
        self._filler.put(keys.content(digest), head)
        if self._contents.quarantine.holds(digest):
            self._contents.quarantine.release(digest)
        return size

    def _drop(self, view: View, digest: str) -> None:
        self._filler.delete(keys.content(digest))
        for key, _ in view.scan(keys.chunks_of(digest)):
            self._filler.delete(key)

    def _described(self, view: View, digest: str, places: list[tuple[str, int]], size: int) -> Record:
        """A lost record, from what the first event that names the content says."""
        head = view.get(keys.content(digest))
        rows = [head] if head else []
        rows += [row for _, row in view.scan(keys.chunks_of(digest))]
        stored_size = sum(map(len, rows))
        for place in places[:1]:
            key = keys.event(*place)
            row = view.get(key)
            if row is not None:
                made = _record_by(self._codec.unseal(key, row, EVENT), digest, size, stored_size)
                return msgspec.structs.replace(made, session=place[0])
        created = created_in(rows[0])
        return Record(created, created, size, stored_size, 0, "", "", "", "output")


def _record_by(named: Recorded, digest: str, size: int, stored_size: int) -> Record:
    bare = Record(named.at, named.at, size, stored_size, 0, "", "", "", "output")
    match named.event:
        case ToolAnswered() as answer if answer.digest == digest:
            return _answered(bare, answer)
        case OutputHeld(answer=answer):
            return _answered(bare, answer)
        case AssistantSpoke(short=short):
            sizes = {one: had for call in short for one, had in zip(call.digests, call.sizes, strict=False)}
            return msgspec.structs.replace(bare, kind="argument", size=size or sizes.get(digest, 0))
        case HandoverMade() | FoldMade() | ObservationsMade():
            return msgspec.structs.replace(bare, kind="index")
    return bare


def _answered(bare: Record, answer: ToolAnswered) -> Record:
    return msgspec.structs.replace(
        bare,
        size=bare.size or answer.size,
        tokens=answer.tokens if answer.whole and answer.form == "full" else 0,
        tool=answer.name,
        target=answer.target,
        first_line=answer.first_line,
    )


def _digests(view: View) -> Iterator[str]:
    """Every digest that a row is about, each once, in order."""
    spans = (keys.CONTENTS, keys.CHUNKS, keys.RECORDS, keys.REFERENCES)
    kinds = [(key[1 : 1 + keys.DIGEST_BYTES] for key, _ in view.scan(span)) for span in spans]
    return (digest.hex() for digest, _ in groupby(merge(*kinds)))
