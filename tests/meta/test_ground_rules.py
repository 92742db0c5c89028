"""The rules of tests/conftest.py work: each guard fails a test that breaks its rule, and only that one."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from pathlib import Path

import keyring
import keyring.errors
import pytest
from pytestqt.qtbot import QtBot

from helix_desktop.app.qt_loop import QtLoop
from tests.support.tables import for_each

pytest_plugins = ["pytester"]

CONFTEST = Path(__file__).parent.parent / "conftest.py"

SETTINGS = """
    [pytest]
    asyncio_mode = auto
    asyncio_default_fixture_loop_scope = function
    filterwarnings = error
    markers =
        expect_errors: see pyproject.toml
        qt_loop: see pyproject.toml
"""

IMPORTS = """
    import asyncio, builtins, logging, signal, socket, subprocess, sys, threading
    import pytest
    from PySide6.QtCore import QCoreApplication, QTimer
    from PySide6.QtWidgets import QWidget
    async def work(): await asyncio.sleep(1_000)
"""

BREAKING = """
    ending, kept = threading.Event(), []
    def test_thread(): threading.Thread(target=ending.wait, daemon=False, name="thread 1").start()
    def test_daemon(): threading.Thread(target=ending.wait, daemon=True, name="thread 2").start()
    def test_process(): kept.append(subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=-1))
    def test_zombie(): kept.append(subprocess.Popen([sys.executable, "-S", "-c", "'zombie'"]))
    async def test_task(): kept.append(asyncio.create_task(work(), name="task 1"))
    @pytest.mark.qt_loop
    async def test_qt_task(): kept.append(asyncio.create_task(work(), name="task 2"))
    async def test_coroutine():
        coroutine = work()
        cycle = [coroutine]; cycle.append(cycle)
    @pytest.mark.qt_loop
    async def test_qt_coroutine(qtbot):
        widget = QWidget(); qtbot.addWidget(widget); widget.later = lambda: (widget, coroutine)
        coroutine = work()
    def test_timer(qapp): kept.append(QTimer(singleShot=True, interval=1_000_000)); kept[-1].start()
    def test_shot(qapp): QTimer.singleShot(1_000_000, lambda: 0)
    def test_window(qapp): builtins.kept = QWidget()
    def test_error(): logging.getLogger("helix").error("it broke")
    def test_address():
        try: socket.create_connection(("192.0.2.1", 80), 1)
        except OSError: pass
    def test_name():
        try: socket.getaddrinfo("example.org", 80)
        except OSError: pass
    def test_end():  # else the process would wait for the thread
        ending.set(); [child.communicate() for child in kept if isinstance(child, subprocess.Popen)]
"""

COMPLAINTS = [
    "threads left running: thread 1", "threads left running: thread 2", "processes left running: *input()",
    "processes left running", "tasks left running: task 1", "tasks left running: task 2",
    "ERROR at teardown of test_coroutine", "ERROR at teardown of test_qt_coroutine",
    "timers left running: *QTimer", "timers left running: <function", "windows left open", "logged errors",
    "tried to reach 192.0.2.1", "tried to reach example.org",
]  # fmt: skip

# The loop comes first: nothing else has made an application by then.
KEEPING = """
    loops = []
    @pytest.mark.qt_loop
    @pytest.mark.parametrize("number", [1, 2])
    async def test_loop(number):
        assert QCoreApplication.instance() is not None
    def test_joined_thread():
        thread = threading.Thread(target=int); thread.start(); thread.join()
    async def test_canceled_task():
        builtins.kept_task = asyncio.create_task(work()); await asyncio.sleep(0); builtins.kept_task.cancel()
    @pytest.mark.qt_loop
    async def test_timer_between_stages(qtbot):
        builtins.kept_widget = widget = QWidget(); qtbot.addWidget(widget)
        timer = QTimer(widget, singleShot=True); timer.start()
        timer.timeout.connect(lambda: loops.append(asyncio.get_running_loop()))
    def test_it_found_its_loop(): assert len(loops) == 1
    def test_ended_process(): subprocess.run([sys.executable, "-S", "-c", ""], check=True)
    def test_closed_window(qtbot):
        window = QWidget(); qtbot.addWidget(window); window.show()
    @pytest.mark.expect_errors("it broke")
    def test_expected_error(): logging.getLogger("helix").error("it broke")
    def test_loopback():
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname(), 1).close()
            server.accept()[0].close()
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGTERM])
    def test_signal(number):
        code = f"import os, time; os.kill(os.getpid(), {number:d}); time.sleep(9)"
        assert subprocess.run([sys.executable, "-S", "-c", code], stderr=-3).returncode == -number
"""
# Two loops, a thread, a task, a timer (2), a process, a window, an error, a socket, three signals, the end.
KEEPING_TESTS = 14


def test_only_breaking_a_rule_fails_and_with_its_name(pytester: pytest.Pytester) -> None:
    """Each test itself passes; the guard of a rule that it breaks fails it, once, with the reason.

    Joined threads, closed windows, typed errors, loopback, signals to children, and the Qt loop before
    anything else has made an application are allowed.
    """
    rules = CONFTEST.read_text(encoding="utf-8")
    patient = "_GRACE_S = 20.0"
    impatient = "_GRACE_S = 0.1"
    assert patient in rules
    pytester.makeconftest(rules.replace(patient, impatient))
    pytester.makeini(SETTINGS)
    pytester.makepyfile(IMPORTS + KEEPING + BREAKING)
    # Its own process: an audit hook stays for good, and Qt's application is one per process.
    # As in the background of a shell, below nohup: both signals are ignored, and children inherit that.
    background = ("/bin/sh", "-c", 'trap "" INT HUP; exec "$@"', "sh")
    done = pytester.run(*background, sys.executable, "-m", "pytest", "-p", "no:cacheprovider")
    done.assert_outcomes(passed=KEEPING_TESTS + len(COMPLAINTS), errors=len(COMPLAINTS))
    done.stdout.fnmatch_lines([f"*{complaint}*" for complaint in COMPLAINTS])


def test_no_keychain_answers() -> None:
    """A test that forgets to bring a keychain of its own meets none."""
    with pytest.raises(keyring.errors.NoKeyringError):
        keyring.get_password("helix-desktop", "anything")


def test_data_goes_into_the_tests_own_folder(tmp_path: Path) -> None:
    data = Path(os.environ["HELIX_DATA_DIR"])
    assert data.is_relative_to(tmp_path)
    assert not data.exists()


@pytest.mark.qt_loop
async def test_coroutines_run_on_the_qt_loop(qtbot: QtBot) -> None:
    """The marker qt_loop runs timers, signals and sockets on one loop."""
    from PySide6.QtCore import QTimer

    loop = asyncio.get_running_loop()
    fired = loop.create_future()
    QTimer.singleShot(1, lambda: fired.set_result("qt"))
    assert await asyncio.wait_for(fired, 30) == "qt"
    assert isinstance(loop, QtLoop)


@pytest.mark.qt_loop
async def test_each_test_gets_a_new_qt_loop() -> None:
    """A second Qt loop in one process works, with sockets and threads too."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(echo, "127.0.0.1", 0, family=socket.AF_INET) as server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"hello\n")
        assert await asyncio.wait_for(reader.readline(), 30) == b"hello\n"
        writer.close()
        await writer.wait_closed()
    assert await asyncio.to_thread(lambda: 7) == 7


async def test_other_coroutines_run_without_qt() -> None:
    assert type(asyncio.get_running_loop()).__module__.startswith("asyncio")


def test_all_rows_of_a_table_are_tried_and_those_that_fail_are_named() -> None:
    tried = []

    @for_each(("word", "is_good"), [("a", False), ("b", True)])
    @for_each("number", (1, 2))
    def check(number: int, word: str, is_good: bool) -> None:
        tried.append((number, word))
        assert is_good or number == 2

    with pytest.raises(ExceptionGroup, match="1 of 2 rows") as failed:
        check()
    assert tried == [(1, "a"), (2, "a"), (1, "b"), (2, "b")]
    (outer,) = failed.value.exceptions
    assert isinstance(outer, ExceptionGroup)
    assert outer.__notes__ == ["with {'word': 'a', 'is_good': False}"]
    assert [inner.__notes__ for inner in outer.exceptions] == [["with {'number': 1}"]]
