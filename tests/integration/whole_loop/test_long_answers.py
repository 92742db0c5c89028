"""Answers that are too long: what came is on record, cut calls do not run, and the session goes on."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

from helix_desktop.agent.tool_calls.runner import CUT_ARGUMENTS
from helix_desktop.domain.answer_bounds import MAX_PART_BYTES
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded
from tests.support.loop_rig import loop_rig
from tests.support.model_servers.chat_server import Call, Reply, StreamedReply, Text, text_reply

LONG = "All work and no play makes Jack a dull boy. " * 20_000  # 0.9 MB


def _writing_too_much(number: int) -> StreamedReply:
    arguments = json.dumps({"path": f"{number}.txt", "content": LONG * 12})
    return StreamedReply(Call("write_file", arguments, f"c{number}", piece_length=500_000))


async def test_a_call_whose_arguments_were_cut_does_not_run_and_is_told_why(tmp_path: Path) -> None:
    replies = iter([_writing_too_much(1), text_reply("In parts, then."), text_reply("Here.")])
    async with loop_rig(tmp_path, lambda _: next(replies)) as rig:
        assert await rig.conversation.run("Write it.") == TurnEnded("done")
        assert await rig.conversation.run("Are you there?") == TurnEnded("done")
        assert not (rig.root / "1.txt").exists()
        cut, *_ = rig.events(AssistantSpoke)
        assert (cut.stop, cut.bound) == ("length", "arguments")
        assert len(cut.calls[0].arguments) == MAX_PART_BYTES
        (answer,) = rig.events(ToolAnswered)
        assert CUT_ARGUMENTS in answer.text
        assert not answer.ok
        log = rig.conversation.session.log
        stored = await rig.store.events(rig.conversation.session.id)
        is_stored = stored == log
        assert is_stored


async def test_one_cut_call_after_the_other_ends_the_turn(tmp_path: Path) -> None:
    numbers = itertools.count(1)

    def script(_: dict[str, Any]) -> Reply:
        return _writing_too_much(next(numbers))

    async with loop_rig(tmp_path, script) as rig:
        ended = await rig.conversation.run("Write it.")
        assert ended.how == "failed"
        assert "are too long" in ended.what
        assert len(rig.events(AssistantSpoke)) == 3


async def test_a_text_is_kept_to_its_bound_and_the_next_turn_works(tmp_path: Path) -> None:
    replies = iter([StreamedReply(*[Text(LONG)] * 12), text_reply("Shorter.")])
    async with loop_rig(tmp_path, lambda _: next(replies)) as rig:
        assert await rig.conversation.run("Tell me all.") == TurnEnded("done")
        assert await rig.conversation.run("Shorter, please.") == TurnEnded("done")
        long, short = rig.events(AssistantSpoke)
        assert (len(long.text), long.stop, long.bound) == (MAX_PART_BYTES, "length", "text")
        assert (short.text, short.bound) == ("Shorter.", "")
