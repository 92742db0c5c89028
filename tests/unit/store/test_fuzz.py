"""However a disk damages rows: they are read correctly or refused, within bounds of memory."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentDamaged, DigestUnknown
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.store import EntryRecord, SessionSummary
from helix_desktop.store import kinds
from helix_desktop.store.contents import CHUNK_BYTES, MAX_SINGLE_ROW_BYTES, ContentStore
from helix_desktop.store.database import Database, ReadView
from helix_desktop.store.files import Quarantine
from helix_desktop.store.kinds import MAX_VALUE_BYTES, RowDamaged, RowType, Span
from helix_desktop.store.threads import WriteBatch
from tests.support.store.builders import make_content, tool_answer_event

KEY = b"a key"
EVENT = RowType(RecordedEvent)
SUMMARY = RowType(SessionSummary)
RECORD = RowType(EntryRecord)
MB = 1024 * 1024

Damage = Callable[[bytes, bytes], bytes]


class Rows(ReadView):
    def __init__(self, rows: dict[bytes, bytes]) -> None:
        super().__init__(None)
        self.rows = rows

    def get(self, key: bytes) -> bytes | None:
        return self.rows.get(key)

    def get_verified(self, key: bytes) -> bytes | None:
        return self.rows.get(key)

    def scan(
        self, span: Span, reverse: bool = False, verify_checksums: bool = True
    ) -> Iterator[tuple[bytes, bytes]]:
        matching = sorted(item for item in self.rows.items() if span[0] <= item[0] < span[1])
        return iter(matching[::-1] if reverse else matching)


@st.composite
def damages(draw: st.DrawFn) -> Damage:
    """A change to a row, with another one to splice in."""
    kind = draw(st.sampled_from(["flip", "cut", "splice", "insert", "any", "swap"]))
    position = draw(st.integers(0))
    bits = draw(st.integers(1, 255))
    data = draw(st.binary(max_size=60))

    def damage_row(row: bytes, other: bytes) -> bytes:
        index = position % max(1, len(row))
        if kind == "flip":
            return row[:index] + bytes([row[index] ^ bits]) + row[index + 1 :] if row else data
        changed = {
            "cut": row[:index],
            "splice": row[:index] + other[index:],
            "insert": row[:index] + data + row[index:],
            "any": data,
            "swap": other,
        }
        return changed[kind]

    return damage_row


def stored(*bodies: bytes) -> Rows:
    nothing: dict[bytes, bytes] = {}
    batch = WriteBatch(nothing.get)
    contents = ContentStore(cast(Database, None), Quarantine(Path("none")))
    for data in bodies:
        if not batch.has_change(kinds.content_key(digest_of(data))):
            contents.stage(batch, make_content(data), 5)
    return Rows({key: row or b"" for key, row in (batch.rows | batch.unreferenced_rows).items()})


bodies = st.binary(max_size=300) | st.binary(min_size=1, max_size=20).map(lambda part: part * 100)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bodies, bodies, damages())
def test_a_damaged_content_is_read_correctly_or_refused(
    tmp_path: Path, data: bytes, other: bytes, damage: Damage
) -> None:
    rows = stored(data, other)
    key = kinds.content_key(digest_of(data))
    its = kinds.content_key(digest_of(other))
    rows.rows[key] = damage(rows.rows[key], rows.rows[its])
    contents = ContentStore(cast(Database, None), Quarantine(tmp_path))
    with suppress(ContentDamaged):
        assert contents.read(rows, digest_of(data)) == data


LARGE = bytes(range(256)) * ((MAX_SINGLE_ROW_BYTES + CHUNK_BYTES) // 256)
LARGE_ROWS = stored(LARGE).rows


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0), st.integers(0), damages(), st.booleans())
def test_a_damaged_large_content_is_read_correctly_or_refused(
    tmp_path: Path, row_index: int, other: int, damage: Damage, lost: bool
) -> None:
    rows = Rows(dict(LARGE_ROWS))
    names = sorted(rows.rows)
    name = names[row_index % len(names)]
    if lost:
        del rows.rows[name]
    else:
        rows.rows[name] = damage(rows.rows[name], rows.rows[names[other % len(names)]])
    contents = ContentStore(cast(Database, None), Quarantine(tmp_path))
    with suppress(ContentDamaged, DigestUnknown):
        assert contents.read(rows, digest_of(LARGE)) == LARGE


@given(st.sampled_from(["event", "summary", "record"]), damages(), st.integers(1, 50))
def test_a_damaged_row_is_read_correctly_or_refused(kind: str, damage: Damage, seq: int) -> None:
    shapes: dict[str, RowType[Any]] = {"event": EVENT, "summary": SUMMARY, "record": RECORD}
    value = tool_answer_event(seq, b"x" * seq)
    other = tool_answer_event(seq + 1, b"y" * 900)
    row = kinds.encode(KEY, value)
    spliced = kinds.encode(b"other", other)
    damaged = damage(row, spliced)
    with suppress(RowDamaged):
        assert kinds.decode(KEY, damaged, shapes[kind]) == value


@given(st.binary(max_size=200), st.sampled_from([EVENT, SUMMARY, RECORD, RowType(int), RowType(str)]))
def test_any_payload_with_a_valid_checksum_is_read_or_refused(payload: bytes, shape: RowType[Any]) -> None:
    for flags in range(8):
        with suppress(RowDamaged):
            kinds.decode(KEY, kinds.with_checksum(KEY, bytes([1, flags]) + payload), shape)


@pytest.mark.parametrize(
    "payload", [b"\x91" * 100_000, b"\x81\xa1a" * 100_000, b"[" * 100_000, b'{"a":' * 100_000]
)
def test_an_endlessly_nested_payload_is_refused(payload: bytes) -> None:
    for flags in (0, 2):
        with pytest.raises(RowDamaged):
            kinds.decode(KEY, kinds.with_checksum(KEY, bytes([1, flags]) + payload), RowType(object))


@pytest.mark.parametrize("head", [b"\xdd", b"\xc6", b"\xdf", b"\xdb"])
def test_a_payload_that_claims_billions_of_elements_costs_nothing(head: bytes) -> None:
    row = kinds.with_checksum(KEY, b"\x01\x00" + head + b"\xff\xff\xff\xff")
    for shape in (RowType(object), RowType(list[int]), RowType(dict[str, int]), RowType(tuple[int, ...])):
        with memory_within(MB), pytest.raises(RowDamaged):
            kinds.decode(KEY, row, cast("RowType[object]", shape))


@contextmanager
def memory_within(max_bytes: int) -> Iterator[None]:
    """Fail if more than `max_bytes` are allocated inside."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < max_bytes


def frame_claiming(length: int) -> bytes:
    """Return the head of a zstd frame that claims to unpack to `length` bytes, and an empty last block."""
    return struct.pack("<IBQ", zstandard.MAGIC_NUMBER & 0xFFFFFFFF, 0b1110_0000, length) + b"\x01\x00\x00"


@given(st.integers(0, 2**64 - 3) | st.sampled_from([MAX_VALUE_BYTES + 1, 2**31, 2**32, 2**63]))
def test_a_row_that_claims_too_much_costs_no_more_than_the_cap(length: int) -> None:
    row = kinds.with_checksum(KEY, b"\x01\x01" + frame_claiming(length))
    with memory_within(MAX_VALUE_BYTES + MB), pytest.raises(RowDamaged):
        kinds.decode(KEY, row, EVENT)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, MAX_VALUE_BYTES), st.sampled_from([0, 1]))
def test_a_content_that_claims_too_much_costs_no_more_than_a_row_may_hold(
    tmp_path: Path, length: int, method: int
) -> None:
    digest = digest_of(b"something")
    row = struct.pack(">BBQQ", 1, method, length, 5) + frame_claiming(length)
    contents = ContentStore(cast(Database, None), Quarantine(tmp_path))
    with memory_within(MAX_SINGLE_ROW_BYTES + MB), pytest.raises(ContentDamaged):
        contents.read(Rows({kinds.content_key(digest): row}), digest)
