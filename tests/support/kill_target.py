"""A process that works like a person at the desk, to be killed: `python kill_target.py DATA PROJECT URL`.

It begins a turn at a model's server, then types meanwhile: two messages that wait, one that steers. Each fact
of the session, and each word about its subagents, is a line on standard output.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session_updates import EventRecorded, SubagentProgress, Update
from helix_desktop.config.paths import DataDir
from helix_desktop.services.app_services import AppServices

MODEL, WINDOW = "box/small", 32_000


def print_update(session: str, update: Update) -> None:
    """A line for what happened."""
    match update:
        case EventRecorded(recorded=recorded):
            print(session, msgspec.json.encode(recorded.event).decode(), flush=True)  # noqa: T201 - it is its voice
        case SubagentProgress(phase=phase, steps=steps):
            print(session, f"subagent {phase} after {steps}", flush=True)  # noqa: T201 - it is its voice


async def open_project_workspace(services: AppServices, project: Path, base_url: str) -> OpenWorkspace:
    """The project's room, with the server's model."""
    record = services.registry.find_by_path(project) or services.registry.add(project, trusted=True)
    room = await services.open_workspace(record.id)
    await room.set_models(await services.models.adhoc(MODEL, base_url, WINDOW))
    return room


async def main(data: str, project: str, base_url: str) -> None:
    """Work until the end comes from outside."""
    folder = DataDir(Path(data))
    folder.ensure()
    desk = AppServices(folder, {})
    room = await open_project_workspace(desk, Path(project), base_url)
    room.listen(print_update)
    talk = await room.create_session()
    called = asyncio.Event()
    talk.session.listen(lambda _: called.set() if talk.session.transcript.open_calls else None)
    await talk.send("Go")
    await called.wait()
    await talk.send("Then the tests.")
    await talk.send("Only the headers.", steer=True)
    await talk.send("And the changelog.")
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
