"""A start waits for a window that ends, and names one that does not answer."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from helix_desktop.app import single_instance
from helix_desktop.app.single_instance import SingleInstance
from helix_desktop.domain.errors import InstanceNotResponding


@pytest.fixture(autouse=True)
def _short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single_instance, "_ANSWER_TIMEOUT_S", 0.2)


def test_a_window_that_ends_may_take_longer_than_one_that_listens(qapp: QApplication, tmp_path: Path) -> None:
    ending, other = SingleInstance(tmp_path), SingleInstance(tmp_path)
    assert ending.claim()
    ending.stop_listening()
    end = threading.Timer(0.6, ending.close)
    end.start()
    try:
        assert not other.send("folder"), "the directory is free"
    finally:
        end.join()
    other.close()


def test_a_window_that_listens_and_does_not_answer_is_named(qapp: QApplication, tmp_path: Path) -> None:
    busy, other = SingleInstance(tmp_path), SingleInstance(tmp_path)
    assert busy.claim()
    with pytest.raises(InstanceNotResponding):
        other.send("folder")
    busy.close()
