"""A workspace as one file: what is imported, what is merged, and what is refused."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.choices import PermissionMode
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import (
    ArchiveWriteFailed,
    HelixError,
    InvalidArchive,
    StoreClosed,
)
from helix_desktop.domain.events.conversation import AssistantSpoke, Attachment
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import ModeChanged, SessionBranched
from helix_desktop.domain.store import CacheEntry, Commit
from helix_desktop.domain.store_reports import ArchiveTotals
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.store.archive_file import (
    ArchiveManifest,
    SessionHeader,
    Stopped,
    TarStreamWriter,
    check_archive,
)
from helix_desktop.store.archive_transfer import export_store, import_store
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import (
    OTHER_WORKSPACE,
    START_MS,
    WORKSPACE,
    TickingClock,
    handover_event,
    make_content,
    make_summary,
    tool_answer_event,
    user_message_event,
)
from tests.support.store.damage import compact_tables, flip_bit_near

BODIES = [b"", b"a", b"b" * 700, bytes(range(256)) * 5000]
SESSIONS = ["s", "s1/x", "ß"]

T = TypeVar("T")


class Write(msgspec.Struct, frozen=True):
    """One commit to some session: stored and referenced bodies, with or without a summary and draft."""

    session: int
    bodies: tuple[int, ...]
    recalled: bool
    summary: bool
    draft: str


writes = st.builds(
    Write,
    session=st.integers(0, len(SESSIONS) - 1),
    bodies=st.lists(st.integers(0, len(BODIES) - 1), max_size=3).map(tuple),
    recalled=st.booleans(),
    summary=st.booleans(),
    draft=st.text(max_size=5),
)


async def commit_write(store: LevelDbStore, write: Write) -> None:
    session_id = SESSIONS[write.session]
    last = len(await store.events(session_id))
    log = list[RecordedEvent]()
    for place, body in enumerate(write.bodies):
        make_event = handover_event if place == 1 else tool_answer_event
        log.append(make_event(last + 1 + place, BODIES[body]))
    log.append(
        RecordedEvent(last + 1 + len(log), START_MS, AssistantSpoke("ok", "m", 3, verbatim={"id": 10**30}))
    )
    stored = [make_content(BODIES[body]) for body in write.bodies]
    recalls = [digest_of(BODIES[write.bodies[0]])] if write.bodies and write.recalled else []
    summary = make_summary(session_id, last)
    if write.summary:
        summary = msgspec.structs.replace(summary, pinned=bool(log[1:]), archived=write.recalled)
    await store.commit(Commit(session_id, log, stored, recalls, summary if write.summary else None))
    along = [Attachment(digest_of(BODIES[body]), "along", "", 1, 1) for body in write.bodies]
    await store.save_draft(session_id, write.draft, along)


async def state(store: LevelDbStore, sessions: list[str] = SESSIONS) -> dict[str, object]:
    """Everything that can be seen of a store."""
    entries: tuple[CacheEntry, ...] = (await store.page()).entries
    return {
        "events": [await store.events(session_id) for session_id in sessions],
        "drafts": [await store.draft(session_id) for session_id in sessions],
        "sessions": await store.sessions(),
        "entries": entries,
        "alone": [await store.entry(entry.digest) for entry in entries],
        "bytes": [digest_of(await store.get(entry.digest)) for entry in entries],
        "totals": await store.totals(),
    }


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def opened(folder: Path, workspace_id: str = WORKSPACE) -> LevelDbStore:
    return await LevelDbStore.open(folder, workspace_id, TickingClock())


async def there_and_back(script: list[Write], folder: Path) -> None:
    first = await opened(folder / "a")
    second = await opened(folder / "b", OTHER_WORKSPACE)
    try:
        for write in script:
            await commit_write(first, write)
        before = await state(first)
        done = await export_store(first, str(folder / "all.helix"), "Name", START_MS)
        assert await state(first) == before
        report = await import_store(second, str(folder / "all.helix"))
        assert await state(second) == before
        assert (report.name, report.added, report.existing) == ("Name", done.totals.entries, 0)
        again = await import_store(second, str(folder / "all.helix"))
        assert await state(second) == before
        assert (again.added, again.existing, again.new, again.apart) == (0, done.totals.entries, (), ())
        await export_store(second, str(folder / "again.helix"), "Name", START_MS)
    finally:
        await first.close()
        await second.close()


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(writes, max_size=5))
def test_an_exported_store_is_imported_complete(script: list[Write]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(there_and_back(script, Path(folder)))


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[tuple[LevelDbStore, Path]]:
    """A store with two sessions and three contents, and its archive."""
    store = await opened(tmp_path / "store")
    await store.commit(
        Commit(
            "s",
            [tool_answer_event(1, b"one"), user_message_event(2)],
            [make_content(b"one")],
            summary=make_summary("s"),
        )
    )
    await store.commit(
        Commit("t", [tool_answer_event(1, BODIES[3])], [make_content(BODIES[3]), make_content(b"loose")])
    )
    await export_store(store, str(tmp_path / "a.helix"), "Name", START_MS)
    yield store, tmp_path / "a.helix"
    await store.close()


async def test_the_files_of_a_killed_export_are_removed_by_a_later_one(
    pair: tuple[LevelDbStore, Path], tmp_path: Path
) -> None:
    place = tmp_path / "backups"
    place.mkdir()
    old = place / f".{'a' * 32}.part"
    young = place / f".{'b' * 32}.part"
    other = place / ".mine.part"
    for path in (old, young, other):
        path.write_bytes(b"half")
    for path in (old, other):
        os.utime(path, (1, time.time() - 25 * 3600))
    await export_store(pair[0], str(place / "a.helix"), "Name", START_MS)
    assert names(place) == sorted([young.name, other.name, "a.helix"])


async def test_an_interrupted_import_resumes_at_the_end_of_the_log(
    pair: tuple[LevelDbStore, Path], tmp_path: Path
) -> None:
    second = await opened(tmp_path / "second", OTHER_WORKSPACE)
    put = second.bulk_access.write
    left = [1]  # batches until the process ends

    async def cut_off(stage: Callable[..., T], size: int) -> T:
        if not left[0]:
            raise StoreClosed(verbatim("cut off"))
        left[0] -= 1
        return await put(stage, size)

    try:
        for batches in (1, 2):
            left[0] = batches
            second.bulk_access.write = cut_off  # type: ignore[method-assign]  # the moment is what is tested
            with suppress(StoreClosed):
                await import_store(second, str(pair[1]))
        second.bulk_access.write = put  # type: ignore[method-assign]  # as it was
        await import_store(second, str(pair[1]))
        assert await second.sessions() == await pair[0].sessions()
        assert await second.events("s") == await pair[0].events("s")
    finally:
        await second.close()


async def test_sessions_are_extended_left_or_put_apart(
    pair: tuple[LevelDbStore, Path], tmp_path: Path
) -> None:
    store, archive = pair
    other = await opened(tmp_path / "other", OTHER_WORKSPACE)
    await import_store(other, str(archive))
    await other.commit(Commit("s", [user_message_event(3, "went on there")]))
    await other.commit(Commit("t", [user_message_event(2, "one way")]))
    await store.commit(Commit("t", [user_message_event(2, "another way")]))
    await export_store(other, str(archive), "Name", START_MS)
    report = await import_store(store, str(archive))
    assert (report.new, report.extended, report.unchanged) == ((), ("s",), ())
    assert [event.seq for event in await store.events("s")] == [1, 2, 3]
    (apart,) = report.apart
    assert [event.event for event in await store.events("t")][1] == user_message_event(2, "another way").event
    assert await store.events(apart) == await other.events("t")
    again = await import_store(store, str(archive))
    assert (again.extended, again.apart) == ((), ())
    assert len(again.unchanged) == 2
    assert (await store.entry(digest_of(b"one"))).references == 1
    await other.close()


async def test_a_store_can_be_exported_while_it_is_written(tmp_path: Path) -> None:
    store = await opened(tmp_path / "store")
    for number in range(1, 40):
        await store.commit(
            Commit("s", [tool_answer_event(number, b"%d" % number)], [make_content(b"%d" % number)])
        )

    async def write_on() -> None:
        for number in range(40, 120):
            await store.commit(
                Commit("s", [tool_answer_event(number, b"%d" % number)], [make_content(b"%d" % number)])
            )

    done, _ = await asyncio.gather(export_store(store, str(tmp_path / "a.helix"), "", START_MS), write_on())
    assert done.totals.entries == done.totals.events >= 39
    other = await opened(tmp_path / "other")
    await import_store(other, str(tmp_path / "a.helix"))
    events = await other.events("s")
    assert events == (await store.events("s"))[: len(events)]
    assert all([await other.get(digest_of(b"%d" % number)) for number in range(1, len(events) + 1)])
    await store.close()
    await other.close()


async def test_closing_ends_an_export_and_leaves_no_file(tmp_path: Path) -> None:
    store = await opened(tmp_path / "store")
    await store.commit(Commit("s", contents=[make_content(b"%d" % number) for number in range(50)]))
    begun = threading.Event()
    export_started = threading.Event()

    def wait(*_: int) -> None:
        begun.set()
        export_started.wait(60)

    export = asyncio.gather(
        export_store(store, str(tmp_path / "a.helix"), "", START_MS, wait), return_exceptions=True
    )
    await asyncio.to_thread(begun.wait, 60)
    close = asyncio.gather(store.close())
    await asyncio.sleep(0)
    export_started.set()
    await close
    (ended,) = await export
    assert isinstance(ended, StoreClosed | Stopped)
    assert names(tmp_path) == ["store"]


async def test_damaged_content_is_reported_and_its_log_is_still_exported(tmp_path: Path) -> None:
    chance = random.Random(3)
    blobs = sorted((chance.randbytes(5000) for _ in range(20)), key=digest_of)  # each in a block of its own
    blob = blobs[-1]
    store = await opened(tmp_path / "store")
    await store.commit(
        Commit(
            "s", [tool_answer_event(1, blob), user_message_event(2)], [make_content(blob) for blob in blobs]
        )
    )
    await store.close()
    compact_tables(tmp_path / "store")
    assert flip_bit_near(tmp_path / "store", blob[100:120], 10) == 1
    store = await opened(tmp_path / "store")
    done = await export_store(store, str(tmp_path / "a.helix"), "", START_MS)
    assert done.totals.missing == (digest_of(blob),)
    other = await opened(tmp_path / "other")
    report = await import_store(other, str(tmp_path / "a.helix"))
    assert (report.missing, report.added, report.new) == ((digest_of(blob),), 19, ("s",))
    assert await other.events("s") == await store.events("s")
    await store.close()
    await other.close()


async def refused(archive: Path, folder: Path, *words: str) -> None:
    other = await opened(folder / "fresh")
    before = await state(other)
    with pytest.raises(InvalidArchive) as caught:
        await import_store(other, str(archive))
    for word in words:
        assert word in f"{caught.value} {caught.value.fix}"
    assert await state(other) == before
    await other.close()


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
async def test_a_file_that_was_cut_is_refused(
    pair: tuple[LevelDbStore, Path], tmp_path: Path, share: float
) -> None:
    archive = pair[1]
    data = archive.read_bytes()
    archive.write_bytes(data[: int(len(data) * share)])
    await refused(archive, tmp_path)


async def test_flipped_bits_are_refused(pair: tuple[LevelDbStore, Path], tmp_path: Path) -> None:
    archive = pair[1]
    data = archive.read_bytes()
    chance = random.Random(7)
    stop = threading.Event()
    manifest = check_archive(archive, stop)
    refusals = 0
    for _ in range(200):
        place = chance.randrange(len(data))
        archive.write_bytes(
            data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]
        )
        try:
            assert check_archive(archive, stop) == manifest  # the format has a bit without meaning
        except InvalidArchive:
            refusals += 1
    assert refusals >= 198
    archive.write_bytes(data[:-40] + bytes([data[-40] ^ 1]) + data[-39:])
    await refused(archive, tmp_path)


async def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    for data in (b"", b"PK\3\4 a zip", bytes(5000), zstandard.compress(b"no tar" * 200)):
        (tmp_path / "x.helix").write_bytes(data)
        await refused(tmp_path / "x.helix", tmp_path)
    await refused(tmp_path / "nowhere.helix", tmp_path, "No such file")


def write(path: Path, *members: tuple[str, bytes]) -> Path:
    with path.open("wb") as file:
        tape = TarStreamWriter(file)
        for name, data in members:
            tape.add(name, data)
        tape.close()
    return path


def note(value: object) -> bytes:
    return msgspec.json.encode(value)


FIRST = ("manifest.json", note(ArchiveManifest(1, "1", WORKSPACE, "n", START_MS, 1, 1, 0)))
RECORD = {
    "created": 1, "last_used": 1, "size": 1, "stored_size": 1, "tokens": 1, "tool": "", "target": "",
    "first_line": "", "kind": "output",
}  # fmt: skip
ONE_DIGEST = digest_of(b"1")
LONE = (("contents/" + ONE_DIGEST + ".json", note(RECORD)), ("contents/" + ONE_DIGEST, b"1"))
LINE = note(user_message_event(1)) + b"\n"


def session(identity: str, events: int, *lines: bytes) -> list[tuple[str, bytes]]:
    head = ("sessions/1/session.json", note(SessionHeader(identity, events)))
    return [head, *((f"sessions/1/events-{number}.jsonl", part) for number, part in enumerate(lines, 1))]


HOSTILE: dict[str, list[tuple[str, bytes]]] = {
    "instead of": [FIRST, ("../../etc/passwd", b"x"), ("end.json", b"{}")],
    "don't match.": [FIRST, LONE[0], ("contents/" + ONE_DIGEST, b"2")],
    "is out of order": [FIRST, *LONE, *LONE],
    "'nonsense' is out": [FIRST, ("contents/nonsense.json", b"{}")],
    "can't be read": [FIRST, ("contents/" + ONE_DIGEST + ".json", b"[1, 2]")],
    "The record of": [
        FIRST,
        ("contents/" + ONE_DIGEST + ".json", note({**RECORD, "created": -5})),
        LONE[1],
    ],
    "match its totals": [FIRST, *LONE, ("end.json", note(ArchiveTotals(2, 1, 0, 0)))],
    "ends early": [FIRST, *LONE],
    "format 2": [("manifest.json", note(ArchiveManifest(2, "9.9", WORKSPACE, "n", START_MS, 1, 1, 0)))],
    "NUL": [FIRST, *session("a\0b", 0)],
    "are out of order": [FIRST, *session("s", 2, LINE + LINE)],
    "session 1 can't": [FIRST, *session("s", 1, b'{"seq": 1, "at": 1, "event": {"kind": "nothing"}}\n')],
    "the one that wrote it": [FIRST, *session("s", 1, b'{"seq": 1, "at": 1, "event": {"kind": "newer"}}\n')],
    "of another session": [
        FIRST,
        ("sessions/1/session.json", note(SessionHeader("s", 0, make_summary("t")))),
    ],
    "1 has an invalid time": [
        FIRST,
        ("sessions/1/session.json", note(SessionHeader("s", 0, make_summary("s", 10**18)))),
    ],
    "event of its session 1 has": [FIRST, *session("s", 1, LINE.replace(b"%d" % (START_MS + 1), b"-1"))],
    "can't be read (": [FIRST, ("end.json", b'{"entries": -1, "size": 0, "sessions": 0, "events": 0}')],
    "which is missing": [
        FIRST,
        *session("s", 1, note(tool_answer_event(1, b"nowhere")) + b"\n"),
        ("end.json", note(ArchiveTotals(0, 0, 1, 1))),
    ],
    "JSON": [("manifest.json", b"[" * 100_000)],
}


@pytest.mark.parametrize("word", HOSTILE)
async def test_hostile_members_are_refused_by_name(tmp_path: Path, word: str) -> None:
    await refused(write(tmp_path / "x.helix", *HOSTILE[word]), tmp_path, "" if word == "JSON" else word)


@pytest.mark.parametrize("field", ["created", "last_used", "trashed"])
@pytest.mark.parametrize("time", [-1, 253_370_764_800_000, 2**63, 2**70])
async def test_times_outside_the_calendar_are_refused(tmp_path: Path, field: str, time: int) -> None:
    about = ("contents/" + ONE_DIGEST + ".json", json.dumps({**RECORD, field: time}).encode())
    end = ("end.json", note(ArchiveTotals(1, 1, 0, 0)))
    await refused(write(tmp_path / "x.helix", FIRST, about, LONE[1], end), tmp_path, "The record of")


async def test_a_file_that_unpacks_without_end_is_refused(tmp_path: Path) -> None:
    def zeros(size: int) -> Callable[[Path], None]:
        def make(path: Path) -> None:
            with path.open("wb") as file:
                packed = zstandard.ZstdCompressor().stream_writer(file, closefd=False)
                for _ in range(size):
                    packed.write(bytes(1 << 20))
                packed.flush(zstandard.FLUSH_FRAME)

        return make

    zeros(64)(tmp_path / "x.helix")
    await refused(tmp_path / "x.helix", tmp_path)


async def test_an_unwritable_target_is_named(pair: tuple[LevelDbStore, Path], tmp_path: Path) -> None:
    store, archive = pair
    before = hashlib.sha256(archive.read_bytes()).digest()
    with pytest.raises(ArchiveWriteFailed, match="wasn't written"):
        await export_store(store, str(tmp_path / "no folder" / "a.helix"), "", START_MS)
    (tmp_path / "b.helix").mkdir()
    with pytest.raises(HelixError, match="wasn't written"):
        await export_store(store, str(tmp_path / "b.helix"), "", START_MS)
    assert names(tmp_path) == ["a.helix", "b.helix", "store"]
    assert hashlib.sha256(archive.read_bytes()).digest() == before


async def test_an_archive_contains_no_path_and_no_rule(
    pair: tuple[LevelDbStore, Path], tmp_path: Path
) -> None:
    plain = zstandard.ZstdDecompressor().stream_reader(pair[1].read_bytes()).read()
    assert str(tmp_path).encode() not in plain
    assert WORKSPACE.encode() in plain


async def test_an_imported_session_begins_in_ask_and_is_still_known_again(
    pair: tuple[LevelDbStore, Path], tmp_path: Path
) -> None:
    """What its agent may do without asking was allowed on another computer, of a branch too."""
    store, archive = pair
    modes: tuple[PermissionMode, ...] = ("auto", "plan", "auto")
    await store.commit(
        Commit("m", [RecordedEvent(seq, START_MS, ModeChanged(mode)) for seq, mode in enumerate(modes, 1)])
    )
    branched = SessionBranched("m", 3, "Fork")
    await store.commit(Commit("b", [RecordedEvent(4, START_MS, branched)]))
    await export_store(store, str(archive), "Name", START_MS)
    own = await store.events("m")
    assert set((await import_store(store, str(archive))).unchanged) >= {"m", "b"}
    assert await store.events("m") == own, "one's own sessions keep their mode"
    other = await opened(tmp_path / "other", OTHER_WORKSPACE)
    assert set((await import_store(other, str(archive))).new) >= {"m", "b"}
    for session_id in ("m", "b"):
        transcript = Transcript()
        for recorded in await other.events(session_id):
            transcript.apply(recorded)
        assert transcript.mode == "ask"
    await store.commit(Commit("m", [user_message_event(4, "went on there")]))
    await export_store(store, str(archive), "Name", START_MS)
    report = await import_store(other, str(archive))
    assert (report.extended, report.apart) == (("m",), ())
    assert [event.seq for event in await other.events("m")] == [1, 2, 3, 4]
    await other.close()
