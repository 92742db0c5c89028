"""Third-party servers, in two languages: listed, called and ended like our own."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from helix_desktop.agent.tool_calls.toolset import Toolset
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.mcp_server import McpServerConfig
from tests.support.mcp.mcp_rig import McpRig, approved_server
from tests.support.peer_processes import PEERS

EVERYTHING, FILES = "@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-filesystem"


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[McpRig]:
    """A workspace's servers."""
    rig = McpRig(tmp_path)
    yield rig
    await rig.close()


def npm(name: str, package: str, *args: str) -> McpServerConfig:
    """A server from the peers' node_modules."""
    manifest = json.loads(
        (PEERS.node / "node_modules" / package / "package.json").read_text(encoding="utf-8")
    )
    script = next(iter(manifest["bin"].values()))
    path = PEERS.node / "node_modules" / package / script
    return approved_server(name, str(path), *args, command=shutil.which("node") or "node")


def make_history(folder: Path) -> None:
    """A repository with one commit."""
    author = ["-c", "user.name=A", "-c", "user.email=a@b"]
    for words in (["init", "-q"], [*author, "commit", "-q", "--allow-empty", "-m", "First"]):
        subprocess.run(["git", *words], cwd=folder, check=True)


@pytest.mark.needs_peer(package=EVERYTHING)
async def test_all_kinds_of_results_of_the_reference_server_arrive(rig: McpRig) -> None:
    """Text, images, progress, structured content and resources of the reference server arrive."""
    await rig.start_servers(npm("every", EVERYTHING))
    actor = rig.actor("every")
    assert actor.status.state == "ready", actor.stderr_log.text
    assert all(not tool.rejection for tool in actor.tools), [tool for tool in actor.tools if tool.rejection]
    assert "hello" in await rig.call_text("mcp__every__echo", message="hello")
    image = await rig.call("mcp__every__get-tiny-image")
    assert len(image.image_data) == 1
    progress: list[str] = []
    await rig.call("mcp__every__trigger-long-running-operation", progress.append, duration=1, steps=4)
    assert len(progress) >= 3
    structured = await rig.call_text("mcp__every__get-structured-content", location="New York")
    assert "temperature" in structured
    assert "resource" in (await rig.call_text("mcp__every__get-resource-reference")).lower()
    wrong = await rig.call("mcp__every__get-sum", a="x", b=2)
    assert not wrong.ok
    assert "mcp__every__echo" in [spec.name for spec in Toolset(rig.hub).specs]


@pytest.mark.needs_peer(package=FILES)
async def test_the_filesystem_server_reads_allowed_paths_only(rig: McpRig, tmp_path: Path) -> None:
    """It reads allowed paths and refuses the rest; both results are labeled correctly."""
    (tmp_path / "note.txt").write_text("A note.", encoding="utf-8")
    await rig.start_servers(npm("files", FILES, str(tmp_path)))
    assert "A note." in await rig.call_text("mcp__files__read_text_file", path=str(tmp_path / "note.txt"))
    outside = await rig.call("mcp__files__read_text_file", path="/etc/passwd")
    assert not outside.ok
    assert "denied" in outside.content.decode().lower()
    reading = {tool.tool for tool in rig.actor("files").tools if tool.claims_read_only}
    assert "read_text_file" in reading
    assert "write_file" not in reading


@pytest.mark.needs_peer(module="mcp_server_git")
async def test_a_python_server_of_an_older_protocol_works(rig: McpRig, tmp_path: Path) -> None:
    """A server in Python, of an older protocol."""
    make_history(tmp_path)
    await rig.start_servers(
        approved_server(
            "git", "-m", "mcp_server_git", "--repository", str(tmp_path), command=str(PEERS.python)
        )
    )
    actor = rig.actor("git")
    assert actor.status.state == "ready", actor.stderr_log.text
    assert "First" in await rig.call_text("mcp__git__git_log", repo_path=str(tmp_path))
    with pytest.raises(ToolError, match="There is no tool"):
        await rig.call("mcp__git__no_such_tool")
