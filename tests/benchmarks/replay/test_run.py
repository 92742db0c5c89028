"""`./helix bench --trajectories`: folders of recordings under a policy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.main import main as product
from tests.benchmarks.replay.run import main
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
        assert main([str(folder), "--window", "16000", "--json", *words]) == 0
        captured = capsys.readouterr()
        assert only_progress(captured.err)
        document: Document = json.loads(captured.out)
        return document

    return run


@pytest.fixture
def refuse(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run it with bad input; assert exit code 2, and return the last line."""

    def run(*words: str) -> str:
        try:
            code = main(words)
        except SystemExit as left:  # argparse leaves by itself
            code = int(left.code or 0)
        captured = capsys.readouterr()
        assert (code, captured.out) == (2, "")
        line: str = captured.err.splitlines()[-1]
        return line

    return run


def only_progress(text: str) -> bool:
    """Return True if the output is only progress, which appears on a slow machine."""
    return all(line.endswith(" recordings measured") for line in text.splitlines())


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


def test_recalls_are_put_in_and_paid(figures: Callable[..., Document]) -> None:
    without = figures()
    with_them = figures("--recalls")
    more = figures("--recall-rate", "0.5")
    calls = [document["total"]["recalls"]["calls"] for document in (without, with_them, more)]
    assert calls[0] == 0 < calls[1] < calls[2]
    sent = [document["total"]["input_tokens"] for document in (without, with_them, more)]
    assert sent[0] < sent[1] < sent[2]
    # A few recalls may move a rewrite to a cheaper place; many cost more than that saves.
    assert more["total"]["billed"] > without["total"]["billed"]
    assert more["total"]["recalls"]["failed"] == 0
    assert more["total"]["requests"] == without["total"]["requests"] + calls[2]
    assert more["total"]["reachable"] == 1.0


def test_a_table_without_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [folder / "long", folder / "short" / "session-00.jsonl.gz"]
    assert main([*map(str, files), "--policy", "Lean"]) == 0
    captured = capsys.readouterr()
    assert only_progress(captured.err)
    head, _, *rows = captured.out.splitlines()
    assert head.split() == ["all", "long", "short"]
    assert rows[0].split() == ["recordings", "2", "1", "1"]


def test_the_figures_are_those_of_the_product(
    figures: Callable[..., Document], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`helix-desktop replay` prints fewer figures of the same recordings, the same ones, and each request."""
    measured = figures("--policy", "classic")
    paths = sorted(map(str, folder.rglob("*.gz")))
    assert product(["replay", *paths, "--policy", "classic", "--window", "16000", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert len(printed["files"]) == 2
    largest = max(entry["managed"]["peak_window"] for entry in measured["files"])
    assert printed["total"].pop("peak_window") == largest, "the table here has none"
    for entry in printed["files"]:
        assert entry.pop("compactions") == [], "recorded by no agent that compacts"
        assert entry.pop("at_end") == [], "a recording has no facts"
        for side in ("managed", "unmanaged"):
            assert sum(entry.pop(f"{side}_sizes")) == entry[side]["input_tokens"]
    assert_contains(measured, printed)


def assert_contains(document: Document, part: Document) -> None:
    for name, value in part.items():
        if isinstance(value, dict):
            assert_contains(document[name], value)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for whole, one in zip(document[name], value, strict=True):
                assert_contains(whole, one)
        else:
            assert document[name] == value, name


def test_bad_input_is_refused(folder: Path, tmp_path: Path, refuse: Callable[..., str]) -> None:
    good = str(next(folder.rglob("*.gz")))
    (tmp_path / "bad.jsonl").write_text(
        '{"role": "user", "content": "Go"}\n{"role": "robot"}\n', encoding="utf-8"
    )
    assert "bad.jsonl can't be used. Line 2: role can't be 'robot'" in refuse(
        good, str(tmp_path / "bad.jsonl")
    )
    assert "No such file or directory" in refuse(str(tmp_path / "none.jsonl"))
    (tmp_path / "empty").mkdir()
    assert "No recordings in" in refuse(str(tmp_path / "empty"))
    assert "must be a number from 1 to" in refuse(good, "--jobs", "0")
    assert "must be a number from 0 to 1" in refuse(good, "--recall-rate", "5")
    assert "must be a number from 0 to" in refuse(good, "--reach-every", "-2")
