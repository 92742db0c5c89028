"""Complete turns against llmock, which fails in every way it can and grades us: its verdict stays clean."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.agent.ports import Model
from helix_desktop.domain.dialects import DialectName
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.providers.http import HttpClient, Timeouts
from helix_desktop.providers.retry import RetryPolicy
from tests.support.model_servers.connect import connect_model
from tests.support.model_servers.llmock import Behavior, LlMock, run_llmock
from tests.support.peer_rig import PeerRig, peer_rig, small_model_info

pytestmark = pytest.mark.needs_peer(module="llmock")

REPLY_TEXT = "The readme names three modules, and the second one is the parser."
SAY: Behavior = {"type": "reply", "text": REPLY_TEXT}
READ: Behavior = {
    "type": "reply",
    "text": "Let me read both.",
    "tool_calls": [
        {"name": "read_file", "arguments": {"path": "readme.txt"}},
        {"name": "read_file", "arguments": {"path": "notes.txt"}},
    ],
}
PATHS: Mapping[DialectName, str] = {
    "openai-chat": "/v1",
    "openai-responses": "/v1",
    "anthropic": "/anthropic/v1",
}
"""Where the server speaks each dialect."""

PACE = RetryPolicy(patience_s=2.0, first_wait_s=0.2)
PATIENCE = Timeouts(read_s=0.6)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlMock]:
    """One server for all cases: it takes a second to start.

    It sends piece by piece: one that has sent everything before we disconnect counts that as reading on.
    """
    with run_llmock(tmp_path_factory.mktemp("llmock"), "--stream-chunk-delay-ms", "15") as running:
        yield running


@pytest.fixture(params=PATHS)
def dialect(request: pytest.FixtureRequest) -> DialectName:
    dialect_name: DialectName = request.param
    return dialect_name


@pytest.fixture
async def rig(server: LlMock, tmp_path: Path, dialect: DialectName) -> AsyncIterator[PeerRig]:
    async with at_work(server, tmp_path, dialect) as working:
        server.reset()
        yield working


@asynccontextmanager
async def at_work(
    server: LlMock, folder: Path, dialect: DialectName, pace: RetryPolicy = PACE
) -> AsyncIterator[PeerRig]:
    """A rig over a folder with two files, against a server."""

    def make(http: HttpClient) -> Model:
        address = f"{server.address}{PATHS[dialect]}"
        return connect_model(
            dialect, small_model_info("gpt-5"), address, "sk-of-a-test", http=http, retry_policy=pace
        )

    async with peer_rig(folder, make, timeouts=PATIENCE) as working:
        (working.root / "readme.txt").write_text("Three modules.\n", encoding="utf-8")
        (working.root / "notes.txt").write_text("The parser is second.\n", encoding="utf-8")
        yield working


def cut(kind: str, after: int, **more: Any) -> Behavior:
    return {"type": "stream_fault", "kind": kind, "after_chunks": after, **more}


def failure(status: int, **more: Any) -> Behavior:
    return {"type": "fail", "status": status, **more}


async def ask(
    rig: PeerRig, server: LlMock, *behaviors: Behavior, words: str = ""
) -> tuple[TurnEnded, list[dict[str, Any]]]:
    """A turn that meets these behaviors; how it ended, and the requests it took."""
    before = len(server.requests())
    server.expect(*behaviors)
    # The texts differ from case to case: a request like a previous one would count as its retry.
    ended = await rig.run_turn(f"What is in this project? Case {before}. {words}")
    await rig.assert_consistent()
    assert server.verdict()["findings"] == []
    return ended, server.requests()[before:]


def reply_texts(rig: PeerRig) -> list[str]:
    return [event.text for event in rig.events(AssistantSpoke)]


PASSING: Mapping[str, Sequence[Behavior]] = {
    "nothing": [],
    "a slow start": [{"type": "slow_first_token", "seconds": 0.3}],
    "a late answer": [{"type": "delay", "seconds": 0.3}],
    "429 twice, with a wait": [failure(429, retry_after=0.4, times=2)],
    "429 with the usual wait": [failure(429)],
    "503 three times": [failure(503, retry_after=0.1, times=3)],
    "529 with the usual wait": [failure(529)],
    **{f"{status} three times": [failure(status, times=3)] for status in (408, 409, 500, 502)},
    "504, then 500": [failure(504, retry_after=0.1), failure(500)],
    **{
        f"{kind} after {after}": [cut(kind, after)]
        for kind in ("disconnect", "truncate", "malformed")
        for after in (0, 1, 4)
    },
    "three cuts": [cut("truncate", 2), cut("disconnect", 3), cut("malformed", 5)],
    "a stall at the start": [cut("stall", 0, stall_seconds=3)],
    "a stall in the middle": [cut("stall", 4, stall_seconds=3)],
    "a short stall": [cut("stall", 4, stall_seconds=0.2)],
    "a failure, then a cut": [failure(500), cut("disconnect", 3)],
}
AT_ONCE = {"nothing", "a slow start", "a late answer", "a short stall"}


@pytest.mark.parametrize("case", PASSING)
async def test_a_transient_fault_is_retried(case: str, rig: PeerRig, server: LlMock) -> None:
    """The answer is recorded once and complete, despite the failed attempts before it."""
    ended, requests = await ask(rig, server, *PASSING[case], SAY, *[SAY] * 3)
    assert ended == TurnEnded("done")
    assert reply_texts(rig) == [REPLY_TEXT]
    assert (len(requests) == 1) == (case in AT_ONCE)
    assert len(rig.response_resets()) == len(requests) - 1
    assert len({request["fingerprint"] for request in requests}) == 1, "a retry is the same request"


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422])
async def test_a_refusal_is_reported(status: int, rig: PeerRig, server: LlMock) -> None:
    """One request, and one in the plainest form where its form may be refused; then what, why and what to do.

    The conversation continues after it.
    """
    expected = 2 if status in (400, 422) else 1
    refusal = failure(status, message=f"Refused by number {status}.", times=expected)
    ended, requests = await ask(rig, server, refusal)
    assert (ended.how, len(requests)) == ("failed", expected)
    assert ended.what
    assert f"Refused by number {status}." in f"{ended.what} {ended.why} {ended.details}"
    assert ended.fix
    assert (await ask(rig, server, SAY))[0] == TurnEnded("done")
    assert reply_texts(rig) == [REPLY_TEXT]


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_retries_of_an_outage_end(status: int, rig: PeerRig, server: LlMock) -> None:
    """Four attempts, then an end that says so."""
    ended, requests = await ask(rig, server, failure(status, retry_after=0.1, times=None))
    assert (ended.how, len(requests)) == ("failed", 4)
    assert "Tried 4 times" in ended.why
    assert reply_texts(rig) == []
    server.clear_pending_behaviors()
    assert (await ask(rig, server, SAY))[0] == TurnEnded("done")


async def test_retries_of_a_broken_connection_end(rig: PeerRig, server: LlMock) -> None:
    """The last partial answer stays visible, marked as cut; the next turn continues after it."""
    ended, requests = await ask(rig, server, cut("disconnect", 9, times=None), *[SAY] * 4)
    assert (ended.how, len(requests)) == ("failed", 4)
    (half,) = rig.events(AssistantSpoke)
    assert (REPLY_TEXT.startswith(half.text.strip()), half.stop) == (True, "stopped")
    server.clear_pending_behaviors()
    assert (await ask(rig, server, SAY))[0] == TurnEnded("done")


@pytest.mark.parametrize("after", [1, 6, 8, 10])
@pytest.mark.parametrize("kind", ["disconnect", "truncate", "malformed"])
async def test_calls_of_a_cut_answer_never_run(kind: str, after: int, rig: PeerRig, server: LlMock) -> None:
    """However many calls had arrived: they run once, from the complete answer."""
    ended, requests = await ask(rig, server, cut(kind, after), READ, READ, SAY)
    assert ended == TurnEnded("done")
    assert [len(event.calls) for event in rig.events(AssistantSpoke)] == [2, 0]
    assert len(requests) == 3
    assert len(rig.events(ToolAnswered)) == 2
    calling, first, second = rig.model.requests[-1].messages[-3:]
    assert [call.id for call in calling.calls] == [first.call_id, second.call_id]
    assert [first.text, second.text] == ["Three modules.\n", "The parser is second.\n"]


async def test_invalid_json_arguments_are_reported_to_the_model(rig: PeerRig, server: LlMock) -> None:
    """The next request is valid all the same, and states the problem."""
    ended, _ = await ask(rig, server, {"type": "tool_fault", "kind": "malformed_arguments"}, READ, SAY)
    assert ended == TurnEnded("done")
    broken, valid = rig.events(ToolAnswered)
    assert (broken.ok, valid.ok) == (False, True)
    assert broken.text in [message.text for message in rig.model.requests[1].messages]
    assert "read_file was not run: its arguments end in the middle" in broken.text


async def test_an_unknown_tool_is_reported_to_the_model(rig: PeerRig, server: LlMock) -> None:
    """The answer to the call names those that are there."""
    ended, _ = await ask(rig, server, {"type": "tool_fault", "kind": "unknown_tool"}, READ, SAY)
    assert ended == TurnEnded("done")
    unknown, known_tool = sorted(rig.events(ToolAnswered), key=lambda event: event.ok)
    assert (unknown.ok, known_tool.ok) == (False, True)
    assert "read_file" in unknown.text


async def test_its_own_choice_of_tools_ends_the_turn(rig: PeerRig, server: LlMock) -> None:
    """Unscripted, it calls the tool that fits best, with arguments by its schema, then it answers."""
    ended, requests = await ask(rig, server, {"type": "delay", "seconds": 0})
    assert (ended, len(requests)) == (TurnEnded("done"), 2)
    (answer,) = rig.events(ToolAnswered)
    assert answer.name in {spec.name for spec in rig.model.requests[0].tools}


async def test_a_request_too_long_for_the_server_is_reduced_to_fit(
    tmp_path: Path, dialect: DialectName
) -> None:
    """The window is smaller than configured: one refusal, space is freed, and the same turn is answered."""
    with run_llmock(tmp_path, "--context-window", "4000") as server:
        async with at_work(server, tmp_path, dialect) as rig:
            for _ in range(14):
                ended, requests = await ask(rig, server, SAY, words="Look again. " * 125)
                assert ended == TurnEnded("done")
                assert requests[-1]["status"] == 200
            refused = [request for request in server.requests() if request["status"] == 400]
            assert {request["fault"] for request in refused} == {"context_window"}
            assert len(rig.events(UserSpoke)) == 14


async def test_a_quota_is_waited_out(tmp_path: Path, dialect: DialectName) -> None:
    """Ten requests a minute: the eleventh waits as long as the server demands."""
    with run_llmock(tmp_path, "--rpm", "10") as server:
        async with at_work(server, tmp_path, dialect, RetryPolicy()) as rig:
            for _ in range(10):
                assert (await ask(rig, server, SAY))[0] == TurnEnded("done")
            _, requests = await ask(rig, server, SAY)
            assert (requests[0]["fault"], requests[-1]["status"]) == ("ratelimit:requests", 200)
            assert max(reset.wait_s for reset in rig.response_resets()) > 1
