"""Contents, events, clocks and open stores for tests of the store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Protocol, TypeVar

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.domain.events.summary import (
    SUMMARY_TEXT_VERSION,
    Bullet,
    HandoverDiscarded,
    HandoverMade,
    HandoverPrepared,
    Section,
)
from helix_desktop.domain.store import Content, ContentKind, SessionSummary
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.memory import MemoryStore
from helix_desktop.store.remote.client import RemoteStore, connect
from helix_desktop.store.remote.server import SharedStore

WORKSPACE = "3f1e2b7c-1111-4222-8333-944444444444"
OTHER_WORKSPACE = "00000000-0000-4000-8000-000000000001"
START_MS = 1_750_000_000_000

AnyStore = LevelDbStore | MemoryStore | RemoteStore


class _Closable(Protocol):
    async def close(self) -> None: ...


_S = TypeVar("_S", bound=_Closable)


@asynccontextmanager
async def closing_store(store: _S) -> AsyncIterator[_S]:
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def open_kind(kind: str, folder: Path, clock: TickingClock) -> AsyncIterator[AnyStore]:
    """A store that indexes when it is asked: memory, leveldb, or a client of one by socket or loopback."""
    store: AnyStore
    async with AsyncExitStack() as closings:
        if kind == "memory":
            store = MemoryStore(clock)
        elif kind == "leveldb":
            store = await LevelDbStore.open(folder, WORKSPACE, clock, index_after_s=None)
        else:
            owner = await SharedStore.open(folder, WORKSPACE, clock, kind == "loopback", index_after_s=None)
            closings.push_async_callback(owner.close)
            store = await connect(folder, WORKSPACE)
        yield await closings.enter_async_context(closing_store(store))


class TickingClock:
    """Milliseconds that go on by `step` with each look."""

    def __init__(self, start: int = START_MS, step: int = 1000) -> None:
        self.now = start
        self.step = step

    def __call__(self) -> int:
        self.now += self.step
        return self.now


def make_content(data: bytes, tool: str = "read_file", kind: ContentKind = "output") -> Content:
    return Content(digest_of(data), data, tool, "src/app.py", "import os", len(data) // 4, kind)


def user_message_event(seq: int, text: str = "hello") -> RecordedEvent:
    """A user's message that names no content."""
    return RecordedEvent(seq, START_MS + seq, UserSpoke(text, 1))


def tool_answer_event(seq: int, data: bytes, recalled_digest: str = "") -> RecordedEvent:
    fact = ToolAnswered(
        f"call-{seq}", "read_file", "shown", digest_of(data), len(data), 10, 5, recalled=recalled_digest
    )
    return RecordedEvent(seq, START_MS + seq, fact)


def handover_event(seq: int, index: bytes) -> RecordedEvent:
    """A handover whose index entry is `index`."""
    sections = (Section("Current Issues"),)
    digest = digest_of(index)
    fact = HandoverMade(
        *(seq - 1, 0, sections, "ledger", digest, 1, 9, 100, 50, 3, "m", HandoverTrigger.THRESHOLD),
        text_version=SUMMARY_TEXT_VERSION,
    )
    return RecordedEvent(seq, START_MS + seq, fact)


def checkpoint_event(seq: int, *sentences: str, updates: int = 0, revises: int = 0) -> RecordedEvent:
    """A checkpoint of everything before it that says these sentences."""
    sections = (Section("Current Issues", tuple(Bullet(text) for text in sentences)),)
    handover = HandoverMade(
        *(seq - 1, 0, sections, "", "", 0, 9, 100, 0, 3, "m", HandoverTrigger.THRESHOLD),
        checkpoint=updates,
        revises=revises,
        text_version=SUMMARY_TEXT_VERSION,
    )
    return RecordedEvent(
        seq, START_MS + seq, HandoverDiscarded(900, prepared=HandoverPrepared(handover, 40_000, 880))
    )


def make_summary(session_id: str, updated: int = START_MS, title: str = "a title") -> SessionSummary:
    """A session's line in the list."""
    return SessionSummary(session_id, title, START_MS, updated)
