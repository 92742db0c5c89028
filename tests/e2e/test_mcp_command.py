"""`helix-desktop mcp` as other programs have it: a process of its own, over pipes and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from helix_desktop.domain.store import Commit
from helix_desktop.store.remote.client import open_store
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.workspaces.registry import WorkspaceRegistry
from tests.support.cli_rig import Cli, RunningCommand, wait_for_exit
from tests.support.mcp.results import result_text
from tests.support.store.builders import make_content

CONTENT = make_content(b"one line\n")
TOKEN = "a-token-of-this-test-0123456789"
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
              "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                         "clientInfo": {"name": "test", "version": "1"}}}  # fmt: skip
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
async def cli(cli: Cli) -> Cli:
    registry = WorkspaceRegistry(cli.data / "workspaces", wall_clock_ms)
    record = registry.add(cli.project)
    store = await open_store(registry.store_folder(record.id), record.id, as_owner=True)
    await store.commit(Commit("s1", contents=[CONTENT]))
    await store.close()
    return cli


@asynccontextmanager
async def http(cli: Cli, *words: str) -> AsyncIterator[tuple[str, RunningCommand]]:
    """The endpoint's address, and the process behind it."""
    process = await cli.fork("mcp", "--workspace", "ws", "--http", *words, environ={"HELIX_MCP_TOKEN": TOKEN})
    assert process.stdout is not None
    try:
        async with asyncio.timeout(300):
            address = json.loads(await process.stdout.readline())
        assert set(address) == {"url"}  # a configured token is not printed
        yield address["url"], process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await wait_for_exit(process)


async def test_a_program_recalls_through_pipes(cli: Cli) -> None:
    environment = {"PYTHONPATH": str(Path(__file__).parents[2]), "HELIX_DATA_DIR": str(cli.data)}
    words = ["-m", "helix_desktop", "mcp", "--workspace", str(cli.project)]
    server = StdioServerParameters(command=sys.executable, args=words, env=environment)
    async with Client(server) as client:
        assert result_text(
            await client.call_tool("recall_cached_content", {"hash": CONTENT.digest})
        ).endswith("\none line\n")
        assert CONTENT.digest[:12] in result_text(
            await client.call_tool("search_cached_content", {"query": "one line"})
        )
        owner = await open_store(
            cli.store, cli.store.parent.name, as_owner=True
        )  # as the window opens it, meanwhile
        try:
            assert result_text(
                await client.call_tool("recall_cached_content", {"hash": CONTENT.digest})
            ).endswith("\none line\n")
            assert (await owner.entry(CONTENT.digest)).recalls == 2
        finally:
            await owner.close()
        # The owner ended while its guest was connected: the next call opens the store by itself.
        assert result_text(
            await client.call_tool("recall_cached_content", {"hash": CONTENT.digest})
        ).endswith("\none line\n")


async def test_an_invalid_message_is_skipped_and_the_next_one_served(cli: Cli) -> None:
    """It has no id that an answer could name. And a signal ends the server while it waits for more input."""
    process = await cli.start("mcp", "--workspace", "ws", stdin=asyncio.subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"this is no JSON\n\n" + json.dumps(INITIALIZE).encode() + b"\n")
    async with asyncio.timeout(300):
        reply = json.loads(await process.stdout.readline())
    assert reply["result"]["serverInfo"]["name"] == "builtin_context_cache"
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(300):
        assert await process.wait() == 143


async def test_it_ends_with_its_input(cli: Cli) -> None:
    ran = await cli.run_with_stdin(json.dumps(INITIALIZE).encode() + b"\n", "mcp", "--workspace", "ws")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["result"]["serverInfo"]["name"] == "builtin_context_cache"


async def test_only_requests_with_the_token_and_this_address_are_served(cli: Cli) -> None:
    """A program that has both recalls over HTTP."""
    right = f"Bearer {TOKEN}"
    gates: list[tuple[dict[str, str], int]] = [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": TOKEN}, 401),
        ({"Authorization": right, "Host": "evil.example"}, 421),
        ({"Authorization": right, "Origin": "http://evil.example"}, 403),
        ({"Authorization": right.lower().replace(TOKEN.lower(), TOKEN)}, 200),
    ]
    big = {**INITIALIZE, "params": {"clientInfo": "x" * 5_000_000}}
    async with http(cli) as (url, _), httpx2.AsyncClient() as client:
        assert url.startswith("http://127.0.0.1:")
        for headers, status in gates:
            answer = await client.post(url, json=INITIALIZE, headers={**ACCEPT, **headers})
            assert answer.status_code == status, headers
        carrying = {**ACCEPT, "Authorization": right}
        assert (await client.post(url, json=big, headers=carrying)).status_code == 413
        text = {**carrying, "Content-Type": "text/plain"}
        assert (await client.post(url, content=b"x", headers=text)).status_code in (400, 415)
        port = url.removesuffix("/mcp").rpartition(":")[2]
        refused = await cli("mcp", "--workspace", "ws", "--http", "--port", port)
        refused.assert_refused(2, f"Port {port}", "Choose another port")
        await recall_over_http(url)


async def recall_over_http(url: str) -> None:
    """Ask for the content like a program that has the token."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as carrying,
        Client(streamable_http_client(url, http_client=carrying)) as client,
    ):
        assert result_text(
            await client.call_tool("recall_cached_content", {"hash": CONTENT.digest})
        ).endswith("\none line\n")


async def test_an_address_that_nobody_reads_is_one_plain_line(cli: Cli) -> None:
    """The program that started it closed the pipe: no traceback on screen or in the log, and it ends."""
    reader, writer = os.pipe()
    os.close(reader)
    process = await cli.fork("mcp", "--workspace", "ws", "--http", stdout=writer)
    os.close(writer)
    ran = await wait_for_exit(process)
    assert ran.code == 141
    assert ran.err == "helix-desktop: The server's address can't be printed: standard output is closed.\n"
    logs = [file.read_text(encoding="utf-8") for file in (cli.data / "logs").glob("*.log")]
    assert not any("Traceback" in log for log in logs)


async def test_a_weak_token_is_refused(cli: Cli) -> None:
    ran = await cli("mcp", "--workspace", "ws", "--http", HELIX_MCP_TOKEN="1234")
    ran.assert_refused(2, "too weak")
