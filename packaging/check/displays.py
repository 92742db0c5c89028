"""Displays in a chroot: X11 with a window manager, and Wayland; screenshots are saved as pictures."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from check.chroot import USER, Chroot
from check.table import Wrong

SIZE = (1600, 1000)
X11_PACKAGES = ("xvfb", "openbox", "xdotool", "scrot")
WAYLAND_PACKAGES = ("weston",)
_X11 = {"DISPLAY": ":77"}
_RUNTIME = f"/tmp/runtime-{USER}"
_WAYLAND = {"WAYLAND_DISPLAY": "wayland-77", "XDG_RUNTIME_DIR": _RUNTIME, "XDG_SESSION_TYPE": "wayland"}
# The same things had other names in Weston 10.
_WESTON = {"bookworm": "--backend=headless-backend.so --use-pixman"}
_WESTON_NOW = "--backend=headless --renderer=pixman"
_PATIENCE_S = 60.0


class Display(Protocol):
    environ: dict[str, str]

    def picture(self, path: Path) -> None:
        """Save a screenshot as a PNG. Raise Wrong."""
        ...


@dataclass
class X11:
    """Xvfb, and openbox to manage windows."""

    chroot: Chroot
    environ: dict[str, str]

    def picture(self, path: Path) -> None:
        """Save a screenshot as a PNG. Raise Wrong."""
        self.chroot.run("scrot --overwrite /tmp/shot.png", user=USER, environ=self.environ).must()
        keep(self.chroot.root / "tmp/shot.png", path)

    def windows(self) -> list[str]:
        """The numbers of the app's windows."""
        line = "xdotool search --onlyvisible --class helix"
        done = self.chroot.run(line, user=USER, environ=self.environ)
        return done.output.split() if done.code == 0 else []

    def is_managed(self) -> bool:
        """Whether the window manager is at work."""
        return self.chroot.run("xdotool get_desktop", user=USER, environ=self.environ).code == 0

    def write(self, text: str) -> None:
        """Type a line into the window that has the keyboard. Raises Wrong."""
        line = f"xdotool type --delay 20 {shlex.quote(text)} && xdotool key Return"
        self.chroot.run(line, user=USER, environ=self.environ).must()

    def minimize(self, window: str) -> None:
        """Put a window away. Raises Wrong when it stays."""
        line = f"xdotool windowminimize --sync {window}"
        self.chroot.run(line, user=USER, environ=self.environ, limit=20).must()
        if window in self.windows():
            raise Wrong("the window cannot be put away")


@dataclass
class Wayland:
    """Weston without a screen."""

    chroot: Chroot
    environ: dict[str, str]

    def picture(self, path: Path) -> None:
        """Save a screenshot as a PNG. Raise Wrong."""
        line = f"cd {_RUNTIME} && rm -f *.png && weston-screenshooter"
        self.chroot.run(line, user=USER, environ=self.environ, limit=60).must()
        shots = list((self.chroot.root / _RUNTIME.lstrip("/")).glob("*.png"))
        if not shots:
            raise Wrong("weston-screenshooter made no picture")
        keep(shots[0], path)


@contextmanager
def x11(chroot: Chroot) -> Iterator[X11]:
    """A running X11 display. Raises Wrong."""
    (chroot.root / "tmp/.X11-unix").mkdir(mode=0o1777, exist_ok=True)
    (chroot.root / "tmp/.X11-unix").chmod(0o1777)
    width, height = SIZE
    # Not on the abstract socket, which all systems on this machine share.
    screen = f"Xvfb :77 -screen 0 {width}x{height}x24 -ac -noreset -nolisten tcp -nolisten local"
    # Owned by root, so that their files in a home are not taken for the app's.
    with _running(chroot, screen, "xvfb.log", {}, user="root"):
        until(lambda: _listens(chroot.root / "tmp/.X11-unix/X77"), "Xvfb", chroot.root / "tmp/xvfb.log")
        with _running(chroot, "openbox", "openbox.log", _X11, user="root"):
            display = X11(chroot, _X11)
            until(display.is_managed, "openbox", chroot.root / "tmp/openbox.log")
            yield display


def _listens(place: Path) -> bool:
    """Return True if a server accepts connections there: its socket is visible a moment before."""
    folder = os.open(place.parent, os.O_PATH)
    try:
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(f"/proc/self/fd/{folder}/{place.name}")  # a path of any length
    except OSError:
        return False
    finally:
        os.close(folder)
    return True


@contextmanager
def wayland(chroot: Chroot) -> Iterator[Wayland]:
    """A running Wayland display. Raises Wrong."""
    chroot.run(f"install -d -m 700 -o {USER} -g {USER} {_RUNTIME}").must()
    width, height = SIZE
    how = _WESTON.get(chroot.suite, _WESTON_NOW)
    line = f"weston {how} --width={width} --height={height} --socket=wayland-77 --idle-time=0 --debug"
    environ = {"XDG_RUNTIME_DIR": _RUNTIME}
    with _running(chroot, line, "weston.log", environ, user=USER):
        place = chroot.root / _RUNTIME.lstrip("/") / "wayland-77"
        # A caller that exits at once may end it.
        until(place.exists, "weston", chroot.root / "tmp/weston.log")
        yield Wayland(chroot, _WAYLAND)


@contextmanager
def app(chroot: Chroot, words: str, environ: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """The app with its window, ended by SIGTERM as at the end of a session. Raises Wrong."""
    log = chroot.root / "tmp/app.log"
    process = chroot.start(f"helix-desktop {words}", log, user=USER, environ=environ)
    try:
        yield process
        if process.poll() is not None:
            raise Wrong(f"the app ended by itself with {process.returncode}: {tail(log)}")
    finally:
        code = stop(process)
    if code:
        raise Wrong(f"the app ended with {code}: {tail(log)}")


def processes(chroot: Chroot) -> set[int]:
    """Return the processes in a chroot that run the app's own program."""
    pids = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                program = os.readlink(entry / "exe")
            except OSError:
                continue  # it has ended meanwhile
            if program.endswith("/usr/lib/helix-desktop/helix-desktop") and _is_in(entry, chroot):
                pids.add(int(entry.name))
    return pids


def until(true: Callable[[], object], what: str, log: Path, patience_s: float = _PATIENCE_S) -> None:
    """Wait until something is so. Raises Wrong with the end of a log."""
    end = time.monotonic() + patience_s
    while not true():
        if time.monotonic() > end:
            raise Wrong(f"{what} did not come within {patience_s:.0f} s: {tail(log)}")
        time.sleep(0.1)


def tail(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-600:] if log.exists() else ""


def keep(picture: Path, path: Path) -> None:
    """Put a picture where people look for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(picture, path)


def stop(process: subprocess.Popen[bytes]) -> int:
    """End a process by SIGTERM, or after half a minute by force; its exit code."""
    process.terminate()
    try:
        return process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


@contextmanager
def _running(chroot: Chroot, line: str, log: str, environ: dict[str, str], *, user: str) -> Iterator[None]:
    process = chroot.start(line, chroot.root / "tmp" / log, user=user, environ=environ)
    try:
        yield
    finally:
        stop(process)


def _is_in(entry: Path, chroot: Chroot) -> bool:
    try:
        return os.readlink(entry / "root") == str(chroot.root.resolve())
    except OSError:
        return False
