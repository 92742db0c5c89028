"""A server that fails in the middle of a turn: a clear end or another attempt, and nothing lost."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.events.summary import HandoverDiscarded, HandoverMade
from helix_desktop.providers.http import HttpClient
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.loop_rig import (
    HANDOVERS_ONLY,
    WORKSPACE,
    LoopRig,
    create_http_model,
    is_summary_request,
    loop_rig,
    script_replies,
)
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Disconnect,
    Reply,
    StreamedReply,
    Text,
    api_error,
    text_reply,
)

STREAMED_CALLS = StreamedReply(
    Call("read_file", '{"path": "a.txt"}', id="c1"), Call("list_directory", "{}", id="c2")
)
KEY = "sk-secret-0123456789"
OVERFLOW = api_error(400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded")

PASSING: dict[str, tuple[list[Reply], list[float]]] = {
    "two faults": ([api_error(503, "busy"), api_error(502, "bad gateway")], [0.5, 1.0]),
    "a cut stream": ([StreamedReply(Text("Half of an ans"), Disconnect())], [0.5]),
    "a cut call": ([StreamedReply(Call("read_file", '{"path": "a.t'), Disconnect())], [0.5]),
}
FINAL: dict[str, tuple[Reply, str, str]] = {
    "faults for ever": (
        api_error(500, "boom"),
        "couldn't answer (HTTP 500",
        "boom. Tried 25 times in 10 min.",
    ),
    "an empty answer": (StreamedReply(Text("  ")), "Empty response", "without text"),
    "a wrong key": (
        api_error(401, f"Incorrect API key provided: {KEY}."),
        "rejected the API key",
        "is wrong",
    ),
    "an overflow": (OVERFLOW, "exceeds the context window", "8192"),
}


async def begin_well(rig: LoopRig) -> None:
    (rig.root / "a.txt").write_text("alpha\n" * 50)


async def assert_complete(rig: LoopRig, folder: Path) -> None:
    """The transcript is valid, and another opening of the store finds every fact and every byte."""
    await rig.assert_consistent()
    log = rig.conversation.session.log
    session_id = rig.conversation.session.id
    await rig.workspace.close()
    store = await LevelDbStore.open(folder / "store", WORKSPACE)
    try:
        assert await store.events(session_id) == log
        for answer in (entry.event for entry in log if isinstance(entry.event, ToolAnswered)):
            assert len(await store.get(answer.digest)) == answer.size
    finally:
        await store.close()


@pytest.mark.parametrize("name", PASSING)
async def test_a_transient_fault_costs_only_a_wait(name: str, tmp_path: Path) -> None:
    faults, waits = PASSING[name]
    async with loop_rig(
        tmp_path, script_replies(STREAMED_CALLS, *faults, text_reply("All ", "well."))
    ) as rig:
        await begin_well(rig)
        ended = await rig.conversation.run("Look.")
        assert ended == TurnEnded("done")
        is_cut = name.startswith("a cut")
        lost = [event.spent > 0 for event in rig.events(HandoverDiscarded)]
        assert lost == [True] * is_cut, "what a server refuses is not billed, what it broke off is"
        assert rig.conversation.session.transcript.spending.estimated == is_cut
        assert rig.retry_waits == waits
        assert [reset.wait_s for reset in rig.response_resets()] == waits
        assert [event.text for event in rig.events(AssistantSpoke)] == ["", "All well."]
        assert len(rig.events(ToolAnswered)) == 2
        bodies = [sent.received.body for sent in rig.chat_requests[1:]]
        assert len(set(bodies)) == 1, "each attempt sends the same bytes"
        await assert_complete(rig, tmp_path)


@pytest.mark.parametrize("name", FINAL)
async def test_a_permanent_fault_ends_the_turn_with_a_reason_and_advice(name: str, tmp_path: Path) -> None:
    fault, what, why = FINAL[name]
    well = asyncio.Event()

    def script(request: dict[str, Any]) -> Reply:
        messages = request["messages"]
        if not any(message["role"] == "tool" for message in messages):
            return STREAMED_CALLS
        return text_reply("Here again.") if well.is_set() else fault

    async with loop_rig(tmp_path, script, key=KEY) as rig:
        await begin_well(rig)
        ended = await rig.conversation.run("Look.")
        assert ended.how == "failed"
        assert what in ended.what
        assert why in ended.why
        assert ended.fix
        assert name != "a wrong key" or "Incorrect API key provided" in ended.details
        assert KEY not in f"{rig.conversation.session.log} {rig.updates}"
        await rig.assert_consistent()
        well.set()
        assert await rig.conversation.run("Go on.") == TurnEnded("done")
        assert rig.events(AssistantSpoke)[-1].text == "Here again."
        sent = rig.chat_requests[-1].messages
        assert [message["content"] for message in sent if message["role"] == "user"] == ["Look.", "Go on."]
        assert "alpha\n" * 50 in [message["content"] for message in sent if message["role"] == "tool"]
        await assert_complete(rig, tmp_path)


async def test_an_unreachable_server_is_named_and_another_one_continues(
    tmp_path: Path, http: HttpClient
) -> None:
    async with ChatServer(lambda _: text_reply("never")) as gone:
        address = gone.base_url
    async with loop_rig(tmp_path, script_replies(text_reply("I am here."))) as rig:
        home = rig.workspace.model
        await rig.workspace.set_models(create_http_model(rig, address, http))
        ended = await rig.conversation.run("Are you there?")
        assert ended.how == "failed"
        assert ended.what == f"Can't reach local at {address}."
        assert "Check that the server is running" in ended.fix
        assert ended.spent == 0, "nothing was sent"
        assert 500 < sum(rig.retry_waits) <= 600
        await rig.workspace.set_models(home)
        assert await rig.conversation.run("And now?") == TurnEnded("done")
        assert [event.text for event in rig.events(UserSpoke)] == ["Are you there?", "And now?"]
        await assert_complete(rig, tmp_path)


@pytest.mark.parametrize(
    "fault", [api_error(401, "no key"), text_reply("I would rather not.")], ids=["wrong key", "no sections"]
)
async def test_a_failed_summary_is_built_from_ledger_and_extracts(fault: Reply, tmp_path: Path) -> None:
    def script(request: dict[str, Any]) -> Reply:
        messages = request["messages"]
        if is_summary_request(request):
            return fault
        if messages[-1]["role"] == "user":
            words = str(messages[-1]["content"]).split()
            return StreamedReply(*(Call("read_file", f'{{"path": "{name}"}}', id=name) for name in words))
        return text_reply("Read.")

    async with loop_rig(tmp_path, script, HANDOVERS_ONLY) as rig:
        names = [f"part_{number}.txt" for number in range(24)]
        for number, name in enumerate(names):
            (rig.root / name).write_text(f"{number} some words of a log that goes on\n" * 110)
        for number in range(0, len(names), 2):
            assert (await rig.conversation.run(" ".join(names[number : number + 2]))).how == "done"
            await rig.conversation.wait_for_background_work()
            if rig.events(HandoverMade):
                break
        (event,) = rig.events(HandoverMade)
        assert event.fallback
        assert event.model == "no model (ledger and extracts)"
        assert names[0] in event.ledger
        assert len(event.sections) == 6
        assert (await rig.conversation.run(names[-1])).how == "done"
        await rig.conversation.wait_for_background_work()  # a checkpoint, which this server refuses too
        await assert_complete(rig, tmp_path)


@pytest.mark.parametrize("tool", ["read_file", "ask_user", "no_such_tool"])
async def test_arguments_nested_without_end_are_an_error_that_the_model_reads(
    tool: str, tmp_path: Path
) -> None:
    arguments = '{"path":' * 5_000 + "1" + "}" * 5_000
    call = StreamedReply(Call(tool, arguments, id="c1"))
    async with loop_rig(tmp_path, script_replies(call, text_reply("I see."), text_reply("Again."))) as rig:
        await begin_well(rig)
        assert await rig.conversation.run("Look.") == TurnEnded("done")
        answers = rig.events(AssistantSpoke)
        assert [event.text for event in answers] == ["", "I see."]
        assert answers[0].calls[0].arguments == arguments, "what was paid for is in the log"
        (answer,) = rig.events(ToolAnswered)
        assert not answer.ok
        assert await rig.conversation.run("Go on.") == TurnEnded("done")
        await rig.assert_consistent()
        await assert_complete(rig, tmp_path)
