"""kill -9 in a turn with subagents, with queued messages and one that steers: one click continues."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.session import Update
from helix_desktop.config.paths import DataDir
from helix_desktop.domain.events.conversation import SubagentStarted, ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.services.app_services import AppServices
from helix_desktop.ui.chat.turn_controller import CONTINUE
from tests.support import kill_target
from tests.support.cli_rig import COMMAND_TIMEOUT_S, ROOT
from tests.support.loop_rig import lint_wire
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Reply,
    StreamedReply,
    Text,
    Wait,
    text_reply,
)

TASKS = ("Read the first half", "Read the second half")


class SlowModel:
    """Delegates two tasks that read a file each and then never end; later it only answers."""

    def __init__(self) -> None:
        self.never, self.killed = asyncio.Event(), False

    def __call__(self, request: dict[str, Any]) -> Reply:
        """Delegate, read, or answer."""
        messages = request["messages"]
        if self.killed:
            return text_reply("Going on.")
        if messages[1]["content"] == "Go":
            tasks = [json.dumps({"task": task, "title": task}) for task in TASKS]
            return StreamedReply(
                *(Call("delegate", arguments, id=f"c{n}") for n, arguments in enumerate(tasks))
            )
        if messages[-1]["role"] == "user":
            return StreamedReply(Text("I look."), Call("read_file", '{"path": "a.txt"}', id="r1"))
        return StreamedReply(Text("It begins with "), Wait(self.never))


async def killed_after(folder: Path, server: ChatServer, *signs: str) -> str:
    """Run the user's process until each of these signs was reported, and kill it; return the session."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(ROOT / "tests" / "support" / "kill_target.py")),
        *(str(folder / "data"), str(folder / "ws"), server.base_url),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    session_id, missing = "", list(signs)
    async with asyncio.timeout(COMMAND_TIMEOUT_S):
        while missing:
            line = (await process.stdout.readline()).decode()
            assert line, "it ended by itself"
            session_id = line.split()[0]
            missing = [word for word in missing if word not in line]
    process.kill()
    await process.communicate()
    return session_id


def facts(log: list[RecordedEvent], kind: type[Any]) -> list[Any]:
    return [entry.event for entry in log if isinstance(entry.event, kind)]


async def at_rest(conversation: Conversation) -> None:
    """Wait until nothing runs and nothing waits."""
    idle = asyncio.Event()
    unsubscribe = conversation.session.on(Update, lambda _: idle.set())
    async with asyncio.timeout(COMMAND_TIMEOUT_S):
        while conversation.is_running or conversation.session.transcript.queued_messages:
            idle.clear()
            await asyncio.sleep(0)  # the turn's own end comes right after its update
            if conversation.is_running:
                await idle.wait()
    unsubscribe()
    await conversation.wait_for_background_work()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
@pytest.mark.parametrize(
    "signs",
    [
        ("subagent thinking after 0", "And the changelog."),
        ("subagent-started", "And the changelog."),
        ("subagent thinking after 1", "And the changelog."),
    ],
    ids=["before its first step", "as it begins", "between its steps"],
)
async def test_an_interrupted_turn_with_subagents_is_continued(
    tmp_path: Path, signs: tuple[str, ...]
) -> None:
    """It is marked, its calls name their subagents, nothing typed is lost, and all of it is sent in order."""
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "a.txt").write_text("words\n")
    slow = SlowModel()
    async with ChatServer(slow) as server:
        session_id = await killed_after(tmp_path, server, *signs)
        slow.killed = True
        services = AppServices(DataDir(tmp_path / "data"), {})
        workspace = await kill_target.open_project_workspace(services, tmp_path / "ws", server.base_url)
        conversation = await workspace.open_session(session_id)
        log = conversation.session.log
        assert [(end.how, end.interruption) for end in facts(log, TurnEnded)] == [("interrupted", "crash")]
        sessions = {fact.call_id: fact.session for fact in facts(log, SubagentStarted)}
        answers = facts(log, ToolAnswered)
        assert {answer.call_id for answer in answers} == {"c0", "c1"}
        assert all(answer.outcome == "interrupted" for answer in answers)
        assert all(answer.subagent == sessions.get(answer.call_id, "") for answer in answers)
        assert sessions
        waiting = [(message.text, message.steer) for message in conversation.queue.pending]
        assert waiting == [
            ("Then the tests.", False),
            ("Only the headers.", True),
            ("And the changelog.", False),
        ]
        for child in sessions.values():
            opened = await workspace.open_session(child)
            assert not opened.session.transcript.turn_open
            ends = [(end.how, end.interruption) for end in facts(opened.session.log, TurnEnded)]
            assert ends in ([], [("interrupted", "crash")])

        await conversation.continue_turn(CONTINUE)
        await at_rest(conversation)
        messages = [(fact.text, fact.steered) for fact in facts(conversation.session.log, UserSpoke)]
        assert messages == [
            ("Go", False),
            (CONTINUE, False),
            ("Only the headers.", True),
            ("Then the tests.", False),
            ("And the changelog.", False),
        ]
        assert [fact.how for fact in facts(conversation.session.log, TurnEnded)] == [
            "interrupted",
            "done",
            "done",
            "done",
        ]
        for child in sessions.values():
            opened = await workspace.open_session(child)
            await opened.continue_turn(CONTINUE)
            await at_rest(opened)
            assert opened.session.log[-1].event == TurnEnded("done")
        assert all(lint_wire(body["messages"]) == [] for body in server.bodies)
        await services.close()
