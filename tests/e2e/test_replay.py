"""`helix-desktop replay`: recorded sessions under a policy, and what the context manager made of them."""

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
    made = tmp_path_factory.mktemp("recorded")
    write_recordings(made / "long", [make_session(1, 40)])
    write_recordings(made / "short", [make_session(2, 6)])
    return made


@pytest.fixture
def figures(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Document]:
    """Replay both recordings in this process; the JSON document."""

    def run(*words: str) -> Document:
        assert main(["replay", str(folder), "--window", "16000", "--json", *words]) == 0
        said = capsys.readouterr()
        assert only_progress(said.err)
        told: Document = json.loads(said.out)
        return told

    return run


@pytest.fixture
def refuse(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run it with bad input; assert exit code 2 and one line behind any progress, and return that line."""

    def run(*words: str) -> str:
        try:
            code = main(["replay", *words])
        except SystemExit as left:  # argparse leaves by itself
            code = int(left.code or 0)
        said = capsys.readouterr()
        assert (code, said.out) == (2, "")
        # A good recording may be measured before a bad one is read.
        *progress, refusal = said.err.splitlines()
        assert only_progress("\n".join(progress))
        assert refusal.startswith("helix-desktop: ")
        return refusal

    return run


def only_progress(said: str) -> bool:
    """Whether nothing is said but how far it is, which a slow machine gives time for."""
    return all(line.endswith(" recordings measured") for line in said.splitlines())


def deterministic(document: Document) -> str:
    """The figures without the times."""
    kept = {
        "files": [{key: one[key] for key in one if "cpu" not in key} for one in document["files"]],
        "total": {key: value for key, value in document["total"].items() if "cpu" not in key},
    }
    return json.dumps(kept, sort_keys=True)


def test_the_default_policy_keeps_the_promises(figures: Callable[..., Document]) -> None:
    told = figures("--reach-every", "5")
    long, short = told["files"]
    assert [long["source"], short["source"]] == list(told["sources"]) == ["long", "short"]
    assert (long["heavy"], short["heavy"]) == (True, False)
    assert long["unmanaged"]["peak_window"] > 16_000 >= long["managed"]["peak_window"]
    assert long["managed"]["input_tokens"] < long["unmanaged"]["input_tokens"]
    assert long["counts"]["sweeps"] > 0
    for one in told["files"]:
        assert one["faults"] == {"by_rules": 0, "by_grammar": 0, "not_made": 0, "reasons": []}
        assert one["managed"]["over_window"] == 0
        assert one["reachable"] == one["least_reachable"] == 1.0
        assert one["reach_checks"] > 1
        assert one["managed"]["requests"] == one["unmanaged"]["requests"]


def test_the_same_figures_each_time_and_with_several_processes(figures: Callable[..., Document]) -> None:
    first = figures()
    assert deterministic(figures()) == deterministic(figures("--jobs", "2")) == deterministic(first)


def test_off_changes_nothing(figures: Callable[..., Document]) -> None:
    for one in figures("--policy", "off", "--recalls", "--window", "1000000")["files"]:
        assert one["managed"] == one["unmanaged"] | {"rewrites": 0}
        assert one["recalls"] == {"calls": 0, "contents": 0, "failed": 0}


def test_off_says_where_it_does_not_fit(figures: Callable[..., Document]) -> None:
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
    calls = [one["total"]["recalls"]["calls"] for one in (without, with_them, more)]
    assert calls[0] == 0 < calls[1] < calls[2]
    bills = [one["total"]["billed"] for one in (without, with_them, more)]
    assert bills == sorted(bills)
    assert more["total"]["recalls"]["failed"] == 0
    assert more["total"]["requests"] == without["total"]["requests"] + calls[2]
    assert more["total"]["reachable"] == 1.0


def test_a_policy_of_ones_own(figures: Callable[..., Document], tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('profile = "balanced"\nprotect_steps = 3\nprotect_tokens = 1000\n', encoding="utf-8")
    assert figures("--policy", str(own))["total"]["input_tokens"] < figures()["total"]["input_tokens"]


async def test_a_table_without_json(folder: Path, tmp_path: Path) -> None:
    cli = Cli.create(tmp_path)
    ran = await cli("replay", folder / "long", folder / "short" / "session-00.jsonl.gz", "--policy", "lean")
    assert ran.code == 0
    assert only_progress(ran.err)
    head, _, *rows = ran.out.decode().splitlines()
    assert head.split() == ["all", "long", "short"]
    assert rows[0].split() == ["recordings", "2", "1", "1"]
    assert not cli.data.exists()  # nothing of it is kept


def test_bad_input_is_refused_in_one_line(
    folder: Path, tmp_path: Path, refuse: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELIX_DATA_DIR", str(tmp_path / "data"))
    good = str(next(folder.rglob("*.gz")))
    (tmp_path / "bad.jsonl").write_text(
        '{"role": "user", "content": "Go"}\n{"role": "robot"}\n', encoding="utf-8"
    )
    assert "bad.jsonl is not usable. Line 2: Invalid value 'robot'" in refuse(
        good, str(tmp_path / "bad.jsonl")
    )
    assert "Line 2" in refuse(good, str(tmp_path / "bad.jsonl"), "--jobs", "2")
    assert "No such file or directory" in refuse(str(tmp_path / "none.jsonl"))
    (tmp_path / "empty").mkdir()
    assert "holds no recording" in refuse(str(tmp_path / "empty"))
    assert "the following arguments are required: FILE" in refuse()
    assert "no number of at least 1000 tokens" in refuse(good, "--window", "12")
    assert "no number from 1 to" in refuse(good, "--jobs", "0")
    assert "no share from 0 to 1" in refuse(good, "--recall-rate", "5")
    assert "no number" in refuse(good, "--reach-every", "-2")


def test_a_bad_policy_is_refused(folder: Path, tmp_path: Path, refuse: Callable[..., str]) -> None:
    good = str(folder)
    assert "There is no policy 'thrifty'" in refuse(good, "--policy", "thrifty")
    assert "Is a directory" in refuse(good, "--policy", str(tmp_path))
    own = tmp_path / "own.toml"
    for text, words in (
        ("profile = ", "is no policy"),
        ("protect_stepz = 3", "unknown field `protect_stepz`"),
        ('protect_steps = "3"', "Expected `int`"),
        ("handover_at = 7.0", "handover_at must lie between"),
        ('profile = "frugal"', "profile must be one of"),
    ):
        own.write_text(text, encoding="utf-8")
        assert words in refuse(good, "--policy", str(own))
    own.write_bytes(b"profile = '\xe9'")
    assert "is no policy" in refuse(good, "--policy", str(own))
    assert [one.name for one in tmp_path.iterdir()] == ["own.toml"]
