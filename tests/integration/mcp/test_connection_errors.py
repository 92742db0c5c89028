"""What is said when a server at a URL can't be reached, refuses, or loses its session."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from helix_desktop.domain.errors import ToolError
from helix_desktop.mcp.client import servers
from helix_desktop.mcp.client.process import MAX_MESSAGE_BYTES, unreachable
from helix_desktop.mcp.client.servers import start_timeout_s
from tests.support.mcp.mcp_rig import McpRig, approved_server
from tests.support.mcp.raw_http_server import Answer, RawHttpServer

ECHO = "mcp__web__echo"
NO_SESSION = b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "No valid session ID"}}'


@pytest.fixture
async def server() -> AsyncIterator[RawHttpServer]:
    server = RawHttpServer()
    await server.start()
    yield server
    await server.close()


async def call_error(rig: McpRig, **arguments: Any) -> str:
    """Return what the model reads of a call of echo that fails."""
    with pytest.raises(ToolError) as raised:
        await rig.call(ECHO, **arguments)
    return str(raised.value)


async def test_a_call_that_a_restarted_server_did_not_take_is_made_again(
    rig: McpRig, server: RawHttpServer
) -> None:
    """It runs once, in a new session."""
    await rig.start_servers(server.config())
    for server.missing_session in (
        ("404 Not Found", "text/plain", b"Session not found"),
        ("404 Not Found", "application/json", NO_SESSION),
        ("400 Bad Request", "application/json", NO_SESSION),
    ):
        server.forget_sessions()
        server.calls.clear()
        assert await rig.call_text(ECHO, a=1) == '{"a": 1}'
        assert server.calls == [{"a": 1}]


async def test_calls_that_a_restarted_server_did_not_take_are_all_made_again(
    rig: McpRig, server: RawHttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one to connect anew does not end the others: each hears before that it was not taken."""
    monkeypatch.setattr(servers, "LISTED_LATELY_S", 600.0)  # however long the start took
    await rig.start_servers(server.config())
    server.forget_sessions()
    server.first_refusal = asyncio.Event()
    calls = asyncio.gather(*(rig.call_text(ECHO, a=number) for number in range(4)))
    await rig.wait_until(lambda: server.refused_calls == 4 and len(rig.actor("web")._open_calls) == 1)
    await asyncio.sleep(0.2)  # time enough to end the session while one call has no answer yet
    assert rig.actor("web").is_up
    server.first_refusal.set()
    texts = await calls
    assert texts == [f'{{"a": {number}}}' for number in range(4)]
    assert len(server.calls) == 4


async def test_a_server_that_went_away_before_a_call_did_not_end_in_it(
    rig: McpRig, server: RawHttpServer
) -> None:
    """The model reads whole sentences that say what happened; a GET that is refused is no part of it."""
    await rig.start_servers(server.config())
    host = server.host
    assert "405" not in rig.actor("web").stderr_log.text
    server.answer = ("500 Oops", "text/plain", b"")
    assert f"{host} answered 500 Oops. The server has a problem of its own." in await call_error(rig)
    await server.close()
    assert await call_error(rig) == (
        f"The MCP server web is not running. Can't reach {host}. Nothing answers at this address. "
        "Check that the server is running, and check the address. "
        "Go on without it, or ask the user to look at Settings → MCP servers."
    )


async def test_an_answer_that_is_too_large_is_said_to_be(rig: McpRig, server: RawHttpServer) -> None:
    """The server goes on, and so do its other calls."""
    await rig.start_servers(server.config())
    assert "It sent an answer of over 16 MB." in await call_error(rig, size=MAX_MESSAGE_BYTES)
    assert await rig.call_text(ECHO, a=2) == '{"a": 2}'


NO_SERVER = "There may be no MCP server at this path. Check the path of the URL: it often ends in /mcp."


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            ("401 Unauthorized", "application/json", b'{"error": "invalid_token"}'),
            "asks for a sign-in. Sign in under Settings → MCP servers, or add a key to its headers.",
        ),
        (("404 Not Found", "text/html", b"<p>No."), f"answered 404 Not Found. {NO_SERVER}"),
        (("200 OK", "text/html", b"<p>Hello."), f"answered with text/html. {NO_SERVER}"),
    ],
)
async def test_an_answer_of_no_mcp_server_says_what_to_do(
    rig: McpRig, server: RawHttpServer, answer: Answer, expected: str
) -> None:
    server.answer = answer
    await rig.start_servers(server.config())
    assert rig.actor("web").status.reason == f"{server.host} {expected}"


async def test_a_scheme_that_is_wrong_is_said_to_be(rig: McpRig, server: RawHttpServer) -> None:
    url = f"https://{server.host}/mcp"
    await rig.start_servers(approved_server("web", command="", args=(), url=url))
    assert rig.actor("web").status.reason == (
        f"Can't reach {server.host}. No secure connection (wrong version number). "
        "Check http:// or https:// in the URL."
    )


async def test_a_server_that_stays_silent_is_given_up_soon(
    rig: McpRig, server: RawHttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is downloaded for a URL, so that nobody waits as long as for a program."""
    assert start_timeout_s(server.config()) == 20
    monkeypatch.setattr(servers, "URL_START_TIMEOUT_S", 1.0)
    server.is_silent = True
    await rig.start_servers(server.config())
    assert rig.actor("web").status.reason == (
        f"No answer from {server.host} within 1 s. Check that the server is running, and check the address."
    )


def test_a_name_that_is_wrong_is_said_to_be() -> None:
    """The resolver's own words are no help."""
    error = httpx2.ConnectError("[Errno -2] Name or service not known")
    error.__cause__ = socket.gaierror(-2, "Name or service not known")
    assert str(unreachable("no-such-name.invalid", error)) == (
        "Can't reach no-such-name.invalid. The name in the URL can't be found. "
        "Check the address, and check the network."
    )


@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found", "500 Internal Server Error"])
async def test_a_refused_reply_in_the_opening_does_not_end_the_session(
    status: str, rig: McpRig, server: RawHttpServer
) -> None:
    """The server asks for the roots before it has opened; its tools came or didn't, by chance."""
    server.reply_refusal = (status, "text/plain", b"no such request")
    await rig.start_servers(server.config())
    assert rig.tool_names == ["mcp__web__echo"]
    assert await rig.call_text("mcp__web__echo", a=1) == '{"a": 1}'
    assert (server.session_count, rig.actor("web").is_up) == (1, True)
