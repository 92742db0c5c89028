"""./helix package flatpak: the files for the manifest, and the manifest read by flatpak-builder."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import build_identity
from environment import SetupFailed
from linux.share import ID
from linux.stage import make_uniform, stage
from system_tools import ensure, run

FILES = Path("build", "flatpak", "files")
MANIFEST = Path(__file__).with_name(f"{ID}.yml")
_RIGHTS = {
    "--share=network",
    "--socket=wayland",
    "--socket=fallback-x11",
    "--talk-name=org.freedesktop.secrets",
}


def build(root: Path, words: Sequence[str]) -> int:
    """Stage the files and check the manifest; a build needs runtimes of Flathub, and is the store's."""
    ensure("flatpak-builder")
    check(root)
    stage(root, root / FILES, "flatpak")
    make_uniform(root / FILES, build_identity.epoch(root))
    sys.stdout.write(f"{MANIFEST.relative_to(root)}  checked; its files stand in {FILES}\n")
    return 0


def check(root: Path) -> None:
    """Have the manifest read by the program that builds from it. Raises SetupFailed."""
    folder = root / FILES.parent  # where it leaves a folder of its own
    folder.mkdir(parents=True, exist_ok=True)
    manifest = json.loads(run("flatpak-builder", "--show-manifest", MANIFEST, folder=folder))
    lacking = _RIGHTS - set(manifest["finish-args"])
    if manifest["id"] != ID or lacking:
        raise SetupFailed(
            f"{MANIFEST.name} is of {manifest['id']} and lacks {', '.join(sorted(lacking)) or 'nothing'}."
        )
    if [module["name"] for module in manifest["modules"]] != [manifest["command"]]:
        raise SetupFailed(f"{MANIFEST.name} does not build what it starts.")
