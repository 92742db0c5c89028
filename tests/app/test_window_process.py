"""The process of the window: its frame, its garbage, the file of its sizes, and what is said of a crash."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, QObject, QTimer, QTranslator
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from helix_desktop.app.crash_log import close_window_logs, open_window_logs
from helix_desktop.app.crash_recovery import LastRun, RunMarker, crash_report, find_unfinished
from helix_desktop.app.qt_language import QtLanguage
from helix_desktop.app.run import MainThreadCollector, collect_due_generation
from helix_desktop.app.window_frame import set_application_identity
from helix_desktop.app.window_state import WindowStateFile
from helix_desktop.config.log_file import close_log, log, open_log
from helix_desktop.config.paths import LOG_FILE, STACKS_FILE, DataDir
from helix_desktop.domain.events.conversation import MessageQueued, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.store import Commit
from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.services.app_services import AppServices
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.ui.window.quit import RecoverySummary
from helix_desktop.words.english import English
from helix_desktop.words.translation import use_language
from tests.support.store.builders import make_summary


@pytest.fixture
def app(qapp: QApplication) -> Iterator[QApplication]:
    """Return the application, which speaks English again in the end."""
    yield qapp
    use_language(English())
    for translator in qapp.findChildren(QTranslator):
        qapp.removeTranslator(translator)
        translator.setParent(None)


def _cancel() -> str:
    return QCoreApplication.translate("QPlatformTheme", "Cancel")


def test_dialogs_of_qt_speak_the_language_of_the_window(app: QApplication) -> None:
    """In English nothing is loaded for them."""
    set_application_identity(app)
    assert (_cancel(), app.findChildren(QTranslator)) == ("Cancel", [])
    use_language(QtLanguage("de", QTranslator()))
    set_application_identity(app)
    assert _cancel() == "Abbrechen"


def test_the_first_frame_waits_for_no_engine_no_loop_no_structs_of_events_and_no_source_files() -> None:
    """Each of them took a tenth of the time to it.

    The engine and the structs came when a module of the frame imported one of their types, the source of
    every module by PySide's hook on the import statement.
    """
    code = (
        "import linecache, sys\n"
        "from helix_desktop.main import resolve_command\n"
        "from helix_desktop.cli.parsers.command_line import build_parser\n"
        "resolve_command(build_parser().parse_args([]))\n"
        "assert 'helix_desktop.app.window_frame' in sys.modules\n"
        "early = ('helix_desktop.context', 'helix_desktop.services.app_services')\n"
        "early += ('asyncio', 'msgspec', 'markdown_it', 'helix_desktop.ui.kit.boxes')\n"
        "modules = [name for name in early if name in sys.modules]\n"
        "print(modules + [path for path in linecache.cache if 'helix_desktop' in path])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class Node(QObject):
    """A Qt object with a running timer that holds itself."""

    deaths: list[int]

    def __init__(self, deaths: list[int]) -> None:
        super().__init__()
        self.me = self
        self.deaths = deaths
        self.clock = QTimer(self)
        self.clock.start(60_000)

    def __del__(self) -> None:
        self.deaths.append(threading.get_ident())


@pytest.fixture
def owner(qapp: object) -> QObject:
    return QObject()


def test_a_worker_that_allocates_ends_no_qt_object(qtbot: QtBot, owner: QObject) -> None:
    MainThreadCollector(owner)
    deaths: list[int] = []
    Node(deaths)
    worker = threading.Thread(target=lambda: [[n] for n in range(200_000)])
    worker.start()
    worker.join()
    assert deaths == []
    gc.collect()
    assert deaths == [threading.get_ident()]


def test_what_is_due_is_collected(owner: QObject) -> None:
    MainThreadCollector(owner)
    deaths: list[int] = []
    Node(deaths)
    # Python reuses lists that were let go, eighty at most, without counting them.
    alive = [[n] for n in range(gc.get_threshold()[0] + 1_000)]
    collect_due_generation()
    assert deaths == [threading.get_ident()]
    assert alive


def test_a_damaged_file_means_default_sizes_and_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "window.toml"
    path.write_text("geometry = [")
    state = WindowStateFile(path)
    assert state.get("geometry") == b""
    state.put("geometry", b"\2")
    state.save()
    assert WindowStateFile(path).get("geometry") == b"\2"


def test_what_cannot_be_read_is_left_as_it_is(tmp_path: Path) -> None:
    """As on a disk that is not there now; here a link that leads to itself."""
    path = tmp_path / "window.toml"
    path.symlink_to(path)
    state = WindowStateFile(path)
    state.put("geometry", b"\3")
    state.save()
    assert path.is_symlink()


@pytest.mark.skipif(sys.platform != "linux", reason="has no device that is always full")
def test_what_a_full_disk_refuses_is_dropped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / LOG_FILE).symlink_to("/dev/full")
    handler = open_log(tmp_path)
    log.info("The store was closed.")
    close_log(handler)
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no pipes with a name")
def test_logs_that_are_pipes_stop_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody reads them: opened as files they would wait for ever."""
    os.mkfifo(tmp_path / LOG_FILE)
    os.mkfifo(tmp_path / STACKS_FILE)
    hooks = sys.excepthook, threading.excepthook
    stacks = open_window_logs(tmp_path)
    log.info("The store was closed.")
    close_window_logs(stacks)
    sys.excepthook, threading.excepthook = hooks
    assert capsys.readouterr().err == ""


HOME = Path("/home/ada")
DAY = 1_700_000_000_000  # 2023-11-14


def test_a_leftover_marker_names_the_run_that_crashed(tmp_path: Path) -> None:
    marker_file = tmp_path / "window.open"
    marker = RunMarker(marker_file)
    assert marker.crashed_run() is None
    marker.start(DAY, 40)
    marker.add_workspace("one")
    marker.add_workspace("one")
    marker.add_workspace("two")
    crashed = RunMarker(marker_file).crashed_run()
    assert crashed is not None
    assert (crashed.started, crashed.stacks, crashed.workspaces) == (DAY, 40, ("one", "two"))
    marker.clear()
    assert RunMarker(marker_file).crashed_run() is None


def test_a_marker_of_an_older_version_or_cut_off_is_a_crash_too(tmp_path: Path) -> None:
    marker_file = tmp_path / "window.open"
    for data in (b"", b'{"started": 1700'):
        marker_file.write_bytes(data)
        crashed = RunMarker(marker_file).crashed_run()
        assert crashed is not None
        assert crashed.started == int(marker_file.stat().st_mtime * 1_000)


def test_the_report_contains_only_its_own_run(tmp_path: Path) -> None:
    """Its newest lines last, those of the present run not, and also what the log has rotated since."""
    (tmp_path / STACKS_FILE).write_text("older stack\nFatal: newer stack\n", encoding="utf-8")
    (tmp_path / f"{LOG_FILE}.1").write_text(
        log_line(DAY - 1, "long ago") + log_line(DAY, "first") + "Traceback\n", encoding="utf-8"
    )
    ended = DAY + 240_500
    (tmp_path / LOG_FILE).write_text(
        log_line(ended - 1, "last") + "End of it\n" + log_line(ended, "this run") + "Of this\n",
        encoding="utf-8",
    )
    report = crash_report(tmp_path, LastRun(DAY, stacks=len("older stack\n")), ended, HOME)
    lines = log_line(DAY, "first") + "Traceback\n" + log_line(ended - 1, "last") + "End of it"
    assert report.endswith(f"Crash stacks\nFatal: newer stack\n\nLog\n{lines}")


def log_line(at_ms: int, message: str) -> str:
    return f"{datetime.fromtimestamp(at_ms // 1_000)},{at_ms % 1_000:03} ERROR x: {message}\n"


def test_the_report_of_a_killed_run_says_that_there_is_no_log(tmp_path: Path) -> None:
    (tmp_path / LOG_FILE).write_text(log_line(DAY + 5_000, "this run"), encoding="utf-8")
    report = crash_report(tmp_path, LastRun(DAY), DAY + 5_000, HOME)
    assert "ended from outside" in report
    assert "No warnings or errors" in report


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[AppServices]:
    data = DataDir(tmp_path / "data")
    data.ensure()
    services = AppServices(data, {})
    yield services
    await services.close()


async def test_what_a_crashed_run_left_is_counted_and_named(tmp_path: Path, services: AppServices) -> None:
    """Also once a look has shown it; what is older than the crashed run does not count."""
    (tmp_path / "project").mkdir()
    identity = services.registry.add(tmp_path / "project").id
    workspace = await services.open_workspace(identity)
    before = wall_clock_ms()
    log = [RecordedEvent(1, before, UserSpoke("Go", 1)), RecordedEvent(2, before, MessageQueued("And then"))]
    summary = replace(make_summary("cut-off", before), title="a title" * 60)
    await workspace.store.commit(Commit("cut-off", log, summary=summary))
    await workspace.store.save_draft("cut-off", "half a thought")
    run = LastRun(before, workspaces=(identity, "removed"))
    title = f"“{ellipsize_title(summary.title)}” in project"
    expected = RecoverySummary(turns=1, queued=1, drafts=1, sessions=(title,))
    assert await find_unfinished(services, run) == expected
    await workspace.open_session("cut-off")
    assert await find_unfinished(services, run) == expected
    later = replace(run, started=wall_clock_ms() + 1)
    assert await find_unfinished(services, later) == RecoverySummary(drafts=1, sessions=(title,))
