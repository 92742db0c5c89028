"""What a started program must not see of a frozen app."""

from __future__ import annotations

from pathlib import Path

from helix_desktop.diagnostics.checks import bundle_dir, leaked_variables

APP = Path("/usr/lib/helix-desktop")


def test_variables_that_leak_from_the_frozen_app_are_listed() -> None:
    environ = {
        "HOME": "/home/mara",
        "PATH": f"{APP}:/usr/bin",
        "LD_LIBRARY_PATH": f"{APP}/_internal",
        "QT_PLUGIN_PATH": f"/mine:{APP}/_internal/PySide6/Qt/plugins",
        "SSL_CERT_FILE": f"{APP}/_internal/certifi/cacert.pem",
        "QML2_IMPORT_PATH": "/mine/qml",
        "_PYI_ARCHIVE_FILE": "x",
        "_MEIPASS2": "x",
    }
    assert leaked_variables(environ, APP) == [
        "LD_LIBRARY_PATH", "QT_PLUGIN_PATH", "SSL_CERT_FILE", "_MEIPASS2", "_PYI_ARCHIVE_FILE",
    ]  # fmt: skip
    assert leaked_variables(environ, None) == ["_MEIPASS2", "_PYI_ARCHIVE_FILE"]


def test_a_checkout_leaks_no_variables() -> None:
    assert bundle_dir() is None
