"""What may stand in place of a command: files by path and by URL, links; commands keep their names."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from helix_desktop.app.launch_targets import IMPORT_PREFIX, launch_target, parse_target
from helix_desktop.cli.parsers.command_line import OPEN_COMMAND, with_open_command
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.main import main

COMMANDS = ("run", "cache", OPEN_COMMAND)
NAMES = ["plain.helix", "with spaces.helix", "Ünï©ode 日本.helix", "100%25.helix", "a#b?c.helix", "UP.HELIX"]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_found_by_path_and_by_url(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / name
    file.touch()
    monkeypatch.chdir(tmp_path)
    expected = IMPORT_PREFIX + str(file)
    assert parse_target(name) == parse_target(str(file)) == expected
    assert parse_target(file.as_uri()) == expected
    assert parse_target(file.as_uri().replace("file:///", "file://localhost/")) == expected


@pytest.mark.parametrize(
    ("args", "index"),
    [
        (["a.helix"], 0),
        (["--data-dir", "x.helix", "a.helix"], 2),
        (["--data-dir=x", "helix:open"], 1),
        (["--data", "d", "file:///a.helix", "--data-dir", "e"], 2),
        (["--workspace", "w", "HELIX:x"], 2),
        (["--", "a.helix"], 1),
    ],
)
def test_a_target_is_put_after_its_command(args: list[str], index: int) -> None:
    assert with_open_command(args, COMMANDS) == [*args[:index], OPEN_COMMAND, *args[index:]]


@pytest.mark.parametrize(
    "args",
    [[], ["run", "a.helix"], ["--data-dir", "a.helix"], ["--workspace", "a.helix"], ["--demo"], ["cache"]],
)
def test_other_arguments_stay_unchanged(args: list[str]) -> None:
    assert with_open_command(args, COMMANDS) == args


@pytest.mark.parametrize("word", ["nonsense", "http://a/b", "a.helix.txt", "no-folder/", ""])
def test_anything_else_is_refused(word: str) -> None:
    with pytest.raises(InvalidInput, match="Unknown command or file"):
        with_open_command([word], COMMANDS)


def test_a_folder_is_opened_unless_a_command_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("project", "run"):
        (tmp_path / name).mkdir()
    assert with_open_command(["project"], COMMANDS) == [OPEN_COMMAND, "project"]
    assert with_open_command(["run"], COMMANDS) == ["run"]
    for argument, folder in ((".", tmp_path), ("project", tmp_path / "project"), ("./run", tmp_path / "run")):
        assert parse_target(argument) == parse_target(folder.as_uri()) == str(folder)


def test_a_folder_with_that_suffix_is_not_an_exported_workspace(tmp_path: Path) -> None:
    (tmp_path / "folder.helix").mkdir()
    with pytest.raises(InvalidInput, match="File not found"):
        parse_target(str(tmp_path / "folder.helix"))


@pytest.mark.parametrize("more", [["--data-dir", "elsewhere"], ["--demo"], ["b.helix"], ["--workspace", "w"]])
def test_no_argument_may_follow_a_target(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A link that ends in extra arguments must not bring another data directory, and its trust, along."""
    assert _code(["helix:open", *more]) == 2
    assert "unrecognized arguments" in capsys.readouterr().err


def _code(args: list[str]) -> object:
    with pytest.raises(SystemExit) as ended:
        main(args)
    return ended.value.code


@pytest.mark.parametrize("folder", ["two\nlines", "tab\tin it", "hidden\u202ename", "\udcff"])
def test_the_whole_path_must_be_readable(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / folder
    path.mkdir()
    (path / "a.helix").touch()
    monkeypatch.chdir(path)
    with pytest.raises(InvalidInput, match="hidden characters"):
        parse_target("a.helix")
    with pytest.raises(InvalidInput, match="hidden characters"):
        launch_target(argparse.Namespace(demo=False, workspace=Path("here")))
