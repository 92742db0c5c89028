"""The build's identity: read from the builder's file, printed on one line, refused when incomplete."""

from __future__ import annotations

from pathlib import Path

import pytest

from helix_desktop import __version__
from helix_desktop.config.build_info import Build, current_build
from helix_desktop.domain.errors import SettingsDamaged

BUILD_FILE = f"""\
version = "{__version__}"
commit = "0123456789abcdef0123456789abcdef01234567"
date = "2026-11-20"
target = "deb"
python = "3.11.9"
releases = "https://helix-desktop.invalid/latest"
another = 3
"""


def test_a_checkout_is_reported_as_such() -> None:
    assert current_build() == Build(version=__version__)
    assert current_build().text == f"Helix Desktop {__version__} (from source)"


def test_a_build_with_changed_files_is_reported_as_such() -> None:
    build = Build("0.1.0", "0123456789abcdef+changes", "2026-11-20T10:00:00Z", "rpm")
    assert build.text == "Helix Desktop 0.1.0 (rpm, commit 0123456789ab with changes, 2026-11-20)"


def test_the_builder_s_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "build.toml").write_text(BUILD_FILE, encoding="utf-8")
    build = current_build(tmp_path)
    assert build.text == f"Helix Desktop {__version__} (deb, commit 0123456789ab, 2026-11-20)"
    assert build.releases == "https://helix-desktop.invalid/latest"


@pytest.mark.parametrize(
    "text", ["version = ", 'version = "9.9.9"', "date = 2026-11-20", 'commit = "a\\u0007"', "target = 3"]
)
def test_a_malformed_build_file_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "build.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SettingsDamaged, match=r"build\.toml can't be used") as refused:
        current_build(tmp_path)
    assert refused.value.fix == "Reinstall Helix Desktop."
