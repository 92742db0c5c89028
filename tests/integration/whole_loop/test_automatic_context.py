"""The context manages itself with the defaults: no question, by the model, over a real server."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.agent.session import ErrorRaised, SpendRequestsChanged
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.context.summaries.summary_task import fallback_rate
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import FoldMade, HandoverTrigger
from helix_desktop.domain.events.summary import (
    HandoverFailed,
    HandoverMade,
    ObservationsFailed,
    ObservationsMade,
)
from tests.support.cli_rig import Cli, CommandResult, RunningCommand, wait_for_exit
from tests.support.loop_rig import (
    LoopRig,
    is_intake_request,
    is_observation_request,
    is_summary_request,
    loop_rig,
)
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Reply,
    StreamedReply,
    Text,
    Wait,
    api_error,
    text_reply,
)

SMALL, LARGE = 32_000, 128_000
FILES = 200
_EVENT = re.compile(r"\be(\d+)\b")
_FILE = re.compile(r"\bf\d+\.txt\b")


@dataclass
class Assistant:
    """Plays a model that reads files in each step and says what it found, and writes the summaries.

    What it says has about five tokens a word. Without `writes` the server refuses all summaries.
    """

    steps: int = 1  # of a turn, with calls
    files: int = 1  # that a step reads
    words: int = 90
    fact_words: int = 8
    writes: bool = True
    step: int = 0
    prompts: list[str] = field(default_factory=list)  # of handovers

    def __call__(self, request: dict[str, Any]) -> Reply:
        messages = request["messages"]
        if is_intake_request(request):
            return text_reply("1: preview")
        if is_summary_request(request) or is_observation_request(request):
            prompt = str(messages[-1]["content"])
            return text_reply(self.summary(prompt)) if self.writes else api_error(400, "no summaries here")
        self.step += 1
        text = words(f"step {self.step}", self.words)
        if self.step % (self.steps + 1) == 0:
            return text_reply(text)
        numbers = range(self.step * self.files, (self.step + 1) * self.files)
        calls = (Call("read_file", json.dumps({"path": f"f{n % FILES}.txt"}), id=f"call{n}") for n in numbers)
        return StreamedReply(Text(text), *calls)

    def summary(self, prompt: str) -> str:
        """Return a handover, or observations, about the newest files in the prompt."""
        events = dict.fromkeys(reversed(_EVENT.findall(prompt)))
        facts = list(zip(dict.fromkeys(reversed(_FILE.findall(prompt))), events, strict=False))
        if prompt.startswith("[Write a handover]"):
            self.prompts.append(prompt)
            lines = [f"- {file} was read, its lines hold numbers [e{event}]" for file, event in facts[:12]]
            return "\n".join(line for title in TITLES for line in (f"## {title}", *lines))
        return "\n".join(
            f"- (2) {file} was read: {words(file, self.fact_words)} [e{event}]" for file, event in facts[:12]
        )


def words(subject: str, count: int) -> str:
    """Return so many words about something, of about five tokens each."""
    return " ".join(f"{subject} says word{n * 7 % 97}" for n in range(count))


def ask(number: int) -> str:
    """Return an ordinary message of about 450 tokens."""
    return f"Please look at the files of part {number}. {words(f'part {number}', 85)}"


def write_files(root: Path, lines: int = 140) -> None:
    """Write files of so many lines of about eleven tokens."""
    for number in range(FILES):
        text = (f"line {line} of file {number} holds {line * 13 % 101}\n" for line in range(lines))
        (root / f"f{number}.txt").write_text("".join(text))


async def run_turns(rig: LoopRig, turns: int) -> None:
    """Run so many turns, each with what it left to be done in the background."""
    for number in range(turns):
        assert (await rig.conversation.run(ask(number))).how == "done"
        await rig.conversation.wait_for_background_work()


def handovers(log: list[RecordedEvent]) -> Iterator[tuple[RecordedEvent, HandoverMade]]:
    return ((recorded, recorded.event) for recorded in log if isinstance(recorded.event, HandoverMade))


def assert_all_by_the_model(rig: LoopRig) -> None:
    """No question was asked, nothing failed, and the model wrote all that was written, each in one call."""
    assert rig.updates_of(SpendRequestsChanged) == rig.updates_of(ErrorRaised) == []
    assert rig.events(HandoverFailed) == rig.events(ObservationsFailed) == []
    assert {event.model for kind in (HandoverMade, ObservationsMade) for event in rig.events(kind)} == {
        "local/small"
    }
    assert fallback_rate(rig.conversation.session.log).fallbacks == 0


def assert_updated(log: list[RecordedEvent], assistant: Assistant) -> None:
    """Assert two handovers at 85 %, the second at least a minute later, written from the first."""
    (first_place, first), (second_place, second), *_ = handovers(log)
    assert {made.trigger for made in (first, second)} == {HandoverTrigger.THRESHOLD}
    assert first.threshold == second.threshold == 0.85
    assert second.former == first_place.seq
    assert second_place.at - first_place.at >= 60_000
    assert "was read, its lines hold numbers" not in assistant.prompts[0]
    assert "was read, its lines hold numbers" in assistant.prompts[-1]


@pytest.mark.parametrize(
    ("steps", "files", "window", "lines", "turns"),
    [(95, 1, SMALL, 140, 1), (2, 20, LARGE, 330, 3)],
    ids=["while a turn goes on", "of which 40 files fill 85 %"],
)
async def test_a_window_is_compacted_by_the_model_again(
    tmp_path: Path, steps: int, files: int, window: int, lines: int, turns: int
) -> None:
    assistant = Assistant(steps, files)
    async with loop_rig(tmp_path, assistant, window=window) as rig:
        assert rig.workspace.policy == PROFILES["balanced"]
        write_files(rig.root, lines)
        await run_turns(rig, turns)
        assert_all_by_the_model(rig)
        assert_updated(rig.conversation.session.log, assistant)
        await rig.assert_consistent()


async def test_observations_are_made_and_refined_by_the_model(tmp_path: Path) -> None:
    """At 30 % and at 50 %, turn after turn, without a question."""
    async with loop_rig(tmp_path, Assistant(words=330, files=3, fact_words=60), window=SMALL) as rig:
        write_files(rig.root)
        await run_turns(rig, 20)
        assert_all_by_the_model(rig)
        assert {made.reflection for made in rig.events(ObservationsMade)} == {False, True}
        await rig.assert_consistent()


async def test_what_a_model_is_summarizing_is_not_compacted_without_it(tmp_path: Path) -> None:
    """A note made meanwhile would be as short as the summary, which was then paid for nothing."""
    assistant, gate = Assistant(steps=3, words=60), asyncio.Event()

    def script(request: dict[str, Any]) -> Reply:
        reply = assistant(request)
        if is_observation_request(request) and isinstance(reply, StreamedReply):
            return StreamedReply(Wait(gate), *reply.parts)
        return reply

    async with loop_rig(tmp_path, script, window=SMALL) as rig:
        write_files(rig.root)
        conversation, turn = rig.conversation, 0
        while not conversation.observations.is_running:
            assert (await conversation.run(ask(turn))).how == "done"
            turn += 1
        notes = rig.events(FoldMade)
        for more in range(4):
            assert (await conversation.run(ask(turn + more))).how == "done"
        assert not conversation.window.measure()[1].is_due
        assert rig.events(FoldMade) == notes
        gate.set()
        await conversation.wait_for_background_work()
        assert rig.events(ObservationsMade)
        assert not rig.events(ObservationsFailed)


WAITING = "[The context is full: waiting until older messages are compacted. Ctrl+C stops it.]"
COMPACTING = "[the turn is done; still compacting: Ctrl+C stops it]"


async def stderr_until(process: RunningCommand, line: str) -> list[str]:
    """Return what a running command has printed on standard error up to a line; its turn must not end."""
    assert process.stderr is not None
    printed: list[str] = []
    while line not in printed:
        read = await process.stderr.readline()
        printed.append(read.decode().rstrip())
        assert read, printed
        assert line == printed[-1] or not printed[-1].startswith("[the turn is done"), printed
    return printed


async def begin_run(cli: Cli, server: ChatServer, *args: str) -> RunningCommand:
    """Begin a turn in a window of 32,000 tokens; what it prints goes to the file `out`."""
    model = ("--model", "local/small", "--base-url", server.base_url, "--window", str(SMALL))
    with (cli.folder / "out").open("wb") as out:
        return await cli.fork(
            *("run", "--workspace", "ws", "--trust", "--message", ask(0), *model, *args), stdout=out.fileno()
        )


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
async def test_a_run_says_that_a_full_context_waits_for_the_summary(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    """Once, on standard error; then it goes on with what the model wrote, and that is printed too."""
    cli, assistant, gate = Cli.create(tmp_path), Assistant(steps=40, words=330), asyncio.Event()
    write_files(cli.project)

    def script(request: dict[str, Any]) -> Reply:
        reply = assistant(request)
        is_written = is_summary_request(request) or is_observation_request(request)
        if is_written and isinstance(reply, StreamedReply):
            return StreamedReply(Wait(gate), *reply.parts)
        return reply

    async with ChatServer(script) as server:
        process = await begin_run(cli, server, *options)
        await stderr_until(process, WAITING)
        waiting_at = assistant.step
        gate.set()
        ran = await wait_for_exit(process)
    assert ran.code == 0, ran
    assert assistant.step > waiting_at
    assert "budget" not in ran.err
    if options:
        lines = CommandResult(ran.code, (tmp_path / "out").read_bytes(), ran.err).lines
        events = [line.event for line in lines]
        assert not [event for event in events if isinstance(event, HandoverFailed | ObservationsFailed)]
        assert {made.model for made in events if isinstance(made, HandoverMade)} == {"local/small"}
    else:
        assert "[compacted (" in ran.err


async def test_a_run_says_what_it_waits_for_after_its_turn(tmp_path: Path) -> None:
    """On one line of standard error, also where that is no terminal."""
    cli, assistant, gate = Cli.create(tmp_path), Assistant(steps=14, words=330), asyncio.Event()
    write_files(cli.project)

    def script(request: dict[str, Any]) -> Reply:
        reply = assistant(request)
        if is_summary_request(request) and isinstance(reply, StreamedReply):
            return StreamedReply(Wait(gate), *reply.parts)
        return reply

    async with ChatServer(script) as server:
        process = await begin_run(cli, server)
        printed = await stderr_until(process, COMPACTING)
        gate.set()
        ran = await wait_for_exit(process)
    assert ran.code == 0, ran
    assert WAITING not in printed
    assert "[compacted (context reached 85 %)" in ran.err
