"""An independent check of requests finds the problems that the engine's rules find, and invalid arguments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.window.request_validation import problems
from helix_desktop.domain.messages import Message, ToolCall
from tests.benchmarks.replay.requests import RequestGrammar
from tests.support.tables import for_each

SYSTEM, USER_MESSAGE, ANSWER = (
    Message("system", "Rules."),
    Message("user", "Go."),
    Message("assistant", "Yes."),
)


def calls(*ids: str) -> Message:
    return Message("assistant", "", tuple(ToolCall(call_id, "read", "{}") for call_id in ids))


def answer(call_id: str, text: str = "out") -> Message:
    return Message("tool", text, call_id=call_id, name="read")


@pytest.mark.parametrize(
    "request_",
    [
        [USER_MESSAGE],
        [SYSTEM, USER_MESSAGE, USER_MESSAGE],
        [USER_MESSAGE, ANSWER, USER_MESSAGE],
        [USER_MESSAGE, calls("a", "b"), answer("b"), answer("a")],
        [USER_MESSAGE, calls("a"), answer("a"), calls("b"), answer("b"), USER_MESSAGE],
        [USER_MESSAGE, calls("a"), answer("a"), ANSWER, ANSWER, USER_MESSAGE],
    ],
)
def test_valid_requests_pass(request_: list[Message]) -> None:
    assert RequestGrammar().find_errors(request_) == []
    assert problems(request_) == []


@for_each(
    ("request_", "description"),
    [
        ([], "order of roles"),
        ([SYSTEM], "order of roles"),
        ([SYSTEM, ANSWER, USER_MESSAGE], "order of roles"),
        ([USER_MESSAGE, ANSWER], "order of roles"),
        ([USER_MESSAGE, SYSTEM, USER_MESSAGE], "order of roles"),
        ([USER_MESSAGE, answer("a")], "order of roles"),
        ([USER_MESSAGE, calls("a")], "order of roles"),
        ([USER_MESSAGE, calls("a"), USER_MESSAGE], "order of roles"),
        ([Message("user", "Go.", calls("a").calls), answer("a")], "order of roles"),
        ([USER_MESSAGE, calls("a", "b"), answer("a")], "have the answers"),
        ([USER_MESSAGE, calls("a"), answer("a"), answer("a")], "have the answers"),
        ([USER_MESSAGE, calls("a"), answer("b")], "have the answers"),
        ([USER_MESSAGE, calls("a", "a"), answer("a"), answer("a")], "have the answers"),
        ([USER_MESSAGE, calls("a"), answer("a", " \n")], "message 2 has no text"),
        ([Message("user", "")], "message 0 has no text"),
    ],
)
def test_broken_requests_are_described(request_: list[Message], description: str) -> None:
    assert description in " ".join(RequestGrammar().find_errors(request_))
    assert problems(request_)


def test_arguments_stay_json_where_they_were_json() -> None:
    wire = RequestGrammar()
    wire.add_recorded(
        Message("assistant", "", (ToolCall("patch", "apply", "*** Begin"), ToolCall("w", "write", "{}")))
    )
    broken = Message(
        "assistant", "", (ToolCall("patch", "apply", "*** End"), ToolCall("w", "write", '{"a": '))
    )
    faults = wire.find_errors([USER_MESSAGE, broken, answer("patch"), answer("w")])
    assert faults == ["the arguments of w are no JSON object"]


some = st.one_of(
    st.sampled_from([SYSTEM, USER_MESSAGE, ANSWER, Message("assistant", ""), Message("user", " ")]),
    st.lists(st.sampled_from("ab"), min_size=1, max_size=2).map(lambda ids: calls(*ids)),
    st.builds(answer, st.sampled_from("ab"), st.sampled_from(["out", ""])),
)


@given(st.lists(some, max_size=7))
def test_both_checks_agree(request_: list[Message]) -> None:
    assert bool(RequestGrammar().find_errors(request_)) == bool(problems(request_))
