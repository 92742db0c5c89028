"""The command `cache`: cleaning up, forgetting, export, import; also while another process owns the store."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from helix_desktop.config.paths import DataDir
from helix_desktop.domain.store import Commit
from helix_desktop.main import main
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.remote.server import SharedStore
from helix_desktop.workspaces.registry import WorkspaceRegistry
from tests.support.cli_rig import Cli, wait_for_exit
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    Wait,
    replies_in_order,
    text_reply,
)
from tests.support.store.builders import (
    TickingClock,
    make_content,
    make_summary,
    tool_answer_event,
    user_message_event,
)

SECRET = "sk-live-Zq83hd02jfQ"


@pytest.fixture
def cli(cli: Cli) -> Cli:
    (cli.project / "env.txt").write_text(f"PORT=1\nKEY={SECRET}\n")
    (cli.project / "plain.txt").write_text("plain words\n")
    return cli


async def run_turn(cli: Cli, *paths: str) -> None:
    calls = StreamedReply(
        *(Call("read_file", f'{{"path": "{path}"}}', id=f"c{n}") for n, path in enumerate(paths))
    )
    async with ChatServer(replies_in_order(calls, text_reply(f"The key is {SECRET}."))) as server:
        assert (await cli.run_with_server(server.base_url, "Look.")).code == 0


async def add_unused_contents(cli: Cli) -> list[str]:
    """Store old unreferenced contents, and a session; return the contents' digests."""
    form = msgspec.json.decode((cli.store / "format").read_bytes())
    store = await LevelDbStore.open(cli.store, form["workspace"], TickingClock())
    contents = [make_content(f"litter {number}".encode() * 200) for number in range(3)]
    await store.commit(
        Commit("old", [user_message_event(1)], contents, summary=make_summary("old", title="An old one"))
    )
    await store.retention.trash_session("old")
    await store.close()
    return [content.digest for content in contents]


async def test_unreferenced_content_goes_to_the_trash_and_is_restored(cli: Cli) -> None:
    await run_turn(cli, "plain.txt")
    loose = await add_unused_contents(cli)
    here = ("--workspace", "ws")
    planned = (await cli("cache", "gc", *here, "--dry-run", "--json")).json
    assert sorted(planned["going"]) == sorted(loose)
    assert (planned["gone"], planned["named"]["entries"]) == ([], 1)
    aged = await cli("cache", "gc", *here, "--dry-run", "--older-than", "2000w")
    assert (aged.code, aged.out) == (0, b"")
    assert "not covered by these settings · 3 entries" in aged.err
    small = await cli("cache", "gc", *here, "--dry-run", "--quota", "1KB")
    assert small.out == b""
    went = await cli("cache", "gc", *here)
    assert went.out.count(b"\n") == 3
    assert "moved to the trash" in went.err
    assert len((await cli("cache", "list", *here, "--json")).json) == 1
    lying = await cli("cache", "trash", *here)
    assert b"An old one" in lying.out
    assert all(content.encode() in lying.out for content in loose)
    back = await cli("cache", "restore", loose[0][:12], "old", *here, "--json")
    assert back.json == {"digests": [loose[0]], "sessions": ["old"]}
    (await cli("cache", "restore", loose[0], *here)).assert_refused(2, "Nothing in the trash")
    (await cli("cache", "restore", *here)).assert_refused(2, "--all")
    (await cli("cache", "delete", "old", *here)).assert_refused(2, "Nothing in the trash")
    would = await cli("cache", "delete", loose[2][:12], *here)
    assert would.out.decode().splitlines()[1].startswith("This deletes 1 output, ")
    assert would.out.endswith(b"This can't be undone.\n")
    deleted = (await cli("cache", "delete", loose[2][:12], *here, "--yes", "--json")).json
    assert (deleted["digests"], deleted["deleted"]) == ([loose[2]], True)
    emptied = (await cli("cache", "trash", *here, "--empty", "--json")).json
    assert emptied["digests"] == [loose[1]]
    left = {entry["digest"] for entry in (await cli("cache", "list", *here, "--json")).json}
    assert loose[0] in left
    assert len(left) == 2


async def test_a_secret_is_previewed_and_removed_after_confirmation(cli: Cli) -> None:
    await run_turn(cli, "env.txt", "plain.txt")
    here = ("--workspace", "ws")
    (await cli("cache", "forget", *here)).assert_refused(2, "Nothing to remove.")
    preview = await cli.run_with_stdin(SECRET.encode() + b"\n", "cache", "forget", "--stdin", *here)
    assert preview.code == 0
    lines = preview.out.decode().splitlines()
    assert lines[:2] == [
        "Dry run: nothing was changed. With --yes:",
        "1 output: removed permanently",
    ]
    digest = next(
        entry["digest"] for entry in (await cli("cache", "list", *here, "--json")).json
        if entry["target"] == "env.txt"
    )  # fmt: skip
    owner = await SharedStore.open(cli.store, cli.store.parent.name)
    unrelated = await cli.run_with_stdin(SECRET.encode(), "cache", "forget", "--stdin", "--yes", *here)
    unrelated.assert_refused(
        3, "open in another Helix Desktop", "If it's a window, remove it there or close it."
    )
    assert (await owner.entry(digest)).size
    await owner.close()
    done = await cli.run_with_stdin(SECRET.encode(), "cache", "forget", "--stdin", "--yes", *here, "--json")
    assert done.json["forgotten"] is True
    assert done.json["contents"] == [digest]
    assert not [
        path for path in cli.data.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()
    ]
    (await cli("cache", "show", digest, *here)).assert_refused(2, "The user removed the cached output")
    again = await cli.run_with_stdin(SECRET.encode(), "cache", "forget", "--stdin", *here)
    assert again.out == b"no occurrences found\n"

    await run_turn(cli, "env.txt")
    assert digest not in {entry["digest"] for entry in (await cli("cache", "list", *here, "--json")).json}
    lifted = await cli("cache", "forget", "--lift", digest, "f" * 64, *here, "--json")
    lifted.assert_refused(2, f"No removed output has the digest {'f' * 64}.")
    assert lifted.json == {"lifted": [digest]}, "what was allowed is said too"
    again = await cli("cache", "forget", "--lift", digest, *here)
    again.assert_refused(2, f"No removed output has the digest {digest}.")
    await run_turn(cli, "env.txt")
    assert digest in {entry["digest"] for entry in (await cli("cache", "list", *here, "--json")).json}


async def test_names_with_terminal_escapes_are_printed_escaped(cli: Cli) -> None:
    await run_turn(cli, "plain.txt")
    form = msgspec.json.decode((cli.store / "format").read_bytes())
    store = await LevelDbStore.open(cli.store, form["workspace"], TickingClock())
    steering = "a\x1b[31m\nb\u202e"
    contents = [msgspec.structs.replace(make_content(data), target=steering) for data in (b"one", b"two")]
    await store.commit(
        Commit("old", [user_message_event(1)], contents, summary=make_summary("old", title=steering))
    )
    await store.retention.trash_session("old")
    await store.close()
    here = ("--workspace", "ws")
    escaped = r"a\u001b[31m\u000ab\u202e"
    for words in (("list",), ("search", "one"), ("gc",), ("trash",)):
        ran = await cli("cache", *words, *here)
        assert escaped in ran.out.decode(), words
        assert b"\x1b" not in ran.out, words
    listed = (await cli("cache", "list", *here, "--json")).json
    assert listed == [entry for entry in listed if entry["target"] != steering]  # both went to the trash
    lying = (await cli("cache", "trash", *here, "--json")).json
    assert {entry["target"] for entry in lying["entries"]} == {steering}  # JSON has it verbatim
    assert (await cli("cache", "restore", "old", *here)).code == 0
    timeline = await cli("timeline", *here)
    assert escaped in timeline.out.decode()
    assert b"\x1b" not in timeline.out


async def owned(cli: Cli) -> SharedStore:
    """The workspace's store, owned by this process as by a command that ends soon."""
    form = msgspec.json.decode((cli.store / "format").read_bytes())
    return await SharedStore.open(cli.store, form["workspace"])


async def test_a_turn_outlives_the_command_that_owned_the_store_at_its_start(cli: Cli) -> None:
    async with ChatServer(replies_in_order(text_reply("Hello."))) as server:
        assert (await cli.run_with_server(server.base_url, "Hi.")).code == 0
    owner = await owned(cli)
    go_on = asyncio.Event()
    reading = StreamedReply(Wait(go_on), Call("read_file", '{"path": "plain.txt"}'))
    async with ChatServer(replies_in_order(reading, text_reply("It says plain words."))) as server:
        words = ("--workspace", "ws", "--trust", "--message", "Look.", "--model", "local/small", "--json")
        turn = await cli.fork("run", *words, "--base-url", server.base_url)
        await server.waiting.wait()
        await owner.close()
        go_on.set()
        ran = await wait_for_exit(turn)
    assert (ran.code, ran.err) == (0, "")
    events = [line.event for line in ran.lines]
    store = await owned(cli)
    stored = [event.event for event in await store.events(ran.lines[0].session)]
    assert stored == events
    assert (await store.totals()).entries == 1
    await store.close()


async def test_concurrent_commands_all_succeed(cli: Cli) -> None:
    async with ChatServer(replies_in_order(text_reply("Hello."))) as server:
        assert (await cli.run_with_server(server.base_url, "Hi.")).code == 0
    store = await owned(cli)
    await store.commit(Commit("s", contents=[make_content(bytes([n]) * 200_000) for n in range(80)]))
    await store.close()
    here = ("--workspace", "ws", "--json")
    assert (await cli("cache", "export", "all.helix", *here)).code == 0
    reading = (("list",), ("verify",), ("import", "all.helix"), ("trash",), ("repair",))
    verbs = (*reading, ("export", "again", "--force"))
    for _ in range(2):
        ran = await asyncio.gather(*(cli("cache", *verb, *here) for verb in verbs))
        assert [result.code for result in ran] == [0] * len(verbs), ran
        assert all(result.json is not None for result in ran)


CONTENT = make_content(b"some words")


@dataclass
class InProcessCli:
    """The commands, run in this process: quicker, with the same grammar, output and exit code."""

    folder: Path
    capture: pytest.CaptureFixture[str]

    def __call__(self, *words: str) -> tuple[int, str, str]:
        """Run a command; its code, output and errors."""
        code = main([*words[:1], "--data-dir", str(self.folder / "data"), *words[1:]])
        captured = self.capture.readouterr()
        return code, captured.out, captured.err

    def cache(self, verb: str, *words: str) -> tuple[int, str, str]:
        code = main(["cache", verb, "--data-dir", str(self.folder / "data"), *words])
        captured = self.capture.readouterr()
        return code, captured.out, captured.err

    def json(self, verb: str, workspace: str, *words: str) -> Any:
        """Return what a verb of `cache` prints as JSON on success."""
        code, out, err = self.cache(verb, "--workspace", str(self.folder / workspace), "--json", *words)
        assert (code, err) == (0, "")
        return json.loads(out)


@pytest.fixture
def here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> InProcessCli:
    """A workspace with a session and two contents."""
    data = DataDir(tmp_path / "data")
    data.ensure()
    (tmp_path / "ws").mkdir()
    registry = WorkspaceRegistry(data.workspaces_dir, TickingClock())
    record = registry.add(tmp_path / "ws")

    async def fill() -> None:
        store = await SharedStore.open(registry.store_folder(record.id), record.id, TickingClock())
        await store.commit(
            Commit(
                "s",
                [tool_answer_event(1, CONTENT.data)],
                [CONTENT, make_content(b"2")],
                summary=make_summary("s"),
            )
        )
        await store.close()

    asyncio.run(fill())
    return InProcessCli(tmp_path, capsys)


def test_a_workspace_is_exported_and_imported_elsewhere(here: InProcessCli, tmp_path: Path) -> None:
    file = str(tmp_path / "out.helix")
    other = tmp_path / "other"
    exported = here.json("export", "ws", file)
    assert (exported["path"], exported["held"]["entries"], exported["held"]["sessions"]) == (file, 2, 1)
    assert (tmp_path / "out.helix").stat().st_mode & 0o077 == 0
    code, _, err = here.cache("import", file, "--workspace", str(other))
    assert (code, "isn't a folder" in err) == (2, True)
    other.mkdir()
    imported = here.json("import", "other", file)
    assert (imported["added"], imported["new"]) == (2, ["s"])
    assert here.json("list", "other") == here.json("list", "ws")
    assert here.json("export", "ws", str(tmp_path / "without"))["path"] == str(tmp_path / "without.helix")
    dated = str(tmp_path / "of-2026.11")
    assert here.json("export", "ws", dated)["path"] == f"{dated}.helix"
    result = here.cache("import", file, "--workspace", str(other))
    assert result == (0, "0 entries added, 2 already present. Sessions: 1 unchanged.\n", "")
    verified = here.json("verify", "other")
    assert (verified["verified"], verified["damaged"]) == (2, [])


def test_one_session_is_exported_and_imported_elsewhere(here: InProcessCli, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    code, _, err = here.cache(
        "export", str(tmp_path / "s"), "--session", "last", "--workspace", str(tmp_path / "ws")
    )
    assert (code, err) == (0, "Contains 1 entry and 1 session. Verified.\n")
    imported = here.json("import", "other", str(tmp_path / "s.helix"))
    assert (imported["added"], imported["new"]) == (1, ["s"])
    result = here.json("export", "ws", str(tmp_path / "s.md"), "--session", "s")
    transcript = (tmp_path / "s.md").read_text(encoding="utf-8")
    assert result == {"path": str(tmp_path / "s.md"), "file_size": len(transcript.encode()), "removed": 0}
    assert transcript.startswith("# a title\n\n### `read_file`")
    here.json("export", "ws", str(tmp_path / "s.html"), "--session", "s")
    assert "<h1>a title</h1>" in (tmp_path / "s.html").read_text(encoding="utf-8")
    here.json("export", "ws", str(tmp_path / "s.jsonl"), "--session", "s")
    (line, *_) = (tmp_path / "s.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["session"] == "s"
    code, _, err = here.cache(
        "export", str(tmp_path / "t"), "--session", "t", "--workspace", str(tmp_path / "ws")
    )
    assert (code, "No session of this workspace starts with 't'." in err) == (2, True)


def test_an_unusable_file_is_named_and_changes_nothing(here: InProcessCli, tmp_path: Path) -> None:
    here.json("export", "ws", str(tmp_path / "out.helix"))
    data = (tmp_path / "out.helix").read_bytes()
    (tmp_path / "cut.helix").write_bytes(data[:-30])
    before = here.json("list", "ws")
    for verb, name, code, words in (
        ("import", "cut.helix", 2, "ends early: a part of it is missing. Nothing was changed."),
        ("import", "none.helix", 2, "none.helix can't be read."),
        ("export", "no/where.helix", 1, "where.helix wasn't written. The folder"),
        ("export", "out.helix/x", 1, "out.helix isn't a folder. Nothing was left behind."),
        ("export", "out.tar", 2, "out.tar must end in .helix."),
        ("export", "out.md", 2, "Only a session can be exported as .md. Add --session, or use"),
    ):
        ended, out, err = here.cache(verb, str(tmp_path / name), "--workspace", str(tmp_path / "ws"))
        assert (ended, out, len(err.splitlines())) == (code, "", 1)
        assert words in err
    assert here.json("list", "ws") == before


@pytest.mark.parametrize(("name", "options"), [("out.helix", ()), ("out.md", ("--session", "last"))])
def test_a_file_is_overwritten_only_with_force(
    here: InProcessCli, tmp_path: Path, name: str, options: tuple[str, ...]
) -> None:
    file = tmp_path / name
    file.write_text("mine")
    words = (str(file), "--workspace", str(tmp_path / "ws"), *options)
    code, out, err = here.cache("export", *words)
    assert (code, out, file.read_text()) == (2, "", "mine")
    assert (
        err == f"helix-desktop: {file} already exists. Choose another name, or overwrite it with --force.\n"
    )
    assert here.cache("export", *words, "--force")[0] == 0
    assert file.read_bytes() != b"mine"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes among its files")
def test_a_pipe_is_refused_at_once(here: InProcessCli, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.helix")
    code, out, err = here.cache("import", str(tmp_path / "pipe.helix"), "--workspace", str(tmp_path / "ws"))
    assert (code, out) == (2, "")
    assert "not a pipe or device" in err


@pytest.mark.parametrize("name", ["", "saved", "workspaces/saved"])
def test_a_backup_inside_the_data_is_refused(here: InProcessCli, tmp_path: Path, name: str) -> None:
    folders = [tmp_path / "data" / name]
    if sys.platform != "win32":
        (tmp_path / "link").symlink_to(tmp_path / "data")
        folders.append(tmp_path / "link" / name)
    for folder in folders:
        code, out, err = here("backup", str(folder))
        assert (code, out, len(err.splitlines())) == (2, "", 1)
        assert f"It's in the data folder {tmp_path / 'data'}, and would be lost with it." in err
    assert not list(tmp_path.rglob("*.helix"))


def test_a_backup_contains_every_workspace(here: InProcessCli, tmp_path: Path) -> None:
    code, _, err = here("backup", str(tmp_path / "saved"), "--workspace", str(tmp_path / "data"))
    assert (code, "isn't a workspace yet." in err) == (2, True)
    code, out, err = here("backup", str(tmp_path / "saved"))
    (file,) = (tmp_path / "saved").iterdir()
    assert (code, out.split()[0]) == (0, str(file))
    assert err == "Contains 2 entries and 1 session. Verified.\n"
    for record in (tmp_path / "data").glob("workspaces/*/workspace.toml"):
        record.write_text("broken")
    code, out, err = here("backup", str(tmp_path / "saved"))
    assert (code, out, "Correct the file. The workspace's sessions" in err) == (1, "", True)
    (tmp_path / "empty").mkdir()
    here.folder = tmp_path / "empty"
    code, _, err = here("backup", str(tmp_path / "saved"))
    assert (code, "Nothing to back up" in err) == (2, True)


async def test_all_of_it_works_with_a_running_owner(cli: Cli) -> None:
    data = DataDir(cli.data)
    data.ensure()
    registry = WorkspaceRegistry(data.workspaces_dir, TickingClock())
    record = registry.add(cli.project)
    owner = await SharedStore.open(registry.store_folder(record.id), record.id)
    owner.set_open_sessions(lambda session_id: session_id == "open")
    await owner.commit(
        Commit("open", [tool_answer_event(1, CONTENT.data)], [CONTENT], summary=make_summary("open"))
    )
    refused = await cli.run("And here", "--session", "open", "--model", "demo/offline")
    assert refused.code == 1
    assert refused.err.count("is in use by another Helix program: a window or a run") == 1
    assert (await cli.run("Hello")).code == 0
    assert len(await owner.sessions()) == 2
    saved = await cli("backup", "saved", "--json")
    assert (saved.code, len(saved.json), saved.json[0]["held"]["sessions"]) == (0, 1, 2)
    await owner.close()
    shutil.rmtree(cli.store)
    restored = await cli("cache", "import", saved.json[0]["path"], "--workspace", "ws", "--json")
    assert (restored.code, len(restored.json["new"])) == (0, 2)
