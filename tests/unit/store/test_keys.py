"""The key space: keys round-trip, and byte order is reading order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.store import kinds
from helix_desktop.store.kinds import Span

digests = st.binary(min_size=32, max_size=32).map(bytes.hex)
numbers = st.integers(0, 2**64 - 1)
sessions = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=30)


def within(key: bytes, span: Span) -> bool:
    return span[0] <= key < span[1]


@given(digests, numbers, sessions)
def test_digests_and_seqs_round_trip(digest: str, number: int, session_id: str) -> None:
    assert kinds.digest_in(kinds.record_key(digest)) == digest
    assert kinds.digest_in(kinds.time_index_key(number, digest)) == digest
    assert kinds.digest_in(kinds.back_reference_key(session_id, number, digest)) == digest
    assert kinds.seq_in(kinds.event_key(session_id, number)) == number
    assert kinds.seq_in(kinds.handover_key(session_id, number)) == number
    assert kinds.seq_in(kinds.reference_key(digest, session_id, number)) == number


@given(digests, digests, numbers, numbers)
def test_newest_comes_first_and_equal_times_by_digest(
    digest: str, other_digest: str, early: int, late: int
) -> None:
    earlier, later = sorted((early, late))
    first, second = kinds.time_index_key(later, digest), kinds.time_index_key(earlier, other_digest)
    assert (first < second) == ((-later, digest) < (-earlier, other_digest))
    assert within(first, kinds.TIME_INDEX)


@given(sessions, sessions, numbers, numbers, digests)
def test_a_session_covers_its_own_rows_in_order(
    first: str, second: str, low: int, high: int, digest: str
) -> None:
    assert (kinds.event_key(first, low) < kinds.event_key(first, high)) == (low < high)
    assert within(kinds.event_key(second, low), kinds.rows_of(first, b"e")) == (first == second)
    assert within(kinds.handover_key(second, low), kinds.rows_of(first, b"h")) == (first == second)
    assert within(kinds.back_reference_key(second, low, digest), kinds.rows_of(first, b"R")) == (
        first == second
    )


@given(digests, digests, sessions, numbers)
def test_a_digest_covers_its_own_references(first: str, second: str, session_id: str, number: int) -> None:
    assert within(kinds.reference_key(second, session_id, number), kinds.references_of(first)) == (
        first == second
    )


@given(digests, digests, st.integers(1, 64))
def test_a_prefix_covers_exactly_the_digests_that_begin_with_it(first: str, second: str, length: int) -> None:
    span = kinds.records_of(first[:length])
    assert within(kinds.record_key(first), span)
    assert within(kinds.record_key(second), span) == second.startswith(first[:length])
    assert within(span[0], kinds.RECORDS)


@given(digests, sessions, numbers)
def test_no_two_kinds_of_row_share_a_key(digest: str, session_id: str, number: int) -> None:
    all_keys = [
        kinds.content_key(digest),
        kinds.record_key(digest),
        kinds.time_index_key(number, digest),
        kinds.chunk_key(digest, 0),
        kinds.event_key(session_id, number),
        kinds.handover_key(session_id, number),
        kinds.reference_key(digest, session_id, number),
        kinds.back_reference_key(session_id, number, digest),
        kinds.summary_key(session_id),
        kinds.draft_key(session_id),
        kinds.last_event_key(session_id),
        kinds.SCHEMA_KEY,
        kinds.IDENTITY_KEY,
        kinds.SEQUENCE_KEY,
        kinds.TOTALS_KEY,
    ]
    assert len(set(all_keys)) == len(all_keys)
    assert within(kinds.summary_key(session_id), kinds.SUMMARIES)


@pytest.mark.parametrize("text", ["", "0" * 63, "0" * 65, "G" * 64, "A" * 64])
def test_an_invalid_digest_gets_no_key(text: str) -> None:
    with pytest.raises(ValueError, match="SHA-256"):
        kinds.record_key(text)
