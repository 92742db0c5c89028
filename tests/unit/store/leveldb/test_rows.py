"""Rows with a value: each kind is read as it was written, under its own key."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.store import Draft
from helix_desktop.store.core import keys, row_codec
from helix_desktop.store.core.commit import WriteBatch
from helix_desktop.store.core.row_codec import RowType
from helix_desktop.store.leveldb.rows import ROWS, new_record
from tests.support.store.builders import make_content, make_summary, user_message_event


def empty_batch() -> WriteBatch:
    """Return a batch over a store without rows."""
    return WriteBatch(lambda key: None)


def test_a_missing_row_has_no_value_and_a_written_one_is_read() -> None:
    batch = empty_batch()
    assert ROWS.summary.get(batch, "s") is None
    ROWS.summary.put(batch, make_summary("s"), "s")
    ROWS.event.put(batch, user_message_event(3), "s", 3)
    ROWS.sequence.put(batch, 7)
    assert ROWS.summary.get(batch, "s") == make_summary("s")
    assert ROWS.event.get(batch, "s", 3) == user_message_event(3)
    assert ROWS.event.get(batch, "s", 4) is None
    assert ROWS.sequence.get(batch) == 7
    assert set(batch.rows) == {keys.summary("s"), keys.event("s", 3), keys.SEQUENCE}


def test_a_record_stands_in_the_index_by_time_too_and_is_changed_in_both() -> None:
    content, batch = make_content(b"x"), empty_batch()
    record = new_record(content, 1, 5, "s")
    ROWS.record.put(batch, record, content.digest)
    ROWS.record.change(batch, content.digest, lambda record: msgspec.structs.replace(record, recalls=2))
    ROWS.record.change(batch, digest_of(b"unknown"), lambda record: record)
    assert set(batch.rows) == {keys.record(content.digest), keys.time_index(5, content.digest)}
    for key, row in batch.rows.items():
        assert row is not None
        assert ROWS.record.decode(key, row).recalls == 2


def test_a_damaged_record_is_left_as_it_is() -> None:
    digest, batch = digest_of(b"x"), empty_batch()
    batch.put(keys.record(digest), b"damaged")
    ROWS.record.change(batch, digest, lambda record: record)
    assert batch.rows == {keys.record(digest): b"damaged"}


@pytest.mark.parametrize("draft", [Draft("text"), Draft("", (Attachment("0" * 64, "a", "", 1, 1),))])
def test_a_draft_is_read_as_it_was_saved(draft: Draft) -> None:
    batch = empty_batch()
    ROWS.draft.put(batch, draft, "s")
    assert ROWS.draft.get(batch, "s") == draft


def test_a_draft_without_attachments_is_a_plain_text_and_an_empty_one_no_row() -> None:
    batch, key = empty_batch(), keys.draft("s")
    ROWS.draft.put(batch, Draft("text"), "s")
    row = batch.rows[key]
    assert row is not None
    assert row_codec.decode(key, row, RowType(str)) == "text"
    ROWS.draft.put(batch, Draft(), "s")
    assert batch.rows == {key: None}
