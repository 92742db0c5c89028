"""./helix package appimage: the app as one file, behind the runtime that HELIX_APPIMAGE_RUNTIME names."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import build_identity
from environment import SetupFailed, say
from frozen.build import NAME
from linux.share import ID
from linux.stage import date_of, make_uniform, stage
from system_tools import NotHere, ensure, run

WORK = Path("build", "appimage")
RUNTIME_VARIABLE = "HELIX_APPIMAGE_RUNTIME"
_ELF = b"\x7fELF"
_TYPE_2 = b"AI\x02"
_TYPE_AT = 8  # the place in an AppImage's ELF header that names its kind


def build(root: Path, words: Sequence[str]) -> int:
    """Build the file system and prove it; with a runtime, put it in front and prove the whole.

    Raises NotHere without a runtime, after the rest is proved.
    """
    ensure("mksquashfs", "unsquashfs")
    packed = pack(root)
    with _read_only(packed) as place:
        say("running the app from a read-only file system")
        run(place / "AppRun", "self-check", extra=_elsewhere(root))
    size = f"{packed.stat().st_size / 1e6:.1f} MB"
    runtime = os.environ.get(RUNTIME_VARIABLE, "").strip()
    if not runtime:
        raise NotHere(
            f"{packed.relative_to(root)} ({size}) is built and runs, but becomes an AppImage only with the "
            f"official runtime: set {RUNTIME_VARIABLE} to its file, as the release workflow does."
        )
    appimage = _join(root, Path(runtime), packed)
    say("unpacking and running the AppImage")
    run(appimage, "--appimage-extract-and-run", "self-check", extra=_elsewhere(root))
    sys.stdout.write(f"{appimage.relative_to(root)}  {appimage.stat().st_size / 1e6:.1f} MB\n")
    return 0


def pack(root: Path) -> Path:
    """Make the AppDir and its squashfs. Raises SetupFailed."""
    place = root / WORK / "AppDir"
    stage(root, place, "appimage")
    (place / f"{ID}.desktop").symlink_to(f"usr/share/applications/{ID}.desktop")
    (place / f"{ID}.png").symlink_to(f"usr/share/icons/hicolor/256x256/apps/{ID}.png")
    (place / ".DirIcon").symlink_to(f"{ID}.png")
    (place / "AppRun").symlink_to(f"usr/lib/{NAME}/{NAME}")
    make_uniform(place, build_identity.epoch(root))
    packed = root / WORK / f"{NAME}.squashfs"
    packed.unlink(missing_ok=True)
    say("packing")
    plain = ("-root-owned", "-noappend", "-no-xattrs", "-quiet", "-no-progress")
    small = ("-comp", "zstd", "-Xcompression-level", "19", "-b", "256K")
    run("mksquashfs", place, packed, *plain, *small, extra=date_of(root))
    return packed


def _join(root: Path, runtime: Path, packed: Path) -> Path:
    """The runtime with the file system behind it. Raises SetupFailed when it is none."""
    try:
        head = runtime.read_bytes()
    except OSError as error:
        raise SetupFailed(f"{RUNTIME_VARIABLE}={runtime}: {error.strerror}.") from None
    if not head.startswith(_ELF) or head[_TYPE_AT : _TYPE_AT + len(_TYPE_2)] != _TYPE_2:
        raise SetupFailed(f"{RUNTIME_VARIABLE}={runtime} must be an AppImage runtime of type 2.")
    appimage = root / "dist" / f"Helix_Desktop-{build_identity.version(root)}-{platform.machine()}.AppImage"
    appimage.parent.mkdir(exist_ok=True)
    with appimage.open("wb") as target, packed.open("rb") as files:
        target.write(head)
        shutil.copyfileobj(files, target)
    appimage.chmod(0o755)
    return appimage


@contextmanager
def _read_only(packed: Path) -> Iterator[Path]:
    """The file system mounted, if this user may; else unpacked, without the right to write."""
    place = packed.with_name("mounted")
    if place.is_mount():  # left by a build that was killed
        run("umount", "--lazy", place)
    place.mkdir(exist_ok=True)
    try:
        run("mount", "-t", "squashfs", "-o", "loop,ro", packed, place)
    except (SetupFailed, OSError):
        place.rmdir()
        run("unsquashfs", "-quiet", "-no-progress", "-dest", place, packed)
        folders = [path for path in (place, *place.rglob("*")) if path.is_dir() and not path.is_symlink()]
        for folder in folders:
            folder.chmod(0o555)
        try:
            yield place
        finally:
            for folder in folders:
                folder.chmod(0o755)
            shutil.rmtree(place)
        return
    try:
        yield place
    finally:
        run("umount", "--lazy", place)
        place.rmdir()


def _elsewhere(root: Path) -> dict[str, str]:
    """A data directory of its own, so that a check leaves nothing in this user's."""
    return {"HELIX_DATA_DIR": str(root / WORK / "data"), "QT_QPA_PLATFORM": "offscreen"}
