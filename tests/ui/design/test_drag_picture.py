"""What hangs at the pointer during a drag."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from helix_desktop.ui.design.drops import drag_picture
from helix_desktop.ui.design.style.theme import LIGHT


def test_a_long_name_stays_a_small_pill(qtbot: QtBot) -> None:
    short, long = (
        drag_picture(name, LIGHT, 2.0) for name in ("read_file a.py", "read_file " + "folder/" * 90)
    )
    assert long.deviceIndependentSize().width() <= 320
    assert short.deviceIndependentSize().width() < long.deviceIndependentSize().width()
    assert long.height() == 2 * long.deviceIndependentSize().height()
