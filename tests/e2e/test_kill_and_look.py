"""kill -9 in the middle of an answer and of a command: what it cut off is seen and used at once."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session import EventRecorded, Session
from helix_desktop.config.paths import DataDir
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.file_history.changes import RevertSelection
from helix_desktop.domain.retention import RetentionRule
from helix_desktop.domain.store import ListPlace
from helix_desktop.services.app_services import AppServices
from helix_desktop.store.remote.client import open_store
from helix_desktop.ui.chat.turn_controller import CONTINUE
from tests.support import kill_target
from tests.support.cli_rig import COMMAND_TIMEOUT_S, ROOT
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Reply,
    StreamedReply,
    Text,
    Wait,
    text_reply,
)

Kind = Literal["answer", "command"]
Act = Callable[[OpenWorkspace, Conversation], Awaitable[object]]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9"),
]
COMMAND = '{"command": "echo changed > a.txt; echo made > new.txt; echo a quokka; sleep 1000"}'
ANSWER = "A wombat begins with "
_SAVED_AFTER_S = 1.2  # an answer is saved once a second, with what comes next of it


class Model:
    """Says half an answer, or runs a command that does not end; later it only answers."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.killed = False
        self.saved = asyncio.Event()
        self.never = asyncio.Event()

    def __call__(self, request: dict[str, Any]) -> Reply:
        if self.killed:
            return text_reply("Going on.")
        if self.kind == "command":
            return StreamedReply(Call("run_command", COMMAND, id="c1"))
        if all(message["role"] != "tool" for message in request["messages"]):
            return StreamedReply(Call("read_file", '{"path": "a.txt"}', id="c1"))
        asyncio.get_running_loop().call_later(_SAVED_AFTER_S, self.saved.set)
        return StreamedReply(Text(ANSWER), Wait(self.saved), Text("its burrow"), Wait(self.never))


def _has_text(answer: RecordedEvent | None) -> bool:
    return answer is not None and isinstance(answer.event, AssistantSpoke) and answer.event.text != ""


async def kill_in_the_middle(folder: Path, server: ChatServer) -> str:
    """Kill a process once what it has so far is saved; return the session and its stored log."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(ROOT / "tests" / "support" / "kill_target.py")),
        *(str(folder / "data"), str(folder / "ws"), server.base_url),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(60):
        while "user-spoke" not in (line := (await process.stdout.readline()).decode()):
            assert line, "it ended by itself"
        session_id = line.split()[0]
        (path,) = (folder / "data" / "workspaces").glob("*/store")
        store = await open_store(path, path.parent.name)
        while True:
            draft = await store.draft(session_id)
            if draft.partial_outputs or _has_text(draft.partial_answer):
                break
            await asyncio.sleep(0.05)  # it is another process: nothing tells
        await store.close()
    process.kill()
    await process.communicate()
    return session_id


@asynccontextmanager
async def opened(
    folder: Path, server: ChatServer, session_id: str
) -> AsyncIterator[tuple[AppServices, OpenWorkspace, Conversation]]:
    """Open the session as the window does, and close all of it."""
    services = AppServices(DataDir(folder / "data"), {})
    workspace = await kill_target.open_project_workspace(services, folder / "ws", server.base_url)
    conversation = await workspace.open_session(session_id)
    await conversation.plan_opening()
    yield services, workspace, conversation
    await services.close()


async def clean_up(services: AppServices, workspace: OpenWorkspace) -> None:
    """Remove all that nothing needs, whatever its age."""
    retention = workspace.store.retention
    plan = await retention.plan(RetentionRule(grace_ms=0))
    await retention.collect([entry.digest for entry in plan.to_trash], 0)
    await retention.empty_trash()
    await services.history_storage(workspace.id).clean_up()


async def another_process_branches(folder: Path, session_id: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "helix_desktop", "branch", session_id),
        *("--data-dir", str(folder / "data"), "--workspace", str(folder / "ws")),
        cwd=ROOT,
    )
    assert await process.wait() == 0


async def until_captured(session: Session) -> None:
    """Wait until what a command changed in files is shown: it is looked for after the session is opened."""
    changed = asyncio.Event()
    unsubscribe = session.on(EventRecorded, lambda _: changed.set())
    async with asyncio.timeout(COMMAND_TIMEOUT_S):
        while not session.transcript.captures:
            changed.clear()
            await changed.wait()
    unsubscribe()


def events_of(log: Sequence[RecordedEvent], *kinds: type[Any]) -> list[Any]:
    return [recorded.event for recorded in log if isinstance(recorded.event, kinds)]


async def _revert(workspace: OpenWorkspace, conversation: Conversation) -> None:
    (captured,) = (await workspace.changes.of_session(conversation.session.id)).captures
    selection = RevertSelection((captured.capture_id,), scope="step")
    plan = await workspace.changes.plan(conversation.session.id, selection)
    assert await workspace.changes.revert(conversation.session.id, plan, {}) is not None


async def _continue(_: OpenWorkspace, conversation: Conversation) -> None:
    ended = asyncio.Event()
    conversation.session.on(TurnEnded, lambda _: ended.set())
    await conversation.continue_turn(CONTINUE)
    await ended.wait()


ACTS: dict[str, Act] = {
    "send": lambda _, conversation: conversation.run("Go on."),
    "continue": _continue,
    "revert": _revert,
    "branch": lambda workspace, conversation: workspace.branches.open(conversation.session.id),
    "move": lambda _, conversation: conversation.set_place(ListPlace(pinned=True)),
}


@pytest.mark.parametrize("kind", ["answer", "command"])
async def test_what_a_kill_cut_off_is_used_before_it_is_recorded(tmp_path: Path, kind: Kind) -> None:
    """It outlives a clean-up, is recorded once by each act, and once by another process."""
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "a.txt").write_text("words\n")
    model = Model(kind)
    async with ChatServer(model) as server:
        session_id = await kill_in_the_middle(tmp_path, server)
        model.killed = True
        async with opened(tmp_path, server, session_id) as (services, workspace, _):
            killed = await workspace.store.events(session_id)
            await workspace.close_session(session_id)
            await clean_up(services, workspace)  # nobody looks meanwhile
            conversation = await workspace.open_session(session_id)
            shown = list(conversation.session.shown.events)
            await clean_up(services, workspace)
            assert await workspace.store.events(session_id) == killed
            document = (await services.sharing.session(workspace.id, session_id)).document(".md")
            captures = (await workspace.changes.of_session(session_id)).captures
            if kind == "answer":
                assert ANSWER in document
                assert [event.text for event in events_of(shown, AssistantSpoke)] == [f"{ANSWER}its burrow"]
            else:
                (output,) = events_of(shown, ToolAnswered)
                assert "a quokka\n" in output.text
                assert "\na quokka\n" in document
                assert (await workspace.store.get(output.digest)).decode() == output.text
                assert [hit.entry.digest for hit in (await workspace.store.search("quokka")).hits]
                (captured,) = captures
                assert [change.path for change in captured.changes] == ["a.txt", "new.txt"]
        await asyncio.to_thread(shutil.copytree, tmp_path / "data", tmp_path / "killed")
        for name, act in ACTS.items():
            if kind == "answer" and act is _revert:
                continue
            await asyncio.to_thread(restore, tmp_path)
            async with opened(tmp_path, server, session_id) as (_, workspace, conversation):
                if kind == "command":
                    await until_captured(conversation.session)
                shown = list(conversation.session.shown.events)
                await act(workspace, conversation)
                await conversation.wait_for_background_work()
                stored = await workspace.store.events(session_id)
                assert stored[: len(killed) + len(shown)] == [*killed, *shown], name
                assert stored == conversation.session.log[: len(stored)], name  # the title comes later
                check_once(stored, kind)
        await asyncio.to_thread(restore, tmp_path)
        await another_process_branches(tmp_path, session_id)
        async with opened(tmp_path, server, session_id) as (_, workspace, conversation):
            if kind == "command":
                await until_captured(conversation.session)
            await conversation.set_place(ListPlace(pinned=True))
            stored = await workspace.store.events(session_id)
            assert stored == conversation.session.log
            check_once(stored, kind)
            (branch,) = [one for one in await workspace.store.sessions() if one.branch_of == session_id]
            assert events_of(await workspace.store.events(branch.id), TurnEnded)[-1].interruption == "crash"


def restore(folder: Path) -> None:
    """Put back the data as the kill left it, and the files as they were then."""
    shutil.rmtree(folder / "data")
    shutil.copytree(folder / "killed", folder / "data")


def check_once(stored: Sequence[RecordedEvent], kind: Kind) -> None:
    crashes = [end for end in events_of(stored, TurnEnded) if end.interruption == "crash"]
    assert len(crashes) == 1
    if kind == "answer":
        assert [event.text for event in events_of(stored, AssistantSpoke)].count(f"{ANSWER}its burrow") == 1
    else:
        assert len(events_of(stored, ToolAnswered)) == 1
        assert len([one for one in events_of(stored, ChangesRecorded) if one.call_id == "c1"]) == 1
