"""What is redacted outside the store: saved approvals and filters with the secret, the app's logs."""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.config.log_file import close_log, open_log
from helix_desktop.config.paths import DataDir
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.domain.redaction import RedactionRequest
from helix_desktop.domain.store import SavedCondition, SavedFilter
from helix_desktop.domain.tools import PermissionRule
from helix_desktop.file_history.database import FILE_NAME, FileHistoryDatabase
from helix_desktop.file_history.maintenance import FileHistoryMaintenance
from helix_desktop.services.redaction import WorkspaceRedaction
from helix_desktop.tools.shell.auto_run_guard import AutoRunGuard
from helix_desktop.words.store_reports import summary_lines
from helix_desktop.workspaces.registry import WorkspaceRegistry
from tests.support.agent_rig import AgentRig
from tests.support.scripted_model import ScriptedModel, replies_in_order, text_reply

SECRET = "hunter2-hunter2"


async def test_rules_and_logs_are_redacted_and_logging_goes_on(tmp_path: Path) -> None:
    data = DataDir(tmp_path / "data")
    data.ensure()
    (tmp_path / "project").mkdir()
    registry = WorkspaceRegistry(data.workspaces_dir, lambda: 1)
    record = registry.add(tmp_path / "project")
    harmless = _save_leaks(registry, record.id)
    rig = AgentRig(ScriptedModel(replies_in_order(text_reply("Hello."))))
    conversation = await rig.begin()
    await conversation.run(f"My key is {SECRET}.")
    workspace: OpenWorkspace = rig.workspace
    workspace.id = record.id
    handler = open_log(data.logs_dir)
    try:
        log = logging.getLogger("helix_desktop.test")
        log.info("tried %s in vain", SECRET)
        history, version = _history_with(registry.data_folder(record.id), f"key = {SECRET}".encode())
        guard = _guard_with_leak(tmp_path / "project", registry.data_folder(record.id) / "taken-out")
        redaction = WorkspaceRedaction(registry, data.logs_dir, workspace, history, guard)
        matches = await redaction.preview(RedactionRequest(SECRET))
        (rule,) = matches.rules
        assert rule.startswith("Run: login [FORGOTTEN ")
        assert matches.logs == ("helix-desktop.log",)
        assert "1 permission rule: removed" in summary_lines(matches)
        assert matches.file_versions == (version,)
        assert "1 previous file version: removed permanently" in summary_lines(matches)
        assert matches.taken_out == (".git/config",)
        assert "1 copy of what a command changed: rewritten" in summary_lines(matches)
        assert (matches.servers, matches.filters) == (("telling",), ("Mine",))
        assert {
            "1 MCP server: rewritten, needs your approval again",
            "1 saved filter: removed",
        } <= {*summary_lines(matches)}
        assert await redaction.redact(RedactionRequest(SECRET)) is not None
        log.info("and went on")
    finally:
        close_log(handler)
    log_text = (data.logs_dir / "helix-desktop.log").read_text()
    assert "tried [FORGOTTEN " in log_text
    assert log_text.endswith("and went on\n")
    redacted = registry.get(record.id)
    assert (redacted.rules, redacted.cache_filters) == ((harmless,), (SavedFilter("Large", "log"),))
    assert redacted.servers[0].args[1].startswith("[FORGOTTEN ")
    assert not redacted.servers[0].is_consented
    assert redacted.servers[1].command == "serve"
    assert not [
        path for path in data.root.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()
    ]
    assert (await redaction.preview(RedactionRequest(SECRET))).is_empty
    assert await redaction.lift(version)
    again = await workspace.open_session(conversation.session.id)
    assert again is not conversation
    messages = [recorded.event for recorded in again.session.log if isinstance(recorded.event, UserSpoke)]
    assert messages[0].text.startswith("My key is [FORGOTTEN ")


def _save_leaks(registry: WorkspaceRegistry, workspace_id: str) -> PermissionRule:
    """Save a rule, a server and a filter with the secret, and one each without; return that rule."""
    harmless = PermissionRule("run_command", "make", 1)
    registry.change(workspace_id, rules=(PermissionRule("run_command", f"login {SECRET}", 1), harmless))
    leaky_server = McpServerConfig(
        name="telling", command="serve", args=("--note", SECRET), env={"K": f"x{SECRET}"}
    )
    agreed = msgspec.structs.replace(leaky_server, approved=leaky_server.fingerprint)
    registry.change(
        workspace_id,
        servers=(agreed, McpServerConfig(name="silent", command="serve")),
        cache_filters=(
            SavedFilter("Mine", conditions=(SavedCondition("path", f"/{SECRET}/a"),)),
            SavedFilter("Large", "log"),
        ),
    )
    return harmless


def _guard_with_leak(project: Path, folder: Path) -> AutoRunGuard:
    """Return a guard that has taken a setting with the secret out, which no command has reported."""
    (project / ".git").mkdir()
    (project / ".git/config").write_text("[core]\n\tbare = false\n")
    guard = AutoRunGuard(project, project.parent, folder)
    before = guard.begin()
    (project / ".git/config").write_text(f"[core]\n\tpager = say {SECRET}\n")
    guard.report_later(guard.end(before))
    (change,) = guard.recover()
    assert change.reasons == (f"core.pager = say {SECRET}",)
    return guard


def _history_with(folder: Path, version: bytes) -> tuple[FileHistoryMaintenance, str]:
    database = FileHistoryDatabase(folder / FILE_NAME, lambda: 1)
    digest = database.contents.put(version)
    database.close()
    return FileHistoryMaintenance(folder / FILE_NAME, lambda: 1), digest
