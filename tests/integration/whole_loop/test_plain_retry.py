"""What a session stores of a turn whose request was refused once: the same as without the refusal."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from helix_desktop.domain.events.conversation import AssistantSpoke, TurnEnded
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.rewrite import SweepMade, SweepReason
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.providers.http import HttpClient
from helix_desktop.providers.plain_form import MAX_TRIALS
from tests.support.image_bytes import png
from tests.support.loop_rig import loop_rig
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Reasoning,
    Reply,
    StreamedReply,
    Text,
    TokenCounts,
    api_error,
    text_reply,
)
from tests.support.model_servers.dialects import DIALECTS, DialectCase, SleepRecorder

Body = Mapping[str, Any]
Refusal = Callable[[str], str]
"""Returns what a server says against a request, which is JSON; empty: it accepts it."""

INFO = ModelInfo("here", "m", window=64_000, reserve=2_000, images=True)
ODD_NAME = 'read_file" path="a.txt'
USAGE = TokenCounts(2_500, 5)
FIELDS = (
    "cache_control",
    "prompt_cache_key",
    "thinking",
    "reasoning_content",
    "encrypted_content",
    "stream_options",
)
"""Names of hints for the cache, of reasoning and of the request for usage, in the three dialects."""


def accepts(_body: str) -> str:
    return ""


def refuses_the_name(body: str) -> str:
    return "The input is invalid" if f'"name": {json.dumps(ODD_NAME)}' in body else ""


def refuses_pictures(body: str) -> str:
    return "Could not process image" if "iVBOR" in body else ""


class Played:
    def __init__(self, events: list[Event], bodies: list[Body], refused: int) -> None:
        self.events = events
        self.bodies = bodies
        self.refused = refused

    def fields(self) -> list[set[str]]:
        """Return which of the fields each request has."""
        bodies = [json.dumps(body) for body in self.bodies]
        return [{field for field in FIELDS if f'"{field}"' in body} for body in bodies]


async def play(folder: Path, http: HttpClient, dialect: DialectCase, refusal: Refusal) -> Played:
    """Run a turn that reads a picture and calls a tool by a name that is none, then turns for the search."""
    refused = 0
    answers = [
        StreamedReply(Reasoning("A picture."), Call("read_file", '{"path": "p.png"}', "call_1"), usage=USAGE),
        StreamedReply(Reasoning("A text."), Call(ODD_NAME, '{"path": "a.txt"}', "call_2"), usage=USAGE),
    ]

    def reply(body: dict[str, Any]) -> Reply:
        nonlocal refused
        if words := refusal(json.dumps(body)):
            refused += 1
            return api_error(400, words)
        if answers:
            return answers.pop(0)
        return StreamedReply(Reasoning("It is done."), Text("Done."), usage=USAGE)

    async with (
        loop_rig(folder, lambda _: text_reply("unused"), clock=partial(next, itertools.repeat(0))) as rig,
        ChatServer(reply, wire_format=dialect.wire_format) as server,
    ):
        await rig.workspace.set_models(dialect.model(server, http, SleepRecorder().retry_policy, INFO))
        for number in range(2 + MAX_TRIALS):
            assert await rig.conversation.run(f"Do part {number}.") == TurnEnded("done")
        stored = await rig.store.events(rig.conversation.session.id)
        return Played([entry.event for entry in stored], list(server.bodies), refused)


@pytest.fixture(autouse=True)
def project(tmp_path: Path) -> None:
    """Put an old picture in the project that both sessions of a test share: it is one version of a file."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "p.png").write_bytes(png(20, 10))
    os.utime(root / "p.png", (1_700_000_000, 1_700_000_000))


@pytest.fixture(params=DIALECTS, ids=lambda dialect: dialect.name)
def dialect(request: pytest.FixtureRequest) -> DialectCase:
    case: DialectCase = request.param
    return case


async def test_a_refused_name_changes_nothing_that_is_stored(
    tmp_path: Path, http: HttpClient, dialect: DialectCase
) -> None:
    usual = await play(tmp_path, http, dialect, accepts)
    retried = await play(tmp_path, http, dialect, refuses_the_name)
    assert retried.refused == 2, "as it was written, and when it came back alone"
    assert apart_from_the_request(retried.events) == apart_from_the_request(usual.events)
    assert [call.name for event in retried.events for call in getattr(event, "calls", ())][-1] == ODD_NAME
    assert not retried.fields()[3], "the plainest form"
    assert retried.fields()[-1] == usual.fields()[-1]


async def test_a_refused_picture_adds_only_that_it_left(
    tmp_path: Path, http: HttpClient, dialect: DialectCase
) -> None:
    usual = await play(tmp_path, http, dialect, accepts)
    retried = await play(tmp_path, http, dialect, refuses_pictures)
    assert retried.refused == 1
    (left,) = (event for event in retried.events if isinstance(event, SweepMade))
    assert left.reason is SweepReason.REFUSED
    others = [event for event in retried.events if event is not left]
    assert apart_from_the_request(others) == apart_from_the_request(usual.events)
    assert retried.fields()[-1] == usual.fields()[-1]


def apart_from_the_request(events: list[Event]) -> list[Event]:
    """Return events without the tokens of the request, and without what the server bound to it."""
    return [
        msgspec.structs.replace(event, usage=None, estimate=0, ratio=1.0, sent_after=0, verbatim=None)
        if isinstance(event, AssistantSpoke)
        else event
        for event in events
    ]
