"""The linter and the repair against any list of messages, by a second linter (invariant 3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.window.request_validation import problems, repair_request
from helix_desktop.domain.messages import Message, ToolCall
from tests.support.message_linter import lint

IDS = st.sampled_from(("a", "b", "c"))
TEXTS = st.sampled_from(("words", "", "  \n"))
CALLS = st.lists(st.builds(ToolCall, IDS, st.just("read_file"), st.just("{}")), max_size=3).map(tuple)
MESSAGES = st.lists(
    st.one_of(
        st.builds(Message, st.just("user"), TEXTS),
        st.builds(Message, st.just("user"), TEXTS, CALLS),
        st.builds(Message, st.just("assistant"), TEXTS, CALLS),
        st.builds(Message, st.just("tool"), TEXTS, call_id=IDS, name=st.just("read_file")),
        st.builds(Message, st.just("system"), TEXTS),
    ),
    max_size=12,
).map(tuple)
ASKED = (Message("system", "You are an agent."), Message("user", "Go."))


@given(MESSAGES)
def test_both_linters_agree(messages: tuple[Message, ...]) -> None:
    """What one finds wrong, the other does."""
    assert bool(problems(messages)) == bool(lint(messages))


@given(MESSAGES)
def test_any_list_can_be_repaired(messages: tuple[Message, ...]) -> None:
    """As long as the person said anything, the repaired request is valid, and stays as it is."""
    mended = repair_request(messages)
    if any(one.role == "user" and one.text.strip() for one in messages):
        assert lint(mended) == []
        assert repair_request(mended) == mended


@given(MESSAGES)
def test_what_is_valid_is_left_alone(messages: tuple[Message, ...]) -> None:
    """A repair changes nothing that needs none."""
    if not lint(messages):
        assert repair_request(messages) == messages


@given(MESSAGES)
def test_nothing_the_person_said_is_dropped_or_made_up(messages: tuple[Message, ...]) -> None:
    """The person's words are the same before and after."""
    said = [one.text for one in messages if one.role == "user" and one.text.strip()]
    assert [one.text for one in repair_request(messages) if one.role == "user"] == said


@pytest.mark.parametrize(
    ("messages", "named"),
    [
        ((), "not from the user"),
        ((*ASKED, Message("system", "More.")), "system message"),
        ((*ASKED, Message("assistant", "Hm.")), "last message"),
        ((*ASKED, Message("tool", "x", call_id="a")), "without its call"),
        ((*ASKED, Message("assistant", "", (ToolCall("a", "t", "{}"),))), "without an answer: a"),
        ((*ASKED, Message("user", " ")), "empty"),
    ],
)
def test_problems_are_named(messages: tuple[Message, ...], named: str) -> None:
    """The linter says in words what is wrong."""
    assert named in "; ".join(problems(messages))


def test_a_call_of_a_repeated_id_is_answered_once() -> None:
    """Two calls of one id in one answer cannot both be kept."""
    calls = (ToolCall("a", "first", "{}"), ToolCall("a", "second", "{}"))
    answers = (Message("tool", "1", call_id="a"), Message("tool", "2", call_id="a"))
    mended = repair_request((*ASKED, Message("assistant", "", calls), *answers))
    assert mended == (*ASKED, Message("assistant", "", calls[:1]), answers[0])
