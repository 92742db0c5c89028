"""The command `changes`, after turns of a real model server with real commands and files."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from helix_desktop.agent.conversation import Conversation
from helix_desktop.config.paths import DataDir
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.services.app_services import AppServices
from tests.support.cli_rig import Cli, CommandResult
from tests.support.git_checkouts import make_checkout
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    replies_in_order,
    text_reply,
)

COMMAND = "sed -i s/two/zwei/ a.txt && rm b.txt && mkdir -p lib && printf new > lib/c.txt && chmod +x tool.sh"
FILES = {"a.txt": "one\n\n\ntwo\n", "b.txt": "b\n", "tool.sh": "#!/bin/sh\n"}


@pytest.fixture
async def cli(cli: Cli, tmp_path: Path) -> Cli:
    """A project that two turns changed: a command in the first, a tool in the second."""
    for name, text in FILES.items():
        (cli.project / name).write_text(text)
    shutil.copytree(cli.project, tmp_path / "before")
    write = {"path": "a.txt", "old_text": "one", "new_text": "eins"}
    replies = replies_in_order(
        StreamedReply(Call("run_command", json.dumps({"command": COMMAND}), id="call_1")),
        text_reply("Done."),
        StreamedReply(Call("edit_file", json.dumps(write), id="call_2")),
        text_reply("Done."),
    )
    async with ChatServer(replies) as server:
        first = await cli.run_with_server(server.base_url, "Change it", "--yes")
        session_id = first.lines[0].session
        second = await cli.run_with_server(server.base_url, "And now", "--yes", "--session", session_id)
        assert (first.code, second.code) == (0, 0), (first, second)
    return cli


async def changes(cli: Cli, *args: str) -> CommandResult:
    return await cli("changes", args[0], "--workspace", "ws", *args[1:])


@asynccontextmanager
async def open_in_window(cli: Cli, session_id: str) -> AsyncIterator[Conversation]:
    """Have the workspace and its session open in another process's place: this one."""
    services = AppServices(DataDir(cli.data), os.environ)
    try:
        record = services.registry.find_by_path(cli.project)
        assert record is not None
        workspace = await services.open_workspace(record.id)
        yield await workspace.open_session(session_id)
    finally:
        await services.close()


def files_in(folder: Path) -> dict[str, tuple[str, bool]]:
    """Return the texts of all files by path, and whether they are executable."""
    return {
        path.relative_to(folder).as_posix(): (path.read_text(), bool(path.stat().st_mode & 0o100))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


async def test_what_was_changed_is_listed_printed_and_taken_back(cli: Cli, tmp_path: Path) -> None:
    after = files_in(cli.project)
    assert after["a.txt"][0] == "eins\n\n\nzwei\n"
    first, second = (await changes(cli, "list", "--json")).json["captures"]
    assert {change["path"] for change in first["changes"]} >= {"a.txt", "b.txt", "lib/c.txt", "tool.sh"}
    assert {change["path"] for change in second["changes"]} == {"a.txt"}

    patch = await changes(cli, "diff")
    (tmp_path / "changes.patch").write_bytes(patch.out)
    git = await asyncio.create_subprocess_exec("git", "apply", "../changes.patch", cwd=tmp_path / "before")
    assert await git.wait() == 0
    assert files_in(tmp_path / "before") == after

    async with open_in_window(cli, first["session"]) as in_window:
        shown = asyncio.Queue[ChangesRecorded]()
        in_window.session.on(ChangesRecorded, shown.put_nowait)
        reverted = await changes(cli, "revert", "--session", "last")
        assert reverted.code == 0, reverted
        assert "The session is open in another Helix program, which records this." in reverted.err
        revert = await shown.get()
        assert revert.source == "revert", "the window shows it by itself"
        assert files_in(cli.project) == {name: (text, False) for name, text in FILES.items()}
        assert not (cli.project / "lib").exists()
        redone = await changes(cli, "redo")
        assert redone.code == 0, redone
        assert files_in(cli.project) == after
        redo = await shown.get()
        assert (redo.reverts, redo.scope) == ((revert.capture,), "redo")
        refused = await changes(cli, "accept")
        refused.assert_refused(3, "in use by another Helix program")
        logs = "".join(path.read_text() for path in (cli.data / "logs").glob("*.log"))
        assert "Traceback" not in logs, logs

    (cli.project / "a.txt").write_text("eins\n\n\nmine\n")
    refused = await changes(cli, "revert", "--turn", "1")
    assert refused.code == 1
    assert "a.txt: Changed since in the same lines" in refused.out.decode()
    assert not (cli.project / "b.txt").exists()
    result = await changes(cli, "revert", "--turn", "1", "--on-conflict", "present")
    assert result.code == 0, result
    assert (cli.project / "a.txt").read_text() == "eins\n\n\nmine\n"
    assert (cli.project / "b.txt").read_text() == "b\n"
    unmerged = await changes(cli, "revert", "--turn", "1", "--on-conflict", "merged")
    assert unmerged.code == 1, "a script must see that it isn't reverted"
    assert "a.txt: Changed since in the same lines" in unmerged.out.decode()
    assert "1 file couldn't be changed" in unmerged.err
    assert (cli.project / "a.txt").read_text() == "eins\n\n\nmine\n"
    step = second["capture"][:8]
    merged = await changes(cli, "revert", "--file", "a.txt", "--step", step, "--on-conflict", "merged")
    assert merged.code == 0, merged
    assert (cli.project / "a.txt").read_text() == "one\n\n\nmine\n"
    assert (await changes(cli, "accept")).out.decode() == "All changes marked as reviewed\n"
    accepted = (await changes(cli, "accept", "--json")).json["accepted"]
    assert accepted == sorted(accepted)
    assert {"a.txt", "b.txt"} <= set(accepted), "they are named even if none was given"
    lines = (await changes(cli, "list")).out.decode()
    assert "Turn 1: Change it" in lines
    assert "deleted     b.txt · reverted" in lines

    make_checkout(cli.project, {"b.txt": "committed\n"})
    (cli.project / "b.txt").write_text("changed\n")
    head = await changes(cli, "diff", "--head", "--file", "b.txt")
    assert head.out.decode().endswith("@@ -1 +1 @@\n-committed\n+changed\n"), head
    (change,) = (await changes(cli, "diff", "--head", "--json")).json["changes"]
    assert change["path"] == "b.txt"
    assert (await changes(cli, "diff", "--head", "--turn", "1")).code == 2
    (await changes(cli, "list", "--turn", "99")).assert_refused(
        2, "The session has no turn 99. It has 2 turns."
    )
    assert (await changes(cli, "list", "--file", "none")).out.decode() == "No such changes\n"


async def test_a_run_that_goes_on_tells_the_model_what_was_reverted_between(cli: Cli) -> None:
    """What was sent before is sent again as it was; of what was redone nothing is said."""
    session_id = (await changes(cli, "list", "--json")).json["captures"][0]["session"]
    for command in (("revert", "--session", "last"), ("redo",), ("revert", "--turn", "2")):
        assert (await changes(cli, *command)).code == 0
    async with ChatServer(lambda _: text_reply("I see.")) as server:
        for text in ("Go on", "Thanks"):
            await cli.run_with_server(server.base_url, text, "--session", session_id)
    told, thanks = (request["messages"] for request in server.bodies)
    assert told[-1]["content"].startswith(
        "[The user reverted the changes to a.txt.]\n[Files on disk since you last saw them: changed: a.txt."
    )
    assert told[-1]["content"].endswith("-eins\n+one\n \n \n zwei\n]\n\nGo on")
    assert thanks[: len(told)] == told
    assert thanks[-1]["content"] == "Thanks"


async def test_a_terminal_gets_no_control_or_direction_signs_and_a_program_all_bytes(cli: Cli) -> None:
    text = "\x1b]0;title\x07 \u202e x\x9b2J y\r\n"
    write = StreamedReply(Call("write_file", json.dumps({"path": "a.txt", "content": text}), id="call_1"))
    async with ChatServer(replies_in_order(text_reply(text), write, text_reply(text))) as server:
        model = ("--model", "local/small", "--base-url", server.base_url)
        run = ("run", "--workspace", "ws", "--trust", "--message", "Say it", *model)
        shown = await cli.on_terminal(*run)
        piped = await cli.run("Write it", *model, "--yes")
    assert text.encode() in piped.out
    patch = (await changes(cli, "diff")).out
    assert "+" + text in patch.decode()
    entries = (await cli("cache", "list", "--workspace", "ws", "--json")).json
    digest = entries[0]["digest"]
    for output in (
        shown,
        await cli.on_terminal("changes", "diff", "--workspace", "ws"),
        await cli.on_terminal("cache", "show", "--workspace", "ws", digest),
    ):
        assert not set(output.decode()) & set("\x1b\x07\x9b\r\u202e"), output
    assert "\\u001b]0;title\\u0007 \\u202e x\\u009b2J y\\u000d\n" in shown.decode()
