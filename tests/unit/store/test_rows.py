"""Rows, and the bytes of records."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.store import ContentKind, Draft, EntryRecord
from helix_desktop.store import kinds
from helix_desktop.store.contents import new_record
from helix_desktop.store.kinds import ROWS, RowType
from helix_desktop.store.writer import WriteBatch
from tests.support.store.builders import make_content, make_summary, user_message_event
from tests.support.tables import for_each


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
    assert set(batch.rows) == {kinds.summary_key("s"), kinds.event_key("s", 3), kinds.SEQUENCE_KEY}


def test_a_record_stands_in_the_index_by_time_too_and_is_changed_in_both() -> None:
    content, batch = make_content(b"x"), empty_batch()
    record = new_record(content, 1, 5, "s")
    ROWS.record.put(batch, record, content.digest)
    ROWS.record.change(batch, content.digest, lambda record: msgspec.structs.replace(record, recalls=2))
    ROWS.record.change(batch, digest_of(b"unknown"), lambda record: record)
    assert set(batch.rows) == {kinds.record_key(content.digest), kinds.time_index_key(5, content.digest)}
    for key, row in batch.rows.items():
        assert row is not None
        assert ROWS.record.decode(key, row).recalls == 2


def test_a_damaged_record_is_left_as_it_is() -> None:
    digest, batch = digest_of(b"x"), empty_batch()
    batch.put(kinds.record_key(digest), b"damaged")
    ROWS.record.change(batch, digest, lambda record: record)
    assert batch.rows == {kinds.record_key(digest): b"damaged"}


@pytest.mark.parametrize("draft", [Draft("text"), Draft("", (Attachment("0" * 64, "a", "", 1, 1),))])
def test_a_draft_is_read_as_it_was_saved(draft: Draft) -> None:
    batch = empty_batch()
    ROWS.draft.put(batch, draft, "s")
    assert ROWS.draft.get(batch, "s") == draft


def test_a_draft_without_attachments_is_a_plain_text_and_an_empty_one_no_row() -> None:
    batch, key = empty_batch(), kinds.draft_key("s")
    ROWS.draft.put(batch, Draft("text"), "s")
    row = batch.rows[key]
    assert row is not None
    assert kinds.decode(key, row, RowType(str)) == "text"
    ROWS.draft.put(batch, Draft(), "s")
    assert batch.rows == {key: None}


KEY = kinds.record_key(digest_of(b"a content"))
TIMES = [
    1, 127, 128, 255, 256, 1 << 14, 65_535, 65_536, 1 << 31, 1 << 32, 1_763_812_352_000, 1 << 41, 1 << 62,
]  # fmt: skip


def record_row(kind: ContentKind = "output", trashed: int = 0, target: str = "src/app.py") -> bytes:
    record = EntryRecord(1_763_812_352_000, 0, 9, 9, 2, "read_file", target, "", kind, trashed=trashed)
    return kinds.encode(KEY, record)


@for_each("trashed", TIMES)
def test_no_time_in_the_trash_is_missed(trashed: int) -> None:
    assert kinds.may_be_trashed(record_row(trashed=trashed))


def test_what_is_not_in_the_trash_and_no_index_is_skipped() -> None:
    assert not kinds.may_be_trashed(record_row())
    assert not kinds.may_be_index(record_row())
    assert kinds.may_be_index(record_row("index"))


def test_a_compressed_row_is_decoded() -> None:
    row = record_row("index", trashed=1_763_812_352_000, target="src/" * 2_000)
    assert not kinds.is_plain(row)
    assert kinds.may_be_trashed(row)
    assert kinds.may_be_index(row)


def test_a_record_of_an_older_version_was_never_in_the_trash() -> None:
    """It ends with an earlier field, whatever that is: decoding decides."""
    older = (1, 0, 9, 9, 2, "read_file", "src/app.py", "", "output", 0, 0)
    row = kinds.encode(KEY, older)
    assert not kinds.decode(KEY, row, RowType(EntryRecord)).trashed
    assert not kinds.may_be_index(row)


def test_rows_that_are_no_records_are_not_skipped() -> None:
    for row in (b"", b"\0", b"\x01\0", b"\xff" * 40, msgspec.msgpack.encode(["x"])):
        assert kinds.may_be_trashed(row)
