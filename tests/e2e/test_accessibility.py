"""The running app as a screen reader sees it from another process: every page and dialog, by tree and Tab."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.atspi import headless_session
from tests.support.cli_rig import ROOT

if TYPE_CHECKING:  # D-Bus accessibility exists on Linux only
    from tests.support.atspi.client import AccessibilityBus, KnownNodes, Node, NodeReference

MISSING = headless_session.missing_requirements()
pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=f"the accessibility of the app is not tested without {MISSING}"),
    pytest.mark.slow,
    pytest.mark.timeout(1_200),
]

_MIN_NODES = 3  # of the smallest dialog
CONTROLS = frozenset(
    {
        "push button", "check box", "radio button", "toggle button", "combo box", "spin button", "slider",
        "page tab", "button menu", "link",
    }
)  # fmt: skip
"""Roles that are always operated; texts, lists and tables are if they can have the keyboard."""
MOUSE_ONLY = ("QLineEditIconButton",)  # in a field, where a key does the same
_COUNTDOWN = re.compile(r"\d+ s\b")  # in the name of a row
GROUPED_ROLES = frozenset({"radio button", "page tab"})  # Tab reaches one of them, arrow keys the others


@dataclass(frozen=True)
class App:
    """The app in its process, and the connection to it as a screen reader has it."""

    process: subprocess.Popen[str]
    desktop: AccessibilityBus
    known_nodes: KnownNodes

    def ask(self, command: str) -> Any:
        """Send a command; return its answer. Raise AssertionError if the app has ended."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()
        return self.answer()

    def answer(self) -> Any:
        """Read its next answer. Raises AssertionError when it has ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the app has ended with {self.process.wait()}"
        return json.loads(line)

    def reference(self, number: int | str) -> NodeReference:
        (bus_name, root) = self.desktop.apps()[-1]
        return bus_name, f"{root.rpartition('/')[0]}/{number}"

    def showing_nodes(self, scene: str) -> list[Node]:
        """Open a page or dialog and read all its visible nodes."""
        root = self.reference(self.ask(f"open {scene}"))
        return self.desktop.walk(root, visible_only=True, known_nodes=self.known_nodes)


@pytest.fixture(scope="module")
def app() -> Iterator[App]:
    from tests.support.atspi.client import AccessibilityBus

    # pytest's own folders have names that are too long for sockets.
    with tempfile.TemporaryDirectory(prefix="a11y-", ignore_cleanup_errors=True) as place:
        folder = Path(place)
        with headless_session.run(folder) as environ:
            program = (sys.executable, "-X", "faulthandler", "-m", "tests.support.atspi", place)
            with (
                subprocess.Popen(
                    program,
                    env={**environ, "PYTHONPATH": str(ROOT)},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                ) as process,
                AccessibilityBus(environ["DBUS_SESSION_BUS_ADDRESS"]) as desktop,
            ):
                app = App(process, desktop, {})
                assert app.answer() == "ready"
                turns, sweeps = app.ask("work 2")  # a cache, and enough messages for a compaction by hand
                assert turns == 2
                assert sweeps > 0
                yield app
                process.communicate(timeout=headless_session.TIMEOUT_S)
        assert process.returncode == 0


def faults_of(node: Node) -> Iterator[str]:
    """Return what a screen reader could not understand."""
    if node.name and node.role in {"filler", "unknown"}:
        yield f"text without a role: {node}"
    if "focusable" in node.states and (not node.name or node.role in {"filler", "unknown"}):
        yield f"takes the keyboard without a name or role: {node}"
    elif not node.name and node.role in CONTROLS:
        yield f"a control without a name: {node}"


def unreached(nodes: list[Node], passed: set[str]) -> Iterator[str]:
    """Controls that are enabled and that Tab does not come to."""
    groups = {node.parent and node.parent.ref for node in nodes if reached_by(node) in passed}
    for node in nodes:
        operated = node.role in CONTROLS or {"focusable", "editable"} <= node.states or _in_open_menu(node)
        if not operated or not {"showing", "enabled"} <= node.states or node.last_id in MOUSE_ONLY:
            continue
        # The field of a combo box has its keyboard through the box.
        inside = node.parent if node.parent is not None and node.parent.role == "combo box" else node
        if reached_by(inside) in passed:
            continue
        if node.role in GROUPED_ROLES and node.parent is not None and node.parent.ref in groups:
            continue
        yield f"Tab does not come to {node}"


def _in_open_menu(node: Node) -> bool:
    """Whether it is a menu's entry, and no title in the menu bar; lines between entries have no name."""
    return (
        node.role.endswith("menu item")
        and node.parent is not None
        and node.parent.role == "popup menu"
        and bool(node.name)
    )


def reached_by(node: Node) -> str:
    """How the app names a node that had the keyboard: buttons of rows come and go while Tab passes them."""
    if node.parent is None or node.parent.last_id != "RowWidget":
        return str(node.unique_id)
    return f"{_COUNTDOWN.sub('', node.parent.name)}: {node.last_id}"


def test_a_screen_reader_finds_reads_and_operates_everything(app: App) -> None:
    """One test of one app: each process of a divided run would start the app for its share of several."""
    check_everything_visible_is_readable_and_reachable(app)
    check_the_pages_are_tabs_and_one_is_selected(app)
    check_a_row_exposes_its_text(app)
    check_a_button_of_a_row_is_pressed(app)
    check_rows_that_appear_and_vanish_during_a_read_do_no_harm(app)
    check_events_off_screen_are_announced(app)


def check_everything_visible_is_readable_and_reachable(app: App) -> None:
    from tests.support.atspi.scenes import SCENES

    all_faults = {scene: faults for scene in SCENES if (faults := faults_in(app, scene))}
    assert not all_faults, "\n".join(
        f"{scene}: {fault}" for scene in all_faults for fault in all_faults[scene]
    )


def faults_in(app: App, scene: str) -> list[str]:
    nodes = app.showing_nodes(scene)
    showing = [node for node in nodes if "showing" in node.states]
    tab = app.ask("tab")
    passed = set(tab["passed"])
    app.ask("close")
    faults = [fault for node in showing for fault in faults_of(node)] + list(unreached(nodes, passed))
    faults += [f"has the keyboard and does not show it: {unseen}" for unseen in tab["unseen"]]
    if len(showing) <= _MIN_NODES:
        faults.append("next to nothing is shown")
    if "nothing" in passed:
        faults.append("Tab takes the keyboard away from everything")
    return faults


def by_id(nodes: list[Node], last_id: str) -> Node:
    return next(node for node in nodes if node.last_id == last_id and "showing" in node.states)


def check_the_pages_are_tabs_and_one_is_selected(app: App) -> None:
    window = app.reference(app.ask("open chat"))
    try:
        for page in ("outputs", "timeline", "chat"):
            tab = by_id(app.desktop.walk(window, visible_only=True), f"{page}_tab")
            assert tab.role == "page tab"
            assert tab.parent is not None
            assert tab.parent.role == "page tab list"
            app.desktop.press(tab)
            tabs = app.desktop.walk(tab.parent.ref)[1:]
            assert [tab.last_id for tab in tabs if "selected" in tab.states] == [f"{page}_tab"]
    finally:
        app.ask("close")


def check_a_row_exposes_its_text(app: App) -> None:
    nodes = app.showing_nodes("rows-first")
    try:
        rows = [node for node in nodes if node.parent and node.parent.last_id == "RowArea"]
        assert {(row.role, bool(row.name)) for row in rows} == {("list item", True)}
        texts = [node.name for node in nodes if node.last_id == "row_text" and "showing" in node.states]
        assert any(text.startswith("What changed\nTokens are now buffered") for text in texts)
    finally:
        app.ask("close")


def check_a_button_of_a_row_is_pressed(app: App) -> None:
    nodes = app.showing_nodes("rows-last")
    try:
        rows = by_id(nodes, "RowArea")
        button = next(node for node in nodes if node.last_id == "open:card")
        before = len(app.desktop.walk(rows.ref))
        app.desktop.press(button)
        until(lambda: len(app.desktop.walk(rows.ref)) != before)
    finally:
        app.ask("close")


def until(holds: Callable[[], bool]) -> None:
    """Retry until a condition is true: Qt releases a button a tenth of a second after a press."""
    ends = time.monotonic() + headless_session.TIMEOUT_S
    while not holds():
        assert time.monotonic() < ends, "it never came to that"


def check_rows_that_appear_and_vanish_during_a_read_do_no_harm(app: App) -> None:
    """The crash that a text interface made in Python caused came at the first question for a row's state."""
    rows = by_id(app.showing_nodes("rows-first"), "RowArea")
    try:
        app.ask("stir 100")
        assert sum(len(app.desktop.walk(rows.ref)) for _ in range(40)) > 400
    finally:
        app.ask("close")


def results(desktop: AccessibilityBus) -> list[str]:
    """Which hit of how many was announced."""
    return [text for text in desktop.announcements() if re.fullmatch(r"[\d,]+ of [\d,]+", text)]


def check_events_off_screen_are_announced(app: App) -> None:
    """Last: with a listener attached, Qt asks it about each key before the app sees it."""
    desktop = app.desktop
    desktop.listen("Announcement")
    # The app learns from the registry that there is a listener, some time after its registration.
    until(lambda: app.ask("announce Hello") == "Hello" and "Hello" in desktop.announcements())
    app.ask("open find-in-chat")
    until(lambda: len(results(desktop)) > 0)
    app.ask("close")
    count = len(results(desktop))
    app.ask("open completions")
    until(lambda: any(text.startswith("Files: ") and ", 1 of " in text for text in desktop.announcements()))
    app.ask("close")
    app.ask("open find-in-content")
    until(lambda: len(results(desktop)) > count)
    app.ask("close")
    assert app.ask("work 1")[0] == 3
    announced = [text.partition(":")[0] for text in desktop.announcements()]
    assert announced[-1] == "Reply finished"
    assert "Approval needed" in announced
