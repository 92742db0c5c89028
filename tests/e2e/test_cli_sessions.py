"""Sessions on the command line: searched, imported, branched, and begun from a handover."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from helix_desktop.config.paths import DataDir
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import SessionBranched
from helix_desktop.domain.store import Commit
from helix_desktop.main import main
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.remote.server import SharedStore
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.workspaces.registry import WorkspaceRegistry
from tests.support.cli_rig import Cli
from tests.support.store.builders import make_content, make_summary

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
async def two(cli: Cli, tmp_path: Path) -> Cli:
    """Two projects, `ws` and `other`, with a session each."""
    for name, messages in (("ws", LEXER), ("other", GAUGE)):
        (tmp_path / name).mkdir(exist_ok=True)
        lines = "".join(json.dumps(message) + "\n" for message in messages)
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        done = await cli("import", tmp_path / f"{name}.jsonl", "--workspace", tmp_path / name)
        assert done.code == 0, done
    return cli


async def test_it_finds_in_all_workspaces_and_its_ids_lead_on(two: Cli) -> None:
    found = (await two("search", "end", "--json")).json
    assert {Path(session["path"]).name for session in found["sessions"]} == {"ws", "other"}
    assert (found["unindexed"], found["unsearched"], found["more"]) == (0, [], False)
    (session,) = (await two("search", "lexer", "--json")).json["sessions"]
    kinds = {hit["kind"] for hit in session["hits"]}
    assert kinds == {"message", "output", "file"}
    (output,) = (hit for hit in session["hits"] if hit["kind"] == "output")
    assert "lexer.pos" in output["excerpt"]
    shown = await two("cache", "show", output["sha256"][:12], "--workspace", "ws")
    assert b"def advance()" in shown.out
    text = await two("search", "lexer")
    assert text.code == 0
    lines = text.out.decode().splitlines()
    assert lines[0].startswith(session["session"][:8])
    assert any("src/lexer.py" in line and "file" in line for line in lines[1:])
    assert output["sha256"][:12] in text.out.decode()


async def test_it_narrows_down(two: Cli) -> None:
    in_other = (await two("search", "end", "--workspace", "other", "--json")).json["sessions"]
    assert {Path(session["path"]).name for session in in_other} == {"other"}
    files = (await two("search", "lexer", "--kind", "file", "--json")).json["sessions"]
    assert [hit["excerpt"] for session in files for hit in session["hits"]] == ["src/lexer.py"]
    both = (await two("search", "lexer", "--kind", "file", "--kind", "output", "--json")).json["sessions"]
    assert {hit["kind"] for session in both for hit in session["hits"]} == {"file", "output"}
    assert len((await two("search", "end", "--limit", "1", "--json")).json["sessions"]) == 1
    assert (await two("search", "end", "--limit", "1", "--json")).json["more"]


async def test_nothing_found_and_what_cannot_be_searched_for(two: Cli) -> None:
    nothing = await two("search", "zebra")
    assert (nothing.code, nothing.out) == (0, b"")
    assert nothing.err.startswith("No results.")
    (await two("search", "   ")).assert_refused(2, "empty")
    (await two("search", "x", "--kind", "thought")).err.index("thought")
    (await two("search", "x", "--workspace", "nowhere")).assert_refused(2, "nowhere")


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is POSIX")
def _add_many_sessions(sessions: int, outputs: int) -> None:
    """Fill the workspace of the project `ws` through its store, so that nothing of it is indexed."""
    registry = WorkspaceRegistry(DataDir.locate(None, os.environ).workspaces_dir, wall_clock_ms)
    record = registry.add(Path("ws"), trusted=True)

    async def fill() -> None:
        folder = registry.store_folder(record.id)
        store = await LevelDbStore.open(folder, record.id, index_after_s=None)
        for number in range(sessions):
            events = [RecordedEvent(seq, seq, UserSpoke(f"tide {seq}", 3)) for seq in range(1, 201)]
            summary = make_summary(f"s{number:04}", number)
            await store.commit(Commit(summary.id, events, summary=summary))
        datas = [f"output {number} of a tide".encode() for number in range(outputs)]
        contents = [make_content(data) for data in datas]
        await store.commit(Commit("s0000", contents=contents))
        await store.close()

    asyncio.run(fill())


def test_a_search_answers_while_the_index_is_made_and_says_what_is_missing(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(cli.folder)
    monkeypatch.setenv("HELIX_DATA_DIR", str(cli.data))
    _add_many_sessions(sessions=50, outputs=300)

    assert main(["search", "tide", "--json"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert found["complete"] is False
    assert 0 < found["unindexed"] < found["events"] == 10_000, "what was indexed by then is searched"
    found_in = {session["session"] for session in found["sessions"]}
    assert "s0049" in found_in, "the session that was used last is indexed first"
    (waits,) = captured.err.splitlines()
    assert waits.startswith("helix-desktop: Still indexing (")
    assert waits.endswith("older messages may be missing. --wait waits for them.")

    assert main(["search", "output 299", "--wait", "--json"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert (found["complete"], found["unindexed"], captured.err) == (True, 0, "")
    assert [hit["kind"] for session in found["sessions"] for hit in session["hits"]] == ["output"]


async def test_words_are_bold_on_a_terminal_only(two: Cli) -> None:
    assert b"\x1b" not in (await two("search", "lexer")).out
    output = await two.on_terminal("search", "lexer", NO_COLOR="")
    assert b"The \x1b[1mLEXER\x1b[22m loops" in output


TALK: list[dict[str, Any]] = [
    {"role": "user", "content": "Which port does the shop use?"},
    {"role": "assistant", "tool_calls": [{"id": "t", "function": {"name": "read", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "t", "content": "PORT = 8080\n"},
    {"role": "assistant", "content": "8080."},
]


@pytest.fixture
def talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session as a file; the user's home has none."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "ws").mkdir()
    path = tmp_path / "talk.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in TALK) + "no json\n")
    return path


def run(capsys: pytest.CaptureFixture[str], folder: Path, *words: str) -> tuple[int, str, str]:
    code = main([words[0], "--data-dir", str(folder / "data"), *words[1:]])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_session_is_listed_imported_and_found(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, tmp_path, "import", "--list", "--json", str(talk))
    (listed,) = json.loads(out)
    assert (code, listed["agent"], listed["title"]) == (0, "chat-messages", "Which port does the shop use?")
    workspace = ("--workspace", str(tmp_path / "ws"))
    code, out, err = run(capsys, tmp_path, "import", str(talk), *workspace)
    assert (code, out) == (0, "1 session imported.\n")
    assert "1 damaged line was skipped." in err
    code, out, _ = run(capsys, tmp_path, "import", str(talk), *workspace)
    assert (code, out) == (0, "1 already here.\n")
    _, out, _ = run(capsys, tmp_path, "sessions", *workspace)
    assert "Which port does the shop use?" in out


def test_what_is_missing_is_said(talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, tmp_path, "import", str(talk))
    assert (code, "--workspace" in err) == (2, True)
    code, _, err = run(capsys, tmp_path, "import", "--workspace", str(tmp_path / "ws"))
    assert (code, "--all" in err) == (2, True)
    code, out, err = run(capsys, tmp_path, "import", "--list")
    assert (code, out, err) == (0, "", "No sessions of other agents found.\n")


async def test_a_branch_is_made_listed_below_its_parent_and_continued(cli: Cli) -> None:
    first = (await cli.run("What is in this folder?", "--json")).lines
    parent = first[0].session
    answered = [line.seq for line in first][-1]
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


async def test_versions_are_one_session_unless_each_is_asked_for(cli: Cli) -> None:
    first = (await cli.run("What is in this folder?", "--json")).lines[0].session
    form = msgspec.json.decode((cli.store / "format").read_bytes())
    store = await SharedStore.open(cli.store, form["workspace"])
    (parent,) = await store.sessions()
    version = msgspec.structs.replace(parent, id="2" * 32, branch_of=first, branch_seq=3, branch_how="edit")
    branched = RecordedEvent(4, parent.updated, SessionBranched(first, 3, parent.title, "edit"))
    summary = msgspec.structs.replace(version, updated=parent.updated + 1)
    await store.commit(Commit(summary.id, [branched], summary=summary))
    await store.close()
    for command in ("sessions", "timeline"):
        grouped = (await cli(command, "--workspace", "ws")).out.decode().splitlines()
        titles = [line for line in grouped if not line.startswith(" ")]
        assert [line[:8] for line in titles] == ["22222222"]
        assert titles[0].endswith(" · 2 versions")
        each = (await cli(command, "--workspace", "ws", "--versions")).out.decode().splitlines()
        assert {line.strip()[:8] for line in each if "What is in" in line} == {first[:8], "22222222"}
    documents = (await cli("timeline", "--workspace", "ws", "--json")).json
    assert {document["session"] for document in documents} == {first, summary.id}


async def test_a_turn_starts_a_session_with_the_handover_of_another_one(cli: Cli) -> None:
    """As it would be now; what is no handover is refused with what to type."""
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
    (await cli.run("x", "--from-handover", f"{first}:e3")).assert_refused(2, "e3 isn't a handover summary")
    (await cli.run("x", "--from-handover", f"{first}:now")).assert_refused(2, "'now'", "ID:e12")
    (await cli.run("x", "--from-handover", "nope")).assert_refused(2, "'nope'", "Leave out --from-handover")
