"""What the window logs for the case that something goes wrong: errors, Qt's messages, stacks of a crash."""

from __future__ import annotations

import errno
import faulthandler
import logging
import os
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import TextIO

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

from helix_desktop.config.log_file import close_log, log, open_log, open_to_append
from helix_desktop.config.paths import STACKS_FILE

_qt_log = logging.getLogger("helix_desktop.qt")
_IGNORED = ("does not support propagateSizeHints", "does not support raise()")
_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}


def open_window_logs(folder: Path) -> TextIO:
    """Open the log; log Qt's messages and the stacks of crashes too. Return the file of stacks."""
    open_log(folder)
    sys.excepthook = _log_uncaught
    threading.excepthook = lambda args: log.error("thread failed", exc_info=args.exc_value)
    try:
        stacks = open_to_append(folder / STACKS_FILE)
    except OSError as error:
        if error.errno != errno.ENXIO:  # a pipe
            raise
        stacks = open_to_append(os.devnull)
    faulthandler.enable(stacks)
    qInstallMessageHandler(_log_qt_message)
    return stacks


def close_window_logs(stacks: TextIO) -> None:
    qInstallMessageHandler(None)
    faulthandler.disable()
    stacks.close()
    for handler in tuple(log.handlers):
        close_log(handler)
    sys.excepthook = sys.__excepthook__
    threading.excepthook = threading.__excepthook__


def _log_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    log.error("uncaught", exc_info=(kind, error, trace))
    sys.__excepthook__(kind, error, trace)


def _log_qt_message(kind: QtMsgType, _context: QMessageLogContext, text: str) -> None:
    if not any(words in text for words in _IGNORED):
        _qt_log.log(_LEVELS.get(kind, logging.WARNING), "%s", text)
