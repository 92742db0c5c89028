"""A store as a few plain dicts: what the real ones are compared with. It shares no code with them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.summary import HandoverMade


@dataclass
class ModelContent:
    """A stored content: its bytes, who stored it first, with which commit, and how often it was recalled."""

    data: bytes
    session: str
    commit: int
    recalls: int = 0
    is_pinned: bool = False


@dataclass
class StoreModel:
    """What a store holds after a series of calls."""

    logs: dict[str, list[RecordedEvent]] = field(default_factory=dict)
    drafts: dict[str, str] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    contents: dict[str, ModelContent] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=dict)
    """How many events of a branch are of its parent."""
    commits: int = 0

    def commit(
        self,
        session: str,
        events: Sequence[RecordedEvent],
        contents: Sequence[bytes],
        recalls: Sequence[bytes],
        title: str | None,
    ) -> bool:
        """Store all of it. Return False, and store nothing, where that is to be refused.

        That is where the events do not continue the log, or what is named is not stored.
        """
        log = self.logs.get(session, [])
        if [event.seq for event in events] != list(range(len(log) + 1, len(log) + 1 + len(events))):
            return False
        stored = {*self.contents, *map(_digest, contents)}
        if not all(_named(event) <= stored for event in events) or not stored.issuperset(
            map(_digest, recalls)
        ):
            return False
        self.commits += 1
        if events:
            self.logs[session] = [*log, *events]
        for data in contents:
            self.contents.setdefault(_digest(data), ModelContent(data, session, self.commits))
        for data in recalls:
            self.contents[_digest(data)].recalls += 1
        if title is not None:
            self.titles[session] = title
        return True

    def branch(self, parent: str, upto: int, child: str, events: Sequence[RecordedEvent]) -> None:
        """Begin a session with the first events of another one."""
        self.commits += 1
        self.logs[child], self.starts[child] = [*self.logs[parent][:upto], *events], upto

    def save_draft(self, session: str, text: str) -> None:
        self.drafts[session] = text

    def pin(self, data: bytes, pinned: bool) -> bool:
        """Return False if it is not stored."""
        content = self.contents.get(_digest(data))
        if content is not None:
            content.is_pinned = pinned
        return content is not None

    def visible(self, sessions: Sequence[str]) -> dict[str, object]:
        """Return all of it as `visible_state` reads it from a store."""
        return {
            "events": {session: self.logs.get(session, []) for session in sessions},
            "drafts": {session: self.drafts.get(session, "") for session in sessions},
            "titles": self.titles,
            "bytes": {digest: content.data for digest, content in self.contents.items()},
            "entries": {
                digest: (len(content.data), content.recalls, content.session, content.is_pinned)
                for digest, content in self.contents.items()
            },
            "references": {digest: self._references(digest) for digest in self.contents},
            "found": {
                prefix: sorted(digest for digest in self.contents if digest.startswith(prefix))
                for prefix in ("c", "ca", "e3b0")
            },
            "totals": (len(self.contents), sum(len(content.data) for content in self.contents.values())),
            "order": [
                {digest for digest, content in self.contents.items() if content.commit == commit}
                for commit in sorted({content.commit for content in self.contents.values()}, reverse=True)
            ],
        }

    def _references(self, digest: str) -> list[tuple[str, int]]:
        """Return the sessions and events that name a content; of a branch only its own events."""
        return sorted(
            (session, event.seq)
            for session, log in self.logs.items()
            for event in log[self.starts.get(session, 0) :]
            if digest in _named(event)
        )


def _named(event: RecordedEvent) -> set[str]:
    match event.event:
        case ToolAnswered(digest=digest):
            return {digest}
        case HandoverMade(index=digest):
            return {digest}
    return set()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
