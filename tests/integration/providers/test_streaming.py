"""Streaming models of every dialect against a real local server: answers, faults, retries, cancelling."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from helix_desktop.domain.errors import (
    ContextWindowExceeded,
    InvalidModelResponse,
    ModelError,
    ModelRequestRejected,
    ModelUnreachable,
)
from helix_desktop.domain.messages import (
    Message,
    ModelInfo,
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
    RetryScheduled,
    TextDelta,
    ToolCall,
    ToolSpec,
    Usage,
)
from helix_desktop.providers.http import HttpClient, Timeouts
from helix_desktop.providers.model_list import list_models
from helix_desktop.providers.streaming import StreamedModel
from tests.support.chat_server import (
    Beats,
    Call,
    ChatServer,
    Counts,
    Cut,
    Finish,
    Hang,
    Raw,
    Reasoning,
    Refusal,
    Reply,
    Sealed,
    Stream,
    Text,
    Wait,
    error,
    in_turn,
    page,
    say,
)
from tests.support.model_contract import answer_of, arrivals_of
from tests.support.speakers import DIALECTS, Dialect, Naps

KEY = "sk-very-secret-0123456789"
INFO = ModelInfo("local", "small")
QUESTION = ModelRequest((Message("user", "How many?"),))
READ = ToolSpec("read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
MOST_ROUNDS = 50


@pytest.fixture(params=DIALECTS, ids=lambda one: one.name)
def dialect(request: pytest.FixtureRequest) -> Dialect:
    found: Dialect = request.param
    return found


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient(Timeouts(read_s=20))
    yield client
    await client.aclose()


@pytest.fixture
def naps() -> Naps:
    return Naps()


class Rig:
    """A server with a script and a model that speaks to it."""

    def __init__(self, dialect: Dialect, http: HttpClient, naps: Naps) -> None:
        self.dialect, self.http, self.naps = dialect, http, naps

    def serving(self, *replies: Reply) -> ChatServer:
        """A server that gives these replies in turn."""
        return ChatServer(in_turn(*replies), wire=self.dialect.wire)

    def model(self, server: ChatServer, *, stall_s: float = 60.0) -> StreamedModel:
        """A model behind it."""
        return self.dialect.model(server, self.http, self.naps.retries, INFO, key=KEY, stall_s=stall_s)

    async def failure_of(self, *replies: Reply) -> ModelError:
        """The error that these replies lead to."""
        async with self.serving(*replies) as server:
            with pytest.raises(ModelError) as caught:
                await arrivals_of(self.model(server), QUESTION)
        assert caught.value.what
        assert caught.value.fix
        assert KEY not in str(caught.value)
        return caught.value


@pytest.fixture
def rig(dialect: Dialect, http: HttpClient, naps: Naps) -> Rig:
    return Rig(dialect, http, naps)


class TestAnswers:
    async def test_thought_and_text_arrive_in_pieces_and_whole_at_the_end(self, rig: Rig) -> None:
        parts = (Reasoning("Let me "), Reasoning("count."), Sealed("s"), Text("For"), Text("ty-two."))
        async with rig.serving(Stream(*parts, usage=Counts(90, 12, 64))) as server:
            arrivals = await arrivals_of(rig.model(server), QUESTION)
        assert arrivals[:-1] == [
            ReasoningDelta("Let me "),
            ReasoningDelta("count."),
            TextDelta("For"),
            TextDelta("ty-two."),
        ]
        answer = arrivals[-1]
        assert isinstance(answer, ModelResponse)
        assert (answer.text, answer.reasoning, answer.stop) == ("Forty-two.", "Let me count.", "end")
        assert answer.usage == Usage(90, 12, 64)

    async def test_pieces_come_before_the_answer_is_over(self, rig: Rig) -> None:
        more = asyncio.Event()
        async with (
            rig.serving(Stream(Text("a"), Wait(more), Text("b"))) as server,
            aclosing(rig.model(server).stream(QUESTION)) as arrivals,
        ):
            assert await anext(arrivals) == TextDelta("a")
            assert not more.is_set()
            more.set()
            assert await anext(arrivals) == TextDelta("b")

    async def test_parallel_calls_are_put_together(self, rig: Rig) -> None:
        calls = (
            Call("read_file", '{"path": "größe.py"}', "c1"),
            Call("read_file", '{"path": "b.py"}', "c2", piece=1),
            Call("now", "{}", "c3"),
        )
        async with rig.serving(Stream(Text("Looking."), *calls)) as server:
            answer = await answer_of(rig.model(server), ModelRequest(QUESTION.messages, (READ,)))
        assert answer.calls == tuple(ToolCall(call.id, call.name, call.arguments) for call in calls)
        assert (answer.text, answer.stop) == ("Looking.", "calls")

    async def test_the_request_carries_the_key_and_no_sampling_parameters(self, rig: Rig) -> None:
        async with rig.serving(say("ok")) as server:
            await arrivals_of(rig.model(server), ModelRequest(QUESTION.messages, (READ,)))
            sent = server.requests[0]
        assert KEY in sent.headers["authorization"]
        assert sent.json["model"] == "small"
        assert sent.json["stream"] is True
        assert not {"temperature", "top_p", "top_k", "presence_penalty", "seed"} & set(sent.json)

    async def test_one_connection_serves_many_steps(self, rig: Rig) -> None:
        async with rig.serving(say("ok")) as server:
            model = rig.model(server)
            for _ in range(3):
                await arrivals_of(model, QUESTION)
            assert server.connections == 1

    @pytest.mark.parametrize(
        "reply",
        [
            Stream(Text("whole"), done=False),
            Stream(Text("whole"), finish=""),
            Stream(Text("whole"), Finish("stop"), Cut()),
            Stream(Text("whole"), Finish("stop"), Raw(b"data: [DONE]\n\n"), Hang()),
            Stream(Text("whole"), Finish("stop"), Raw(b"data: {half\n\n")),
        ],
        ids=["no end marker", "no reason", "cut after its end", "lingers after its end", "damaged end"],
    )
    async def test_an_answer_is_whole_after_its_reason_to_end(self, rig: Rig, reply: Reply) -> None:
        async with rig.serving(reply) as server, asyncio.timeout(15):
            arrivals = await arrivals_of(rig.model(server), QUESTION)
        assert [type(arrival) for arrival in arrivals] == [TextDelta, ModelResponse]
        assert isinstance(arrivals[-1], ModelResponse)
        assert (arrivals[-1].text, arrivals[-1].stop) == ("whole", "end")

    async def test_signs_of_life_are_no_part_of_an_answer(self, rig: Rig) -> None:
        beat = Raw(rig.dialect.wire.beat)
        async with rig.serving(Stream(beat, Text("a"), beat, beat, Text("b"), beat)) as server:
            assert (await answer_of(rig.model(server), QUESTION)).text == "ab"

    async def test_an_answer_cut_at_its_limit_says_so(self, rig: Rig) -> None:
        async with rig.serving(Stream(Text("half an"), finish="length")) as server:
            assert (await answer_of(rig.model(server), QUESTION)).stop == "length"


class TestRetries:
    async def test_a_cut_stream_is_void_and_asked_again(self, rig: Rig) -> None:
        cut = Stream(Text("half an"), Call("write_file", '{"path": "x"}'), Cut())
        async with rig.serving(cut, say("whole")) as server:
            arrivals = await arrivals_of(rig.model(server), QUESTION)
        assert [type(one) for one in arrivals] == [TextDelta, RetryScheduled, TextDelta, ModelResponse]
        assert isinstance(arrivals[1], RetryScheduled)
        assert (arrivals[1].attempt, arrivals[1].wait_s) == (2, 0.5)
        assert "broke off" in arrivals[1].reason
        assert isinstance(arrivals[-1], ModelResponse)
        assert (arrivals[-1].text, arrivals[-1].calls) == ("whole", ())
        assert rig.naps.taken == [0.5]

    async def test_a_stream_without_its_end_is_a_cut_one(self, rig: Rig) -> None:
        async with rig.serving(Stream(Text("half"), finish="", done=False), say("whole")) as server:
            arrivals = await arrivals_of(rig.model(server), QUESTION)
        assert [type(one) for one in arrivals] == [TextDelta, RetryScheduled, TextDelta, ModelResponse]

    @pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503])
    async def test_busy_servers_are_asked_again(self, rig: Rig, status: int) -> None:
        busy = Refusal(status, {"error": {"message": "slow down"}})
        async with rig.serving(busy, busy, busy, say("ok")) as server:
            arrivals = await arrivals_of(rig.model(server), QUESTION)
        assert [type(one) for one in arrivals] == [RetryScheduled] * 3 + [TextDelta, ModelResponse]
        assert rig.naps.taken == [0.5, 1.0, 2.0]
        assert isinstance(arrivals[0], RetryScheduled)
        assert "slow down" in arrivals[0].reason

    async def test_retry_after_is_honoured(self, rig: Rig) -> None:
        replies = [error(429, "slow", headers={"retry-after": text}) for text in ("7", "200")]
        async with rig.serving(*replies, say("ok")) as server:
            await arrivals_of(rig.model(server), QUESTION)
        assert rig.naps.taken == [7.0, 200.0]

    async def test_a_server_that_asks_for_an_hour_is_not_waited_for(self, rig: Rig) -> None:
        failure = await rig.failure_of(error(429, "slow", headers={"retry-after": "3600"}))
        assert "It asks to wait 60 min." in failure.why
        assert rig.naps.taken == []

    async def test_it_gives_up_after_minutes_with_the_servers_words(self, rig: Rig) -> None:
        failure = await rig.failure_of(error(503, f"overloaded, {KEY}"))
        assert isinstance(failure, ModelUnreachable)
        assert "overloaded, [key]" in failure.why
        assert "Tried 25 times in 10 min." in failure.why
        assert len(rig.naps.taken) == 24

    async def test_a_server_that_is_down_is_named(self, rig: Rig) -> None:
        async with rig.serving(say("ok")) as server:
            model = rig.model(server)
            address = server.base_url
        with pytest.raises(ModelUnreachable) as caught:
            await arrivals_of(model, QUESTION)
        assert address in caught.value.what
        assert "running" in caught.value.fix
        assert 500 < sum(rig.naps.taken) <= 600, "a restart takes longer than seconds"

    @pytest.mark.parametrize("kind", ["server_error", "overloaded_error", "rate_limit_exceeded"])
    async def test_an_error_inside_a_stream_is_a_failure(self, rig: Rig, kind: str) -> None:
        wrong = Raw(rig.dialect.wire.failure(kind, "upstream gone"))
        async with rig.serving(Stream(Text("half"), wrong, Hang()), say("whole")) as server:
            arrivals = await arrivals_of(rig.model(server), QUESTION)
        assert [type(one) for one in arrivals] == [TextDelta, RetryScheduled, TextDelta, ModelResponse]
        assert isinstance(arrivals[1], RetryScheduled)
        assert "upstream gone" in arrivals[1].reason

    @pytest.mark.parametrize("parts", [(), (Text("half"),)], ids=["at once", "inside"])
    async def test_silence_is_a_failure(self, rig: Rig, parts: tuple[Text, ...]) -> None:
        impatient = Rig(rig.dialect, HttpClient(Timeouts(read_s=0.2)), rig.naps)
        async with rig.serving(Stream(*parts, Hang()), say("whole")) as server:
            arrivals = await arrivals_of(impatient.model(server), QUESTION)
            await impatient.http.aclose()
        told = [one for one in arrivals if isinstance(one, RetryScheduled)]
        assert len(told) == 1
        assert "silent" in told[0].reason

    @pytest.mark.parametrize("parts", [(), (Text("half"),)], ids=["at once", "inside"])
    async def test_signs_of_life_do_not_keep_an_answer_waiting_for_ever(
        self, rig: Rig, parts: tuple[Text, ...]
    ) -> None:
        async with rig.serving(Stream(*parts, Beats()), say("whole")) as server:
            arrivals = await arrivals_of(rig.model(server, stall_s=0.3), QUESTION)
        told = [one for one in arrivals if isinstance(one, RetryScheduled)]
        assert len(told) == 1
        assert "kept the line open" in told[0].reason
        assert isinstance(arrivals[-1], ModelResponse)


class TestRefusals:
    async def test_a_wrong_key(self, rig: Rig) -> None:
        failure = await rig.failure_of(error(401, f"Incorrect API key: {KEY}."))
        assert isinstance(failure, ModelRequestRejected)
        assert failure.what == "local refused the key."
        assert failure.why == "Incorrect API key: [key]."
        assert rig.naps.taken == []

    async def test_an_unknown_model(self, rig: Rig) -> None:
        failure = await rig.failure_of(error(404, "The model `small` does not exist"))
        assert isinstance(failure, ModelRequestRejected)
        assert "small" in failure.what

    async def test_no_credit_is_not_retried(self, rig: Rig) -> None:
        failure = await rig.failure_of(error(429, "You exceeded your quota", "insufficient_quota"))
        assert isinstance(failure, ModelRequestRejected)
        assert rig.naps.taken == []

    async def test_overflow_before_and_inside_a_stream(self, rig: Rig) -> None:
        words = "prompt is too long: 215000 tokens > 200000 maximum"
        inside = Stream(Raw(rig.dialect.wire.failure("invalid_request_error", words)))
        for reply in (error(400, words), inside):
            assert isinstance(await rig.failure_of(reply), ContextWindowExceeded)
        assert rig.naps.taken == []

    async def test_a_held_back_answer(self, rig: Rig) -> None:
        assert isinstance(
            await rig.failure_of(Stream(Reasoning("hm"), finish="content_filter")), ModelRequestRejected
        )


class TestNonsense:
    @pytest.mark.parametrize(
        "reply",
        [
            page(),
            Stream(Raw(b"<html>hello</html>\n"), finish="", done=False),
            Stream(Raw(b"data: [1, 2]\n\n")),
            Refusal(200, "{not json"),
            Refusal(200, {"hello": "world"}),
            Stream(),
            Stream(Text("  \n")),
            Stream(Reasoning("thinking"), finish="length"),
            Stream(Call("", "{}")),
            Stream(Raw(b"data: " + b"x" * (9 * 1024 * 1024))),
        ],
        ids=[
            "a page",
            "a page as a stream",
            "a list",
            "no JSON",
            "another object",
            "nothing",
            "blanks",
            "thought alone",
            "no tool's name",
            "too much",
        ],
    )
    async def test_what_is_no_answer_is_said_once(self, rig: Rig, reply: Reply) -> None:
        assert isinstance(await rig.failure_of(reply), InvalidModelResponse)
        assert rig.naps.taken == []

    async def test_a_damaged_piece_is_like_a_cut(self, rig: Rig) -> None:
        damaged = Stream(Text("So far"), Raw(b"data: {half\n\n"))
        async with rig.serving(damaged, say("whole")) as server:
            assert (await answer_of(rig.model(server), QUESTION)).text == "whole"
        assert isinstance(await rig.failure_of(damaged), InvalidModelResponse)


class _Rounds:
    """Counts the rounds of the event loop."""

    def __init__(self) -> None:
        self.count, self._going = 0, True
        asyncio.get_running_loop().call_soon(self._tick)

    def _tick(self) -> None:
        self.count += 1
        if self._going:
            asyncio.get_running_loop().call_soon(self._tick)

    def stop(self) -> None:
        """Count no further."""
        self._going = False


class _LongNaps(Naps):
    """Sleeps that do not end."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = asyncio.Event()

    async def pause(self, seconds: float, skip: asyncio.Event) -> None:
        """Sleep for ever."""
        self.begun.set()
        await asyncio.Event().wait()


class TestCancelling:
    @pytest.mark.parametrize(
        "parts", [(Hang(),), (Text("a"), Hang()), (Beats(),)], ids=["before", "in", "idle"]
    )
    async def test_a_cancelled_call_ends_at_once_and_closes_its_connection(
        self, rig: Rig, parts: tuple[Any, ...]
    ) -> None:
        """In order: the person's stop, the call's end a few rounds of the loop later, the server's notice.

        Nothing but the client's close can move the server: it waits for ever.
        """
        order: list[str] = []
        async with rig.serving(Stream(*parts)) as server, asyncio.TaskGroup() as group:
            asking = group.create_task(arrivals_of(rig.model(server), QUESTION))
            asking.add_done_callback(lambda _: order.append("ended"))
            await server.waiting.wait()
            rounds = _Rounds()
            order.append("stopped")
            asking.cancel()
            await asyncio.wait((asking,))
            ended_after = rounds.count
            rounds.stop()
            await server.abandoned.wait()
            order.append("noticed")
        assert asking.cancelled()
        assert order == ["stopped", "ended", "noticed"]
        assert ended_after <= MOST_ROUNDS

    async def test_a_call_is_cancelled_while_it_waits_to_ask_again(self, rig: Rig) -> None:
        naps = _LongNaps()
        tired = Rig(rig.dialect, rig.http, naps)
        async with rig.serving(error(503, "busy")) as server, asyncio.TaskGroup() as group:
            asking = group.create_task(arrivals_of(tired.model(server), QUESTION))
            await naps.begun.wait()
            asking.cancel()
            await asyncio.wait((asking,))
            assert asking.cancelled()
            assert len(server.requests) == 1

    async def test_closing_the_iterator_closes_the_connection(self, rig: Rig) -> None:
        async with rig.serving(Stream(Text("a"), Hang())) as server:
            async with aclosing(rig.model(server).stream(QUESTION)) as arrivals:
                await anext(arrivals)
            async with asyncio.timeout(15):
                await server.abandoned.wait()

    @pytest.mark.qt_loop
    async def test_it_works_and_cancels_on_the_qt_loop(self, dialect: Dialect, qapp: object) -> None:
        http = HttpClient()
        rig = Rig(dialect, http, Naps())
        async with rig.serving(say("ok"), Stream(Text("a"), Hang())) as server:
            model = rig.model(server)
            assert (await answer_of(model, QUESTION)).text == "ok"
            async with asyncio.TaskGroup() as group:
                asking = group.create_task(arrivals_of(model, QUESTION))
                await server.waiting.wait()
                asking.cancel()
                await asyncio.wait((asking,))
            async with asyncio.timeout(15):
                await server.abandoned.wait()
        await http.aclose()


async def test_the_models_of_a_server_come_sorted(rig: Rig) -> None:
    async with ChatServer(lambda _: say("ok"), models=("b", "a"), wire=rig.dialect.wire) as server:
        found = await list_models("local", server.base_url, KEY, http=rig.http, dialect=rig.dialect.name)
        assert tuple(found) == ("a", "b")
        assert KEY in server.requests[0].headers["authorization"]


async def test_the_key_is_in_no_log_and_no_repr(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    async with rig.serving(error(500, KEY), say("ok")) as server:
        model = rig.model(server)
        arrivals = await arrivals_of(model, QUESTION)
    assert KEY not in caplog.text
    assert KEY not in repr(model) + json.dumps([str(arrival) for arrival in arrivals])
