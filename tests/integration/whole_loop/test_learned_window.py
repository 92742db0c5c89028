"""A context window that a server says in an error: used at once, and nothing is learned from other errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.domain.events.conversation import AssistantSpoke, TurnEnded
from helix_desktop.domain.events.session import WindowLearned
from helix_desktop.domain.model_spec import ModelSpec, SourcedSpec, resolve_spec, with_smaller_window
from tests.support.loop_rig import loop_rig
from tests.support.model_servers.chat_server import (
    Call,
    Raw,
    Reply,
    StreamedReply,
    Text,
    TokenCounts,
    api_error,
    text_reply,
)

BELIEVED = 128_000
Fault = Callable[[int, int], Reply]


def plain(status: int, words: str) -> Fault:
    return lambda window, tokens: api_error(status, words.format(window=window, tokens=tokens))


def streamed(words: str) -> Fault:
    def reply(window: int, tokens: int) -> Reply:
        error = {"error": {"message": words.format(window=window, tokens=tokens)}}
        return StreamedReply(Raw(f"data: {json.dumps(error)}\n\n".encode()))

    return reply


WORDINGS: dict[str, Fault] = {
    "context length": plain(400, "The context length of this model is {window}; the messages have {tokens}."),
    "thousands": plain(400, "{tokens:,} tokens were sent, and the model's context takes {window:,}."),
    "entity": plain(413, "Payload too large: {tokens} tokens in the prompt, at most {window}."),
    "too many": plain(429, "Prompt too long. The maximum context length is {window} tokens."),
    "Chinese": plain(400, "请求过长：模型的上下文窗口最多为 {window} 个令牌"),
    "streamed": streamed("the prompt ({tokens} tokens) does not fit the context of {window} tokens"),
}


def tokens_of(request: dict[str, Any]) -> int:
    """The server's count of a request: four characters a token."""
    return len(json.dumps(request["messages"])) // 4


def small_server(window: int, fault: Fault) -> Callable[[dict[str, Any]], Reply]:
    """A server that refuses what is over its window; its model reads files, then answers."""

    def script(request: dict[str, Any]) -> Reply:
        tokens = tokens_of(request)
        if tokens > window:
            return fault(window, tokens)
        if not any(message["role"] == "tool" for message in request["messages"]):
            reads = [
                Call("read_file", json.dumps({"path": f"{n}.txt"}), id=f"c{n}")
                for n in range(window // 2_000)
            ]
            return StreamedReply(*reads, usage=TokenCounts(tokens, 5))
        return StreamedReply(Text("Read."), usage=TokenCounts(tokens, 5))

    return script


@pytest.mark.parametrize(
    ("name", "window"), [(name, 40_960 if name == "thousands" else 8_192) for name in WORDINGS]
)
async def test_a_smaller_window_is_learned_from_the_first_refusal(
    name: str, window: int, tmp_path: Path
) -> None:
    async with loop_rig(tmp_path, small_server(window, WORDINGS[name]), window=BELIEVED) as rig:
        for number in range(window // 2_000):
            (rig.root / f"{number}.txt").write_text(f"{number} is a line of it\n" * 460)
        ended = await rig.conversation.run("Read them.")
        assert ended == TurnEnded("done")
        (learned,) = rig.events(WindowLearned)
        assert (learned.model, learned.window, learned.believed) == ("local/small", window, BELIEVED)
        assert learned.reason
        assert rig.conversation.model.window == window
        refused = [sent for sent in rig.chat_requests if tokens_of({"messages": sent.messages}) > window]
        assert len(refused) == 1, "learned by the second request"


@pytest.mark.parametrize("name", ["context length", "entity", "too many", "streamed"])
async def test_a_window_too_small_for_the_tools_ends_the_turn_with_the_reason(
    name: str, tmp_path: Path
) -> None:
    async with loop_rig(tmp_path, lambda _: WORDINGS[name](2_800, 6_200), window=BELIEVED) as rig:
        ended = await rig.conversation.run("Hello.")
        assert ended.how == "failed"
        assert [event.window for event in rig.events(WindowLearned)] == [2_800]
        assert "2800" in ended.why or "2,800" in ended.why
        assert len(rig.chat_requests) <= 2


NOTHING_TO_LEARN = {
    "answer": (400, "max_tokens of 9000 is above the 4096 output tokens of this model"),
    "per minute": (413, "Request too large on tokens per minute: Limit 6000, Requested 12000"),
    "per minute, plain": (429, "Limit 6000 tokens per minute, requested 12000. Reduce your prompt."),
}


@pytest.mark.parametrize("name", NOTHING_TO_LEARN)
async def test_nothing_is_learned_of_answers_and_rates(name: str, tmp_path: Path) -> None:
    status, words = NOTHING_TO_LEARN[name]
    async with loop_rig(tmp_path, lambda _: api_error(status, words), window=BELIEVED) as rig:
        ended = await rig.conversation.run("Hello.")
        assert ended.how == "failed"
        assert rig.events(WindowLearned) == []
        assert rig.conversation.model.window == BELIEVED


@pytest.mark.parametrize("name", ["context length", "streamed"])
async def test_a_window_below_what_was_answered_is_never_believed(name: str, tmp_path: Path) -> None:
    replies = iter([StreamedReply(Text("Yes."), usage=TokenCounts(30_000, 5)), WORDINGS[name](8_192, 40_000)])
    async with loop_rig(tmp_path, lambda _: next(replies, text_reply("Still here.")), window=BELIEVED) as rig:
        assert await rig.conversation.run("One.") == TurnEnded("done")
        await rig.conversation.run("Two.")
        assert rig.events(WindowLearned) == []
        assert rig.conversation.model.window == BELIEVED


async def test_reading_and_losing_the_same_again_stops_the_turn(tmp_path: Path) -> None:
    """Each request with the file is refused without a number, so that nothing can be learned."""
    lines = "".join(f"line {n} of a file that never fits\n" for n in range(900))

    def script(request: dict[str, Any]) -> Reply:
        if "line 899 of a file" in json.dumps(request["messages"]):
            return api_error(400, "The prompt is too long.")
        number = sum(message["role"] == "tool" for message in request["messages"])
        return StreamedReply(Call("read_file", '{"path": "a.txt"}', id=f"c{number}"))

    async with loop_rig(tmp_path, script, window=40_000) as rig:
        (rig.root / "a.txt").write_text(lines)
        ended = await rig.conversation.run("Read it.")
        assert ended.how == "failed"
        assert "can't hold what the agent reads" in ended.what
        assert len(rig.events(AssistantSpoke)) == 3


async def test_calls_without_a_name_are_answered_and_end_the_turn_if_that_goes_on(tmp_path: Path) -> None:
    numbers = iter(range(99))

    def script(_: dict[str, Any]) -> Reply:
        return StreamedReply(Call("", '{"path": "a.txt"}', id=f"c{next(numbers)}"))

    async with loop_rig(tmp_path, script) as rig:
        ended = await rig.conversation.run("Look.")
        assert ended.how == "failed"
        assert "have no name" in ended.what
        assert len(rig.chat_requests) == 3
        assert "names no tool" in str(rig.chat_requests[-1].messages)


async def test_a_window_below_8k_holds_for_its_session_until_a_server_says_it_again(tmp_path: Path) -> None:
    """One odd error must not make a model useless everywhere; two are no accident."""
    window = 7_000
    async with loop_rig(tmp_path, small_server(window, WORDINGS["context length"]), window=BELIEVED) as rig:
        for number in range(3):
            (rig.root / f"{number}.txt").write_text(f"{number} is a line of it\n" * 460)
        model = rig.workspace.models.shared.roles.main
        await rig.conversation.run("Read them.")
        assert [(it.window, it.believed) for it in rig.events(WindowLearned)] == [(window, BELIEVED)]
        _, gauge = rig.conversation.window.measure()
        assert (gauge.model_window, gauge.reserve) == (window, 1_000), "what was set for it"
        assert model.info.window == BELIEVED, "not for other sessions"
        other = await rig.workspace.open_session("other")
        assert other.window.measure()[1].model_window == BELIEVED
        await other.run("Read them.")
        assert model.info.window == window, "a second error said it"


@pytest.mark.parametrize("window", [8_192, 16_384, 40_960, 131_072, 400_000])
def test_a_learned_window_leaves_the_answer_what_a_set_one_leaves(window: int) -> None:
    believed = resolve_spec(SourcedSpec("catalog", "", ModelSpec(window=1_000_000, output=64_000)))
    as_set = resolve_spec(SourcedSpec("you", "", ModelSpec(window=window, output=64_000)))
    learned = with_smaller_window(believed.model_info("local", "large"), window)
    assert learned == as_set.model_info("local", "large")
    own = resolve_spec(SourcedSpec("you", "", ModelSpec(window=1_000_000, reserve=6_000)))
    assert with_smaller_window(own.model_info("local", "large"), window).reserve == 6_000
