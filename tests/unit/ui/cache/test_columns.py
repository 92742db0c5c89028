"""What the columns of the cache say."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from helix_desktop.ui.cache.columns import tool_name
from tests.support.galleries.panes_samples import cache_row


@pytest.mark.parametrize(
    ("maker", "name"),
    [("fold", "Note"), ("handover", "Handover"), ("observations", "Noted facts"), ("other", "other")],
)
def test_an_index_is_named_after_what_it_belongs_to(maker: str, name: str) -> None:
    """In the words of the timeline; a tool of the same name keeps its own."""
    row = replace(cache_row(1), tool=maker)
    assert tool_name(replace(row, state="index")) == name
    assert tool_name(replace(row, state="stored")) == maker
