"""A process that works like a user of the app, to be killed: `python kill_target.py DATA PROJECT URL`.

It starts a turn at a model server, then types meanwhile: two messages that are queued, one that steers. Each
event of the session, and each update about its subagents, is a line on standard output.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session import EventRecorded, SubagentProgress, Update
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.config.paths import DataDir
from helix_desktop.services.app_services import AppServices

MODEL = "box/small"
WINDOW = 32_000


def print_update(session_id: str, update: Update) -> None:
    match update:
        case EventRecorded(recorded=recorded):
            print(session_id, msgspec.json.encode(recorded.event).decode(), flush=True)  # noqa: T201 - it is its voice
        case SubagentProgress(phase=phase, steps=steps):
            print(session_id, f"subagent {phase} after {steps}", flush=True)  # noqa: T201 - it is its voice


async def open_project_workspace(services: AppServices, project: Path, base_url: str) -> OpenWorkspace:
    record = services.registry.find_by_path(project) or services.registry.add(project, trusted=True)
    workspace = await services.open_workspace(record.id)
    await workspace.set_models(await services.models.adhoc(MODEL, base_url, WINDOW))
    return workspace


async def main(data: str, project: str, base_url: str) -> None:
    """Work until the end comes from outside."""
    folder = DataDir(Path(data))
    folder.ensure()
    services = AppServices(folder, {}, approver=FixedApprover("once"))
    workspace = await open_project_workspace(services, Path(project), base_url)
    workspace.on(Update, print_update)
    conversation = await workspace.create_session()
    called = asyncio.Event()
    conversation.session.on(
        Update, lambda _: called.set() if conversation.session.transcript.open_calls else None
    )
    await conversation.send("Go")
    await called.wait()
    await conversation.send("Then the tests.")
    await conversation.send("Only the headers.", steer=True)
    await conversation.send("And the changelog.")
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
