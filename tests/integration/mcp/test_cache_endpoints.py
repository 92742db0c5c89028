"""A workspace's cache over HTTP while the app runs: switched on, kept, renewed, switched off."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

from helix_desktop.config.paths import DataDir
from helix_desktop.domain.store.commit import Commit
from helix_desktop.services.app_services import AppServices
from helix_desktop.services.cache_server.config_snippets import SharingState
from helix_desktop.workspaces.record import WorkspaceRecord
from tests.support.store.builders import make_content

ONE = make_content(b"one line\n")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[AppServices]:
    """A desk on a data directory of its own."""
    data = DataDir.locate(tmp_path / "data", {})
    data.ensure()
    desk = AppServices(data, {})
    yield desk
    await desk.close()


@pytest.fixture
async def record(desk: AppServices, tmp_path: Path) -> WorkspaceRecord:
    """An open workspace that holds one content."""
    (tmp_path / "ws").mkdir()
    record = desk.registry.add(tmp_path / "ws")
    room = await desk.open_workspace(record.id)
    await room.store.commit(Commit("s1", contents=[ONE]))
    return record


async def recalled(shared: SharingState) -> str:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {shared.token}"}) as carrying,
        Client(streamable_http_client(shared.url, http_client=carrying)) as client,
    ):
        (block,) = (await client.call_tool("recall_cached_content", {"hash": ONE.digest})).content
        assert isinstance(block, TextContent)
        return block.text


async def answers(shared: SharingState) -> int:
    async with httpx2.AsyncClient() as client:
        answer = await client.post(shared.url, headers={"Authorization": f"Bearer {shared.token}"})
        return int(answer.status_code)


async def test_it_serves_while_it_is_on_and_the_workspace_open(
    desk: AppServices, record: WorkspaceRecord
) -> None:
    assert await desk.cache_endpoints.sharing_state(record.id) == SharingState()
    await desk.cache_endpoints.set_enabled(record.id, enabled=True)
    shared = await desk.cache_endpoints.sharing_state(record.id)
    assert shared.is_enabled
    assert desk.registry.get(record.id).share_port == shared.port
    assert await recalled(shared) == "one line\n"
    await desk.close_workspace(record.id)
    with pytest.raises(httpx2.ConnectError):
        await answers(shared)
    await desk.open_workspace(record.id)
    await desk.cache_endpoints.start(record.id)
    again = await desk.cache_endpoints.sharing_state(record.id)
    assert (again.url, again.token) == (shared.url, shared.token), "what programs were given still holds"
    assert await recalled(again) == "one line\n"
    await desk.cache_endpoints.set_enabled(record.id, enabled=False)
    assert desk.registry.get(record.id).share_port == 0
    with pytest.raises(httpx2.ConnectError):
        await answers(shared)


async def test_a_new_token_shuts_the_former_one_out(desk: AppServices, record: WorkspaceRecord) -> None:
    await desk.cache_endpoints.set_enabled(record.id, enabled=True)
    former = await desk.cache_endpoints.sharing_state(record.id)
    await desk.cache_endpoints.rotate_token(record.id)
    now = await desk.cache_endpoints.sharing_state(record.id)
    assert now.url == former.url
    assert now.token != former.token
    assert await answers(former) == 401
    assert await recalled(now) == "one line\n"


async def test_two_workspaces_have_two_endpoints_and_neither_token_opens_the_other(
    desk: AppServices, record: WorkspaceRecord, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = desk.registry.add(tmp_path / "other")
    await desk.open_workspace(other.id)
    for one in (record, other):
        await desk.cache_endpoints.set_enabled(one.id, enabled=True)
    mine, theirs = (
        await desk.cache_endpoints.sharing_state(record.id),
        await desk.cache_endpoints.sharing_state(other.id),
    )
    assert mine.url != theirs.url
    assert await answers(SharingState(True, theirs.url, mine.token)) == 401


async def test_a_port_that_somebody_took_is_said(
    desk: AppServices, record: WorkspaceRecord, tmp_path: Path
) -> None:
    await desk.cache_endpoints.set_enabled(record.id, enabled=True)
    shared = await desk.cache_endpoints.sharing_state(record.id)
    (tmp_path / "other").mkdir()
    other = desk.registry.add(tmp_path / "other")
    await desk.open_workspace(other.id)
    desk.registry.change(other.id, share_port=shared.port)
    await desk.cache_endpoints.start(other.id)
    told = await desk.cache_endpoints.sharing_state(other.id)
    assert told.is_enabled
    assert not told.url
    assert f"Port {shared.port}" in told.error


async def test_the_command_that_others_are_given_names_the_workspace(
    desk: AppServices, record: WorkspaceRecord
) -> None:
    command = desk.cache_endpoints.stdio_command(record.id)
    assert command[-2:] == ("--workspace", record.path)
    assert "--data-dir" in command, "this desk does not keep its data in the usual place"
