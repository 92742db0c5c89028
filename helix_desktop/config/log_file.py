"""The log file: what failed, without the content of conversations and without keys."""

from __future__ import annotations

import logging
import logging.handlers
import os
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path

from helix_desktop.config.paths import LOG_FILE

_MAX_LOG_BYTES = 1_000_000  # bytes of one file
_KEPT_LOG_FILES = 3  # files besides the one that is written
log = logging.getLogger("helix_desktop")


class _LogFile(logging.handlers.RotatingFileHandler):
    """A log that drops what a full disk or a pipe refuses; the default writes its stacks to the terminal."""

    def _open(self) -> TextIOWrapper:
        return open_to_append(self.baseFilename)

    def handleError(self, record: logging.LogRecord) -> None:
        """Drop a record."""


def open_to_append(path: Path | str) -> TextIOWrapper:
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
