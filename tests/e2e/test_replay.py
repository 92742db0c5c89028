"""`helix-desktop replay`: recorded sessions under a policy, and the results of the context manager."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.cli.main import main
from tests.support.cli_rig import Cli
from tests.support.synthetic_recordings import make_session, write_recordings

Document = dict[str, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sources: a session that presses on a window of 16,000 tokens, and a short one."""
    new_folder = tmp_path_factory.mktemp("recorded")
    write_recordings(new_folder / "long", [make_session(1, 40)])
    write_recordings(new_folder / "short", [make_session(2, 6)])
    return new_folder


@pytest.fixture
def figures(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Document]:
    """Replay both recordings in this process; the JSON document."""

    def run(*words: str) -> Document:
        assert main(["replay", str(folder), "--window", "16000", "--json", *words]) == 0
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


def deterministic(document: Document) -> str:
    """The figures without the times."""
    stable = {
        "files": [{key: entry[key] for key in entry if "cpu" not in key} for entry in document["files"]],
        "total": {key: value for key, value in document["total"].items() if "cpu" not in key},
    }
    return json.dumps(stable, sort_keys=True)


def test_the_default_policy_meets_its_targets(figures: Callable[..., Document]) -> None:
    document = figures("--reach-every", "5")
    long, short = document["files"]
    assert [long["source"], short["source"]] == list(document["sources"]) == ["long", "short"]
    assert (long["heavy"], short["heavy"]) == (True, False)
    assert long["unmanaged"]["peak_window"] > 16_000 >= long["managed"]["peak_window"]
    assert long["managed"]["input_tokens"] < long["unmanaged"]["input_tokens"]
    assert long["counts"]["sweeps"] > 0
    for entry in document["files"]:
        assert entry["faults"] == {"by_rules": 0, "by_grammar": 0, "not_made": 0, "reasons": []}
        assert entry["managed"]["over_window"] == 0
        assert entry["reachable"] == entry["least_reachable"] == 1.0
        assert entry["reach_checks"] > 1
        assert entry["managed"]["requests"] == entry["unmanaged"]["requests"]


def test_the_figures_are_reproducible_and_independent_of_the_process_count(
    figures: Callable[..., Document],
) -> None:
    first = figures()
    assert deterministic(figures()) == deterministic(figures("--jobs", "2")) == deterministic(first)


def test_off_changes_nothing(figures: Callable[..., Document]) -> None:
    for entry in figures("--policy", "off", "--recalls", "--window", "1000000")["files"]:
        assert entry["managed"] == entry["unmanaged"] | {"rewrites": 0}
        assert entry["recalls"] == {"calls": 0, "contents": 0, "failed": 0}


def test_off_reports_what_does_not_fit(figures: Callable[..., Document]) -> None:
    long, short = figures("--policy", "off")["files"]
    assert (long["faults"]["not_made"] > 0, short["faults"]["not_made"]) == (True, 0)
    assert long["managed"]["peak_window"] <= 16_000


@pytest.mark.parametrize("profile", ["lean", "balanced", "classic", "plain"])
def test_every_profile_loses_nothing_and_stays_within_the_window(
    figures: Callable[..., Document], profile: str
) -> None:
    total = figures("--policy", profile)["total"]
    assert total["reachable"] == 1.0
    assert (total["over_window"], total["not_made"]) == (0, 0)
    assert (total["invalid_by_rules"], total["invalid_by_grammar"]) == (0, 0)
    assert 0 < total["input_of_sums"] < 1


def test_recalls_are_put_in_and_paid(figures: Callable[..., Document]) -> None:
    without, with_them = figures(), figures("--recalls")
    more = figures("--recall-rate", "0.5")
    calls = [document["total"]["recalls"]["calls"] for document in (without, with_them, more)]
    assert calls[0] == 0 < calls[1] < calls[2]
    bills = [document["total"]["billed"] for document in (without, with_them, more)]
    assert bills == sorted(bills)
    assert more["total"]["recalls"]["failed"] == 0
    assert more["total"]["requests"] == without["total"]["requests"] + calls[2]
    assert more["total"]["reachable"] == 1.0


def test_a_policy_file_changes_what_is_sent(figures: Callable[..., Document], tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('profile = "balanced"\nprotect_steps = 20\nprotect_tokens = 40000\n', encoding="utf-8")
    assert figures("--policy", str(own))["total"]["input_tokens"] > figures()["total"]["input_tokens"]


async def test_a_table_without_json(folder: Path, tmp_path: Path) -> None:
    cli = Cli.create(tmp_path)
    ran = await cli("replay", folder / "long", folder / "short" / "session-00.jsonl.gz", "--policy", "Lean")
    assert ran.code == 0
    assert only_progress(ran.err)
    head, _, *rows = ran.out.decode().splitlines()
    assert head.split() == ["all", "long", "short"]
    assert rows[0].split() == ["recordings", "2", "1", "1"]
    assert not cli.data.exists()  # nothing of it is stored


def test_bad_input_is_refused_in_one_line(
    folder: Path, tmp_path: Path, refuse: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELIX_DATA_DIR", str(tmp_path / "data"))
    good = str(next(folder.rglob("*.gz")))
    (tmp_path / "bad.jsonl").write_text(
        '{"role": "user", "content": "Go"}\n{"role": "robot"}\n', encoding="utf-8"
    )
    assert "bad.jsonl can't be used. Line 2: role can't be 'robot'" in refuse(
        good, str(tmp_path / "bad.jsonl")
    )
    assert "Line 2" in refuse(good, str(tmp_path / "bad.jsonl"), "--jobs", "2")
    assert "No such file or directory" in refuse(str(tmp_path / "none.jsonl"))
    (tmp_path / "empty").mkdir()
    assert "No recordings in" in refuse(str(tmp_path / "empty"))
    assert "the following arguments are required: FILE" in refuse()
    assert "must be a number from 1,000 to 1,000,000,000 (got '12')" in refuse(good, "--window", "12")
    assert "must be a number from 1 to" in refuse(good, "--jobs", "0")
    assert "must be a number from 0 to 1" in refuse(good, "--recall-rate", "5")
    assert "must be a number from 0 to" in refuse(good, "--reach-every", "-2")


def test_a_bad_policy_is_refused(folder: Path, tmp_path: Path, refuse: Callable[..., str]) -> None:
    good = str(folder)
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
