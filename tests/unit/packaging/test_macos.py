"""The macOS bundle: its keys, its required systems, and the order of signing."""

from __future__ import annotations

import plistlib
import struct
from pathlib import Path

import pytest
from environment import SetupFailed
from macos import build, bundle, disk_image, icns, macho, notarise, sign
from PySide6.QtGui import QImageReader
from PySide6.QtWidgets import QApplication

from helix_desktop import __version__

ARM = 0x0100000C
INTEL = 0x01000007


def thin_binary(machine: int = ARM, oldest: tuple[int, int] = (15, 0)) -> bytes:
    command = struct.pack("<IIIIII", 0x32, 24, 1, oldest[0] << 16 | oldest[1] << 8, 0, 0)
    return struct.pack("<IIIIIIII", 0xFEEDFACF, machine, 0, 2, 1, len(command), 0, 0) + command


def fat(*parts: bytes) -> bytes:
    head = struct.pack(">II", 0xCAFEBABE, len(parts))
    body = b""
    start = len(head) + 20 * len(parts)
    for part in parts:
        (machine,) = struct.unpack_from("<I", part, 4)
        head += struct.pack(">IIIII", machine, 0, start + len(body), len(part), 0)
        body += part
    return head + body


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """A bundle as PyInstaller lays it out, with truncated code."""
    bundle_path = tmp_path / f"{bundle.NAME}.app"
    contents = bundle_path / "Contents"
    for path, data in {
        "MacOS/helix-desktop": thin_binary(),
        "Frameworks/libone.dylib": thin_binary(),
        "Frameworks/PySide6/QtCore.abi3.so": fat(thin_binary(INTEL), thin_binary()),
        "Frameworks/Python.framework/Versions/3.12/Python": thin_binary(),
        "Resources/resources/models.toml": b"[models]",
    }.items():
        (contents / path).parent.mkdir(parents=True, exist_ok=True)
        (contents / path).write_bytes(data)
    (contents / "Frameworks" / "Python.framework" / "Versions" / "Current").symlink_to("3.12")
    (contents / "Frameworks" / "resources").symlink_to("../Resources/resources")
    (contents / "Info.plist").write_bytes(plistlib.dumps(bundle.info_plist("1.2.3")))
    return bundle_path


def test_links_and_file_types_are_declared() -> None:
    keys = plistlib.loads(plistlib.dumps(bundle.info_plist(__version__)))
    (declared,) = keys["UTExportedTypeDeclarations"]
    assert keys["CFBundleDocumentTypes"][0]["LSItemContentTypes"] == [declared["UTTypeIdentifier"]]
    assert declared["UTTypeTagSpecification"]["public.filename-extension"] == ["helix"]
    assert keys["NSHighResolutionCapable"] is True
    assert keys["CFBundleIdentifier"] == "org.helixdesktop.HelixDesktop"


@pytest.mark.parametrize(
    ("version", "numbers"),
    [("1.2.3", "1.2.3"), ("1.2.3rc1", "1.2.3"), ("10.0.4.dev2", "10.0.4"), ("1.2.3x/4", "1.2.3")],
)
def test_macos_gets_only_numbers(version: str, numbers: str) -> None:
    assert bundle.info_plist(version)["CFBundleVersion"] == numbers


@pytest.mark.parametrize("version", ["1.2", "one", ""])
def test_an_invalid_version_is_refused(version: str) -> None:
    with pytest.raises(ValueError, match=r"no version like 1\.2\.3"):
        bundle.numeric(version)


def test_only_required_entitlements_are_requested() -> None:
    """One, without comments: the part of macOS that reads them accepts none."""
    data = sign.ENTITLEMENTS.read_bytes()
    assert plistlib.loads(data) == {"com.apple.security.cs.allow-unsigned-executable-memory": True}
    assert b"<!--" not in data


def test_architectures_and_minimum_systems_are_read(tmp_path: Path) -> None:
    path = tmp_path / "lib.dylib"
    path.write_bytes(fat(thin_binary(INTEL, (10, 13)), thin_binary(ARM, (13, 0))))
    assert macho.is_macho(path)
    assert macho.slices(path) == [macho.Slice("x86_64", (10, 13)), macho.Slice("arm64", (13, 0))]


@pytest.mark.parametrize(
    "data",
    [b"", b"\x7fELF\x02\x01\x01\0", b"#!/bin/sh\n", struct.pack(">II", 0xCAFEBABE, 0x34) + b"java" * 9],
)
def test_other_files_are_ignored(tmp_path: Path, data: bytes) -> None:
    """Also a Java class, which has the magic number of a fat file."""
    path = tmp_path / "file"
    path.write_bytes(data)
    assert not macho.is_macho(path)
    with pytest.raises(ValueError, match="file"):
        macho.slices(path)


@pytest.mark.parametrize("cut", [9, 33, 40])
def test_truncated_code_is_named(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "lib.dylib"
    path.write_bytes(thin_binary()[:cut])
    with pytest.raises(ValueError, match=r"lib\.dylib is cut off"):
        macho.slices(path)


def test_signing_goes_from_the_inside_out(app: Path) -> None:
    """A framework after its content, the program with the bundle and last, links and texts never."""
    order = [path.relative_to(app).as_posix() for path in sign.signing_order(app)]
    assert order[-1] == "."
    python = "Contents/Frameworks/Python.framework/Versions/3.12"
    assert order.index(f"{python}/Python") < order.index(python)
    assert set(order) == {
        f"{python}/Python",
        python,
        "Contents/Frameworks/PySide6/QtCore.abi3.so",
        "Contents/Frameworks/libone.dylib",
        ".",
    }


def test_only_the_program_requests_entitlements(app: Path) -> None:
    commands = {path: sign.command(path, app, "Developer ID") for path in sign.signing_order(app)}
    assert [path for path, line in commands.items() if "--entitlements" in line] == [app]
    assert all({"--timestamp", "runtime"} <= set(line) for line in commands.values())


def test_a_bundle_without_its_program_is_refused(app: Path) -> None:
    (app / "Contents" / "MacOS" / "helix-desktop").unlink()
    with pytest.raises(SetupFailed, match="Build the bundle first"):
        sign.signing_order(app)


def test_signing_without_an_identity_is_reported(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Signatures are ad hoc without a hardened runtime; nothing is sent, and a line says why."""
    assert sign.identity({"HELIX_CODESIGN_IDENTITY": " "}) == ""
    assert all(
        sign.command(path, app, "")[:4] == ["codesign", "--force", "--sign", "-"] for path in (app, app / "x")
    )
    assert notarise.notarise(app, {"HELIX_NOTARY_KEY": "key.p8", "HELIX_NOTARY_KEY_ID": "ID"}) is False
    output = capsys.readouterr().out
    assert "not notarised because HELIX_NOTARY_ISSUER is not set" in output


def test_incompatible_code_is_named(app: Path) -> None:
    assert build.complaints(app, "arm64") == []
    (app / "Contents" / "Frameworks" / "libone.dylib").write_bytes(thin_binary(oldest=(26, 1)))
    (app / "Contents" / "Frameworks" / "libtwo.dylib").write_bytes(thin_binary(INTEL))
    keys = bundle.info_plist("1.2.3") | {"LSMinimumSystemVersion": "11.0"}
    (app / "Contents" / "Info.plist").write_bytes(plistlib.dumps(keys))
    assert build.complaints(app, "arm64") == [
        "Info.plist: LSMinimumSystemVersion is '11.0'",
        "Contents/Frameworks/libone.dylib needs macOS 26.1",
        "Contents/Frameworks/libtwo.dylib holds no code for arm64",
    ]


def test_the_disk_image_shows_where_to_drag(app: Path) -> None:
    settings = disk_image.settings(app)
    positions = settings["icon_locations"]
    assert isinstance(positions, dict)
    assert positions.keys() == {app.name, "Applications"}
    assert disk_image.file_name("1.2.3", "arm64") == "helix-desktop-1.2.3-macos-arm64.dmg"


def test_the_icon_has_every_size(qapp: QApplication, tmp_path: Path) -> None:
    path = tmp_path / "helix.icns"
    svg = Path(__file__).resolve().parents[3] / "resources" / "icons" / "helix.svg"
    path.write_bytes(icns.pack(icns.draw(svg)))
    reader = QImageReader(str(path))
    sizes = set()
    for number in range(reader.imageCount()):
        reader.jumpToImage(number)
        image = reader.read()
        sizes.add(image.width())
        assert image.pixelColor(0, 0).alpha() == 0
        assert image.pixelColor(image.width() // 2, image.height() // 4).alpha() > 0
    assert sizes == set(icns.KINDS.values())


def test_an_unreadable_image_is_named(qapp: QApplication, tmp_path: Path) -> None:
    (tmp_path / "no.svg").write_text("no picture", encoding="utf-8")
    with pytest.raises(ValueError, match=r"no\.svg cannot be drawn"):
        icns.draw(tmp_path / "no.svg")
