"""Subagents over LevelDB, real tools and HTTP: side by side, one cache per workspace, whole after a crash."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.session import SessionStarted, ToolAnswered, TurnEnded
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.system.task_scope import TaskScope
from tests.support.loop_rig import WORKSPACE, LoopRig, lint_wire, loop_rig
from tests.support.model_servers.chat_server import Call, Reply, StreamedReply, Text, Wait, text_reply


class Clerk:
    """Does what it is asked first: one tool call given as JSON, then tells what came back; `hold` waits."""

    def __init__(self) -> None:
        self.hold = asyncio.Event()
        self.calls = 0

    def __call__(self, request: dict[str, Any]) -> Reply:
        """Call, or tell."""
        messages = request["messages"]
        if messages[-1]["role"] == "tool":
            return text_reply(f"It says: {messages[-1]['content']}")
        name, given = json.loads(messages[-1]["content"])
        self.calls += 1
        if name == "hold":
            return StreamedReply(Text("I begin, "), Wait(self.hold), Text("and end."))
        return StreamedReply(Call(name, json.dumps(given), id=f"call_{self.calls}"))


def asked(tool: str, **given: object) -> str:
    """What a clerk is told to do."""
    return json.dumps([tool, given])


def holding(rig: LoopRig, name: str, text: str) -> str:
    """A file in the rig's workspace; the digest of its content."""
    (rig.root / name).write_text(text)
    return digest_of(text.encode())


async def answers_in(store: LevelDbStore, session: str) -> list[ToolAnswered]:
    """The outputs on record in a session."""
    return [one.event for one in await store.events(session) if isinstance(one.event, ToolAnswered)]


async def test_the_cache_is_the_workspaces_and_no_other(tmp_path: Path) -> None:
    """A subagent recalls what its parent's tools gave, and never what lies in another workspace."""
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    async with (
        loop_rig(tmp_path / "here", Clerk()) as here,
        loop_rig(tmp_path / "there", Clerk()) as there,
    ):
        own = holding(here, "vault.txt", "the code here is 4711\n")
        foreign = holding(there, "vault.txt", "the code there is 0815\n")
        for rig in (here, there):
            assert (await rig.conversation.run(asked("read_file", path="vault.txt"))).how == "done"
        run = here.conversation.subagents.run
        found = await run(asked("recall_cached_content", hash=own))
        assert "4711" in found.text
        (answer,) = await answers_in(here.store, found.session)
        assert (answer.ok, answer.recalled) == (True, own)
        for wish in (
            asked("recall_cached_content", hash=foreign),
            asked("recall_cached_content", hash=foreign[:8]),
            asked("search_cached_content", query="the code there is 0815"),
        ):
            missed = await run(wish)
            assert "0815" not in missed.text.replace("the code there is 0815", "")
            (answer,) = await answers_in(here.store, missed.session)
            assert answer.recalled == ""
        sent = [
            b"0815\\n" in b"".join(one.received.body for one in rig.chat_requests) for rig in (here, there)
        ]
        assert sent == [False, True]
        assert (await there.conversation.subagents.run(asked("recall_cached_content", hash=foreign))).text
        assert await there.store.get(foreign)
        assert len(await there.workspace.sessions(there.conversation.session.id)) == 1


async def test_several_side_by_side_are_whole_after_a_restart(tmp_path: Path) -> None:
    """Their logs, their outputs and their place behind the parent are on disk; requests were valid."""
    async with loop_rig(tmp_path, Clerk()) as rig:
        digests = [holding(rig, f"part_{number}.txt", f"part {number}\n") for number in range(4)]
        results = await asyncio.gather(
            *(
                rig.conversation.subagents.run(asked("read_file", path=f"part_{number}.txt"))
                for number in range(4)
            )
        )
        parent = rig.conversation.session.id
        logs = {one.session: await rig.store.events(one.session) for one in results}
        assert [one.text.strip() for one in results] == [f"It says: part {number}" for number in range(4)]
        for sent in rig.chat_requests:
            assert lint_wire(sent.messages) == []
        bodies = [sent.received.body.decode() for sent in rig.chat_requests]
        assert all(sum(f"part_{number}.txt" in body for number in range(4)) == 1 for body in bodies)
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE)
    listed = await store.sessions()
    assert {one.id for one in listed if one.parent == parent} == set(logs)
    assert [one.id for one in listed if not one.parent] == [parent]
    for (session, log), digest in zip(logs.items(), digests, strict=True):
        assert await store.events(session) == log
        assert isinstance(log[0].event, SessionStarted)
        assert log[0].event.parent == parent
        assert log[-1].event == TurnEnded("done")
        assert [one.digest for one in await answers_in(store, session)] == [digest]
        assert await store.get(digest)
    await store.close()


async def test_one_that_was_at_work_in_a_crash_is_mended(tmp_path: Path) -> None:
    """What the disk held when the app went away opens as an interrupted session of its parent."""
    clerk = Clerk()
    (tmp_path / "after").mkdir()
    async with loop_rig(tmp_path, clerk) as rig:
        scope = TaskScope()
        task = scope.start(rig.conversation.subagents.run(asked("hold"), call_id="call_0"), "asked")
        await rig.server.waiting.wait()
        (child,) = await rig.workspace.sessions(rig.conversation.session.id)
        shutil.copytree(tmp_path / "store", tmp_path / "after" / "store")
        clerk.hold.set()
        assert (await task).text == "I begin, and end."
        await scope.close()
        parent = rig.conversation.session.id
    async with loop_rig(tmp_path / "after", Clerk()) as again:
        room = again.workspace
        assert child.id not in {one.id for one in await room.sessions()}
        opened = await room.open_session(child.id)
        assert opened.session.transcript.parent == parent
        assert opened.session.log[0].event == SessionStarted("New session", parent, "call_0")
        assert opened.session.log[-1].event == TurnEnded("interrupted")
        assert (await opened.run(asked("list_directory", path="."))).how == "done"
        assert [one.id for one in await room.sessions(parent)] == [child.id]
