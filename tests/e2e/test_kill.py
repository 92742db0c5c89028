"""kill -9 in the middle of turns: what was told is there, the turn is marked, and work goes on."""

from __future__ import annotations

import asyncio
import random
import shutil
import sys
from pathlib import Path

import pytest

from helix_desktop.cli.output import JsonLine
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.session import (
    AssistantSpoke,
    RecordedEvent,
    ToolAnswered,
    TurnEnded,
    UserSpoke,
    digests_in,
)
from helix_desktop.providers.demo.script import read_scripts
from helix_desktop.store.remote.open_store import open_as_owner
from tests.support.cli_rig import ROOT, Cli, CommandResult, wait_for_exit

ROUNDS = 4
DEMO = ROOT / "resources" / "demo"


async def kill_a_turn(cli: Cli, message: str, rnd: random.Random, *words: str) -> CommandResult:
    """Begin a turn and kill its process at a random moment after it began to tell."""
    turn = ("run", "--workspace", "ws", "--trust", "--message", message, "--yes", "--json", *words)
    process = await cli.start(*turn)
    assert process.stdout is not None
    heard = b""
    for _ in range(rnd.randint(3, 24)):
        line = await process.stdout.readline()
        heard += line
        if b'"kind":"turn-ended"' in line or not line:
            break
    await asyncio.sleep(rnd.uniform(0.0, 0.03))  # the moment itself, no synchronisation
    if process.returncode is None:
        process.kill()
    rest = await wait_for_exit(process)
    heard += rest.out
    return CommandResult(rest.code, heard[: heard.rfind(b"\n") + 1], rest.err)


async def stored(cli: Cli, session: str) -> list[RecordedEvent]:
    """A session's events as the store gives them to a process that opens it anew, each content verified."""
    # Waiting as a person's next start does: a child that the killed process was just making holds the lock
    # until it runs its program.
    store = await open_as_owner(cli.store, cli.store.parent.name)
    try:
        assert store.health.report is None
        events = await store.events(session)
        listed = {one.id: one for one in await store.sessions()}
        assert listed[session].events == len(events)
        for digest in {digest for one in events for digest in digests_in(one.event)}:
            assert digest_of(await store.get(digest)) == digest
        return events
    finally:
        await store.close()


def unanswered(events: list[RecordedEvent]) -> set[str]:
    """The calls that were made and have no answer."""
    made = {call.id for one in events if isinstance(one.event, AssistantSpoke) for call in one.event.calls}
    return made - {one.event.call_id for one in events if isinstance(one.event, ToolAnswered)}


def at_rest(events: list[RecordedEvent]) -> bool:
    """Whether no turn runs; what is written after a turn, such as observations, does not begin one."""
    turns = [one.event for one in events if isinstance(one.event, TurnEnded | UserSpoke)]
    return isinstance(turns[-1], TurnEnded)


def check_marked(before: list[RecordedEvent], lines: list[JsonLine]) -> None:
    """Assert that going on first answers what was open, then marks the turn, then begins the next one."""
    if at_rest(before):
        assert lines[0].event != TurnEnded("interrupted")
        return
    marked = next(n for n, line in enumerate(lines) if line.event == TurnEnded("interrupted"))
    answers = [line.event for line in lines[:marked]]
    assert all(isinstance(one, ToolAnswered) and one.outcome == "interrupted" for one in answers)
    assert {one.call_id for one in answers if isinstance(one, ToolAnswered)} == unanswered(before)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
async def test_kill_9_loses_nothing_that_was_told(tmp_path: Path) -> None:
    rnd = random.Random(20)
    cli = Cli.create(tmp_path)
    shutil.copytree(DEMO / "tidewatch", cli.project, dirs_exist_ok=True)
    asks = next(one for one in read_scripts(DEMO) if one.name == "tidewatch").user_messages
    told: list[JsonLine] = []
    cut_off = 0
    for number in range(ROUNDS):
        again = ("--session", "last") if told else ()
        killed = await kill_a_turn(cli, asks[number % len(asks)], rnd, *again)
        assert killed.err == ""
        told += killed.lines
        assert [line.seq for line in told] == list(range(1, len(told) + 1))

        events = await stored(cli, told[0].session)
        assert [line.event for line in told] == [one.event for one in events[: len(told)]]
        cut_off += not at_rest(events)

        # Some facts had no time to be told.
        told = [JsonLine(told[0].session, one.seq, one.at, one.event) for one in events]
        went_on = await cli.run(asks[-1], "--yes", "--json", "--session", "last")
        assert (went_on.code, went_on.err) == (0, "")
        assert TurnEnded("done") in [line.event for line in went_on.lines]  # a handover may come after it
        check_marked(events, went_on.lines)
        told += went_on.lines
    assert cut_off >= ROUNDS // 2, "most kills were to come in the middle of a turn"
    assert not unanswered(await stored(cli, told[0].session))
    verified = await cli("cache", "verify", "--workspace", "ws")
    assert verified.code == 0, verified
    timeline = await cli("timeline", "--workspace", "ws", "--json")
    rewrites = (
        *("handover-made", "handover-failed", "sweep-made", "fold-made", "form-chosen"),
        *("observations-made", "observations-placed", "observations-failed"),
    )
    expected = [line.seq for line in told if type(line.event).__struct_config__.tag in rewrites]
    assert [one["seq"] for one in timeline.json[0]["events"]] == expected
