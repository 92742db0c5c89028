"""One window per data directory: a second start hands its wish to the first and leaves."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from pathlib import Path

from PySide6.QtCore import QLockFile, QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

_WAIT_MS = 1_000
_PATIENCE_S = 5.0  # for another start that has the directory and does not listen yet
_PAUSE_S = 0.05
LOCK_FILE = "window.lock"
_TOKEN, _LONGEST_TOKEN = "XDG_ACTIVATION_TOKEN", 1_000
_ANY_PROCESS = -1
_HEARD = "heard"


def _let_it_come_forward() -> None:
    """Windows lets a process show its window in front only if the one in front allows it."""
    if sys.platform == "win32":
        import ctypes

        ctypes.windll.user32.AllowSetForegroundWindow(_ANY_PROCESS)


class SingleInstance(QObject):
    """Claims a data directory for this process, or tells the process that has it."""

    woken = Signal(str)
    """Another start asked for the window; its wish, see app.targets."""

    def __init__(self, data_dir: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        place = data_dir.resolve()  # by whatever way it is reached
        self._name = "helix-desktop-" + hashlib.sha256(str(place).encode()).hexdigest()[:24]
        self._lock = QLockFile(str(place / LOCK_FILE))
        self._lock.setStaleLockTime(
            0
        )  # a window stays open for weeks: only its process's death frees the lock
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._greet)

    def tell(self, wish: str) -> bool:
        """Hand a wish to the process that has the data directory; False when this one has it now.

        Also False, after a few seconds, when that process does not listen: the window then stands alone.
        """
        until = time.monotonic() + _PATIENCE_S
        while not self._told(wish):
            if self._locked() or time.monotonic() > until:
                return False
            time.sleep(_PAUSE_S)
        return True

    def _told(self, wish: str) -> bool:
        socket = QLocalSocket()
        socket.connectToServer(self._name)
        if not socket.waitForConnected(_WAIT_MS):
            return False
        _let_it_come_forward()
        # Wayland shows a window in front only for who holds the token that this start was given.
        socket.write(f"{wish}\n{os.environ.get(_TOKEN, '')}\n".encode())
        socket.waitForBytesWritten(_WAIT_MS)
        socket.waitForReadyRead(_WAIT_MS)
        return True

    def _locked(self) -> bool:
        """Whether this process has the directory, or no process can: a folder may refuse locks."""
        return self._lock.tryLock(0) or self._lock.error() != QLockFile.LockError.LockFailedError

    def claim(self) -> bool:
        """Begin to listen; False when the system does not allow it (the window then stands alone)."""
        if not self._lock.isLocked() and not self._locked():
            return False
        QLocalServer.removeServer(self._name)  # left behind by a process that was killed: the lock is ours
        return self._server.listen(self._name)

    def close(self) -> None:
        """Stop listening, and let another process have the directory."""
        self._server.close()
        self._lock.unlock()

    def _greet(self) -> None:
        socket = self._server.nextPendingConnection()
        socket.readyRead.connect(lambda: self._hear(socket))
        socket.disconnected.connect(socket.deleteLater)
        if socket.canReadLine():
            self._hear(socket)

    def _hear(self, socket: QLocalSocket) -> None:
        if socket.canReadLine() and not socket.property(_HEARD):
            socket.setProperty(_HEARD, True)  # a token that comes late is no second wish
            wish = bytes(socket.readLine().data()).decode("utf-8", "replace").strip()
            token = bytes(socket.readLine(_LONGEST_TOKEN).data()).decode("ascii", "ignore").strip()
            if token.isprintable() and token:
                os.putenv(_TOKEN, token)  # where Qt looks for it, and forgets it
            socket.write(b"ok\n")
            socket.flush()
            self.woken.emit(wish)
