"""The command `search` as a user runs it: two workspaces with imported sessions."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.support.cli_rig import Cli

LEXER = (
    {"role": "user", "content": "The LEXER loops at the end of a file"},
    {
        "role": "assistant",
        "content": "I read it.",
        "tool_calls": [{"id": "1", "name": "read_file", "arguments": '{"path": "src/lexer.py"}'}],
    },
    {"role": "tool", "content": "def advance():\n    while lexer.pos:\n        pass\n", "tool_call_id": "1"},
    {"role": "assistant", "content": "It never looks at the end."},
)
GAUGE = ({"role": "user", "content": "Why does the gauge say 61 % at the end?"}, *LEXER[3:])


@pytest.fixture
async def cli(tmp_path: Path) -> Cli:
    """Two projects, `ws` and `other`, with a session each."""
    cli = Cli.create(tmp_path)
    for name, messages in (("ws", LEXER), ("other", GAUGE)):
        (tmp_path / name).mkdir(exist_ok=True)
        lines = "".join(json.dumps(message) + "\n" for message in messages)
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        done = await cli("import", tmp_path / f"{name}.jsonl", "--workspace", tmp_path / name)
        assert done.code == 0, done
    return cli


async def test_it_finds_in_all_workspaces_and_its_ids_lead_on(cli: Cli) -> None:
    found = (await cli("search", "end", "--json")).json
    assert {Path(session["path"]).name for session in found["sessions"]} == {"ws", "other"}
    assert (found["unindexed"], found["unsearched"], found["more"]) == (0, [], False)
    (session,) = (await cli("search", "lexer", "--json")).json["sessions"]
    kinds = {hit["kind"] for hit in session["hits"]}
    assert kinds == {"message", "output", "file"}
    (output,) = (hit for hit in session["hits"] if hit["kind"] == "output")
    assert "lexer.pos" in output["excerpt"]
    shown = await cli("cache", "show", output["sha256"][:12], "--workspace", "ws")
    assert b"def advance()" in shown.out
    text = await cli("search", "lexer")
    assert text.code == 0
    lines = text.out.decode().splitlines()
    assert lines[0].startswith(session["session"][:8])
    assert any("src/lexer.py" in line and "file" in line for line in lines[1:])
    assert output["sha256"][:12] in text.out.decode()


async def test_it_narrows_down(cli: Cli) -> None:
    in_other = (await cli("search", "end", "--workspace", "other", "--json")).json["sessions"]
    assert {Path(session["path"]).name for session in in_other} == {"other"}
    files = (await cli("search", "lexer", "--kind", "file", "--json")).json["sessions"]
    assert [hit["excerpt"] for session in files for hit in session["hits"]] == ["src/lexer.py"]
    both = (await cli("search", "lexer", "--kind", "file", "--kind", "output", "--json")).json["sessions"]
    assert {hit["kind"] for session in both for hit in session["hits"]} == {"file", "output"}
    assert len((await cli("search", "end", "--limit", "1", "--json")).json["sessions"]) == 1
    assert (await cli("search", "end", "--limit", "1", "--json")).json["more"]


async def test_nothing_found_and_what_cannot_be_searched_for(cli: Cli) -> None:
    nothing = await cli("search", "zebra")
    assert (nothing.code, nothing.out) == (0, b"")
    assert nothing.err.startswith("No results.")
    (await cli("search", "   ")).assert_refused(2, "empty")
    (await cli("search", "x", "--kind", "thought")).err.index("thought")
    (await cli("search", "x", "--workspace", "nowhere")).assert_refused(2, "nowhere")


async def test_a_damaged_workspace_hides_no_other(cli: Cli) -> None:
    (record,) = (
        path
        for path in (cli.data / "workspaces").iterdir()
        if 'name = "other"' in (path / "workspace.toml").read_text(encoding="utf-8")
    )
    for file in (record / "store").glob("search.db*"):
        file.write_bytes(b"not an index")
    found = await cli("search", "end", "--json")
    assert len(found.json["sessions"]) == 2, "a damaged index is made again"


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is POSIX")
async def test_words_are_bold_on_a_terminal_only(cli: Cli) -> None:
    assert b"\x1b" not in (await cli("search", "lexer")).out
    output = await cli.on_terminal("search", "lexer", NO_COLOR="")
    assert b"The \x1b[1mLEXER\x1b[22m loops" in output
