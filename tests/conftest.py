"""Ground rules of every test: offscreen, offline, no real keychain, nothing left behind, no surprise errors.

A test of coroutines runs on asyncio's own loop. One that touches widgets runs on the Qt loop, like the app:

    @pytest.mark.qt_loop
    async def test_sending(qtbot: QtBot) -> None: ...

A test that shows an error being logged says which: `@pytest.mark.expect_errors("part of the message")`.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import itertools
import logging
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from ipaddress import ip_address
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import engine, providers
from pytestqt import plugin
from pytestqt.qt_compat import qt_api
from pytestqt.qtbot import QtBot

from helix_desktop.app.plain_startup_error import remove_import_hook

remove_import_hook()  # as the app does; a tenth of the time to collect the tests

# Before any test can make an application or ask a keychain, and for child processes too.
os.environ["QT_QPA_PLATFORM"] = "offscreen"
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
for _leading_out in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
    os.environ.pop(_leading_out, None)
    os.environ.pop(_leading_out.upper(), None)
# Where other agents keep what the app offers to import.
for _place in (
    "CLAUDE_CONFIG_DIR", "CLINE_DATA_DIR", "CLINE_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR",
    "XDG_CONFIG_HOME", "XDG_DATA_HOME",
):  # fmt: skip
    os.environ.pop(_place, None)

# A version manager's script named python3 takes ten times as long to start as the interpreter behind it.
os.environ["PATH"] = os.pathsep.join(
    [str(Path(sys.executable).resolve().parent), os.environ.get("PATH", os.defpath)]
)

# A hundred properties draw from the same histories: 10 for each are 1,000 of them in a run. `./helix torture`
# looks deep.
settings.register_profile(
    "ci", derandomize=True, deadline=None, max_examples=10, database=None, print_blob=True
)
settings.register_profile("deep", deadline=None, max_examples=2_000, database=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
# No setting has it. Its own five minutes are longer than the timeout of a test, which then hides the failure.
engine.MAX_SHRINKING_SECONDS = 30
# Nor this: it draws constants of the modules that are imported by then. What a property saw depended on the
# tests before it, and each process read the complete product for it.
providers._get_local_constants = lambda: providers._local_constants

_GRACE_S = 20.0  # nobody waits but a test that fails
_QT_GRACE_MS = 60_000  # the same
_NUMBERS = itertools.count()


class _Network:
    """Refuses every address but loopback, and remembers it: code that retries would hide the refusal."""

    def __init__(self) -> None:
        self.refused: list[str] = []

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        """Look at one audit event of the interpreter; raises PermissionError for an address outside."""
        if event in {"socket.connect", "socket.sendto"}:
            host = arguments[1][0] if isinstance(arguments[1], tuple) else None
        elif event == "socket.getaddrinfo":
            host = arguments[0]
        else:
            return
        if not _is_loopback(host):
            self.refused.append(str(host))
            raise PermissionError(f"tests speak to loopback only, not to {host}")


def _is_loopback(host: object) -> bool:
    # None and "": any local address; unix sockets have no host.
    if host in {None, "", b"", "localhost", b"localhost"}:
        return True
    try:
        return ip_address(host.decode() if isinstance(host, bytes) else str(host)).is_loopback
    except ValueError:
        return False


class _Errors(logging.Handler):
    """Collects log records at ERROR and above."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one record as text."""
        self.messages.append(f"{record.name}: {record.getMessage()}")


def pytest_configure(config: pytest.Config) -> None:
    """Guard the network for the whole run (an audit hook cannot be taken off again); begin to collect."""
    plugin._process_events = partial(_process_events, config)  # pytest-qt has no hook for it
    network = _Network()
    config.stash[_NETWORK] = network
    sys.addaudithook(network)
    # What is imported and collected stays: a third of the time went into looking through it for garbage.
    gc.disable()


_NETWORK = pytest.StashKey[_Network]()
_QT_RUNNER = pytest.StashKey[asyncio.Runner | None]()
_NOT_MADE = pytest.StashKey[Path]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slow tests: one that is left for the end is waited for by all other processes."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop() -> Generator[None, object, object]:
    """Let no garbage collection look at modules and collected tests again: they stay."""
    gc.freeze()
    # Properties make many short-lived objects: the usual 700 had them all looked at thousands of times.
    gc.set_threshold(500_000, 20, 100)
    gc.enable()
    with _signals_reach_children():
        return (yield)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give Qt-loop tests the application first: the loop is made from it.

    Earlier is too early: the loop is a parameter, and for tests with parameters pytest finds out anew what
    they ask for.
    """
    if not isinstance(item, pytest.Function) or "qapp" in item.fixturenames:
        return
    if item.get_closest_marker("qt_loop"):
        item.fixturenames.insert(0, "qapp")


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Choose the loop a coroutine test runs on: Qt's for the marker qt_loop, else asyncio's own."""
    if item.get_closest_marker("qt_loop"):
        return {"qt": _new_qt_loop}
    return {"asyncio": asyncio.new_event_loop}


def _new_qt_loop() -> asyncio.AbstractEventLoop:
    from PySide6.QtWidgets import QApplication

    from helix_desktop.app.qt_loop import QtLoop

    # The factory takes no arguments; pytest-qt's qapp has made the application by now.
    return QtLoop(QApplication.instance())  # noqa: TID251 - see above


@pytest.fixture(scope="session")
def qapp_args() -> list[str]:
    return ["helix-desktop", "-style", "fusion"]  # as `new_application`


@pytest.fixture
def _function_scoped_runner(
    _function_scoped_runner: asyncio.Runner, request: pytest.FixtureRequest
) -> Iterator[asyncio.Runner]:
    """As pytest-asyncio has it: when all coroutine fixtures have ended, no work may be left in the loop.

    Else its end would cancel what a test left running, and nobody would hear of it.
    """
    loop = _function_scoped_runner.get_loop()
    if request.node.get_closest_marker("qt_loop"):
        request.config.stash[_QT_RUNNER] = _function_scoped_runner
    yield _function_scoped_runner
    request.config.stash[_QT_RUNNER] = None
    left = loop.run_until_complete(_work_left())
    assert not left, f"tasks left running: {', '.join(left)}"


def _process_events(config: pytest.Config) -> None:
    """Process Qt's events between the stages of a test, like the app in a running loop if there is one.

    What Qt calls without one could start no coroutine: a timer that is due then would fail the test.
    """
    app = qt_api.QtWidgets.QApplication.instance()
    if app is None:
        return
    runner = config.stash.get(_QT_RUNNER, None)
    # Not by running it: that would delete the widgets that are closed by now, which fixtures still use.
    asyncio._set_running_loop(runner.get_loop() if runner is not None else None)
    try:
        app.processEvents()
    finally:
        asyncio._set_running_loop(None)


async def _work_left() -> list[str]:
    """Return the tasks that are still there once those have ended that were canceled or close a generator.

    A generator that was dropped is closed by a task of the loop's, the one inside of it by the next task.
    """
    await asyncio.sleep(0)
    ended_by = time.monotonic() + _GRACE_S
    while True:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        ending = [task for task in tasks if task.cancelling() or not inspect.iscoroutine(task.get_coro())]
        if not ending or time.monotonic() > ended_by:
            return [f"{task.get_name()} {task.get_coro()}" for task in tasks]
        await asyncio.wait(ending, timeout=_GRACE_S)


@contextmanager
def _signals_reach_children() -> Iterator[None]:
    """Let what tests start be ended by signals, also where the tests themselves were started without them.

    A background job of a shell ignores SIGINT, one of nohup SIGHUP; a program inherits that, and what its
    parent blocks, but no handler. So this process goes on ignoring them by handlers that do nothing.
    """
    numbers = {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}
    ignored = [number for number in numbers if signal.getsignal(number) == signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, lambda *_: None)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the skills, servers and sessions that the user of this machine has out of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        name = "USERPROFILE" if os.name == "nt" else "HOME"
        patch.setenv(name, str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(autouse=True)
def _ground_rules(request: pytest.FixtureRequest) -> Iterator[None]:
    """Hold every test to all rules: pytest takes longer for a fixture of each than for most of the tests."""
    if "monkeypatch" in request.fixturenames:
        request.getfixturevalue("monkeypatch")  # first: it is undone when all other fixtures have ended
    with (
        _no_leaked_processes(),
        _no_leaked_threads(),
        _no_leaked_timers(request),
        _garbage_on_the_main_thread(request),
        _own_data_dir(request),
        _only_loopback(request.config),
        _no_unexpected_errors(request.node),
        _no_leaked_windows(request),
    ):
        yield


@contextmanager
def _garbage_on_the_main_thread(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let no Qt object die on a worker thread: its timers would end the process (see app.garbage).

    What a test of coroutines or of Qt leaves is collected at its own end, when its event loop is gone too.
    Python then complains of a coroutine that nobody awaited, and fails the test that made it.
    """
    uses_qt = "qapp" in request.fixturenames
    if uses_qt:
        gc.disable()
    try:
        yield
    finally:
        gc.enable()
        is_coroutine = request.node.get_closest_marker("asyncio") is not None
        if (uses_qt or is_coroutine) and request.node.funcargs is not None:  # None in an interrupted run
            request.node.funcargs.clear()  # all fixtures but this one have ended
        if uses_qt:
            gc.collect()
            # What is alive between two tests (modules, collected tests) mostly stays so: the next collection
            # need not look at it again, which is most of its work.
            gc.freeze()
        elif is_coroutine:
            gc.collect(1)  # what this test made is young: it has met one collection at most


@contextmanager
def _own_data_dir(request: pytest.FixtureRequest) -> Iterator[None]:
    """Keep every test, and all it starts, out of the user's own data; make no folder that is not needed."""
    if "tmp_path" in request.fixturenames:
        folder: Path = request.getfixturevalue("tmp_path")
    else:
        folder = _folder_of_no_test(request) / str(next(_NUMBERS))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HELIX_DATA_DIR", str(folder / "helix-data"))
        yield


def _folder_of_no_test(request: pytest.FixtureRequest) -> Path:
    stash = request.config.stash
    if _NOT_MADE not in stash:
        factory: pytest.TempPathFactory = request.getfixturevalue("tmp_path_factory")
        stash[_NOT_MADE] = factory.getbasetemp() / "not-made"
    return stash[_NOT_MADE]


@contextmanager
def _only_loopback(config: pytest.Config) -> Iterator[None]:
    """Fail a test that tried to leave this machine, also when the code under test hid the refusal."""
    refused = config.stash[_NETWORK].refused
    refused.clear()
    try:
        yield
    finally:
        assert not refused, f"tried to reach {', '.join(refused)}"


@contextmanager
def _no_unexpected_errors(node: pytest.Item) -> Iterator[None]:
    """Fail on a log record at ERROR that the marker expect_errors does not name."""
    errors = _Errors()
    logging.getLogger().addHandler(errors)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(errors)
        marker = node.get_closest_marker("expect_errors")
        expected = marker.args if marker else ()
        surprising = [text for text in errors.messages if not any(re.search(part, text) for part in expected)]
        assert not surprising, "logged errors:\n" + "\n".join(surprising)


@contextmanager
def _no_leaked_processes() -> Iterator[None]:
    """Fail on a child process that is still there, or that nobody waited for; only where Linux lists them."""
    before = _children()
    try:
        yield
    finally:
        if _children() - before:
            deadline = time.monotonic() + _GRACE_S
            while (leaked := _children() - before) and time.monotonic() < deadline:
                time.sleep(0.01)
            assert not leaked, f"processes left running: {', '.join(map(_command_of, leaked))}"


def _children() -> set[int]:
    numbers: set[int] = set()
    with suppress(OSError):  # only Linux has it
        for thread in os.listdir("/proc/self/task"):
            with suppress(OSError), open(f"/proc/self/task/{thread}/children", "rb") as children:
                numbers.update(map(int, children.read().split()))  # an error where the thread has ended
    # Python's own stay as long as this process: for what processes share, and what others are forked from.
    tracker = resource_tracker._resource_tracker._pid  # type: ignore[attr-defined]  # one of its own
    server = forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]  # one of its own
    return numbers - {tracker, server}


def _command_of(number: int) -> str:
    with suppress(OSError):
        command = Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        return f"{number} {command[:200]}"
    return str(number)


@contextmanager
def _no_leaked_threads() -> Iterator[None]:
    """Fail on a thread of Python's that has not ended, daemon or not."""
    before = set(threading.enumerate())
    try:
        yield
    finally:
        leaked = [
            thread for thread in threading.enumerate() if thread not in before and not _may_stay(thread)
        ]
        deadline = time.monotonic() + _GRACE_S
        for thread in leaked:
            thread.join(max(0.0, deadline - time.monotonic()))
        alive = [thread.name for thread in leaked if thread.is_alive()]
        assert not alive, f"threads left running: {', '.join(alive)}"


def _may_stay(thread: threading.Thread) -> bool:
    """Return True for what is not made by Python's `threading`, which never learns of its end."""
    return isinstance(thread, threading._DummyThread)


@contextmanager
def _no_leaked_timers(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail on a timer of Qt's that still runs: it would go off in another test."""
    if "qapp" not in request.fixturenames:
        yield
        return
    timers = _Timers.of(request.config)
    timers.forget()
    try:
        yield
    finally:
        running = timers.running()
        assert not running, f"timers left running: {', '.join(running)}"


class _Timers:
    """Knows each timer of Qt's that Python makes."""

    def __init__(self) -> None:
        from PySide6.QtCore import QTimer

        self._timers: WeakSet[QTimer] = WeakSet()
        self._shots: dict[int, str] = {}
        timer_class: Any = QTimer  # changed for the whole run
        make = timer_class.__init__
        shoot = timer_class.singleShot

        def note_new(timer: QTimer, *arguments: Any, **named: Any) -> None:
            make(timer, *arguments, **named)
            self._timers.add(timer)

        def note_shot(*arguments: Any) -> None:
            *when, action = arguments
            if len(when) > 1:
                go_off = action  # for nobody, once its receiver is gone
            else:
                number = next(_NUMBERS)
                self._shots[number] = str(action)

                def go_off() -> None:
                    self._shots.pop(number, None)
                    action()

            timer_class.__init__ = make  # what PySide makes for it needs no look
            shoot(*when, go_off)
            timer_class.__init__ = note_new

        timer_class.__init__ = note_new
        timer_class.singleShot = staticmethod(note_shot)

    @classmethod
    def of(cls, config: pytest.Config) -> _Timers:
        if _TIMERS not in config.stash:
            config.stash[_TIMERS] = cls()
        return config.stash[_TIMERS]

    def forget(self) -> None:
        """Forget what was made before a test, as by a fixture of its module."""
        self._timers.clear()
        self._shots.clear()

    def running(self) -> list[str]:
        """Return those that are going to go off."""
        from shiboken6 import isValid

        active = [timer for timer in self._timers if isValid(timer) and timer.isActive()]
        return [*(f"{timer} of {timer.parent()}" for timer in active), *self._shots.values()]


_TIMERS = pytest.StashKey[_Timers]()


@contextmanager
def _no_leaked_windows(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail on a top-level widget that the test made and nobody closed; costs nothing without Qt's widgets."""
    before = _windows()
    try:
        yield
    finally:
        if "qapp" in request.fixturenames:
            _delete_what_waits_for_it()  # else its timers would go off in the next test
        if len(_windows()) > len(before):
            gc.collect()
            _delete_what_waits_for_it()
            # Only the objects themselves tell an old window from a new one: an address may be used again.
            leaked = [repr(window) for window in _windows() if window not in before]
            assert not leaked, f"windows left open: {', '.join(leaked)}"


def _windows() -> list[object]:
    if "PySide6.QtWidgets" not in sys.modules:
        return []
    from PySide6.QtWidgets import QApplication

    # A window with a parent goes with it.
    return [window for window in QApplication.topLevelWidgets() if window.parent() is None]


def _delete_what_waits_for_it() -> None:
    from PySide6.QtCore import QCoreApplication, QEvent

    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


@pytest.fixture
def qtbot(qapp: object, request: pytest.FixtureRequest) -> QtBot:
    """As pytest-qt has it, but patient: on a busy machine a frame may take longer than its five seconds."""
    bot = QtBot(request)
    for wait in ("waitUntil", "waitSignal", "waitSignals", "waitExposed", "waitActive", "waitCallback"):
        setattr(bot, wait, partial(getattr(bot, wait), timeout=_QT_GRACE_MS))
    return bot
