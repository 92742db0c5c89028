"""The Linux packages: what they declare, files that desktops read, the man page, the door to targets."""

from __future__ import annotations

import argparse
import configparser
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import package
import pytest
from appimage.build import _joined
from deb.build import depends
from deb.copyright import copyright_text
from environment import SetupFailed
from frozen.libraries import NEWEST, Needs
from linux import share
from linux.manual import commands, manual
from rpm.build import requires
from system_tools import NotHere

from helix_desktop.cli.main import build_parser
from helix_desktop.domain.store.archive_report import SUFFIX

ROOT = Path(__file__).resolve().parents[3]
LINUX = ROOT / "packaging" / "linux"
FOUND = Needs({"libc.so.6": "x", "libm.so.6": "x", "libEGL.so.1": "y", "libstdc++.so.6": "z"}, dict(NEWEST))


def test_a_deb_depends_on_what_has_the_libraries() -> None:
    """Each package once, with the version that has the newest symbols first."""
    assert depends(FOUND) == ["libc6 (>= 2.35)", "libegl1", "libstdc++6 (>= 11)"]


def test_newer_symbols_need_a_version_that_somebody_looked_up() -> None:
    """The build fails rather than declare too little."""
    with pytest.raises(SetupFailed, match=r"GLIBC_2\.40"):
        depends(Needs(FOUND.libraries, {**NEWEST, "GLIBC": "2.40"}))


def test_an_rpm_requires_libraries_and_symbols_by_their_names() -> None:
    """As every RPM distribution calls them."""
    asked = requires(FOUND)
    assert "libEGL.so.1()(64bit)" in asked
    assert f"libc.so.6(GLIBC_{NEWEST['GLIBC']})(64bit)" in asked


def desktop_entry() -> configparser.SectionProxy:
    """The menu entry."""
    entry = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    entry.optionxform = str  # type: ignore[assignment,method-assign]  # as the module's own documents say
    entry.read(LINUX / f"{share.ID}.desktop", encoding="utf-8")
    return entry["Desktop Entry"]


def test_links_and_exported_workspaces_open_the_app() -> None:
    """The menu entry takes what the file type is called, and files of that type end as exports do."""
    entry = desktop_entry()
    assert entry["Exec"] == "helix-desktop %u"
    assert entry["MimeType"] == "x-scheme-handler/helix;application/x-helix-workspace;"
    assert entry["Icon"] == entry["StartupWMClass"] == share.ID
    mime = ET.parse(LINUX / f"{share.ID}.mime.xml").getroot()
    space = {"m": "http://www.freedesktop.org/standards/shared-mime-info"}
    kind = mime.find("m:mime-type", space)
    glob = mime.find("m:mime-type/m:glob", space)
    assert kind is not None
    assert kind.get("type") == "application/x-helix-workspace"
    assert glob is not None
    assert glob.get("pattern") == f"*{SUFFIX}"


def test_the_metainfo_shows_pictures_that_are_shipped() -> None:
    """Each picture that it names is one that the package carries, and the project has."""
    info = ET.parse(LINUX / f"{share.ID}.metainfo.xml").getroot()
    named = [str(image.text).rpartition("/")[2] for image in info.iter("image")]
    assert tuple(named) == share.PICTURES
    assert all((ROOT / "packaging" / "pictures" / name).is_file() for name in named)
    assert info.findtext("id") == share.ID
    assert info.findtext("launchable") == f"{share.ID}.desktop"


def test_the_man_page_names_every_command_and_option() -> None:
    """All that a person can give is there, and what is hidden from help is not."""
    page = manual("1.2.3", "2026-11-20")
    plain = page.replace("\\-", "-").replace("\\fB", "").replace("\\fI", "").replace("\\fR", "")
    told = list(commands(build_parser()))
    assert {"run", "cache forget", "self-check", "demo", "mcp"} <= {name for name, _, _ in told}
    for name, _, grammar in told:
        section = plain.partition(f'.SS "{name}"')[2].partition("\n.S")[0]
        assert section, name
        for action in grammar._actions:
            for option in action.option_strings:
                shown = action.help != argparse.SUPPRESS and not isinstance(action, argparse._HelpAction)
                assert (option in re.findall(r"^-[\w-]+", section, re.MULTILINE)) == shown, (name, option)
    assert not re.search(r"^'", page, re.MULTILINE)


def test_the_copyright_file_names_every_part(tmp_path: Path) -> None:
    """The app, each distribution with its terms, each library of the system with where its text lies."""
    folder = tmp_path / "Tiny_Part-1.0.dist-info"
    folder.mkdir()
    metadata = (
        "Metadata-Version: 2.4\nName: Tiny_Part\nVersion: 1.0\nAuthor: Ada\nLicense-Expression: Apache-2.0\n"
    )
    (folder / "METADATA").write_text(metadata, encoding="utf-8")
    system = tmp_path / "resources" / "licences" / "system"
    system.mkdir(parents=True)
    (system / "packages.json").write_text(
        '{"libx1": {"version": "1", "files": ["libx.so.1"]}}', encoding="utf-8"
    )
    text = copyright_text(ROOT, tmp_path, "usr/lib/x")
    assert "Files: *\nCopyright: (c) 2026 The Helix Desktop authors\nLicense: Expat\n" in text
    assert "Copyright: Ada\nLicense: Apache-2.0\n" in text
    assert "/usr/share/common-licenses/Apache-2.0" in text
    assert "Files: usr/lib/x/libx.so.1\n" in text
    assert "/usr/lib/x/resources/licences/system/libx1.txt" in text


def test_only_a_runtime_of_appimages_is_put_in_front(tmp_path: Path) -> None:
    """Anything else would be a file that does not start."""
    (tmp_path / "runtime").write_bytes(b"\x7fELF" + bytes(60))
    with pytest.raises(SetupFailed, match="no runtime of AppImages"):
        _joined(tmp_path, tmp_path / "runtime", tmp_path / "squashfs")


def test_a_target_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2, and the list of those that do."""
    assert package.main(ROOT, ["walk"]) == 2
    said = capsys.readouterr().err
    assert "there is no target 'walk'" in said
    assert all(f"\n  {name} " in said for name in package.TARGETS)


def test_a_part_that_a_checkout_lacks_is_named() -> None:
    """One line with the file, no traceback; what is wrong inside a module is not taken for that."""
    with pytest.raises(SetupFailed, match=r"no packaging/nowhere/build\.py"):
        package.Target("nothing", "nowhere.build").build()


def test_all_goes_on_after_what_this_machine_cannot_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is skipped is told with the reason and is no failure; what failed is one."""

    def cannot(root: Path, words: object) -> int:
        raise NotHere("no squashfs here")

    def fails(root: Path, words: object) -> int:
        raise SetupFailed("broken")

    def builds(root: Path, words: object) -> int:
        return 0

    made = {"one": builds, "two": cannot, "three": builds}
    monkeypatch.setattr(package, "ALL", tuple(made))
    monkeypatch.setattr(package, "TARGETS", {name: package.Target(name, name) for name in made})
    monkeypatch.setattr(package.Target, "build", lambda self: made[self.module])
    assert package.main(ROOT, ["all"]) == 0
    assert "skipped  two        no squashfs here\n" in capsys.readouterr().out
    made["three"] = fails
    assert package.main(ROOT, ["all"]) == 1
    assert "FAILED   three      broken\n" in capsys.readouterr().out
