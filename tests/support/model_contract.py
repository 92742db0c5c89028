"""What every `Model` guarantees to the agent, to be run on each implementation.

Subclass `ModelContract` in a test file with a fixture `model`: a model that answers each request with some
text, and calls a tool when the request offers one and ends with a user's message.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing

from helix_desktop.agent.ports import Model
from helix_desktop.domain.messages import (
    Message,
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
    RetryScheduled,
    StreamItem,
    TextDelta,
    ToolSpec,
)

LIST_TOOL = ToolSpec(
    "list_directory", "Lists a directory.", {"type": "object", "properties": {"path": {"type": "string"}}}
)
QUESTION = (Message("system", "You help."), Message("user", "What is in this project?"))


async def collect_stream(model: Model, request: ModelRequest) -> list[StreamItem]:
    return [arrival async for arrival in model.stream(request)]


async def final_response(model: Model, request: ModelRequest) -> ModelResponse:
    """The answer, which has to come last."""
    last = (await collect_stream(model, request))[-1]
    assert isinstance(last, ModelResponse)
    return last


class ModelContract:
    """The promises; each test has a model of its own."""

    async def test_it_has_a_name_and_leaves_space_for_an_answer(self, model: Model) -> None:
        """The label names it; the reserve leaves space in the window."""
        assert model.info.label == f"{model.info.provider}/{model.info.name}"
        assert 0 < model.info.reserve < model.info.window

    async def test_the_final_answer_comes_last_and_equals_the_deltas(self, model: Model) -> None:
        """The deltas that a reader received make up the answer."""
        arrivals = await collect_stream(model, ModelRequest(QUESTION))
        assert [isinstance(arrival, ModelResponse) for arrival in arrivals].count(True) == 1
        answer = arrivals[-1]
        assert isinstance(answer, ModelResponse)
        void = [at for at, arrival in enumerate(arrivals) if isinstance(arrival, RetryScheduled)]
        valid = arrivals[void[-1] + 1 :] if void else arrivals
        assert "".join(piece.text for piece in valid if isinstance(piece, TextDelta)) == answer.text
        assert "".join(p.text for p in valid if isinstance(p, ReasoningDelta)) == answer.reasoning
        assert answer.text.strip()
        assert answer.stop == "end"
        assert not answer.calls

    async def test_calls_name_offered_tools_with_json_arguments_and_ids_of_their_own(
        self, model: Model
    ) -> None:
        """Calls can be answered one by one."""
        answer = await final_response(model, ModelRequest(QUESTION, (LIST_TOOL,)))
        assert answer.calls
        assert answer.stop == "calls"
        assert {call.name for call in answer.calls} == {"list_directory"}
        assert all(isinstance(json.loads(call.arguments), dict) for call in answer.calls)
        assert len({call.id for call in answer.calls}) == len(answer.calls)

    async def test_it_says_which_effort_it_asked_for(self, model: Model) -> None:
        """The level that was sent, or nothing; the answer is the same in kind."""
        answer = await final_response(model, ModelRequest(QUESTION, effort="low"))
        assert answer.effort in ("", "low")
        assert (answer.effort_refusal is None) or not answer.effort
        assert answer.text.strip()
        assert (await final_response(model, ModelRequest(QUESTION))).effort == ""

    async def test_it_accepts_its_own_message_followed_by_results(self, model: Model) -> None:
        """The loop continues: an answer, replayed with its results, leads to the next answer."""
        answer = await final_response(model, ModelRequest(QUESTION, (LIST_TOOL,)))
        reply = Message("assistant", answer.text, answer.calls, verbatim=answer.verbatim)
        results = tuple(
            Message("tool", "README.md\nsrc/", call_id=call.id, name=call.name) for call in answer.calls
        )
        following = await final_response(model, ModelRequest((*QUESTION, reply, *results), (LIST_TOOL,)))
        assert following.text.strip() or following.calls

    async def test_several_requests_at_once_do_not_mix(self, model: Model) -> None:
        """A model serves the chat and a handover side by side."""
        answers = await asyncio.gather(*(final_response(model, ModelRequest(QUESTION)) for _ in range(4)))
        assert all(answer.text.strip() for answer in answers)

    async def test_a_stream_can_be_abandoned_and_the_model_used_again(self, model: Model) -> None:
        """Stop is possible after the first piece."""
        async with aclosing(model.stream(ModelRequest(QUESTION))) as arrivals:
            await anext(arrivals)
        assert (await final_response(model, ModelRequest(QUESTION))).text.strip()

    async def test_reported_usage_is_plausible(self, model: Model) -> None:
        """The cached tokens are part of the input; nothing is negative."""
        usage = (await final_response(model, ModelRequest(QUESTION))).usage
        assert usage is None or (0 <= usage.cached <= usage.input and usage.input > 0 <= usage.output)
