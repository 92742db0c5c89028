"""A store of every kind of row, its content, and whether later answers match it or are reported as lost."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentDamaged, DigestUnknown, StoreDamaged
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import SessionBranched
from helix_desktop.domain.store import Commit
from helix_desktop.domain.store_reports import RepairReport
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import (
    WORKSPACE,
    TickingClock,
    handover_event,
    make_content,
    make_summary,
    tool_answer_event,
    user_message_event,
)

MAX_LOST_PER_BIT = 16
"""Contents and events that one flipped bit may cost at most: so many keys in a row lean on the one before."""


@dataclass(slots=True)
class ExpectedState:
    """The acknowledged data."""

    contents: dict[str, bytes] = field(default_factory=dict)
    events: dict[str, list[RecordedEvent]] = field(default_factory=dict)
    drafts: dict[str, str] = field(default_factory=dict)

    @property
    def event_count(self) -> int:
        """The number of stored events: a branch has those of its parent without storing them."""
        return len({id(recorded) for log in self.events.values() for recorded in log})


async def write_commits(
    folder: Path, expected: ExpectedState, commits: int, seed: int = 1, close: bool = True
) -> LevelDbStore:
    """Commit to three sessions and a branch, and record the data; close the store unless not `clean`."""
    rng = random.Random(seed)
    store = await LevelDbStore.open(folder, WORKSPACE, TickingClock())
    for _ in range(commits):
        session_id = rng.choice(["one", "two", "a/b", "branch"])
        log = expected.events.setdefault(session_id, [])
        if session_id == "branch" and not log:
            log += await _branch(store, expected.events.get("one", []))
        seq = len(log) + 1
        data = rng.randbytes(rng.choice([0, 40, 300, 5000])) if rng.random() < 0.95 else _large_content(rng)
        event = rng.choice(
            [tool_answer_event(seq, data), handover_event(seq, data), user_message_event(seq, "words " * 20)]
        )
        line = make_summary(session_id, seq, f"title of {session_id}")
        await store.commit(Commit(session_id, [event], [make_content(data)], [digest_of(data)], line))
        log.append(event)
        expected.contents[digest_of(data)] = data
    await store.save_draft("one", f"typed {seed}")
    expected.drafts["one"] = f"typed {seed}"
    if close:
        await store.close()
    return store


async def _branch(store: LevelDbStore, log: list[RecordedEvent]) -> list[RecordedEvent]:
    """Branch the session "one" in the middle of its log; return the branch's log, empty without one."""
    seq = (len(log) + 1) // 2
    if not seq:
        return []
    first = RecordedEvent(seq + 1, log[seq - 1].at, SessionBranched("one", seq, "title of branch"))
    await store.commit(Commit("branch", [first], summary=make_summary("branch", seq, "title of branch")))
    return [*log[:seq], first]


def _large_content(rng: random.Random) -> bytes:
    return rng.randbytes(5000) * 220  # in chunks, small on disk


@dataclass(slots=True)
class MissingData:
    """What a store no longer returns, by digest and by session."""

    contents: set[str] = field(default_factory=set)
    events: dict[str, int] = field(default_factory=dict)
    drafts: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.contents or self.events or self.drafts)


async def compare_store(store: LevelDbStore, expected: ExpectedState) -> MissingData:
    missing = MissingData()
    for digest, data in expected.contents.items():
        try:
            assert await store.get(digest) == data
        except (ContentDamaged, DigestUnknown):
            missing.contents.add(digest)
    for session_id, log in expected.events.items():
        events = await store.events(session_id)
        assert events == log[: len(events)], "events are a beginning of what they were"
        if len(events) < len(log):
            missing.events[session_id] = len(log) - len(events)
    for session_id, text in expected.drafts.items():
        if (await store.draft(session_id)).text != text:
            missing.drafts.add(session_id)
    totals = await store.totals()
    entries = (await store.page(limit=10_000)).entries
    assert len(entries) == totals.entries
    assert totals.sessions == len(await store.sessions())
    assert {entry.digest for entry in entries} <= expected.contents.keys()
    return missing


def check_reported(report: RepairReport | None, missing: MissingData) -> None:
    if not missing:
        return
    assert report is not None, f"missing and not reported: {missing}"
    digests = {content.digest for content in report.contents}
    unseen = missing.contents - digests
    assert len(unseen) <= report.vanished, f"gone without a word: {unseen}"
    for session_id, count in missing.events.items():
        cut_counts = {cut.session: cut.aside + cut.lost for cut in report.cut}
        assert cut_counts.get(session_id, 0) >= count, (session_id, count, cut_counts)
    if missing.drafts:
        assert report.rows or report.writes or report.uncounted


def damage_file(folder: Path, rng: random.Random) -> str:
    """Flip a bit of, cut, or zero a part of one of the database's files; return a description."""
    paths = [
        path for path in sorted((folder / "db").iterdir()) if path.name not in ("LOCK", "LOG", "LOG.old")
    ]
    path = rng.choice([path for path in paths if path.stat().st_size])
    data = bytearray(path.read_bytes())
    at = rng.randrange(len(data))
    how = rng.choice(["flip", "flip", "cut", "garble"])
    if how == "flip":
        data[at] ^= 1 << rng.randrange(8)
    elif how == "cut":
        del data[at:]
    else:
        length = min(rng.choice([3, 64, 512]), len(data) - at)
        data[at : at + length] = rng.randbytes(length)
    path.write_bytes(data)
    return f"{how} {path.name} at {at} of {len(data)}"


async def damage_and_compare(folder: Path, expected: ExpectedState, rng: random.Random) -> None:
    """Damage a closed store; assert that it returns stored data, names what is missing, and is repaired."""
    done = damage_file(folder, rng)
    reports = []
    for _ in range(3):
        store = await LevelDbStore.open(folder, WORKSPACE)
        reports.append(store.health.report)
        try:
            missing = await compare_store(store, expected)
            checked = await store.health.check()
        except StoreDamaged:
            continue  # met while reading: it is repaired at the next open
        finally:
            await store.close()
        if not checked.problems:
            break
    else:
        raise AssertionError(f"{done}: not mended")
    assert {content.digest for content in checked.damaged} <= missing.contents
    if reports[-1]:
        check_reported(reports[-1], missing)
    else:  # missing data was refused on request
        assert not missing.events, done
        assert not missing.drafts, done
    if done.startswith("flip"):
        gaps = reports[-1].cut if reports[-1] else ()
        assert len(missing.contents) + sum(gap.lost for gap in gaps) <= MAX_LOST_PER_BIT, done
