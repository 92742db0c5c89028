"""Ways to damage a store, its content, and whether later answers match it or are reported as lost."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import plyvel

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentDamaged, DigestUnknown, StoreDamaged
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import SessionBranched
from helix_desktop.domain.store import Commit
from helix_desktop.domain.store_reports import RepairReport
from helix_desktop.store.kinds import DIGEST_BYTES
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


def compact_tables(folder: Path) -> None:
    """Move everything from the log into tables."""
    db = plyvel.DB(str(folder / "db"), create_if_missing=False, compression=None, bloom_filter_bits=10)
    # Without bounds this does nothing.
    db.compact_range(start=b"\x00", stop=b"\xff" * 40)
    db.close()


def database_files(folder: Path, pattern: str = "*") -> dict[str, bytes]:
    """The LevelDB's files by name."""
    return {path.name: path.read_bytes() for path in (folder / "db").glob(pattern) if path.name != "LOCK"}


def flip_last_bit(folder: Path, key: bytes) -> None:
    """Flip the last bit of one row, so that its own checksum no longer fits, and LevelDB's does."""
    db = plyvel.DB(str(folder / "db"), create_if_missing=False, compression=None)
    row = db.get(key)
    db.put(key, row[:-1] + bytes([row[-1] ^ 1]), sync=True)
    db.close()


def flip_bit_near(
    folder: Path, needle: bytes, offset: int = 0, patterns: tuple[str, ...] = ("*.ldb", "*.log")
) -> int:
    """Flip one bit `offset` bytes after each occurrence of `needle`; return the number of occurrences."""
    places = 0
    for pattern in patterns:
        for path in (folder / "db").glob(pattern):
            data = bytearray(path.read_bytes())
            at = data.find(needle)
            while at >= 0:
                data[at + offset] ^= 0x10
                places += 1
                at = data.find(needle, at + len(needle))
            path.write_bytes(data)
    return places


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


WRITER_SCRIPT = Path(__file__).with_name("writer_process.py")

AcknowledgedCommits = dict[str, list[tuple[int, str, int]]]
"""Per session: seq, digest and length of each acknowledged commit."""


def kill_writer(folder: Path, seed: int, max_wait_s: float = 0.4, *mode: str) -> AcknowledgedCommits:
    """Let a process write for a random time, kill it, and return its acknowledged commits."""
    wait_s = random.Random(seed).uniform(0.0, max_wait_s)
    command = [sys.executable, str(WRITER_SCRIPT), str(folder), WORKSPACE, str(seed), *mode]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        first = child.stdout.readline()
        try:
            child.wait(wait_s)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
        output = first + child.stdout.read()
    assert child.returncode == -signal.SIGKILL, "the writer ended by itself"
    commits: AcknowledgedCommits = {}
    complete_lines = output[: output.rfind(b"\n") + 1].decode()
    for line in complete_lines.splitlines():
        session_id, seq, digest, length = line.split()
        commits.setdefault(session_id, []).append((int(seq), digest, int(length)))
    return commits


async def check_acknowledged(store: LevelDbStore, acknowledged: AcknowledgedCommits) -> int:
    """Assert that every acknowledged commit is stored completely; return how many there were."""
    listed = {session.id: session.updated for session in await store.sessions()}
    for session_id, commits in acknowledged.items():
        events = await store.events(session_id)
        assert [seq for seq, _, _ in commits] == list(range(1, len(commits) + 1))
        assert len(events) >= len(commits)
        assert listed[session_id] == len(events)
        for seq, digest, length in commits:
            data = await store.get(digest)
            assert (len(data), digest_of(data)) == (length, digest)
            entry = await store.entry(digest)
            assert (entry.references, entry.recalls, entry.size) == (1, 1, length)
            assert digest in events[seq - 1].event.__repr__()
    return sum(len(commits) for commits in acknowledged.values())


def check_row_consistency(folder: Path) -> None:
    """Assert, in a closed store, that rows which were written together are there together."""
    db = plyvel.DB(str(folder / "db"), create_if_missing=False, compression=None)
    try:
        by_kind: dict[bytes, set[bytes]] = {}
        for key in db.iterator(include_value=False):
            by_kind.setdefault(key[:1], set()).add(key)
    finally:
        db.close()
    contents = {key[1:] for key in by_kind[b"b"]}
    assert contents == {key[1:] for key in by_kind[b"m"]}
    assert contents == {key[-DIGEST_BYTES:] for key in by_kind[b"t"]}
    assert len(contents) == len(by_kind[b"t"])
    forwards = {(key[33:], key[1:33]) for key in by_kind[b"r"]}
    assert forwards == {(key[1:-32], key[-32:]) for key in by_kind[b"R"]}
    assert {key[1:] for key in by_kind[b"e"]} == {place for place, _ in forwards}
