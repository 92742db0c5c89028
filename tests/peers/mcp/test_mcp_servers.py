"""Third-party servers, in two languages: listed, called and ended like our own."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.agent.tool_calls.toolset import Toolset
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.domain.question import ServerQuestion, ServerReply
from tests.support.local_site import http_response, serve_site
from tests.support.mcp.mcp_rig import McpRig, approved_server
from tests.support.peer_processes import PEERS

EVERYTHING = "@modelcontextprotocol/server-everything"
FILES = "@modelcontextprotocol/server-filesystem"
MEMORY = "@modelcontextprotocol/server-memory"
THINKING = "@modelcontextprotocol/server-sequential-thinking"
MARK = "What only this text has."


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[McpRig]:
    rig = McpRig(tmp_path)
    yield rig
    await rig.close()


def npm(name: str, package: str, *args: str, **fields: Any) -> McpServerConfig:
    """A server from the peers' node_modules."""
    manifest = json.loads(
        (PEERS.node / "node_modules" / package / "package.json").read_text(encoding="utf-8")
    )
    script = next(iter(manifest["bin"].values()))
    path = PEERS.node / "node_modules" / package / script
    return approved_server(name, str(path), *args, command=shutil.which("node") or "node", **fields)


def make_history(folder: Path) -> None:
    author = ["-c", "user.name=A", "-c", "user.email=a@b"]
    for words in (["init", "-q"], [*author, "commit", "-q", "--allow-empty", "-m", "First"]):
        subprocess.run(["git", *words], cwd=folder, check=True)


@pytest.mark.needs_peer(package=EVERYTHING)
async def test_all_kinds_of_results_of_the_reference_server_arrive(rig: McpRig) -> None:
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


@pytest.mark.needs_peer(package=EVERYTHING)
async def test_what_the_reference_server_asks_is_answered(rig: McpRig) -> None:
    """A form with every kind of field, a page to open, and a page that a call needs before."""
    await rig.start_servers(npm("every", EVERYTHING))
    questions: list[ServerQuestion] = []

    async def user(question: ServerQuestion) -> ServerReply:
        questions.append(question)
        if not question.fields:
            return ServerReply(action="accept", url=question.url)
        fish = ("fish-1", "fish-3")
        content = (("name", "Ada"), ("titledMultipleSelectEnum", fish), ("integer", 7))
        return ServerReply(action="accept", content=content)

    result = (await rig.call_asking("mcp__every__trigger-elicitation-request", user)).content.decode()
    assert "- Name: Ada" in result
    assert '"fish-3"' in result
    kinds = {field.kind for field in questions[0].fields}
    assert kinds == {"text", "number", "integer", "boolean", "choice", "choices"}
    url = "https://example.org/a"
    page = "mcp__every__trigger-url-elicitation"
    assert (await rig.call_asking(page, user, url=url)).ok
    assert questions[1].url == url
    assert (await rig.call_asking(page, user, url=url, errorPath=True)).ok
    assert [bool(question.url) for question in questions[2:]] == [True, False, True]


@pytest.mark.needs_peer(package=EVERYTHING)
async def test_prompts_and_resources_of_the_reference_server_are_read(rig: McpRig) -> None:
    await rig.start_servers(npm("every", EVERYTHING))
    await rig.wait_until(lambda: bool(rig.hub.resources))
    actor = rig.actor("every")
    prompts = {prompt.command: prompt for prompt in rig.hub.prompts}
    city = prompts["every:args-prompt"]
    assert city.hint == "CITY [STATE]"
    assert (await actor.get_prompt(city, {"city": "Rome"})).text == "What's weather in Rome?"
    values = {"resourceType": "Text", "resourceId": "3"}
    (name, data), *_ = (await actor.get_prompt(prompts["every:resource-prompt"], values)).files
    assert name == "demo://resource/dynamic/text/3"
    assert data.startswith(b"Resource 3")
    assert (await actor.read_resource(rig.hub.resources[0])).startswith(b"#")


@pytest.mark.needs_peer(package=FILES)
async def test_the_filesystem_server_reads_allowed_paths_only(rig: McpRig, tmp_path: Path) -> None:
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


def python_server(name: str, *arguments: str) -> McpServerConfig:
    """A server from the peers' Python."""
    return approved_server(name, "-m", f"mcp_server_{name}", *arguments, command=str(PEERS.python))


@pytest.mark.needs_peer(package=FILES)
async def test_a_file_comes_once(rig: McpRig, tmp_path: Path) -> None:
    """The server sends it twice: as text, and as structured content."""
    text = f"{MARK}\n" + "A line of the file.\n" * 1_000
    (tmp_path / "note.txt").write_text(text, encoding="utf-8")
    await rig.start_servers(npm("files", FILES, str(tmp_path)))
    read = await rig.call_text("mcp__files__read_text_file", path=str(tmp_path / "note.txt"))
    assert read == text
    written = await rig.call_text("mcp__files__write_file", path=str(tmp_path / "b.txt"), content=MARK)
    assert written.count("b.txt") == 1


@pytest.mark.needs_peer(package=MEMORY)
async def test_what_a_server_remembers_comes_once(rig: McpRig, tmp_path: Path) -> None:
    place = {"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}
    await rig.start_servers(npm("memory", MEMORY, env=place))
    entity = {"name": "Ada", "entityType": "user", "observations": [MARK]}
    made = await rig.call_text("mcp__memory__create_entities", entities=[entity])
    assert made.count(MARK) == 1
    assert (await rig.call_text("mcp__memory__read_graph")).count(MARK) == 1


@pytest.mark.needs_peer(package=THINKING)
async def test_the_count_of_a_thought_comes_once(rig: McpRig) -> None:
    await rig.start_servers(npm("thinking", THINKING))
    thought = {"thought": MARK, "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": False}
    answer = await rig.call_text("mcp__thinking__sequentialthinking", **thought)
    assert answer.count("thoughtNumber") == 1


@pytest.mark.needs_peer(package=EVERYTHING)
async def test_structured_content_of_the_reference_server_comes_once(rig: McpRig) -> None:
    await rig.start_servers(npm("every", EVERYTHING))
    answer = await rig.call_text("mcp__every__get-structured-content", location="New York")
    assert answer.count("temperature") == 1
    assert (await rig.call_text("mcp__every__echo", message=MARK)).count(MARK) == 1


@pytest.mark.needs_peer(module="mcp_server_time")
async def test_the_time_comes_once(rig: McpRig) -> None:
    await rig.start_servers(python_server("time"))
    assert (await rig.call_text("mcp__time__get_current_time", timezone="UTC")).count("datetime") == 1


@pytest.mark.needs_peer(module="mcp_server_fetch")
async def test_a_page_comes_once(rig: McpRig) -> None:
    page = f"<html><body><article><p>{MARK}</p></article></body></html>".encode()
    async with serve_site(
        {"/": http_response(page), "/robots.txt": http_response(b"", "text/plain")}
    ) as site:
        await rig.start_servers(python_server("fetch", "--ignore-robots-txt", "--allow-private-ips"))
        address = f"http://127.0.0.1:{site.port}/"
        assert (await rig.call_text("mcp__fetch__fetch", url=address)).count(MARK) == 1


@pytest.mark.needs_peer(module="mcp_server_git")
async def test_a_log_comes_once(rig: McpRig, tmp_path: Path) -> None:
    make_history(tmp_path)
    await rig.start_servers(python_server("git", "--repository", str(tmp_path)))
    assert (await rig.call_text("mcp__git__git_log", repo_path=str(tmp_path))).count("First") == 1
