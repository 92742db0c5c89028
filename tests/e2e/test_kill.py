"""kill -9 in the middle of turns: reported events are stored, the turn is marked, and work continues."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.session import Update
from helix_desktop.cli.output import JsonLine
from helix_desktop.config.paths import DataDir
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    OutputHeld,
    SubagentStarted,
    ToolAnswered,
    TurnEnded,
    UserSpoke,
)
from helix_desktop.domain.events.recorded_event import RecordedEvent, digests_in
from helix_desktop.domain.events.summary import HandoverDiscarded
from helix_desktop.providers.demo.script import read_scripts
from helix_desktop.services.app_services import AppServices
from helix_desktop.store.remote.client import open_store
from helix_desktop.ui.chat.turn_controller import CONTINUE
from tests.support import kill_target
from tests.support.cli_rig import COMMAND_TIMEOUT_S, ROOT, Cli, CommandResult, wait_for_exit
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

ROUNDS = 4
PIPE_SIZE = 4_096  # bytes; a turn reports seven times as much or more
DEMO = ROOT / "resources" / "demo"


def narrow_pipe() -> tuple[int, int]:
    """Return the ends of a pipe; who is hardly read from soon waits, in the middle of a turn."""
    reader, writer = os.pipe()
    if sys.platform == "linux":
        import fcntl

        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
    return reader, writer


async def kill_a_turn(cli: Cli, message: str, rng: random.Random, *words: str) -> CommandResult:
    """Start a turn and kill its process at a random moment after its first output."""
    turn = (
        "run",
        "--workspace",
        "ws",
        "--trust",
        "--model",
        "demo/offline",
        "--message",
        message,
        "--yes",
        "--json",
        *words,
    )
    reader, writer = narrow_pipe()
    process = await cli.fork(*turn, stdout=writer)
    os.close(writer)
    output = b""
    with os.fdopen(reader, "rb", buffering=0) as stdout:
        for _ in range(rng.randint(3, 24)):
            line = await asyncio.to_thread(stdout.readline)
            output += line
            if b'"kind":"turn-ended"' in line or not line:
                break
        await asyncio.sleep(rng.uniform(0.0, 0.03))  # the moment itself, no synchronization
        if process.returncode is None:
            process.kill()
        output += await asyncio.to_thread(stdout.read)
    rest = await wait_for_exit(process)
    return CommandResult(rest.code, output[: output.rfind(b"\n") + 1], rest.err)


async def stored(cli: Cli, session_id: str) -> list[RecordedEvent]:
    """Return a session's events as the store returns them to a new process, each content verified."""
    # Waiting like a user's next start: a child that the killed process was just creating holds the lock until
    # it executes its program.
    store = await open_store(cli.store, cli.store.parent.name, as_owner=True)
    try:
        assert store.health.report is None
        events = await store.events(session_id)
        listed = {session.id: session for session in await store.sessions()}
        assert listed[session_id].events == len(events)
        for digest in {digest for event in events for digest in digests_in(event.event)}:
            assert digest_of(await store.get(digest)) == digest
        return events
    finally:
        await store.close()


def unanswered(events: list[RecordedEvent]) -> set[str]:
    call_ids = {
        call.id for event in events if isinstance(event.event, AssistantSpoke) for call in event.event.calls
    }
    return call_ids - {event.event.call_id for event in events if isinstance(event.event, ToolAnswered)}


def is_at_rest(events: list[RecordedEvent]) -> bool:
    """Return True if no turn runs; events after a turn, such as observations, do not start one."""
    turns = [event.event for event in events if isinstance(event.event, TurnEnded | UserSpoke)]
    return isinstance(turns[-1], TurnEnded)


def check_marked(before: list[RecordedEvent], lines: list[JsonLine]) -> None:
    """Assert that continuing first answers open calls, then marks the turn, then starts the next one."""
    if is_at_rest(before):
        assert lines[0].event != TurnEnded("interrupted", interruption="crash")
        return
    marked = next(
        n for n, line in enumerate(lines) if line.event == TurnEnded("interrupted", interruption="crash")
    )
    answers = [line.event for line in lines[:marked]]
    # An output that waited for its form when the process was killed is there already.
    held = [event.event.answer.call_id for event in before if isinstance(event.event, OutputHeld)]
    for answer in answers:
        assert isinstance(answer, ToolAnswered)
        assert answer.outcome == "interrupted" or answer.call_id in held
    assert {answer.call_id for answer in answers if isinstance(answer, ToolAnswered)} == unanswered(before)


def names_only_places(complaints: str) -> bool:
    """Return True if nothing is said but where a command can't be undone, in caches that others left.

    A turn that ends before its notes are written says that it waits for them.
    """
    usual = ("Can't be undone in ", "[the turn is done; still ")
    return all(line.startswith(usual) for line in complaints.splitlines())


@pytest.mark.slow
@pytest.mark.timeout(1_200)
@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
async def test_kill_9_loses_nothing_that_was_reported(cli: Cli) -> None:
    rng = random.Random(20)
    shutil.copytree(DEMO / "tidewatch", cli.project, dirs_exist_ok=True)
    asks = next(script for script in read_scripts(DEMO) if script.name == "tidewatch").user_messages
    reported: list[JsonLine] = []
    cut_off = 0
    for number in range(ROUNDS):
        again = ("--session", "last") if reported else ()
        killed = await kill_a_turn(cli, asks[number % len(asks)], rng, *again)
        assert names_only_places(killed.err)
        reported += killed.lines
        assert [line.seq for line in reported] == list(range(1, len(reported) + 1))

        events = await stored(cli, reported[0].session)
        assert [line.event for line in reported] == [event.event for event in events[: len(reported)]]
        cut_off += not is_at_rest(events)

        # Some events had no time to be reported.
        reported = [JsonLine(reported[0].session, event.seq, event.at, event.event) for event in events]
        went_on = await cli.run(asks[-1], "--yes", "--json", "--session", "last")
        assert went_on.code == 0
        assert names_only_places(went_on.err)
        assert TurnEnded("done") in [line.event for line in went_on.lines]  # a handover may come after it
        check_marked(events, went_on.lines)
        reported += went_on.lines
    assert cut_off >= ROUNDS // 2, "most kills were to come in the middle of a turn"
    assert not unanswered(await stored(cli, reported[0].session))
    verified = await cli("cache", "verify", "--workspace", "ws")
    assert verified.code == 0, verified
    timeline = await cli("timeline", "--workspace", "ws", "--json")
    rewrites = (
        *("handover-made", "handover-failed", "sweep-made", "fold-made", "form-chosen"),
        *("observations-made", "observations-placed", "observations-failed"),
    )
    expected = [
        line.seq
        for line in reported
        if type(line.event).__struct_config__.tag in rewrites
        or (isinstance(line.event, HandoverDiscarded) and line.event.prepared is not None)
    ]
    assert [entry["seq"] for entry in timeline.json[0]["events"]] == expected


TASKS = ("Read the first half", "Read the second half")


class SlowModel:
    """Delegates two tasks that read a file each and then never end; later it only answers."""

    def __init__(self) -> None:
        self.never = asyncio.Event()
        self.killed = False

    def __call__(self, request: dict[str, Any]) -> Reply:
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
    session_id = ""
    missing = list(signs)
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
