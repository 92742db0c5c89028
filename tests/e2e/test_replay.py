"""`helix-desktop replay`: recorded sessions under a policy; the benchmarks measure more of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.main import main
from tests.support.cli_rig import Cli
from tests.support.synthetic_recordings import make_session, write_recordings

Document = dict[str, Any]


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A session that presses on a window of 16,000 tokens, and a short one."""
    sessions = [make_session(1, 40), make_session(2, 6)]
    return list(map(str, write_recordings(tmp_path_factory.mktemp("recorded"), sessions)))


@pytest.fixture
def figures(recordings: list[str], capsys: pytest.CaptureFixture[str]) -> Callable[..., Document]:

    def run(*words: str) -> Document:
        assert main(["replay", *recordings, "--window", "16000", "--json", *words]) == 0
        captured = capsys.readouterr()
        assert only_progress(captured.err)
        document: Document = json.loads(captured.out)
        return document

    return run


@pytest.fixture
def refuse(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run it with bad input; assert exit code 2 and one line behind any progress, and return that line."""

    def run(*words: str) -> str:
        try:
            code = main(["replay", *words])
        except SystemExit as left:  # argparse leaves by itself
            code = int(left.code or 0)
        captured = capsys.readouterr()
        assert (code, captured.out) == (2, "")
        # A good recording may be measured before a bad one is read.
        *progress, refusal = captured.err.splitlines()
        assert only_progress("\n".join(progress))
        assert refusal.startswith("helix-desktop: ")
        return refusal

    return run


def only_progress(text: str) -> bool:
    """Return True if the output is only progress, which appears on a slow machine."""
    return all(line.endswith(" recordings measured") for line in text.splitlines())


FOREIGN = "21a2e002-8b63-45db-8e0d-1978fe0600aa"


def _foreign(uuid: int, role: str, content: object, **more: object) -> Document:
    return {
        "type": role, "uuid": str(uuid), "parentUuid": str(uuid - 1) if uuid > 1 else None,
        "sessionId": FOREIGN, "cwd": "/home/ann/shop", "version": "2.1.5",
        "timestamp": "2026-02-12T07:51:13Z",
        "message": {"role": role, "content": content, "id": f"m{uuid}", "model": "claude-opus-4-5"},
        **more,
    }  # fmt: skip


def test_a_session_of_another_agent_says_what_its_compaction_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The folder holds it, and the figures are those of the file."""
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make check-prices"}}
    output = {"type": "tool_result", "tool_use_id": "t1", "content": "all 412 prices in src/prices.py hold\n"}
    lines = [
        _foreign(1, "user", "Never change src/legacy.py. Check the prices with make check-prices."),
        _foreign(2, "assistant", [call]),
        _foreign(3, "user", [output]),
        _foreign(4, "assistant", [{"type": "text", "text": "They hold: 412 prices."}]),
        _foreign(5, "system", "", subtype="compact_boundary", compactMetadata={"preTokens": 155_528}),
        _foreign(6, "user", "The prices in src/prices.py were checked.", isCompactSummary=True),
        _foreign(7, "user", "And the taxes?"),
        _foreign(8, "assistant", [{"type": "text", "text": "Not checked yet."}]),
    ]
    place = tmp_path / f"{FOREIGN}.jsonl"
    place.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    documents = []
    for path in (place, tmp_path):
        assert main(["replay", str(path), "--json"]) == 0
        documents.append(json.loads(capsys.readouterr().out))
    assert documents[0] == documents[1]
    (entry,) = documents[0]["files"]
    assert entry["model"] == "claude-opus-4-5"
    assert entry["cost"] == entry["managed"]["billed"] * 5 / 1_000_000
    assert len(entry["managed_sizes"]) == entry["managed"]["requests"] == 3
    assert sum(entry["managed_sizes"]) == entry["managed"]["input_tokens"]
    assert sum(entry["unmanaged_sizes"]) == entry["unmanaged"]["input_tokens"]
    assert entry["reach"]["one_call_bytes"] == entry["reach"]["output_bytes"] == 37
    (compaction,) = entry["compactions"]
    assert (compaction["request"], compaction["before"]) == (3, 155_528)
    facts = {
        each["kind"]: (each["total"], each["in_summary"], each["in_context"]) for each in compaction["facts"]
    }
    assert facts["commands"] == (1, 0, 1)
    assert all(in_context == total for total, _, in_context in facts.values())
    assert [kind["kind"] for kind in entry["at_end"]] == [kind["kind"] for kind in compaction["facts"]]
    assert main(["replay", str(place)]) == 0
    assert "compacted before model call 3. Of " in capsys.readouterr().out


def test_a_folder_without_sessions_is_refused_with_what_to_do(
    refuse: Callable[..., str], tmp_path: Path
) -> None:
    assert "No sessions found in" in refuse(str(tmp_path))


def test_the_default_policy_sends_less_and_loses_nothing(figures: Callable[..., Document]) -> None:
    document = figures()
    long, short = document["files"]
    assert long["unmanaged"]["peak_window"] > 16_000 >= long["managed"]["peak_window"]
    assert long["managed"]["input_tokens"] < long["unmanaged"]["input_tokens"]
    assert long["counts"]["sweeps"] > 0
    for entry in document["files"]:
        assert entry["faults"] == {"not_made": 0, "reasons": []}
        assert entry["managed"]["over_window"] == 0
        assert entry["reachable"] == 1.0
        assert entry["managed"]["requests"] == entry["unmanaged"]["requests"]
    total = document["total"]
    assert total["requests"] == sum(entry["managed"]["requests"] for entry in (long, short))
    assert total["input_tokens"] == sum(entry["managed"]["input_tokens"] for entry in (long, short))
    assert total["peak_window"] == long["managed"]["peak_window"]
    assert figures() == document


def test_off_reports_what_does_not_fit(figures: Callable[..., Document]) -> None:
    long, short = figures("--policy", "off")["files"]
    assert (long["faults"]["not_made"] > 0, short["faults"]["not_made"]) == (True, 0)
    assert long["managed"]["peak_window"] <= 16_000
    assert len(long["faults"]["reasons"]) == 5


def test_a_policy_file_changes_what_is_sent(figures: Callable[..., Document], tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('profile = "balanced"\nprotect_steps = 20\nprotect_tokens = 40000\n', encoding="utf-8")
    assert figures("--policy", str(own))["total"]["input_tokens"] > figures()["total"]["input_tokens"]


async def test_a_table_without_json(recordings: list[str], cli: Cli) -> None:
    ran = await cli("replay", *recordings, recordings[0], "--policy", "Lean", "--window", "16000")
    assert ran.code == 0
    assert only_progress(ran.err)
    rows = dict(line.rsplit("  ", 1) for line in ran.out.decode().splitlines())
    cells = {name.strip(): cell.strip() for name, cell in rows.items()}
    assert cells["recordings"] == "2", "one that is named twice is replayed once"
    assert 0 < float(cells["input, % of that without Helix"]) < 100
    assert cells["outputs that can be recalled, % of bytes"] == "100.0"
    assert cells["requests over the context window"] == "0"
    assert len({len(line) for line in ran.out.decode().splitlines()}) == 1
    assert not cli.data.exists()  # nothing of it is stored


async def test_requests_that_cannot_be_made_are_named(recordings: list[str], cli: Cli) -> None:
    ran = await cli("replay", recordings[0], "--policy", "off", "--window", "16000")
    assert ran.code == 0
    assert f"{recordings[0]}: request " in ran.err


def test_bad_input_is_refused_in_one_line(
    recordings: list[str], tmp_path: Path, refuse: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELIX_DATA_DIR", str(tmp_path / "data"))
    good = recordings[1]
    (tmp_path / "bad.jsonl").write_text(
        '{"role": "user", "content": "Go"}\n{"role": "robot"}\n', encoding="utf-8"
    )
    assert "bad.jsonl can't be used. Line 2: role can't be 'robot'" in refuse(str(tmp_path / "bad.jsonl"))
    assert "No such file or directory" in refuse(str(tmp_path / "none.jsonl"))
    assert "bad.jsonl can't be used" in refuse(str(tmp_path))
    assert "the following arguments are required: FILE" in refuse()
    assert "must be a number from 1,000 to 1,000,000,000 (got '12')" in refuse(good, "--window", "12")
    assert "unrecognized arguments: --recalls" in refuse(good, "--recalls")


def test_a_bad_policy_is_refused(recordings: list[str], tmp_path: Path, refuse: Callable[..., str]) -> None:
    good = recordings[1]
    assert "Policy 'thrifty' not found." in refuse(good, "--policy", "thrifty")
    assert "Is a directory" in refuse(good, "--policy", str(tmp_path))
    own = tmp_path / "own.toml"
    for text, words in (
        ("profile = ", "isn't valid"),
        ("protect_stepz = 3", "Unknown field protect_stepz"),
        ('protect_steps = "3"', "protect_steps must be a whole number (got text)"),
        ("handover_at = 7.0", "handover_at must be between"),
        ('profile = "frugal"', "profile must be one of"),
    ):
        own.write_text(text, encoding="utf-8")
        assert words in refuse(good, "--policy", str(own))
    own.write_bytes(b"profile = '\xe9'")
    assert "isn't valid" in refuse(good, "--policy", str(own))
    assert [path.name for path in tmp_path.iterdir()] == ["own.toml"]
