"""Looking for what is to be forgotten: in contents, index entries, events, titles and drafts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from helix_desktop.context.content import Entry
from helix_desktop.context.errors import ContentDamaged, DigestUnknown
from helix_desktop.context.forgetting import Finds, Redaction
from helix_desktop.context.keeping import Reference
from helix_desktop.store import keys
from helix_desktop.store.codec import Codec, RowDamaged
from helix_desktop.store.content import Contents
from helix_desktop.store.draft_rows import read_draft
from helix_desktop.store.event_log import EVENT
from helix_desktop.store.handle import View
from helix_desktop.store.listing import SUMMARY
from helix_desktop.store.record import RECORD

_PART = 50  # contents read at once: other readers have their turn in between

T = TypeVar("T")
Told = Callable[[int, int], None]
"""Hears how many of how many contents were looked through."""


class Read(Protocol):
    """Answers a question from the stored rows, on a reader's thread."""

    def __call__(self, ask: Callable[[View], T], /) -> Awaitable[T]:
        """What `ask` makes of them."""
        ...


@dataclass(slots=True)
class Search:
    """What was found, by the rows that must change.

    `anew` leads from an index entry's digest to its bytes without the text; `muted` holds, by session, the
    seqs of outputs that are forgotten.
    """

    contents: list[Entry] = field(default_factory=list)
    indexes: list[Entry] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    events: list[Reference] = field(default_factory=list)
    muted: dict[str, frozenset[int]] = field(default_factory=dict)
    titles: list[str] = field(default_factory=list)
    drafts: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    anew: dict[str, bytes] = field(default_factory=dict)

    def finds(self, damaged: Sequence[str] = (), aside: Sequence[str] = ()) -> Finds:
        """As it crosses the port."""
        return Finds(
            tuple(self.contents),
            tuple(self.indexes),
            tuple(self.labels),
            tuple(self.events),
            tuple(self.titles),
            tuple(self.drafts),
            tuple(damaged),
            tuple(aside),
            tuple(self.unreadable),
        )


async def search(read: Read, codec: Codec, contents: Contents, redaction: Redaction, told: Told) -> Search:
    """Look through everything a store holds. Raises StoreUnreadable when a log is damaged."""
    found = Search()
    entries = await read(lambda view: list(_entries(view, codec, found)))

    async def look(part: Sequence[Entry]) -> None:
        await read(lambda view: _look_through(view, contents, redaction, part, found))

    for at in range(0, len(entries), _PART):
        told(at, len(entries))
        await look(entries[at : at + _PART])
    indexes = [one for one in entries if one.kind == "index" and one.digest not in redaction.digests]
    if found.indexes:
        await read(lambda view: _renew(view, contents, redaction, indexes, found))
    told(len(entries), len(entries))
    await read(lambda view: _look_through_logs(view, codec, redaction, found))
    return found


def _entries(view: View, codec: Codec, found: Search) -> Iterator[Entry]:
    for key, row in view.scan(keys.RECORDS):
        digest = keys.digest_in(key)
        try:
            yield codec.unseal(key, row, RECORD).entry(digest)
        except RowDamaged:
            found.unreadable.append(digest)  # nobody knows what its description says
            yield Entry(digest, 0, 0, 0, "", "", "", "output", 0, 0)


def _look_through(
    view: View, contents: Contents, redaction: Redaction, entries: Sequence[Entry], found: Search
) -> None:
    for entry in entries:
        if entry.digest in redaction.digests:
            found.contents.append(entry)
            continue
        here = False
        try:
            here = bool(redaction.needles) and redaction.stands_in(contents.read(view, entry.digest))
        except ContentDamaged:  # its description can be read all the same
            if entry.digest not in found.unreadable:
                found.unreadable.append(entry.digest)
        except DigestUnknown:
            continue  # removed since the entries were listed
        if here:
            (found.indexes if entry.kind == "index" else found.contents).append(entry)
        elif _labelled(entry, redaction):
            found.labels.append(entry.digest)


def _labelled(entry: Entry, redaction: Redaction) -> bool:
    words = (entry.tool, entry.target, entry.first_line)
    return any(redaction.text(one) != one for one in words)


def _renew(
    view: View, contents: Contents, redaction: Redaction, indexes: Sequence[Entry], found: Search
) -> None:
    """Write index entries anew, and then those that lead to them, until none leads to an old one."""
    changed = True
    while changed:
        changed = False
        for entry in indexes:
            try:
                former = found.anew.get(entry.digest) or contents.read(view, entry.digest)
            except (ContentDamaged, DigestUnknown):
                continue
            now = redaction.data(former)
            if now != former:
                changed = True
                found.anew[entry.digest] = now
                redaction.move(entry.digest, now)
    known = {one.digest for one in found.indexes}
    found.indexes += [one for one in indexes if one.digest in found.anew and one.digest not in known]
    found.labels = [one for one in found.labels if one not in found.anew]


def _look_through_logs(view: View, codec: Codec, redaction: Redaction, found: Search) -> None:
    muted: dict[str, set[int]] = {}
    for key, row in view.scan(keys.EVENTS):
        recorded = codec.unseal(key, row, EVENT)
        session = keys.session_of_event(key)
        own = muted.setdefault(session, set())
        if redaction.mutes(recorded):
            own.add(recorded.seq)
        if redaction.event(recorded, frozenset(own)) is not recorded:
            found.events.append(Reference(session, recorded.seq))
    found.muted = {session: frozenset(seqs) for session, seqs in muted.items() if seqs}
    for key, row in view.scan(keys.SUMMARIES):
        title = codec.unseal(key, row, SUMMARY).title
        if redaction.text(title) != title:
            found.titles.append(key[1:].decode())
    for key, row in view.scan(keys.DRAFTS):
        draft = read_draft(codec, key, row)
        if redaction.draft(draft) != draft:
            found.drafts.append(key[1:].decode())
