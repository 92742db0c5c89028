"""One window per data directory: a second start hands its wish to the first and leaves."""

from __future__ import annotations

import hashlib
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

SAMPLE_WISH = "sample:"
"""What a second start asks for instead of a folder, to see the guided sample."""
_WAIT_MS = 1_000


class SingleInstance(QObject):
    """Claims a data directory for this process, or tells the process that has it."""

    woken = Signal(str)
    """Another start asked for the window; the workspace folder it named, or empty."""

    def __init__(self, data_dir: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._name = "helix-desktop-" + hashlib.sha256(str(data_dir).encode()).hexdigest()[:24]
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._greet)

    def tell(self, wish: str) -> bool:
        """Hand a wish to the process that owns the data directory; False when there is none."""
        socket = QLocalSocket()
        socket.connectToServer(self._name)
        if not socket.waitForConnected(_WAIT_MS):
            return False
        socket.write((wish + "\n").encode())
        socket.waitForBytesWritten(_WAIT_MS)
        socket.waitForReadyRead(_WAIT_MS)
        return True

    def claim(self) -> bool:
        """Begin to listen; False when the system does not allow it (the window then stands alone)."""
        if self._server.listen(self._name):
            return True
        QLocalServer.removeServer(self._name)  # left behind by a process that was killed
        return self._server.listen(self._name)

    def close(self) -> None:
        """Stop listening."""
        self._server.close()

    def _greet(self) -> None:
        socket = self._server.nextPendingConnection()
        socket.readyRead.connect(lambda: self._hear(socket))
        socket.disconnected.connect(socket.deleteLater)
        if socket.canReadLine():
            self._hear(socket)

    def _hear(self, socket: QLocalSocket) -> None:
        if socket.canReadLine():
            wish = bytes(socket.readLine().data()).decode("utf-8", "replace").strip()
            socket.write(b"ok\n")
            socket.flush()
            self.woken.emit(wish)
