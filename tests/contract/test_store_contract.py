"""What every store must do: the durable store, its in-memory twin, and the client of an owner's socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from helix_desktop.agent.ports import Store
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentTooLarge, DigestUnknown, StoreClosed
from helix_desktop.domain.events.conversation import AssistantSpoke, Attachment, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.image import Image
from helix_desktop.domain.store import Commit, Content, Draft, PartialOutput
from helix_desktop.store.kinds import MAX_CONTENT_BYTES
from tests.support.store.builders import (
    START_MS,
    TickingClock,
    handover_event,
    make_content,
    make_summary,
    open_kind,
    tool_answer_event,
    user_message_event,
)
from tests.support.store.search_samples import collect_entries


@pytest.fixture(params=["leveldb", "memory", "socket", "loopback"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    async with open_kind(request.param, tmp_path / "store", TickingClock()) as store:
        yield store


@pytest.mark.parametrize("size", [0, 1, 600, 1 << 20, (1 << 20) + 1, 3_000_001])
async def test_bytes_come_back_exactly(store: Store, size: int) -> None:
    data = (bytes(range(256)) * (size // 256 + 1))[:size]
    content = make_content(data)
    await store.commit(Commit("s", contents=[content]))
    assert await store.get(content.digest) == data
    assert (await store.entry(content.digest)).size == size
    assert (await store.totals()).size == size


async def test_identical_content_is_stored_once_and_keeps_its_first_record(store: Store) -> None:
    first, again = make_content(b"same", tool="grep"), make_content(b"same", tool="shell")
    await store.commit(Commit("s", contents=[first, again]))
    before = await store.entry(first.digest)
    await store.commit(Commit("t", contents=[again]))
    after = await store.entry(first.digest)
    assert after.last_used > before.last_used, "to store it again is a use"
    assert msgspec.structs.replace(after, last_used=before.last_used) == before
    assert before.tool == "grep"
    totals = await store.totals()
    assert (totals.entries, totals.size) == (1, 4)


async def test_events_come_back_unchanged(store: Store) -> None:
    data = b"output"
    verbatim = {"id": 10**30, "parts": [{"signature": "x" * 5000}, None, 1.5]}
    log = [
        user_message_event(1, "grüße 🌍"),
        RecordedEvent(2, START_MS, AssistantSpoke("ok", "m", 3, verbatim=verbatim)),
        tool_answer_event(3, data),
        handover_event(4, b"index"),
    ]
    await store.commit(Commit("s", log[:1]))
    await store.commit(Commit("s", log[1:], [make_content(data), make_content(b"index", kind="index")]))
    assert await store.events("s") == log
    assert await store.events("other") == []


@pytest.mark.parametrize("seqs", [[2], [0], [1, 3], [1, 1]])
async def test_a_commit_with_a_gap_in_the_log_is_refused_entirely(store: Store, seqs: list[int]) -> None:
    content = make_content(b"with it")
    with pytest.raises(ValueError, match="goes on with event"):
        await store.commit(
            Commit("s", [user_message_event(seq) for seq in seqs], [content], summary=make_summary("s"))
        )
    assert await store.events("s") == []
    assert await store.sessions() == []
    with pytest.raises(DigestUnknown):
        await store.get(content.digest)


async def test_an_event_may_not_reference_missing_content(store: Store) -> None:
    with pytest.raises(ValueError, match="not stored"):
        await store.commit(Commit("s", [tool_answer_event(1, b"nowhere")]))
    attached = UserSpoke("see", 1, (Attachment(digest_of(b"nowhere"), "a", "b", 1, 1),))
    with pytest.raises(ValueError, match="not stored"):
        await store.commit(Commit("s", [RecordedEvent(1, START_MS, attached)]))
    with pytest.raises(ValueError, match="not stored"):
        await store.commit(Commit("s", recalls=[digest_of(b"nowhere")]))
    assert await store.events("s") == []


async def test_content_must_match_its_digest(store: Store) -> None:
    with pytest.raises(ValueError, match="another SHA-256"):
        await store.commit(Commit("s", contents=[Content(digest_of(b"a"), b"b")]))
    with pytest.raises(ValueError, match="not a SHA-256"):
        await store.commit(Commit("s", contents=[Content("short", b"b")]))
    assert (await store.totals()).entries == 0


async def test_references_and_recalls_are_counted(store: Store) -> None:
    content = make_content(b"named")
    await store.commit(Commit("s", [tool_answer_event(1, b"named")], [content]))
    await store.commit(
        Commit("t", [tool_answer_event(1, b"named", recalled_digest=content.digest), user_message_event(2)])
    )
    await store.commit(Commit("t", [tool_answer_event(3, b"named")], recalls=[content.digest]))
    entry = await store.entry(content.digest)
    assert (entry.references, entry.recalls) == (3, 1)
    assert (entry.created, entry.last_used) == (START_MS + 1000, START_MS + 3000)
    assert (await store.page()).entries == (entry,)


async def test_an_unknown_digest_is_refused_with_near_matches(store: Store) -> None:
    content = make_content(b"known")
    await store.commit(Commit("s", contents=[content]))
    near = content.digest[:10] + "0" * 54
    with pytest.raises(DigestUnknown) as caught:
        await store.get(near)
    assert caught.value.near == (content.digest,)
    assert content.digest in str(caught.value)
    for text in ("", "zz", content.digest[:20], content.digest.upper(), "f" * 65):
        with pytest.raises(DigestUnknown):
            await store.get(text)
        with pytest.raises(DigestUnknown):
            await store.entry(text)


async def test_find_takes_prefixes_of_any_length(store: Store) -> None:
    contents = [make_content(b"%d" % number) for number in range(300)]
    await store.commit(Commit("s", contents=contents))
    digests = sorted(content.digest for content in contents)
    for prefix in ("0", "a", "f", digests[7][:3], digests[7][:4], digests[7]):
        expected = [digest for digest in digests if digest.startswith(prefix)]
        assert await store.find(prefix, 1000) == expected
        assert await store.find(prefix, 2) == expected[:2]
        assert [entry.digest for entry in await collect_entries(store, 3, prefix=prefix)] == expected
    for wrong in ("", "g", "A", "a" * 65):
        with pytest.raises(ValueError, match="hex"):
            await store.find(wrong)


@pytest.mark.parametrize("count", [1, 2, 5, 7])
async def test_pages_show_each_entry_once_in_both_orders(store: Store, count: int) -> None:
    # Two contents in each commit: equal times must not lose or repeat an entry.
    for number in range(count):
        await store.commit(
            Commit("s", contents=[make_content(b"a%d" % number), make_content(b"b%d" % number)])
        )
    newest = await collect_entries(store, 3)
    assert len({entry.digest for entry in newest}) == 2 * count
    assert [entry.created for entry in newest] == sorted((entry.created for entry in newest), reverse=True)
    assert await collect_entries(store, 3, "oldest") == newest[::-1]
    assert await collect_entries(store, 1) == newest
    assert await collect_entries(store, 2 * count) == newest


async def test_invalid_cursors_and_limits_are_refused(store: Store) -> None:
    await store.commit(Commit("s", contents=[make_content(b"1"), make_content(b"2")]))
    by_digest = digest_of(b"1")[0]
    for cursor in ("nonsense", "00", "ff" * 41):
        with pytest.raises(ValueError, match="cursor"):
            await store.page(cursor)
        with pytest.raises(ValueError, match="cursor"):
            await store.page(cursor, prefix=by_digest)
    with pytest.raises(ValueError, match="at least one"):
        await store.page(limit=0)


async def test_sessions_come_last_updated_first(store: Store) -> None:
    for session_id, updated in (("a", 5), ("b", 9), ("c", 7), ("d", 7)):
        await store.commit(
            Commit(session_id, [user_message_event(1)], summary=make_summary(session_id, updated))
        )
    await store.commit(Commit("a", [user_message_event(2)], summary=make_summary("a", 8, "renamed")))
    assert [(session.id, session.title) for session in await store.sessions()] == [
        ("b", "a title"),
        ("a", "renamed"),
        ("c", "a title"),
        ("d", "a title"),
    ]
    assert (await store.totals()).sessions == 4


@pytest.mark.parametrize("session_id", ["", "a\0b", "x" * 201])
async def test_invalid_session_names_are_refused(store: Store, session_id: str) -> None:
    with pytest.raises(ValueError, match="session id"):
        await store.commit(Commit(session_id, [user_message_event(1)]))
    with pytest.raises(ValueError, match="session id"):
        await store.events(session_id)
    with pytest.raises(ValueError, match="session id"):
        await store.draft(session_id)
    with pytest.raises(ValueError, match="session id"):
        await store.save_draft(session_id, "x")


async def test_a_summary_of_another_session_is_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="summary"):
        await store.commit(Commit("s", summary=make_summary("t")))


async def test_a_draft_comes_back_with_its_attachments(store: Store) -> None:
    picture = Attachment("a" * 64, "lamp.png", "", 90, 12, Image("a" * 64, "image/png", 8, 8, 12, "lamp.png"))
    recalled = Attachment("b" * 64, "read_file a.py", "import os", 2, 9)
    await store.save_draft("s", "", (picture, recalled))
    assert await store.draft("s") == Draft("", (picture, recalled))
    await store.save_draft("s", "look", (picture,))
    assert await store.draft("s") == Draft("look", (picture,))
    await store.save_draft("s", "", ())
    assert not await store.draft("s")


async def test_what_came_of_an_answer_is_stored_with_the_draft(store: Store) -> None:
    answer = RecordedEvent(2, 7, AssistantSpoke("I found", "scripted", 0, stop="stopped"))
    await store.save_partial_answer("s", answer)
    assert await store.draft("s") == Draft(partial_answer=answer)
    assert not await store.draft("s")
    await store.save_draft("s", "typed")
    assert await store.draft("s") == Draft("typed", partial_answer=answer)
    outputs = (PartialOutput("c1", "begun\n"), PartialOutput("c2", "half"))
    await store.save_partial_outputs("s", outputs)
    assert await store.draft("s") == Draft("typed", partial_answer=answer, partial_outputs=outputs)
    await store.save_partial_outputs("s", [])
    await store.save_partial_answer("s", None)
    assert await store.draft("s") == Draft("typed")
    assert (await store.draft("t")).partial_answer is None
    await store.save_partial_answer("s", answer)
    await store.commit(Commit("s", [user_message_event(1)], ends_partial_answer=True))
    assert await store.draft("s") == Draft("typed")


async def test_content_over_the_cap_is_refused_clearly(store: Store) -> None:
    big = Content("0" * 64, bytes(MAX_CONTENT_BYTES + 1), "run_command")
    with pytest.raises(ContentTooLarge, match=r"67,108,865 bytes.*at most 67,108,864 bytes"):
        await store.commit(Commit("s", [user_message_event(1)], [big]))
    assert await store.events("s") == []


async def test_concurrent_commits_keep_their_order(store: Store) -> None:
    await asyncio.gather(*(store.commit(Commit("s", [user_message_event(seq)])) for seq in range(1, 201)))
    assert await store.events("s") == [user_message_event(seq) for seq in range(1, 201)]


async def test_a_refused_commit_does_not_fail_its_neighbors(store: Store) -> None:
    good = [
        store.commit(Commit("s", [user_message_event(1)])),
        store.commit(Commit("s", [user_message_event(2)])),
    ]
    results = await asyncio.gather(
        good[0], store.commit(Commit("s", [user_message_event(7)])),
        store.commit(Commit("t", [tool_answer_event(1, b"?")])), good[1],
        return_exceptions=True,
    )  # fmt: skip
    assert [type(result) for result in results] == [type(None), ValueError, ValueError, type(None)]
    assert await store.events("s") == [user_message_event(1), user_message_event(2)]


async def test_content_may_be_referenced_by_the_next_commit_before_it_is_acknowledged(store: Store) -> None:
    first = store.commit(Commit("s", contents=[make_content(b"early")]))
    second = store.commit(Commit("s", [tool_answer_event(1, b"early")]))
    await asyncio.gather(first, second)
    assert (await store.entry(digest_of(b"early"))).references == 1


async def test_every_call_after_close_is_refused(store: Store) -> None:
    await store.commit(Commit("s", [user_message_event(1)]))
    await store.close()
    await store.close()
    calls = [
        store.commit(Commit("s", [user_message_event(2)])),
        store.events("s"),
        store.sessions(),
        store.get("0" * 64),
        store.entry("0" * 64),
        store.find("0"),
        store.page(),
        store.totals(),
        store.save_draft("s", "x"),
        store.save_partial_answer("s", None),
        store.save_partial_outputs("s", []),
        store.draft("s"),
        store.health.check(),
        store.health.acknowledge(),
    ]
    for call in calls:
        with pytest.raises(StoreClosed):
            await call


async def test_an_intact_store_passes_its_check_and_reports_no_damage(store: Store) -> None:
    reports: list[str] = []
    progress: list[tuple[int, int]] = []
    unsubscribe = store.health.listen(lambda error: reports.append(error.what))
    for number in range(3):
        data = b"output %d" % number
        await store.commit(
            Commit(
                "s", [tool_answer_event(number + 1, data)], [make_content(data)], summary=make_summary("s")
            )
        )
        assert await store.get(digest_of(data)) == data
    problems = await store.health.check(lambda done, total: progress.append((done, total)))
    assert problems.is_sound
    assert problems.contents == 3
    assert progress[-1] == (3, 3)
    assert store.health.report is None
    await store.health.acknowledge()
    unsubscribe()
    assert reports == []
