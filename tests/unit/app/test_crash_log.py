"""The log of what goes wrong."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from helix_desktop.app.crash_log import close_window_logs, open_window_logs
from helix_desktop.config.log_file import close_log, log, open_log
from helix_desktop.config.paths import LOG_FILE, STACKS_FILE


@pytest.mark.skipif(sys.platform != "linux", reason="has no device that is always full")
def test_what_a_full_disk_refuses_is_dropped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / LOG_FILE).symlink_to("/dev/full")
    handler = open_log(tmp_path)
    log.info("The store was closed.")
    close_log(handler)
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no pipes with a name")
def test_logs_that_are_pipes_stop_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody reads them: opened as files they would wait for ever."""
    os.mkfifo(tmp_path / LOG_FILE)
    os.mkfifo(tmp_path / STACKS_FILE)
    hooks = sys.excepthook, threading.excepthook
    stacks = open_window_logs(tmp_path)
    log.info("The store was closed.")
    close_window_logs(stacks)
    sys.excepthook, threading.excepthook = hooks
    assert capsys.readouterr().err == ""
