"""One window per data directory: a second start sends its launch target to the first and exits."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from pathlib import Path

from PySide6.QtCore import QLockFile, QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from helix_desktop.domain.errors import InstanceNotResponding
from helix_desktop.domain.translatable_text import TextContext, join_sentences

text = TextContext("Start")

_CONNECT_TIMEOUT_MS = 1_000
_ANSWER_TIMEOUT_S = 8.0  # for a window that listens and may be busy; then it counts as hung
_START_OR_END_TIMEOUT_S = 30.0  # for one that does not listen yet, or no more: it starts or ends
_PAUSE_S = 0.05
LOCK_FILE = "window.lock"
_TOKEN = "XDG_ACTIVATION_TOKEN"
_MAX_TOKEN_CHARS = 1_000
_ANY_PROCESS = -1
_HANDLED_PROPERTY = "heard"


def _allow_foreground() -> None:
    """Allow the other process to raise its window: on Windows only the process in front can."""
    if sys.platform == "win32":
        import ctypes

        ctypes.windll.user32.AllowSetForegroundWindow(_ANY_PROCESS)


class SingleInstance(QObject):
    """Claims a data directory for this process, or sends to the process that has it."""

    activated = Signal(str)
    """Another start asked for the window; its launch target, see app.launch_targets."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__()
        folder = data_dir.resolve()  # by whatever way it is reached
        self.server_name = "helix-desktop-" + hashlib.sha256(str(folder).encode()).hexdigest()[:24]
        self._lock = QLockFile(str(folder / LOCK_FILE))
        # A window stays open for weeks: only its process's death frees the lock.
        self._lock.setStaleLockTime(0)
        self._is_reached = False  # whether a process listened when this one sent last
        self.is_ending = False
        """A signal has asked this process to end; the event loop may run its handler after a later start."""
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._on_connection)

    def send(self, launch_target: str) -> bool:
        """Send a launch target to the process with the data directory; False if this one has it now.

        Raises InstanceNotResponding when that process lives and does not answer; it keeps the target.
        """
        start_s = time.monotonic()
        while not self._deliver(launch_target, start_s + _ANSWER_TIMEOUT_S):
            if self._try_lock():
                return False
            waited_s = time.monotonic() - start_s
            if waited_s > (_ANSWER_TIMEOUT_S if self._is_reached else _START_OR_END_TIMEOUT_S):
                raise self._not_responding(waited_s)
            time.sleep(_PAUSE_S)
        return True

    def deliver(self, launch_target: str) -> bool:
        """Send a launch target to the process that listens, if one does; this one claims nothing."""
        return self._deliver(launch_target, time.monotonic() + _ANSWER_TIMEOUT_S)

    def _deliver(self, launch_target: str, deadline_s: float) -> bool:
        """Return True if the listening process has acknowledged; it may be busy before that."""
        socket = QLocalSocket()
        socket.connectToServer(self.server_name)
        self._is_reached = socket.waitForConnected(_CONNECT_TIMEOUT_MS)
        if not self._is_reached:
            return False
        _allow_foreground()
        # Wayland shows a window in front only for who holds the token that this start was given.
        socket.write(f"{launch_target}\n{os.environ.get(_TOKEN, '')}\n".encode())
        socket.waitForBytesWritten(_CONNECT_TIMEOUT_MS)
        left_ms = max(1, int((deadline_s - time.monotonic()) * 1_000))
        return socket.waitForReadyRead(left_ms)  # also ends when the other one goes

    def _not_responding(self, waited_s: float) -> InstanceNotResponding:
        pid = self._owner_pid()
        return InstanceNotResponding(
            text("Helix Desktop is already running but not responding (process {pid}).", pid=str(pid))
            if pid
            else text("Helix Desktop is already running but not responding."),
            text("It hasn't answered for {seconds} seconds.", seconds=round(waited_s)),
            join_sentences(
                text("Wait: once it responds, it opens what you asked for."),
                text("Otherwise end that process and start again. Your data is safe."),
            ),
        )

    def _owner_pid(self) -> int:
        """Return the process that holds the lock; 0 if unknown."""
        info = self._lock.getLockInfo()
        pid = info[0] if isinstance(info, tuple) and info else 0
        return pid if isinstance(pid, int) and pid > 0 else 0

    def _try_lock(self) -> bool:
        """Return True if this process has the lock, or no process can: a folder may not support locks."""
        return self._lock.tryLock(0) or self._lock.error() != QLockFile.LockError.LockFailedError

    def claim(self) -> bool:
        """Start listening; return False if the system does not allow it (the window then runs alone)."""
        if not self._lock.isLocked() and not self._try_lock():
            return False
        QLocalServer.removeServer(self.server_name)  # left behind by a killed process: the lock is ours
        return self._server.listen(self.server_name)

    def stop_listening(self) -> None:
        """Accept no more launch targets: a closing window would lose them; another start waits and opens."""
        self._server.close()

    def close(self) -> None:
        self._server.close()
        self._lock.unlock()

    def _on_connection(self) -> None:
        socket = self._server.nextPendingConnection()
        socket.readyRead.connect(lambda: self._on_request(socket))
        socket.disconnected.connect(socket.deleteLater)
        if socket.canReadLine():
            self._on_request(socket)

    def _on_request(self, socket: QLocalSocket) -> None:
        if self.is_ending or not self._server.isListening():
            socket.abort()  # what it asks for would be lost: it tries again, until this process has ended
        elif socket.canReadLine() and not socket.property(_HANDLED_PROPERTY):
            socket.setProperty(_HANDLED_PROPERTY, True)  # a token that comes late is no second request
            launch_target = bytes(socket.readLine().data()).decode("utf-8", "replace").strip()
            token = bytes(socket.readLine(_MAX_TOKEN_CHARS).data()).decode("ascii", "ignore").strip()
            if token.isprintable() and token:
                os.putenv(_TOKEN, token)  # where Qt looks for it, and forgets it
            socket.write(b"ok\n")
            socket.flush()
            self.activated.emit(launch_target)
