"""Cleaning up and forgetting on the command line, in processes of its own."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from helix_desktop.domain.store import Commit
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.remote.server import SharedStore
from tests.support.cli_rig import Cli
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    replies_in_order,
    text_reply,
)
from tests.support.store.builders import TickingClock, make_content, make_summary, user_message_event

SECRET = "sk-live-Zq83hd02jfQ"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    new_cli = Cli.create(tmp_path)
    (new_cli.project / "env.txt").write_text(f"PORT=1\nKEY={SECRET}\n")
    (new_cli.project / "plain.txt").write_text("plain words\n")
    return new_cli


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
