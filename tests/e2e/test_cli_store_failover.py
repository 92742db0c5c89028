"""Commands that go on when the process that they reached the store through has ended."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from helix_desktop.domain.store import Commit
from helix_desktop.store.remote.server import SharedStore
from tests.support.cli_rig import Cli, wait_for_exit
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    Wait,
    replies_in_order,
    text_reply,
)
from tests.support.store.builders import make_content


async def owned(cli: Cli) -> SharedStore:
    """The workspace's store, owned by this process as by a command that ends soon."""
    form = msgspec.json.decode((cli.store / "format").read_bytes())
    return await SharedStore.open(cli.store, form["workspace"])


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    new_cli = Cli.create(tmp_path)
    (new_cli.project / "plain.txt").write_text("plain words\n")
    return new_cli


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
