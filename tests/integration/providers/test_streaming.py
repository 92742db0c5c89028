"""Streaming models of every dialect against a real local server: answers, faults, retries, canceling."""

from __future__ import annotations

import asyncio
import json
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
    RetryScheduled,
    TextDelta,
)
from helix_desktop.providers.http import HttpClient, Timeouts
from helix_desktop.providers.streaming import StreamedModel
from tests.support.model_contract import collect_stream, final_response
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Disconnect,
    Finish,
    Hang,
    KeepAlives,
    PlainReply,
    Raw,
    Reasoning,
    Reply,
    StreamedReply,
    Text,
    Wait,
    api_error,
    html_page,
    replies_in_order,
    text_reply,
)
from tests.support.model_servers.dialects import DIALECTS, DialectCase, SleepRecorder

KEY = "sk-very-secret-0123456789"
INFO = ModelInfo("local", "small")
QUESTION = ModelRequest((Message("user", "How many?"),))
MAX_ROUNDS = 50
TRIED_AGAIN = [TextDelta, RetryScheduled, TextDelta, ModelResponse]


@pytest.fixture(params=DIALECTS, ids=lambda case: case.name)
def dialect(request: pytest.FixtureRequest) -> DialectCase:
    case: DialectCase = request.param
    return case


@pytest.fixture
def sleeps() -> SleepRecorder:
    return SleepRecorder()


class Rig:
    """A server with a script and a model that uses it."""

    def __init__(self, dialect: DialectCase, http: HttpClient, sleeps: SleepRecorder) -> None:
        self.dialect = dialect
        self.http = http
        self.sleeps = sleeps

    def serving(self, *replies: Reply) -> ChatServer:
        """A server that sends these replies in order."""
        return ChatServer(replies_in_order(*replies), wire_format=self.dialect.wire_format)

    def model(self, server: ChatServer, *, stall_s: float = 60.0) -> StreamedModel:
        return self.dialect.model(server, self.http, self.sleeps.retry_policy, INFO, key=KEY, stall_s=stall_s)

    async def failure_of(self, *replies: Reply) -> ModelError:
        async with self.serving(*replies) as server:
            with pytest.raises(ModelError) as caught:
                await collect_stream(self.model(server), QUESTION)
        assert caught.value.what
        assert caught.value.fix
        assert KEY not in str(caught.value)
        return caught.value


@pytest.fixture
def rig(dialect: DialectCase, http: HttpClient, sleeps: SleepRecorder) -> Rig:
    return Rig(dialect, http, sleeps)


class TestAnswers:
    async def test_deltas_arrive_before_the_answer_ends(self, rig: Rig) -> None:
        """Signs of life are no part of it."""
        more = asyncio.Event()
        beat = Raw(rig.dialect.wire_format.keep_alive)
        async with (
            rig.serving(StreamedReply(beat, Text("a"), Wait(more), beat, beat, Text("b"), beat)) as server,
            aclosing(rig.model(server).stream(QUESTION)) as arrivals,
        ):
            assert await anext(arrivals) == TextDelta("a")
            assert not more.is_set()
            more.set()
            assert await anext(arrivals) == TextDelta("b")

    async def test_one_connection_serves_many_steps(self, rig: Rig) -> None:
        async with rig.serving(text_reply("ok")) as server:
            model = rig.model(server)
            for _ in range(3):
                await collect_stream(model, QUESTION)
            assert server.connections == 1

    @pytest.mark.parametrize(
        "reply",
        [
            StreamedReply(Text("whole"), send_done=False),
            StreamedReply(Text("whole"), finish=""),
            StreamedReply(Text("whole"), Finish("stop"), Disconnect()),
            StreamedReply(Text("whole"), Finish("stop"), Raw(b"data: [DONE]\n\n"), Hang()),
            StreamedReply(Text("whole"), Finish("stop"), Raw(b"data: {half\n\n")),
        ],
        ids=["no end marker", "no reason", "cut after its end", "lingers after its end", "damaged end"],
    )
    async def test_an_answer_is_complete_after_its_finish_reason(self, rig: Rig, reply: Reply) -> None:
        async with rig.serving(reply) as server, asyncio.timeout(300):
            arrivals = await collect_stream(rig.model(server), QUESTION)
        assert [type(arrival) for arrival in arrivals] == [TextDelta, ModelResponse]
        assert isinstance(arrivals[-1], ModelResponse)
        assert (arrivals[-1].text, arrivals[-1].stop) == ("whole", "end")

    async def test_an_answer_cut_at_its_limit_is_marked(self, rig: Rig) -> None:
        async with rig.serving(StreamedReply(Text("half an"), finish="length")) as server:
            assert (await final_response(rig.model(server), QUESTION)).stop == "length"


class TestRetries:
    @pytest.mark.parametrize(
        "cut",
        [
            StreamedReply(Text("half an"), Call("write_file", '{"path": "x"}'), Disconnect()),
            StreamedReply(Text("half"), finish="", send_done=False),
        ],
        ids=["broken off", "without its end"],
    )
    async def test_a_cut_stream_is_discarded_and_retried(self, rig: Rig, cut: Reply) -> None:
        async with rig.serving(cut, text_reply("whole")) as server:
            arrivals = await collect_stream(rig.model(server), QUESTION)
        assert [type(arrival) for arrival in arrivals] == TRIED_AGAIN
        assert isinstance(arrivals[1], RetryScheduled)
        assert (arrivals[1].attempt, arrivals[1].wait_s) == (2, 0.5)
        assert "stopped early" in arrivals[1].reason
        assert isinstance(arrivals[-1], ModelResponse)
        assert (arrivals[-1].text, arrivals[-1].calls) == ("whole", ())
        assert rig.sleeps.durations_s == [0.5]

    async def test_a_busy_server_is_asked_again(self, rig: Rig) -> None:
        busy = PlainReply(503, {"error": {"message": "slow down"}})
        async with rig.serving(busy, busy, busy, text_reply("ok")) as server:
            arrivals = await collect_stream(rig.model(server), QUESTION)
        assert [type(arrival) for arrival in arrivals] == [RetryScheduled] * 3 + [TextDelta, ModelResponse]
        assert rig.sleeps.durations_s == [0.5, 1.0, 2.0]
        assert isinstance(arrivals[0], RetryScheduled)
        assert "slow down" in arrivals[0].reason

    async def test_retry_after_is_honored(self, rig: Rig) -> None:
        replies = [api_error(429, "slow", headers={"retry-after": text}) for text in ("7", "200")]
        async with rig.serving(*replies, text_reply("ok")) as server:
            await collect_stream(rig.model(server), QUESTION)
        assert rig.sleeps.durations_s == [7.0, 200.0]

    async def test_a_server_that_demands_an_hour_is_not_waited_for(self, rig: Rig) -> None:
        failure = await rig.failure_of(api_error(429, "slow", headers={"retry-after": "3600"}))
        assert "The server asks to wait 60 min." in failure.why
        assert rig.sleeps.durations_s == []

    async def test_it_gives_up_after_minutes_with_the_servers_text(self, rig: Rig) -> None:
        failure = await rig.failure_of(api_error(503, f"overloaded, {KEY}"))
        assert isinstance(failure, ModelUnreachable)
        assert "overloaded, [key]" in failure.why
        assert "Tried 25 times in 10 min." in failure.why
        assert len(rig.sleeps.durations_s) == 24

    async def test_an_unreachable_server_is_named(self, rig: Rig) -> None:
        async with rig.serving(text_reply("ok")) as server:
            model = rig.model(server)
            address = server.base_url
        with pytest.raises(ModelUnreachable) as caught:
            await collect_stream(model, QUESTION)
        assert address in caught.value.what
        assert "running" in caught.value.fix
        assert 500 < sum(rig.sleeps.durations_s) <= 600, "a restart takes longer than seconds"

    @pytest.mark.parametrize("kind", ["server_error", "overloaded_error", "rate_limit_exceeded"])
    async def test_an_error_inside_a_stream_is_a_failure(self, rig: Rig, kind: str) -> None:
        wrong = Raw(rig.dialect.wire_format.stream_error(kind, "upstream gone"))
        async with rig.serving(StreamedReply(Text("half"), wrong, Hang()), text_reply("whole")) as server:
            arrivals = await collect_stream(rig.model(server), QUESTION)
        assert [type(arrival) for arrival in arrivals] == TRIED_AGAIN
        assert isinstance(arrivals[1], RetryScheduled)
        assert arrivals[1].reason == "upstream gone", "no status that was not sent"

    @pytest.mark.parametrize("parts", [(), (Text("half"),)], ids=["at once", "inside"])
    async def test_silence_is_a_failure(self, rig: Rig, parts: tuple[Text, ...]) -> None:
        impatient = Rig(rig.dialect, HttpClient(Timeouts(read_s=0.2)), rig.sleeps)
        async with rig.serving(StreamedReply(*parts, Hang()), text_reply("whole")) as server:
            arrivals = await collect_stream(impatient.model(server), QUESTION)
            await impatient.http.aclose()
        retries = [arrival for arrival in arrivals if isinstance(arrival, RetryScheduled)]
        assert {"stopped responding" in retry.reason for retry in retries} == {True}
        assert isinstance(arrivals[-1], ModelResponse)

    @pytest.mark.parametrize("parts", [(), (Text("half"),)], ids=["at once", "inside"])
    async def test_keep_alives_do_not_extend_an_answer_for_ever(
        self, rig: Rig, parts: tuple[Text, ...]
    ) -> None:
        async with rig.serving(StreamedReply(*parts, KeepAlives()), text_reply("whole")) as server:
            arrivals = await collect_stream(rig.model(server, stall_s=0.3), QUESTION)
        retries = [arrival for arrival in arrivals if isinstance(arrival, RetryScheduled)]
        assert {"kept the connection open" in retry.reason for retry in retries} == {True}
        assert isinstance(arrivals[-1], ModelResponse)


class TestRefusals:
    async def test_a_wrong_key(self, rig: Rig) -> None:
        failure = await rig.failure_of(api_error(401, f"Incorrect API key: {KEY}."))
        assert isinstance(failure, ModelRequestRejected)
        assert failure.what == "local rejected the API key."
        assert failure.why == "The key is wrong, has expired, or was revoked."
        assert failure.details == "Incorrect API key: [key]."
        assert rig.sleeps.durations_s == []

    async def test_overflow_before_and_inside_a_stream(self, rig: Rig) -> None:
        words = "prompt is too long: 215000 tokens > 200000 maximum"
        inside = StreamedReply(Raw(rig.dialect.wire_format.stream_error("invalid_request_error", words)))
        for reply in (api_error(400, words), inside):
            assert isinstance(await rig.failure_of(reply), ContextWindowExceeded)
        assert rig.sleeps.durations_s == []

    async def test_a_withheld_answer_is_reported(self, rig: Rig) -> None:
        assert isinstance(
            await rig.failure_of(StreamedReply(Reasoning("hm"), finish="content_filter")),
            ModelRequestRejected,
        )


class TestNonsense:
    @pytest.mark.parametrize(
        "reply",
        [
            html_page(),
            StreamedReply(Raw(b"<html>hello</html>\n"), finish="", send_done=False),
            StreamedReply(Raw(b"data: [1, 2]\n\n")),
            PlainReply(200, "{not json"),
            PlainReply(200, {"hello": "world"}),
            StreamedReply(),
            StreamedReply(Text("  \n")),
            StreamedReply(Reasoning("thinking"), finish="length"),
            StreamedReply(Raw(b"data: " + b"x" * (17 * 1024 * 1024))),
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
            "too much",
        ],
    )
    async def test_an_invalid_answer_is_reported_once(self, rig: Rig, reply: Reply) -> None:
        assert isinstance(await rig.failure_of(reply), InvalidModelResponse)
        assert rig.sleeps.durations_s == []

    async def test_a_damaged_piece_is_like_a_cut(self, rig: Rig) -> None:
        damaged = StreamedReply(Text("So far"), Raw(b"data: {half\n\n"))
        async with rig.serving(damaged, text_reply("whole")) as server:
            assert (await final_response(rig.model(server), QUESTION)).text == "whole"
        assert isinstance(await rig.failure_of(damaged), InvalidModelResponse)


class _LoopRounds:
    def __init__(self) -> None:
        self.count = 0
        self._is_running = True
        asyncio.get_running_loop().call_soon(self._tick)

    def _tick(self) -> None:
        self.count += 1
        if self._is_running:
            asyncio.get_running_loop().call_soon(self._tick)

    def stop(self) -> None:
        self._is_running = False


class _EndlessSleeps(SleepRecorder):
    """Sleeps that do not end."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = asyncio.Event()

    async def pause(self, seconds: float, skip: asyncio.Event) -> None:
        self.begun.set()
        await asyncio.Event().wait()


class TestCanceling:
    @pytest.mark.parametrize(
        "parts", [(Hang(),), (Text("a"), Hang()), (KeepAlives(),)], ids=["before", "in", "idle"]
    )
    async def test_a_canceled_call_ends_at_once_and_closes_its_connection(
        self, rig: Rig, parts: tuple[Any, ...]
    ) -> None:
        """In order: the user's stop, the call's end a few loop iterations later, the server's notice.

        Only the client's close can unblock the server: it waits for ever.
        """
        order: list[str] = []
        async with rig.serving(StreamedReply(*parts)) as server, asyncio.TaskGroup() as group:
            asking = group.create_task(collect_stream(rig.model(server), QUESTION))
            asking.add_done_callback(lambda _: order.append("ended"))
            await server.waiting.wait()
            rounds = _LoopRounds()
            order.append("stopped")
            asking.cancel()
            await asyncio.wait((asking,))
            ended_after = rounds.count
            rounds.stop()
            await server.abandoned.wait()
            order.append("noticed")
        assert asking.cancelled()
        assert order == ["stopped", "ended", "noticed"]
        assert ended_after <= MAX_ROUNDS

    async def test_a_call_can_be_canceled_while_it_waits_for_a_retry(self, rig: Rig) -> None:
        sleeps = _EndlessSleeps()
        tired = Rig(rig.dialect, rig.http, sleeps)
        async with rig.serving(api_error(503, "busy")) as server, asyncio.TaskGroup() as group:
            asking = group.create_task(collect_stream(tired.model(server), QUESTION))
            await sleeps.begun.wait()
            asking.cancel()
            await asyncio.wait((asking,))
            assert asking.cancelled()
            assert len(server.requests) == 1

    async def test_closing_the_iterator_closes_the_connection(self, rig: Rig) -> None:
        async with rig.serving(StreamedReply(Text("a"), Hang())) as server:
            async with aclosing(rig.model(server).stream(QUESTION)) as arrivals:
                await anext(arrivals)
            async with asyncio.timeout(300):
                await server.abandoned.wait()

    @pytest.mark.qt_loop
    async def test_it_works_and_cancels_on_the_qt_loop(self, dialect: DialectCase) -> None:
        http = HttpClient()
        rig = Rig(dialect, http, SleepRecorder())
        async with rig.serving(text_reply("ok"), StreamedReply(Text("a"), Hang())) as server:
            model = rig.model(server)
            assert (await final_response(model, QUESTION)).text == "ok"
            async with asyncio.TaskGroup() as group:
                asking = group.create_task(collect_stream(model, QUESTION))
                await server.waiting.wait()
                asking.cancel()
                await asyncio.wait((asking,))
            async with asyncio.timeout(300):
                await server.abandoned.wait()
        await http.aclose()


async def test_the_key_is_in_no_log_and_no_repr(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    async with rig.serving(api_error(500, KEY), text_reply("ok")) as server:
        model = rig.model(server)
        arrivals = await collect_stream(model, QUESTION)
    assert KEY not in caplog.text
    assert KEY not in repr(model) + json.dumps([str(arrival) for arrival in arrivals])
