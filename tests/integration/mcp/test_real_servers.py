"""Real servers over pipes and behind a URL: their tools are listed, called, canceled, changed, and fail."""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import zstandard

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.tools import ProgressText
from tests.support.local_site import http_response, serve_site
from tests.support.mcp.mcp_rig import SCRIPTS_DIR, McpRig, approved_server, sdk_server


async def test_a_server_is_greeted_called_canceled_and_restarted(
    rig: McpRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Greet one server and call its tools, one after the other: it takes a second to start."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-ours")
    monkeypatch.setenv("HELIX_SOMETHING", "ours")
    rig.secrets["DEEP"] = "kept in the keychain"
    folder = tmp_path / "sub"
    folder.mkdir()
    await rig.start_servers(sdk_server(env={"PLAIN": "seen"}, secret_env=("DEEP",), cwd="sub"))
    await check_greeting_and_list(rig)
    await check_environment(rig, folder)
    await check_progress(rig)
    await check_pictures_and_resources(rig)
    await check_failing_tool(rig)
    await check_a_canceled_call(rig, folder)
    await check_announced_tools(rig)
    await check_a_death_in_a_call(rig)


async def check_greeting_and_list(rig: McpRig) -> None:
    """Its tools have prefixed names, state their origin, and answer."""
    actor = rig.actor("made")
    assert actor.status.state == "ready", actor.stderr_log.text
    assert actor.server_title == "made 1.0"
    assert rig.tool_names == sorted(rig.tool_names)
    assert "mcp__made__say" in rig.tool_names
    (say,) = [spec for spec in rig.tools.specs if spec.name == "mcp__made__say"]
    assert say.description == "[MCP server made] Says a text."
    assert say.parameters["required"] == ["text"]
    assert await rig.call_text("mcp__made__say", text="hello") == "You said: hello"


async def check_environment(rig: McpRig, folder: Path) -> None:
    """Keys of providers in our environment do not reach a server; its own variables and folder do."""
    environment = json.loads(await rig.call_text("mcp__made__environment"))
    assert environment["PLAIN"] == "seen"
    assert environment["DEEP"] == "kept in the keychain"
    assert environment["cwd"] == str(folder)
    assert not {"OPENAI_API_KEY", "HELIX_SOMETHING", "PYTHON_KEYRING_BACKEND"} & environment.keys()


async def check_progress(rig: McpRig) -> None:
    """The progress of a call arrives before its answer."""
    progress: list[str] = []
    result = await rig.call("mcp__made__count", progress.append, to=3)
    assert result.content == b"counted to 3"
    assert progress[0] == "1 of 3: step 1\n"
    first, *_, last = progress
    assert isinstance(first, ProgressText)
    assert isinstance(last, ProgressText)
    assert (round(first.share, 2), last.share) == (0.33, 1.0)
    for part, total, amount in (
        (0.500129, 20, "0.5 of 20"),
        (0.3333, 1, "0.33 of 1"),
        (149.7, 1_000, "150 of 1000"),
        (0, 3, "0 of 3"),
    ):
        amounts: list[str] = []
        await rig.call("mcp__made__report", amounts.append, part=part, total=total)
        assert amounts == [f"{amount}\n"]
    unknown: list[str] = []
    await rig.call("mcp__made__report", unknown.append, part=12.3456)
    assert unknown == ["12.3\n"]
    assert not isinstance(unknown[0], ProgressText), "nobody knows how much there is"


async def check_a_canceled_call(rig: McpRig, folder: Path) -> None:
    """The server stops its work, and serves the next call."""
    begun = asyncio.Event()
    call = asyncio.get_running_loop().create_task(
        rig.call("mcp__made__count", lambda _: begun.set(), to=1000, seconds=1.0)
    )
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await rig.wait_until((folder / "cancelled").exists)
    assert await rig.call_text("mcp__made__say", text="still here") == "You said: still here"


async def check_announced_tools(rig: McpRig) -> None:
    """A list that changes is read again."""
    before = rig.tool_names
    assert await rig.call_text("mcp__made__grow") == "grown"
    await rig.wait_until(lambda: "mcp__made__fresh" in rig.tool_names)
    assert set(before) < set(rig.tool_names)
    assert rig.hub.later_tools == {"made": ("fresh",)}


async def check_pictures_and_resources(rig: McpRig) -> None:
    """The image's bytes come next to the text, the resource inside it."""
    result = await rig.call("mcp__made__picture")
    assert len(result.image_data) == 1
    assert result.content.decode() == (
        "Look:\n\n[an image: PNG image, 4 × 3 pixels, 69 B]\n\n[Resource note://one]\nA note."
    )


async def check_failing_tool(rig: McpRig) -> None:
    """Its own message reaches the model, marked as a failure."""
    result = await rig.call("mcp__made__fail")
    assert not result.ok
    assert "it went wrong" in result.content.decode()


async def check_a_death_in_a_call(rig: McpRig) -> None:
    """The call fails with a reason, the tools stay offered, and the next call reaches the new process."""
    actor = rig.actor("made")
    names = rig.tool_names
    with pytest.raises(ToolError, match=r"may have carried out die\. Look at what it did"):
        await rig.call("mcp__made__die")
    await rig.wait_until(lambda: actor.status.state == "failed")
    assert "The server ended." in actor.status.reason
    assert "I am dying" in actor.status.reason
    assert "abcdefgh" not in actor.status.reason + actor.stderr_log.text
    assert "It ended with exit code 3." in actor.stderr_log.text
    assert rig.tool_names == names
    assert await rig.call_text("mcp__made__say", text="back") == "You said: back"


@asynccontextmanager
async def serving(folder: Path, port: int = 0, *description: str) -> AsyncIterator[int]:
    """A real server on a loopback port; `description` is that of its tool `say`."""
    note = folder / "port"
    note.unlink(missing_ok=True)
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(SCRIPTS_DIR / "sdk_server.py"), "http", str(note), str(port), *description
    )
    try:
        while not (note.exists() and note.read_text(encoding="utf-8")):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)
        yield int(note.read_text(encoding="utf-8"))
    finally:
        process.terminate()
        await process.wait()


async def test_a_server_behind_a_url_is_called_and_reconnected(rig: McpRig, tmp_path: Path) -> None:
    """Calls, progress and canceling go over HTTP too; a server that was away is found again."""
    async with serving(tmp_path) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        rig.secrets["Authorization"] = "Bearer very-secret"
        await rig.start_servers(
            approved_server("web", command="", args=(), url=url, secret_headers=("Authorization",))
        )
        actor = rig.actor("web")
        assert actor.status.state == "ready", actor.status.reason
        assert await rig.call_text("mcp__web__say", text="hello") == "You said: hello"
        warnings: list[str] = []
        await rig.call("mcp__web__count", warnings.append, to=2)
        assert warnings == ["1 of 2: step 1\n", "2 of 2: step 2\n"]
        await rig.call_text("mcp__web__grow")
        await rig.wait_until(lambda: "mcp__web__fresh" in rig.tool_names)
    with pytest.raises(Exception, match="web"):
        await rig.call("mcp__web__say", text="anybody?")
    async with serving(tmp_path, port):
        rig.actor("web").retry()
        await rig.wait_until(lambda: rig.actor("web").is_up)
        assert await rig.call_text("mcp__web__say", text="again") == "You said: again"
    assert "very-secret" not in actor.stderr_log.text


@pytest.mark.parametrize("media_type", ["application/json", "text/event-stream"])
async def test_compressed_answers_are_read_in_bounded_memory(rig: McpRig, media_type: str) -> None:
    """A reply of some 300 KB does not take its 80 MB, and what was not requested is refused."""
    flood = b"data: " if media_type == "text/event-stream" else b""
    bodies = {
        "gzip": gzip.compress(flood + b" " * 80_000_000, compresslevel=1),
        "zstd": zstandard.compress(bytes(80_000_000)),
    }
    pages = {
        f"/{encoding}": http_response(body, media_type, extra_headers=f"Content-Encoding: {encoding}\r\n")
        for encoding, body in bodies.items()
    }
    async with serve_site(pages) as site:
        entries = [
            approved_server(name, command="", args=(), url=f"http://127.0.0.1:{site.port}/{name}")
            for name in bodies
        ]
        tracemalloc.start()
        try:
            await rig.hub.set_servers(entries, True)
            await rig.wait_until(
                lambda: all(rig.actor(entry.name).status.state == "failed" for entry in entries)
            )
            assert tracemalloc.get_traced_memory()[1] < 60_000_000
        finally:
            tracemalloc.stop()
        assert "content encoding zstd" in rig.actor("zstd").status.reason
        await rig.close()
