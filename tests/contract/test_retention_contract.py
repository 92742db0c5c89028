"""What every store must keep and may remove, in examples and in any order."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal, get_args

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helix_desktop.agent.ports import Store
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentRedacted, DigestUnknown
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.events.recorded_event import digests_in
from helix_desktop.domain.redaction import RedactionRequest
from helix_desktop.domain.retention import DAY_MS, HOUR_MS, ContentReference, RetentionRule, indexed_digests
from helix_desktop.domain.store import CacheEntry, Commit, Content
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.memory import MemoryStore
from helix_desktop.words.store_reports import shortfall_text
from tests.support.store.builders import (
    WORKSPACE,
    TickingClock,
    closing_store,
    handover_event,
    make_content,
    make_summary,
    open_kind,
    tool_answer_event,
    user_message_event,
)


@pytest.fixture
def clock() -> TickingClock:
    return TickingClock()


@pytest.fixture(params=["leveldb", "memory", "socket"])
async def store(request: pytest.FixtureRequest, tmp_path: Path, clock: TickingClock) -> AsyncIterator[Store]:
    async with open_kind(request.param, tmp_path / "store", clock) as store:
        yield store


async def listed_digests(store: Store) -> set[str]:
    return {entry.digest for entry in (await store.page()).entries}


async def collect_all(store: Store) -> tuple[str, ...]:
    plan = await store.retention.plan(RetentionRule())
    return (await store.retention.collect([entry.digest for entry in plan.to_trash])).digests


async def test_only_unreferenced_content_is_collected_and_only_after_its_grace_period(
    store: Store, clock: TickingClock
) -> None:
    free, referenced, pinned = make_content(b"free"), make_content(b"named"), make_content(b"pinned")
    await store.commit(Commit("s", [tool_answer_event(1, b"named")], [free, referenced, pinned]))
    await store.retention.pin(pinned.digest, True)
    assert (await store.retention.plan(RetentionRule())).to_trash == ()
    clock.now += DAY_MS
    recent = make_content(b"young")
    await store.commit(Commit("s", contents=[recent]))
    plan = await store.retention.plan(RetentionRule())
    assert [entry.digest for entry in plan.to_trash] == [free.digest]
    assert (plan.referenced.entries, plan.pinned.entries, plan.young.entries) == (1, 1, 1)
    assert plan.freed == (await store.entry(free.digest)).stored_size
    everything = [content.digest for content in (free, referenced, pinned, recent)]
    collected = await store.retention.collect(everything)
    assert collected.digests == (free.digest,)
    assert await listed_digests(store) == {referenced.digest, pinned.digest, recent.digest}
    await store.retention.pin(pinned.digest, False)
    assert await collect_all(store) == (pinned.digest,)


async def test_content_referenced_by_a_draft_stays(store: Store, clock: TickingClock) -> None:
    content = make_content(b"one")
    await store.commit(Commit("s", contents=[content]))
    clock.now += 2 * DAY_MS
    await collect_all(store)
    await store.save_draft("s", "", (Attachment(content.digest, "lamp.png", "", 90, 3),))
    await store.retention.empty_trash()
    assert await store.get(content.digest) == b"one"
    await store.retention.restore([content.digest])
    clock.now += 2 * DAY_MS
    assert (await store.retention.plan(RetentionRule())).referenced.entries == 1
    assert (await store.retention.collect([content.digest])).digests == ()

    await store.save_draft("s", "")
    assert await collect_all(store) == (content.digest,)


async def test_trashed_content_can_be_read_and_restored_unchanged(store: Store, clock: TickingClock) -> None:
    content = make_content(b"one")
    await store.commit(Commit("s", contents=[content]))
    before = await store.entry(content.digest)
    clock.now += 2 * DAY_MS
    await collect_all(store)
    trash = await store.retention.trash()
    assert [entry.digest for entry in trash.entries] == [content.digest]
    assert await store.get(content.digest) == b"one"
    assert await store.find(content.digest[:8]) == [content.digest]
    assert (await store.page(prefix=content.digest[:8])).entries == ()
    assert (await store.retention.restore([content.digest, content.digest])).digests == (content.digest,)
    assert await listed_digests(store) == {content.digest}
    after = await store.entry(content.digest)
    assert msgspec.structs.replace(after, last_used=before.last_used) == before
    assert await collect_all(store) == ()


@pytest.mark.parametrize("usage", ["put", "named", "recalled", "pinned"])
async def test_use_restores_from_the_trash(store: Store, clock: TickingClock, usage: str) -> None:
    content = make_content(b"one")
    await store.commit(Commit("s", contents=[content]))
    clock.now += 2 * DAY_MS
    await collect_all(store)
    if usage == "put":
        await store.commit(Commit("s", contents=[content]))
    elif usage == "named":
        await store.commit(Commit("s", [tool_answer_event(1, b"one")]))
    elif usage == "recalled":
        await store.commit(Commit("s", recalls=[content.digest]))
    else:
        await store.retention.pin(content.digest, True)
    assert await listed_digests(store) == {content.digest}
    assert (await store.retention.empty_trash()).digests == ()
    assert await store.get(content.digest) == b"one"


async def test_old_content_that_is_put_again_gets_a_new_grace_period(
    store: Store, clock: TickingClock
) -> None:
    content = make_content(b"one")
    await store.commit(Commit("s", contents=[content]))
    clock.now += 2 * DAY_MS
    await store.commit(Commit("s", contents=[content]))
    assert (await store.retention.plan(RetentionRule())).to_trash == ()


async def test_emptying_the_trash_removes_entries_trashed_before_the_limit(
    store: Store, clock: TickingClock
) -> None:
    small, large = make_content(b"small"), make_content(bytes(range(256)) * 6000)
    await store.commit(Commit("s", contents=[small, large]))
    clock.now += 2 * DAY_MS
    assert len(await collect_all(store)) == 2
    trashed_at = max(entry.trashed for entry in (await store.retention.trash()).entries)
    assert (await store.retention.empty_trash(trashed_at)).digests == ()
    assert set((await store.retention.empty_trash()).digests) == {small.digest, large.digest}
    totals = await store.totals()
    assert (totals.entries, totals.size, totals.stored_size) == (0, 0, 0)
    with pytest.raises(DigestUnknown):
        await store.get(large.digest)
    await store.commit(Commit("s", [tool_answer_event(1, large.data)], [large]))
    assert await store.get(large.digest) == large.data


async def test_a_quota_collects_the_least_recently_used_and_an_age_limit_the_old(
    store: Store, clock: TickingClock
) -> None:
    contents = []
    for number in range(4):
        clock.now += DAY_MS
        contents.append(make_content(f"{number} ".encode() * 400))
        await store.commit(Commit("s", contents=[contents[-1]]))
    clock.now += 2 * DAY_MS
    digests = [content.digest for content in contents]
    sizes = [(await store.entry(digest)).stored_size for digest in digests]
    by_age = await store.retention.plan(RetentionRule(unused_ms=4 * DAY_MS))
    assert [entry.digest for entry in by_age.to_trash] == digests[:2]
    by_quota = await store.retention.plan(RetentionRule(quota=sum(sizes[1:])))
    assert [entry.digest for entry in by_quota.to_trash] == digests[:1]
    assert by_quota.short == 0
    by_both = await store.retention.plan(RetentionRule(quota=sizes[3], unused_ms=5 * DAY_MS))
    assert [entry.digest for entry in by_both.to_trash] == digests[:3]


async def test_a_quota_never_collects_referenced_content_and_reports_it(
    store: Store, clock: TickingClock
) -> None:
    referenced, free = make_content(b"n" * 3000), make_content(b"free")
    await store.commit(Commit("s", [tool_answer_event(1, referenced.data)], [referenced, free]))
    clock.now += 2 * DAY_MS
    plan = await store.retention.plan(RetentionRule(quota=1))
    assert [entry.digest for entry in plan.to_trash] == [free.digest]
    assert plan.short == (await store.entry(referenced.digest)).stored_size - 1
    assert "over its maximum of" in shortfall_text(plan)
    assert "used by sessions" in shortfall_text(plan)


async def test_an_index_entry_that_stays_keeps_its_targets(store: Store, clock: TickingClock) -> None:
    distant, near = make_content(b"far"), make_content(b"near")
    old_index = make_content(f"head\n{distant.digest} e1 read_file".encode(), kind="index")
    index = make_content(
        f"head\n{old_index.digest} before\n{near.digest} e2 read_file".encode(), kind="index"
    )
    other = make_content(b"other")
    await store.commit(Commit("s", [handover_event(1, index.data)], [distant, near, old_index, index, other]))
    clock.now += 2 * DAY_MS
    plan = await store.retention.plan(RetentionRule())
    assert [entry.digest for entry in plan.to_trash] == [other.digest]
    assert plan.indexed.entries == 3


async def test_a_clock_set_back_ages_nothing_in_the_trash(store: Store, clock: TickingClock) -> None:
    old, new = make_content(b"old"), make_content(b"new")
    await store.commit(Commit("s", contents=[old], summary=make_summary("s")))
    clock.now += 300 * DAY_MS
    await store.commit(Commit("t", contents=[new]))
    clock.now -= 100 * DAY_MS
    assert await collect_all(store) == (old.digest,)
    assert await store.retention.trash_session("s") == ("s",)
    clock.now += 100 * DAY_MS
    emptied = await store.retention.empty_trash(clock.now - DAY_MS)
    assert (emptied.digests, emptied.sessions) == ((), ())
    await store.retention.restore([old.digest])
    assert (await store.retention.plan(RetentionRule())).to_trash == ()


async def test_the_whole_trash_can_be_emptied_after_the_clock_was_set_back(
    store: Store, clock: TickingClock
) -> None:
    content = make_content(b"one")
    await store.commit(Commit("s", contents=[content], summary=make_summary("s")))
    clock.now += 2 * DAY_MS
    await collect_all(store)
    await store.retention.trash_session("s")
    clock.now -= 30 * DAY_MS
    emptied = await store.retention.empty_trash()
    assert (emptied.digests, emptied.sessions) == ((content.digest,), ("s",))


async def test_a_deleted_session_is_hidden_with_its_subagents_and_can_be_restored(store: Store) -> None:
    child = msgspec.structs.replace(make_summary("child"), parent="s")
    await store.commit(
        Commit("s", [tool_answer_event(1, b"one")], [make_content(b"one")], summary=make_summary("s"))
    )
    await store.commit(Commit("child", [user_message_event(1)], summary=child))
    await store.commit(Commit("other", [user_message_event(1)], summary=make_summary("other")))
    assert await store.retention.trash_session("s") == ("s", "child")
    assert await store.retention.trash_session("s") == ()
    assert [session.id for session in await store.sessions()] == ["other"]
    assert {session.id for session in (await store.retention.trash()).sessions} == {"s", "child"}
    assert await store.events("s") == [tool_answer_event(1, b"one")]
    assert await store.retention.restore_session("s") == ("s", "child")
    assert {session.id for session in await store.sessions()} == {"s", "child", "other"}
    assert await store.retention.trash_session("nobody") == ()


async def test_a_deleted_session_keeps_its_contents_until_the_trash_is_emptied(
    store: Store, clock: TickingClock
) -> None:
    single, shared = make_content(b"one"), make_content(b"both")
    log = [tool_answer_event(1, b"one"), tool_answer_event(2, b"both"), tool_answer_event(3, b"both")]
    await store.commit(Commit("s", log, [single, shared], summary=make_summary("s")))
    await store.save_draft("s", "typed")
    await store.commit(Commit("t", [tool_answer_event(1, b"both")], summary=make_summary("t")))
    clock.now += 2 * DAY_MS
    await store.retention.trash_session("s")
    assert (await store.retention.plan(RetentionRule())).to_trash == ()
    assert (await store.retention.empty_trash()).sessions == ("s",)
    assert (await store.events("s"), (await store.draft("s")).text) == ([], "")
    assert (await store.totals()).sessions == 1
    assert await store.retention.session_digests("s") == []
    assert (await store.entry(shared.digest)).references == 1
    assert await store.retention.references(shared.digest) == [ContentReference("t", 1)]
    assert await collect_all(store) == (single.digest,)
    await store.commit(Commit("s", [user_message_event(1)], summary=make_summary("s")))
    assert await store.events("s") == [user_message_event(1)]


async def test_a_session_is_deleted_permanently_with_what_only_it_names(store: Store) -> None:
    """Without a dry run at once; other sessions, pins, drafts and index entries that stay keep theirs."""
    own, shared, pinned, drafted, indexed = map(make_content, (b"own", b"shared", b"pin", b"draft", b"far"))
    index = make_content(f"head\n{indexed.digest} e1 read_file".encode(), kind="index")
    contents = [own, shared, pinned, drafted, indexed]
    log = [tool_answer_event(seq, content.data) for seq, content in enumerate(contents, 1)]
    child = msgspec.structs.replace(make_summary("child"), parent="s")
    await store.commit(Commit("s", log, contents, summary=make_summary("s")))
    await store.commit(Commit("child", [tool_answer_event(1, b"c")], [make_content(b"c")], summary=child))
    other = [tool_answer_event(1, b"shared"), handover_event(2, index.data)]
    await store.commit(Commit("t", other, [index], summary=make_summary("t")))
    await store.retention.pin(pinned.digest, True)
    await store.save_draft("t", "", (Attachment(drafted.digest, "lamp.png", "", 90, 3),))
    unsent = make_content(b"unsent")
    await store.commit(Commit("s", contents=[unsent]))
    await store.save_draft("s", "", (Attachment(unsent.digest, "rope.png", "", 90, 3),))
    assert (await store.retention.delete_permanently((), ["s", "t", "nobody"])).sessions == ()
    await store.retention.trash_session("s")
    would = await store.retention.delete_permanently((), ["s"], dry_run=True)
    assert [session.id for session in (await store.retention.trash()).sessions] == ["child", "s"]
    assert await store.get(own.digest) == b"own"
    assert await store.retention.delete_permanently((), ["s"]) == would
    assert set(would.sessions) == {"s", "child"}
    assert set(would.digests) == {own.digest, unsent.digest, digest_of(b"c")}
    assert would.freed > 0
    assert (would.staying.entries, would.with_branches) == (4, 0)
    assert await store.events("s") == await store.events("child") == []
    assert await listed_digests(store) == {entry.digest for entry in (*contents[1:], index)}
    assert (await store.totals()).sessions == 1


@pytest.mark.parametrize("since", ["before", "after"])
async def test_what_is_stored_again_while_its_session_is_in_the_trash_stays(
    store: Store, clock: TickingClock, since: str
) -> None:
    """What names it may be on its way: a file that is being attached, a draft not saved yet."""
    again = make_content(b"again")
    await store.commit(Commit("s", [tool_answer_event(1, b"again")], [again], summary=make_summary("s")))
    if since == "before":
        await store.commit(Commit("t", contents=[again]))
    clock.now += 1000
    await store.retention.trash_session("s")
    if since == "after":
        await store.commit(Commit("t", contents=[again]))
    deleted = await store.retention.delete_permanently((), ["s"])
    assert deleted.sessions == ("s",)
    assert (len(deleted.digests), deleted.staying.entries) == ((1, 0) if since == "before" else (0, 1))


async def test_selected_outputs_of_the_trash_are_deleted_and_no_others(
    store: Store, clock: TickingClock
) -> None:
    first, second, outside = map(make_content, (b"one", b"two", b"three"))
    await store.commit(Commit("s", contents=[first, second, outside]))
    clock.now += 2 * DAY_MS
    await store.retention.collect([first.digest, second.digest])
    stored_size = (await store.entry(first.digest)).stored_size
    deleted = await store.retention.delete_permanently([first.digest, outside.digest, digest_of(b"-")], ())
    assert (deleted.digests, deleted.freed) == ((first.digest,), stored_size)
    assert [entry.digest for entry in (await store.retention.trash()).entries] == [second.digest]
    assert await listed_digests(store) == {outside.digest}


async def test_continuing_a_deleted_session_restores_it(store: Store) -> None:
    await store.commit(Commit("s", [user_message_event(1)], summary=make_summary("s")))
    await store.retention.trash_session("s")
    await store.commit(Commit("s", [user_message_event(2)], summary=make_summary("s", 2)))
    assert [session.id for session in await store.sessions()] == ["s"]
    assert (await store.retention.empty_trash()).sessions == ()
    assert len(await store.events("s")) == 2


async def test_thousands_are_collected_in_batches(store: Store, clock: TickingClock) -> None:
    contents = [make_content(f"{number}".encode()) for number in range(450)]
    await store.commit(Commit("s", contents=contents))
    clock.now += 2 * DAY_MS
    assert len(await collect_all(store)) == 450
    assert len((await store.retention.empty_trash()).digests) == 450
    assert (await store.totals()).entries == 0


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
    async with closing_store(await LevelDbStore.open(folder, WORKSPACE, clock)) as again:
        assert again.health.report is None
        await check(again, forgotten)
        assert await state(again) == await state(twin)


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
