"""A start that meets a window just when it closes: what it asks for is not lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtNetwork import QLocalSocket
from PySide6.QtWidgets import QApplication

from helix_desktop.app.single_instance import SingleInstance

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


@pytest.mark.parametrize("is_closing", [False, True])
def test_a_start_is_acknowledged_only_by_a_window_that_stays(
    qapp: QApplication, owner: SingleInstance, start: QLocalSocket, is_closing: bool
) -> None:
    targets: list[str] = []
    owner.activated.connect(targets.append)
    if is_closing:
        owner.stop_listening()
    start.write(b"/a/folder\n\n")
    assert start.waitForBytesWritten(WAIT_MS)
    for _ in range(100):
        qapp.processEvents()
        if start.waitForReadyRead(20) or start.state() == QLocalSocket.LocalSocketState.UnconnectedState:
            break
    acknowledged = bytes(start.readAll().data())
    assert (acknowledged, targets) == ((b"", []) if is_closing else (b"ok\n", ["/a/folder"]))
    assert (start.state() == QLocalSocket.LocalSocketState.UnconnectedState) is is_closing
