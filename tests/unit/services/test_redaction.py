"""What is forgotten beside the store: saved approvals that name it, and the app's logs."""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.app.crash_log import close_log, open_log
from helix_desktop.config.paths import DataDir
from helix_desktop.config.toml_file import TomlFiles
from helix_desktop.domain.events.session import UserSpoke
from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.domain.redaction.redaction import RedactionRequest
from helix_desktop.domain.tools import PermissionRule
from helix_desktop.services.redaction import WorkspaceRedaction
from helix_desktop.words.store_reports import summary_lines
from helix_desktop.workspaces.registry import WorkspaceRegistry
from tests.support.agent_rig import AgentRig
from tests.support.scripted_model import ScriptedModel, replies_in_order, text_reply

SECRET = "hunter2-hunter2"


async def test_rules_and_logs_lose_it_and_the_log_goes_on(tmp_path: Path) -> None:
    data = DataDir(tmp_path / "data")
    data.ensure()
    (tmp_path / "project").mkdir()
    registry = WorkspaceRegistry(data.workspaces_dir, TomlFiles(), lambda: 1)
    record = registry.add(tmp_path / "project")
    harmless = PermissionRule("run_command", "make", 1)
    registry.change(record.id, rules=(PermissionRule("run_command", f"login {SECRET}", 1), harmless))
    telling = McpServerConfig(
        name="telling", command="serve", args=("--key", SECRET), env={"K": f"x{SECRET}"}
    )
    agreed = msgspec.structs.replace(telling, approved=telling.fingerprint)
    registry.change(record.id, servers=(agreed, McpServerConfig(name="silent", command="serve")))
    rig = AgentRig(ScriptedModel(replies_in_order(text_reply("Hello."))))
    talk = await rig.begin()
    await talk.run(f"My key is {SECRET}.")
    room: OpenWorkspace = rig.workspace
    room.id = record.id
    handler = open_log(data.logs_dir)
    try:
        log = logging.getLogger("helix_desktop.test")
        log.info("tried %s in vain", SECRET)
        redaction = WorkspaceRedaction(registry, data.logs_dir, room)
        finds = await redaction.preview(RedactionRequest(SECRET))
        (rule,) = finds.rules
        assert rule.startswith("Run: login [FORGOTTEN ")
        assert finds.logs == ("helix-desktop.log",)
        assert "1 saved approval: revoked" in summary_lines(finds)
        assert finds.servers == ("telling",)
        assert "1 MCP server: rewritten, and to be agreed to anew" in summary_lines(finds)
        assert await redaction.redact(RedactionRequest(SECRET)) is not None
        log.info("and went on")
    finally:
        close_log(handler)
    written = (data.logs_dir / "helix-desktop.log").read_text()
    assert "tried [FORGOTTEN " in written
    assert written.endswith("and went on\n")
    assert registry.get(record.id).rules == (harmless,)
    told, silent = registry.get(record.id).servers
    assert told.args[1].startswith("[FORGOTTEN ")
    assert not told.is_consented
    assert silent.command == "serve"
    assert not [one for one in data.root.rglob("*") if one.is_file() and SECRET in one.read_text()]
    assert (await redaction.preview(RedactionRequest(SECRET))).is_empty
    again = await room.open_session(talk.session.id)
    assert again is not talk
    spoken = [one.event for one in again.session.log if isinstance(one.event, UserSpoke)]
    assert spoken[0].text.startswith("My key is [FORGOTTEN ")
