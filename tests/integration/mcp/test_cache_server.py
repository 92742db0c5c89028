"""A workspace's cache behind MCP: the SDK's own client, a real store, every tool."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp_types import ImageContent, TextContent

from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.store import Commit, Content
from helix_desktop.mcp.cache_server import cache_server
from helix_desktop.services.cache_server import CACHE_SERVER_SESSION, CacheServerTools
from helix_desktop.services.closed_workspaces import LazyStore
from helix_desktop.store.remote.server import SharedStore
from helix_desktop.tools.workspace_tools import create_cache_tools
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


async def test_other_programs_get_the_same_answers_as_the_agent(tmp_path: Path) -> None:
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
    async with opened(tmp_path / "store") as store:
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


async def test_no_other_tool_can_be_called(tmp_path: Path) -> None:
    await stored(tmp_path / "store", make_content(TEXT))
    async with served(tmp_path / "store") as client:
        with pytest.raises(MCPError, match="no tool 'run_command'"):
            await client.call_tool("run_command", {"command": "id"})


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


async def test_recalls_by_others_count_as_use(tmp_path: Path) -> None:
    content = make_content(TEXT)
    await stored(tmp_path / "store", content)
    async with served(tmp_path / "store") as client:
        await client.call_tool("recall_cached_content", {"hash": content.digest})
    async with opened(tmp_path / "store") as store:
        entry = await store.entry(content.digest)
        assert (entry.recalls, entry.last_used > entry.created) == (1, True)
        assert CACHE_SERVER_SESSION not in [session.id for session in await store.sessions()]
