"""The Linux packages: dependencies, files that desktops read, the man page, the entry point for targets."""

from __future__ import annotations

import argparse
import configparser
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import package
import pytest
from appimage.build import _join
from deb.build import depends
from deb.copyright import copyright_text
from environment import SetupFailed
from frozen.libraries import NEWEST, Needs
from linux import share
from linux.manual import commands, manual
from rpm.build import requires
from system_tools import NotHere

from helix_desktop.cli.parsers.command_line import build_parser
from helix_desktop.domain.choices import ARCHIVE_SUFFIX

ROOT = Path(__file__).resolve().parents[3]
LINUX = ROOT / "packaging" / "linux"
NEEDS = Needs({"libc.so.6": "x", "libm.so.6": "x", "libEGL.so.1": "y", "libstdc++.so.6": "z"}, dict(NEWEST))


def test_a_deb_depends_on_the_packages_of_its_libraries() -> None:
    assert depends(NEEDS) == ["libc6 (>= 2.35)", "libegl1", "libstdc++6 (>= 11)"]


def test_newer_symbols_need_a_known_version() -> None:
    """The build fails rather than declare too little."""
    with pytest.raises(SetupFailed, match=r"GLIBC_2\.40"):
        depends(Needs(NEEDS.libraries, {**NEWEST, "GLIBC": "2.40"}))


def test_an_rpm_requires_libraries_and_symbols_by_their_names() -> None:
    requirements = requires(NEEDS)
    assert "libEGL.so.1()(64bit)" in requirements
    assert f"libc.so.6(GLIBC_{NEWEST['GLIBC']})(64bit)" in requirements


def desktop_entry() -> configparser.SectionProxy:
    entry = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    entry.optionxform = str  # type: ignore[assignment,method-assign]  # as the module's own documents say
    entry.read(LINUX / f"{share.ID}.desktop", encoding="utf-8")
    return entry["Desktop Entry"]


def test_links_and_exported_workspaces_open_the_app() -> None:
    entry = desktop_entry()
    assert entry["Exec"] == "helix-desktop %u"
    assert entry["MimeType"] == "application/x-helix-workspace;"
    assert entry["Icon"] == entry["StartupWMClass"] == share.ID
    mime = ET.parse(LINUX / f"{share.ID}.mime.xml").getroot()
    space = {"m": "http://www.freedesktop.org/standards/shared-mime-info"}
    kind = mime.find("m:mime-type", space)
    glob = mime.find("m:mime-type/m:glob", space)
    assert kind is not None
    assert kind.get("type") == "application/x-helix-workspace"
    assert glob is not None
    assert glob.get("pattern") == f"*{ARCHIVE_SUFFIX}"


def test_the_metainfo_shows_shipped_images() -> None:
    info = ET.parse(LINUX / f"{share.ID}.metainfo.xml").getroot()
    image_names = [str(image.text).rpartition("/")[2] for image in info.iter("image")]
    assert tuple(image_names) == share.PICTURES
    assert all((ROOT / "packaging" / "pictures" / name).is_file() for name in image_names)
    assert info.findtext("id") == share.ID
    assert info.findtext("launchable") == f"{share.ID}.desktop"


def test_the_man_page_documents_every_command_and_option() -> None:
    page = manual("1.2.3", "2026-11-20")
    plain = page.replace("\\-", "-").replace("\\fB", "").replace("\\fI", "").replace("\\fR", "")
    documented = list(commands(build_parser()))
    assert {"run", "cache forget", "self-check", "demo", "mcp"} <= {name for name, _, _ in documented}
    for name, _, grammar in documented:
        section = plain.partition(f'.SS "{name}"')[2].partition("\n.S")[0]
        assert section, name
        for action in grammar._actions:
            for option in action.option_strings:
                is_public = action.help != argparse.SUPPRESS and not isinstance(action, argparse._HelpAction)
                assert (option in re.findall(r"^-[\w-]+", section, re.MULTILINE)) == is_public, (name, option)
    assert not re.search(r"^'", page, re.MULTILINE)


def test_the_copyright_file_names_every_part(tmp_path: Path) -> None:
    folder = tmp_path / "Tiny_Part-1.0.dist-info"
    folder.mkdir()
    metadata = (
        "Metadata-Version: 2.4\nName: Tiny_Part\nVersion: 1.0\nAuthor: Ada\nLicense-Expression: Apache-2.0\n"
    )
    (folder / "METADATA").write_text(metadata, encoding="utf-8")
    system = tmp_path / "resources" / "licenses" / "system"
    system.mkdir(parents=True)
    (system / "packages.json").write_text(
        '{"libx1": {"version": "1", "files": ["libx.so.1"]}}', encoding="utf-8"
    )
    text = copyright_text(ROOT, tmp_path, "usr/lib/x")
    assert "Files: *\nCopyright: (c) 2026 The Helix Desktop authors\nLicense: Expat\n" in text
    assert "Copyright: Ada\nLicense: Apache-2.0\n" in text
    assert "/usr/share/common-licenses/Apache-2.0" in text
    assert "Files: usr/lib/x/libx.so.1\n" in text
    assert "/usr/lib/x/resources/licenses/system/libx1.txt" in text


def test_only_an_appimage_runtime_is_prepended(tmp_path: Path) -> None:
    (tmp_path / "runtime").write_bytes(b"\x7fELF" + bytes(60))
    with pytest.raises(SetupFailed, match="must be an AppImage runtime"):
        _join(tmp_path, tmp_path / "runtime", tmp_path / "squashfs")


def test_an_unknown_target_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert package.main(ROOT, ["walk"]) == 2
    message = capsys.readouterr().err
    assert "Unknown target: 'walk'" in message
    assert all(f"\n  {name} " in message for name in package.TARGETS)


def test_a_module_missing_from_a_checkout_is_named() -> None:
    with pytest.raises(SetupFailed, match=r"packaging/nowhere/build\.py is missing"):
        package.Target("nothing", "nowhere.build").build()


def test_the_build_continues_after_a_skipped_target(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def cannot(root: Path, args: object) -> int:
        raise NotHere("no squashfs here")

    def fails(root: Path, args: object) -> int:
        raise SetupFailed("broken")

    def builds(root: Path, args: object) -> int:
        return 0

    targets = {"one": builds, "two": cannot, "three": builds}
    monkeypatch.setattr(package, "ALL", tuple(targets))
    monkeypatch.setattr(package, "TARGETS", {name: package.Target(name, name) for name in targets})
    monkeypatch.setattr(package.Target, "build", lambda self: targets[self.module])
    assert package.main(ROOT, ["all"]) == 0
    assert "skipped  two        no squashfs here\n" in capsys.readouterr().out
    targets["three"] = fails
    assert package.main(ROOT, ["all"]) == 1
    assert "FAILED   three      broken\n" in capsys.readouterr().out
