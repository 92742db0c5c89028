"""Large outputs over a real wire: decided in a fork, stored as chosen, recalled byte for byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.events.conversation import OutputHeld, ToolAnswered
from tests.support.loop_rig import LoopRig, is_intake_request, loop_rig
from tests.support.model_servers.chat_server import (
    Call,
    Hang,
    Reply,
    StreamedReply,
    Text,
    TokenCounts,
    text_reply,
)

POLICY = msgspec.structs.replace(PROFILES["balanced"], intake_above=800, preview_above=0.8)
FILES = ("config.toml", "events.log", "notes.md")


def fill(root: Path) -> dict[str, bytes]:
    """Files of some 1,300 tokens with a fact in the middle of each; line ends of several kinds."""
    files = {}
    for name, end in zip(FILES, ("\n", "\r\n", "\n"), strict=True):
        lines = [f"{number:03} the tide at gauge {number * 7 % 90} was {number} cm" for number in range(90)]
        lines.insert(41, f"the harbour master of {name} is Ines")
        files[name] = end.join(lines).encode()
        (root / name).write_bytes(files[name])
    return files


class FormChoosingModel:
    """Plays the model: reads the files at once, chooses each form, recalls incomplete ones."""

    def __init__(self, question: Reply, extract: Reply) -> None:
        self._question, self._extract = question, extract
        self.step = 0

    def __call__(self, request: dict[str, Any]) -> Reply:
        """The answer to one request."""
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
    """Form and chooser of each file as it was read."""
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


@pytest.mark.parametrize("silent", ["question", "extract"])
async def test_a_stop_during_intake_keeps_everything(tmp_path: Path, silent: str) -> None:
    """While the server is silent: the connection is closed, the outputs stay as previews, work continues."""
    question = (
        StreamedReply(Hang()) if silent == "question" else text_reply("1: compact: names\n2: full\n3: full")
    )
    async with loop_rig(tmp_path, FormChoosingModel(question, StreamedReply(Hang())), POLICY) as rig:
        files = fill(rig.root)
        await rig.conversation.send("Read them.")
        await rig.server.waiting.wait()
        await rig.conversation.stop()
        await rig.server.abandoned.wait()
        assert len(rig.events(OutputHeld)) == 3
        assert stored_forms(rig) == [("preview", "rule")] * 3
        for answer in rig.events(ToolAnswered):
            assert await rig.store.get(answer.digest) == files[answer.target]
        await rig.assert_consistent()
        assert (await rig.conversation.run("Go on.")).how == "done"
        await rig.assert_consistent()
