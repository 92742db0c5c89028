"""The real window for tests of accessibility: opens one page or dialog after the other, as it is told.

`python tests/support/atspi_app.py FOLDER` reads a command from each line of standard input and answers with
one line of JSON: `work TURNS`, `open SCENE`, `close`, `tab` (what Tab passes, and where that is not
seen), `announce TEXT`, `stir TIMES` (rows come and go).
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import qasync
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QAccessible, QAction, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QMenu, QWidget

from helix_desktop.app.samples import SAMPLES
from helix_desktop.config.paths import resources_dir
from helix_desktop.context.errors import HelixError
from helix_desktop.providers.demo_script import read_scripts
from helix_desktop.ui import dialogs
from helix_desktop.ui.chat.accessible import RowButton
from helix_desktop.ui.chat.editor import Editor
from helix_desktop.ui.crash_notice import LogDialog
from helix_desktop.ui.frame.rows import Banner, BannerAction, JobRow
from helix_desktop.ui.main_window import Place
from helix_desktop.ui.settings.dialog import SettingsPage
from helix_desktop.workspaces.saved_rules import SavedRules
from tests.support.chat_gallery import rows_of_all_kinds, rows_of_subagents
from tests.support.panes_samples import long_timeline
from tests.support.window_rig import Rig, opened_window, until

_MOST_STEPS = 400
_LOOK_EVERY_S = 0.01
_PAGES: tuple[SettingsPage, ...] = (
    "providers", "roles", "appearance", "policy", "permissions", "mcp", "data", "about",
)  # fmt: skip

Scene = Callable[[Rig], AbstractAsyncContextManager[QWidget]]


@asynccontextmanager
async def _place(rig: Rig, place: Place) -> AsyncIterator[QWidget]:
    rig.window.missing.show_workspace("project", "/home/user/project")
    rig.window.show_place(place)
    yield rig.window
    rig.window.show_place("work")


@asynccontextmanager
async def _page(rig: Rig, page: str) -> AsyncIterator[QWidget]:
    rig.window.show_page(page)
    await rig.opened.shell.work.refresh()
    yield rig.window
    rig.window.show_page("chat")


@asynccontextmanager
async def _rows(rig: Rig, above: float) -> AsyncIterator[QWidget]:
    """Every kind of row; `above` is the part of the conversation that is scrolled away."""
    rig.chat.model.reset([*rows_of_all_kinds(), *rows_of_subagents()])
    board = rig.chat.view.board
    board.set_following(False)
    board.flow.scroll_to(board.flow.heights.total * above)
    board.refresh()
    rig.composer.editor.setFocus()
    yield rig.window
    board.go_to_end()


@asynccontextmanager
async def _find(rig: Rig, page: str) -> AsyncIterator[QWidget]:
    rig.window.show_page(page)
    rig.window.commands.find.trigger()
    yield rig.window
    QTest.keyClick(QApplication.focusWidget() or rig.window, Qt.Key.Key_Escape)
    rig.window.show_page("chat")


@asynccontextmanager
async def _extras(rig: Rig) -> AsyncIterator[QWidget]:
    """What stands around a conversation at times: banners, jobs, attachments, a list, waiting messages."""
    action = BannerAction("again", "Try again")
    rig.window.banners.show_banner(Banner("b", "error", "It broke.", "Why.", "What to do.", (action,)))
    rig.window.jobs.show_jobs((JobRow("j", "Backing up", 0.4, True),), "extras")
    rig.composer.set_attachments((("k", "a.png"),))
    rig.composer.set_text("words")
    yield rig.window
    rig.composer.set_text("")
    rig.composer.set_attachments(())
    rig.window.jobs.show_jobs((), "extras")


@asynccontextmanager
async def _timeline(rig: Rig) -> AsyncIterator[QWidget]:
    """Every kind of card."""
    rig.screens.timeline.set_state(long_timeline())
    async with _page(rig, "timeline") as window:
        rig.screens.timeline.set_state(long_timeline())
        yield window


@asynccontextmanager
async def _new_server(rig: Rig) -> AsyncIterator[QWidget]:
    async with _settings(rig, "mcp") as dialog:
        rig.opened.settings.dialog.mcp.open_add()
        yield dialog


@asynccontextmanager
async def _new_provider(rig: Rig) -> AsyncIterator[QWidget]:
    """The form of a provider, with a list of models to choose from."""
    async with _settings(rig, "providers") as dialog:
        rig.opened.settings.dialog.providers.findChildren(QMenu)[0].actions()[0].trigger()
        yield dialog


@asynccontextmanager
async def _request(rig: Rig) -> AsyncIterator[QWidget]:
    rig.opened.shell.history.show_request()
    yield rig.window


@asynccontextmanager
async def _settings(rig: Rig, page: SettingsPage) -> AsyncIterator[QWidget]:
    settings = rig.opened.settings
    await settings.show(page)
    yield settings.dialog
    settings.dialog.hide()


@asynccontextmanager
async def _command(rig: Rig, name: str) -> AsyncIterator[QWidget]:
    """The dialog or panel that a command of the menus opens."""
    action: QAction = getattr(rig.window.commands, name)
    action.trigger()
    await until(_front, f"what {name} opens")
    dialog = _front()
    assert dialog is not None
    yield dialog
    dialog.close()
    await until(lambda: _front() is None, f"the end of {name}")


@asynccontextmanager
async def _handover(rig: Rig) -> AsyncIterator[QWidget]:
    await rig.change_policy(handover_least_gain=0.0, handover_keep=0.02)
    async with _command(rig, "compact_now") as dialog:
        yield dialog


@asynccontextmanager
async def _dialog(rig: Rig, question: Callable[[Rig], Coroutine[Any, Any, object]]) -> AsyncIterator[QWidget]:
    """A dialog that a coroutine asks with."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(question(rig))
        await until(_front, "the dialog")
        dialog = _front()
        assert dialog is not None
        yield dialog
        dialog.close()


async def _activate(shown: QWidget) -> None:
    """Give a window the keyboard; without a window manager nobody else does."""
    window = shown.window()
    window.activateWindow()
    await until(window.isActiveWindow, f"the window of {type(shown).__name__} in front")


def _front() -> QWidget | None:
    """The dialog or panel that is open."""
    kinds = ("Switcher", "CommandPanel")
    return next(
        (
            one
            for one in QApplication.topLevelWidgets() + QApplication.allWidgets()
            if one.isVisible() and (isinstance(one, QDialog) or type(one).__name__ in kinds)
        ),
        None,
    )


def _ask(rig: Rig) -> Coroutine[Any, Any, str]:
    choices = (dialogs.Choice("yes", "Remove", "danger"), dialogs.Choice("no", "Cancel"))
    return dialogs.ask(rig.window, rig.window.theme, "Remove it?", "It cannot be brought back.", choices)


SCENES: dict[str, Scene] = {
    "chat": partial(_page, page="chat"),
    "rows-first": partial(_rows, above=0.0),
    "rows-middle": partial(_rows, above=0.4),
    "rows-last": partial(_rows, above=0.8),
    "cache": partial(_page, page="cache"),
    "timeline": _timeline,
    "find-in-chat": partial(_find, page="chat"),
    "find-in-cache": partial(_find, page="cache"),
    "extras": _extras,
    "request": _request,
    "welcome": partial(_place, place="welcome"),
    "missing": partial(_place, place="missing"),
    "empty": partial(_place, place="empty"),
    **{f"settings-{page}": partial(_settings, page=page) for page in _PAGES},
    "new-server": _new_server,
    "new-provider": _new_provider,
    "switcher": partial(_command, name="switch_workspace"),
    "commands": partial(_command, name="all_commands"),
    "clean-up": partial(_command, name="clean_up"),
    "trash": partial(_command, name="trash"),
    "secret": partial(_command, name="forget"),
    "budget": partial(_command, name="set_budget"),
    "handover": _handover,
    "keys": partial(_command, name="keys"),
    "trust": partial(_dialog, question=lambda rig: rig.opened.shell.trusting.ask(rig.room.id)),
    "question": partial(_dialog, question=_ask),
    "text-question": partial(
        _dialog, question=lambda rig: dialogs.get_text(rig.window, "Name of the session")
    ),
    "log": partial(
        _dialog, question=lambda rig: dialogs.finished(LogDialog(rig.window, "A line.", rig.folder))
    ),
    "notice": partial(
        _dialog,
        question=lambda rig: dialogs.show_notice(HelixError("It broke.", "Why."), rig.front.appearance),
    ),
}


async def _work(rig: Rig, turns: int) -> None:
    """Play the next turns of the sample, and agree to what it asks for."""
    sample = next(script for script in read_scripts(resources_dir() / "demo") if script.name == SAMPLES[0])
    SavedRules(rig.opened.desk.registry, rig.opened.shell.active).set_demo_calls("once")
    for _ in range(turns):
        done = rig.talk.session.transcript.turns
        rig.typed(sample.asks[done])
        while rig.talk.running or rig.talk.session.transcript.turns == done:
            for ask in rig.talk.asks:
                rig.talk.decide(ask.call_id, "once")
            await asyncio.sleep(_LOOK_EVERY_S)
        await rig.turn_over()


async def _stir(rig: Rig, times: int) -> int:
    """Let rows come, go and be scrolled; returns at once, how many rows there are then."""
    rows = [*rows_of_all_kinds(), *rows_of_subagents()]
    board = rig.chat.view.board

    async def stir() -> None:
        for number in range(times):
            rig.chat.model.reset(rows[number % len(rows) :] or rows)
            board.flow.scroll_to(board.flow.heights.total * (number % 10) / 10)
            board.refresh()
            await asyncio.sleep(0)

    rig.front.intents.start(stir(), "stir")
    return len(rows)


class TabRound:
    """Goes round with Tab, and looks whether the user can see where the keyboard is."""

    def __init__(self) -> None:
        self._looked_at: set[QWidget] = set()
        self._unseen: list[str] = []

    def go(self, shown: QWidget) -> dict[str, list[str]]:
        """Press Shift+Tab, then Tab, each until it comes back; what had the keyboard, and hid it."""
        self._unseen = []
        passed = [*self._round(shown, Qt.Key.Key_Backtab), *self._round(shown, Qt.Key.Key_Tab)]
        return {"passed": passed, "unseen": self._unseen}

    def _round(self, shown: QWidget, key: Qt.Key) -> list[str]:
        passed: dict[str, None] = {}
        for step in range(_MOST_STEPS):
            # What had the keyboard at first may have it from a click, and need not show it.
            self._press(QApplication.focusWidget() or shown, key, look=step > 0)
            focused = QApplication.focusWidget()
            reached = _reached(focused) if focused is not None else "nothing"
            if reached in passed:
                break
            passed[reached] = None
        return list(passed)

    def _press(self, focused: QWidget, key: Qt.Key, look: bool) -> None:
        new = focused.hasFocus() and focused not in self._looked_at and not isinstance(focused, RowButton)
        before = _picture(focused) if look and new else None
        QTest.keyClick(focused, key)
        if before is None or focused.hasFocus():
            return
        self._looked_at.add(focused)
        if _picture(focused) == before:
            self._unseen.append(f"{type(focused).__name__} {focused.accessibleName()} {focused.objectName()}")


def _picture(widget: QWidget) -> QImage:
    """What is seen of a widget and close around it."""
    if isinstance(widget, Editor):  # the frame shows it, beside a cursor that comes and goes
        widget = widget.parentWidget() or widget
    window = widget.window()
    place = QRect(widget.mapTo(window, QPoint(0, 0)), widget.size()).adjusted(-4, -4, 4, 4)
    return window.grab(place.intersected(window.rect())).toImage()


def _reached(focused: QWidget) -> str:
    """Name what has the keyboard: the number of its node; of a button of a row the row and its own name."""
    if isinstance(focused, RowButton):
        row = focused.parentWidget()
        return f"{row.accessibleName() if row else ''}: {focused.objectName()}"
    return str(QAccessible.uniqueId(QAccessible.queryAccessibleInterface(focused)))


async def serve(app: QApplication, folder: Path) -> None:
    """Open the window with a session of the sample, and follow the commands until there are no more."""
    lines: asyncio.Queue[str] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def read() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(lines.put_nowait, line.strip())
        loop.call_soon_threadsafe(lines.put_nowait, "end")

    threading.Thread(target=read, daemon=True).start()
    async with opened_window(app, folder) as rig:
        await rig.opened.shell.open_sample()
        _answer("ready")
        scene: AbstractAsyncContextManager[QWidget] | None = None
        tab = TabRound()
        shown: QWidget = rig.window
        while (line := await lines.get()) != "end":
            command, _, rest = line.partition(" ")
            if command == "open":
                scene = SCENES[rest](rig)
                shown = await scene.__aenter__()
                await _activate(shown)
                _answer(QAccessible.uniqueId(QAccessible.queryAccessibleInterface(shown)))
            elif command == "tab":
                _answer(tab.go(shown))
            elif command == "work":
                await _work(rig, int(rest))
                _answer("done")
            elif command == "stir":
                _answer(await _stir(rig, int(rest)))
            elif command == "announce":
                rig.chat.view.announce(rest)
                _answer(rest)
            elif command == "close" and scene is not None:
                await scene.__aexit__(None, None, None)
                await _activate(rig.window)
                _answer("closed")


def _answer(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Run the app."""
    app = QApplication(sys.argv[:1])
    with asyncio.Runner(loop_factory=lambda: qasync.QEventLoop(app)) as runner:
        runner.run(serve(app, Path(sys.argv[1])))


if __name__ == "__main__":
    main()
