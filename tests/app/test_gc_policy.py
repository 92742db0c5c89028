"""Qt objects in a cycle die on the main thread, whoever allocates."""

import gc
import threading

import pytest
from PySide6.QtCore import QObject, QTimer
from pytestqt.qtbot import QtBot

from helix_desktop.app.run import MainThreadCollector, collect_due_generation


class Node(QObject):
    """A Qt object with a running timer that holds itself."""

    deaths: list[int]

    def __init__(self, deaths: list[int]) -> None:
        super().__init__()
        self.me, self.deaths, self.clock = self, deaths, QTimer(self)
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
