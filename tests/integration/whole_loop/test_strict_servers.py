"""Sixty turns with strict servers of the three dialects: no refusal stays, and its cause is found."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.providers.http import HttpClient
from helix_desktop.providers.streaming import StreamedModel
from tests.support.image_bytes import png
from tests.support.loop_rig import LoopRig
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Hang,
    Reasoning,
    Reply,
    StreamedReply,
    Text,
    text_reply,
)
from tests.support.model_servers.dialects import DIALECTS, SleepRecorder
from tests.support.model_servers.strict_server import MAX_IMAGES, StrictServer

TURNS = 60
TURNS_OF_A_MODEL = 10
INFO = ModelInfo("here", "m", window=16_000, reserve=1_000, output=2_000, images=True)
ODD_NAME = 'read_file" path="f1.txt'


class Worker:
    """The model of all servers: what it does in a turn is what `begin` says; it thinks before each step."""

    def __init__(self) -> None:
        self._steps: list[Reply] = []

    def begin(self, turn: int) -> None:
        """Plan a turn: every fifth reads a picture, every seventh calls a tool by a name that is none."""
        paths = [f"f{turn % 40}.txt", f"f{(turn + 7) % 40}.txt"]
        if turn % 5 == 0:
            paths[1] = f"p{turn}.png"
        calls = [self._call("read_file", path, f"{turn}_{number}") for number, path in enumerate(paths)]
        if turn % 7 == 0:
            calls.append(self._call(ODD_NAME, "a.txt", f"{turn}_odd"))
        words = (Text("I read them."),) if turn % 3 else ()
        self._steps = [StreamedReply(Reasoning(f"Turn {turn}."), *words, *calls), text_reply(f"Done {turn}.")]
        if turn % 10 == 4:
            self._steps[1] = StreamedReply(Text("Half of"), Hang())

    @staticmethod
    def _call(name: str, path: str, call_id: str) -> Call:
        return Call(name, json.dumps({"path": path}), f"call_{call_id}")

    def __call__(self, body: dict[str, Any]) -> Reply:
        is_turn = body.get("tools") and self._steps
        return self._steps.pop(0) if is_turn else text_reply("All of it was read.")


class Models:
    """A strict server of each dialect, and the model that talks to it."""

    def __init__(self) -> None:
        self.worker = Worker()
        self.strict = [StrictServer(dialect.name, self.worker) for dialect in DIALECTS]
        self.servers: list[ChatServer] = []
        self.models: list[StreamedModel] = []

    async def start(self, stack: AsyncExitStack, http: HttpClient) -> None:
        for strict, dialect in zip(self.strict, DIALECTS, strict=True):
            server = await stack.enter_async_context(ChatServer(strict, wire_format=dialect.wire_format))
            self.servers.append(server)
            self.models.append(dialect.model(server, http, SleepRecorder().retry_policy, INFO))


@pytest.fixture
async def models(http: HttpClient) -> AsyncIterator[Models]:
    async with AsyncExitStack() as stack:
        started = Models()
        await started.start(stack, http)
        yield started


async def test_no_refusal_of_a_strict_server_stays(rig: LoopRig, models: Models) -> None:
    ended: Counter[str] = Counter()
    late_refusals: list[str] = []
    for turn in range(TURNS):
        (rig.root / f"p{turn}.png").write_bytes(png(20 + turn, 10, turn))
        used = turn // TURNS_OF_A_MODEL % len(DIALECTS)
        server = models.servers[used]
        strict = models.strict[used]
        if turn % TURNS_OF_A_MODEL == 0:
            await rig.workspace.set_models(models.models[used])
        models.worker.begin(turn)
        server.waiting.clear()
        refused = len(strict.refusals)
        if turn % 10 == 4:
            await rig.conversation.send(f"Do part {turn}.")
            await server.waiting.wait()
            await rig.conversation.stop()
        else:
            await rig.conversation.run(f"Do part {turn}.")
        newest: TurnEnded = rig.events(TurnEnded)[-1]
        assert newest.how in ("done", "stopped"), f"turn {turn}: {newest.what} {newest.why}"
        ended[newest.how] += 1
        if turn >= TURNS // 2:
            late_refusals += strict.refusals[refused:]

    assert ended == {"done": TURNS - 6, "stopped": 6}
    assert all(strict.accepted for strict in models.strict)
    assert all(strict.refusals for strict in models.strict)
    assert [words for words in late_refusals if "image" not in words] == [], (
        "what is refused is known by then"
    )
    assert rig.events(SweepMade)
    assert rig.events(FoldMade) or rig.events(HandoverMade)
    pictures = [answer for answer in rig.events(ToolAnswered) if answer.images]
    assert len(pictures) == TURNS // 5 > MAX_IMAGES
    names = [call.name for answer in rig.events(AssistantSpoke) for call in answer.calls]
    assert names.count(ODD_NAME) == len(range(0, TURNS, 7)), "the log has what the model wrote"
    await rig.conversation.checkpoints.wait()
