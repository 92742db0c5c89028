"""The five check steps: each server's results, reported live, with a remedy when one fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from helix_desktop.domain.messages import ModelInfo
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.http import HttpClient
from helix_desktop.services.provider_check import CheckStep, ProviderCheck
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


def with_tools(reply: Reply) -> Script:
    """Return a script that replies so where tools are offered, and counts else."""
    return lambda request: reply if request.get("tools") else text_reply("one, ", "two")


@pytest.mark.parametrize(
    ("script", "more", "states", "has_tools", "texts"),
    [
        # Some servers show their list of models to everybody.
        (lambda _: api_error(401, "Incorrect API key provided"), {}, "ok ok failed skipped skipped", None,
         {"auth": ("The key is wrong, has expired, or was revoked.", "Incorrect API key provided",
                   "valid API key")}),
        (ideal_model, {"key": "schlüssel"}, "skipped skipped failed skipped skipped", None,
         {"auth": ("characters that API keys don't have",)}),
        (ideal_model, {"key": ""}, "ok ok ok ok ok", True, {"auth": ("No key needed.",)}),
        (ideal_model, {"model": ""}, "ok ok ok skipped skipped", None, {}),
        (lambda _: api_error(404, "no such model"), {}, "ok ok skipped failed skipped", None,
         {"streaming": ("Model small not found",)}),
        (lambda _: text_reply("I cannot ", "do that"), {}, "ok ok ok ok failed", False,
         {"tools": ("I cannot do that", "--jinja", "the agent can't read files or run commands")}),
        (with_tools(StreamedReply(Call("other", "{}"))), {}, "ok ok ok ok failed", None,
         {"tools": ("It called other",)}),
        (with_tools(StreamedReply(Call("report_word", '{"wort": 1}'))), {}, "ok ok ok ok failed", None,
         {"tools": ("It called report_word",)}),
        (with_tools(api_error(400, "tools are not supported")), {}, "ok ok ok ok failed", False,
         {"tools": ("tools are not supported", "--jinja")}),
        (with_tools(api_error(403, "no tools in this plan")), {}, "ok ok ok ok failed", False,
         {"tools": ("no tools in this plan",)}),
        (lambda request: ideal_model(request) if request.get("tools")
         else StreamedReply(Text("one, two"), usage=None), {}, "ok ok ok ok ok", True,
         {"streaming": ("all at once", "No token usage")}),
    ],
)  # fmt: skip
async def test_each_step_says_what_it_found(
    script: Script,
    more: dict[str, str],
    states: str,
    has_tools: bool | None,
    texts: dict[str, tuple[str, ...]],
) -> None:
    steps, succeeded = await final_steps(script, **more)
    assert " ".join(step.state for step in steps.values()) == states
    assert (succeeded, steps["tools"].has_tools) == ("failed" not in states, has_tools)
    for name, parts in texts.items():
        step = steps[name]
        assert all(part in f"{step.detail} {step.why} {step.fix} {step.server_text}" for part in parts)
