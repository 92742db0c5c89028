"""A workspace's cache behind MCP: every tool for the SDK's own client, and over HTTP while the app runs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ImageContent, TextContent

from helix_desktop.config.paths import DataDir
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.store import Commit, Content
from helix_desktop.mcp.cache_server import cache_server
from helix_desktop.services.app_services import AppServices
from helix_desktop.services.cache_server import CACHE_SERVER_SESSION, CacheServerTools, SharingState
from helix_desktop.services.closed_workspaces import LazyStore
from helix_desktop.store.remote.server import SharedStore
from helix_desktop.tools.workspace_tools import create_cache_tools
from helix_desktop.workspaces.registry import WorkspaceRecord
from tests.support.image_bytes import png
from tests.support.mcp.results import result_text
from tests.support.store.builders import WORKSPACE, TickingClock, make_content
from tests.support.tool_rig import DESCRIPTIONS_DIR, estimate_tokens

CLOCK = TickingClock()
TEXT = b"".join(b"line %d of the log\n" % number for number in range(1, 3001))


@asynccontextmanager
async def opened(folder: Path, workspace_id: str = WORKSPACE) -> AsyncIterator[SharedStore]:
    store = await SharedStore.open(folder, workspace_id, CLOCK)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def served(folder: Path, idle_s: float = 0.0) -> AsyncIterator[Client]:
    """The cache of a store through a client, which opens it whenever it needs it."""

    lazy_store = LazyStore(lambda: opened(folder), idle_s)
    try:
        async with Client(
            cache_server(CacheServerTools(lazy_store, estimate_tokens), "proj", "1.0")
        ) as client:
            yield client
    finally:
        await lazy_store.close()


async def stored(folder: Path, *contents: Content) -> None:
    async with opened(folder) as store:
        await store.commit(Commit("s1", contents=contents))


async def test_other_programs_have_the_agent_s_tools_of_the_cache_and_no_others(tmp_path: Path) -> None:
    content = make_content(TEXT)
    await stored(tmp_path / "store", content)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("recall_cached_content", {"hash": content.digest}),
        ("recall_cached_content", {"hash": content.digest[:8], "start_line": 2990}),
        ("recall_cached_content", {"hash": content.digest, "pattern": "29[0-9]7"}),
        ("search_cached_content", {"query": "2999"}),
        ("list_cached_content", {}),
        ("list_cached_content", {"order": "largest", "path": "app"}),
    ]
    async with served(tmp_path / "store") as client:
        results = [result_text(await client.call_tool(name, arguments)) for name, arguments in calls]
        with pytest.raises(MCPError, match="no tool 'run_command'"):
            await client.call_tool("run_command", {"command": "id"})
    async with opened(tmp_path / "store") as store:
        entry = await store.entry(content.digest)
        assert (entry.recalls, entry.last_used > entry.created) == (3, True), "recalls by others count as use"
        assert CACHE_SERVER_SESSION not in [session.id for session in await store.sessions()]
        box = create_cache_tools(store, DESCRIPTIONS_DIR, estimate_tokens)
        for (name, arguments), answer in zip(calls, results, strict=True):
            own = await box.run(ToolCall("1", name, json.dumps(arguments)))
            assert answer == (own.model_text or own.content.decode())


async def test_an_image_is_returned_as_an_image(tmp_path: Path) -> None:
    data = png(3, 2)
    await stored(tmp_path / "store", make_content(data))
    async with served(tmp_path / "store") as client:
        result = await client.call_tool("recall_cached_content", {"hash": make_content(data).digest})
    text, image = result.content
    assert isinstance(text, TextContent)
    assert isinstance(image, ImageContent)
    assert image.mime_type == "image/png"
    assert "3 x 2" in text.text.replace("×", "x")


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("recall_cached_content", {"hash": "zz"}, "is not a hash"),
        ("recall_cached_content", {"hash": "0" * 64}, "holds nothing under"),
        ("recall_cached_content", {}, "wrong arguments"),
        ("search_cached_content", {"query": " "}, "word"),
        ("list_cached_content", {"cursor": "nonsense"}, "is not a cursor"),
        ("list_cached_content", {"order": "fastest"}, "wrong arguments"),
        ("list_cached_content", {"limit": 0}, "wrong arguments"),
    ],
)
async def test_invalid_arguments_are_answered_with_the_problem(
    tmp_path: Path, name: str, arguments: dict[str, Any], words: str
) -> None:
    await stored(tmp_path / "store", make_content(TEXT))
    async with served(tmp_path / "store") as client:
        result = await client.call_tool(name, arguments)
    assert result.is_error
    assert words in result_text(result)


async def test_a_list_can_be_paged_to_its_end(tmp_path: Path) -> None:
    contents = [make_content(b"content %d" % number) for number in range(7)]
    for content in contents:
        await stored(tmp_path / "store", content)
    digests: list[str] = []
    cursor = ""
    async with served(tmp_path / "store", idle_s=5.0) as client:
        for _ in range(4):
            text = result_text(await client.call_tool("list_cached_content", {"limit": 2, "cursor": cursor}))
            lines = text.splitlines()
            digests += [line.split()[0] for line in lines[1:-1]]
            cursor = lines[-1].partition("cursor=")[2].strip("'.")
    assert digests == [content.digest for content in reversed(contents)]
    assert not cursor


CONTENT = make_content(b"one line\n")


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[AppServices]:
    data = DataDir.locate(tmp_path / "data", {})
    data.ensure()
    services = AppServices(data, {})
    yield services
    await services.close()


@pytest.fixture
async def record(services: AppServices, tmp_path: Path) -> WorkspaceRecord:
    (tmp_path / "ws").mkdir()
    record = services.registry.add(tmp_path / "ws")
    workspace = await services.open_workspace(record.id)
    await workspace.store.commit(Commit("s1", contents=[CONTENT]))
    return record


async def recalled(shared: SharingState) -> str:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {shared.token}"}) as carrying,
        Client(streamable_http_client(shared.url, http_client=carrying)) as client,
    ):
        (block,) = (await client.call_tool("recall_cached_content", {"hash": CONTENT.digest})).content
        assert isinstance(block, TextContent)
        return block.text


async def answers(shared: SharingState) -> int:
    async with httpx2.AsyncClient() as client:
        answer = await client.post(shared.url, headers={"Authorization": f"Bearer {shared.token}"})
        return int(answer.status_code)


async def test_it_serves_while_enabled_and_the_workspace_is_open(
    services: AppServices, record: WorkspaceRecord
) -> None:
    assert await services.cache_endpoints.sharing_state(record.id) == SharingState()
    await services.cache_endpoints.set_enabled(record.id, enabled=True)
    shared = await services.cache_endpoints.sharing_state(record.id)
    assert shared.is_enabled
    assert services.registry.get(record.id).share_port == shared.port
    assert (await recalled(shared)).endswith("\none line\n")
    await services.close_workspace(record.id)
    with pytest.raises(httpx2.ConnectError):
        await answers(shared)
    await services.open_workspace(record.id)
    await services.cache_endpoints.start(record.id)
    again = await services.cache_endpoints.sharing_state(record.id)
    assert (again.url, again.token) == (shared.url, shared.token), "what programs were given still holds"
    assert (await recalled(again)).endswith("\none line\n")
    await services.cache_endpoints.set_enabled(record.id, enabled=False)
    assert services.registry.get(record.id).share_port == 0
    with pytest.raises(httpx2.ConnectError):
        await answers(shared)


async def test_a_new_token_revokes_the_previous_one(services: AppServices, record: WorkspaceRecord) -> None:
    """None of them is in a file of settings."""
    await services.cache_endpoints.set_enabled(record.id, enabled=True)
    before = await services.cache_endpoints.sharing_state(record.id)
    await services.cache_endpoints.rotate_token(record.id)
    now = await services.cache_endpoints.sharing_state(record.id)
    assert now.url == before.url
    assert now.token != before.token
    assert await answers(before) == 401
    settings = [path.read_text() for path in services.data_dir.root.rglob("*.toml")]
    assert settings
    assert not [text for text in settings for token in (before.token, now.token) if token in text]
    assert (await recalled(now)).endswith("\none line\n")


async def test_two_workspaces_have_two_endpoints_and_neither_token_opens_the_other(
    services: AppServices, record: WorkspaceRecord, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = services.registry.add(tmp_path / "other")
    await services.open_workspace(other.id)
    for workspace_record in (record, other):
        await services.cache_endpoints.set_enabled(workspace_record.id, enabled=True)
    mine = await services.cache_endpoints.sharing_state(record.id)
    theirs = await services.cache_endpoints.sharing_state(other.id)
    assert mine.url != theirs.url
    assert await answers(SharingState(True, theirs.url, mine.token)) == 401


async def test_a_port_in_use_is_reported(
    services: AppServices, record: WorkspaceRecord, tmp_path: Path
) -> None:
    await services.cache_endpoints.set_enabled(record.id, enabled=True)
    shared = await services.cache_endpoints.sharing_state(record.id)
    (tmp_path / "other").mkdir()
    other = services.registry.add(tmp_path / "other")
    await services.open_workspace(other.id)
    services.registry.change(other.id, share_port=shared.port)
    await services.cache_endpoints.start(other.id)
    state = await services.cache_endpoints.sharing_state(other.id)
    assert state.is_enabled
    assert not state.url
    assert f"Port {shared.port}" in state.error


async def test_the_command_to_copy_names_the_workspace(
    services: AppServices, record: WorkspaceRecord
) -> None:
    command = services.cache_endpoints.stdio_command(record.id)
    assert command[-2:] == ("--workspace", record.path)
    assert "--data-dir" in command, "this desk does not keep its data in the usual place"
