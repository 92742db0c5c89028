"""Any sequence of calls leaves the durable store and its twin in the same visible state, even reopened."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helix_desktop.agent.ports import Store
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.store import CacheEntry, Commit, Content
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.memory import MemoryStore
from tests.support.store.builders import (
    WORKSPACE,
    TickingClock,
    handover_event,
    make_content,
    make_summary,
    tool_answer_event,
    user_message_event,
)

BODIES = [b"", b"a", b"b" * 700, bytes(range(256)) * 5000]
SESSIONS = ["s", "s1", "ß"]


class Step(msgspec.Struct, frozen=True):
    """One commit, or a draft; `skip` leaves a gap in the log, so that the step must be refused."""

    session_id: str
    stored: tuple[int, ...]
    referenced: tuple[int, ...]
    recalls: tuple[int, ...]
    summary: bool
    draft: str | None
    skip: bool


bodies = st.integers(0, len(BODIES) - 1)
steps = st.builds(
    Step,
    session_id=st.sampled_from(SESSIONS),
    stored=st.lists(bodies, max_size=3).map(tuple),
    referenced=st.lists(bodies, max_size=3).map(tuple),
    recalls=st.lists(bodies, max_size=2).map(tuple),
    summary=st.booleans(),
    draft=st.none() | st.text(max_size=5),
    skip=st.sampled_from([False] * 9 + [True]),
)


def log_of(step: Step, last: int) -> list[RecordedEvent]:
    """Return the step's events: an answer per body, a handover for the second, a message at the end."""
    log: list[RecordedEvent] = []
    for index, body in enumerate(step.referenced):
        seq = last + 1 + index + step.skip
        log.append(handover_event(seq, BODIES[body]) if index == 1 else tool_answer_event(seq, BODIES[body]))
    return [*log, user_message_event(last + 1 + len(log) + step.skip)]


async def run(store: Store, step: Step, last: int) -> str:
    """Run a step and return the refusal, if any."""
    stored: list[Content] = [make_content(BODIES[body]) for body in step.stored]
    recalls = [digest_of(BODIES[recall]) for recall in step.recalls]
    try:
        await store.commit(
            Commit(
                step.session_id,
                log_of(step, last),
                stored,
                recalls,
                make_summary(step.session_id, last) if step.summary else None,
            )
        )
        if step.draft is not None:
            await store.save_draft(step.session_id, step.draft)
    except (ValueError, HelixError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def comparable(entry: CacheEntry) -> CacheEntry:
    """Return an entry without the results of compression."""
    return msgspec.structs.replace(entry, stored_size=0)


async def state(store: Store) -> dict[str, object]:
    """Return everything that is visible through the port."""
    newest = (await store.page(limit=3)), (await store.page(order="oldest", limit=3))
    entries = (await store.page()).entries
    totals = await store.totals()
    return {
        "events": [await store.events(session_id) for session_id in SESSIONS],
        "drafts": [(await store.draft(session_id)).text for session_id in SESSIONS],
        "sessions": await store.sessions(),
        "entries": [comparable(entry) for entry in entries],
        "alone": [comparable(await store.entry(entry.digest)) for entry in entries],
        "pages": [([entry.digest for entry in page.entries], page.cursor) for page in newest],
        "bytes": [digest_of(await store.get(entry.digest)) for entry in entries],
        "totals": (totals.entries, totals.size, totals.sessions),
    }


async def compare(script: list[Step], folder: Path) -> None:
    durable: Store = await LevelDbStore.open(folder, WORKSPACE, TickingClock())
    twin: Store = MemoryStore(TickingClock())
    try:
        for step in script:
            last = len(await twin.events(step.session_id))
            assert await run(durable, step, last) == await run(twin, step, last)
        assert await state(durable) == await state(twin)
        stored = sum(entry.stored_size for entry in (await durable.page()).entries)
        assert (await durable.totals()).stored_size == stored
    finally:
        await durable.close()
    again = await LevelDbStore.open(folder, WORKSPACE, TickingClock())
    try:
        assert again.health.report is None
        assert await state(again) == await state(twin)
    finally:
        await again.close()


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps, max_size=12))
def test_both_stores_show_the_same(script: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(compare(script, Path(folder)))
