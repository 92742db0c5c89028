"""The search for data to be redacted: in contents, index entries, events, titles and drafts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from helix_desktop.domain.errors import ContentDamaged, DigestUnknown
from helix_desktop.domain.progress import OnProgress
from helix_desktop.domain.redaction.output_copies import OutputCopies
from helix_desktop.domain.redaction.redaction import Redaction, RedactionMatches
from helix_desktop.domain.store.entries import CacheEntry
from helix_desktop.domain.store.retention import ContentReference
from helix_desktop.store.core import keys
from helix_desktop.store.core.row_codec import RowDamaged
from helix_desktop.store.leveldb.access import StoreAccess
from helix_desktop.store.leveldb.branches import log_parts, read_branches
from helix_desktop.store.leveldb.contents import ContentStore
from helix_desktop.store.leveldb.database import ReadView
from helix_desktop.store.leveldb.rows import ROWS

_CONTENTS_PER_READ = 50  # contents per read: other readers get their turn in between


@dataclass(slots=True)
class SecretMatches:
    """The matches, by the rows that must change.

    `rewritten_indexes` maps an index entry's digest to its redacted bytes; `removed` holds, by session, the
    outputs that are redacted, by their seqs.
    """

    contents: list[CacheEntry] = field(default_factory=list)
    indexes: list[CacheEntry] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    events: list[ContentReference] = field(default_factory=list)
    removed: dict[str, dict[int, OutputCopies]] = field(default_factory=dict)
    titles: list[str] = field(default_factory=list)
    drafts: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    rewritten_indexes: dict[str, bytes] = field(default_factory=dict)

    def to_matches(self, damaged: Sequence[str] = (), copies: Sequence[str] = ()) -> RedactionMatches:
        """Return the matches in the form that is used outside of the store."""
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


async def find_secret(access: StoreAccess, redaction: Redaction, on_progress: OnProgress) -> SecretMatches:
    """Search everything in a store. Raise StoreUnreadable if a log is damaged."""
    run_query, contents, result = access.run_query, access.contents, SecretMatches()
    entries = await run_query(lambda view: list(_entries(view, result)))
    if redaction.digests:
        result.removed = await run_query(lambda view: _find_removed(view, redaction))

    async def search_part(part: Sequence[CacheEntry]) -> None:
        await run_query(lambda view: _search_contents(view, contents, redaction, part, result))

    for index in range(0, len(entries), _CONTENTS_PER_READ):
        on_progress(index, len(entries))
        await search_part(entries[index : index + _CONTENTS_PER_READ])
    indexes = [entry for entry in entries if entry.kind == "index" and entry.digest not in redaction.digests]
    if result.indexes or redaction.digests:
        await run_query(lambda view: _rewrite_indexes(view, contents, redaction, indexes, result))
    on_progress(len(entries), len(entries))
    await run_query(lambda view: _search_logs(view, redaction, result))
    return result


def _entries(view: ReadView, matches: SecretMatches) -> Iterator[CacheEntry]:
    for key, row in view.scan(keys.RECORDS):
        digest = keys.digest_in(key)
        try:
            yield ROWS.record.decode(key, row).to_entry(digest)
        except RowDamaged:
            matches.unreadable.append(digest)  # its description is not known
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
        has_secret = False
        try:
            data = contents.read(view, entry.digest) if redaction.reads(entry) else b""
            has_secret = redaction.matches(data) or redaction.repeats_removed(entry.tool, data)
        except ContentDamaged:  # its description can still be read
            if entry.digest not in matches.unreadable:
                matches.unreadable.append(entry.digest)
        except DigestUnknown:
            continue  # removed since the entries were listed
        if has_secret:
            (matches.indexes if entry.kind == "index" else matches.contents).append(entry)
        elif _has_secret_label(entry, redaction):
            matches.labels.append(entry.digest)


def _has_secret_label(entry: CacheEntry, redaction: Redaction) -> bool:
    labels = (entry.tool, entry.target, entry.first_line)
    return any(redaction.redact_text(label) != label for label in labels)


def _rewrite_indexes(
    view: ReadView,
    contents: ContentStore,
    redaction: Redaction,
    indexes: Sequence[CacheEntry],
    matches: SecretMatches,
) -> None:
    """Rewrite index entries, and then those that lead to them, until none leads to an old one."""
    changed = True
    while changed:
        changed = False
        for entry in indexes:
            try:
                previous = matches.rewritten_indexes.get(entry.digest) or contents.read(view, entry.digest)
            except (ContentDamaged, DigestUnknown):
                continue
            current = redaction.redact_data(previous)
            if current != previous:
                changed = True
                matches.rewritten_indexes[entry.digest] = current
                redaction.move_index(entry.digest, current)
    known_digests = {entry.digest for entry in matches.indexes}
    matches.indexes += [
        entry
        for entry in indexes
        if entry.digest in matches.rewritten_indexes and entry.digest not in known_digests
    ]
    matches.labels = [digest for digest in matches.labels if digest not in matches.rewritten_indexes]


def _find_removed(view: ReadView, redaction: Redaction) -> dict[str, dict[int, OutputCopies]]:
    """Return the redacted outputs of each session, a branch's with those of its parent.

    Such a branch's log is read as a whole: it can have chosen another form of its parent's output.
    """
    rows = groupby(ROWS.event.scan(view, keys.EVENTS), lambda row: keys.session_of_event(row[0]))
    own = {session_id: redaction.find_removed(recorded for _, recorded in log) for session_id, log in rows}
    removed = dict(own)
    for branch in read_branches(view):
        *shared, last = log_parts(view, branch)
        if any(part.after < seq <= part.upto for part in shared for seq in own.get(part.session_id, ())):
            spans = (keys.events_between(part.session_id, part.after, part.upto) for part in (*shared, last))
            removed[branch] = redaction.find_removed(
                recorded for span in spans for _, recorded in ROWS.event.scan(view, span)
            )
    return removed


def _search_logs(view: ReadView, redaction: Redaction, matches: SecretMatches) -> None:
    for key, recorded in ROWS.event.scan(view, keys.EVENTS):
        session_id = keys.session_of_event(key)
        if redaction.redact_event(recorded, matches.removed.get(session_id, {})) is not recorded:
            matches.events.append(ContentReference(session_id, recorded.seq))
    for key, summary in ROWS.summary.scan(view, keys.SUMMARIES):
        if redaction.redact_summary(summary) != summary:
            matches.titles.append(key[1:].decode())
    for key, draft in ROWS.draft.scan(view, keys.DRAFTS):
        if redaction.redact_draft(draft) != draft:
            matches.drafts.append(key[1:].decode())
