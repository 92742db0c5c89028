"""Ids of calls as dialects accept them."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.providers.json_wire import ToolCallIds

PLAIN = re.compile(r"[a-zA-Z0-9_-]{1,64}")
IDS = st.one_of(st.text(max_size=80), st.sampled_from(["call_0", "call_1", "functions.f:0", ""]))
STEPS = st.lists(st.lists(IDS, max_size=4, unique=True), max_size=5)


def converted_ids(steps: list[list[str]], unique: bool) -> list[list[str]]:
    """Return the ids of the calls of each step; those of their answers have to be the same."""
    ids = ToolCallIds(PLAIN, unique=unique)
    ids_by_step = []
    for calls in steps:
        ids.register(calls)
        ids_by_step.append([ids.wire_id(call) for call in calls])
        assert [ids.wire_id(call) for call in calls] == ids_by_step[-1]
    return ids_by_step


@given(STEPS)
def test_every_id_is_valid_and_unique(steps: list[list[str]]) -> None:
    all_ids = [call_id for ids in converted_ids(steps, unique=True) for call_id in ids]
    assert all(PLAIN.fullmatch(call_id) for call_id in all_ids)
    assert len(set(all_ids)) == len(all_ids)


@given(STEPS, st.booleans())
def test_the_same_calls_get_the_same_ids_whatever_follows(steps: list[list[str]], unique: bool) -> None:
    ids_by_step = converted_ids(steps, unique)
    assert ids_by_step == converted_ids(steps, unique)
    for end in range(len(steps)):
        assert converted_ids(steps[:end], unique) == ids_by_step[:end]


def test_a_valid_id_stays() -> None:
    assert converted_ids([["toolu_01AbC", "call-1"], ["call_2"]], unique=True) == [
        ["toolu_01AbC", "call-1"],
        ["call_2"],
    ]
