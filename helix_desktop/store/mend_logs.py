"""Makes the logs of sessions whole again: each is cut where it has a gap, references are made anew.

What stands behind a gap is set aside as lines of JSON: a conversation with a hole would be another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

import msgspec

from helix_desktop.context.content import SessionSummary
from helix_desktop.context.damage import CutSession
from helix_desktop.context.event import Recorded, SessionStarted, digests_in
from helix_desktop.context.event_summary import HandoverMade
from helix_desktop.store import keys
from helix_desktop.store.codec import Codec
from helix_desktop.store.event_log import EVENT
from helix_desktop.store.filler import Filler
from helix_desktop.store.handle import View
from helix_desktop.store.listing import SUMMARY

_LONGEST_NAME = 100  # signs of a session's id in a file name


class LogMender:
    """Goes through the logs of a database that holds sound events and summaries, and nothing derived."""

    def __init__(self, filler: Filler, codec: Codec, aside: Path, ends: Mapping[str, int]) -> None:
        """`ends` says which seq each session's log is known to have reached."""
        self._filler, self._codec, self._aside = filler, codec, aside
        self._ends = dict(ends)
        self.cut: list[CutSession] = []
        self.sessions = self.events = 0

    def run(self, view: View) -> None:
        """Mend every log. Raises StoreWriteFailed, OSError."""
        listed = (self._codec.unseal(key, row, SUMMARY) for key, row in view.scan(keys.SUMMARIES))
        summaries = {one.id: one for one in listed}
        rows = view.scan(keys.EVENTS)
        for session, log in groupby(rows, key=lambda row: keys.place_in(row[0])[0]):
            self._mend(session, summaries.pop(session, None), log)
        for session, summary in summaries.items():
            self._mend(session, summary, ())
        for session in sorted(self._ends):
            self._mend(session, None, ())

    def _mend(self, session: str, summary: SessionSummary | None, log: Iterable[tuple[bytes, bytes]]) -> None:
        kept: Recorded | None = None
        behind: list[Recorded] = []
        title, parent, created = "", "", 0
        for key, row in log:
            recorded = self._codec.unseal(key, row, EVENT)
            if behind or recorded.seq != (kept.seq if kept else 0) + 1:
                behind.append(recorded)
                self._filler.delete(key)
                continue
            kept = recorded
            created = created or recorded.at
            title = getattr(recorded.event, "title", title)
            parent = recorded.event.parent if isinstance(recorded.event, SessionStarted) else parent
            self._refer(session, recorded)
        count = kept.seq if kept else 0
        last = max([count, *(one.seq for one in behind), summary.events if summary else 0])
        last = max(last, self._ends.pop(session, 0))
        if kept is not None:
            key = keys.last_event(session)
            self._filler.put(key, self._codec.seal(key, kept.seq))
            made = SessionSummary(session, title, created, kept.at, parent=parent, events=kept.seq)
            summary = summary or made
        if last > count:
            named = summary.title if summary else title
            self.cut.append(CutSession(session, named, count, len(behind), last - count - len(behind)))
            self._set_aside(session, behind)
        if summary is not None:
            self._list(msgspec.structs.replace(summary, events=count) if last > count else summary)
        self.events += count

    def _list(self, summary: SessionSummary) -> None:
        key = keys.summary(summary.id)
        self._filler.put(key, self._codec.seal(key, summary))
        self.sessions += 1

    def _refer(self, session: str, recorded: Recorded) -> None:
        if isinstance(recorded.event, HandoverMade):
            self._filler.put(keys.handover(session, recorded.seq))
        for digest in digests_in(recorded.event):
            self._filler.put(keys.reference(digest, session, recorded.seq))
            self._filler.put(keys.back_reference(session, recorded.seq, digest))

    def _set_aside(self, session: str, events: list[Recorded]) -> None:
        if events:
            path = self._aside / f"session-{quote(session, safe='')[:_LONGEST_NAME]}.jsonl"
            with path.open("ab") as file:
                file.writelines(msgspec.json.encode(one) + b"\n" for one in events)
