"""The parsing of what a model writes as observations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.summaries.handover import UNSUPPORTED
from helix_desktop.context.summaries.observation import parse_observations
from helix_desktop.domain.errors import CompactionRefused
from tests.support.histories import conversation_with


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("- (1) A fact [e4]", (1, "A fact", (4,))),
        ("- (P3) A fact [e4, e5]", (3, "A fact", (4, 5))),
        ("* P2: A fact [e5; e4].", (2, "A fact", (5, 4))),
        ("1. [2] A fact", (2, "A fact", ())),
        ("- A fact [e99]", (2, "A fact", ())),
        ("- 3 files were changed [e4]", (2, "3 files were changed", (4,))),
        (f"- (2) A fact {UNSUPPORTED}", (2, "A fact", ())),
        ("- (2) A fact\n  that goes on [e4]", (2, "A fact that goes on", (4,))),
    ],
)
def test_variants_of_facts_are_parsed(line: str, read: tuple[int, str, tuple[int, ...]]) -> None:
    """Priority, text and sources are found; a number that begins a sentence is no priority."""
    items = conversation_with(2).transcript.messages.items
    (fact,) = parse_observations(f"Here they are:\n\n2026-01-01\n{line}\n", items)
    assert (fact.priority, fact.text, fact.sources) == read
    times = {item.seq: item.at_ms for item in items}
    assert fact.at == (max(times[seq] for seq in fact.sources) if fact.sources else max(times.values()))


@pytest.mark.parametrize("text", ["", "I cannot do that.", "- ", "# Facts", "- [e4]"])
def test_an_invalid_answer_is_refused(text: str) -> None:
    """An answer without facts is no observation."""
    with pytest.raises(CompactionRefused):
        parse_observations(text, conversation_with(2).transcript.messages.items)


@given(st.text(max_size=300))
def test_any_answer_is_parsed_or_refused(text: str) -> None:
    """Whatever a model writes, nothing else happens; facts are in the order of their dates."""
    items = conversation_with(1).transcript.messages.items
    try:
        read = parse_observations(text, items)
    except CompactionRefused:
        return
    assert [fact.at for fact in read] == sorted(fact.at for fact in read)
    assert all(fact.text and fact.priority in (1, 2, 3) for fact in read)
