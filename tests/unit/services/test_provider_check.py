"""The five ticks: what each server makes of them, told live, with what to do when one fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from helix_desktop.domain.messages import ModelInfo
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.http import HttpClient
from helix_desktop.services.provider_check import ProviderCheck
from helix_desktop.services.provider_check_result import CheckStep
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Reply,
    StreamedReply,
    Text,
    api_error,
    text_reply,
)
from tests.support.model_servers.connect import connect_model

Script = Callable[[dict[str, Any]], Reply]


def obliging(request: dict[str, Any]) -> Reply:
    """A model that counts, and calls the tool it is given."""
    return (
        StreamedReply(Call("report_word", '{"word": "lighthouse"}'))
        if request.get("tools")
        else text_reply("one, ", "two")
    )


async def ticks(
    base_url: str, key: str = "sesame", model: str = "small"
) -> tuple[list[list[CheckStep]], bool]:
    """All that was told, in order, and whether all went well."""
    http = HttpClient()
    told: list[list[CheckStep]] = []
    info = ModelInfo("box", model)
    asked = connect_model("openai-chat", info, base_url, key, http=http) if model else None
    try:
        trial = ProviderCheck(Endpoint("box", base_url, key, http), asked, lambda now: told.append([*now]))
        return told, await trial.run()
    finally:
        await http.aclose()


async def last(script: Script, **more: str) -> tuple[dict[str, CheckStep], bool]:
    """The ticks at the end of a test of a scripted server."""
    async with ChatServer(script) as server:
        told, well = await ticks(server.base_url, **more)
    return {tick.name: tick for tick in told[-1]}, well


async def test_all_is_well_and_told_step_by_step() -> None:
    async with ChatServer(obliging) as server:
        told, well = await ticks(server.base_url)
    assert well
    assert [tick.state for tick in told[-1]] == ["ok"] * 5
    running = [next((tick.name for tick in now if tick.state == "running"), "") for now in told]
    order = [name for place, name in enumerate(running) if name and name not in running[:place]]
    assert order == ["reach", "auth", "streaming", "tools"]
    assert "2 pieces" in told[-1][3].detail


async def test_a_server_that_is_not_there() -> None:
    told, well = await ticks("http://127.0.0.1:1/v1")
    states = {tick.name: tick for tick in told[-1]}
    assert not well
    assert states["reach"].state == "failed"
    assert "server is running" in states["reach"].fix
    assert [tick.state for tick in told[-1][1:]] == ["skipped"] * 4


async def test_an_address_without_tls_behind_it() -> None:
    async def plain(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        told, _ = await ticks(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
    states = {tick.name: tick for tick in told[-1]}
    assert (states["reach"].state, states["tls"].state) == ("ok", "failed")
    assert "http:// or https://" in states["tls"].fix


async def test_a_key_that_only_the_model_refuses() -> None:
    """Some servers show their list of models to everybody."""
    found, well = await last(lambda _: api_error(401, "Incorrect API key provided"))
    assert not well
    assert (found["reach"].state, found["auth"].state) == ("ok", "failed")
    assert found["auth"].why == "Incorrect API key provided"
    assert "right key" in found["auth"].fix
    assert (found["streaming"].state, found["tools"].state) == ("skipped", "skipped")


async def test_a_key_that_cannot_be_sent() -> None:
    found, _ = await last(obliging, key="schlüssel")
    assert found["auth"].state == "failed"
    assert "characters that no key has" in found["auth"].why


async def test_a_model_that_answers_in_words() -> None:
    found, well = await last(lambda _: text_reply("I cannot ", "do that"))
    assert not well
    assert (found["streaming"].state, found["tools"].state) == ("ok", "failed")
    assert "I cannot do that" in found["tools"].why
    assert "--jinja" in found["tools"].fix


@pytest.mark.parametrize(
    ("call", "why"),
    [(Call("other", "{}"), "It called other"), (Call("report_word", '{"wort": 1}'), "It called report_word")],
)
async def test_a_call_that_was_not_asked_for(call: Call, why: str) -> None:
    def script(request: dict[str, Any]) -> Reply:
        return StreamedReply(call) if request.get("tools") else text_reply("one, ", "two")

    found, _ = await last(script)
    assert found["tools"].state == "failed"
    assert why in found["tools"].why


async def test_a_server_that_refuses_tools_is_told_from_one_that_fails() -> None:
    def script(request: dict[str, Any]) -> Reply:
        return (
            api_error(400, "tools are not supported") if request.get("tools") else text_reply("one, ", "two")
        )

    found, _ = await last(script)
    assert found["tools"].why == "tools are not supported"
    assert "--jinja" in found["tools"].fix


async def test_a_model_that_is_not_there() -> None:
    found, _ = await last(lambda _: api_error(404, "no such model"))
    assert found["streaming"].state == "failed"
    assert "knows no model small" in found["streaming"].detail
    assert found["auth"].state == "skipped"


async def test_without_a_model_the_way_and_the_key_are_tried() -> None:
    found, well = await last(obliging, model="")
    assert well
    assert [tick.state for tick in found.values()] == ["ok", "ok", "ok", "skipped", "skipped"]


async def test_an_answer_without_pieces_or_usage_is_said_to_be_one() -> None:
    def script(request: dict[str, Any]) -> Reply:
        return obliging(request) if request.get("tools") else StreamedReply(Text("one, two"), usage=None)

    found, well = await last(script)
    assert well
    assert "all at once" in found["streaming"].detail
    assert "no token usage" in found["streaming"].detail


async def test_without_a_key_it_says_that_none_is_needed() -> None:
    found, _ = await last(obliging, key="")
    assert found["auth"].detail == "no key is needed"
