"""The five check steps: each server's results, reported live, with a remedy when one fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from helix_desktop.domain.messages import ModelInfo
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.http import HttpClient
from helix_desktop.services.provider_check import CheckStep, ProviderCheck, _answer_text
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


def ideal_model(request: dict[str, Any]) -> Reply:
    """A model that counts, and calls the tool it is given."""
    return (
        StreamedReply(Call("report_word", '{"word": "lighthouse"}'))
        if request.get("tools")
        else text_reply("one, ", "two")
    )


async def run_check(
    base_url: str, key: str = "sesame", model: str = "small"
) -> tuple[list[list[CheckStep]], bool]:
    """Return all reported steps, in order, and whether all succeeded."""
    http = HttpClient()
    updates: list[list[CheckStep]] = []
    info = ModelInfo("box", model)
    model_client = connect_model("openai-chat", info, base_url, key, http=http) if model else None
    try:
        check = ProviderCheck(
            Endpoint("box", base_url, key, http), model_client, lambda now: updates.append([*now])
        )
        return updates, await check.run()
    finally:
        await http.aclose()


async def final_steps(script: Script, **more: str) -> tuple[dict[str, CheckStep], bool]:
    async with ChatServer(script) as server:
        updates, succeeded = await run_check(server.base_url, **more)
    return {step.name: step for step in updates[-1]}, succeeded


async def test_a_successful_check_is_reported_step_by_step() -> None:
    async with ChatServer(ideal_model) as server:
        updates, succeeded = await run_check(server.base_url)
    assert succeeded
    assert [step.state for step in updates[-1]] == ["ok"] * 5
    running = [next((step.name for step in now if step.state == "running"), "") for now in updates]
    order = [name for index, name in enumerate(running) if name and name not in running[:index]]
    assert order == ["reach", "auth", "streaming", "tools"]
    assert "2 pieces" in updates[-1][3].detail


async def test_an_unreachable_server() -> None:
    updates, succeeded = await run_check("http://127.0.0.1:1/v1")
    states = {step.name: step for step in updates[-1]}
    assert not succeeded
    assert states["reach"].state == "failed"
    assert "server is running" in states["reach"].fix
    assert [step.state for step in updates[-1][1:]] == ["skipped"] * 4


async def test_an_https_address_without_tls() -> None:
    async def plain(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        updates, _ = await run_check(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
    states = {step.name: step for step in updates[-1]}
    assert (states["reach"].state, states["tls"].state) == ("ok", "failed")
    assert "http:// or https://" in states["tls"].fix


@pytest.mark.parametrize(("duration_ms", "words"), [(340, "340 ms"), (1_402, "1.4 s")])
def test_how_long_a_server_took_is_in_readable_units(duration_ms: int, words: str) -> None:
    assert _answer_text(duration_ms) == f"Answered in {words}."


async def test_a_key_that_only_the_model_refuses() -> None:
    """Some servers show their list of models to everybody."""
    steps, succeeded = await final_steps(lambda _: api_error(401, "Incorrect API key provided"))
    assert not succeeded
    assert (steps["reach"].state, steps["auth"].state) == ("ok", "failed")
    assert steps["auth"].why == "The key is wrong, has expired, or was revoked."
    assert steps["auth"].server_text == "Incorrect API key provided"
    assert "valid API key" in steps["auth"].fix
    assert (steps["streaming"].state, steps["tools"].state) == ("skipped", "skipped")


async def test_a_key_that_cannot_be_sent() -> None:
    steps, _ = await final_steps(ideal_model, key="schlüssel")
    assert steps["auth"].state == "failed"
    assert "characters that API keys don't have" in steps["auth"].why


async def test_a_model_that_answers_with_text() -> None:
    steps, succeeded = await final_steps(lambda _: text_reply("I cannot ", "do that"))
    assert not succeeded
    assert (steps["streaming"].state, steps["tools"].state) == ("ok", "failed")
    assert "I cannot do that" in steps["tools"].why
    assert "--jinja" in steps["tools"].fix
    assert "the agent can't read files or run commands" in steps["tools"].fix
    assert steps["tools"].has_tools is False


@pytest.mark.parametrize(
    ("call", "reason"),
    [(Call("other", "{}"), "It called other"), (Call("report_word", '{"wort": 1}'), "It called report_word")],
)
async def test_a_wrong_call_fails_the_check_of_tools(call: Call, reason: str) -> None:
    def script(request: dict[str, Any]) -> Reply:
        return StreamedReply(call) if request.get("tools") else text_reply("one, ", "two")

    steps, _ = await final_steps(script)
    assert steps["tools"].state == "failed"
    assert reason in steps["tools"].why
    assert steps["tools"].has_tools is None


async def test_a_server_that_refuses_tools_is_distinguished_from_one_that_fails() -> None:
    def script(request: dict[str, Any]) -> Reply:
        return (
            api_error(400, "tools are not supported") if request.get("tools") else text_reply("one, ", "two")
        )

    steps, _ = await final_steps(script)
    assert steps["tools"].why == "tools are not supported"
    assert "--jinja" in steps["tools"].fix
    assert steps["tools"].has_tools is False


async def test_what_a_server_says_when_it_denies_tools_is_shown() -> None:
    def script(request: dict[str, Any]) -> Reply:
        return api_error(403, "no tools in this plan") if request.get("tools") else text_reply("one, ", "two")

    steps, _ = await final_steps(script)
    assert (steps["tools"].state, str(steps["tools"].why)) == ("failed", "no tools in this plan")


async def test_an_unknown_model() -> None:
    steps, _ = await final_steps(lambda _: api_error(404, "no such model"))
    assert steps["streaming"].state == "failed"
    assert "Model small not found" in steps["streaming"].detail
    assert steps["auth"].state == "skipped"


async def test_without_a_model_only_connection_and_key_are_checked() -> None:
    steps, succeeded = await final_steps(ideal_model, model="")
    assert succeeded
    assert [step.state for step in steps.values()] == ["ok", "ok", "ok", "skipped", "skipped"]


async def test_an_answer_without_streaming_or_usage_is_reported() -> None:
    def script(request: dict[str, Any]) -> Reply:
        return ideal_model(request) if request.get("tools") else StreamedReply(Text("one, two"), usage=None)

    steps, succeeded = await final_steps(script)
    assert succeeded
    assert "all at once" in steps["streaming"].detail
    assert "No token usage" in steps["streaming"].detail


async def test_without_a_key_it_says_that_none_is_needed() -> None:
    steps, _ = await final_steps(ideal_model, key="")
    assert steps["auth"].detail == "No key needed."
