"""Forgetting's twin in memory: the same answers, and nothing lies in files."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from helix_desktop.context.content import Entry
from helix_desktop.context.digest import digest_of
from helix_desktop.context.event import Recorded, digests_in
from helix_desktop.context.forgetting import Finds, Redaction, Wanted
from helix_desktop.context.keeping import Reference
from helix_desktop.store import keys
from helix_desktop.store.commit import Clock
from helix_desktop.store.memory_keep import Held
from helix_desktop.store.tombstone import Tombstone


class MemoryForgetting:
    """Removes what the person names from one store in memory."""

    def __init__(self, held: Held, clock: Clock, check_open: Callable[[], None]) -> None:
        self._held, self._clock, self._check_open = held, clock, check_open

    async def preview(
        self, wanted: Wanted, told: Callable[[int, int], None] = lambda done, total: None
    ) -> Finds:
        """Where it stands; changes nothing. Raises InputUnusable."""
        self._check_open()
        return _Pass(self._held, Redaction(wanted, self._clock())).finds()

    async def carry_out(
        self, wanted: Wanted, told: Callable[[int, int], None] = lambda done, total: None
    ) -> Finds:
        """Remove it everywhere in this store; what was changed. Raises InputUnusable."""
        self._check_open()
        at = self._clock()
        return _Pass(self._held, Redaction(wanted, at)).carry_out(at)

    async def when(self, digest: str) -> int:
        """When a content was forgotten, in milliseconds since 1970; 0 when it was not, or may come back."""
        self._check_open()
        keys.raw(digest)
        found = self._held.forgotten.get(digest)
        return found.at if found is not None and not found.lifted else 0

    async def lift(self, digest: str) -> bool:
        """Let a forgotten content be stored again; whether it was forgotten."""
        self._check_open()
        keys.raw(digest)
        found = self._held.forgotten.get(digest)
        if found is not None:
            self._held.forgotten[digest] = msgspec.structs.replace(found, lifted=True)
        return found is not None and not found.lifted


class _Pass:
    """One look through everything that is held."""

    def __init__(self, held: Held, redaction: Redaction) -> None:
        self._held, self._redaction = held, redaction
        self._anew: dict[str, bytes] = {}
        entries = [held.entries[digest] for digest in sorted(held.entries)]
        here = [one for one in entries if self._stands_in(one)]
        whole = [one for one in entries if one.kind == "index" and one.digest not in redaction.digests]
        self.contents = [one for one in here if one not in whole]
        self.indexes = [one for one in here if one in whole]
        if self.indexes:
            self._renew(whole)
        self.indexes += [one for one in whole if one.digest in self._anew and one not in self.indexes]
        clean = [one for one in entries if one not in (*self.contents, *self.indexes)]
        self.labels = [one for one in clean if self._described(one) != one]
        self.events = [
            (session, at, changed)
            for session in sorted(held.logs, key=str.encode)
            for at, changed in self._changed(held.logs[session])
        ]

    def _stands_in(self, entry: Entry) -> bool:
        redaction = self._redaction
        return entry.digest in redaction.digests or redaction.stands_in(self._held.data[entry.digest])

    def _renew(self, indexes: list[Entry]) -> None:
        changed = True
        while changed:
            changed = False
            for entry in indexes:
                former = self._anew.get(entry.digest, self._held.data[entry.digest])
                now = self._redaction.data(former)
                if now != former:
                    changed = True
                    self._anew[entry.digest] = now
                    self._redaction.move(entry.digest, now)

    def _described(self, entry: Entry) -> Entry:
        said = self._redaction.text
        return msgspec.structs.replace(
            entry, tool=said(entry.tool), target=said(entry.target), first_line=said(entry.first_line)
        )

    def _changed(self, log: list[Recorded]) -> list[tuple[int, Recorded]]:
        muted: set[int] = set()
        changed = []
        for at, recorded in enumerate(log):
            if self._redaction.mutes(recorded):
                muted.add(recorded.seq)
            now = self._redaction.event(recorded, frozenset(muted))
            if now is not recorded:
                changed.append((at, now))
        return changed

    def finds(self) -> Finds:
        """What was found."""
        said = self._redaction.text
        titles = (one.id for one in self._held.summaries.values() if said(one.title) != one.title)
        drafts = (one for one, typed in self._held.drafts.items() if self._redaction.draft(typed) != typed)
        return Finds(
            tuple(self.contents),
            tuple(self.indexes),
            tuple(one.digest for one in self.labels),
            tuple(Reference(session, now.seq) for session, _, now in self.events),
            tuple(sorted(titles, key=str.encode)),
            tuple(sorted(drafts, key=str.encode)),
        )

    def carry_out(self, at: int) -> Finds:
        """Change it; what was changed."""
        found, held = self.finds(), self._held
        for entry in self.indexes:
            self._keep_anew(entry, at)
        for session, place, now in self.events:
            former, held.logs[session][place] = held.logs[session][place], now
            for digest in {*digests_in(former.event)} ^ {*digests_in(now.event)}:
                self._count(digest, 1 if digest in digests_in(now.event) else -1)
        for entry in self.labels:
            held.entries[entry.digest] = self._described(held.entries[entry.digest])
        for session in found.titles:
            summary = held.summaries[session]
            clean = self._redaction.text(summary.title)
            held.summaries[session] = msgspec.structs.replace(summary, title=clean)
        for session in found.drafts:
            held.drafts[session] = self._redaction.draft(held.drafts[session])
        for entry in (*self.contents, *self.indexes):
            del held.entries[entry.digest], held.data[entry.digest]
            held.forgotten[entry.digest] = Tombstone(at, self._redaction.moved.get(entry.digest, ""))
        return found

    def _keep_anew(self, entry: Entry, at: int) -> None:
        data = self._anew[entry.digest]
        digest = digest_of(data)
        if digest not in self._held.entries:
            self._held.data[digest] = data
            self._held.entries[digest] = msgspec.structs.replace(
                self._described(entry),
                digest=digest,
                size=len(data),
                stored_size=len(data),
                created=at,
                last_used=at,
                recalls=0,
                references=0,
                pinned=False,
                trashed=0,
            )

    def _count(self, digest: str, by: int) -> None:
        entry = self._held.entries.get(digest)
        if entry is not None:
            trashed = 0 if by > 0 else entry.trashed
            self._held.entries[digest] = msgspec.structs.replace(
                entry, references=entry.references + by, trashed=trashed
            )
