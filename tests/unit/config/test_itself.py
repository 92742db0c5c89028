"""How the program is started anew: as what it is installed as."""

from __future__ import annotations

import sys

import pytest

from helix_desktop.config.itself import own_command

INSIDE = "/mnt/.mount_helix/usr/lib/helix-desktop/helix-desktop"


def test_a_checkout_starts_its_package() -> None:
    """Python with -m, whatever an AppImage that started us has left in the environment."""
    assert own_command({"APPIMAGE": "/home/ada/x.AppImage"}) == (sys.executable, "-m", "helix_desktop")


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, INSIDE),
        ({"APPIMAGE": "/home/ada/Helix.AppImage", "APPDIR": "/mnt/.mount_helix"}, "/home/ada/Helix.AppImage"),
        ({"APPIMAGE": "/home/ada/Editor.AppImage", "APPDIR": "/mnt/.mount_editor"}, INSIDE),
        ({"APPIMAGE": "/home/ada/Editor.AppImage"}, INSIDE),
    ],
)
def test_a_frozen_app_starts_itself_or_its_appimage(
    environ: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never a path that is gone when this process is, never another program's AppImage."""
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", INSIDE)
    assert own_command(environ) == (expected,)
