"""The context of a long session under profiles as they are: compacted by the model, with checkpoints."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.agent.session import ErrorRaised, SpendRequestsChanged, SummaryAwaited
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import FoldMade, HandoverTrigger
from helix_desktop.domain.events.summary import (
    HandoverDiscarded,
    HandoverFailed,
    HandoverMade,
    ObservationsFailed,
    ObservationsMade,
)
from helix_desktop.providers.demo.model import write_summary
from helix_desktop.system.task_scope import TaskScope
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

SMALL = 32_000
LARGE = 128_000
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
    assert {event.fallback for kind in (HandoverMade, ObservationsMade) for event in rig.events(kind)} == {""}


def assert_updated(log: list[RecordedEvent], assistant: Assistant, threshold: float) -> None:
    """Assert two handovers when due, the second at least a minute later, written from the first."""
    (first_place, first), (second_place, second), *_ = handovers(log)
    assert {made.trigger for made in (first, second)} == {HandoverTrigger.THRESHOLD}
    assert first.threshold == second.threshold == threshold
    assert second.former == first_place.seq
    assert second_place.at - first_place.at >= 60_000
    assert "was read, its lines hold numbers" not in assistant.prompts[0]
    assert "was read, its lines hold numbers" in assistant.prompts[-1]


@pytest.mark.parametrize(
    ("steps", "files", "window", "lines", "turns", "threshold"),
    [(95, 1, SMALL, 140, 1, 0.82), (2, 20, LARGE, 330, 3, 0.85)],
    ids=["while a turn goes on", "of which 40 files fill 85 %"],
)
async def test_a_window_is_compacted_by_the_model_again(
    tmp_path: Path, steps: int, files: int, window: int, lines: int, turns: int, threshold: float
) -> None:
    """At the policy's 85 %; in a small window so much earlier that about two more steps fit."""
    assistant = Assistant(steps, files)
    async with loop_rig(tmp_path, assistant, window=window) as rig:
        assert rig.workspace.policy == PROFILES["balanced"]
        write_files(rig.root, lines)
        await run_turns(rig, turns)
        assert_all_by_the_model(rig)
        assert_updated(rig.conversation.session.log, assistant, threshold)
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
    """A note made meanwhile would be as short as the summary, which was then paid for nothing.

    Also where the window is full: the request waits for the summary.
    """
    assistant = Assistant(steps=4, files=8, words=20)
    gate = asyncio.Event()

    def script(request: dict[str, Any]) -> Reply:
        reply = assistant(request)
        if is_observation_request(request) and isinstance(reply, StreamedReply):
            return StreamedReply(Wait(gate), *reply.parts)
        return reply

    async with loop_rig(tmp_path, script, window=SMALL) as rig:
        write_files(rig.root, 30)
        conversation = rig.conversation
        turns = count()
        scope = TaskScope()
        while not conversation.observations.is_running:
            assert (await conversation.run(ask(next(turns)))).how == "done"
        earlier = len(rig.events(FoldMade))

        async def run_until_summarized() -> None:
            while not gate.is_set():
                assert (await conversation.run(ask(next(turns)))).how == "done"

        running = scope.start(run_until_summarized(), "turns")
        await rig.wait_for_update(SummaryAwaited)
        notes = rig.events(FoldMade)[earlier:]
        gate.set()
        await running
        await scope.close()
        await conversation.wait_for_background_work()
        first = rig.events(ObservationsMade)[0]
        assert notes, "what is not summarized makes room"
        assert all(note.after >= first.upto for note in notes)
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


async def test_a_run_says_that_a_full_context_waits_for_the_summary(tmp_path: Path) -> None:
    """Once, on standard error; then it goes on with what the model wrote."""
    cli = Cli.create(tmp_path)
    assistant = Assistant(steps=40, words=330)
    gate = asyncio.Event()
    write_files(cli.project)

    def script(request: dict[str, Any]) -> Reply:
        reply = assistant(request)
        is_written = is_summary_request(request) or is_observation_request(request)
        if is_written and isinstance(reply, StreamedReply):
            return StreamedReply(Wait(gate), *reply.parts)
        return reply

    async with ChatServer(script) as server:
        process = await begin_run(cli, server, "--json")
        await stderr_until(process, WAITING)
        waiting_at = assistant.step
        gate.set()
        ran = await wait_for_exit(process)
    assert ran.code == 0, ran
    assert assistant.step > waiting_at
    assert "budget" not in ran.err
    lines = CommandResult(ran.code, (tmp_path / "out").read_bytes(), ran.err).lines
    events = [line.event for line in lines]
    assert not [event for event in events if isinstance(event, HandoverFailed | ObservationsFailed)]
    assert {made.model for made in events if isinstance(made, HandoverMade)} == {"local/small"}


async def test_a_run_says_what_it_waits_for_after_its_turn(tmp_path: Path) -> None:
    """On one line of standard error, also where that is no terminal."""
    cli = Cli.create(tmp_path)
    assistant = Assistant(steps=14, words=330)
    gate = asyncio.Event()
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
    assert "[Handover summary of " in ran.err


MESSAGE = (
    "Compare the tide tables of station {n} with last year and say what is odd. Always use meters. " * 22
)
"""450 tokens."""
DATA_FILES = 40
STEPS = 4


def work(request: dict[str, Any]) -> Reply:
    """Read some files in each turn, with a word about each, and end with a conclusion."""
    messages = request["messages"]
    if is_summary_request(request) or is_observation_request(request):
        return text_reply(write_summary(str(messages[-1]["content"])))
    newest = max(n for n, message in enumerate(messages) if message["role"] == "user")
    steps = sum(message["role"] == "assistant" for message in messages[newest:])
    number = sum(len(str(message["content"])) for message in messages) % DATA_FILES
    if steps < STEPS:
        name = f"data/f{(number + steps) % DATA_FILES}.txt"
        thought = f"I look at {name}, which the table names. " * 20
        return StreamedReply(
            Text(thought), Call("read_file", json.dumps({"path": name}), f"c{len(messages)}-{steps}")
        )
    return text_reply("The gauge drifts because recalibrate() in tides/gauge.py keeps the old offset. " * 30)


async def run_long(rig: LoopRig, history: int) -> None:
    """Run turns until the session has so many tokens of history, or a handover was made."""
    (rig.root / "data").mkdir()
    for number in range(DATA_FILES):
        (rig.root / f"data/f{number}.txt").write_text(f"{number} 04:12 1.{number} m high water\n" * 210)
    messages = rig.conversation.session.transcript.messages
    turn = 0
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


@pytest.mark.parametrize("window", [32_000, 128_000], ids=["32k", "128k"])
async def test_the_timeline_of_a_long_session_has_a_checkpoint_every_40000_tokens(
    tmp_path: Path, window: int
) -> None:
    """The default policy keeps the context small: no handover, and no byte of a request changes."""
    policy = PROFILES["balanced"]
    async with loop_rig(tmp_path, work, policy, window=window, is_attended=True) as rig:
        await run_long(rig, 150_000)
        await rig.assert_consistent()
        checkpoints = rig.conversation.session.transcript.checkpoints
        assert len(checkpoints) >= 3
        least = policy.scaled(window).checkpoint_tokens
        assert all(prepared.history >= least for prepared in checkpoints.values())
        assert max(stretches(rig)) <= 60_000
        assert all(0 < prepared.read < prepared.history / 2 for prepared in checkpoints.values())
        updated = [prepared.handover.checkpoint for prepared in checkpoints.values()]
        assert updated == [0, *list(checkpoints)[:-1]], "each updates the one before"
        assert_nothing_was_asked_or_failed(rig)


async def test_a_run_writes_no_checkpoint(tmp_path: Path) -> None:
    """Nobody could use one; the model is asked for nothing beside the turns that it does not need."""
    async with loop_rig(tmp_path, work, PROFILES["balanced"], window=128_000, is_attended=False) as rig:
        await run_long(rig, 60_000)
        await rig.assert_consistent()
        assert rig.conversation.session.transcript.checkpoints == {}
        assert rig.events(HandoverDiscarded) == []
        assert not any(isinstance(update, ErrorRaised) for update in rig.updates)
