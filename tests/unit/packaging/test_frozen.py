"""What goes into the frozen app, what it needs of the system, and what its child processes see."""

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

from tests.support.tables import for_each

ROOT = Path(__file__).resolve().parents[3]
QT = "PySide6/Qt/plugins"


@for_each(
    "path",
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
def test_required_files_are_included(path: str) -> None:
    assert contents.is_wanted((path, "", "BINARY"), "linux")


@for_each(
    "path",
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
def test_unneeded_files_are_excluded(path: str) -> None:
    assert not contents.is_wanted((path, "", "BINARY"), "linux")
    assert contents.is_wanted((path, "", "BINARY"), "darwin") is path.startswith("lib")


def test_unreferenced_libraries_are_excluded() -> None:
    """Dependencies of plugins and modules stay, at any depth; links to excluded files are dropped too."""
    dependencies = {"/p": ["liba.so.1"], "/a": ["libb.so.1"]}
    plugin = (f"{QT}/platforms/libqxcb.so", "/p", "BINARY")
    first = ("liba.so.1", "/a", "BINARY")
    second = ("lib/libb.so.1", "/b", "BINARY")
    unreferenced = ("libc.so.1", "/c", "BINARY")
    link = ("lib/libc.so", "../libc.so.1", "SYMLINK")
    included, excluded = contents.reachable(
        [plugin, first, second, unreferenced, link], lambda source: dependencies.get(source, [])
    )
    assert (included, excluded) == ([plugin, first, second, link], ["libc.so.1"])
    assert contents.without_dangling(included, [entry[0] for entry in included]) == [plugin, first, second]


def test_child_processes_get_the_user_s_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "_MEIPASS", "/usr/lib/helix-desktop/_internal", raising=False)
    inside = {
        "LD_LIBRARY_PATH": "/usr/lib/helix-desktop/_internal",
        "_PYI_ARCHIVE_FILE": "x",
        "A": "1",
    }
    assert start.restored(inside) == {"A": "1"}
    environment = {
        "LD_LIBRARY_PATH": "/usr/lib/helix-desktop/_internal:/opt/ada",
        "LD_LIBRARY_PATH_ORIG": "/opt/ada",
    }
    assert start.restored(environment) == {"LD_LIBRARY_PATH": "/opt/ada"}
    assert start.restored({"LD_LIBRARY_PATH": "/opt/ada"}) == {"LD_LIBRARY_PATH": "/opt/ada"}


def test_every_needed_library_is_found(tmp_path: Path) -> None:
    if not shutil.which("readelf"):
        pytest.skip("there is no readelf here")
    program = shutil.which("true") or "/bin/true"
    shutil.copy(program, tmp_path / "true")
    needs = libraries.needs(tmp_path)
    assert needs.libraries["libc.so.6"] == "true"
    assert "GLIBC" in needs.symbols
    (tmp_path / "libc.so.6").write_bytes(b"")
    assert "libc.so.6" not in libraries.needs(tmp_path).libraries


def test_undeclared_needs_fail_the_build() -> None:
    needs = libraries.Needs({"libc.so.6": "a", "libnowhere.so.1": "plugins/b.so"}, {"GLIBC": "2.99"})
    library, symbol = libraries.complaints(needs)
    assert "libnowhere.so.1 (asked for by plugins/b.so)" in library
    assert "GLIBC_2.99 is newer" in symbol


def test_licenses_are_found_by_existing_files(tmp_path: Path) -> None:
    folder = tmp_path / "tiny-1.0.dist-info"
    (folder / "licenses").mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.4\nName: tiny\nVersion: 1.0\n", encoding="utf-8")
    (folder / "licenses" / "LICENSE").write_text("Do what you like.", encoding="utf-8")
    (folder / "RECORD").write_text("tiny/__init__.py,sha256=abc,3\n../../bin/tiny,,\n", encoding="utf-8")
    trim_records(tmp_path)
    files = PathDistribution(folder).files or []
    assert {file.name for file in files} == {"METADATA", "LICENSE", "RECORD"}


def test_a_build_has_its_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    (tmp_path / "helix_desktop").mkdir()
    (tmp_path / "helix_desktop" / "__init__.py").write_text('__version__ = "1.2.3"\n', encoding="utf-8")
    (tmp_path / "resources").mkdir()
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    build_identity.write_identity(tmp_path, tmp_path / "resources", "deb", "3.11.2")
    build_info = tomllib.loads((tmp_path / "resources" / "build.toml").read_text(encoding="utf-8"))
    expected = {"version": "1.2.3", "commit": "unknown", "date": "2023-11-14T22:13:20Z", "target": "deb"}
    assert build_info == {**build_info, **expected, "python": "3.11.2"}


def test_a_build_without_git_and_a_date_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two builds would differ: the message says which variable to set."""
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(SetupFailed, match="SOURCE_DATE_EPOCH"):
        build_identity.epoch(tmp_path)


def test_modules_imported_by_the_samples_are_shipped() -> None:
    imported = set()
    for path in (ROOT / "resources" / "demo").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module)
    library = {name for name in imported if name in sys.stdlib_module_names}
    assert library - set(sys.builtin_module_names) - {"collections"} <= set(contents.SAMPLES)


def test_file_modes_and_dates_are_reproducible(tmp_path: Path) -> None:
    for name in ("helix-desktop", "_internal/bin/rg", "_internal/demo/bin/python3.cmd", "_internal/libx.so"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
        (tmp_path / name).chmod(0o770)
    make_uniform(tmp_path, 1_700_000_000)
    files = [path for path in sorted(tmp_path.rglob("*")) if path.is_file()]
    assert [path.name for path in files if path.stat().st_mode & 0o777 == 0o755] == ["rg", "helix-desktop"]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o755, 0o644}
    assert {path.stat().st_mtime for path in tmp_path.rglob("*")} == {1_700_000_000}
