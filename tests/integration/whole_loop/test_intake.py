"""Large outputs over a real wire: decided in a fork, stored as chosen, recalled byte for byte."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.events.conversation import OutputHeld, ToolAnswered
from tests.support.agent_rig import SteppedClock
from tests.support.intake_rig import advance_loop_clock
from tests.support.loop_rig import LoopRig, is_intake_request, is_summary_request, loop_rig
from tests.support.model_servers.chat_server import (
    Call,
    Reply,
    StreamedReply,
    Text,
    TokenCounts,
    Wait,
    api_error,
    text_reply,
)

POLICY = msgspec.structs.replace(PROFILES["balanced"], intake_above=800, preview_above=0.8)
FILES = ("config.toml", "events.log", "notes.md")


def fill(root: Path) -> dict[str, bytes]:
    """Files of some 2,900 tokens with a fact in the middle of each; line ends of several kinds."""
    files = {}
    for name, end in zip(FILES, ("\n", "\r\n", "\n"), strict=True):
        lines = [f"{number:03} the tide at gauge {number * 7 % 90} was {number} cm" for number in range(200)]
        lines.insert(41, f"the harbour master of {name} is Ines")
        files[name] = end.join(lines).encode()
        (root / name).write_bytes(files[name])
    return files


class FormChoosingModel:
    """Plays the model: reads the files at once, chooses each form, recalls incomplete ones."""

    def __init__(self, question: Reply, extract: Reply) -> None:
        self._question = question
        self._extract = extract
        self.step = 0

    def __call__(self, request: dict[str, Any]) -> Reply:
        if is_intake_request(request):
            question = str(request["messages"][-1]["content"])
            return self._extract if question.startswith("[Extract]") else self._question
        self.step += 1
        if self.step == 1:
            reads = [Call("read_file", json.dumps({"path": name}), id=f"r{name}") for name in FILES]
            return StreamedReply(Text("I read them."), *reads, usage=TokenCounts(2_000, 60))
        if self.step == 2:
            outputs = [
                str(message["content"]) for message in request["messages"] if message["role"] == "tool"
            ]
            digests = [
                text.rpartition('recall_cached_content("')[2].partition('"')[0]
                for text in outputs
                if "[CACHED]" in text
            ]
            calls = [
                Call("recall_cached_content", json.dumps({"hash": digest}), id=f"c{digest[:8]}")
                for digest in digests
            ]
            return StreamedReply(Text("I look again."), *calls) if calls else text_reply("They stand whole.")
        return text_reply("Done.")


def stored_forms(rig: LoopRig) -> list[tuple[str, str]]:
    forms = {
        event.target: (event.form, event.chosen)
        for event in rig.events(ToolAnswered)
        if event.name == "read_file"
    }
    return [forms[name] for name in FILES]


async def test_each_form_leads_back_to_the_original_bytes(tmp_path: Path) -> None:
    """Extract, preview and full: an incomplete one is recalled by the marker at its end."""
    model = FormChoosingModel(
        StreamedReply(
            Text("1: compact: who the harbour master is\n2: preview\n3: full"),
            usage=TokenCounts(4_200, 20, 2_050),
        ),
        StreamedReply(Text("The harbour master of config.toml is Ines."), usage=TokenCounts(1_700, 12)),
    )
    async with loop_rig(tmp_path, model, POLICY) as rig:
        files = fill(rig.root)
        assert (await rig.conversation.run("Read them.")).how == "done"
        assert stored_forms(rig) == [("compact", "agent"), ("preview", "agent"), ("full", "agent")]
        reads = [event for event in rig.events(ToolAnswered) if event.name == "read_file"]
        recalled = [event for event in rig.events(ToolAnswered) if event.recalled]
        assert {event.digest for event in recalled} == {read.digest for read in reads if not read.whole}
        for answer in reads:
            assert await rig.store.get(answer.digest) == files[answer.target]
        for answer in recalled:
            assert await rig.store.get(answer.digest) in files.values()
            assert answer.form == "full"
        assert (
            len(rig.intake_requests) == 2
        )  # a question for all three, an extract of one; none about the recalled
        first = next(read for read in reads if read.target == FILES[0])
        assert (first.intake_tokens, first.intake_cached) == (4_220 + 1_712, 2_050)
        await rig.assert_consistent()


async def test_the_fork_starts_with_the_bytes_of_the_request_before_it(tmp_path: Path) -> None:
    """So the provider has it cached; the request after it has nothing of the question."""
    model = FormChoosingModel(text_reply("1: full\n2: full\n3: full"), text_reply(""))
    async with loop_rig(tmp_path, model, POLICY) as rig:
        fill(rig.root)
        assert (await rig.conversation.run("Read them.")).how == "done"
        (fork,) = rig.intake_requests
        assert fork.received.body.startswith(rig.chat_requests[0].stable_prefix)
        assert rig.chat_requests[1].received.body.startswith(rig.chat_requests[0].stable_prefix)
        assert fork.received.json["tools"] == rig.chat_requests[0].received.json["tools"]
        assert b"How to keep large outputs" not in rig.chat_requests[1].received.body
        assert stored_forms(rig) == [("full", "agent")] * 3
        await rig.assert_consistent()


EIGHT = 8
SLOW_S = 8  # seconds that the model takes for an answer; the deadline for choice and extracts is 10
WINDOW = 128_000


class EightSecondModel:
    """Plays the model of one server: reads eight new files in each turn, and wants an extract of each.

    An answer of the model "small" takes eight seconds of the test's clocks, except while it `is_fast`.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._turns = 0
        self.clock = SteppedClock()
        self.is_fast = False
        self.question_came = asyncio.Event()
        self.answer = asyncio.Event()
        self.asked: list[tuple[str, str, int]] = []
        """Of each request about large outputs: the model, what it asks, and its messages."""

    def __call__(self, request: dict[str, Any]) -> Reply:
        if is_intake_request(request):
            return self._answer_about_outputs(request)
        if is_summary_request(request):  # for a checkpoint, beside the turn
            return api_error(400, "no summaries here")
        if not self.is_fast:
            self.clock.advance_s(SLOW_S)
        if request["messages"][-1]["role"] == "tool":
            return text_reply("I have read them.")
        self._turns += 1
        names = [self._write(f"turn{self._turns}-{number}.log") for number in range(EIGHT)]
        reads = [Call("read_file", json.dumps({"path": name}), id=name) for name in names]
        return StreamedReply(Text("I read all eight."), *reads)

    def _write(self, name: str) -> str:
        lines = [f"{number:04} gauge {number * 7 % 90} of {name} was {number} cm" for number in range(400)]
        (self._root / name).write_text("\n".join(lines))  # 6,800 tokens
        return name

    def _answer_about_outputs(self, request: dict[str, Any]) -> Reply:
        last = str(request["messages"][-1]["content"])
        model = str(request["model"])
        is_extract = last.startswith("[Extract]")
        self.asked.append((model, "extract" if is_extract else "choice", len(request["messages"])))
        texts = (
            ["The gauge was 7 cm."]
            if is_extract
            else [f"{number}: compact: which gauge was high\n" for number in range(1, EIGHT + 1)]
        )
        if self.is_fast or model != "small":
            return text_reply(*texts)
        self.question_came.set()
        return StreamedReply(Wait(self.answer), *map(Text, texts))

    async def take_eight_seconds(self) -> None:
        """Answer the question after eight seconds."""
        await self.question_came.wait()
        self.clock.advance_s(SLOW_S)
        advance_loop_clock(SLOW_S)
        self.answer.set()


def forms_of_reads(rig: LoopRig) -> list[tuple[str, str, str]]:
    """Form and chooser of the newest eight outputs, and the model that was not asked about them."""
    reads = [event for event in rig.events(ToolAnswered) if event.name == "read_file"][-EIGHT:]
    return [(read.form, read.chosen, read.intake_slow_model) for read in reads]


async def miss_the_deadline(rig: LoopRig, model: EightSecondModel) -> None:
    """Run a turn in which choosing parts of eight large outputs takes most of the ten seconds."""
    assert rig.workspace.policy == PROFILES["balanced"]
    begun = asyncio.get_running_loop().time()
    await rig.conversation.send("Read them.")
    await model.take_eight_seconds()
    await rig.wait_until_idle_or(asyncio.Event())
    assert asyncio.get_running_loop().time() - begun < 2 * SLOW_S  # what it took with twice an answer's time
    assert forms_of_reads(rig) == [("preview", "timeout", "")] * EIGHT


async def test_eight_outputs_take_ten_seconds_once_and_then_none(tmp_path: Path) -> None:
    """A model that chooses in 8 s would be late with the extracts: its outputs are previews, unasked.

    Nothing is sent and nothing spent for those that follow, also in a subagent.
    """
    model = EightSecondModel(tmp_path / "project")
    async with loop_rig(tmp_path, model, window=WINDOW, clock=model.clock) as rig:
        await miss_the_deadline(rig, model)
        assert model.asked == [("small", "choice", 12)]
        why = "The part that the agent asked for wasn't ready in time"
        assert why in rig.events(ToolAnswered)[0].intake_note
        assert (await rig.conversation.run("Read the next ones.")).how == "done"
        assert forms_of_reads(rig) == [("preview", "rule", "local/small")] * EIGHT
        assert not sum(event.intake_tokens for event in rig.events(ToolAnswered)[EIGHT:])
        assert len(rig.events(OutputHeld)) == EIGHT
        assert len(model.asked) == 1

        model.is_fast = True
        await rig.conversation.subagents.run("Read for me.")
        assert len(model.asked) == 1
