"""What the system or another start asks to be opened: files and links, early ones and late ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QUrl
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtNetwork import QLocalSocket
from PySide6.QtWidgets import QApplication

from helix_desktop.app.early_file_events import FileOpenEvents
from helix_desktop.app.file_open_events import TargetParser
from helix_desktop.app.launch_targets import IMPORT_PREFIX
from helix_desktop.app.single_instance import SingleInstance
from helix_desktop.domain.errors import HelixError


def test_the_system_hands_over_files_and_links(qapp: QApplication, tmp_path: Path) -> None:
    targets: list[str] = []
    errors: list[HelixError] = []
    events = FileOpenEvents(qapp)
    assert events.pass_to(TargetParser(targets.append, errors.append).handle) == []
    (tmp_path / "a b.helix").touch()
    for event in (
        QFileOpenEvent(str(tmp_path / "a b.helix")),
        QFileOpenEvent(QUrl("helix:open?workspace=x")),
        QFileOpenEvent(str(tmp_path / "gone.helix")),
    ):
        QCoreApplication.sendEvent(qapp, event)
    qapp.removeEventFilter(events)
    assert targets == [f"{IMPORT_PREFIX}{tmp_path / 'a b.helix'}", "helix:open?workspace=x"]
    assert ["File not found" in error.what for error in errors] == [True]


def test_files_opened_before_the_first_frame_are_queued(qapp: QApplication, tmp_path: Path) -> None:
    events = FileOpenEvents(qapp)
    good, second = tmp_path / "a b.helix", tmp_path / "c.helix"
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
