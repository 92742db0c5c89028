"""Ground rules of every test: offscreen, offline, no real keychain, nothing left behind, no surprise errors.

A test of coroutines runs on asyncio's own loop. One that touches widgets runs on the Qt loop, like the app:

    @pytest.mark.qt_loop
    async def test_sending(qtbot: QtBot) -> None: ...

A test that shows an error being logged says which: `@pytest.mark.expect_errors("part of the message")`.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import logging
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from ipaddress import ip_address
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import engine, providers
from pytestqt.qtbot import QtBot

from helix_desktop.app.import_hook import remove_import_hook

remove_import_hook()  # as the app does; a tenth of the time to collect the tests

# Before any test can make an application or ask a keychain, and for child processes too.
os.environ["QT_QPA_PLATFORM"] = "offscreen"
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
for _leading_out in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
    os.environ.pop(_leading_out, None)
    os.environ.pop(_leading_out.upper(), None)

# A version manager's script named python3 takes ten times as long to start as the interpreter behind it.
os.environ["PATH"] = os.pathsep.join(
    [str(Path(sys.executable).resolve().parent), os.environ.get("PATH", os.defpath)]
)

# A hundred properties draw from the same histories: 25 for each are 2,500 of them in a run.
settings.register_profile(
    "ci", derandomize=True, deadline=None, max_examples=25, database=None, print_blob=True
)
settings.register_profile("deep", deadline=None, max_examples=2_000, database=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
# No setting has it. Its own five minutes are longer than the timeout of a test, which then hides the failure.
engine.MAX_SHRINKING_SECONDS = 30
# Nor this: it draws constants of the modules that are imported by then. What a property saw depended on the
# tests before it, and each process read the complete product for it.
providers._get_local_constants = lambda: providers._local_constants

_THREAD_GRACE_S = 20.0  # nobody waits but a test that fails
_QT_GRACE_MS = 60_000  # the same
_NUMBERS = itertools.count()
_LOOK_AT_ALL_EVERY = 200  # garbage collections


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
    network = _Network()
    config.stash[_NETWORK] = network
    sys.addaudithook(network)
    # What is imported and collected stays: a third of the time went into looking through it for garbage.
    gc.disable()


_NETWORK = pytest.StashKey[_Network]()
_NOT_MADE = pytest.StashKey[Path]()
_LITTERED = pytest.StashKey[bool]()
_COLLECTIONS = pytest.StashKey[int]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slow tests: one that is left for the end is waited for by all other processes."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop() -> Generator[None, object, object]:
    """Let no garbage collection look at modules and collected tests again: they stay."""
    gc.collect()
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
    from qasync import QEventLoop

    # The factory takes no arguments; pytest-qt's qapp has made the application by now.
    loop: asyncio.AbstractEventLoop = QEventLoop(QApplication.instance())  # noqa: TID251 - see above
    return loop


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


@pytest.fixture(autouse=True)
def _ground_rules(request: pytest.FixtureRequest) -> Iterator[None]:
    """Hold every test to all rules: pytest takes longer for a fixture of each than for most of the tests."""
    if "monkeypatch" in request.fixturenames:
        request.getfixturevalue("monkeypatch")  # first: it is undone when all other fixtures have ended
    with (
        _garbage_on_the_main_thread(request),
        _own_data_dir(request),
        _only_loopback(request.config),
        _no_unexpected_errors(request.node),
        _no_leaked_threads(),
        _no_leaked_windows(),
    ):
        yield


@contextmanager
def _garbage_on_the_main_thread(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let no Qt object die on a worker thread: its timers would end the process (see app.garbage).

    What a test with Qt leaves is collected before the next test, when its event loop is gone as well.
    """
    if request.config.stash.get(_LITTERED, False):
        collections = request.config.stash[_COLLECTIONS] = request.config.stash.get(_COLLECTIONS, 0) + 1
        if collections % _LOOK_AT_ALL_EVERY == 0:
            gc.unfreeze()
        gc.collect()
        # What is alive between two tests (modules, collected tests) mostly stays so: the next collection need
        # not look at it again, which is most of its work.
        gc.freeze()
    uses_qt = "qapp" in request.fixturenames
    request.config.stash[_LITTERED] = uses_qt
    if uses_qt:
        gc.disable()
    try:
        yield
    finally:
        gc.enable()


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
def _no_leaked_threads() -> Iterator[None]:
    """Fail on a thread that would keep the process alive."""
    before = set(threading.enumerate())
    try:
        yield
    finally:
        leaked = [thread for thread in threading.enumerate() if thread not in before and not thread.daemon]
        deadline = time.monotonic() + _THREAD_GRACE_S
        for thread in leaked:
            thread.join(max(0.0, deadline - time.monotonic()))
        alive = [thread.name for thread in leaked if thread.is_alive()]
        assert not alive, f"threads left running: {', '.join(alive)}"


@contextmanager
def _no_leaked_windows() -> Iterator[None]:
    """Fail on a top-level widget that the test made and nobody closed; costs nothing without Qt's widgets."""
    before = _windows()
    try:
        yield
    finally:
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
