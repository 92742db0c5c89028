"""Complete turns against aimock: parallel calls, slow streams, cuts; its journal matches our requests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import pytest

from helix_desktop.agent.ports import Model
from helix_desktop.agent.session import ResponseDelta
from helix_desktop.domain.dialects import DialectName
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded
from helix_desktop.domain.messages import ModelRequest
from helix_desktop.providers.http import HttpClient, Timeouts
from helix_desktop.providers.retry import RetryPolicy
from tests.support.model_servers.aimock import PACKAGE, AiMock, run_aimock
from tests.support.model_servers.connect import connect_model
from tests.support.peer_rig import PeerRig, peer_rig, small_model_info

pytestmark = pytest.mark.needs_peer(package=PACKAGE)

LONG = " ".join(f"Sentence {number} says hällo 😀 once more." for number in range(12))
READ = {"name": "read_file", "arguments": {"path": "a.txt"}}
LIST = {"name": "list_directory", "arguments": {"path": "."}}
GONE = {"name": "read_file", "arguments": {"path": "gone.txt"}}

_FAULTS: Mapping[str, Mapping[str, Any]] = {
    "cut at once": {"truncateAfterChunks": 1},
    "cut in the middle": {"truncateAfterChunks": 9},
    "hung up in the middle": {"disconnectAfterMs": 60, "latency": 20},
    "dropped": {"chaos": {"dropRate": 1}},
    "thrown out": {"chaos": {"disconnectRate": 1}},
    "told to wait": {"chaos": {"rateLimitRate": 1}},
}
"""Met by the first request that says the words."""

SCRIPT: Sequence[Mapping[str, Any]] = [
    {
        "match": {"userMessage": "side by side", "hasToolResult": False},
        "response": {"content": "I look.", "reasoning": "Three at once.", "toolCalls": [READ, LIST, GONE]},
    },
    {"match": {"userMessage": "side by side"}, "response": {"content": "All three are back."}},
    {
        "match": {"userMessage": "calls first", "hasToolResult": False},
        "response": {
            "blocks": [
                {"type": "toolCall", **READ},
                {"type": "text", "text": "While that is read,"},
                {"type": "toolCall", **LIST},
                {"type": "text", "text": " I look around."},
            ]
        },
    },
    {"match": {"userMessage": "calls first"}, "response": {"content": "Done."}},
    {
        "match": {"userMessage": "drip"},
        "response": {"content": LONG},
        "chunkSize": 7,
        "streamingProfile": {"ttft": 300, "tps": 45, "jitter": 0.8},
    },
    *[
        {"match": {"userMessage": words, "sequenceIndex": 0}, "response": {"content": LONG}, **fault}
        for words, fault in _FAULTS.items()
    ],
    {"match": {"userMessage": "garbled"}, "response": {"content": LONG}, "chaos": {"malformedRate": 1}},
    {"match": {"userMessage": "in the end"}, "response": {"content": LONG}},
]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[AiMock]:
    with run_aimock(tmp_path, SCRIPT) as running:
        yield running


@pytest.fixture(params=get_args(DialectName))
async def rig(request: pytest.FixtureRequest, server: AiMock, tmp_path: Path) -> AsyncIterator[PeerRig]:
    """A conversation with that server in each dialect, in a folder with one file."""

    def make(http: HttpClient) -> Model:
        paced = RetryPolicy(patience_s=1.0, first_wait_s=0.1)
        return connect_model(
            request.param,
            small_model_info("gpt-5"),
            f"{server.address}/v1",
            "sk-of-a-test",
            http=http,
            retry_policy=paced,
        )

    async with peer_rig(tmp_path, make, timeouts=Timeouts(read_s=1.0)) as working:
        (working.root / "a.txt").write_text("Alpha: ä 😀\n", encoding="utf-8")
        yield working


def comparable(request: ModelRequest) -> list[tuple[Any, ...]]:
    """Return a request's messages as we mean them: role, text, calls, answered call."""
    return [
        (
            message.role,
            message.text,
            [(call.id, call.name, call.arguments) for call in message.calls],
            message.call_id,
        )
        for message in request.messages
    ]


def understood(body: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Return the same as the server parsed it; consecutive messages of one role are one message."""
    messages: list[tuple[Any, ...]] = []
    for message in body["messages"]:
        calls = [
            (call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in message.get("tool_calls", ())
        ]
        text = message["content"] or ""
        if message["role"] == "assistant" and messages and messages[-1][0] == "assistant":
            _, before, question, _ = messages.pop()
            text, calls = before + text, [*question, *calls]
        messages.append((message["role"], text, calls, message.get("tool_call_id", "")))
    return messages


async def test_the_journal_matches_the_request(rig: PeerRig, server: AiMock) -> None:
    """Every request of three turns with three calls each, word by word, and the tools with their schemas."""
    for number in range(3):
        assert await rig.run_turn(f'Look side by side, for time {number}. ä 😀 "quoted" \\ \n') == TurnEnded(
            "done"
        )
    journal = server.journal()
    assert len(journal) == len(rig.model.requests) == 6
    for entry, request in zip(journal, rig.model.requests, strict=True):
        assert understood(entry["body"]) == comparable(request)
        offered = [tool["function"] for tool in entry["body"]["tools"]]
        assert [(tool["name"], tool["description"], tool["parameters"]) for tool in offered] == [
            (spec.name, spec.description, spec.parameters) for spec in request.tools
        ]
    assert [len(event.calls) for event in rig.events(AssistantSpoke)] == [3, 0] * 3
    assert sorted(event.ok for event in rig.events(ToolAnswered)) == [False] * 3 + [True] * 6
    assert {event.reasoning for event in rig.events(AssistantSpoke) if event.calls} == {"Three at once."}
    await rig.assert_consistent()


async def test_calls_may_come_before_text(rig: PeerRig, server: AiMock) -> None:
    """Between calls and after them: nothing of either is lost, and the next request is understood."""
    assert await rig.run_turn("Begin with calls first.") == TurnEnded("done")
    answer, _ = rig.events(AssistantSpoke)
    assert answer.text.replace("\n", "") == "While that is read, I look around."
    assert [call.name for call in answer.calls] == ["read_file", "list_directory"]
    last = understood(server.journal()[-1]["body"])
    assert [call[1] for call in last[-3][2]] == ["read_file", "list_directory"]
    assert [(message[0], message[3]) for message in last[-2:]] == [("tool", call.id) for call in answer.calls]
    await rig.assert_consistent()


async def test_a_slow_stream_is_displayed_as_it_arrives(rig: PeerRig, server: AiMock) -> None:
    """No silence exceeds our limit, the full answer does: it is awaited, and requested once."""
    assert await rig.run_turn("Let it drip.") == TurnEnded("done")
    arrived = [update.text for update in rig.updates if isinstance(update, ResponseDelta)]
    assert "".join(arrived) == LONG
    assert len(arrived) > 20
    assert [event.text for event in rig.events(AssistantSpoke)] == [LONG]
    assert len(server.journal()) == 1


@pytest.mark.parametrize("fault", _FAULTS)
async def test_a_fault_is_outlasted(fault: str, rig: PeerRig, server: AiMock) -> None:
    """The same request again, and the answer once."""
    assert await rig.run_turn(f"It is {fault}, but comes in the end.") == TurnEnded("done")
    assert [event.text for event in rig.events(AssistantSpoke)] == [LONG]
    assert len(rig.response_resets()) == 1
    first, second = (entry["body"] for entry in server.journal())
    assert first == second
    await rig.assert_consistent()


async def test_a_reply_that_is_not_json_is_reported(rig: PeerRig, server: AiMock) -> None:
    """Once: this is no transport damage, something else answers there."""
    ended = await rig.run_turn("It is garbled.")
    assert (ended.how, len(server.journal())) == ("failed", 1)
    assert "malformed json" in ended.why
    assert "base URL" in ended.fix


async def test_an_unexpected_request_is_reported(rig: PeerRig) -> None:
    """The turn's end has the server's own message."""
    ended = await rig.run_turn("Something else.")
    assert ended.how == "failed"
    assert "fixture" in f"{ended.what} {ended.why}".lower()
    assert ended.fix
