"""A server that cuts the beginning of long requests without a word: its counts show that, and it is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.agent.session import ErrorRaised
from helix_desktop.domain.events.conversation import TurnEnded
from helix_desktop.domain.events.session import WindowLearned
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.providers.http import HttpClient
from tests.support.loop_rig import LoopRig, loop_rig
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Reply,
    StreamedReply,
    Text,
    TokenCounts,
)
from tests.support.model_servers.dialects import DIALECTS, DialectCase, SleepRecorder

INFO = ModelInfo("here", "m", window=64_000, reserve=2_000)
FILES = 8

Count = Callable[[int, int], TokenCounts]
"""Returns what a server reports of a request with so many tokens, of which so many are new."""


class Reader:
    """A model that reads one file a step; its server counts by `count`."""

    def __init__(self, count: Count) -> None:
        self._count = count
        self._read = 0
        self._former = 0

    def __call__(self, body: dict[str, Any]) -> Reply:
        tokens = len(json.dumps(body)) // 4
        counts = self._count(tokens, tokens - self._former)
        self._former = tokens
        if not body.get("tools") or self._read == FILES:
            return StreamedReply(Text("All read."), usage=counts)
        self._read += 1
        return StreamedReply(Call("read_file", json.dumps({"path": f"f{self._read}.txt"})), usage=counts)


async def read_all(rig: LoopRig, http: HttpClient, dialect: DialectCase, count: Count) -> list[WindowLearned]:
    for number in range(1, FILES + 1):
        lines = (f"file {number} line {line} with some words of text\n" for line in range(250))
        (rig.root / f"f{number}.txt").write_text("".join(lines))
    async with ChatServer(Reader(count), wire_format=dialect.wire_format) as server:
        await rig.workspace.set_models(dialect.model(server, http, SleepRecorder().retry_policy, INFO))
        assert await rig.conversation.run("Read the files.") == TurnEnded("done")
        await rig.conversation.checkpoints.wait()
    return rig.events(WindowLearned)


def cut_at(window: int) -> Count:
    return lambda tokens, _: TokenCounts(min(tokens, window), 5)


def cut_about_at(window: int) -> Count:
    """Cut whole tokens of a template, too: the counts differ a little."""
    return lambda tokens, _: TokenCounts(min(tokens, window - tokens % 9), 5)


CUTS: dict[str, Count] = {
    "8,192": cut_at(8_192),
    "12,000": cut_at(12_000),
    "16,384": cut_at(16_384),
    "about 8,192": cut_about_at(8_192),
    "about 16,384": cut_about_at(16_384),
}


@pytest.mark.parametrize("kind", CUTS)
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_the_session_keeps_to_the_window_that_the_counts_show(
    tmp_path: Path, http: HttpClient, dialect: DialectCase, kind: str
) -> None:
    async with loop_rig(tmp_path, lambda _: StreamedReply(Text("unused"))) as rig:
        (learned,) = await read_all(rig, http, dialect, CUTS[kind])
        window = int(kind.removeprefix("about ").replace(",", ""))
        assert window - 9 < learned.window <= window
        assert (learned.believed, learned.from_counts) == (64_000, True)
        assert learned.reason.startswith(f"The server counted {learned.window:,} of about ")
        assert rig.conversation.session.frame.info.window == learned.window


@pytest.mark.parametrize("window", [2_048, 4_096])
async def test_a_window_without_room_for_the_tools_is_told_once(
    tmp_path: Path, http: HttpClient, window: int
) -> None:
    async with loop_rig(tmp_path, lambda _: StreamedReply(Text("unused"))) as rig:
        assert await read_all(rig, http, DIALECTS[0], cut_at(window)) == []
        (warning,) = (update for update in rig.updates if isinstance(update, ErrorRaised))
        assert warning.is_warning
        assert warning.what == "here/m reads only the end of long requests."
        assert warning.why.startswith(f"The server counted {window:,} of about ")
        assert "num_ctx" in warning.fix


HONEST: dict[str, Count] = {
    "all": lambda tokens, _: TokenCounts(tokens, 5),
    "what is new": lambda _, new: TokenCounts(max(1, new), 5),
    "always the same": lambda *_: TokenCounts(100, 5),
    "nothing": lambda *_: TokenCounts(0, 0),
    "with what was cached": lambda tokens, new: TokenCounts(min(tokens, 4_096), 5, min(tokens, 4_096) // 2),
}


@pytest.mark.parametrize("kind", HONEST)
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_other_counts_show_no_window(
    tmp_path: Path, http: HttpClient, dialect: DialectCase, kind: str
) -> None:
    async with loop_rig(tmp_path, lambda _: StreamedReply(Text("unused"))) as rig:
        assert await read_all(rig, http, dialect, HONEST[kind]) == []
