"""What an undo brought back stays in the requests until the context reaches the threshold."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.rewrite import ATTACHED_SWEEP_REASONS, SweepMade, SweepReason
from tests.support.agent_rig import SteppedClock
from tests.support.loop_rig import (
    LoopRig,
    is_intake_request,
    is_observation_request,
    is_summary_request,
    loop_rig,
)
from tests.support.model_servers.chat_server import Call, Reply, StreamedReply, Text, text_reply

WINDOW = 24_000  # tokens
THRESHOLD = 20_400  # tokens: 85 %
_EVENT = re.compile(r"\be(\d+)\b")


def play(request: dict[str, Any]) -> Reply:
    """Read the files that a message names in one step, then answer; write facts about what is read."""
    last = request["messages"][-1]
    prompt = str(last["content"])
    if is_intake_request(request):
        return text_reply("1: full")
    if is_observation_request(request) or is_summary_request(request):
        events = list(dict.fromkeys(_EVENT.findall(prompt)))[:9]
        facts = (f"- (2) In part {n} of the work its lines hold numbers below 101 [e{n}]" for n in events)
        return text_reply("\n".join(facts))
    names = [word for word in prompt.split() if word.endswith(".txt")]
    if last["role"] == "tool" or not names:
        return text_reply("The lines hold numbers, as they should. " * 30)
    calls = (Call("read_file", json.dumps({"path": name}), id=f"call_{name}") for name in names)
    return StreamedReply(Text("I read them."), *calls)


@dataclass
class Work:
    """A conversation in a small window, in which every second message has two files read."""

    rig: LoopRig
    clock: SteppedClock
    messages: int = 0

    async def say(self, message: str = "") -> None:
        self.clock.advance_s(20)
        self.messages += 1
        number = 2 * self.messages
        if not message:
            message = f"Read f{number}.txt f{number + 1}.txt" if self.messages % 2 else "Go on."
        assert (await self.rig.conversation.run(message)).how == "done"
        await self.rig.conversation.wait_for_background_work()

    async def undo(self, *, attached: bool) -> list[str]:
        """Work until outputs are cached, with older messages or alone; undo it, and return a line of each."""
        reasons = ATTACHED_SWEEP_REASONS if attached else (SweepReason.BATCH,)
        transcript = self.rig.conversation.session.transcript
        sweeps = dict[int, SweepMade]()
        while not (seqs := [seq for seq, sweep in sweeps.items() if sweep.reason in reasons]):
            assert self.messages < 12
            await self.say()
            sweeps = dict(transcript.rewrites.sweeps)
        items = (transcript.messages.item(target) for target in sweeps[seqs[0]].swept)
        outputs = [item.event for item in items if item is not None and isinstance(item.event, ToolAnswered)]
        lines = [output.text.strip().splitlines()[-2] for output in outputs]
        assert set(self.missing(lines)) == set(lines)
        await self.rig.conversation.window.undo(seqs[0] - attached)
        return lines

    def missing(self, lines: list[str]) -> list[str]:
        """Return those of the lines that the newest request hasn't."""
        request = json.dumps(self.rig.chat_requests[-1].messages)
        return [line for line in lines if line not in request]


async def test_small_outputs_leave_with_the_next_batch(tmp_path: Path) -> None:
    """After an idle time two of 231 tokens left alone, and one request later the others: two rewrites."""
    clock = SteppedClock()
    async with loop_rig(tmp_path, play, window=WINDOW, clock=clock) as rig:
        assert rig.workspace.policy == PROFILES["balanced"]
        for number, lines in enumerate((18, 18, 120, 120, 120)):
            text = (f"line {line} of file {number} holds {line * 13 % 101}\n" for line in range(lines))
            (rig.root / f"f{number}.txt").write_text("".join(text))
        work = Work(rig, clock)
        for message in ("Read f0.txt f1.txt", "Read f2.txt f3.txt f4.txt", "Go on.", "Go on."):
            clock.advance_s(7_200 if rig.conversation.session.transcript.messages.turns == 2 else 0)
            await work.say(message)
        (swept,) = rig.conversation.session.transcript.rewrites.sweeps.values()
        assert len(swept.swept) == 5


@pytest.mark.parametrize("attached", [True, False], ids=["with older messages", "outputs alone"])
async def test_an_undo_holds_below_the_threshold(tmp_path: Path, attached: bool) -> None:
    """The next message cached the outputs again, or older messages were compacted with them one later."""
    clock = SteppedClock()
    async with loop_rig(tmp_path, play, window=WINDOW, clock=clock) as rig:
        assert rig.workspace.policy == PROFILES["balanced"]
        for number in range(80):
            count = 130 if attached else 250
            text = (f"line {line} of file {number} holds {line * 13 % 101}\n" for line in range(count))
            (rig.root / f"f{number}.txt").write_text("".join(text))
        work = Work(rig, clock)
        lines = await work.undo(attached=attached)
        for number in range(12):
            clock.advance_s(7_200 if number == 5 else 0)  # the provider forgets all
            await work.say()
            assert rig.conversation.window.measure()[1].used < THRESHOLD
            assert work.missing(lines) == []
        while work.missing(lines) != lines:  # more than fits: it may go now
            assert work.messages < 30
            await work.say("Note this. " + "word " * 5_000)
        retaken = rig.conversation.session.transcript.retaken.values()
        assert sum(retaken) == (6 if attached else 2)  # the line says so: with the calls and their question
        await rig.assert_consistent()
