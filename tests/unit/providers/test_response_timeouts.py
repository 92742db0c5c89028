"""How long an answer is waited for."""

from __future__ import annotations

from helix_desktop.providers.openai_chat import ChatAssembler
from helix_desktop.providers.streaming import END_GRACE_S, USAGE_GRACE_S, StallTimer


def test_each_piece_renews_the_timeout_and_keepalives_do_not() -> None:
    now = [0.0]
    assembly = ChatAssembler("here", str)
    patience = StallTimer(10, assembly, lambda: now[0])
    assert patience.remaining_s() == 10
    now[0] = 9.0
    assembly.add({"choices": [{"delta": {"role": "assistant", "content": ""}}]})
    assert patience.remaining_s() == 1
    assembly.add({"choices": [{"delta": {"content": "a"}}]})
    assert patience.remaining_s() == 10
    now[0] = 50.0
    assert patience.remaining_s() == 0


def test_a_complete_answer_has_a_short_timeout() -> None:
    assembly = ChatAssembler("here", str)
    patience = StallTimer(10, assembly, lambda: 0.0)
    assembly.add({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]})
    assert patience.remaining_s() == USAGE_GRACE_S
    assembly.add({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1}})
    assert patience.remaining_s() == END_GRACE_S
