"""Standard output that nobody reads, as in `run --json | less`: who shares the store is still answered."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator

import pytest

from helix_desktop.domain.events.conversation import AssistantSpoke, TurnEnded
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.system.exit_codes import TERMINATED
from tests.support.cli_rig import Cli, RunningCommand, wait_for_exit
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    Text,
    replies_in_order,
    text_reply,
)

if sys.platform != "linux":
    pytest.skip("how full a pipe is can be read on Linux", allow_module_level=True)

import fcntl
import termios

PIPE_BYTES = 4_096
LONG_TEXT = " ".join(f"word{number}" for number in range(3_000))  # several times what the pipe holds
TURN = ("run", "--workspace", "ws", "--trust", "--message", "Hello", "--model", "local/small", "--json")


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Return the ends of a narrow pipe. Closes the end that reads."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    yield reader, writer
    os.close(reader)


def long_answer_with_a_call() -> ChatServer:
    long_answer = StreamedReply(Text(LONG_TEXT), Call("list_directory"))
    return ChatServer(replies_in_order(long_answer, text_reply("Ended.")))


async def fill_pipe(cli: Cli, server: ChatServer, reader: int, writer: int) -> RunningCommand:
    """Start a turn, and wait until nothing more fits into its pipe."""
    process = await cli.fork(*TURN, "--base-url", server.base_url, stdout=writer)
    os.close(writer)
    async with asyncio.timeout(60):
        while not server.bodies:  # noqa: ASYNC110 - nothing tells it
            await asyncio.sleep(0.02)
    before = -1
    while (now := unread_bytes(reader)) != before:
        before = now
        await asyncio.sleep(0.5)
    assert 0 < before <= PIPE_BYTES
    return process


def unread_bytes(reader: int) -> int:
    return int.from_bytes(fcntl.ioctl(reader, termios.FIONREAD, bytes(4)), sys.byteorder)


def read_to_end(reader: int) -> bytes:
    parts = []
    while part := os.read(reader, 65_536):
        parts.append(part)
    return b"".join(parts)


async def test_other_commands_are_answered_while_nobody_reads_and_all_comes_in_order(
    cli: Cli, pipe: tuple[int, int]
) -> None:
    reader, writer = pipe
    async with long_answer_with_a_call() as server:
        process = await fill_pipe(cli, server, reader, writer)
        listed = await cli("sessions", "--workspace", "ws", "--json")
        assert (listed.code, listed.err) == (0, "")
        assert len(listed.json) == 1
        assert len(server.bodies) == 1, "the turn waits before it costs more"
        output = await asyncio.to_thread(read_to_end, reader)
        ran = await wait_for_exit(process)
    assert ran.code == 0, ran
    lines = type(ran)(ran.code, output, ran.err).lines
    assert [line.seq for line in lines] == list(range(1, len(lines) + 1))
    answers = [line.event.text for line in lines if isinstance(line.event, AssistantSpoke)]
    assert answers == [LONG_TEXT, "Ended."]
    assert lines[-1].event == TurnEnded("done")


async def test_a_signal_ends_a_turn_whose_output_nobody_reads(cli: Cli, pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    async with long_answer_with_a_call() as server:
        process = await fill_pipe(cli, server, reader, writer)
        process.send_signal(signal.SIGTERM)
        ran = await asyncio.wait_for(wait_for_exit(process), 60)
    assert ran.code == TERMINATED, ran
    store = await LevelDbStore.open(cli.store, cli.store.parent.name)
    (summary,) = await store.sessions()
    events = await store.events(summary.id)
    await store.close()
    assert events[-1].event == TurnEnded("stopped")
