"""The build's identity: read from what the builder wrote, said on one line, refused when it is not whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from helix_desktop import __version__
from helix_desktop.config.build_info import Build, current_build
from helix_desktop.domain.errors import SettingsDamaged

WRITTEN = f"""\
version = "{__version__}"
commit = "0123456789abcdef0123456789abcdef01234567"
date = "2026-11-20"
target = "deb"
python = "3.11.9"
releases = "https://helix-desktop.invalid/latest"
another = 3
"""


def test_a_checkout_says_that_it_is_one() -> None:
    assert current_build() == Build(version=__version__)
    assert current_build().text == f"Helix Desktop {__version__} (from a checkout)"


def test_a_build_of_changed_files_says_so() -> None:
    build = Build("0.1.0", "0123456789abcdef+changes", "2026-11-20T10:00:00Z", "rpm")
    assert build.text == "Helix Desktop 0.1.0 (rpm, commit 0123456789ab with changes, 2026-11-20)"


def test_what_the_builder_wrote_is_said(tmp_path: Path) -> None:
    (tmp_path / "build.toml").write_text(WRITTEN, encoding="utf-8")
    build = current_build(tmp_path)
    assert build.text == f"Helix Desktop {__version__} (deb, commit 0123456789ab, 2026-11-20)"
    assert build.releases == "https://helix-desktop.invalid/latest"


@pytest.mark.parametrize(
    "text", ["version = ", 'version = "9.9.9"', "date = 2026-11-20", 'commit = "a\\u0007"', "target = 3"]
)
def test_a_file_that_no_builder_writes_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "build.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SettingsDamaged, match=r"build\.toml cannot be used") as refused:
        current_build(tmp_path)
    assert refused.value.fix == "Install Helix Desktop again."
