"""Servers that break their specification, as `run` tells of them: a line, and an exit code of its own."""

from __future__ import annotations

import pytest

from helix_desktop.domain.events.conversation import AssistantSpoke, TurnEnded
from helix_desktop.system import exit_codes
from tests.support.cli_rig import Cli
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Delta,
    Disconnect,
    PlainReply,
    Raw,
    Reply,
    StreamedReply,
    Text,
    replies_in_order,
    text_reply,
)

ENDS: dict[str, tuple[StreamedReply, str]] = {
    "length": (StreamedReply(Text("Half of"), finish="length"), "limit of tokens"),
    "filter": (StreamedReply(Text("Half of"), finish="content_filter"), "content filter"),
    "context": (StreamedReply(Text("Half of"), finish="model_length"), "context window is full"),
    "refusal": (StreamedReply(Delta({"refusal": "I won't do that."})), "refused to continue"),
    "call as text": (
        text_reply('<tool_call>{"name": "read_file", "arguments": {"path": "a"}}</tool_call>'),
        "tool call as text",
    ),
}


@pytest.mark.parametrize("name", ENDS)
async def test_an_answer_that_is_not_whole_has_a_line_and_a_code(name: str, cli: Cli) -> None:
    reply, words = ENDS[name]
    async with ChatServer(lambda _: reply) as server:
        result = await cli.run_with_server(server.base_url, "Go.")
    assert result.code == exit_codes.INCOMPLETE, result.err
    assert words in result.err
    events = [line.event for line in result.lines]
    assert any(isinstance(event, AssistantSpoke) and event.stop not in ("end", "calls") for event in events)
    assert isinstance(events[-1], TurnEnded)
    assert events[-1].how == "done"


async def test_a_malformed_call_is_asked_for_once_more(cli: Cli) -> None:
    malformed: Reply = StreamedReply(finish="MALFORMED_FUNCTION_CALL")
    async with ChatServer(replies_in_order(malformed, text_reply("Here."))) as server:
        result = await cli.run_with_server(server.base_url, "Go.")
        assert len(server.bodies) == 2
    assert result.code == 0, result.err
    assert [line.event.text for line in result.lines if isinstance(line.event, AssistantSpoke)] == ["Here."]


async def test_a_quota_in_a_stream_is_told_in_the_server_s_words_and_not_retried(cli: Cli) -> None:
    sent = StreamedReply(Raw(b'data: {"error": {"message": "the monthly quota is exhausted"}}\n\n'))
    async with ChatServer(lambda _: sent) as server:
        result = await cli.run_with_server(server.base_url, "Go.")
        assert len(server.bodies) == 1
    assert result.code == exit_codes.FAILED
    assert "the monthly quota is exhausted." in result.err
    assert "500" not in result.err


NO_END_MARK = StreamedReply(Text("Half of the"), finish="", usage=None, send_done=False)
CUT = StreamedReply(Text("Half of the"), Disconnect())


@pytest.mark.parametrize("broken_off", [NO_END_MARK, CUT], ids=["closed", "cut"])
async def test_the_text_of_an_answer_that_broke_off_is_not_in_the_output(
    broken_off: StreamedReply, cli: Cli
) -> None:
    async with ChatServer(replies_in_order(broken_off, text_reply("The whole answer."))) as server:
        target = ("--model", "local/small", "--base-url", server.base_url)
        plain = await cli.run("Go.", *target)
    async with ChatServer(replies_in_order(broken_off, text_reply("The whole answer."))) as server:
        as_json = await cli.run_with_server(server.base_url, "Go.")
    assert (plain.code, plain.out) == (0, b"The whole answer.\n"), plain
    assert "(attempt 2): The response stopped early" in plain.err
    answers = [line.event.text for line in as_json.lines if isinstance(line.event, AssistantSpoke)]
    assert answers == ["The whole answer."]


async def test_a_server_that_never_marks_the_end_of_its_answers_is_asked_twice_once(cli: Cli) -> None:
    """Then it is known how it ends them. A call counts if it is whole; a text may be incomplete."""
    call = StreamedReply(Call("list_directory", "{}"), finish="", usage=None, send_done=False)
    async with ChatServer(replies_in_order(call, call, NO_END_MARK)) as server:
        result = await cli.run("Go.", "--model", "local/small", "--base-url", server.base_url)
        assert len(server.bodies) == 3
    assert result.code == exit_codes.INCOMPLETE, result.err
    assert result.out == b"Half of the\n"
    assert result.err.count("May be incomplete: the server didn't mark the end of the answer.") == 1


async def test_half_a_call_of_a_stream_without_an_end_never_runs(cli: Cli) -> None:
    half = Delta(
        {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "write_file", "arguments": '{"pa'}}]}
    )
    broken_off = StreamedReply(half, finish="", usage=None, send_done=False)
    replies = replies_in_order(broken_off, broken_off, broken_off, text_reply("Here."))
    async with ChatServer(replies) as server:
        result = await cli.run_with_server(server.base_url, "Go.")
    assert result.code == 0, result.err
    assert [line.event.calls for line in result.lines if isinstance(line.event, AssistantSpoke)] == [()]


async def test_a_rate_limit_is_told_as_one_in_the_server_s_words(cli: Cli) -> None:
    words = "Request too large for m: Limit 9000 tokens per min (TPM), Requested 90000.\u001b[2J"
    refusal = PlainReply(429, {"error": {"message": words, "code": "rate_limit_exceeded"}})
    (cli.project / "long.txt").write_text("A line of the file that is read.\n" * 900)
    read = StreamedReply(Call("read_file", '{"path": "long.txt"}'))
    replies = replies_in_order(
        read, StreamedReply(Call("list_directory", "{}")), refusal, text_reply("Read.")
    )
    async with ChatServer(replies) as server:
        result = await cli.run("Go.", "--model", "local/small", "--base-url", server.base_url)
    assert result.code == 0, result.err
    assert "The request exceeds a rate limit of " in result.err
    assert "Limit 9000 tokens per min (TPM), Requested 90000.\\u001b[2J" in result.err
    assert "\u001b" not in result.err
    assert "It is made smaller and sent again." in result.err


async def test_a_rate_limit_below_what_can_be_left_out_promises_no_smaller_request(cli: Cli) -> None:
    words = "Request too large for m: Limit 10 tokens per min (TPM), Requested 90000."
    refusal = PlainReply(429, {"error": {"message": words, "code": "rate_limit_exceeded"}})
    async with ChatServer(lambda _: refusal) as server:
        result = await cli.run("Go.", "--model", "local/small", "--base-url", server.base_url)
        assert len(server.bodies) == 1
    assert result.code == exit_codes.FAILED
    assert words in result.err
    assert "sent again" not in result.err
