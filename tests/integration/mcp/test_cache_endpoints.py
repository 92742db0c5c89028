"""A workspace's cache over HTTP while the app runs: enabled, kept, renewed, disabled."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

from helix_desktop.config.paths import DataDir
from helix_desktop.domain.store import Commit
from helix_desktop.services.app_services import AppServices
from helix_desktop.services.cache_server import SharingState
from helix_desktop.workspaces.registry import WorkspaceRecord
from tests.support.store.builders import make_content

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
    mine, theirs = (
        await services.cache_endpoints.sharing_state(record.id),
        await services.cache_endpoints.sharing_state(other.id),
    )
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
