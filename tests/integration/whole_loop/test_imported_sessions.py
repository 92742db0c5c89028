"""Long sessions of other agents go on in a small window: a real store and server, profiles as they are."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.agent.session import SummaryAwaited
from helix_desktop.config.paths import resources_dir
from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.foreign.discovery import AgentFolders
from helix_desktop.services.foreign_import import ForeignSessions
from helix_desktop.store.remote.server import SharedStore
from helix_desktop.system.task_scope import TaskScope
from tests.support.loop_rig import (
    SUMMARY_TITLE,
    WORKSPACE,
    LoopRig,
    is_observation_request,
    is_summary_request,
    loop_rig,
)
from tests.support.model_servers.chat_server import Reply, StreamedReply, Wait, api_error, text_reply
from tests.support.store.builders import TickingClock

WINDOW = 32_000
SESSION = "21a2e002-8b63-45db-8e0d-1978fe0600aa"
FOUND = "".join(f"./src/part_{number}/module_{number * 7}.py\n" for number in range(4_500))  # some 55k tokens
NOTICE = (
    "<task-notification>\n<task-id>{number}</task-id>\n<status>completed</status>\n"
    "<summary>Agent {number} is done</summary>\n<result>{result}</result>\n</task-notification>\n"
    "Full transcript available at: /tmp/tasks/{number}.output"
)
_EVENT = re.compile(r"\be\d+\b")
PAST = "The past turns: nothing failed."


def claude_lines(texts: Sequence[str], words: int = 60) -> list[dict[str, Any]]:
    """Return a session in Claude Code's form: each text of the user, and an answer of so many words."""
    lines: list[dict[str, Any]] = []
    parent: str | None = None
    for number, text in enumerate(texts):
        said = f"Answer {number}: " + " ".join(f"a{number}w{word}" for word in range(words))
        content = [{"type": "text", "text": said}]
        for kind, message in (
            ("user", {"role": "user", "content": text}),
            ("assistant", {"id": f"m{number}", "role": "assistant", "model": "opus", "content": content}),
        ):
            uuid = f"{kind}{number}"
            place = {"uuid": uuid, "parentUuid": parent, "sessionId": SESSION, "isSidechain": False}
            about = {"cwd": "/home/ann/shop", "version": "2.1.5", "timestamp": "2026-02-12T07:51:13Z"}
            lines.append({"type": kind, **place, **about, "message": message})
            parent = uuid
    return lines


@asynccontextmanager
async def imported(
    folder: Path, texts: Sequence[str], script: Callable[[dict[str, Any]], Reply], words: int = 60
) -> AsyncIterator[LoopRig]:
    """A rig whose conversation is an imported session with these messages of the user."""
    path = folder / "home" / ".claude/projects/-home-ann-shop" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in claude_lines(texts, words)))
    store = await SharedStore.open(folder / "store", WORKSPACE, TickingClock())

    @asynccontextmanager
    async def borrow(_: str) -> AsyncIterator[SharedStore]:
        yield store

    vocabulary = resources_dir() / "tokenizers" / "o200k_base.tiktoken"
    foreign = ForeignSessions(
        vocabulary, borrow, TickingClock(), lambda: AgentFolders(folder / "home", {}, "linux")
    )
    report = await foreign.import_into("w", await foreign.find())
    await store.close()
    async with loop_rig(folder, script, window=WINDOW) as rig:
        rig.switch_to(await rig.workspace.open_session(report.sessions[0]))
        yield rig


def answer(request: dict[str, Any]) -> Reply:
    """Play a model that writes summaries when it is asked for one."""
    if is_observation_request(request):
        return text_reply("- (2) Work went on. [e2]")
    if is_summary_request(request):
        prompt = str(request["messages"][-1]["content"])
        events = [*dict.fromkeys(_EVENT.findall(prompt))]
        facts = [f"- {PAST} Part {number} was looked at [{event}]" for number, event in enumerate(events)]
        return text_reply("\n".join(line for title in TITLES for line in (f"## {title}", *facts[-9:])))
    return text_reply("Done.")


def refusing(request: dict[str, Any]) -> Reply:
    if is_summary_request(request) or is_observation_request(request):
        return api_error(400, "no summaries here")
    return text_reply("Done.")


def sent_texts(rig: LoopRig) -> list[str]:
    return [str(message["content"]) for message in rig.chat_requests[-1].messages]


@pytest.mark.parametrize("form", ["typed", "output"])
async def test_a_message_that_fits_no_window_is_cut_by_itself(tmp_path: Path, form: str) -> None:
    """The older messages stay, and its text comes back byte for byte."""
    listing = (
        FOUND if form == "typed" else f"<bash-input>find .</bash-input><bash-stdout>{FOUND}</bash-stdout>"
    )
    texts = [*(f"Please look at part {number}." for number in range(60)), listing, "Go on with part 61."]
    async with imported(tmp_path, texts, answer) as rig:
        assert (await rig.conversation.run("What is in part 7?")).how == "done"
        sent = sent_texts(rig)
        assert [text for text in texts[:60] if text not in sent] == []
        assert sum(map(len, sent)) < WINDOW * 4
        assert not any(FOUND[:20_000] in text for text in sent)
        (message,) = [event for event in rig.events(UserSpoke) if FOUND in event.text]
        digest = digest_of(listing.encode())
        assert message.text == listing
        assert message.short is not None
        assert digest in message.short.digests
        assert any(digest[:12] in text for text in sent)
        assert await rig.store.get(digest) == listing.encode()
        assert rig.events(FoldMade) == rig.events(HandoverMade) == []
        (sweep,) = rig.events(SweepMade)
        assert len(sweep.swept) == 1
        await rig.assert_consistent()


async def test_a_long_import_waits_for_a_summary_by_the_model(tmp_path: Path) -> None:
    gate = asyncio.Event()

    def script(request: dict[str, Any]) -> Reply:
        reply = answer(request)
        if is_summary_request(request) and isinstance(reply, StreamedReply):
            return StreamedReply(Wait(gate), *reply.parts)
        return reply

    texts = [f"Please look at part {number}. {'It matters. ' * 30}" for number in range(200)]
    async with imported(tmp_path, texts, script, words=90) as rig:
        scope = TaskScope()
        turn = scope.start(rig.conversation.run("What is in part 7?"), "turn")
        await rig.wait_for_update(SummaryAwaited)
        assert rig.chat_requests == []
        gate.set()
        assert (await turn).how == "done"
        (made,) = rig.events(HandoverMade)
        assert made.model == "local/small"
        assert [event for event in rig.events(FoldMade) if event.how == "truncate"] == []
        sent = sent_texts(rig)
        assert any(SUMMARY_TITLE in text and PAST in text for text in sent)
        assert any(texts[-1] in text for text in sent)
        await rig.assert_consistent()


async def test_without_a_model_an_import_is_summarized_as_ever(tmp_path: Path) -> None:
    texts = [f"Please look at part {number}. {'It matters. ' * 30}" for number in range(200)]
    async with imported(tmp_path, texts, refusing, words=90) as rig:
        assert (await rig.conversation.run("What is in part 7?")).how == "done"
        assert len(rig.chat_requests) == 1
        await rig.assert_consistent()


async def test_continue_without_a_model_is_asked_once(tmp_path: Path) -> None:
    def script(request: dict[str, Any]) -> Reply:
        reply = answer(request)
        if is_summary_request(request) and isinstance(reply, StreamedReply):
            return StreamedReply(Wait(asyncio.Event()), *reply.parts)
        return reply

    texts = [f"Please look at part {number}. {'It matters. ' * 30}" for number in range(200)]
    async with imported(tmp_path, texts, script, words=90) as rig:
        scope = TaskScope()
        turn = scope.start(rig.conversation.run("What is in part 7?"), "turn")
        await rig.wait_for_update(SummaryAwaited)
        rig.conversation.summary_wait.continue_without_model()
        assert (await turn).how == "done"
        assert [update.is_active for update in rig.updates_of(SummaryAwaited)] == [True, False]


async def test_what_programs_put_in_leaves_as_outputs_and_can_be_undone(tmp_path: Path) -> None:
    notices = [
        NOTICE.format(number=number, result=f"Never touch file {number}. " * 150) for number in range(20)
    ]
    texts = [text for n, notice in enumerate(notices) for text in (f"Please look at part {n}.", notice)]
    async with imported(tmp_path, texts, answer) as rig:
        for number in range(4):
            assert (await rig.conversation.run(f"And part {number}?")).how == "done"
        sent = "\n".join(sent_texts(rig))
        assert [text for text in texts[::2] if text not in sent] == []
        assert "Agent 0 is done" in sent
        assert "Never touch file 0." not in sent
        assert await rig.store.get(digest_of(notices[0].encode())) == notices[0].encode()
        sweep = rig.seqs(SweepMade)[0]
        swept = rig.events(SweepMade)[0].swept
        events = [recorded.event for recorded in rig.conversation.session.log if recorded.seq in swept]
        before = [event.text for event in events if isinstance(event, UserSpoke)]
        await rig.conversation.window.undo(sweep)
        assert (await rig.conversation.run("Once more?")).how == "done"
        assert before
        assert set(before) <= set(sent_texts(rig))
        await rig.assert_consistent()
