"""Servers behind a URL: a real one on loopback, with its own headers, and missing ones."""

from __future__ import annotations

import asyncio
import gzip
import sys
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import zstandard

from tests.support.local_site import http_response, serve_site
from tests.support.mcp.mcp_rig import SCRIPTS_DIR, McpRig, approved_server


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
