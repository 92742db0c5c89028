"""The installed app's window: under X11 and under Wayland, a second start, what the first start leaves."""

from __future__ import annotations

import time
from pathlib import Path

from check.chroot import PERSON, Room
from check.displays import (
    WAYLAND_PACKAGES,
    X11,
    X11_PACKAGES,
    Display,
    app,
    processes,
    tail,
    until,
    wayland,
    x11,
)
from check.table import Step, Table, Wrong
from check.used import EXPORT, PROJECT, listing, strays

SHOTS = Path(__file__).resolve().parents[2] / "dist" / "check"
_DEMO_S = 40
_PAINT_S = 4


def first_start(room: Room, table: Table) -> None:
    """Show it for the first time ever."""
    with table.step("X11: the display"):
        room.install(*X11_PACKAGES)
    if table.steps[-1].passed:
        with x11(room) as display:
            _first_start(room, table, display)


def on_x11(room: Room, table: Table, suite: str) -> None:
    """Show it under X11."""
    with table.step("X11: self-check") as step, x11(room) as display:
        done = room.run("helix-desktop self-check", user=PERSON, environ=display.environ).must()
        if "xcb," not in done.output:
            raise Wrong(done.output)
        step.detail = "its window is one of X11"
    if table.steps[-1].passed:
        with x11(room) as display:
            _second_start(room, table, display)
            with table.step("X11: the guided sample in the window") as step:
                _pictured(room, step, display, "--demo", f"deb-{suite}-x11.png", _DEMO_S)
            with table.step("X11: a .helix file is opened, after a question") as step:
                _pictured(room, step, display, EXPORT, f"deb-{suite}-x11-file.png", _PAINT_S)


def on_wayland(room: Room, table: Table, suite: str) -> None:
    """Show it under Wayland."""
    with table.step("Wayland: the display"):
        room.install(*WAYLAND_PACKAGES)
    if table.steps[-1].passed:
        with wayland(room) as display:
            with table.step("Wayland: self-check") as step:
                done = room.run("helix-desktop self-check", user=PERSON, environ=display.environ).must()
                if "wayland," not in done.output:
                    raise Wrong(done.output)
                step.detail = "its window is one of Wayland"
            with table.step("Wayland: the guided sample in the window") as step:
                _pictured(room, step, display, "--demo", f"deb-{suite}-wayland.png", _DEMO_S)


def after_upgrade(room: Room, table: Table, suite: str) -> None:
    """Show the workspace that the older build made."""
    with x11(room) as display, table.step("upgrade: the older build's workspace opens in the window") as step:
        name = f"deb-{suite}-upgraded.png"
        _pictured(room, step, display, f"--workspace {PROJECT}", name, _PAINT_S)


def _first_start(room: Room, table: Table, display: X11) -> None:
    with table.step("X11: the first start writes into its data folder only") as step:
        log = room.root / "tmp/app.log"
        before = listing(room)
        started = time.monotonic()
        with app(room, "", display.environ):
            until(display.windows, "the window", log)
            seconds = time.monotonic() - started
            time.sleep(_PAINT_S)
            during = listing(room)
        wrong, caches = strays((listing(room) | during) - before)
        if wrong:
            raise Wrong(f"it made {', '.join(wrong)}")
        step.detail = f"window after {seconds:.1f} s; caches of libraries: {', '.join(caches) or 'none'}"


def _second_start(room: Room, table: Table, display: X11) -> None:
    with table.step("X11: a second start shows the first window") as step:
        log = room.root / "tmp/app.log"
        with app(room, "", display.environ):
            until(display.windows, "the window", log)
            time.sleep(_PAINT_S)
            windows, running = display.windows(), processes(room)
            display.minimize(windows[0])
            again = room.run("helix-desktop", user=PERSON, environ=display.environ, limit=60).must()
            until(lambda: display.windows() == windows, "the first window", log, 10)
            if processes(room) != running:
                raise Wrong(f"processes {running} became {processes(room)}")
        step.detail = f"put away, it came back in {again.seconds:.1f} s: same window, same process"


def _pictured(room: Room, step: Step, display: Display, words: str, name: str, wait_s: float) -> None:
    """Show the app, wait, and keep a picture of the whole display."""
    with app(room, words, display.environ):
        time.sleep(wait_s)
        display.picture(SHOTS / name)
    step.detail = f"dist/check/{name}; {tail(room.root / 'tmp/app.log').strip()[-200:]}"
