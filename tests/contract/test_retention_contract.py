"""What every store must do about what stays and what goes, run on the durable one and on its twin."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from helix_desktop.agent.ports import Store
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import DigestUnknown
from helix_desktop.domain.events.session import Attachment
from helix_desktop.domain.store.entries import CacheEntry
from helix_desktop.domain.store.retention import DAY_MS, ContentReference, RetentionRule
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.memory.store import MemoryStore
from helix_desktop.store.remote.open_store import connect
from helix_desktop.store.remote.shared_store import SharedStore
from tests.support.store.builders import (
    WORKSPACE,
    TickingClock,
    handover_event,
    make_content,
    make_summary,
    tool_answer_event,
    user_message_event,
)


@pytest.fixture
def clock() -> TickingClock:
    return TickingClock()


@pytest.fixture(params=["leveldb", "memory", "socket"])
async def store(request: pytest.FixtureRequest, tmp_path: Path, clock: TickingClock) -> AsyncIterator[Store]:
    made: Store
    owner: Store | None = None
    if request.param == "leveldb":
        made = await LevelDbStore.open(tmp_path / "store", WORKSPACE, clock)
    elif request.param == "socket":
        owner = await SharedStore.open(tmp_path / "store", WORKSPACE, clock)
        made = await connect(tmp_path / "store", WORKSPACE)
    else:
        made = MemoryStore(clock)
    yield made
    await made.close()
    if owner is not None:
        await owner.close()


async def listed(store: Store) -> set[str]:
    return {one.digest for one in (await store.page()).entries}


async def collect_all(store: Store) -> tuple[str, ...]:
    plan = await store.retention.plan(RetentionRule())
    return (await store.retention.collect([one.digest for one in plan.to_trash])).digests


async def test_references_lead_both_ways(store: Store) -> None:
    one, two = make_content(b"one"), make_content(b"two")
    await store.commit(
        "s", [tool_answer_event(1, b"one"), tool_answer_event(2, b"two", one.digest)], [one, two]
    )
    await store.commit("t", [user_message_event(1), tool_answer_event(2, b"two")])
    assert await store.retention.references(one.digest) == [
        ContentReference("s", 1),
        ContentReference("s", 2),
    ]
    assert await store.retention.references(two.digest) == [
        ContentReference("s", 2),
        ContentReference("t", 2),
    ]
    assert set(await store.retention.session_digests("s")) == {one.digest, two.digest}
    assert await store.retention.session_digests("t") == [two.digest]
    assert await store.retention.session_digests("nobody") == []
    with pytest.raises(ValueError, match="SHA-256"):
        await store.retention.references("short")


async def test_a_session_whose_name_begins_another_s_has_its_own_references(store: Store) -> None:
    one = make_content(b"one")
    await store.commit("s", [tool_answer_event(1, b"one")], [one])
    await store.commit("s1", [user_message_event(1)])
    assert await store.retention.session_digests("s1") == []


async def test_only_what_nobody_names_goes_and_only_after_its_grace(
    store: Store, clock: TickingClock
) -> None:
    free, named, pinned = make_content(b"free"), make_content(b"named"), make_content(b"pinned")
    await store.commit("s", [tool_answer_event(1, b"named")], [free, named, pinned])
    await store.retention.pin(pinned.digest, True)
    assert (await store.retention.plan(RetentionRule())).to_trash == ()
    clock.now += DAY_MS
    young = make_content(b"young")
    await store.commit("s", contents=[young])
    plan = await store.retention.plan(RetentionRule())
    assert [one.digest for one in plan.to_trash] == [free.digest]
    assert (plan.referenced.entries, plan.pinned.entries, plan.young.entries) == (1, 1, 1)
    assert plan.freed == (await store.entry(free.digest)).stored_size
    everything = [one.digest for one in (free, named, pinned, young)]
    swept = await store.retention.collect(everything)
    assert swept.digests == (free.digest,)
    assert await listed(store) == {named.digest, pinned.digest, young.digest}
    await store.retention.pin(pinned.digest, False)
    assert await collect_all(store) == (pinned.digest,)


async def test_what_a_draft_names_stays(store: Store, clock: TickingClock) -> None:
    one = make_content(b"one")
    await store.commit("s", contents=[one])
    clock.now += 2 * DAY_MS
    await collect_all(store)
    await store.save_draft("s", "", (Attachment(one.digest, "lamp.png", "", 90, 3),))
    await store.retention.empty_trash()
    assert await store.get(one.digest) == b"one"
    await store.retention.restore([one.digest])
    clock.now += 2 * DAY_MS
    assert (await store.retention.plan(RetentionRule())).referenced.entries == 1
    assert (await store.retention.collect([one.digest])).digests == ()

    await store.save_draft("s", "")
    assert await collect_all(store) == (one.digest,)


async def test_what_is_in_the_trash_can_be_read_and_comes_back_untouched(
    store: Store, clock: TickingClock
) -> None:
    one = make_content(b"one")
    await store.commit("s", contents=[one])
    before = await store.entry(one.digest)
    clock.now += 2 * DAY_MS
    await collect_all(store)
    trash = await store.retention.trash()
    assert [entry.digest for entry in trash.entries] == [one.digest]
    assert await store.get(one.digest) == b"one"
    assert await store.find(one.digest[:8]) == [one.digest]
    assert (await store.page(prefix=one.digest[:8])).entries == ()
    assert (await store.retention.restore([one.digest, one.digest])).digests == (one.digest,)
    assert await listed(store) == {one.digest}
    after = await store.entry(one.digest)
    assert msgspec.structs.replace(after, last_used=before.last_used) == before
    assert await collect_all(store) == ()


@pytest.mark.parametrize("how", ["put", "named", "recalled", "pinned"])
async def test_use_brings_back_from_the_trash(store: Store, clock: TickingClock, how: str) -> None:
    one = make_content(b"one")
    await store.commit("s", contents=[one])
    clock.now += 2 * DAY_MS
    await collect_all(store)
    if how == "put":
        await store.commit("s", contents=[one])
    elif how == "named":
        await store.commit("s", [tool_answer_event(1, b"one")])
    elif how == "recalled":
        await store.commit("s", recalls=[one.digest])
    else:
        await store.retention.pin(one.digest, True)
    assert await listed(store) == {one.digest}
    assert (await store.retention.empty_trash()).digests == ()
    assert await store.get(one.digest) == b"one"


async def test_old_content_that_is_put_again_gets_its_grace_anew(store: Store, clock: TickingClock) -> None:
    one = make_content(b"one")
    await store.commit("s", contents=[one])
    clock.now += 2 * DAY_MS
    await store.commit("s", contents=[one])
    assert (await store.retention.plan(RetentionRule())).to_trash == ()


async def test_emptying_the_trash_removes_for_good_what_went_there_in_time(
    store: Store, clock: TickingClock
) -> None:
    small, large = make_content(b"small"), make_content(bytes(range(256)) * 6000)
    await store.commit("s", contents=[small, large])
    clock.now += 2 * DAY_MS
    assert len(await collect_all(store)) == 2
    went = max(one.trashed for one in (await store.retention.trash()).entries)
    assert (await store.retention.empty_trash(went)).digests == ()
    assert set((await store.retention.empty_trash()).digests) == {small.digest, large.digest}
    totals = await store.totals()
    assert (totals.entries, totals.size, totals.stored_size) == (0, 0, 0)
    with pytest.raises(DigestUnknown):
        await store.get(large.digest)
    await store.commit("s", [tool_answer_event(1, large.data)], [large])
    assert await store.get(large.digest) == large.data


async def test_a_quota_takes_the_least_recently_used_and_age_what_is_old(
    store: Store, clock: TickingClock
) -> None:
    made = []
    for number in range(4):
        clock.now += DAY_MS
        made.append(make_content(f"{number} ".encode() * 400))
        await store.commit("s", contents=[made[-1]])
    clock.now += 2 * DAY_MS
    digests = [one.digest for one in made]
    sizes = [(await store.entry(one)).stored_size for one in digests]
    aged = await store.retention.plan(RetentionRule(unused_ms=4 * DAY_MS))
    assert [one.digest for one in aged.to_trash] == digests[:2]
    fitting = await store.retention.plan(RetentionRule(quota=sum(sizes[1:])))
    assert [one.digest for one in fitting.to_trash] == digests[:1]
    assert fitting.short == 0
    both = await store.retention.plan(RetentionRule(quota=sizes[3], unused_ms=5 * DAY_MS))
    assert [one.digest for one in both.to_trash] == digests[:3]


async def test_a_quota_never_takes_what_a_log_names_and_says_so(store: Store, clock: TickingClock) -> None:
    named, free = make_content(b"n" * 3000), make_content(b"free")
    await store.commit("s", [tool_answer_event(1, named.data)], [named, free])
    clock.now += 2 * DAY_MS
    plan = await store.retention.plan(RetentionRule(quota=1))
    assert [one.digest for one in plan.to_trash] == [free.digest]
    assert plan.short == (await store.entry(named.digest)).stored_size - 1
    assert "cannot be met" in plan.shortfall_text
    assert "named by sessions" in plan.shortfall_text


async def test_an_index_entry_that_stays_keeps_what_it_leads_to(store: Store, clock: TickingClock) -> None:
    far, near = make_content(b"far"), make_content(b"near")
    former = make_content(f"head\n{far.digest} e1 read_file".encode(), kind="index")
    index = make_content(f"head\n{former.digest} before\n{near.digest} e2 read_file".encode(), kind="index")
    other = make_content(b"other")
    await store.commit("s", [handover_event(1, index.data)], [far, near, former, index, other])
    clock.now += 2 * DAY_MS
    plan = await store.retention.plan(RetentionRule())
    assert [one.digest for one in plan.to_trash] == [other.digest]
    assert plan.indexed.entries == 3


async def test_what_an_index_entry_leads_to_outlives_the_trash(store: Store, clock: TickingClock) -> None:
    far = make_content(b"far")
    index = make_content(f"head\n{far.digest} e1 read_file".encode(), kind="index")
    await store.commit("s", contents=[far, index])
    clock.now += 2 * DAY_MS
    assert len(await collect_all(store)) == 2
    await store.commit("s", [handover_event(1, index.data)])
    assert (await store.retention.empty_trash()).digests == ()
    assert await store.get(far.digest) == b"far"


async def test_a_clock_that_was_set_back_ages_nothing_in_the_trash(store: Store, clock: TickingClock) -> None:
    old, new = make_content(b"old"), make_content(b"new")
    await store.commit("s", contents=[old], summary=make_summary("s"))
    clock.now += 300 * DAY_MS
    await store.commit("t", contents=[new])
    clock.now -= 100 * DAY_MS
    assert await collect_all(store) == (old.digest,)
    assert await store.retention.trash_session("s") == ("s",)
    clock.now += 100 * DAY_MS
    swept = await store.retention.empty_trash(clock.now - DAY_MS)
    assert (swept.digests, swept.sessions) == ((), ())
    await store.retention.restore([old.digest])
    assert (await store.retention.plan(RetentionRule())).to_trash == ()


async def test_all_of_the_trash_goes_though_the_clock_was_set_back(store: Store, clock: TickingClock) -> None:
    one = make_content(b"one")
    await store.commit("s", contents=[one], summary=make_summary("s"))
    clock.now += 2 * DAY_MS
    await collect_all(store)
    await store.retention.trash_session("s")
    clock.now -= 30 * DAY_MS
    swept = await store.retention.empty_trash()
    assert (swept.digests, swept.sessions) == ((one.digest,), ("s",))


async def test_a_deleted_session_is_hidden_with_its_subagents_and_comes_back(store: Store) -> None:
    child = msgspec.structs.replace(make_summary("child"), parent="s")
    await store.commit("s", [tool_answer_event(1, b"one")], [make_content(b"one")], summary=make_summary("s"))
    await store.commit("child", [user_message_event(1)], summary=child)
    await store.commit("other", [user_message_event(1)], summary=make_summary("other"))
    assert await store.retention.trash_session("s") == ("s", "child")
    assert await store.retention.trash_session("s") == ()
    assert [one.id for one in await store.sessions()] == ["other"]
    assert {one.id for one in (await store.retention.trash()).sessions} == {"s", "child"}
    assert await store.events("s") == [tool_answer_event(1, b"one")]
    assert await store.retention.restore_session("s") == ("s", "child")
    assert {one.id for one in await store.sessions()} == {"s", "child", "other"}
    assert await store.retention.trash_session("nobody") == ()


async def test_a_deleted_session_keeps_its_contents_until_the_trash_is_emptied(
    store: Store, clock: TickingClock
) -> None:
    one, both = make_content(b"one"), make_content(b"both")
    log = [tool_answer_event(1, b"one"), tool_answer_event(2, b"both"), tool_answer_event(3, b"both")]
    await store.commit("s", log, [one, both], summary=make_summary("s"))
    await store.save_draft("s", "typed")
    await store.commit("t", [tool_answer_event(1, b"both")], summary=make_summary("t"))
    clock.now += 2 * DAY_MS
    await store.retention.trash_session("s")
    assert (await store.retention.plan(RetentionRule())).to_trash == ()
    assert (await store.retention.empty_trash()).sessions == ("s",)
    assert (await store.events("s"), (await store.draft("s")).text) == ([], "")
    assert (await store.totals()).sessions == 1
    assert await store.retention.session_digests("s") == []
    assert (await store.entry(both.digest)).references == 1
    assert await store.retention.references(both.digest) == [ContentReference("t", 1)]
    assert await collect_all(store) == (one.digest,)
    await store.commit("s", [user_message_event(1)], summary=make_summary("s"))
    assert await store.events("s") == [user_message_event(1)]


async def test_going_on_with_a_deleted_session_brings_it_back(store: Store) -> None:
    await store.commit("s", [user_message_event(1)], summary=make_summary("s"))
    await store.retention.trash_session("s")
    await store.commit("s", [user_message_event(2)], summary=make_summary("s", 2))
    assert [one.id for one in await store.sessions()] == ["s"]
    assert (await store.retention.empty_trash()).sessions == ()
    assert len(await store.events("s")) == 2


async def test_pins_are_part_of_the_entry(store: Store) -> None:
    one = make_content(b"one")
    await store.commit("s", contents=[one])
    await store.retention.pin(one.digest, True)
    found: CacheEntry = (await store.page()).entries[0]
    assert found.pinned
    assert (await store.entry(one.digest)).pinned
    await store.retention.pin(one.digest, False)
    assert not (await store.entry(one.digest)).pinned
    with pytest.raises(DigestUnknown):
        await store.retention.pin(digest_of(b"nowhere"), True)


async def test_pages_go_on_over_what_is_in_the_trash(store: Store, clock: TickingClock) -> None:
    made = [make_content(f"{number}".encode()) for number in range(6)]
    for one in made:
        await store.commit("s", contents=[one])
    clock.now += 2 * DAY_MS
    await store.retention.collect([made[0].digest, made[3].digest])
    first = await store.page(limit=3)
    assert [one.digest for one in first.entries] == [made[at].digest for at in (5, 4, 2)]
    rest = await store.page(first.cursor, limit=3)
    assert ([one.digest for one in rest.entries], rest.cursor) == ([made[1].digest], "")


async def test_thousands_go_in_parts(store: Store, clock: TickingClock) -> None:
    made = [make_content(f"{number}".encode()) for number in range(450)]
    await store.commit("s", contents=made)
    clock.now += 2 * DAY_MS
    assert len(await collect_all(store)) == 450
    assert len((await store.retention.empty_trash()).digests) == 450
    assert (await store.totals()).entries == 0
