"""How the Windows installer is put together, as far as it needs no compiler and no network."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

import pytest
from environment import SetupFailed
from windows import embed, icon, launcher, setup_program, tree, wheels

ROOT = Path(__file__).resolve().parents[3]
LOCK = """\
# a comment
plyvel==1.5.1 ; platform_machine == 'x86_64' and sys_platform == 'linux' \\
    --hash=sha256:aa \\
    --hash=sha256:bb
plyvel-ci==1.5.1 ; platform_machine != 'x86_64' or sys_platform != 'linux' \\
    --hash=sha256:cc
    # via helix-desktop
zipp==4.1.2 ; python_full_version < '3.12' \\
    --hash=sha256:dd
httpx==0.28.1 \\
    --hash=sha256:ee \\
    --hash=sha256:ff
"""


def test_only_the_lock_s_windows_packages_are_used_with_all_their_hashes() -> None:
    assert list(wheels.for_windows(LOCK, "3.12.10")) == [
        "plyvel-ci==1.5.1 --hash=sha256:cc",
        "httpx==0.28.1 --hash=sha256:ee --hash=sha256:ff",
    ]


def test_the_app_s_own_lock_has_the_windows_keychain_and_one_leveldb() -> None:
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    names = [line.partition("==")[0] for line in wheels.for_windows(text, "3.12.10")]
    assert {"plyvel-ci", "pywin32-ctypes", "pyside6-essentials", "ripgrep"} <= set(names)
    assert not {"plyvel", "secretstorage", "jeepney"} & set(names)
    assert len(names) == len(set(names))


def test_versions_become_four_numbers_for_windows() -> None:
    assert launcher.numbers("0.1.0") == "0.1.0.0"
    assert launcher.numbers("1.2.3rc1") == "1.2.3.0"
    assert launcher.numbers("2.0") == "2.0.0.0"
    with pytest.raises(SetupFailed, match="two numbers"):
        launcher.numbers("next")


def test_the_uninstaller_deletes_each_file_by_name_then_empty_folders_from_the_inside(tmp_path: Path) -> None:
    for name in ("helix-desktop.exe", "lib/a/b.pyd", "lib/$odd.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert setup_program.removal_of(tmp_path).splitlines() == [
        'Delete "$INSTDIR\\helix-desktop.exe"',
        'Delete "$INSTDIR\\lib\\$$odd.txt"',
        'Delete "$INSTDIR\\lib\\a\\b.pyd"',
        'RMDir "$INSTDIR\\lib\\a"',
        'RMDir "$INSTDIR\\lib"',
    ]


def test_files_are_installed_in_a_fixed_order(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "lib/z/one.pyd", "lib/$odd.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    folder = tmp_path.resolve()
    assert setup_program.installation_of(tmp_path).splitlines() == [
        'SetOutPath "$INSTDIR"',
        f'File "{folder}/a.txt"',
        f'File "{folder}/b.txt"',
        'SetOutPath "$INSTDIR\\lib"',
        f'File "{folder}/lib/$$odd.txt"',
        'SetOutPath "$INSTDIR\\lib\\z"',
        f'File "{folder}/lib/z/one.pyd"',
    ]


def test_user_data_cannot_be_removed_with_the_program() -> None:
    script = (ROOT / "packaging" / "windows" / "source" / "setup.nsi").read_text(encoding="utf-8")
    assert "RMDir /r" not in script
    assert "RequestExecutionLevel user" in script
    assert "HKLM" not in script


def test_an_icon_has_the_offset_of_each_image() -> None:
    data = icon.ico({16: b"small", 256: b"the large one"})
    kind, count = struct.unpack_from("<HH", data, 2)
    assert (kind, count) == (1, 2)
    for index, (width, picture) in enumerate(((16, b"small"), (0, b"the large one"))):
        stored_width = data[6 + 16 * index]
        size, start = struct.unpack_from("<II", data, 6 + 16 * index + 8)
        assert stored_width == width
        assert data[start : start + size] == picture


@pytest.mark.parametrize("inside", ["lib/site.py", "../out.dll"])
def test_an_archive_with_another_layout_is_no_cpython(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    archive = tmp_path / "other.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr(inside, "x")
    monkeypatch.setenv(embed.FILE_VARIABLE, str(archive))
    with pytest.raises(SetupFailed, match=r"must be an embeddable CPython 3\.12"):
        embed.unpack(tmp_path)
    assert not (tmp_path / "out.dll").exists()


def test_an_archive_with_a_wrong_digest_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "python.zip"
    archive.write_bytes(b"changed")
    monkeypatch.setenv(embed.FILE_VARIABLE, str(archive))
    monkeypatch.setenv(embed.HASH_VARIABLE, "0" * 64)
    with pytest.raises(SetupFailed, match="names 0000"):
        embed.unpack(tmp_path)


def test_unused_modules_are_excluded_and_licenses_included() -> None:
    names = ["PySide6", "bin", "win32com", "pywin32-312.dist-info", "cffi", "cffi-2.dist-info", "tests"]
    assert tree.left_out(True, names) == {"bin", "win32com", "cffi", "tests"}
    assert tree.left_out(False, ["bin", "LICENSE", "a.pyi", "a.py", "a.pyd"]) == {"a.pyi"}
