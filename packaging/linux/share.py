"""Every Linux package's part of /usr/share: menu entry, metainfo, file type, icons, manual, pictures."""

from __future__ import annotations

import gzip
import shutil
from datetime import UTC, datetime
from pathlib import Path

import build_identity
from package_environment import package_environment
from system_tools import ensure, fill, run

ID = "org.helixdesktop.HelixDesktop"
PROGRAM = "helix-desktop"
PICTURES = ("chat-dark.png", "cache-light.png", "timeline-light.png")
HERE = Path(__file__).parent


def install(root: Path, share: Path) -> None:
    """Fill a share folder (/usr/share of a package). Raises SetupFailed when a file is not as it must be."""
    python = package_environment(root).python
    _copy(HERE / f"{ID}.desktop", share / "applications" / f"{ID}.desktop")
    _copy(HERE / f"{ID}.mime.xml", share / "mime" / "packages" / f"{ID}.xml")
    metainfo = share / "metainfo" / f"{ID}.metainfo.xml"
    metainfo.parent.mkdir(parents=True)
    template = (HERE / f"{ID}.metainfo.xml").read_text(encoding="utf-8")
    date = datetime.fromtimestamp(build_identity.epoch(root), UTC).strftime("%Y-%m-%d")
    facts = {"VERSION": build_identity.version(root), "DATE": date}
    metainfo.write_text(fill(template, facts), encoding="utf-8")
    icons = root / "packaging" / "icons" / "draw.py"
    run(python, icons, root / "resources" / "icons" / "helix.svg", share / "icons" / "hicolor", ID)
    manual = run(python, "-m", "linux.manual", folder=root, extra={"PYTHONPATH": str(HERE.parent)})
    place = share / "man" / "man1" / f"{PROGRAM}.1.gz"
    place.parent.mkdir(parents=True)
    # A date in the gzip header would make each build another one.
    place.write_bytes(gzip.compress(manual.encode(), 9, mtime=0))
    for name in PICTURES:
        _copy(root / "packaging" / "pictures" / name, share / PROGRAM / "screenshots" / name)


def validate(share: Path) -> None:
    """Have the files of a share folder looked over by the programs made for that. Raises SetupFailed."""
    ensure("appstreamcli", "desktop-file-validate", "xmllint", "man")
    run("desktop-file-validate", share / "applications" / f"{ID}.desktop")
    run("appstreamcli", "validate", "--no-net", share / "metainfo" / f"{ID}.metainfo.xml")
    run("xmllint", "--noout", share / "mime" / "packages" / f"{ID}.xml")
    run("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", share / "man" / "man1" / f"{PROGRAM}.1.gz")


def _copy(source: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, place)
