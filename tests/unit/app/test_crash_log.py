"""The log of what goes wrong."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from helix_desktop.app.crash_log import close_log, log, open_log
from helix_desktop.config.paths import LOG_FILE


@pytest.mark.skipif(sys.platform != "linux", reason="has no device that is always full")
def test_what_a_full_disk_refuses_is_dropped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / LOG_FILE).symlink_to("/dev/full")
    handler = open_log(tmp_path)
    log.info("The store was closed.")
    close_log(handler)
    assert capsys.readouterr().err == ""
