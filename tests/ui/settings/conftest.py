"""Pages of the settings without a window."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication

from tests.support.default_settings import NoWindow


@pytest.fixture(autouse=True)
def _windows_of_sessions() -> Iterator[None]:
    """Delete the windows that stand for none: each holds its session, which holds it."""
    yield
    for window in QApplication.topLevelWidgets():
        if isinstance(window, NoWindow):
            window.deleteLater()
