"""Checkpoints in the whole loop: a long session under profiles as they are, against a real server."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.agent.session import ErrorRaised, SpendRequestsChanged
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.events.conversation import ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.domain.events.summary import HandoverDiscarded, HandoverFailed, HandoverMade
from helix_desktop.providers.demo.model import write_summary
from tests.support.loop_rig import LoopRig, is_observation_request, is_summary_request, loop_rig
from tests.support.model_servers.chat_server import (
    Call,
    Reply,
    Script,
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
    ("window", "is_attended"), [(128_000, True), (32_000, True), (128_000, False)], ids=["128k", "32k", "run"]
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


SIDE_BY_SIDE = 12
"""Files that one step reads, each of 3,400 tokens: no form is chosen for them."""


def reading() -> Script:
    """Read files one by one in the first turn, all in one step of the second, one by one in the third."""
    one_by_one = [[number] for number in range(SIDE_BY_SIDE)]
    turns = (one_by_one[:6], [list(range(SIDE_BY_SIDE))], one_by_one)
    replies: list[Reply] = []
    for turn, steps in enumerate(turns, 1):
        for numbers in steps:
            files = [f"t{turn}/part{number}.txt" for number in numbers]
            replies.append(
                StreamedReply(*(Call("read_file", json.dumps({"path": file}), file) for file in files))
            )
        replies.append(text_reply("I have read what I need."))

    def play(request: dict[str, Any]) -> Reply:
        if is_summary_request(request) or is_observation_request(request):
            return text_reply(write_summary(str(request["messages"][-1]["content"])))
        return replies.pop(0)

    return play


def is_between_results(rig: LoopRig, upto: int) -> bool:
    """Return True if an event is a result that another one of the same step follows."""
    messages = rig.conversation.session.transcript.messages
    place = messages.position(upto)
    around = (item.event for item in messages.items[place - 1 : place + 1])
    return [type(event) for event in around] == [ToolAnswered, ToolAnswered]


async def test_a_step_that_reads_much_gets_a_checkpoint_between_two_of_its_results(tmp_path: Path) -> None:
    """As soon as 40,000 tokens came; the next one reads the rest of the step as an update, nothing twice."""
    async with loop_rig(tmp_path, reading(), window=128_000, is_attended=True) as rig:
        for turn, count in enumerate((6, SIDE_BY_SIDE, SIDE_BY_SIDE), 1):
            (rig.root / f"t{turn}").mkdir()
            for number in range(count):
                lines = (f"{turn} {number} {line}: 04:12 high water 1.{line} m\n" for line in range(190))
                (rig.root / f"t{turn}/part{number}.txt").write_text("".join(lines))
            assert (await rig.conversation.run(f"Read part {turn}.")).how == "done"
            await rig.conversation.checkpoints.wait()
            await rig.conversation.wait_for_background_work()
        await rig.assert_consistent()
        first, second = rig.conversation.session.transcript.checkpoints.values()
        assert is_between_results(rig, first.handover.upto)
        assert 40_000 <= first.history < 45_000
        read = [str(request.messages[-1]["content"]) for request in rig.summary_requests]
        results = [
            (item.seq, f"\ne{item.seq} tool read_file ")
            for item in rig.conversation.session.transcript.messages.items
            if isinstance(item.event, ToolAnswered)
        ]
        for seq, line in results:
            covering = [prepared.handover.upto >= seq for prepared in (first, second)]
            assert [line in text for text in read] == [covering[0], covering[1] and not covering[0]]
        assert_nothing_was_asked_or_failed(rig)


async def test_the_handover_at_85_percent_begins_with_the_newest_checkpoint(tmp_path: Path) -> None:
    """Under Classic, which frees nothing before: what the checkpoint covers is not read again."""
    async with loop_rig(tmp_path, work, PROFILES["classic"], window=32_000, is_attended=True) as rig:
        await run_long(rig, 600_000)
        await rig.assert_consistent()
        (handover,) = rig.events(HandoverMade)
        log = rig.conversation.session.log
        made = next(entry.seq for entry in log if entry.event is handover)
        assert (handover.trigger, handover.threshold) == (HandoverTrigger.THRESHOLD, 0.85)
        assert handover.checkpoint == list(Transcript(log[:made]).checkpoints)[-1]
        base = rig.conversation.session.transcript.checkpoints[handover.checkpoint].handover
        assert bool(handover.read) == bool(handover.calls), (
            "what it read, nothing where it is the checkpoint as it was"
        )
        if handover.calls:
            sent = str(rig.summary_requests[-1].messages[-1]["content"])
            messages = [entry.seq for entry in log if isinstance(entry.event, UserSpoke)]
            covered = [seq for seq in messages if seq <= base.upto]
            assert not any(f"\ne{seq} user: " in sent for seq in covered)
        assert_nothing_was_asked_or_failed(rig)
