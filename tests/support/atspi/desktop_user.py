"""A user in front of the window, in another process: sees it over AT-SPI, has a mouse and a keyboard.

    with desktop(folder) as user:
        user.start_app()
        with user.step("open a folder"):
            user.keys("ctrl+o")
            user.click("push button", "Cancel", inside="Open folder")

What is clicked is found by role and accessible name, like a screen reader finds it, and clicked where it is
on the screen. A step that fails leaves a picture of the screen and an outline of what was visible.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tests.support.atspi import headless_session
from tests.support.atspi.client import AccessibilityBus, AppGone, KnownNodes, Node, Rectangle
from tests.support.cli_rig import ROOT

WAIT_S = 60.0
"""For one visible change, on a busy machine."""
_POLL_S = 0.05
_MOST_PATIENCE = 4.0  # pause between two looks, in durations of a look
_OUTLINED_STATES = frozenset({"checked", "selected", "focused", "expanded"})
# Numbers of buttons.
_WHEEL_UP = 4
_WHEEL_DOWN = 5
_MAX_WHEEL_STEPS = 200

Found = TypeVar("Found")


@contextmanager
def desktop(folder: Path, reports: Path) -> Iterator[DesktopUser]:
    """Run a display, a window manager and a user; their files are in `folder`, whose path is short.

    What a failed step leaves is put into `reports`.
    """
    with headless_session.run(folder) as session:
        environ = {**session, "PYTHONPATH": str(ROOT), "HELIX_DATA_DIR": str(folder / "data")}
        quiet = subprocess.DEVNULL
        manager = subprocess.Popen(("openbox", "--sm-disable"), env=environ, stdout=quiet, stderr=quiet)
        try:
            _wait_for_window_manager(manager, environ)
            with AccessibilityBus(session["DBUS_SESSION_BUS_ADDRESS"]) as eyes:
                user = DesktopUser(environ, folder, reports, eyes)
                yield user
                user.close_app()
        finally:
            manager.terminate()
            manager.wait(WAIT_S)


def _wait_for_window_manager(manager: subprocess.Popen[bytes], environ: Mapping[str, str]) -> None:
    """Wait until windows get the keyboard: one that comes before the window manager never may."""
    ends = time.monotonic() + WAIT_S
    quiet = subprocess.DEVNULL
    question = ("xdotool", "get_num_desktops")
    while subprocess.run(question, env=environ, stdout=quiet, stderr=quiet, check=False).returncode:
        assert manager.poll() is None, f"the window manager ended with {manager.returncode}"
        assert time.monotonic() < ends, "the window manager did not start"
        time.sleep(_POLL_S)


@dataclass
class DesktopUser:
    """Eyes and hands of a user; `nodes` is what was visible at the last look."""

    environ: Mapping[str, str]
    folder: Path
    reports: Path
    eyes: AccessibilityBus
    process: subprocess.Popen[bytes] | None = None
    nodes: list[Node] = field(default_factory=list)
    known_nodes: KnownNodes = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return Path(self.environ["HOME"])

    def start_app(self, *arguments: str) -> None:
        """Start the app and wait until its window has the keyboard."""
        with (self.folder / "app.log").open("ab") as log:
            self.process = subprocess.Popen(
                (sys.executable, "-X", "faulthandler", "-m", "helix_desktop", *arguments),
                env=self.environ,
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )
        self.until(
            lambda: any(node.role == "frame" and "active" in node.states for node in self.nodes),
            "an active window",
        )

    def close_app(self) -> None:
        """End the app the way a system does that shuts down, and wait for it."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            assert self.process.wait(WAIT_S) == 0, (self.folder / "app.log").read_text()
            self.process = None

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Name what the user does now; if it fails, save what is on the screen and name the files."""
        try:
            yield
        except Exception as error:
            picture, outline = (self.reports / f"failed{suffix}" for suffix in (".png", ".txt"))
            outline.write_text(self.outline())
            self._run("import", "-window", "root", picture)
            error.add_note(f"in the step: {name}; what was visible: {picture} and {outline}")
            raise

    def look(self) -> list[Node]:
        """Read everything that is visible of the app."""
        assert self.process is not None
        assert self.process.poll() is None, (self.folder / "app.log").read_text()
        try:
            apps = self.eyes.apps()
            self.nodes = [node for app in apps for node in self.eyes.walk(app, True, self.known_nodes)]
        except AppGone:
            self.nodes = []
        return self.nodes

    def find(self, role: str, name: str = "", inside: str = "") -> Node | None:
        """Return the first visible node of a role with this name, else with this text in its name.

        A space that breaks no line looks like any other.
        """
        candidates = [
            node
            for node in self.nodes
            if node.role == role
            and name in node.name.replace("\xa0", " ")
            and (not inside or any(inside in above.name for above in node.ancestors()))
        ]
        return next((node for node in candidates if node.name == name), next(iter(candidates), None))

    def until(self, holds: Callable[[], Found], what: str) -> Found:
        """Look until something is visible, and return it. Raises AssertionError at the limit."""
        ends = time.monotonic() + WAIT_S
        patience = 1.0
        while True:
            started_at_s = time.monotonic()
            self.look()
            if found := holds():
                return found
            assert time.monotonic() < ends, f"never visible: {what}"
            # A look keeps the app busy: let it work, too, and longer the longer it takes.
            time.sleep(max(_POLL_S, patience * (time.monotonic() - started_at_s)))
            patience = min(_MOST_PATIENCE, patience * 1.5)

    def see(self, role: str, name: str = "", inside: str = "") -> Node:
        """Wait until this is visible, and return it."""
        found = self.until(lambda: self.find(role, name, inside), f"{role} {name!r} in {inside!r}")
        assert found is not None
        return found

    def see_no(self, role: str, name: str = "", inside: str = "") -> None:
        """Wait until this is not visible any more."""
        self.until(lambda: self.find(role, name, inside) is None, f"the end of {role} {name!r}")

    def text_of(self, role: str, name: str) -> str:
        """Return the text that stands in a field."""
        return self.eyes.text(self.see(role, name))

    def click(self, role: str, name: str = "", inside: str = "") -> None:
        """Click into the middle of what has this role and name, scrolled to with the wheel if need be."""
        node = self.see(role, name, inside)
        for _ in range(_MAX_WHEEL_STEPS):
            x, y = _middle(self.eyes.extents(node))
            hiding = self._hiding_area(node, x, y)
            if hiding is None:
                self._run("xdotool", "mousemove", x, y, "click", 1)
                return
            above = y < _middle(hiding)[1]
            self._run("xdotool", "mousemove", *_middle(hiding), "click", _WHEEL_UP if above else _WHEEL_DOWN)
        raise AssertionError(f"never scrolled to: {node}")

    def _hiding_area(self, node: Node, x: int, y: int) -> Rectangle | None:
        """Return the area around a node in which a place of it has to be scrolled into sight."""
        for area in map(self.eyes.extents, node.ancestors()):
            left, top, width, height = area
            if width and height and not (left <= x < left + width and top <= y < top + height):
                return area
        return None

    def keys(self, *keys: str) -> None:
        """Press keys and chords, as X names them."""
        self._run("xdotool", "key", "--delay", 20, *keys)

    def type(self, text: str) -> None:
        self._run("xdotool", "type", "--delay", 5, "--", text)

    def _run(self, *command: object) -> None:
        subprocess.run([str(word) for word in command], env=self.environ, check=True, timeout=WAIT_S)

    def outline(self) -> str:
        """Return what was visible at the last look, a line for each node."""
        below: dict[Node | None, list[Node]] = {}
        for node in self.nodes:
            below.setdefault(node.parent, []).append(node)
        return "\n".join(_lines(None, below, ""))


def _lines(node: Node | None, below: Mapping[Node | None, Sequence[Node]], indent: str) -> Iterator[str]:
    for child in below.get(node, ()):
        states = ", ".join(sorted(child.states & _OUTLINED_STATES))
        yield f"{indent}{child.role} {child.name!r} {states}".rstrip()
        yield from _lines(child, below, f"{indent}  ")


def _middle(area: Rectangle) -> tuple[int, int]:
    left, top, width, height = area
    return left + width // 2, top + height // 2
