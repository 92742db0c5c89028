"""Requests are valid, and have the fields that were sent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.window.request_validation import RequestValidator, problems, repair_request
from helix_desktop.context.window.window import PromptFrame, project
from helix_desktop.context.window.window_breakdown import WindowItem, break_down_window
from helix_desktop.domain.choices import SentEffort
from helix_desktop.domain.messages import Message, ModelInfo, ToolCall
from helix_desktop.domain.request_extras import NO_EXTRAS, RequestExtras
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
CONVERSATION = (Message("system", "You are an agent."), Message("user", "Go."))


@given(MESSAGES)
def test_both_linters_agree(messages: tuple[Message, ...]) -> None:
    """They find the same problems."""
    assert bool(problems(messages)) == bool(lint(messages))


@given(MESSAGES, st.lists(st.lists(st.integers(0, 11), max_size=12), max_size=4))
def test_a_validator_says_the_same_whatever_it_checked_before(
    messages: tuple[Message, ...], requests: list[list[int]]
) -> None:
    """Messages that stood in the last request are skipped, also where a rewrite moved them."""
    validator = RequestValidator()
    for numbers in requests:
        request = tuple(messages[number % len(messages)] for number in numbers if messages)
        assert validator.problems(request) == problems(request)


@given(MESSAGES)
def test_any_list_can_be_repaired(messages: tuple[Message, ...]) -> None:
    """If there is any user message, the result is valid; no user message is dropped or invented.

    A repair changes nothing in a valid request.
    """
    repaired = repair_request(messages)
    texts = [message.text for message in messages if message.role == "user" and message.text.strip()]
    assert [message.text for message in repaired if message.role == "user"] == texts
    if texts:
        assert lint(repaired) == []
        assert repair_request(repaired) == repaired
    if not lint(messages):
        assert repaired == messages


@pytest.mark.parametrize(
    ("messages", "description"),
    [
        ((), "not from the user"),
        ((*CONVERSATION, Message("system", "More.")), "system message"),
        ((*CONVERSATION, Message("assistant", "Hm.")), "last message"),
        ((*CONVERSATION, Message("tool", "x", call_id="a")), "without its call"),
        ((*CONVERSATION, Message("assistant", "", (ToolCall("a", "t", "{}"),))), "without an answer: a"),
        ((*CONVERSATION, Message("user", " ")), "empty"),
    ],
)
def test_problems_are_named(messages: tuple[Message, ...], description: str) -> None:
    assert description in "; ".join(problems(messages))


def test_a_call_of_a_repeated_id_is_answered_once() -> None:
    """Two calls with the same id in one answer cannot both be kept."""
    calls = (ToolCall("a", "first", "{}"), ToolCall("a", "second", "{}"))
    answers = (Message("tool", "1", call_id="a"), Message("tool", "2", call_id="a"))
    repaired = repair_request((*CONVERSATION, Message("assistant", "", calls), *answers))
    assert repaired == (*CONVERSATION, Message("assistant", "", calls[:1]), answers[0])


EXTRAS = RequestExtras({"X-Title": "Helix"}, ("X-Gateway",), {"service_tier": "flex"})


def rows(extras: RequestExtras, effort: SentEffort) -> list[WindowItem]:
    """Return the rows about fields of the request of an empty session."""
    transcript = Transcript()
    frame = PromptFrame(ModelInfo("box", "small", extras=extras), "Help.", (), 2, 0)
    window = project(transcript, PROFILES["balanced"], frame)
    items = break_down_window(window, transcript, frame, effort)
    return [item for item in items if item.kind == "fields"]


def test_everything_that_is_sent_has_a_name_and_no_secret_has_a_value() -> None:
    assert rows(NO_EXTRAS, "") == []
    (effort,) = rows(NO_EXTRAS, "high")
    assert (effort.name, effort.why, effort.tokens) == ("Also sent", "Effort high", 0)
    (all_of_it,) = rows(EXTRAS, "low")
    assert all_of_it.why == "Effort low, X-Title, X-Gateway, service_tier"
    assert all_of_it.text == 'effort: low\nX-Title: Helix\nX-Gateway: •••\n{\n  "service_tier": "flex"\n}'
