"""Checkpoints in the whole loop: a long session under profiles as they are, against a real server."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.agent.session import ErrorRaised, SpendRequestsChanged
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.events.summary import HandoverDiscarded, HandoverFailed, HandoverMade
from helix_desktop.providers.demo.model import write_summary
from tests.support.loop_rig import LoopRig, is_observation_request, is_summary_request, loop_rig
from tests.support.model_servers.chat_server import (
    Call,
    Reply,
    StreamedReply,
    Text,
    text_reply,
)

MESSAGE = (
    "Compare the tide tables of station {n} with last year and say what is odd. Always use meters. " * 22
)
"""450 tokens."""
FILES, STEPS = 40, 4


def work(request: dict[str, Any]) -> Reply:
    """Read some files in each turn, with a word about each, and end with a conclusion."""
    messages = request["messages"]
    if is_summary_request(request) or is_observation_request(request):
        return text_reply(write_summary(str(messages[-1]["content"])))
    newest = max(n for n, message in enumerate(messages) if message["role"] == "user")
    steps = sum(message["role"] == "assistant" for message in messages[newest:])
    number = sum(len(str(message["content"])) for message in messages) % FILES
    if steps < STEPS:
        name = f"data/f{(number + steps) % FILES}.txt"
        thought = f"I look at {name}, which the table names. " * 20
        return StreamedReply(
            Text(thought), Call("read_file", json.dumps({"path": name}), f"c{len(messages)}-{steps}")
        )
    return text_reply("The gauge drifts because recalibrate() in tides/gauge.py keeps the old offset. " * 30)


async def run_long(rig: LoopRig, history: int) -> None:
    """Run turns until the session has so many tokens of history, or a handover was made."""
    (rig.root / "data").mkdir()
    for number in range(FILES):
        (rig.root / f"data/f{number}.txt").write_text(f"{number} 04:12 1.{number} m high water\n" * 210)
    messages, turn = rig.conversation.session.transcript.messages, 0
    while messages.full_total_tokens < history and not rig.events(HandoverMade):
        assert (await rig.conversation.run(MESSAGE.format(n=turn))).how == "done"
        await rig.conversation.checkpoints.wait()
        await rig.conversation.wait_for_background_work()
        turn += 1


def stretches(rig: LoopRig) -> list[int]:
    """Return the tokens of history, outputs in full, before, between and behind checkpoints and handovers."""
    transcript = rig.conversation.session.transcript
    written = sorted((*transcript.rewrites.handovers, *transcript.checkpoints))
    left = [transcript.messages.full_tokens_after(seq) for seq in (0, *written)]
    return [before - after for before, after in pairwise([*left, 0])]


def assert_nothing_was_asked_or_failed(rig: LoopRig) -> None:
    """Assert that everything was written by the model, unasked."""
    assert not any(isinstance(update, SpendRequestsChanged | ErrorRaised) for update in rig.updates)
    assert rig.events(HandoverFailed) == []
    written = [event.prepared.handover for event in rig.events(HandoverDiscarded) if event.prepared]
    assert {handover.model for handover in (*written, *rig.events(HandoverMade))} == {"local/small"}


@pytest.mark.parametrize(
    ("window", "is_attended"), [(32_000, True), (128_000, False)], ids=["32k", "run with 128k"]
)
async def test_the_timeline_of_a_long_session_has_a_checkpoint_every_40000_tokens(
    tmp_path: Path, window: int, is_attended: bool
) -> None:
    """The default policy keeps the context small: no handover, and no byte of a request changes."""
    policy = PROFILES["balanced"]
    async with loop_rig(tmp_path, work, policy, window=window, is_attended=is_attended) as rig:
        await run_long(rig, 150_000)
        await rig.assert_consistent()
        checkpoints = rig.conversation.session.transcript.checkpoints
        assert len(checkpoints) >= 3
        assert all(prepared.history >= policy.checkpoint_tokens for prepared in checkpoints.values())
        assert max(stretches(rig)) <= 60_000
        assert all(0 < prepared.read < prepared.history / 2 for prepared in checkpoints.values())
        updated = [prepared.handover.checkpoint for prepared in checkpoints.values()]
        assert updated == [0, *list(checkpoints)[:-1]], "each updates the one before"
        assert_nothing_was_asked_or_failed(rig)
