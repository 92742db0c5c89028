"""Branches from the command line: made, listed as a tree, continued; the other session stays as it is."""

from __future__ import annotations

from pathlib import Path

from tests.support.cli_rig import Cli


async def test_a_branch_is_made_listed_below_its_parent_and_continued(tmp_path: Path) -> None:
    cli = Cli.create(tmp_path)
    first = (await cli.run("What is in this folder?", "--json")).lines
    parent, answered = first[0].session, [line.seq for line in first][-1]
    await cli.run("And now?", "--session", parent)
    result = await cli("branch", parent[:8], "--workspace", "ws", "--at", f"e{answered}", "--json")
    assert result.code == 0, result.err
    branch = result.json["session"]
    assert (result.json["branch_of"], result.json["branch_seq"]) == (parent, answered)
    before = await cli("timeline", "--workspace", "ws", "--json")
    ran = await cli.run("Something else.", "--session", branch[:8], "--json")
    assert next(line.seq for line in ran.lines) == answered + 2
    listed = await cli("sessions", "--workspace", "ws", "--json")
    assert [(row["depth"], row["session"]) for row in listed.json] == [(0, parent), (1, branch)]
    assert before.json == (await cli("timeline", "--workspace", "ws", "--json")).json

    named = await cli("branch", "last", "--workspace", "ws", "--title", "Another way")
    assert "Another way" in named.out.decode()
    tree = (await cli("sessions", "--workspace", "ws")).out.decode().splitlines()
    assert [len(line) - len(line.lstrip()) for line in tree] == [0, 2, 4]
    assert tree[2].strip().startswith(named.out.decode().split()[0])
    assert [row["versions"] for row in listed.json] == [[parent], [branch]]
    each = await cli("sessions", "--workspace", "ws", "--versions")
    assert each.out.decode().splitlines() == tree, "a branch is no version"
    for at, words in (("e9999", "has no event e9999"), ("x", "must be the number of an event")):
        refused = await cli("branch", parent, "--workspace", "ws", "--at", at)
        assert refused.code == 2
        assert words in refused.err
