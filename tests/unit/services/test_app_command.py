"""How the program is restarted: by its kind of installation."""

from __future__ import annotations

import sys

import pytest

from helix_desktop.services.app_command import app_command

INSIDE = "/mnt/.mount_helix/usr/lib/helix-desktop/helix-desktop"


def test_a_checkout_starts_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python with -m, whatever an AppImage that started us has left in the environment."""
    monkeypatch.setenv("APPIMAGE", "/home/ada/x.AppImage")
    assert app_command("mcp") == (sys.executable, "-m", "helix_desktop", "mcp")


@pytest.mark.parametrize(
    ("image", "mounted", "expected"),
    [
        ("", "", INSIDE),
        ("/home/ada/Helix.AppImage", "/mnt/.mount_helix", "/home/ada/Helix.AppImage"),
        ("/home/ada/Editor.AppImage", "/mnt/.mount_editor", INSIDE),
        ("/home/ada/Editor.AppImage", "", INSIDE),
    ],
)
def test_a_frozen_app_starts_itself_or_its_appimage(
    image: str, mounted: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never a path that is gone when this process is, never another program's AppImage."""
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", INSIDE)
    monkeypatch.setenv("APPIMAGE", image)
    monkeypatch.setenv("APPDIR", mounted)
    assert app_command("mcp") == (expected, "mcp")
