"""The real window for accessibility tests: opens one page or dialog after another on command.

`python -m tests.support.atspi FOLDER` reads a command from each line of standard input and answers with
one line of JSON: `work TURNS` (the sample's next ones; answers how many turns are done, and how often
outputs were cached), `open SCENE`, `close`, `tab` (what Tab reaches, and where the focus is not visible),
`announce TEXT`, `stir TIMES` (add and remove rows).
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import threading
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QAccessible, QAccessibleInterface, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QTextBrowser, QWidget

from helix_desktop.app.qt_loop import QtLoop
from helix_desktop.config.paths import resources_dir
from helix_desktop.domain.events.conversation import TurnEnded
from helix_desktop.domain.events.rewrite import SweepMade
from helix_desktop.domain.tools import ALLOW_DEMO_CALLS
from helix_desktop.providers.demo.script import read_scripts
from helix_desktop.services.samples import SAMPLES, add_sample
from helix_desktop.ui.chat.composer.editor import Editor
from helix_desktop.ui.design.style.stylesheet import new_application
from helix_desktop.ui.rows.row_widget import RowButton
from helix_desktop.workspaces.saved_rules import SavedRules
from tests.support.atspi.scenes import SCENES
from tests.support.galleries.chat_gallery import rows_of_all_kinds, rows_of_subagents
from tests.support.window.window_rig import WindowRig, open_window, until

_MAX_STEPS = 400
_POLL_INTERVAL_S = 0.01
_COUNTDOWN = re.compile(r"\d+ s\b")  # it changes while it is looked at


async def _activate(widget: QWidget) -> None:
    """Focus a window; without a window manager nothing else does."""
    window = widget.window()
    window.activateWindow()
    await until(window.isActiveWindow, f"the window of {type(widget).__name__} in front")


async def _play_turns(rig: WindowRig, turns: int) -> None:
    """Play the next turns of the sample and approve its requests; what nobody looks at is not painted."""
    sample = next(script for script in read_scripts(resources_dir() / "demo") if script.name == SAMPLES[0])
    SavedRules(rig.wiring.services.registry, rig.wiring.session.workspace_id).set_demo_calls("once")
    rig.window.setUpdatesEnabled(False)
    for _ in range(turns):
        done = rig.conversation.session.transcript.messages.turns
        rig.type_message(sample.user_messages[done])
        while rig.conversation.is_running or rig.conversation.session.transcript.messages.turns == done:
            for ask in rig.conversation.asks:
                rig.conversation.decide(ask.call_id, ALLOW_DEMO_CALLS)
            await asyncio.sleep(_POLL_INTERVAL_S)
        await rig.wait_for_turn_end()
    rig.window.setUpdatesEnabled(True)


async def _churn_rows(rig: WindowRig, times: int) -> int:
    """Let rows come, go and be scrolled; returns at once, how many rows there are then."""
    rows = [*rows_of_all_kinds(), *rows_of_subagents()]
    viewport = rig.chat.view.chat_viewport

    async def stir() -> None:
        for number in range(times):
            rig.chat.model.reset(rows[number % len(rows) :] or rows)
            viewport.scroll_layout.scroll_to(viewport.scroll_layout.heights.total * (number % 10) / 10)
            viewport.refresh()
            await asyncio.sleep(0)

    rig.context.actions.start(stir(), "stir")
    return len(rows)


class TabOrderProbe:
    """Walks the tab order and checks that the focus is visible."""

    def __init__(self) -> None:
        self._checked_widgets: set[QWidget] = set()
        self._invisible_focus: list[str] = []

    def run(self, widget: QWidget) -> dict[str, list[str]]:
        """Press Shift+Tab, then Tab, each until the first widget returns; report focused and hidden ones."""
        self._invisible_focus = []
        if isinstance(widget, QMenu):
            return {"passed": self._cycle_menu(widget), "unseen": self._invisible_focus}
        passed = [*self._cycle(widget, Qt.Key.Key_Backtab), *self._cycle(widget, Qt.Key.Key_Tab)]
        return {"passed": passed, "unseen": self._invisible_focus}

    def _cycle(self, widget: QWidget, key: Qt.Key) -> list[str]:
        passed: dict[str, None] = {}
        last = ""
        for step in range(_MAX_STEPS):
            # The first widget may have the focus from a click, and need not show it.
            self._press(QApplication.focusWidget() or widget, key, check_visible=step > 0)
            focused = QApplication.focusWidget()
            reached = _focus_name(focused) if focused is not None else "nothing"
            if reached == last and isinstance(focused, QTextBrowser):
                continue  # to another of its links
            if reached in passed:
                break
            passed[reached] = None
            last = reached
        return list(passed)

    def _cycle_menu(self, menu: QMenu) -> list[str]:
        """Press Down until it comes back: a menu is not gone through with Tab."""
        passed: dict[str, None] = {}
        actions = menu.actions()
        interface = QAccessible.queryAccessibleInterface(menu)
        plain = menu.grab().toImage()
        for _ in range(_MAX_STEPS):
            QTest.keyClick(menu, Qt.Key.Key_Down)
            action = menu.activeAction()
            reached = "nothing" if action is None else _accessible_id(interface.child(actions.index(action)))
            if reached in passed:
                break
            passed[reached] = None
            if action is not None and menu.grab().toImage() == plain:
                self._invisible_focus.append(f"{action.text()} {action.objectName()}")
        return list(passed)

    def _press(self, focused: QWidget, key: Qt.Key, check_visible: bool) -> None:
        new = (
            focused.hasFocus() and focused not in self._checked_widgets and not isinstance(focused, RowButton)
        )
        before = _grab_surroundings(focused) if check_visible and new else None
        QTest.keyClick(focused, key)
        if before is None or focused.hasFocus():
            return
        self._checked_widgets.add(focused)
        if _grab_surroundings(focused) == before:
            self._invisible_focus.append(
                f"{type(focused).__name__} {focused.accessibleName()} {focused.objectName()}"
            )


def _grab_surroundings(widget: QWidget) -> QImage:
    """Grab what is visible of a widget and close around it."""
    if isinstance(widget, Editor):  # the frame shows it, next to a blinking cursor
        widget = widget.parentWidget() or widget
    window = widget.window()
    place = QRect(widget.mapTo(window, QPoint(0, 0)), widget.size()).adjusted(-4, -4, 4, 4)
    return window.grab(place.intersected(window.rect())).toImage()


def _focus_name(focused: QWidget) -> str:
    """Return the focus widget's name: its node number; for a button of a row, row and button name."""
    if isinstance(focused, RowButton):
        row = focused.parentWidget()
        name = _COUNTDOWN.sub("", row.accessibleName()) if row else ""
        return f"{name}: {focused.objectName()}"
    return _accessible_id(QAccessible.queryAccessibleInterface(focused))


def _accessible_id(interface: QAccessibleInterface) -> str:
    return str(QAccessible.uniqueId(interface))


async def serve(app: QApplication, folder: Path) -> None:
    """Open the window with a session of the sample, and follow the commands until there are no more."""
    lines: asyncio.Queue[str] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def read() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(lines.put_nowait, line.strip())
        loop.call_soon_threadsafe(lines.put_nowait, "end")

    threading.Thread(target=read, daemon=True).start()
    async with open_window(app, folder) as rig:
        sample = add_sample(rig.wiring.services.registry, folder / "samples", SAMPLES[0])
        await rig.wiring.workspace_controller.open_workspace(sample.id)
        await rig.wiring.workspace_controller.new_session()
        _write_reply("ready")
        scene: AbstractAsyncContextManager[QWidget] | None = None
        tab = TabOrderProbe()
        target: QWidget = rig.window
        while (line := await lines.get()) != "end":
            command, _, rest = line.partition(" ")
            if command == "open":
                scene = SCENES[rest](rig)
                target = await scene.__aenter__()
                await _activate(target)
                _write_reply(_accessible_id(QAccessible.queryAccessibleInterface(target)))
            elif command == "tab":
                _write_reply(tab.run(target))
            elif command == "work":
                await _play_turns(rig, int(rest))
                ends = [event.how for event in rig.events(TurnEnded)]
                _write_reply([ends.count("done"), len(rig.events(SweepMade))])
            elif command == "stir":
                _write_reply(await _churn_rows(rig, int(rest)))
            elif command == "announce":
                rig.chat.view.announce(rest)
                _write_reply(rest)
            elif command == "close" and scene is not None:
                await scene.__aexit__(None, None, None)
                await _activate(rig.window)
                _write_reply("closed")


def _write_reply(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def main() -> None:
    app = new_application()
    with asyncio.Runner(loop_factory=lambda: QtLoop(app)) as runner:
        runner.run(serve(app, Path(sys.argv[1])))
