"""A model that reads only its requests, through sweeps, handovers and back to what they cover."""

from __future__ import annotations

import asyncio
import json
import random
import re
from pathlib import Path
from typing import Any

from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.rewrite import SweepMade
from helix_desktop.domain.events.rewrite_kinds import HandoverTrigger
from helix_desktop.domain.events.session import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import HandoverMade
from tests.support.loop_rig import HANDOVERS_ONLY, SUMMARY_TITLE, WINDOW, is_summary_request, loop_rig
from tests.support.model_servers.chat_server import Call, Reply, StreamedReply, Text, Wait, text_reply

CODE = "7319-AMBER-\N{GREEK SMALL LETTER OMEGA}"
SECTIONS = (
    "Project Background",
    "Technical Details",
    "Completed Work",
    "Current Issues",
    "TODO Items",
    "User Preferences",
)
HASH = re.compile(r'recall_cached_content\("([0-9a-f]{64})"\)')
FORMER = re.compile(r"^([0-9a-f]{64}) the index of everything before", re.MULTILINE)


def fill(root: Path) -> bytes:
    """A project with a fact in the middle of one file, and logs that are larger than the window together."""
    rnd = random.Random(7)
    words = ["tide", "gauge", "level", "spring", "neap", "harbour", "reading", "drift", "ebb", "flood"]
    for part in range(48):
        lines = [f"{part:02} {n:03} {' '.join(rnd.choices(words, k=9))}" for n in range(55)]
        (root / f"log_{part:02}.txt").write_text("\n".join(lines) + "\n")
    lines = [f"{n:03} {' '.join(rnd.choices(words, k=6))}" for n in range(60)]
    lines.insert(31, f"the code of the vault is {CODE}")
    vault = "\r\n".join(lines).encode()  # line ends that a careless way back would change
    (root / "vault.txt").write_bytes(vault)
    return vault


def summary() -> str:
    """Six sections that do not give the fact away, and are long enough for what they stand for."""
    read = "\n".join(f"- log_{part:02}.txt was read" for part in range(48))
    return "\n".join([*(f"## {title}\n- Logs were read for {title.lower()}." for title in SECTIONS), read])


class Reader:
    """Plays the model. It keeps nothing between requests but the ids it gives to calls.

    It reads `at_once` files with one answer.
    """

    def __init__(self, at_once: int = 3) -> None:
        self.ids, self._at_once = 0, at_once
        self.hold: asyncio.Event | None = None

    def __call__(self, request: dict[str, Any]) -> Reply:
        """The answer to one request."""
        if is_summary_request(request):
            return StreamedReply(*([Wait(self.hold)] if self.hold else []), Text(summary()))
        messages = request["messages"]
        newest = max(n for n, one in enumerate(messages) if one["role"] == "user")
        wish = str(messages[newest]["content"])
        since = [one for one in messages[newest:] if one["role"] == "tool"]
        if wish.startswith("Read "):
            return self._read(wish.removeprefix("Read ").split(), len(since))
        if wish == "What is the code of the vault?":
            return self._look(messages, [str(one["content"]) for one in since])
        return text_reply(f"Noted: {wish}")

    def _read(self, names: list[str], done: int) -> Reply:
        left = names[done : done + self._at_once]
        return (
            self._calls(*(("read_file", {"path": name}) for name in left))
            if left
            else text_reply("I read them.")
        )

    def _look(self, messages: list[dict[str, Any]], answers: list[str]) -> Reply:
        for text in (str(one["content"]) for one in messages if one["role"] == "tool"):
            if found := re.search(r"the code of the vault is (\S+)", text):
                return text_reply(f"It is {found.group(1)}.")
        for text in (str(one["content"]) for one in messages if one["role"] == "tool"):
            if " read_file vault.txt, " in text and not answers and (marked := HASH.search(text)):
                return self._calls(("recall_cached_content", {"hash": marked.group(1)}))
        place = re.search(r"^([0-9a-f]{64}) e\d+ read_file vault\.txt", "\n".join(answers), re.MULTILINE)
        if next_one := place or (FORMER.search(answers[-1]) if answers else None):
            return self._calls(("recall_cached_content", {"hash": next_one.group(1)}))
        opening = str(messages[1]["content"])
        index = HASH.search(opening[opening.index("## Index") :])
        assert index is not None
        return self._calls(("recall_cached_content", {"hash": index.group(1)}))

    def _calls(self, *calls: tuple[str, dict[str, Any]]) -> Reply:
        made = []
        for name, given in calls:
            self.ids += 1
            made.append(Call(name, json.dumps(given), id=f"call_{self.ids}"))
        return StreamedReply(*made)


def logs(first: int, last: int) -> str:
    """A wish to read these logs."""
    return "Read " + " ".join(f"log_{part:02}.txt" for part in range(first, last))


async def test_a_fact_two_handovers_back_is_recalled_byte_for_byte(tmp_path: Path) -> None:
    reader = Reader()
    async with loop_rig(tmp_path, reader, HANDOVERS_ONLY) as rig:
        vault = fill(rig.root)
        assert (await rig.conversation.run("Read vault.txt")).how == "done"
        part = 0
        while len(rig.events(HandoverMade)) < 3 and part < 48:
            assert (await rig.conversation.run(logs(part, part + 6))).how == "done"
            await rig.conversation.wait_for_background_work()
            part += 6
        made = rig.events(HandoverMade)
        assert len(made) >= 3, "the logs were to fill the window three times"
        ended = await rig.conversation.run("What is the code of the vault?")
        assert ended.how == "done", ended
        assert rig.events(AssistantSpoke)[-1].text == f"It is {CODE}."
        await rig.conversation.wait_for_background_work()
        await rig.assert_consistent()

        recalled = [one for one in rig.events(ToolAnswered) if one.recalled]
        indexes = [one.index for one in rig.events(HandoverMade)]
        followed = [one.recalled for one in recalled[:-1]]
        assert len(followed) >= 2
        assert followed == indexes[indexes.index(followed[-1]) : indexes.index(followed[0]) + 1][::-1]
        assert recalled[-1].recalled == digest_of(vault)
        assert await rig.store.get(digest_of(vault)) == vault
        wire = [one["content"] for one in rig.chat_requests[-1].messages if one["role"] == "tool"]
        assert wire[-1].encode() == vault, "what the model got back is what the file held"


async def test_a_swept_output_comes_back_through_the_hash_in_its_marker(tmp_path: Path) -> None:
    async with loop_rig(tmp_path, Reader(), PROFILES["lean"]) as rig:
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
        former = rig.chat_requests[rig.chat_requests.index(swept) - 1]
        assert len(swept.received.body) < len(former.received.body)
        (recalled,) = [one for one in rig.events(ToolAnswered) if one.recalled]
        assert recalled.recalled == digest_of(vault)
        assert str(rig.chat_requests[-1].messages[-1]["content"]).encode() == vault
        assert f"It is {CODE}." in [one.text for one in rig.events(AssistantSpoke)]
        entry = await rig.store.entry(digest_of(vault))
        assert entry.recalls == 1


async def test_handovers_come_at_85_percent_and_free_room(tmp_path: Path) -> None:
    async with loop_rig(tmp_path, Reader(at_once=1), HANDOVERS_ONLY) as rig:
        fill(rig.root)
        for part in range(0, 30, 6):
            assert (await rig.conversation.run(logs(part, part + 6))).how == "done"
            await rig.conversation.wait_for_background_work()
        await rig.assert_consistent()
        handovers = [one for one in rig.conversation.session.log if isinstance(one.event, HandoverMade)]
        assert handovers
        for one in handovers:
            made = one.event
            assert isinstance(made, HandoverMade)
            assert made.trigger is HandoverTrigger.THRESHOLD
            assert not made.fallback
            # What the server reports meanwhile calibrates the count by some tenths of a percent.
            assert made.before >= 0.84 * WINDOW
            assert made.after <= made.before - 0.10 * WINDOW
            before = [sent for sent in rig.chat_requests if sent.log_length < one.seq]
            after = [sent for sent in rig.chat_requests if sent.log_length >= one.seq]
            if after:
                assert len(after[0].received.body) < len(before[-1].received.body)
                assert str(after[0].messages[1]["content"]).startswith(SUMMARY_TITLE)
        assert max(len(sent.received.body) // 4 for sent in rig.chat_requests) <= WINDOW, (
            "as the server counts"
        )


async def test_what_is_typed_while_a_summary_is_written_comes_after_it(tmp_path: Path) -> None:
    reader = Reader()
    reader.hold = asyncio.Event()
    async with loop_rig(tmp_path, reader, HANDOVERS_ONLY) as rig:
        fill(rig.root)
        for part in range(0, 30, 3):
            await rig.conversation.send(logs(part, part + 3))
            await rig.wait_until_idle_or(rig.server.waiting)
            if rig.server.waiting.is_set():
                break
        assert rig.summary_requests, "the logs were to bring about a handover"
        for word in ("first", "second"):
            await rig.conversation.send(f"typed meanwhile, {word}")
        assert not rig.events(HandoverMade)
        reader.hold.set()
        await rig.conversation.wait_for_background_work()
        await rig.wait_until_idle_or(asyncio.Event())
        await rig.assert_consistent()

        spoken = [one.text for one in rig.events(UserSpoke)]
        assert spoken[-2:] == ["typed meanwhile, first", "typed meanwhile, second"]
        assert not rig.conversation.session.transcript.queued_messages
        log = rig.conversation.session.log
        made = next(one.seq for one in log if isinstance(one.event, HandoverMade))
        # The first of them may still belong to the turn that ran while the summary was written.
        after = [sent.messages[1:] for sent in rig.chat_requests if sent.log_length >= made]
        texts = [[str(one["content"]) for one in messages] for messages in after]
        assert all(opening.startswith(SUMMARY_TITLE) for opening, *_ in texts)
        assert not any("typed meanwhile" in opening for opening, *_ in texts)
        assert any("typed meanwhile, first" in rest for _, *rest in texts)
