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

from helix_desktop.app.qt_log import leave_qt_messages, take_qt_messages

_SIZE, _KEPT = 1_000_000, 3  # bytes per file, files
log = logging.getLogger("helix_desktop")


def open_logs(folder: Path) -> TextIO:
    """Log warnings and worse to `folder`, and stacks of hard crashes beside; close what is returned at exit.

    The log holds no content of conversations and no keys: modules log what failed, never what was said.
    """
    handler = logging.handlers.RotatingFileHandler(
        folder / "helix-desktop.log", maxBytes=_SIZE, backupCount=_KEPT, encoding="utf-8", delay=True
    )
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    sys.excepthook = _uncaught
    threading.excepthook = lambda args: log.error("thread failed", exc_info=args.exc_value)
    stacks = (folder / "crash.log").open("a", encoding="utf-8")
    faulthandler.enable(stacks)
    take_qt_messages()
    return stacks


def close_logs(stacks: TextIO) -> None:
    """Undo `open_logs`."""
    leave_qt_messages()
    faulthandler.disable()
    stacks.close()
    for handler in tuple(log.handlers):
        log.removeHandler(handler)
        handler.close()
    sys.excepthook, threading.excepthook = sys.__excepthook__, threading.__excepthook__


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    log.error("uncaught", exc_info=(kind, error, trace))
    sys.__excepthook__(kind, error, trace)
