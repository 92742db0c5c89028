"""A model that reads only its requests gets back what left them; what the user recalls stays."""

from __future__ import annotations

import asyncio
import json
import random
import re
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered
from helix_desktop.domain.events.rewrite import SweepMade
from helix_desktop.domain.events.summary import HandoverMade
from tests.support.agent_rig import SteppedClock
from tests.support.loop_rig import HANDOVERS_ONLY, is_summary_request, loop_rig
from tests.support.model_servers.chat_server import Call, Reply, StreamedReply, Text, Wait, text_reply

CODE = "7319-AMBER-\N{GREEK SMALL LETTER OMEGA}"
HASH = re.compile(r'recall_cached_content\("([0-9a-f]{12,64})"\)')


def fill(root: Path) -> bytes:
    """A project with a fact in the middle of one file, and logs that are larger than the window together."""
    rng = random.Random(7)
    words = ["tide", "gauge", "level", "spring", "neap", "harbour", "reading", "drift", "ebb", "flood"]
    for part in range(48):
        lines = [f"{part:02} {n:03} {' '.join(rng.choices(words, k=9))}" for n in range(55)]
        (root / f"log_{part:02}.txt").write_text("\n".join(lines) + "\n")
    lines = [f"{n:03} {' '.join(rng.choices(words, k=6))}" for n in range(60)]
    lines.insert(31, f"the code of the vault is {CODE}")
    vault = "\r\n".join(lines).encode()  # line ends that a careless way back would change
    (root / "vault.txt").write_bytes(vault)
    return vault


def summary() -> str:
    """Return six sections that do not reveal the fact, and are long enough for what they replace."""
    read = "\n".join(f"- log_{part:02}.txt was read" for part in range(48))
    return "\n".join([*(f"## {title}\n- Logs were read for {title.lower()}." for title in TITLES), read])


class Reader:
    """Plays the model. It stores nothing between requests except the ids of its calls.

    It reads `at_once` files with one answer.
    """

    def __init__(self, at_once: int = 3) -> None:
        self.ids = 0
        self._at_once = at_once
        self.hold: asyncio.Event | None = None

    def __call__(self, request: dict[str, Any]) -> Reply:
        if is_summary_request(request):
            return StreamedReply(*([Wait(self.hold)] if self.hold else []), Text(summary()))
        messages = request["messages"]
        newest = max(n for n, message in enumerate(messages) if message["role"] == "user")
        prompt = str(messages[newest]["content"])
        since = [message for message in messages[newest:] if message["role"] == "tool"]
        if prompt.startswith("Read "):
            return self._read(prompt.removeprefix("Read ").split(), len(since))
        if prompt == "What is the code of the vault?":
            return self._answer(messages, [str(message["content"]) for message in since])
        return text_reply(f"Noted: {prompt}")

    def _read(self, names: list[str], done: int) -> Reply:
        left = names[done : done + self._at_once]
        return (
            self._calls(*(("read_file", {"path": name}) for name in left))
            if left
            else text_reply("I read them.")
        )

    def _answer(self, messages: list[dict[str, Any]], answers: list[str]) -> Reply:
        for text in (str(message["content"]) for message in messages if message["role"] == "tool"):
            if match := re.search(r"the code of the vault is (\S+)", text):
                return text_reply(f"It is {match.group(1)}.")
        for text in (str(message["content"]) for message in messages if message["role"] == "tool"):
            if " read_file vault.txt, " in text and not answers and (marked := HASH.search(text)):
                return self._calls(("recall_cached_content", {"hash": marked.group(1)}))
        opening = str(messages[1]["content"])
        index = HASH.search(opening[opening.index("## Index") :])
        assert index is not None
        search = {"hash": index.group(1), "pattern": "the code of the vault is"}
        return self._calls(("recall_cached_content", search))

    def _calls(self, *calls: tuple[str, dict[str, Any]]) -> Reply:
        tool_calls = []
        for name, arguments in calls:
            self.ids += 1
            tool_calls.append(Call(name, json.dumps(arguments), id=f"call_{self.ids}"))
        return StreamedReply(*tool_calls)


def logs(first: int, last: int) -> str:
    return "Read " + " ".join(f"log_{part:02}.txt" for part in range(first, last))


async def test_a_fact_two_handovers_back_is_found_in_one_call(tmp_path: Path) -> None:
    reader = Reader()
    async with loop_rig(tmp_path, reader, HANDOVERS_ONLY) as rig:
        vault = fill(rig.root)
        assert (await rig.conversation.run("Read vault.txt")).how == "done"
        part = 0
        while len(rig.events(HandoverMade)) < 3 and part < 48:
            assert (await rig.conversation.run(logs(part, part + 6))).how == "done"
            await rig.conversation.wait_for_background_work()
            part += 6
        handovers = rig.events(HandoverMade)
        assert len(handovers) >= 3, "the logs were to fill the window three times"
        ended = await rig.conversation.run("What is the code of the vault?")
        assert ended.how == "done", ended
        assert rig.events(AssistantSpoke)[-1].text == f"It is {CODE}."
        await rig.conversation.wait_for_background_work()
        await rig.assert_consistent()

        (recalled,) = [event for event in rig.events(ToolAnswered) if event.recalled]
        assert recalled.recalled in [event.index for event in handovers], "one call through all indexes"
        assert f"\n{digest_of(vault)[:12]} e5 read_file vault.txt, " in recalled.text
        assert f"\n32:the code of the vault is {CODE}" in recalled.text
        assert recalled.tokens < 200
        assert await rig.store.get(digest_of(vault)) == vault, "byte for byte"


async def test_a_swept_output_is_recalled_by_the_hash_in_its_marker(tmp_path: Path) -> None:
    policy = msgspec.structs.replace(PROFILES["lean"], fold_after_steps=0)
    async with loop_rig(tmp_path, Reader(), policy) as rig:
        vault = fill(rig.root)
        assert (await rig.conversation.run("Read vault.txt")).how == "done"
        part = 0
        while not rig.events(SweepMade):
            assert part < 20, "the logs were to bring about a sweep"
            assert (await rig.conversation.run(logs(part, part + 1))).how == "done"
            part += 1
        assert not rig.events(HandoverMade)
        assert (await rig.conversation.run("What is the code of the vault?")).how == "done"
        await rig.assert_consistent()
        swept = next(sent for sent in rig.chat_requests if "[CACHED] recall" in json.dumps(sent.messages[2:]))
        previous = rig.chat_requests[rig.chat_requests.index(swept) - 1]
        assert len(swept.received.body) < len(previous.received.body)
        (recalled,) = [event for event in rig.events(ToolAnswered) if event.recalled]
        assert recalled.recalled == digest_of(vault)
        head, _, text = str(rig.chat_requests[-1].messages[-1]["content"]).partition("\n")
        assert re.fullmatch(r"Recalled \w{12} · read_file vault\.txt · e5, .* UTC, this session", head)
        assert text.encode() == vault, "what the model got back is what the file held"
        assert f"It is {CODE}." in [event.text for event in rig.events(AssistantSpoke)]
        entry = await rig.store.entry(digest_of(vault))
        assert entry.recalls == 1


SOON = msgspec.structs.replace(
    PROFILES["balanced"],
    protect_steps=2,
    protect_tokens=200,
    previous_turn_share=0.10,
    sweep_min=200,
    fold_after_steps=5,
    fold_least=300,
    least_saving=20,
    observe_at=0.0,
)


def play(request: dict[str, Any]) -> Reply:
    newest = request["messages"][-1]
    if newest["role"] == "tool":
        return text_reply("Read.")
    name = str(newest["content"]).rpartition(" ")[2]
    path = json.dumps({"path": name})
    return (
        StreamedReply(Call("read_file", path, id=f"call_{name}"))
        if name.endswith(".txt")
        else text_reply("Yes.")
    )


async def test_what_the_user_recalled_stays_in_the_requests(tmp_path: Path) -> None:
    """After a pause the provider caches nothing more and everything old is due, but this."""
    clock = SteppedClock()
    async with loop_rig(tmp_path, play, policy=SOON, window=32_000, clock=clock) as rig:
        for number in range(4):
            lines = (
                f"{line:03} of file {number}: the tide was {line * number % 97} cm" for line in range(120)
            )
            (rig.root / f"{number}.txt").write_text("\n".join(lines))
            await rig.conversation.run(f"Read {number}.txt")
        recalled = rig.events(SweepMade)[-1].swept[0]
        await rig.conversation.window.send_all(recalled)
        for question in ("What did it say?", "And now?", "And then?"):
            clock.advance_s(7_200)
            await rig.conversation.run(question)
            assert "077 of file 1" in json.dumps(rig.chat_requests[-1].messages)
