"""Servers that break their specification, as `run` tells of them: a line, and an exit code of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from helix_desktop.app import exit_codes
from helix_desktop.domain.events.conversation import AssistantSpoke, TurnEnded
from tests.support.cli_rig import Cli
from tests.support.model_servers.chat_server import (
    ChatServer,
    Delta,
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
async def test_an_answer_that_is_not_whole_has_a_line_and_a_code(name: str, tmp_path: Path) -> None:
    reply, words = ENDS[name]
    cli = Cli.create(tmp_path)
    async with ChatServer(lambda _: reply) as server:
        result = await cli.run_with_server(server.base_url, "Go.")
    assert result.code == exit_codes.INCOMPLETE, result.err
    assert words in result.err
    events = [line.event for line in result.lines]
    assert any(isinstance(event, AssistantSpoke) and event.stop not in ("end", "calls") for event in events)
    assert isinstance(events[-1], TurnEnded)
    assert events[-1].how == "done"


async def test_a_malformed_call_is_asked_for_once_more(tmp_path: Path) -> None:
    malformed: Reply = StreamedReply(finish="MALFORMED_FUNCTION_CALL")
    cli = Cli.create(tmp_path)
    async with ChatServer(replies_in_order(malformed, text_reply("Here."))) as server:
        result = await cli.run_with_server(server.base_url, "Go.")
        assert len(server.bodies) == 2
    assert result.code == 0, result.err
    assert [line.event.text for line in result.lines if isinstance(line.event, AssistantSpoke)] == ["Here."]


async def test_a_quota_in_a_stream_is_told_in_the_server_s_words_and_not_retried(tmp_path: Path) -> None:
    sent = StreamedReply(Raw(b'data: {"error": {"message": "the monthly quota is exhausted"}}\n\n'))
    cli = Cli.create(tmp_path)
    async with ChatServer(lambda _: sent) as server:
        result = await cli.run_with_server(server.base_url, "Go.")
        assert len(server.bodies) == 1
    assert result.code == exit_codes.FAILED
    assert "the monthly quota is exhausted." in result.err
    assert "500" not in result.err
