"""What the system or another start asks to be opened: files and links, by path and URL, early and late."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtNetwork import QLocalSocket
from PySide6.QtWidgets import QApplication

from helix_desktop.app import single_instance
from helix_desktop.app.early_file_events import FileOpenEvents
from helix_desktop.app.file_open_events import TargetParser
from helix_desktop.app.launch_targets import IMPORT_PREFIX, launch_target, parse_target
from helix_desktop.app.single_instance import SingleInstance
from helix_desktop.cli.parsers.command_line import OPEN_COMMAND, with_open_command
from helix_desktop.domain.errors import HelixError, InstanceNotResponding, InvalidInput
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
        (["--data-dir=x", "file:///a.helix"], 1),
        (["--data", "d", "file:///a.helix", "--data-dir", "e"], 2),
        (["--workspace", "w", "FILE:///a.helix"], 2),
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


@pytest.mark.parametrize("word", ["nonsense", "http://a/b", "helix:open", "a.helix.txt", "no-folder/", ""])
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
    """A file whose name ends in extra arguments must not bring another data directory along."""
    assert _code(["a.helix", *more]) == 2
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


def test_the_system_hands_over_files(qapp: QApplication, tmp_path: Path) -> None:
    targets: list[str] = []
    errors: list[HelixError] = []
    events = FileOpenEvents(qapp)
    assert events.pass_to(TargetParser(targets.append, errors.append).handle) == []
    (tmp_path / "a b.helix").touch()
    for event in (
        QFileOpenEvent(str(tmp_path / "a b.helix")),
        QFileOpenEvent(str(tmp_path / "gone.helix")),
    ):
        QCoreApplication.sendEvent(qapp, event)
    qapp.removeEventFilter(events)
    assert targets == [f"{IMPORT_PREFIX}{tmp_path / 'a b.helix'}"]
    assert ["File not found" in error.what for error in errors] == [True]


def test_files_opened_before_the_first_frame_are_queued(qapp: QApplication, tmp_path: Path) -> None:
    events = FileOpenEvents(qapp)
    good = tmp_path / "a b.helix"
    second = tmp_path / "c.helix"
    good.touch()
    second.touch()
    for path in (tmp_path / "gone.helix", good, second):
        QCoreApplication.sendEvent(qapp, QFileOpenEvent(str(path)))
    opened: list[str] = []
    errors: list[HelixError] = []
    openings = TargetParser(opened.append, errors.append)
    targets = events.pass_to(openings.handle)
    qapp.removeEventFilter(events)
    assert openings.first_target(targets) == f"{IMPORT_PREFIX}{good}"
    assert targets == [str(second)]
    assert ["File not found" in error.what for error in errors] == [True]
    assert openings.first_target([]) == ""
    openings.handle(targets[0])
    assert opened == [f"{IMPORT_PREFIX}{second}"]


WAIT_MS = 10_000


@pytest.fixture
def owner(qapp: QApplication, tmp_path: Path) -> Iterator[SingleInstance]:
    instance = SingleInstance(tmp_path)
    assert instance.claim()
    yield instance
    instance.close()
    qapp.processEvents()


@pytest.fixture
def start(qapp: QApplication, owner: SingleInstance) -> Iterator[QLocalSocket]:
    """Another start that has connected, and that the owner has noticed."""
    socket = QLocalSocket()
    socket.connectToServer(owner.server_name)
    assert socket.waitForConnected(WAIT_MS)
    qapp.processEvents()
    yield socket
    socket.abort()


@pytest.mark.parametrize("end", ["", "closes", "has a signal to end"])
def test_a_start_is_acknowledged_only_by_a_window_that_stays(
    qapp: QApplication, owner: SingleInstance, start: QLocalSocket, end: str
) -> None:
    targets: list[str] = []
    owner.activated.connect(targets.append)
    owner.is_ending = end == "has a signal to end"
    if end == "closes":
        owner.stop_listening()
    start.write(b"/a/folder\n\n")
    assert start.waitForBytesWritten(WAIT_MS)
    for _ in range(100):
        qapp.processEvents()
        if start.waitForReadyRead(20) or start.state() == QLocalSocket.LocalSocketState.UnconnectedState:
            break
    acknowledged = bytes(start.readAll().data())
    assert (acknowledged, targets) == ((b"", []) if end else (b"ok\n", ["/a/folder"]))
    assert (start.state() == QLocalSocket.LocalSocketState.UnconnectedState) is bool(end)


@pytest.fixture
def _short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single_instance, "_ANSWER_TIMEOUT_S", 0.2)


@pytest.mark.usefixtures("_short_wait")
def test_a_window_that_ends_may_take_longer_than_one_that_listens(qapp: QApplication, tmp_path: Path) -> None:
    ending = SingleInstance(tmp_path)
    other = SingleInstance(tmp_path)
    assert ending.claim()
    ending.stop_listening()
    end = threading.Timer(0.6, ending.close)
    end.start()
    try:
        assert not other.send("folder"), "the directory is free"
    finally:
        end.join()
    other.close()


@pytest.mark.usefixtures("_short_wait")
def test_a_window_that_listens_and_does_not_answer_is_named(qapp: QApplication, tmp_path: Path) -> None:
    busy = SingleInstance(tmp_path)
    other = SingleInstance(tmp_path)
    assert busy.claim()
    with pytest.raises(InstanceNotResponding):
        other.send("folder")
    busy.close()
