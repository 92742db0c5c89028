"""What the columns and filters of the cache say."""

from __future__ import annotations

from typing import get_args

import pytest
from msgspec.structs import replace

from helix_desktop.context.window.window_breakdown import MessageState
from helix_desktop.domain.store import SavedCondition
from helix_desktop.ui.cache.columns import tool_name
from helix_desktop.ui.cache.filter_bar import restored_options
from helix_desktop.ui.cache.rows import SAME_STATES, STATE_LABELS, STATE_TIPS, CacheState
from helix_desktop.words.rewrite_explanations import STATE_WORDS
from tests.support.galleries.panes_samples import cache_row


@pytest.mark.parametrize(
    ("maker", "name"),
    [("fold", "Note"), ("handover", "Handover"), ("observations", "Facts"), ("other", "other")],
)
def test_an_index_is_named_after_what_it_belongs_to(maker: str, name: str) -> None:
    """In the words of the timeline; a tool of the same name keeps its own."""
    row = replace(cache_row(1), tool=maker)
    assert tool_name(replace(row, state="index")) == name
    assert tool_name(replace(row, state="elsewhere")) == maker


def test_states_have_five_names_and_a_meaning_each() -> None:
    """The panel, the chat and the cache say the same of a message; a filter has each name once."""
    assert set(STATE_WORDS) == {*get_args(MessageState), "in_part"}
    assert {words.label for words in STATE_WORDS.values()} == {
        "In context",
        "In part",
        "Cached",
        "Compacted",
        "Left out",
    }
    for name, states in SAME_STATES.items():
        assert {STATE_LABELS[state] for state in states if state != "in_part"} == {STATE_LABELS[name]}
    assert {state for states in SAME_STATES.values() for state in states} == set(STATE_TIPS)


@pytest.mark.parametrize(
    ("stored", "state"),
    [("marker", "cached"), ("noted", "handed_over"), ("stored", "elsewhere"), ("excluded", "excluded")],
)
def test_a_filter_of_an_earlier_version_opens(stored: str, state: CacheState) -> None:
    """States had other names: what was filtered by them is filtered by what they are called now."""
    assert [option.state for option in restored_options((SavedCondition("state", stored),), 0)] == [state]
