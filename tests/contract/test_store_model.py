"""The durable store and the one in memory do what a model of plain dicts does, also reopened."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from collections.abc import AsyncIterator, Coroutine, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from helix_desktop.agent.ports import Store
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import DigestUnknown
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import SessionBranched
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.store import CacheEntry, Commit, SessionSummary
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.memory import MemoryStore
from tests.support.store.builders import (
    START_MS,
    WORKSPACE,
    TickingClock,
    handover_event,
    make_content,
    make_summary,
    tool_answer_event,
    user_message_event,
)


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


BODIES = [b"", b"a", b"b" * 700, bytes(range(256)) * 5000]
BRANCH = "s2"
SESSIONS = ["s", "s1", "ß", BRANCH]
body = st.sampled_from(range(len(BODIES)))
bodies = st.lists(body, max_size=3, unique=True)
sessions = st.sampled_from(SESSIONS)


async def visible_state(store: Store) -> dict[str, object]:
    """Return what a store shows through its port, as `StoreModel.visible` says it."""
    entries = (await store.page()).entries
    by_twos = [entry.digest async for entry in _by_twos(store)]
    assert by_twos == [entry.digest for entry in entries]
    assert await store.digests() == bytes.fromhex("".join(by_twos))
    totals = await store.totals()
    references = {
        entry.digest: sorted(
            (reference.session, reference.seq) for reference in await store.retention.references(entry.digest)
        )
        for entry in entries
    }
    return {
        "events": {session: await store.events(session) for session in SESSIONS},
        "drafts": {session: (await store.draft(session)).text for session in SESSIONS},
        "titles": {summary.id: summary.title for summary in await store.sessions()},
        "bytes": {entry.digest: await store.get(entry.digest) for entry in entries},
        "entries": {
            entry.digest: (entry.size, entry.recalls, entry.session, entry.pinned) for entry in entries
        },
        "references": references,
        "found": {prefix: sorted(await store.find(prefix)) for prefix in ("c", "ca", "e3b0")},
        "totals": (totals.entries, totals.size),
        "order": [
            {entry.digest for entry in same} for _, same in groupby(entries, key=lambda it: it.created)
        ],
    }


async def _listed(store: Store) -> tuple[list[CacheEntry], list[SessionSummary]]:
    """Return what lists show, without the results of compression."""
    entries = [msgspec.structs.replace(entry, stored_size=0) for entry in (await store.page()).entries]
    assert [msgspec.structs.replace(await store.entry(it.digest), stored_size=0) for it in entries] == entries
    return entries, await store.sessions()


async def _by_twos(store: Store) -> AsyncIterator[CacheEntry]:
    """Yield all entries, two to a page."""
    page = await store.page(limit=2)
    while True:
        for entry in page.entries:
            yield entry
        if not page.cursor:
            return
        page = await store.page(limit=2, cursor=page.cursor)


class StoreMachine(RuleBasedStateMachine):
    """Calls in any order, each made of the model, a LevelDB store and a store in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.model = StoreModel()
        self.clock = TickingClock(step=0)

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(work)

    @initialize()
    def open(self) -> None:
        self.durable: Store = self.do(self._open())
        self.memory: Store = MemoryStore(self.clock)

    async def _open(self) -> Store:
        return await LevelDbStore.open(Path(self.folder.name), WORKSPACE, self.clock)

    @rule(
        session=sessions,
        numbers=st.tuples(bodies, bodies, bodies),
        gap=st.integers(0, 9),
        title=st.none() | st.text(max_size=5),
    )
    def commit(
        self, session: str, numbers: tuple[list[int], list[int], list[int]], gap: int, title: str | None
    ) -> None:
        """Commit events, contents, recalls and a title; one in ten leaves a gap in the log."""
        self.clock.now += 1_000
        named, stored, recalled = ([BODIES[number] for number in group] for group in numbers)
        first = len(self.model.logs.get(session, [])) + 1 + (gap == 9)
        events = [
            handover_event(first + place, data) if place == 1 else tool_answer_event(first + place, data)
            for place, data in enumerate(named)
        ]
        events.append(user_message_event(first + len(named)))
        is_stored = self.model.commit(session, events, stored, recalled, title)
        for store in (self.durable, self.memory):
            summary = make_summary(session, title=title) if title is not None else None
            commit = Commit(
                session, events, list(map(make_content, stored)), list(map(digest_of, recalled)), summary
            )
            if is_stored:
                self.do(store.commit(commit))
            else:
                with pytest.raises(ValueError, match=r"goes on with event|not stored"):
                    self.do(store.commit(commit))

    @precondition(lambda self: "s" in self.model.logs and BRANCH not in self.model.logs)
    @rule(upto=st.integers(1, 99))
    def branch(self, upto: int) -> None:
        """Begin a session with a part of another one."""
        self.clock.now += 1_000
        upto = min(upto, len(self.model.logs["s"]))
        event = RecordedEvent(upto + 1, START_MS, SessionBranched("s", upto, "a branch"))
        self.model.branch("s", upto, BRANCH, [event])
        for store in (self.durable, self.memory):
            self.do(store.commit(Commit(BRANCH, [event])))

    @rule(session=sessions, text=st.text(max_size=5))
    def save_draft(self, session: str, text: str) -> None:
        self.model.save_draft(session, text)
        for store in (self.durable, self.memory):
            self.do(store.save_draft(session, text))

    @rule(number=body, pinned=st.booleans())
    def pin(self, number: int, pinned: bool) -> None:
        """Pin a content, or unpin it; what is not stored can't be."""
        data = BODIES[number]
        is_stored = self.model.pin(data, pinned)
        for store in (self.durable, self.memory):
            if is_stored:
                self.do(store.retention.pin(digest_of(data), pinned))
            else:
                with pytest.raises(DigestUnknown):
                    self.do(store.retention.pin(digest_of(data), pinned))

    @precondition(lambda self: self.model.commits)
    @rule()
    def reopen(self) -> None:
        """Close the durable store and open it again: nothing is repaired."""
        self.do(self.durable.close())
        self.durable = self.do(self._open())
        assert self.durable.health.report is None

    @invariant()
    def all_show_the_same(self) -> None:
        expected = self.model.visible(SESSIONS)
        for store in (self.durable, self.memory):
            found = self.do(visible_state(store))
            assert found == expected
        ours, theirs = (self.do(_listed(store)) for store in (self.durable, self.memory))
        assert ours == theirs, "times and summaries, too"

    def teardown(self) -> None:
        if hasattr(self, "durable"):
            self.do(self.durable.close())
        self.runner.close()
        self.folder.cleanup()


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(deadline=None, stateful_step_count=20)
