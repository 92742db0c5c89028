"""A new session with the handover of another one, from the command line."""

from __future__ import annotations

from pathlib import Path

from tests.support.cli_rig import Cli


async def test_a_turn_starts_a_session_with_the_handover_of_another_one(tmp_path: Path) -> None:
    """As it would be now; what is no handover is refused with what to type."""
    cli = Cli.create(tmp_path)
    first = (await cli.run("What is in this folder?", "--json")).lines[0].session
    ran = await cli.run("And now?", "--json", "--from-handover", first[:10])
    assert ran.code == 0, ran.err
    (second,) = {line.session for line in ran.lines}
    listed = await cli("timeline", "--workspace", "ws", "--json")
    rewrites = {session["session"]: session["events"] for session in listed.json}
    assert rewrites[first] == []
    (start,) = rewrites[second]
    assert (start["seq"], start["event"]["origin"], start["event"]["trigger"]) == (2, first, "continued")
    assert "What is in this folder?" in start["event"]["quotes"][0]["text"]
    (await cli.run("x", "--from-handover", f"{first}:e3")).assert_refused(2, "e3 isn't a summary")
    (await cli.run("x", "--from-handover", f"{first}:now")).assert_refused(2, "'now'", "ID:e12")
    (await cli.run("x", "--from-handover", "nope")).assert_refused(2, "'nope'", "Leave out --from-handover")
