"""What is kept when something goes wrong: a rotating log, and the stacks of a crash."""

from __future__ import annotations

import faulthandler
import logging
import logging.handlers
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import TextIO

LOG_FILE, STACKS_FILE = "helix-desktop.log", "crash.log"
_SIZE, _KEPT = 1_000_000, 3  # bytes per file, files
log = logging.getLogger("helix_desktop")


def open_log(folder: Path) -> logging.Handler:
    """Log warnings and worse to `folder`; hand what is returned to `close_log` at exit.

    The log holds no content of conversations and no keys: modules log what failed, never what was said.
    """
    handler = logging.handlers.RotatingFileHandler(
        folder / LOG_FILE, maxBytes=_SIZE, backupCount=_KEPT, encoding="utf-8", delay=True
    )
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    return handler


def close_log(handler: logging.Handler) -> None:
    """Undo `open_log`."""
    log.removeHandler(handler)
    handler.close()


def open_logs(folder: Path) -> TextIO:
    """For the window: also what Qt says, and the stacks of hard crashes; close what is returned at exit."""
    from helix_desktop.app.qt_log import take_qt_messages

    open_log(folder)
    sys.excepthook = _uncaught
    threading.excepthook = lambda args: log.error("thread failed", exc_info=args.exc_value)
    stacks = (folder / STACKS_FILE).open("a", encoding="utf-8")
    faulthandler.enable(stacks)
    take_qt_messages()
    return stacks


def close_logs(stacks: TextIO) -> None:
    """Undo `open_logs`."""
    from helix_desktop.app.qt_log import leave_qt_messages

    leave_qt_messages()
    faulthandler.disable()
    stacks.close()
    for handler in tuple(log.handlers):
        close_log(handler)
    sys.excepthook, threading.excepthook = sys.__excepthook__, threading.__excepthook__


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    log.error("uncaught", exc_info=(kind, error, trace))
    sys.__excepthook__(kind, error, trace)
