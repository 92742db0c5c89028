"""The installed app's window: under X11 and under Wayland, a second start, files of the first start."""

from __future__ import annotations

import time
from pathlib import Path

from check.chroot import USER, Chroot
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
from check.usage_checks import EXPORT, PROJECT, listing, stored_digests, strays

SHOTS = Path(__file__).resolve().parents[2] / "dist" / "check"
_SAMPLE = ".local/share/helix-desktop/samples/tidewatch"
_ASK = "Get to know this project: what does it do, how is it built, and do its tests pass?"
_MIN_ENTRIES = 10
_PAINT_S = 4
_MIN_PICTURE_BYTES = 40_000  # bytes: one without a window has a tenth of that
_SOCKET = "/tmp/helix-desktop-"


def first_start(chroot: Chroot, table: Table) -> None:
    """Show it for the first time ever."""
    with table.step("X11: the display"):
        chroot.install(*X11_PACKAGES)
    if table.steps[-1].passed:
        with x11(chroot) as display:
            _first_start(chroot, table, display)


def on_x11(chroot: Chroot, table: Table, suite: str) -> None:
    with table.step("X11: self-check") as step, x11(chroot) as display:
        _check_window(chroot, step, display, "xcb", "X11")
    if table.steps[-1].passed:
        with x11(chroot) as display:
            _second_start(chroot, table, display)
            with table.step("X11: the guided sample in the window, its first message sent") as step:
                _sample(chroot, step, display, f"deb-{suite}-x11.png")
            with table.step("X11: a .helix file is opened, after a question") as step:
                _save_picture(chroot, step, display, EXPORT, f"deb-{suite}-x11-file.png", _PAINT_S)


def on_wayland(chroot: Chroot, table: Table, suite: str) -> None:
    with table.step("Wayland: the display"):
        chroot.install(*WAYLAND_PACKAGES)
    if table.steps[-1].passed:
        with wayland(chroot) as display:
            with table.step("Wayland: self-check") as step:
                _check_window(chroot, step, display, "wayland", "Wayland")
            with table.step("Wayland: the guided sample in the window") as step:
                _save_picture(chroot, step, display, "--demo", f"deb-{suite}-wayland.png", _PAINT_S)


def after_upgrade(chroot: Chroot, table: Table, suite: str) -> None:
    """Show the workspace that the older build made."""
    with (
        x11(chroot) as display,
        table.step("upgrade: the older build's workspace opens in the window") as step,
    ):
        name = f"deb-{suite}-upgraded.png"
        _save_picture(chroot, step, display, f"--workspace {PROJECT}", name, _PAINT_S)


def _check_window(chroot: Chroot, step: Step, display: Display, platform: str, name: str) -> None:
    done = chroot.run("helix-desktop self-check", user=USER, environ=display.environ).must()
    if f"painted on {platform}" not in done.output:
        raise Wrong(done.output)
    step.detail = f"its window is one of {name}"


def _first_start(chroot: Chroot, table: Table, display: X11) -> None:
    with table.step("X11: the first start writes into its data folder only") as step:
        log = chroot.root / "tmp/app.log"
        before = listing(chroot)
        started = time.monotonic()
        with app(chroot, "", display.environ):
            until(display.windows, "the window", log)
            seconds = time.monotonic() - started
            time.sleep(_PAINT_S)
            during, _ = strays(listing(chroot) - before)
        wrong, caches = strays(listing(chroot) - before)
        if wrong or [path for path in during if not path.startswith(_SOCKET)]:
            raise Wrong(f"it made {', '.join({*wrong, *during})}")
        step.detail = (
            f"window after {seconds:.1f} s; while it is open its socket: {', '.join(during)}; "
            f"caches that libraries keep: {', '.join(caches) or 'none'}"
        )


def _second_start(chroot: Chroot, table: Table, display: X11) -> None:
    with table.step("X11: a second start shows the first window") as step:
        log = chroot.root / "tmp/app.log"
        with app(chroot, "", display.environ):
            until(display.windows, "the window", log)
            time.sleep(_PAINT_S)
            windows = display.windows()
            running = processes(chroot)
            display.minimize(windows[0])
            again = chroot.run("helix-desktop", user=USER, environ=display.environ, limit=60).must()
            until(lambda: display.windows() == windows, "the first window", log, 10)
            if processes(chroot) != running:
                raise Wrong(f"processes {running} became {processes(chroot)}")
        step.detail = f"put away, it came back in {again.seconds:.1f} s: same window, same process"


def _sample(chroot: Chroot, step: Step, display: X11, name: str) -> None:
    """Send the sample's first message as a user does, and wait for the agent's reads and commands."""
    log = chroot.root / "tmp/app.log"
    with app(chroot, "--demo", display.environ):
        until(display.windows, "the window", log)
        time.sleep(2 * _PAINT_S)
        display.write(_ASK)
        until(lambda: len(stored_digests(chroot, _SAMPLE)) >= _MIN_ENTRIES, "the agent's work", log)
        time.sleep(2 * _PAINT_S)
        display.picture(SHOTS / name)
        step.detail = f"{len(stored_digests(chroot, _SAMPLE))} outputs in its cache; dist/check/{name}"


def _save_picture(chroot: Chroot, step: Step, display: Display, words: str, name: str, wait_s: float) -> None:
    """Show the app, wait, and save a picture of the complete display."""
    with app(chroot, words, display.environ):
        time.sleep(wait_s)
        display.picture(SHOTS / name)
        log = tail(chroot.root / "tmp/app.log").strip()
    if (SHOTS / name).stat().st_size < _MIN_PICTURE_BYTES or "Traceback" in log:
        raise Wrong(f"dist/check/{name} shows no window, or the app failed: {log}")
    step.detail = f"dist/check/{name}{'; it said: ' if log else ''}{log}"
