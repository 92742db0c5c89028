"""Files in real turns: attached by the user, hostile ones too, and changed under a read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.session import FilesChanged
from helix_desktop.ui.outputs.rows import CacheFilter
from helix_desktop.ui.outputs.source import OutputSource
from tests.support.image_bytes import png
from tests.support.loop_rig import LoopRig, loop_rig
from tests.support.model_servers.chat_server import Call, Reply, StreamedReply, text_reply


class Listener:
    """Says the same to everything, and remembers what the user sent last."""

    def __init__(self) -> None:
        self.content: Any = ""

    def __call__(self, request: dict[str, Any]) -> Reply:
        self.content = next(row["content"] for row in reversed(request["messages"]) if row["role"] == "user")
        return text_reply("Seen.")


async def attach(rig: LoopRig, path: str, first_line: int = 0, last_line: int = 0) -> Any:
    session_id = rig.conversation.session.id
    return await rig.workspace.contents.attach_file(session_id, path, first_line, last_line)


async def test_a_file_is_sent_with_what_it_is(tmp_path: Path) -> None:
    """Whole, and by its lines; stored before it is sent; counted as it is sent."""
    listener = Listener()
    async with loop_rig(tmp_path, listener) as rig:
        (rig.root / "src").mkdir()
        source = "".join(f"line {number}\n" for number in range(1, 121))
        (rig.root / "src" / "app.py").write_text(source)
        (rig.root / "wide.txt").write_bytes("Grüße\n".encode("utf-16"))
        (rig.root / "old.txt").write_bytes("Grüße\n".encode("latin-1"))
        part = await attach(rig, "src/app.py", 10, 11)
        wide = await attach(rig, "wide.txt")
        old = await attach(rig, "old.txt")
        assert await rig.store.get(old.digest) == "Grüße\n".encode("latin-1")
        assert old.text.startswith("Gr\ufffd\ufffde\n\n[Some bytes are not UTF-8 text]")
        assert await rig.store.get(part.digest) == source.encode()
        await rig.conversation.run("Look.", [part, wide])
        assert listener.content == (
            "Look.\n\n[Attached file src/app.py, lines 10-11 of 120]\n10:line 10\n11:line 11\n"
            "\n\n[Attached file wide.txt, whole: 1 line]\nGrüße\n"
        )
        tokens = await rig.workspace.contents.count_tokens(listener.content)
        assert abs(tokens - part.tokens - wide.tokens) <= 4
        await rig.assert_consistent()


async def test_a_large_file_enters_as_a_preview(tmp_path: Path) -> None:
    """With numbers of the file's own lines, and a handle that gives the rest."""
    listener = Listener()
    async with loop_rig(tmp_path, listener) as rig:
        lines = [f"step {number} took {number * 7} ms\n" for number in range(1, 2_001)]
        lines[999] = "ValueError: no such table\n"
        (rig.root / "run.log").write_text("".join(lines))
        whole = await attach(rig, "run.log")
        tail = await attach(rig, "run.log", 501, 2_000)
        policy = rig.workspace.policy
        full = await rig.workspace.contents.attach_in_full(tail)
        assert full.text.startswith("501:step 501 took 3507 ms\n502:")
        assert (full.form, full.tokens, full.text.count("\n")) == ("full", tail.full_tokens, 1_500)
        assert (whole.form, tail.form) == ("preview", "preview")
        assert max(whole.tokens, tail.tokens) < policy.preview_tokens * 1.2 < whole.full_tokens
        await rig.conversation.run("Why?", [tail])
        assert "[Attached file run.log, in part: lines 501-2000 of 2,000]\nstep 501 took" in listener.content
        assert "1000: ValueError: no such table" in listener.content
        assert f'recall_cached_content("{tail.digest[: policy.handle_digits]}")' in listener.content
        assert await rig.store.get(tail.digest) == "".join(lines).encode()


async def test_a_file_that_changes_after_it_was_attached_is_stale(tmp_path: Path) -> None:
    """As one that a tool read: in the log and the cache; also between attaching and sending."""
    async with loop_rig(tmp_path, Listener()) as rig:
        for name in ("a.txt", "b.txt", "c.txt"):
            (rig.root / name).write_text(f"{name} 1\n")
        attached = [await attach(rig, name) for name in ("a.txt", "b.txt", "c.txt")]
        (rig.root / "b.txt").write_text("other, before it was sent\n")
        await rig.conversation.run("Read these.", attached)
        assert [file.path for event in rig.events(FilesChanged) for file in event.files] == ["b.txt"]
        (rig.root / "a.txt").write_text("other, after it was sent\n")
        await rig.conversation.run("And now?")
        transcript = rig.conversation.session.transcript
        stale = [attachment.digest in transcript.stale_digests for attachment in attached]
        assert stale == [True, True, False]
        source = OutputSource(rig.workspace, lambda: rig.conversation)
        await source.ids(CacheFilter())
        rows = await source.rows([attachment.digest for attachment in attached])
        assert [bool(row.changed_since) for row in rows] == stale
        assert [(row.target, row.state) for row in rows] == [
            (f"{letter}.txt", "in_window") for letter in "abc"
        ]
        again = Transcript(await rig.store.events(rig.conversation.session.id))
        assert again.stale_digests == transcript.stale_digests


async def test_a_picture_of_the_workspace_is_attached_as_one(tmp_path: Path) -> None:
    """And its version is known too."""
    async with loop_rig(tmp_path, Listener()) as rig:
        (rig.root / "shot.png").write_bytes(png(40, 30))
        attachment = await attach(rig, "shot.png")
        assert (attachment.image.width, attachment.path, attachment.text) == (40, "shot.png", "")
        assert attachment.version.path == "shot.png"


@pytest.mark.skipif(os.name == "nt", reason="links and such names are not everybody's there")
async def test_what_cannot_be_attached_says_why(tmp_path: Path) -> None:
    """Links out of the workspace, folders, binaries, what is too large or not there; names are plain text."""
    async with loop_rig(tmp_path, Listener()) as rig:
        (tmp_path / "secret.txt").write_text("hunter2")
        (rig.root / "folder").mkdir()
        (rig.root / "link").symlink_to(tmp_path / "secret.txt")
        (rig.root / "data.bin").write_bytes(b"\x7fELF\0\0\0")
        (rig.root / "large.txt").write_bytes(b"x" * 10 * 1024 * 1024)
        os.mkfifo(rig.root / "pipe")
        (rig.root / "short.txt").write_text("one\ntwo\n")
        (rig.root / ".agentignore").write_text("private.txt\n")
        (rig.root / "private.txt").write_text("hunter2")
        refusals = {
            "private.txt": ".agentignore",
            "link": "leads out of the workspace",
            "../secret.txt": "'..'",
            str(tmp_path / "secret.txt"): "outside the workspace",
            "folder": "is a folder.",
            "data.bin": "It isn't text (ELF program",
            "large.txt": "It has 10.0 MB; the limit is 8.0 MB.",
            "pipe": "not a regular file",
            "none.txt": "was not found",
            "no\x1b[2Jne\u202e.txt": "was not found",
        }
        for path, reason in refusals.items():
            with pytest.raises(InvalidInput) as caught:
                await attach(rig, path)
            assert reason in str(caught.value)
            assert caught.value.fix
            assert "\x1b" not in str(caught.value)
            assert "\u202e" not in str(caught.value)
        with pytest.raises(InvalidInput, match="It has 2 lines"):
            await attach(rig, "short.txt", 5, 9)
        name = "a\u202etxt.\x1bpy"
        (rig.root / name).write_text("x = 1\n")
        await rig.conversation.run("Read it.", [await attach(rig, name)])
        assert rig.conversation.session.transcript.messages.items


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
        source = OutputSource(rig.workspace, lambda: rig.conversation)
        await source.ids(CacheFilter())
        (row,) = await source.rows([rig.events(ToolAnswered)[0].digest])
        assert rig.conversation.session.log[row.changed_since - 1].event == changed
