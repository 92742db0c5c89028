"""Run tests in processes that are forked once all tests are collected.

Each process of pytest-xdist collects them for itself, which takes five seconds of processor time. Linux only:
elsewhere a forked process may not use what its parent has loaded.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from itertools import chain, groupby, pairwise
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.capture import FDCapture

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

_BATCH = 20


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for the number of processes."""
    parser.addoption("--processes", type=int, default=0, help="run the tests in this many forked processes")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in processes, and report their results here."""
    config, hook = session.config, session.config.hook
    count = config.getoption("processes")
    if not count or session.testsfailed or config.option.collectonly:
        return None
    reporter: TerminalReporter | None = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.showfspath = False
    processes = _fork(session, count)
    open_links, batches = list(processes), _batches(session.items)
    without_result = dict.fromkeys(item.nodeid for item in session.items)
    try:
        while open_links:
            for link in wait(open_links):
                assert isinstance(link, Connection)
                try:
                    report = link.recv()
                except EOFError:
                    open_links.remove(link)
                    continue
                if report is None:
                    link.send([] if session.shouldfail or session.shouldstop else next(batches, []))
                    continue
                report = hook.pytest_report_from_serializable(config=config, data=report)
                hook.pytest_runtest_logreport(report=report)
                if report.when == "teardown":
                    without_result.pop(report.nodeid)
    finally:
        for process in processes.values():
            if open_links:
                process.terminate()
            process.join()
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
    if without_result:
        raise session.Interrupted(f"a process ended early: no result of {', '.join(without_result)}")
    if any(process.exitcode for process in processes.values()):
        raise session.Interrupted("a process failed after its last test (see above)")
    return True


def _batches(items: list[pytest.Item]) -> Iterator[list[int]]:
    """Give the places of tests that one process runs in a row: of one module, which may share a fixture."""
    for _, numbered in groupby(enumerate(items), key=lambda pair: pair[1].path):
        places = [place for place, _ in numbered]
        yield from (places[start : start + _BATCH] for start in range(0, len(places), _BATCH))


def _fork(session: pytest.Session, count: int) -> dict[Connection, ForkProcess]:
    context = multiprocessing.get_context("fork")
    folder: Path = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # set by pytest
    processes: dict[Connection, ForkProcess] = {}
    for number in range(count):
        here, there = context.Pipe()
        arguments = (session, there, [*processes, here], folder / str(number))
        process = context.Process(target=_run_tests, args=arguments)
        process.start()
        there.close()
        processes[here] = process
    return processes


class _ReportsSent:
    def __init__(self, link: Connection, config: pytest.Config) -> None:
        self._link, self._config = link, config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send each report to the process that collected the tests."""
        self._link.send(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))


def _run_tests(session: pytest.Session, link: Connection, of_parent: list[Connection], folder: Path) -> None:
    for connection in of_parent:
        connection.close()  # else this process would not see the parent's end
    config: Any = session.config
    config._tmp_path_factory._given_basetemp, config._tmp_path_factory._basetemp = folder, None
    captures = config.pluginmanager.get_plugin("capturemanager")._global_capturing
    for capture in (captures.out, captures.err):
        if isinstance(capture, FDCapture):
            with TemporaryFile(buffering=0) as own:
                os.dup2(own.fileno(), capture.tmpfile.fileno(), inheritable=False)
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        config.get_terminal_writer()._file = nowhere
        config.pluginmanager.register(_ReportsSent(link, config))
        items = (session.items[place] for place in chain.from_iterable(iter(lambda: _next_batch(link), [])))
        for item, following in pairwise(chain(items, [None])):
            assert item is not None
            config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        config._ensure_unconfigure()  # looks for what the last tests left


def _next_batch(link: Connection) -> list[int]:
    link.send(None)
    batch: list[int] = link.recv()
    return batch
