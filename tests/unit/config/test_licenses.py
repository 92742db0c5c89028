"""What is shipped: every part has a licence and its full text, and the list names what we ask for."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest

from helix_desktop.config.licenses import PARTS_FILE, all_components, canonical_name
from helix_desktop.config.paths import resources_dir
from helix_desktop.domain.errors import SettingsDamaged

ROOT = Path(__file__).resolve().parents[3]


def test_every_part_has_a_licence_and_its_text() -> None:
    parts = all_components()
    assert [one.name for one in parts if not one.is_complete] == []
    assert len(parts) > 70
    assert parts[0].name == "Helix Desktop"
    names = {canonical_name(one.name) for one in parts}
    assert {"httpx", "anyio", "cryptography", "python", "openssl", "leveldb", "icu", "zstandard"} <= names
    assert "pyside6-essentials" not in names, "Qt's part speaks for it"


def test_every_part_of_an_installation_names_its_version() -> None:
    known_only_as_bundled = {"ICU", "xcb-util", "libxkbcommon", "libffi", "bzip2", "mpdecimal", "Snappy"}
    assert {one.name for one in all_components() if not one.version} == known_only_as_bundled


def test_the_duties_for_qt_are_met() -> None:
    (qt,) = [one for one in all_components() if "PySide6" in one.name]
    assert qt.license_name == "LGPL-3.0-only"
    said = " ".join(qt.text.split())
    assert "GNU LESSER GENERAL PUBLIC LICENSE Version 3, 29 June 2007" in said
    assert "GNU GENERAL PUBLIC LICENSE Version 3, 29 June 2007" in said
    for duty in (
        "linked dynamically",
        "put others of the same binary interface in their place",
        "source is offered",
    ):
        assert duty in said, duty


def test_the_list_names_what_the_project_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {re.split(r"[<>=;! ]", one)[0] for one in project["dependencies"]}
    listed = tomllib.loads((resources_dir() / "licences" / PARTS_FILE).read_text(encoding="utf-8"))
    assert {name for one in listed["distributions"] for name in one.split(" | ")} == asked


def test_each_text_belongs_to_a_part_and_ours_is_ours() -> None:
    folder = resources_dir() / "licences"
    listed = tomllib.loads((folder / PARTS_FILE).read_text(encoding="utf-8"))
    named = {name for one in listed["part"] for name in one["texts"] if "/" not in name}
    assert named == {one.name for one in folder.glob("*.txt")}
    assert (folder / "Helix-Desktop-MIT.txt").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_what_a_build_took_from_its_system_is_told(tmp_path: Path) -> None:
    shutil.copytree(resources_dir() / "licences", tmp_path / "licences")
    system = tmp_path / "licences" / "system"
    system.mkdir()
    listed = {"libexample1": {"version": "1.2-3", "files": ["libexample.so.1"]}}
    (system / "packages.json").write_text(json.dumps(listed))
    assert [one.name for one in all_components(tmp_path) if not one.is_complete] == ["libexample1"]
    (system / "libexample1.txt").write_text("LGPL: see `/usr/share/common-licenses/LGPL-2.1'.")
    (part,) = [one for one in all_components(tmp_path) if one.name == "libexample1"]
    assert (part.version, part.location, part.is_complete) == ("1.2-3", "libexample.so.1", True)
    assert "Version 2.1, February 1999" in part.text
    (system / "packages.json").write_text("[1]")
    with pytest.raises(SettingsDamaged, match=r"packages\.json cannot be used"):
        all_components(tmp_path)


def test_a_text_that_is_gone_is_noticed(tmp_path: Path) -> None:
    shutil.copytree(resources_dir() / "licences", tmp_path / "licences")
    (tmp_path / "licences" / "ICU-Unicode.txt").unlink()
    assert [one.name for one in all_components(tmp_path) if not one.is_complete] == ["ICU"]
    listed = (tmp_path / "licences" / PARTS_FILE).read_text(encoding="utf-8")
    (tmp_path / "licences" / PARTS_FILE).write_text(listed.replace('"qasync"', '"never-made-by-anyone"'))
    assert [one.name for one in all_components(tmp_path) if not one.is_complete] == [
        "ICU",
        "never-made-by-anyone",
    ]
    (tmp_path / "licences" / PARTS_FILE).write_text("nothing = ")
    with pytest.raises(SettingsDamaged, match=r"parts\.toml cannot be used"):
        all_components(tmp_path)


def test_terms_are_found_without_a_list_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an installed app, whose metadata has no RECORD."""
    info = tmp_path / "site" / "Made_Up.part-1.0.dist-info"
    (info / "licenses").mkdir(parents=True)
    (info / "licenses" / "LICENSE.txt").write_text("Take it.", encoding="utf-8")
    (info / "METADATA").write_text(
        "Metadata-Version: 2.4\nName: made-up.part\nVersion: 1.0\nLicense-Expression: MIT\n", encoding="utf-8"
    )
    folder = tmp_path / "resources" / "licences"
    shutil.copytree(resources_dir() / "licences", folder)
    listed = (folder / PARTS_FILE).read_text(encoding="utf-8")
    asked = re.sub(r"distributions = \[.*?\]", 'distributions = ["made-up.part"]', listed, flags=re.DOTALL)
    (folder / PARTS_FILE).write_text(asked, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    (part,) = [one for one in all_components(tmp_path / "resources") if one.name == "made-up.part"]
    assert part.is_complete
    assert part.texts == (("LICENSE.txt", "Take it."),)
