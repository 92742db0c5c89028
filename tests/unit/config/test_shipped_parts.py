"""What is shipped: the build's identity, and every part with its license and full text."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest

from helix_desktop import __version__
from helix_desktop.config.build_info import Build, current_build
from helix_desktop.config.licenses import PARTS_FILE, all_components, canonical_name
from helix_desktop.config.paths import resources_dir
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


ROOT = Path(__file__).resolve().parents[3]


def test_every_part_has_a_license_and_its_text() -> None:
    parts = all_components()
    assert [part.name for part in parts if not part.is_complete] == []
    assert len(parts) > 70
    assert parts[0].name == "Helix Desktop"
    names = {canonical_name(part.name) for part in parts}
    assert {"httpx", "anyio", "cryptography", "python", "openssl", "leveldb", "icu", "zstandard"} <= names
    assert "pyside6-essentials" not in names, "Qt's part speaks for it"


def test_every_part_of_an_installation_names_its_version() -> None:
    known_only_as_bundled = {"ICU", "xcb-util", "libxkbcommon", "libffi", "bzip2", "mpdecimal", "Snappy"}
    assert {
        component.name for component in all_components() if not component.version
    } == known_only_as_bundled


def test_the_obligations_for_qt_are_met() -> None:
    (qt,) = [component for component in all_components() if "PySide6" in component.name]
    assert qt.license_name == "LGPL-3.0-only"
    text = " ".join(qt.text.split())
    assert "GNU LESSER GENERAL PUBLIC LICENSE Version 3, 29 June 2007" in text
    assert "GNU GENERAL PUBLIC LICENSE Version 3, 29 June 2007" in text
    for statement in (
        "linked dynamically",
        "put others of the same binary interface in their place",
        "source is offered",
    ):
        assert statement in text, statement


def test_the_list_matches_the_project_s_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    dependencies = {re.split(r"[<>=;! ]", requirement)[0] for requirement in project["dependencies"]}
    parts_file = tomllib.loads((resources_dir() / "licenses" / PARTS_FILE).read_text(encoding="utf-8"))
    assert {name for entry in parts_file["distributions"] for name in entry.split(" | ")} == dependencies


def test_each_text_belongs_to_a_part_and_the_project_s_own_is_included() -> None:
    folder = resources_dir() / "licenses"
    parts_file = tomllib.loads((folder / PARTS_FILE).read_text(encoding="utf-8"))
    texts = {name for part in parts_file["part"] for name in part["texts"] if "/" not in name}
    assert texts == {path.name for path in folder.glob("*.txt")}
    assert (folder / "Helix-Desktop-MIT.txt").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_parts_a_build_took_from_its_system_are_listed(tmp_path: Path) -> None:
    shutil.copytree(resources_dir() / "licenses", tmp_path / "licenses")
    system = tmp_path / "licenses" / "system"
    system.mkdir()
    system_parts = {"libexample1": {"version": "1.2-3", "files": ["libexample.so.1"]}}
    (system / "packages.json").write_text(json.dumps(system_parts))
    assert [component.name for component in all_components(tmp_path) if not component.is_complete] == [
        "libexample1"
    ]
    (system / "libexample1.txt").write_text("LGPL: see `/usr/share/common-licenses/LGPL-2.1'.")
    (part,) = [component for component in all_components(tmp_path) if component.name == "libexample1"]
    assert (part.version, part.location, part.is_complete) == ("1.2-3", "libexample.so.1", True)
    assert "Version 2.1, February 1999" in part.text
    (system / "packages.json").write_text("[1]")
    with pytest.raises(SettingsDamaged, match=r"packages\.json can't be used"):
        all_components(tmp_path)


def test_a_missing_text_is_detected(tmp_path: Path) -> None:
    shutil.copytree(resources_dir() / "licenses", tmp_path / "licenses")
    (tmp_path / "licenses" / "ICU-Unicode.txt").unlink()
    assert [component.name for component in all_components(tmp_path) if not component.is_complete] == ["ICU"]
    parts_file = (tmp_path / "licenses" / PARTS_FILE).read_text(encoding="utf-8")
    (tmp_path / "licenses" / PARTS_FILE).write_text(parts_file.replace('"qasync"', '"never-made-by-anyone"'))
    assert [component.name for component in all_components(tmp_path) if not component.is_complete] == [
        "ICU",
        "never-made-by-anyone",
    ]
    (tmp_path / "licenses" / PARTS_FILE).write_text("nothing = ")
    with pytest.raises(SettingsDamaged, match=r"parts\.toml can't be used"):
        all_components(tmp_path)


def test_license_texts_are_found_without_a_list_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in an installed app, whose metadata has no RECORD."""
    info = tmp_path / "site" / "Made_Up.part-1.0.dist-info"
    (info / "licenses").mkdir(parents=True)
    (info / "licenses" / "LICENSE.txt").write_text("Take it.", encoding="utf-8")
    (info / "METADATA").write_text(
        "Metadata-Version: 2.4\nName: made-up.part\nVersion: 1.0\nLicense-Expression: MIT\n", encoding="utf-8"
    )
    folder = tmp_path / "resources" / "licenses"
    shutil.copytree(resources_dir() / "licenses", folder)
    parts_file = (folder / PARTS_FILE).read_text(encoding="utf-8")
    replaced = re.sub(
        r"distributions = \[.*?\]", 'distributions = ["made-up.part"]', parts_file, flags=re.DOTALL
    )
    (folder / PARTS_FILE).write_text(replaced, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    (part,) = [
        component for component in all_components(tmp_path / "resources") if component.name == "made-up.part"
    ]
    assert part.is_complete
    assert part.texts == (("LICENSE.txt", "Take it."),)
