"""The key space: keys round-trip, and byte order is reading order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.store.core import keys

digests = st.binary(min_size=32, max_size=32).map(bytes.hex)
numbers = st.integers(0, 2**64 - 1)
sessions = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=30)


def within(key: bytes, span: keys.Span) -> bool:
    return span[0] <= key < span[1]


@given(digests, numbers, sessions)
def test_digests_and_seqs_round_trip(digest: str, number: int, session_id: str) -> None:
    assert keys.digest_in(keys.record(digest)) == digest
    assert keys.digest_in(keys.time_index(number, digest)) == digest
    assert keys.digest_in(keys.back_reference(session_id, number, digest)) == digest
    assert keys.seq_in(keys.event(session_id, number)) == number
    assert keys.seq_in(keys.handover(session_id, number)) == number
    assert keys.seq_in(keys.reference(digest, session_id, number)) == number


@given(digests, digests, numbers, numbers)
def test_newest_comes_first_and_equal_times_by_digest(
    digest: str, other_digest: str, early: int, late: int
) -> None:
    earlier, later = sorted((early, late))
    first, second = keys.time_index(later, digest), keys.time_index(earlier, other_digest)
    assert (first < second) == ((-later, digest) < (-earlier, other_digest))
    assert within(first, keys.TIME_INDEX)


@given(sessions, sessions, numbers, numbers, digests)
def test_a_session_covers_its_own_rows_in_order(
    first: str, second: str, low: int, high: int, digest: str
) -> None:
    assert (keys.event(first, low) < keys.event(first, high)) == (low < high)
    assert within(keys.event(second, low), keys.events_of(first)) == (first == second)
    assert within(keys.handover(second, low), keys.handovers_of(first)) == (first == second)
    assert within(keys.back_reference(second, low, digest), keys.back_references_of(first)) == (
        first == second
    )


@given(digests, digests, sessions, numbers)
def test_a_digest_covers_its_own_references(first: str, second: str, session_id: str, number: int) -> None:
    assert within(keys.reference(second, session_id, number), keys.references_of(first)) == (first == second)


@given(digests, digests, st.integers(1, 64))
def test_a_prefix_covers_exactly_the_digests_that_begin_with_it(first: str, second: str, length: int) -> None:
    span = keys.records_of(first[:length])
    assert within(keys.record(first), span)
    assert within(keys.record(second), span) == second.startswith(first[:length])
    assert within(span[0], keys.RECORDS)


@given(digests, sessions, numbers)
def test_no_two_kinds_of_row_share_a_key(digest: str, session_id: str, number: int) -> None:
    all_keys = [
        keys.content(digest), keys.record(digest), keys.time_index(number, digest), keys.chunk(digest, 0),
        keys.event(session_id, number), keys.handover(session_id, number),
        keys.reference(digest, session_id, number),
        keys.back_reference(session_id, number, digest), keys.summary(session_id), keys.draft(session_id),
        keys.last_event(session_id), keys.SCHEMA, keys.IDENTITY, keys.SEQUENCE, keys.TOTALS,
    ]  # fmt: skip
    assert len(set(all_keys)) == len(all_keys)
    assert within(keys.summary(session_id), keys.SUMMARIES)


@pytest.mark.parametrize("text", ["", "0" * 63, "0" * 65, "G" * 64, "A" * 64])
def test_an_invalid_digest_gets_no_key(text: str) -> None:
    with pytest.raises(ValueError, match="SHA-256"):
        keys.record(text)
