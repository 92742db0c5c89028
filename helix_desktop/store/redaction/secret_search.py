"""Looking for what is to be forgotten: in contents, index entries, events, titles and drafts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from helix_desktop.domain.errors import ContentDamaged, DigestUnknown
from helix_desktop.domain.redaction.redaction import Redaction, RedactionMatches
from helix_desktop.domain.store.entries import CacheEntry
from helix_desktop.domain.store.retention import ContentReference
from helix_desktop.store.core import keys
from helix_desktop.store.core.row_codec import Codec, RowDamaged
from helix_desktop.store.leveldb.contents import ContentStore
from helix_desktop.store.leveldb.database import ReadView
from helix_desktop.store.leveldb.draft_rows import read_draft
from helix_desktop.store.leveldb.entry_record import RECORD_TYPE
from helix_desktop.store.leveldb.event_log import EVENT_TYPE
from helix_desktop.store.leveldb.listings import SUMMARY_TYPE

_CONTENTS_PER_READ = 50  # contents read at once: other readers have their turn in between

T = TypeVar("T")
OnProgress = Callable[[int, int], None]
"""Hears how many of how many contents were looked through."""


class RunQuery(Protocol):
    """Answers a question from the stored rows, on a reader's thread."""

    def __call__(self, query: Callable[[ReadView], T], /) -> Awaitable[T]:
        """What `ask` makes of them."""
        ...


@dataclass(slots=True)
class SecretMatches:
    """What was found, by the rows that must change.

    `anew` leads from an index entry's digest to its bytes without the text; `muted` holds, by session, the
    seqs of outputs that are forgotten.
    """

    contents: list[CacheEntry] = field(default_factory=list)
    indexes: list[CacheEntry] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    events: list[ContentReference] = field(default_factory=list)
    muted_seqs: dict[str, frozenset[int]] = field(default_factory=dict)
    titles: list[str] = field(default_factory=list)
    drafts: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    rewritten_indexes: dict[str, bytes] = field(default_factory=dict)

    def to_matches(self, damaged: Sequence[str] = (), copies: Sequence[str] = ()) -> RedactionMatches:
        """As it crosses the port."""
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


async def find_secret(
    run_query: RunQuery, codec: Codec, contents: ContentStore, redaction: Redaction, on_progress: OnProgress
) -> SecretMatches:
    """Look through everything a store holds. Raises StoreUnreadable when a log is damaged."""
    found = SecretMatches()
    entries = await run_query(lambda view: list(_entries(view, codec, found)))

    async def look(part: Sequence[CacheEntry]) -> None:
        await run_query(lambda view: _search_contents(view, contents, redaction, part, found))

    for at in range(0, len(entries), _CONTENTS_PER_READ):
        on_progress(at, len(entries))
        await look(entries[at : at + _CONTENTS_PER_READ])
    indexes = [one for one in entries if one.kind == "index" and one.digest not in redaction.digests]
    if found.indexes:
        await run_query(lambda view: _rewrite_indexes(view, contents, redaction, indexes, found))
    on_progress(len(entries), len(entries))
    await run_query(lambda view: _search_logs(view, codec, redaction, found))
    return found


def _entries(view: ReadView, codec: Codec, matches: SecretMatches) -> Iterator[CacheEntry]:
    for key, row in view.scan(keys.RECORDS):
        digest = keys.digest_in(key)
        try:
            yield codec.decode(key, row, RECORD_TYPE).to_entry(digest)
        except RowDamaged:
            matches.unreadable.append(digest)  # nobody knows what its description says
            yield CacheEntry(digest, 0, 0, 0, "", "", "", "output", 0, 0)


def _search_contents(
    view: ReadView,
    contents: ContentStore,
    redaction: Redaction,
    entries: Sequence[CacheEntry],
    matches: SecretMatches,
) -> None:
    for entry in entries:
        if entry.digest in redaction.digests:
            matches.contents.append(entry)
            continue
        here = False
        try:
            here = bool(redaction.needles) and redaction.matches(contents.read(view, entry.digest))
        except ContentDamaged:  # its description can be read all the same
            if entry.digest not in matches.unreadable:
                matches.unreadable.append(entry.digest)
        except DigestUnknown:
            continue  # removed since the entries were listed
        if here:
            (matches.indexes if entry.kind == "index" else matches.contents).append(entry)
        elif _has_secret_label(entry, redaction):
            matches.labels.append(entry.digest)


def _has_secret_label(entry: CacheEntry, redaction: Redaction) -> bool:
    words = (entry.tool, entry.target, entry.first_line)
    return any(redaction.redact_text(one) != one for one in words)


def _rewrite_indexes(
    view: ReadView,
    contents: ContentStore,
    redaction: Redaction,
    indexes: Sequence[CacheEntry],
    matches: SecretMatches,
) -> None:
    """Write index entries anew, and then those that lead to them, until none leads to an old one."""
    changed = True
    while changed:
        changed = False
        for entry in indexes:
            try:
                former = matches.rewritten_indexes.get(entry.digest) or contents.read(view, entry.digest)
            except (ContentDamaged, DigestUnknown):
                continue
            now = redaction.redact_data(former)
            if now != former:
                changed = True
                matches.rewritten_indexes[entry.digest] = now
                redaction.move_index(entry.digest, now)
    known = {one.digest for one in matches.indexes}
    matches.indexes += [
        one for one in indexes if one.digest in matches.rewritten_indexes and one.digest not in known
    ]
    matches.labels = [one for one in matches.labels if one not in matches.rewritten_indexes]


def _search_logs(view: ReadView, codec: Codec, redaction: Redaction, matches: SecretMatches) -> None:
    muted: dict[str, set[int]] = {}
    for key, row in view.scan(keys.EVENTS):
        recorded = codec.decode(key, row, EVENT_TYPE)
        session = keys.session_of_event(key)
        own = muted.setdefault(session, set())
        if redaction.should_blank(recorded):
            own.add(recorded.seq)
        if redaction.redact_event(recorded, frozenset(own)) is not recorded:
            matches.events.append(ContentReference(session, recorded.seq))
    matches.muted_seqs = {session: frozenset(seqs) for session, seqs in muted.items() if seqs}
    for key, row in view.scan(keys.SUMMARIES):
        title = codec.decode(key, row, SUMMARY_TYPE).title
        if redaction.redact_text(title) != title:
            matches.titles.append(key[1:].decode())
    for key, row in view.scan(keys.DRAFTS):
        draft = read_draft(codec, key, row)
        if redaction.redact_draft(draft) != draft:
            matches.drafts.append(key[1:].decode())
