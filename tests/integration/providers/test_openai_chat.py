"""A streaming model against a real local server: answers, faults, retries, cancelling."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field

import pytest

from helix_desktop.context.errors import (
    ModelError,
    ModelNonsense,
    ModelOverflow,
    ModelRefused,
    ModelUnreachable,
)
from helix_desktop.context.message import (
    Answer,
    Arrival,
    Message,
    ModelInfo,
    ReasoningArrived,
    Request,
    Retrying,
    TextArrived,
    ToolCall,
    ToolSpec,
    Usage,
)
from helix_desktop.providers.http import Http, Timeouts
from helix_desktop.providers.listing import list_models
from helix_desktop.providers.openai_chat import OpenAIChat
from helix_desktop.providers.retry import Retries
from tests.support.chat_server import (
    Call,
    ChatServer,
    Counts,
    Cut,
    Delta,
    Finish,
    Hang,
    Raw,
    Reasoning,
    Refusal,
    Reply,
    Stream,
    Text,
    Wait,
    error,
    in_turn,
    page,
    say,
)

KEY = "sk-very-secret-0123456789"
INFO = ModelInfo("local", "small")
QUESTION = Request((Message("user", "How many?"),))
READ = ToolSpec("read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


@dataclass
class Naps:
    """Sleeps that take no time, and how long each would have been."""

    taken: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        """Take a note instead of sleeping."""
        self.taken.append(seconds)


@pytest.fixture
async def http() -> AsyncIterator[Http]:
    client = Http(Timeouts(read_s=20))
    yield client
    await client.aclose()


@pytest.fixture
def naps() -> Naps:
    return Naps()


def model(server: ChatServer, http: Http, naps: Naps | None = None, key: str = KEY) -> OpenAIChat:
    naps = naps or Naps()
    ids = iter(range(1000))
    retries = Retries(sleep=naps.sleep, chance=lambda: 0.0)
    return OpenAIChat(
        INFO, server.base_url, key, http=http, retries=retries, new_id=lambda: f"made_{next(ids)}"
    )


async def ask(chat: OpenAIChat, request: Request = QUESTION) -> list[Arrival]:
    return [arrival async for arrival in chat.stream(request)]


async def answer_to(chat: OpenAIChat, request: Request = QUESTION) -> Answer:
    last = (await ask(chat, request))[-1]
    assert isinstance(last, Answer)
    return last


async def failure_of(*replies: Reply, http: Http, naps: Naps | None = None) -> ModelError:
    async with ChatServer(in_turn(*replies)) as server:
        with pytest.raises(ModelError) as caught:
            await ask(model(server, http, naps))
    assert caught.value.what
    assert caught.value.fix
    assert KEY not in str(caught.value)
    return caught.value


class TestAnswers:
    async def test_text_arrives_in_pieces_and_whole_at_the_end(self, http: Http) -> None:
        reply = Stream(Reasoning("Let me count."), Text("For"), Text("ty-two."), usage=Counts(90, 12, 64))
        async with ChatServer(lambda _: reply) as server:
            arrivals = await ask(model(server, http))
        assert arrivals[:-1] == [
            ReasoningArrived("Let me count."),
            TextArrived("For"),
            TextArrived("ty-two."),
        ]
        answer = arrivals[-1]
        assert isinstance(answer, Answer)
        assert (answer.text, answer.reasoning, answer.stop) == ("Forty-two.", "Let me count.", "end")
        assert answer.usage == Usage(90, 12, 64)

    async def test_pieces_come_before_the_answer_is_over(self, http: Http) -> None:
        more = asyncio.Event()
        reply = Stream(Text("a"), Wait(more), Text("b"))
        async with (
            ChatServer(lambda _: reply) as server,
            aclosing(model(server, http).stream(QUESTION)) as arrivals,
        ):
            assert await anext(arrivals) == TextArrived("a")
            assert not more.is_set()
            more.set()
            assert await anext(arrivals) == TextArrived("b")

    async def test_parallel_calls_are_put_together(self, http: Http) -> None:
        reply = Stream(
            Text("Looking."),
            Call("read_file", '{"path": "größe.py"}', "c1"),
            Call("read_file", '{"path": "b.py"}', "c2"),
        )
        async with ChatServer(lambda _: reply) as server:
            answer = await answer_to(model(server, http), Request(QUESTION.messages, (READ,)))
        assert answer.calls == (
            ToolCall("c1", "read_file", '{"path": "größe.py"}'),
            ToolCall("c2", "read_file", '{"path": "b.py"}'),
        )
        assert answer.stop == "calls"

    async def test_the_request_carries_key_tools_and_no_sampling_parameters(self, http: Http) -> None:
        async with ChatServer(lambda _: say("ok")) as server:
            await ask(model(server, http), Request(QUESTION.messages, (READ,)))
            sent = server.requests[0]
        assert sent.headers["authorization"] == f"Bearer {KEY}"
        assert sent.json == {
            "model": "small",
            "messages": [{"role": "user", "content": "How many?"}],
            "stream": True,
            "stream_options": {"include_usage": True},
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "read_file",
                        "description": "Reads a file.",
                        "parameters": READ.parameters,
                    },
                }
            ],
        }

    async def test_no_key_sends_no_authorization(self, http: Http) -> None:
        async with ChatServer(lambda _: say("ok")) as server:
            await ask(model(server, http, key=""))
            assert "authorization" not in server.requests[0].headers

    async def test_one_connection_serves_many_steps(self, http: Http) -> None:
        async with ChatServer(lambda _: say("ok")) as server:
            chat = model(server, http)
            for _ in range(3):
                await ask(chat)
            assert server.connections == 1

    async def test_an_assistant_message_goes_back_as_it_came(self, http: Http) -> None:
        signed = {
            "index": 0,
            "id": "c1",
            "type": "function",
            "extra_content": {"google": {"thought_signature": "abc=="}},
            "function": {"name": "read_file", "arguments": '{"path":"a"}'},
        }
        first = Stream(Reasoning("hm"), Delta({"tool_calls": [signed]}), finish="tool_calls")
        async with ChatServer(in_turn(first, say("ok"))) as server:
            chat = model(server, http)
            answer = await answer_to(chat)
            spoken = Message("assistant", answer.text, answer.calls, verbatim=answer.verbatim)
            result = Message("tool", "text of a", call_id="c1", name="read_file")
            await ask(chat, Request((*QUESTION.messages, spoken, result)))
            sent = server.bodies[1]["messages"][1:]
        del signed["index"]
        assert sent == [
            {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [signed]},
            {"role": "tool", "tool_call_id": "c1", "content": "text of a"},
        ]

    @pytest.mark.parametrize(
        ("reply", "text"),
        [
            (Stream(Text("whole"), done=False), "whole"),
            (Stream(Text("whole"), finish=""), "whole"),
            (Stream(Text("whole"), Finish("stop"), Cut()), "whole"),
            (Stream(Text("whole"), finish="EOS"), "whole"),
            (Stream(Raw(b": keep-alive\n\n"), Text("whole"), Raw(b"event: ping\ndata: {}\n\n")), "whole"),
            (
                Refusal(200, {"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]}),
                "whole",
            ),
        ],
        ids=["no end marker", "no reason", "cut after its end", "odd reason", "keep-alive", "not streamed"],
    )
    async def test_habits_of_compatible_servers(self, http: Http, reply: Reply, text: str) -> None:
        async with ChatServer(lambda _: reply) as server:
            arrivals = await ask(model(server, http))
        assert [type(arrival) for arrival in arrivals] == [TextArrived, Answer]
        assert isinstance(arrivals[-1], Answer)
        assert (arrivals[-1].text, arrivals[-1].stop) == (text, "end")

    async def test_a_server_that_lingers_after_its_end_marker_is_not_waited_for(self, http: Http) -> None:
        reply = Stream(Text("whole"), Finish("stop"), Raw(b"data: [DONE]\n\n"), Hang())
        async with ChatServer(lambda _: reply) as server, asyncio.timeout(5):
            assert (await answer_to(model(server, http))).text == "whole"

    async def test_usage_is_not_asked_for_again_where_the_field_is_unknown(self, http: Http) -> None:
        def script(request: dict[str, object]) -> Reply:
            if "stream_options" in request:
                return error(400, "Extra inputs are not permitted: stream_options")
            return say("ok")

        async with ChatServer(script) as server:
            chat = model(server, http)
            assert [type(arrival) for arrival in await ask(chat)] == [TextArrived, Answer]
            await ask(chat)
            assert ["stream_options" in body for body in server.bodies] == [True, False, False]


class TestRetries:
    async def test_a_cut_stream_is_void_and_asked_again(self, http: Http, naps: Naps) -> None:
        cut = Stream(Text("half an"), Call("write_file", '{"path": "x"}'), Cut())
        async with ChatServer(in_turn(cut, say("whole"))) as server:
            arrivals = await ask(model(server, http, naps))
        kinds = [type(arrival) for arrival in arrivals]
        assert kinds == [TextArrived, Retrying, TextArrived, Answer]
        assert isinstance(arrivals[1], Retrying)
        assert (arrivals[1].attempt, arrivals[1].wait_s) == (2, 0.5)
        assert "broke off" in arrivals[1].reason
        assert isinstance(arrivals[-1], Answer)
        assert (arrivals[-1].text, arrivals[-1].calls) == ("whole", ())
        assert naps.taken == [0.5]

    async def test_a_stream_without_its_end_is_a_cut_one(self, http: Http) -> None:
        async with ChatServer(in_turn(Stream(Text("half"), finish="", done=False), say("whole"))) as server:
            kinds = [type(arrival) for arrival in await ask(model(server, http))]
        assert kinds == [TextArrived, Retrying, TextArrived, Answer]

    @pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503])
    async def test_busy_servers_are_asked_again(self, http: Http, naps: Naps, status: int) -> None:
        busy = Refusal(status, {"error": {"message": "slow down"}})
        async with ChatServer(in_turn(busy, busy, busy, say("ok"))) as server:
            arrivals = await ask(model(server, http, naps))
        assert [type(arrival) for arrival in arrivals] == [Retrying] * 3 + [TextArrived, Answer]
        assert naps.taken == [0.5, 1.0, 2.0]

    async def test_retry_after_is_honoured_and_capped(self, http: Http, naps: Naps) -> None:
        replies = [error(429, "slow", headers={"retry-after": text}) for text in ("7", "9999")]
        async with ChatServer(in_turn(*replies, say("ok"))) as server:
            await ask(model(server, http, naps))
        assert naps.taken == [7.0, 60.0]

    async def test_it_gives_up_after_four_attempts_with_the_servers_words(
        self, http: Http, naps: Naps
    ) -> None:
        failure = await failure_of(error(503, f"overloaded, {KEY}"), http=http, naps=naps)
        assert isinstance(failure, ModelUnreachable)
        assert "overloaded, [key]" in failure.why
        assert "4 times" in failure.why
        assert len(naps.taken) == 3

    async def test_a_server_that_is_down_is_named(self, http: Http, naps: Naps) -> None:
        async with ChatServer(lambda _: say("ok")) as server:
            chat = model(server, http, naps)
            address = server.base_url
        with pytest.raises(ModelUnreachable) as caught:
            await ask(chat)
        assert address in caught.value.what
        assert "running" in caught.value.fix
        assert len(naps.taken) == 3

    async def test_an_error_inside_a_stream_is_a_failure(self, http: Http) -> None:
        wrong = Raw(b'data: {"error": {"code": 502, "message": "upstream gone"}}\n\n')
        async with ChatServer(in_turn(Stream(Text("half"), wrong), say("whole"))) as server:
            arrivals = await ask(model(server, http))
        assert isinstance(arrivals[1], Retrying)
        assert "upstream gone" in arrivals[1].reason

    async def test_silence_is_a_failure(self, naps: Naps) -> None:
        impatient = Http(Timeouts(read_s=0.2))
        try:
            async with ChatServer(in_turn(Stream(Text("half"), Hang()), say("whole"))) as server:
                arrivals = await ask(model(server, impatient, naps))
            assert isinstance(arrivals[1], Retrying)
            assert "silent" in arrivals[1].reason
        finally:
            await impatient.aclose()


class TestRefusals:
    async def test_a_wrong_key(self, http: Http, naps: Naps) -> None:
        failure = await failure_of(error(401, f"Incorrect API key: {KEY}."), http=http, naps=naps)
        assert isinstance(failure, ModelRefused)
        assert failure.what == "local refused the key."
        assert failure.why == "Incorrect API key: [key]."
        assert naps.taken == []

    async def test_an_unknown_model(self, http: Http) -> None:
        failure = await failure_of(error(404, "The model `small` does not exist"), http=http)
        assert isinstance(failure, ModelRefused)
        assert "small" in failure.what

    async def test_no_credit_is_not_retried(self, http: Http, naps: Naps) -> None:
        failure = await failure_of(error(429, "You exceeded your quota", "insufficient_quota"), http=http)
        assert isinstance(failure, ModelRefused)
        assert "credit" in failure.what
        assert naps.taken == []

    async def test_a_redirect_is_not_followed(self, http: Http) -> None:
        failure = await failure_of(Refusal(307, "", {"location": "http://127.0.0.1:9/v1"}), http=http)
        assert isinstance(failure, ModelRefused)
        assert "127.0.0.1:9" in failure.why

    @pytest.mark.parametrize(
        "reply",
        [
            error(400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded"),
            error(400, "the request exceeds the available context size, try increasing it"),
            error(400, "prompt is too long: 215000 tokens > 200000 maximum"),
            error(413, "Request too large: please reduce the length of the messages"),
            Refusal(
                400, {"object": "error", "message": "maximum context length is 1024 tokens", "code": 400}
            ),
            Refusal(500, {"error": "Context size has been exceeded."}),
            Stream(
                Raw(b'event: error\ndata: {"error": "tokens to keep exceed the context length of 8"}\n\n')
            ),
        ],
        ids=["openai", "llama.cpp", "anthropic", "413", "vllm", "lm studio", "inside a stream"],
    )
    async def test_overflow_is_told_from_other_refusals(self, http: Http, naps: Naps, reply: Reply) -> None:
        failure = await failure_of(reply, http=http, naps=naps)
        assert isinstance(failure, ModelOverflow)
        assert naps.taken == []

    async def test_a_limit_per_minute_is_no_overflow(self, http: Http, naps: Naps) -> None:
        limit = "Request too large for gpt on tokens per minute; context length is fine"
        assert isinstance(await failure_of(error(429, limit), http=http, naps=naps), ModelUnreachable)


class TestNonsense:
    @pytest.mark.parametrize(
        "reply",
        [
            page(),
            Stream(Raw(b"<html>hello</html>\n"), finish="", done=False),
            Stream(Raw(b"data: {half\n\n")),
            Stream(Raw(b"data: [1, 2]\n\n")),
            Refusal(200, "{not json"),
            Refusal(200, {"choices": []}),
            Refusal(200, {"hello": "world"}),
            Stream(),
            Stream(Text("  \n")),
            Stream(Reasoning("thinking"), finish="length"),
            Stream(Delta({"tool_calls": [{"index": 0, "id": "c", "function": {"arguments": "{}"}}]})),
            Stream(Raw(b"data: " + b"x" * (9 * 1024 * 1024))),
        ],
        ids=lambda reply: type(reply).__name__,
    )
    async def test_what_is_no_answer_is_said_once(self, http: Http, naps: Naps, reply: Reply) -> None:
        assert isinstance(await failure_of(reply, http=http, naps=naps), ModelNonsense)
        assert naps.taken == []

    async def test_a_held_back_answer(self, http: Http) -> None:
        failure = await failure_of(Stream(finish="content_filter"), http=http)
        assert isinstance(failure, ModelRefused)

    async def test_a_wrong_address_is_explained(self, http: Http) -> None:
        chat = OpenAIChat(INFO, "localhost-without-scheme", http=http)
        with pytest.raises(ModelUnreachable, match="https://host/v1"):
            await ask(chat)

    async def test_a_key_that_cannot_be_sent(self, http: Http) -> None:
        async with ChatServer(lambda _: say("ok")) as server:
            with pytest.raises(ModelRefused, match="Paste the key again"):
                await ask(model(server, http, key="sk-\u201cquoted\u201d"))


class TestCancelling:
    @pytest.mark.parametrize("parts", [(Hang(),), (Text("a"), Hang())], ids=["before", "inside"])
    async def test_cancelling_closes_the_connection_within_100_ms(
        self, http: Http, parts: tuple[Text | Hang, ...]
    ) -> None:
        took: list[float] = []
        async with ChatServer(lambda _: Stream(*parts)) as server, asyncio.TaskGroup() as group:
            for _ in range(5):
                server.waiting.clear()
                server.abandoned.clear()
                asking = group.create_task(ask(model(server, http)))
                await server.waiting.wait()
                started = time.perf_counter()
                asking.cancel()
                await server.abandoned.wait()
                await asyncio.wait((asking,))
                took.append(time.perf_counter() - started)
                assert asking.cancelled()
        # The best of five: other work on the machine is not what is tested.
        assert min(took) < 0.1

    async def test_closing_the_iterator_closes_the_connection(self, http: Http) -> None:
        async with ChatServer(lambda _: Stream(Text("a"), Hang())) as server:
            async with aclosing(model(server, http).stream(QUESTION)) as arrivals:
                await anext(arrivals)
            async with asyncio.timeout(5):
                await server.abandoned.wait()

    @pytest.mark.qt_loop
    async def test_it_works_and_cancels_on_the_qt_loop(self, qapp: object) -> None:
        http = Http()
        async with ChatServer(in_turn(say("ok"), Stream(Text("a"), Hang()))) as server:
            chat = model(server, http)
            assert (await answer_to(chat)).text == "ok"
            async with asyncio.TaskGroup() as group:
                asking = group.create_task(ask(chat))
                await server.waiting.wait()
                asking.cancel()
                await asyncio.wait((asking,))
            async with asyncio.timeout(5):
                await server.abandoned.wait()
        await http.aclose()


class TestListing:
    async def test_names_come_sorted(self, http: Http) -> None:
        async with ChatServer(lambda _: say("ok"), models=("b", "a")) as server:
            assert tuple(await list_models("local", server.base_url + "/", KEY, http=http)) == ("a", "b")
            assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"

    async def test_a_wrong_path_is_explained(self, http: Http) -> None:
        async with ChatServer(lambda _: say("ok")) as server:
            with pytest.raises(ModelRefused, match="most end in /v1"):
                await list_models("local", server.base_url.removesuffix("/v1"), http=http)

    async def test_a_server_that_is_down(self, http: Http) -> None:
        with pytest.raises(ModelUnreachable):
            await list_models("local", "http://127.0.0.1:1/v1", http=http)


async def test_the_key_is_in_no_log_and_no_repr(http: Http, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    async with ChatServer(in_turn(error(500, KEY), say("ok"))) as server:
        chat = model(server, http)
        arrivals = await ask(chat)
    assert KEY not in caplog.text
    assert KEY not in repr(chat) + json.dumps([str(arrival) for arrival in arrivals])
