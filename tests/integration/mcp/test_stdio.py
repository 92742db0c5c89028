"""Real servers over pipes: their tools are listed and called, canceled, changed, and fail."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.tools import ProgressText
from tests.support.mcp.mcp_rig import McpRig, sdk_server


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
    actor, names = rig.actor("made"), rig.tool_names
    with pytest.raises(ToolError, match="did not carry out die"):
        await rig.call("mcp__made__die")
    await rig.wait_until(lambda: actor.status.state == "failed")
    assert "The server ended." in actor.status.reason
    assert "I am dying" in actor.status.reason
    assert "abcdefgh" not in actor.status.reason + actor.stderr_log.text
    assert "It ended with exit code 3." in actor.stderr_log.text
    assert rig.tool_names == names
    assert await rig.call_text("mcp__made__say", text="back") == "You said: back"
