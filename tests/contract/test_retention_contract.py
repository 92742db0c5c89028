"""What every store must keep and may remove, in examples and in any order."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helix_desktop.agent.ports import Store
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentRedacted, DigestUnknown
from helix_desktop.domain.events.conversation import Attachment, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent, digests_in
from helix_desktop.domain.events.session import SessionBranched
from helix_desktop.domain.redaction import RedactionRequest
from helix_desktop.domain.retention import DAY_MS, HOUR_MS, RetentionRule, indexed_digests
from helix_desktop.domain.store import CacheEntry, Commit, Content
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.memory import MemoryStore
from helix_desktop.words.store_reports import shortfall_text
from tests.support.store.builders import (
    START_MS,
    WORKSPACE,
    TickingClock,
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
    free = make_content(b"free")
    referenced = make_content(b"named")
    pinned = make_content(b"pinned")
    await store.commit(Commit("s", [tool_answer_event(1, b"named")], [free, referenced, pinned]))
    await store.retention.pin(pinned.digest, True)
    with pytest.raises(DigestUnknown):
        await store.retention.pin(digest_of(b"nowhere"), True)
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
    clock.now += 2 * DAY_MS
    await store.commit(Commit("s", contents=[recent]))
    assert (await store.retention.plan(RetentionRule())).to_trash == (), "put again, it has a new period"


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


async def test_emptying_the_trash_removes_entries_trashed_before_the_limit(
    store: Store, clock: TickingClock
) -> None:
    small = make_content(b"small")
    large = make_content(bytes(range(256)) * 6000)
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
    referenced = make_content(b"n" * 3000)
    free = make_content(b"free")
    await store.commit(Commit("s", [tool_answer_event(1, referenced.data)], [referenced, free]))
    clock.now += 2 * DAY_MS
    plan = await store.retention.plan(RetentionRule(quota=1))
    assert [entry.digest for entry in plan.to_trash] == [free.digest]
    assert plan.short == (await store.entry(referenced.digest)).stored_size - 1
    assert "over their maximum of" in shortfall_text(plan)
    assert "used by sessions" in shortfall_text(plan)


async def test_an_index_entry_that_stays_keeps_its_targets(store: Store, clock: TickingClock) -> None:
    distant = make_content(b"far")
    near = make_content(b"near")
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
    old = make_content(b"old")
    new = make_content(b"new")
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
SECRETS = ("hunter22secret", "another-secret")
CHILD = "child of s"

Action = Literal[
    "put", "name", "say", "branch", "recall", "pin", "unpin", "collect", "quota", "restore", "empty",
    "empty all", "delete", "hide", "show", "wait", "forget", "forget text", "lift", "crash",
]  # fmt: skip


class Step(msgspec.Struct, frozen=True):
    """One call; `number` chooses a session, `seq` where it is branched and what is said."""

    action: Action
    number: int
    seq: int
    bodies: tuple[int, ...]


steps = st.builds(
    Step,
    action=st.sampled_from(
        (*get_args(Action), *("name", "hide", "branch") * 2, "collect", "empty all", "delete", "crash")
    ),
    number=st.integers(0, 99),
    seq=st.integers(0, 99),
    bodies=st.lists(st.integers(0, len(BODIES) - 1), min_size=1, max_size=3).map(tuple),
)


@dataclass
class Expected:
    """The log of each session, how much of it is a parent's, and the digests of what was forgotten."""

    logs: dict[str, list[RecordedEvent]] = field(default_factory=lambda: {"s": [], "s1": [], CHILD: []})
    starts: dict[str, int] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    names: int = 0

    def session(self, number: int) -> str:
        return sorted(self.logs)[number % len(self.logs)]

    def new_name(self) -> str:
        self.names += 1
        return f"n{self.names:02}"


async def record(
    stores: list[Store], expected: Expected, name: str, events: list[Event], data: Sequence[int]
) -> None:
    """Record events in all stores, together with the contents that they name."""
    log = expected.logs[name]
    recorded = [RecordedEvent(len(log) + at, START_MS, event) for at, event in enumerate(events, 1)]
    log += recorded
    line = msgspec.structs.replace(make_summary(name, len(log)), parent="s" if name == CHILD else "")
    for store in stores:
        await store.commit(Commit(name, recorded, list(map(_content, data)), summary=line))


async def do(stores: list[Store], clocks: list[TickingClock], expected: Expected, step: Step) -> None:
    """Run a step on all stores, which have to answer the same, and on what is expected."""
    name = expected.session(step.number)
    match step.action:
        case "name" if await _targets_are_stored(stores[0], step):
            makers = [handover_event if body >= len(PLAIN) else tool_answer_event for body in step.bodies]
            events = [make(1, BODIES[body]).event for make, body in zip(makers, step.bodies, strict=True)]
            await record(stores, expected, name, events, step.bodies)
        case "say":
            await record(stores, expected, name, [UserSpoke(f"{step.seq} {SECRETS[step.seq % 2]}", 1)], ())
        case "branch" if expected.logs[name]:
            seq = 1 + step.seq % len(expected.logs[name])
            branch = expected.new_name()
            expected.logs[branch] = expected.logs[name][:seq]
            expected.starts[branch] = seq
            await record(stores, expected, branch, [SessionBranched(name, seq, branch)], ())
        case "quota":  # bytes on disk differ
            plan = await stores[0].retention.plan(RetentionRule(quota=4000))
            for store in stores:
                await store.retention.collect([entry.digest for entry in plan.to_trash])
        case "wait":
            for clock in clocks:
                clock.now += 13 * HOUR_MS
        case "name" | "branch" | "crash":
            pass
        case _:
            results = [
                await answer(store, step, name, clock) for store, clock in zip(stores, clocks, strict=True)
            ]
            assert results[0] == results[1]
            for gone in results[0][0]:
                expected.logs.pop(gone, None)
            if not expected.logs:
                expected.logs[expected.new_name()] = []
            if step.action.startswith("forget"):
                expected.forgotten |= {digest_of(BODIES[body]) for body in step.bodies}
                for session_id, log in expected.logs.items():
                    stored = await stores[0].events(session_id)
                    assert [each.seq for each in stored] == [each.seq for each in log]
                    assert step.action == "forget" or SECRETS[step.seq % 2] not in repr(stored)
                    expected.logs[session_id] = stored


async def answer(store: Store, step: Step, name: str, clock: TickingClock) -> tuple[tuple[str, ...], object]:
    """Run a step on one store; return the sessions that it removed, and what else can be compared."""
    digests = [digest_of(BODIES[body]) for body in step.bodies]
    jumps = step.bodies[0] % 4 and step.action in ("collect", "empty", "delete")
    clock.now += 2 * DAY_MS if jumps else 0  # so that it makes a difference, most of the time
    match step.action:
        case "put":
            await store.commit(Commit(name, contents=list(map(_content, step.bodies))))
        case "recall":
            await store.commit(Commit(name, recalls=[it for it in digests if await store.find(it)]))
        case "pin" | "unpin" if await store.find(digests[0]):
            await store.retention.pin(digests[0], step.action == "pin")
        case "hide":
            return (), await store.retention.trash_session(name)
        case "show":
            return (), await store.retention.restore_session(name)
        case "restore":
            return (), (await store.retention.restore(digests)).digests
        case "forget":
            selected = tuple(digest for digest in digests if digest in FORGETTABLE)
            matches = await store.redaction.redact(RedactionRequest(digests=selected or tuple(digests[:1])))
            return (), ({content.digest for content in matches.contents}, matches.events)
        case "forget text":
            return (), (await store.redaction.redact(RedactionRequest(SECRETS[step.seq % 2]))).events
        case "lift":
            return (), await store.redaction.lift(digests[0])
        case "delete":
            would = await store.retention.delete_permanently(digests, [name], dry_run=True)
            deleted = await store.retention.delete_permanently(digests, [name])
            assert would == deleted
            staying = deleted.staying.entries, deleted.with_branches
            return deleted.sessions, (sorted(deleted.digests), staying)
        case "empty" | "empty all":
            limit = [clock.now - DAY_MS] if step.action == "empty" else []
            emptied = await store.retention.empty_trash(*limit)
            return emptied.sessions, sorted(emptied.digests)
        case "collect":
            plan = await store.retention.plan(RetentionRule())
            collectable = [entry.digest for entry in plan.to_trash]
            assert sorted((await store.retention.collect(collectable)).digests) == sorted(collectable)
            parts = (plan.referenced, plan.indexed, plan.pinned, plan.young, plan.spared, plan.trashed)
            return (), (collectable, [part.entries for part in parts])
    return (), None


def _content(body: int) -> Content:
    return make_content(BODIES[body], kind="index" if body >= len(PLAIN) else "output")


async def everything(store: Store) -> list[CacheEntry]:
    """Return all entries, including those in the trash."""
    return [*(await store.page()).entries, *(await store.retention.trash()).entries]


async def check(store: Store, expected: Expected) -> None:
    """Check that every log is whole, and what is named can be read; only what was forgotten may be gone."""
    entries = await everything(store)
    totals = await store.totals()
    assert totals.entries == len({entry.digest for entry in entries}) == len(entries)
    assert totals.size == sum(entry.size for entry in entries)
    assert totals.stored_size == sum(entry.stored_size for entry in entries)
    reached: list[str] = []
    for session_id, log in expected.logs.items():
        assert await store.events(session_id) == log
        referenced = [digest for each in log for digest in digests_in(each.event)]
        assert set(await store.retention.session_digests(session_id)) == set(referenced)
        reached += set(referenced) - set(reached)
        own = [
            digest for each in log[expected.starts.get(session_id, 0) :] for digest in digests_in(each.event)
        ]
        for digest in own:
            assert sum(
                it.session == session_id for it in await store.retention.references(digest)
            ) == own.count(digest)
    for digest in reached:
        try:
            data = await store.get(digest)
        except ContentRedacted:
            assert digest in expected.forgotten
            continue
        assert digest_of(data) == digest
        if (await store.entry(digest)).kind == "index":
            reached += indexed_digests(data) - set(reached)
    for entry in entries:
        assert len(await store.retention.references(entry.digest)) == entry.references
        assert not (entry.trashed and entry.references)
    assert (await store.health.check()).problems == ()


async def state(store: Store) -> object:
    """Return everything the two stores can be compared by."""
    entries = [msgspec.structs.replace(entry, stored_size=0) for entry in await everything(store)]
    return entries, await store.sessions(), (await store.retention.trash()).sessions


def copy_files(where: Path, copy: Path) -> None:
    """LevelDB merges tables on its own thread: copy again if one came or went meanwhile."""
    is_whole = False
    while not is_whole:
        shutil.rmtree(copy, ignore_errors=True)
        names = sorted(os.listdir(where / "db"))
        with suppress(shutil.Error):
            shutil.copytree(where, copy, ignore=shutil.ignore_patterns("search.db*"))
        is_whole = names == sorted(os.listdir(where / "db"))


async def compare(script: list[Step], folder: Path) -> None:
    clocks = [TickingClock(), TickingClock()]
    expected = Expected()
    where = folder / "0"

    async def opened() -> Store:
        store = await LevelDbStore.open(where, WORKSPACE, clocks[0], index_after_s=None)
        assert store.health.report is None
        return store

    durable = await opened()
    twin = MemoryStore(clocks[1])
    try:
        for place, step in enumerate(script, 1):
            if step.action == "crash":  # what is on the disk at this moment is opened again
                copy_files(where, folder / str(place))
                await durable.close()
                where = folder / str(place)
                durable = await opened()
            await do([durable, twin], clocks, expected, step)
            clocks[0].now = clocks[1].now = max(clocks[0].now, clocks[1].now)
            for store in (durable, twin):
                await check(store, expected)
            clocks[0].now = clocks[1].now = max(clocks[0].now, clocks[1].now)
            assert await state(durable) == await state(twin)
    finally:
        await durable.close()


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
@given(st.lists(steps, min_size=20, max_size=40))
def test_no_log_and_no_referenced_content_is_ever_lost(script: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(compare(script, Path(folder)))
