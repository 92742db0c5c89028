"""A session of its own for an app and a screen reader: a display, a bus, and the accessibility bus on it."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

TIMEOUT_S = 120.0
USER_PROGRAMS = ("xdotool", "openbox", "import")
"""For a user with mouse and keyboard: hands, a window manager, and ImageMagick's pictures of failed steps."""
_BUS_SERVICE = Path("/usr/share/dbus-1/services/org.a11y.Bus.service")


def missing_requirements(*more: str) -> str:
    """Return what a session and `more` programs need and is not installed; empty if nothing is missing."""
    if not sys.platform.startswith("linux"):
        return "AT-SPI, which Linux has"
    lacking = [program for program in ("Xvfb", "dbus-daemon", *more) if shutil.which(program) is None]
    return ", ".join([*lacking, *([] if _BUS_SERVICE.exists() else ["at-spi2-core"])])


@contextmanager
def run(folder: Path) -> Iterator[Mapping[str, str]]:
    """Run display and buses with all their files in `folder`, whose path is short; the app's environment."""
    own = {name: str(folder / name) for name in ("HOME", "XDG_RUNTIME_DIR")}
    for place in own.values():
        Path(place).mkdir(mode=0o700)
    reader, writer = os.pipe()
    # A display that resets when its last client leaves would cut off the client that is just coming.
    options = ("-screen", "0", "1440x900x24", "-nolisten", "tcp", "-noreset")
    screen = ("Xvfb", "-displayfd", str(writer), *options)
    with _run_process(screen, os.environ, pass_fds=(writer,)):
        os.close(writer)
        display = f":{_read_line(reader)}"
        environ = {**os.environ, **own, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb"}
        for leading_out in ("DBUS_SESSION_BUS_ADDRESS", "AT_SPI_BUS_ADDRESS", "WAYLAND_DISPLAY"):
            environ.pop(leading_out, None)
        bus = ("dbus-daemon", "--session", "--nofork", f"--address=unix:path={folder}/bus")
        reader, writer = os.pipe()
        with _run_process((*bus, f"--print-address={writer}"), environ, pass_fds=(writer,)):
            os.close(writer)
            address = _read_line(reader)
            yield environ | {"DBUS_SESSION_BUS_ADDRESS": address, "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1"}


@contextmanager
def _run_process(
    command: tuple[str, ...], environ: Mapping[str, str], pass_fds: tuple[int, ...]
) -> Iterator[None]:
    process = subprocess.Popen(
        command, env=environ, pass_fds=pass_fds, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(TIMEOUT_S)


def _read_line(descriptor: int) -> str:
    """Read one line that a program writes when it is ready. Raises AssertionError when it never is."""
    with open(descriptor, encoding="utf-8") as pipe:
        ready, _, _ = select.select([pipe], [], [], TIMEOUT_S)
        assert ready, "display or bus did not start"
        return pipe.readline().strip()
