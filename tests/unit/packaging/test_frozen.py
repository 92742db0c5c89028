"""What goes into the frozen app, what it asks of the system, and what its children get to see."""

from __future__ import annotations

import ast
import shutil
import sys
import tomllib
from importlib.metadata import PathDistribution
from pathlib import Path

import build_identity
import pytest
from environment import SetupFailed
from frozen import contents, libraries, start
from frozen.build import make_uniform, trim_records

ROOT = Path(__file__).resolve().parents[3]
QT = "PySide6/Qt/plugins"


@pytest.mark.parametrize(
    "place",
    [
        f"{QT}/platforms/libqxcb.so",
        f"{QT}/platforms/libqwayland.so",
        f"{QT}/platforms/libqoffscreen.so",
        f"{QT}/platforminputcontexts/libibusplatforminputcontextplugin.so",
        f"{QT}/platforminputcontexts/libcomposeplatforminputcontextplugin.so",
        f"{QT}/platformthemes/libqxdgdesktopportal.so",
        f"{QT}/wayland-shell-integration/libxdg-shell.so",
        f"{QT}/imageformats/libqjpeg.so",
        "PySide6/Qt/translations/qtbase_de.qm",
        "mcp-2.3.0.dist-info/RECORD",
        "mcp-2.3.0.dist-info/licenses/LICENSE",
        "libxcb-cursor.so.0",
        "libxkbcommon.so.0",
    ],
)
def test_what_the_app_needs_comes_along(place: str) -> None:
    """Displays, input methods, pictures, translations of dialogs, licences, libraries that systems lack."""
    assert contents.is_wanted((place, "", "BINARY"), "linux")


@pytest.mark.parametrize(
    "place",
    [
        f"{QT}/platforms/libqvnc.so",
        f"{QT}/platforms/libqeglfs.so",
        f"{QT}/platformthemes/libqgtk3.so",
        f"{QT}/imageformats/libqtiff.so",
        f"{QT}/sqldrivers/libqsqlite.so",
        "PySide6/Qt/translations/designer_de.qm",
        "helix_desktop-0.1.0.dist-info/direct_url.json",
        "resources/demo/tidewatch/__pycache__/gauge.cpython-311.pyc",
        "libstdc++.so.6",
        "libX11.so.6",
        "libwayland-client.so.0",
    ],
)
def test_what_it_does_not_need_stays_out(place: str) -> None:
    """Other displays and drivers, paths of the building machine, libraries that belong to the system."""
    assert not contents.is_wanted((place, "", "BINARY"), "linux")


def test_on_other_systems_no_library_is_left_to_the_system() -> None:
    """Windows and macOS have no such libraries."""
    assert contents.is_wanted(("libz.so.1", "", "BINARY"), "darwin")


def test_libraries_that_nothing_asks_for_are_left_out() -> None:
    """What plugins and modules ask for stays, at any depth; links to what went go, too."""
    asked = {"/p": ["liba.so.1"], "/a": ["libb.so.1"]}
    plugin = (f"{QT}/platforms/libqxcb.so", "/p", "BINARY")
    first, second = ("liba.so.1", "/a", "BINARY"), ("lib/libb.so.1", "/b", "BINARY")
    lonely, link = ("libc.so.1", "/c", "BINARY"), ("lib/libc.so", "../libc.so.1", "SYMLINK")
    stays, gone = contents.reachable(
        [plugin, first, second, lonely, link], lambda source: asked.get(source, [])
    )
    assert (stays, gone) == ([plugin, first, second, link], ["libc.so.1"])
    assert contents.without_dangling(stays, [one[0] for one in stays]) == [plugin, first, second]


def test_children_get_the_persons_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the bootloader sets goes; what the person had comes back."""
    monkeypatch.setattr(sys, "_MEIPASS", "/usr/lib/helix-desktop/_internal", raising=False)
    inside = {
        "LD_LIBRARY_PATH": "/usr/lib/helix-desktop/_internal",
        "_PYI_ARCHIVE_FILE": "x",
        "A": "1",
    }
    assert start.restored(inside) == {"A": "1"}
    had = {"LD_LIBRARY_PATH": "/usr/lib/helix-desktop/_internal:/opt/ada", "LD_LIBRARY_PATH_ORIG": "/opt/ada"}
    assert start.restored(had) == {"LD_LIBRARY_PATH": "/opt/ada"}
    assert start.restored({"LD_LIBRARY_PATH": "/opt/ada"}) == {"LD_LIBRARY_PATH": "/opt/ada"}


def test_every_library_that_is_asked_for_is_found(tmp_path: Path) -> None:
    """What a program asks for and the folder does not hold is a need of the system."""
    if not shutil.which("readelf"):
        pytest.skip("there is no readelf here")
    program = shutil.which("true") or "/bin/true"
    shutil.copy(program, tmp_path / "true")
    found = libraries.needs(tmp_path)
    assert found.libraries["libc.so.6"] == "true"
    assert "GLIBC" in found.symbols
    (tmp_path / "libc.so.6").write_bytes(b"")
    assert "libc.so.6" not in libraries.needs(tmp_path).libraries


def test_what_no_package_declares_fails_the_build() -> None:
    """A library of nobody, and symbols that the oldest system does not have: each is named with who asks."""
    found = libraries.Needs({"libc.so.6": "a", "libnowhere.so.1": "plugins/b.so"}, {"GLIBC": "2.99"})
    library, symbol = libraries.complaints(found)
    assert "libnowhere.so.1 (asked for by plugins/b.so)" in library
    assert "GLIBC_2.99 is newer" in symbol


def test_licences_are_found_by_what_is_there(tmp_path: Path) -> None:
    """A distribution's list names its metadata and no file that was left out."""
    folder = tmp_path / "tiny-1.0.dist-info"
    (folder / "licenses").mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.4\nName: tiny\nVersion: 1.0\n", encoding="utf-8")
    (folder / "licenses" / "LICENSE").write_text("Do what you like.", encoding="utf-8")
    (folder / "RECORD").write_text("tiny/__init__.py,sha256=abc,3\n../../bin/tiny,,\n", encoding="utf-8")
    trim_records(tmp_path)
    files = PathDistribution(folder).files or []
    assert {file.name for file in files} == {"METADATA", "LICENSE", "RECORD"}


def test_a_build_says_which_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Version, commit, date, target and Python, as TOML; without git the commit is unknown."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    (tmp_path / "helix_desktop").mkdir()
    (tmp_path / "helix_desktop" / "__init__.py").write_text('__version__ = "1.2.3"\n', encoding="utf-8")
    (tmp_path / "resources").mkdir()
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    build_identity.write_identity(tmp_path, tmp_path / "resources", "deb", "3.11.2")
    told = tomllib.loads((tmp_path / "resources" / "build.toml").read_text(encoding="utf-8"))
    wanted = {"version": "1.2.3", "commit": "unknown", "date": "2023-11-14T22:13:20Z", "target": "deb"}
    assert told == {**told, **wanted, "python": "3.11.2"}


def test_without_git_and_a_date_nothing_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two builds would differ: the message says which variable to set."""
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(SetupFailed, match="SOURCE_DATE_EPOCH"):
        build_identity.epoch(tmp_path)


def test_what_the_samples_import_is_shipped() -> None:
    imported = set()
    for path in (ROOT / "resources" / "demo").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {one.name for one in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module)
    library = {name for name in imported if name in sys.stdlib_module_names}
    assert library - set(sys.builtin_module_names) - {"collections"} <= set(contents.SAMPLES)


def test_rights_and_dates_are_those_of_every_build(tmp_path: Path) -> None:
    """Programs can be run, nothing else can; another umask or clock changes nothing."""
    for name in ("helix-desktop", "_internal/bin/rg", "_internal/demo/bin/python3.cmd", "_internal/libx.so"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
        (tmp_path / name).chmod(0o770)
    make_uniform(tmp_path, 1_700_000_000)
    files = [path for path in sorted(tmp_path.rglob("*")) if path.is_file()]
    assert [path.name for path in files if path.stat().st_mode & 0o777 == 0o755] == ["rg", "helix-desktop"]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o755, 0o644}
    assert {path.stat().st_mtime for path in tmp_path.rglob("*")} == {1_700_000_000}
