"""A content filter that refuses a request for what a tool found: said as that, and the session goes on."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.domain.events.conversation import ToolAnswered, TurnEnded
from helix_desktop.domain.events.rewrite import Excluded
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.providers.http import HttpClient
from helix_desktop.words.context_changes import excluded_text, is_by_user
from tests.support.loop_rig import LoopRig, loop_rig
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Raw,
    Reply,
    StreamedReply,
    api_error,
    text_reply,
)
from tests.support.model_servers.dialects import DIALECTS, DialectCase, SleepRecorder
from tests.support.model_servers.wire_formats import WireFormat

INFO = ModelInfo("here", "m", window=32_000, reserve=2_000)
BAD = "forbidden words"
AZURE = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."


class Filter:
    """A server that reads the files one a step, and refuses what has `words` in the messages."""

    def __init__(self, refusal: Reply, *paths: str, words: str = BAD) -> None:
        self._refusal = refusal
        self._paths = list(paths)
        self._words = words

    def __call__(self, body: dict[str, Any]) -> Reply:
        if self._words in json.dumps(body.get("messages") or body["input"]):
            return self._refusal
        if not body.get("tools") or not self._paths:
            return text_reply("Done.")
        return StreamedReply(Call("read_file", json.dumps({"path": self._paths.pop(0)})))


def refusals(wire: WireFormat) -> dict[str, Reply]:
    return {
        "by its code": api_error(400, AZURE, "content_filter"),
        "by its words": api_error(400, "Content Exists Risk"),
        "as forbidden": api_error(403, "Your request was flagged by the moderation."),
        "in another language": api_error(400, "系统检测到输入可能包含敏感内容"),
        "in the stream": StreamedReply(Raw(wire.stream_error("content_filter", "Blocked."))),
    }


async def use(rig: LoopRig, server: ChatServer, dialect: DialectCase, http: HttpClient) -> None:
    for name, text in (("a.txt", "alpha"), ("bad.txt", f"{BAD} 1"), ("worse.txt", f"{BAD} 2")):
        (rig.root / name).write_text(text)
    await rig.workspace.set_models(dialect.model(server, http, SleepRecorder().retry_policy, INFO))


@pytest.mark.parametrize("kind", refusals(DIALECTS[0].wire_format))
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_the_output_leaves_and_the_turn_continues(
    tmp_path: Path, http: HttpClient, dialect: DialectCase, kind: str
) -> None:
    wire = dialect.wire_format
    model = Filter(refusals(wire)[kind], "a.txt", "bad.txt")
    async with (
        loop_rig(tmp_path, lambda _: text_reply("unused")) as rig,
        ChatServer(model, wire_format=wire) as server,
    ):
        await use(rig, server, dialect, http)
        assert await rig.conversation.run("Read them.") == TurnEnded("done")
        bad = rig.events(ToolAnswered)[1]
        (excluded,) = rig.events(Excluded)
        assert (excluded.digest, excluded.by_filter) == (bad.digest, True)
        transcript = rig.conversation.session.transcript
        assert excluded_text(excluded, transcript) == (
            "Left out, as the provider’s content filter refused it: Read bad.txt"
        )
        assert not is_by_user(excluded)
        assert await rig.store.get(bad.digest) == f"{BAD} 1".encode()
        assert bad.digest[:12] in json.dumps(server.bodies[-1])
        assert await rig.conversation.run("Go on.") == TurnEnded("done")
        assert len(server.bodies) == 5, "one of them is refused"
        assert rig.retry_waits == []
        await rig.conversation.checkpoints.wait()


@pytest.mark.parametrize("how", ["the button", "the next message"])
async def test_a_user_who_is_there_decides(tmp_path: Path, http: HttpClient, how: str) -> None:
    model = Filter(api_error(400, AZURE, "content_filter"), "bad.txt")
    async with (
        loop_rig(tmp_path, lambda _: text_reply("unused"), is_attended=True) as rig,
        ChatServer(model) as server,
    ):
        await use(rig, server, DIALECTS[0], http)
        ended = await rig.conversation.run("Read it.")
        assert (ended.how, ended.cause, ended.why) == ("failed", "filter", AZURE)
        assert ended.what == (
            "The content filter of here refused the request, perhaps for the newest output (read_file)."
        )
        assert ended.remedies[0] == "send_without_output"
        assert rig.events(Excluded) == []
        if how == "the button":
            await rig.conversation.retry_without_refused()
            await rig.wait_until_idle_or(asyncio.Event())
        else:
            await rig.conversation.run("Go on.")
        assert rig.events(TurnEnded)[-1].how == "done"
        assert len(rig.events(Excluded)) == 1
        await rig.conversation.checkpoints.wait()


async def test_the_message_of_the_user_stays(tmp_path: Path, http: HttpClient) -> None:
    model = Filter(api_error(400, AZURE, "content_filter"))
    async with (
        loop_rig(tmp_path, lambda _: text_reply("unused")) as rig,
        ChatServer(model) as server,
    ):
        await use(rig, server, DIALECTS[0], http)
        ended = await rig.conversation.run(f"Say {BAD}.")
        assert ended.what == "The content filter of here refused the request."
        assert ended.fix.startswith("Rephrase the message, leave it out of the context")
        assert (ended.remedies, rig.events(Excluded)) == (("choose_model",), [])
        assert len(server.bodies) == 1


async def test_three_outputs_leave_then_the_refusal_is_told(tmp_path: Path, http: HttpClient) -> None:
    model = Filter(api_error(400, AZURE, "content_filter"), *["bad.txt", "worse.txt"] * 3)
    async with (
        loop_rig(tmp_path, lambda _: text_reply("unused")) as rig,
        ChatServer(model) as server,
    ):
        await use(rig, server, DIALECTS[0], http)
        ended = await rig.conversation.run("Read them.")
        assert (ended.how, ended.cause) == ("failed", "filter")
        assert len(rig.events(Excluded)) == 3
        await rig.conversation.checkpoints.wait()
