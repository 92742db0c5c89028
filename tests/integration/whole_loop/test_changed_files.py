"""Files that change under a read: by a command, by the user between two turns, by nobody."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.session import FilesChanged
from helix_desktop.ui.outputs.rows import CacheFilter
from helix_desktop.ui.outputs.source import CacheSource
from tests.support.loop_rig import LoopRig, loop_rig
from tests.support.model_servers.chat_server import Call, Reply, StreamedReply, text_reply


class CallingModel:
    """Makes the calls of its prompt, a JSON list, one a step; then it is done."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, request: dict[str, Any]) -> Reply:
        messages = request["messages"]
        newest = max(n for n, message in enumerate(messages) if message["role"] == "user")
        done = sum(message["role"] == "tool" for message in messages[newest:])
        calls = json.loads(messages[newest]["content"].rpartition("\n\n")[2])  # a note may stand before
        if done == len(calls):
            return text_reply("Done.")
        self.calls += 1
        name, arguments = calls[done]
        return StreamedReply(Call(name, json.dumps(arguments), id=f"call_{self.calls}"))


async def ask(rig: LoopRig, *calls: tuple[str, dict[str, Any]]) -> list[FilesChanged]:
    """Have calls made; return the changes recorded since."""
    before = len(rig.events(FilesChanged))
    await rig.conversation.run(json.dumps(calls))
    return rig.events(FilesChanged)[before:]


def read(path: str, **lines: int) -> tuple[str, dict[str, Any]]:
    return "read_file", {"path": path, **lines}


def run(command: str) -> tuple[str, dict[str, Any]]:
    return "run_command", {"command": command}


async def test_a_command_that_changes_what_was_read_is_noticed(tmp_path: Path) -> None:
    """Once, with the call that did it; not what it only touched; what an edit changes is known without it."""
    async with loop_rig(tmp_path, CallingModel()) as rig:
        for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
            (rig.root / name).write_text(f"1\n2\n{name}\n")
        edit = ("edit_file", {"path": "d.txt", "old_text": "1", "new_text": "one"})
        assert await ask(rig, read("a.txt", start_line=2, end_line=2), read("b.txt"), read("c.txt")) == []
        assert await ask(rig, read("d.txt"), edit) == []
        (changed,) = await ask(
            rig, run("echo 4 >> a.txt && touch b.txt && rm c.txt"), run("true"), read("a.txt")
        )
        assert [(file.path, file.is_gone) for file in changed.files] == [("a.txt", False), ("c.txt", True)]
        outputs = {answer.call_id: answer.name for answer in rig.events(ToolAnswered)}
        assert outputs[changed.call_id] == "run_command"
        transcript = rig.conversation.session.transcript
        digests = [answer.digest for answer in rig.events(ToolAnswered) if answer.name == "read_file"]
        assert [digest in transcript.stale_digests for digest in digests] == [True, False, True, True, False]
        again = Transcript(await rig.store.events(rig.conversation.session.id))
        assert again.superseded == transcript.superseded
        assert again.stale_digests == transcript.stale_digests
        await rig.assert_consistent()


async def test_what_a_command_prints_is_followed_like_a_read(tmp_path: Path) -> None:
    """In the folder that it runs in; by its edits and by commands."""
    async with loop_rig(tmp_path, CallingModel()) as rig:
        (rig.root / "src").mkdir()
        (rig.root / "src/a.txt").write_text("1\n2\n3\n")
        in_folder = ("run_command", {"command": "cat a.txt", "folder": "src"})
        assert await ask(rig, run("cd src && sed -n 1,2p a.txt"), in_folder) == []
        (changed,) = await ask(rig, run("echo 4 >> src/a.txt"))
        assert [file.path for file in changed.files] == ["src/a.txt"]
        outputs = [answer.digest for answer in rig.events(ToolAnswered)]
        stale = rig.conversation.session.transcript.stale_digests
        assert [digest in stale for digest in outputs] == [True, True, False]


async def test_what_the_user_changes_between_two_turns_is_noticed(tmp_path: Path) -> None:
    """Before the turn begins, also after a restart: the versions are in the log."""
    async with loop_rig(tmp_path, CallingModel()) as rig:
        (rig.root / "a.txt").write_text("before")
        assert await ask(rig, read("./a.txt"), ("write_file", {"path": "b.txt", "content": "new"})) == []
        (rig.root / "a.txt").write_text("afterwards")
        (rig.root / "b.txt").unlink()
        (changed,) = await ask(rig)
        assert [file.path for file in changed.files] == ["a.txt", "b.txt"]
        assert changed.call_id == ""
        note = "[Files on disk since you last saw them: changed: a.txt; gone: b.txt. "
        assert str(rig.chat_requests[-1].messages[-1]["content"]).startswith(note)
        assert await ask(rig, run("true")) == []
        assert "[Files on disk" not in str(rig.chat_requests[-1].messages[-3]["content"]), "said once"
        source = CacheSource(rig.workspace, lambda: rig.conversation)
        await source.ids(CacheFilter())
        (row,) = await source.rows([rig.events(ToolAnswered)[0].digest])
        assert rig.conversation.session.log[row.changed_since - 1].event == changed
