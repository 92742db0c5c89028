"""Keys of rows: their stored form, and their order."""

from __future__ import annotations

import pytest

from helix_desktop.ui.chat.actions import RowKey


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (RowKey(12), "e12"),
        (RowKey(12, "call_1:a\nb", "call"), "t12:call_1:a\nb"),
        (RowKey(0, "call_1", "approval"), "ask:call_1"),
        (RowKey(3, part="arriving"), "live3"),
        (RowKey(1, part="error"), "trouble1"),
        (RowKey(part="retry"), "retry"),
    ],
)
def test_a_key_round_trips_as_text(key: RowKey, text: str) -> None:
    assert str(key) == text
    assert RowKey.parse(text) == key


@pytest.mark.parametrize("text", ["", "12", "nowhere", "x12", "e-1"])
def test_other_texts_are_no_keys(text: str) -> None:
    assert RowKey.parse(text) is None


def test_keys_are_ordered_by_event() -> None:
    keys = [RowKey(10), RowKey(2, "b", "call"), RowKey(2), RowKey(2, "a", "call")]
    assert [str(key) for key in sorted(keys)] == ["e2", "t2:a", "t2:b", "e10"]
