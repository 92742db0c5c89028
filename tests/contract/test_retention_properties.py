"""No sequence of store calls loses referenced content or leaves wrong totals."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Literal, get_args

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helix_desktop.agent.ports import Store
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentRedacted
from helix_desktop.domain.events.recorded_event import digests_in
from helix_desktop.domain.redaction import RedactionRequest
from helix_desktop.domain.retention import DAY_MS, HOUR_MS, RetentionRule, indexed_digests
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
)

PLAIN = [b"", b"a", b"b" * 700, bytes(range(256)) * 5000]
INDEXES = [
    f"head\n{digest_of(PLAIN[1])} e1 read_file\n{digest_of(PLAIN[3])} e2 read_file".encode(),
    f"head\n{digest_of(PLAIN[0])} e1".encode(),
]
INDEXES.append(f"head\n{digest_of(INDEXES[0])} the index of everything before this one".encode())
BODIES = PLAIN + INDEXES
FORGETTABLE = {digest_of(PLAIN[0]), digest_of(PLAIN[2])}
SESSIONS = ["s", "s1", "child of s"]

Action = Literal[
    "put",
    "name",
    "recall",
    "pin",
    "unpin",
    "collect",
    "quota",
    "restore",
    "empty",
    "delete",
    "hide",
    "show",
    "wait",
    "forget",
    "lift",
]


class Step(msgspec.Struct, frozen=True):
    """One call; most actions use `bodies` and `session_id`."""

    action: Action
    session_id: str
    bodies: tuple[int, ...]


steps = st.builds(
    Step,
    action=st.sampled_from(
        (*get_args(Action), "name", "name", "hide", "collect", "empty", "empty", "delete")
    ),
    session_id=st.sampled_from(SESSIONS),
    bodies=st.lists(st.integers(0, len(BODIES) - 1), min_size=1, max_size=3).map(tuple),
)


async def do(store: Store, step: Step, clock: TickingClock) -> object:
    """Run a step and return the comparable part of its result."""
    digests = [digest_of(BODIES[body]) for body in step.bodies]
    match step.action:
        case "put":
            await store.commit(Commit(step.session_id, contents=[_content(body) for body in step.bodies]))
        case "name":
            await name(store, step)
        case "wait":
            clock.now += 13 * HOUR_MS
        case "hide":
            return await store.retention.trash_session(step.session_id)
        case "show":
            return await store.retention.restore_session(step.session_id)
        case "recall" | "pin" | "unpin":
            await use(store, step, [digest for digest in digests if await store.find(digest)])
        case "forget":
            selected = tuple(digest for digest in digests if digest in FORGETTABLE)
            matches = await store.redaction.redact(RedactionRequest(digests=selected or tuple(digests[:1])))
            return {content.digest for content in matches.contents}, matches.events
        case "lift":
            return await store.redaction.lift(digests[0])
        case _:
            return await clean(store, step, digests, clock)
    return None


async def name(store: Store, step: Step) -> None:
    """Store events together with the contents they reference."""
    last = len(await store.events(step.session_id))
    log = [
        (handover_event if body >= len(PLAIN) else tool_answer_event)(last + index, BODIES[body])
        for index, body in enumerate(step.bodies, 1)
    ]
    parent = "s" if step.session_id == "child of s" else ""
    line = msgspec.structs.replace(make_summary(step.session_id, last), parent=parent)
    await store.commit(Commit(step.session_id, log, [_content(body) for body in step.bodies], summary=line))


async def use(store: Store, step: Step, stored: list[str]) -> None:
    """Recall, pin or unpin stored contents."""
    if step.action == "recall":
        await store.commit(Commit(step.session_id, recalls=stored))
    elif stored:
        await store.retention.pin(stored[0], step.action == "pin")


async def clean(store: Store, step: Step, digests: list[str], clock: TickingClock) -> object:
    """Collect, restore, or empty the trash."""
    if step.action == "restore":
        return (await store.retention.restore(digests)).digests
    if step.bodies[0] % 4:  # jump so that it makes a difference, most of the time
        clock.now += 2 * DAY_MS
    if step.action == "delete":
        would = await store.retention.delete_permanently(digests, [step.session_id], dry_run=True)
        deleted = await store.retention.delete_permanently(digests, [step.session_id])
        assert would == deleted
        return deleted.digests, deleted.sessions, deleted.staying.entries, deleted.with_branches
    if step.action == "empty":
        emptied = await store.retention.empty_trash(clock.now - DAY_MS)
        return sorted(emptied.digests), emptied.sessions
    plan = await store.retention.plan(RetentionRule())
    collectable = [entry.digest for entry in plan.to_trash]
    assert sorted((await store.retention.collect(collectable)).digests) == sorted(collectable)
    parts = (plan.referenced, plan.indexed, plan.pinned, plan.young, plan.spared, plan.trashed)
    return collectable, [part.entries for part in parts]


def _content(body: int) -> Content:
    return make_content(BODIES[body], kind="index" if body >= len(PLAIN) else "output")


async def everything(store: Store) -> list[CacheEntry]:
    """Return all entries, including those in the trash."""
    return [*(await store.page()).entries, *(await store.retention.trash()).entries]


async def check(store: Store, forgotten: set[str]) -> None:
    """Check the invariants; only contents in `forgotten` may be gone."""
    entries = await everything(store)
    totals = await store.totals()
    assert totals.entries == len({entry.digest for entry in entries}) == len(entries)
    assert totals.size == sum(entry.size for entry in entries)
    assert totals.stored_size == sum(entry.stored_size for entry in entries)
    reference_counts: dict[str, int] = {}
    for session_id in SESSIONS:
        referenced: set[str] = set()
        for recorded in await store.events(session_id):
            for digest in digests_in(recorded.event):
                reference_counts[digest] = reference_counts.get(digest, 0) + 1
                referenced.add(digest)
        assert set(await store.retention.session_digests(session_id)) == referenced
    reached = list(reference_counts)
    for digest in reached:
        try:
            data = await store.get(digest)
        except ContentRedacted:
            assert digest in forgotten
            continue
        assert digest_of(data) == digest
        if (await store.entry(digest)).kind == "index":
            reached += indexed_digests(data) - set(reached)
    for entry in entries:
        references = await store.retention.references(entry.digest)
        assert len(references) == entry.references == reference_counts.get(entry.digest, 0)
        assert not (entry.trashed and entry.references)


async def state(store: Store) -> object:
    """Return everything the two stores can be compared by."""
    entries = [msgspec.structs.replace(entry, stored_size=0) for entry in await everything(store)]
    return entries, await store.sessions(), (await store.retention.trash()).sessions


async def compare(script: list[Step], folder: Path) -> None:
    clock, other, forgotten = TickingClock(), TickingClock(), set[str]()
    durable: Store = await LevelDbStore.open(folder, WORKSPACE, clock)
    twin: Store = MemoryStore(other)
    try:
        for step in script:
            if step.action == "quota":  # bytes on disk differ: each store is only checked
                plan = [
                    entry.digest
                    for entry in (await durable.retention.plan(RetentionRule(quota=4000))).to_trash
                ]
                await durable.retention.collect(plan)
                await twin.retention.collect(plan)
            elif step.action == "name" and not await _targets_are_stored(durable, step):
                continue
            else:
                assert await do(durable, step, clock) == await do(twin, step, other)
            if step.action == "forget":
                forgotten |= {digest_of(BODIES[body]) for body in step.bodies}
            other.now = clock.now = max(clock.now, other.now)
            await check(durable, forgotten)
            await check(twin, forgotten)
            other.now = clock.now = max(clock.now, other.now)
        assert await state(durable) == await state(twin)
    finally:
        await durable.close()
    again = await LevelDbStore.open(folder, WORKSPACE, clock)
    try:
        assert again.health.report is None
        await check(again, forgotten)
        assert await state(again) == await state(twin)
    finally:
        await again.close()


async def _targets_are_stored(store: Store, step: Step) -> bool:
    """Return True if all targets of the step's index entries are stored: the agent makes no others."""
    indexes = [BODIES[body] for body in step.bodies if body >= len(PLAIN)]
    for index in indexes:
        for digest in indexed_digests(index):
            if not await store.find(digest):
                return False
            data = await store.get(digest)
            if data in INDEXES:
                indexes.append(data)
    return True


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps, min_size=15, max_size=30))
def test_no_referenced_content_is_ever_lost(script: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(compare(script, Path(folder)))
