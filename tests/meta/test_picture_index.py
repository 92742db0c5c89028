"""Pictures of the screens: which are taken, what the tour refuses, and the page that lists them all."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from picture_index import write_index
from screens import tour
from screenshots import SETS, read_options

ROOT = Path(tour.__file__).parents[2]


def test_every_picture_is_listed_beside_its_other_theme(tmp_path: Path) -> None:
    pictures = (
        "small/tour/chat-dark",
        "small/tour/chat-light",
        "small/states/error-light",
        "usual/tour/chat-light",
    )
    for name in (*pictures, "small/tour/data/logo"):
        path = tmp_path / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    page = write_index(
        tmp_path, {"usual": "", "small": "--size 1024x680", "large": ""}, ["large"]
    ).read_text()
    assert re.findall('<h2 id="(.*?)"', page) == ["usual", "small", "large"]
    figures = [re.findall('href="(.*?)"', figure) for figure in re.findall("<figure .*?</figure>", page)]
    assert figures == [
        ["usual/tour/chat-light.png"],
        ["small/tour/chat-light.png", "small/tour/chat-dark.png"],
        ["small/states/error-light.png"],
    ]
    assert page.count("pictures are missing") == 1


@pytest.mark.parametrize("size", ["1024", "0x680", "1024x", "99999x680", "9" * 5000 + "x9", "1024x680x1"])
def test_the_tour_refuses_a_size_that_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], size: str
) -> None:
    with pytest.raises(SystemExit):
        tour.main([str(tmp_path / "out"), "--size", size])
    assert "must be a size, such as 1024x680" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_tour_refuses_a_file_that_is_no_catalog(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QT_SCALE_FACTOR", "1")  # which the tour sets
    with pytest.raises(SystemExit):
        tour.main([str(tmp_path / "out"), "--language", str(tmp_path / "nowhere.qm")])
    assert "nowhere.qm is no compiled catalog (.qm)" in capsys.readouterr().err


def test_the_tour_refuses_a_size_that_the_window_cannot_have(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "screens.tour", str(tmp_path / "out"), "--size", "300x300"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "packaging")},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert run.stderr.startswith("The window can't be 300 × 300 pixels. The smallest is ")
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ((), ["usual"]),
        (("--set", "small"), ["small"]),
        (("--all",), [each.name for each in SETS]),
        (("--theme", "dark"), ["own"]),
    ],
)
def test_only_the_usual_pictures_are_taken_unless_others_are_asked_for(
    tmp_path: Path, options: tuple[str, ...], rows: list[str]
) -> None:
    out, chosen = read_options(["--out", str(tmp_path / "out"), *options])
    assert [each.name for each in chosen] == rows
    assert out.is_dir()


@pytest.mark.parametrize("options", [("--all", "--set", "small"), ("--all", "--size", "1400x900")])
def test_a_row_of_its_own_and_all_rows_exclude_each_other(tmp_path: Path, options: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit):
        read_options(["--out", str(tmp_path / "out"), *options])
