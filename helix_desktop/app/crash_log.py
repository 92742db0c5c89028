"""Logs for the case that something goes wrong: a rotating log, and the stacks of a crash."""

from __future__ import annotations

import errno
import faulthandler
import logging
import logging.handlers
import os
import sys
import threading
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from types import TracebackType
from typing import TextIO

from helix_desktop.config.paths import LOG_FILE, STACKS_FILE

_MAX_LOG_BYTES, _KEPT_LOG_FILES = 1_000_000, 3  # bytes per file, files
log = logging.getLogger("helix_desktop")


class _LogFile(logging.handlers.RotatingFileHandler):
    """A log that drops what a full disk or a pipe refuses; the default writes its stacks to the terminal."""

    def _open(self) -> TextIOWrapper:
        return _open_to_append(self.baseFilename)

    def handleError(self, record: logging.LogRecord) -> None:
        """Drop a record."""


def _open_to_append(path: Path | str) -> TextIOWrapper:
    """Open a log. Raises OSError, also for a pipe without a reader, which would wait for ever."""
    flags = getattr(os, "O_NONBLOCK", 0)
    return open(path, "a", encoding="utf-8", opener=lambda name, mode: os.open(name, mode | flags, 0o666))


def open_log(folder: Path) -> logging.Handler:
    """Log to a file in `folder`; pass the result to `close_log` at exit.

    The log holds no content of conversations and no keys: modules log what failed, never what was said.
    """
    handler = _LogFile(
        folder / LOG_FILE, maxBytes=_MAX_LOG_BYTES, backupCount=_KEPT_LOG_FILES, encoding="utf-8", delay=True
    )
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    return handler


def close_log(handler: logging.Handler) -> None:
    log.removeHandler(handler)
    with suppress(OSError):  # a full disk
        handler.close()


def open_window_logs(folder: Path) -> TextIO:
    """Open the log; log Qt's messages and the stacks of crashes too. Return the file of stacks."""
    from helix_desktop.app.qt_log import install_qt_log

    open_log(folder)
    sys.excepthook = _log_uncaught
    threading.excepthook = lambda args: log.error("thread failed", exc_info=args.exc_value)
    try:
        stacks = _open_to_append(folder / STACKS_FILE)
    except OSError as error:
        if error.errno != errno.ENXIO:  # a pipe
            raise
        stacks = _open_to_append(os.devnull)
    faulthandler.enable(stacks)
    install_qt_log()
    return stacks


def close_window_logs(stacks: TextIO) -> None:
    from helix_desktop.app.qt_log import uninstall_qt_log

    uninstall_qt_log()
    faulthandler.disable()
    stacks.close()
    for handler in tuple(log.handlers):
        close_log(handler)
    sys.excepthook, threading.excepthook = sys.__excepthook__, threading.__excepthook__


def _log_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    log.error("uncaught", exc_info=(kind, error, trace))
    sys.__excepthook__(kind, error, trace)
