"""Ids of calls as dialects take them."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.providers.tool_call_ids import ToolCallIds

PLAIN = re.compile(r"[a-zA-Z0-9_-]{1,64}")
IDS = st.one_of(st.text(max_size=80), st.sampled_from(["call_0", "call_1", "functions.f:0", ""]))
STEPS = st.lists(st.lists(IDS, max_size=4, unique=True), max_size=5)


def given_to(steps: list[list[str]], unique: bool) -> list[list[str]]:
    """The ids of the calls of each step; those of their answers have to be the same."""
    ids = ToolCallIds(PLAIN, unique=unique)
    found = []
    for calls in steps:
        ids.register(calls)
        found.append([ids.wire_id(call) for call in calls])
        assert [ids.wire_id(call) for call in calls] == found[-1]
    return found


@given(STEPS)
def test_every_id_is_legal_and_each_call_has_its_own(steps: list[list[str]]) -> None:
    found = [one for ids in given_to(steps, unique=True) for one in ids]
    assert all(PLAIN.fullmatch(one) for one in found)
    assert len(set(found)) == len(found)


@given(STEPS, st.booleans())
def test_the_same_calls_get_the_same_ids_whatever_follows(steps: list[list[str]], unique: bool) -> None:
    found = given_to(steps, unique)
    assert found == given_to(steps, unique)
    for end in range(len(steps)):
        assert given_to(steps[:end], unique) == found[:end]


def test_a_legal_id_stays() -> None:
    assert given_to([["toolu_01AbC", "call-1"], ["call_2"]], unique=True) == [
        ["toolu_01AbC", "call-1"],
        ["call_2"],
    ]
