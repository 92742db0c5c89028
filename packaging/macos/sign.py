"""Signs the macOS bundle from the inside out, with the hardened runtime, where there is an identity."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from environment import SetupFailed
from macos import bundle, macho

ENTITLEMENTS = Path(__file__).with_name("entitlements.plist")
IDENTITY = "HELIX_CODESIGN_IDENTITY"


class SigningFailed(SetupFailed):
    """Signing cannot continue; the message states what, why and what to do."""


def identity(environ: Mapping[str, str]) -> str:
    """Return the identity to sign with; empty if there is none."""
    return environ.get(IDENTITY, "").strip()


def signing_order(app: Path) -> list[Path]:
    """Return what is signed, one by one: deeper files first, the bundle last."""
    code = {path for path in app.rglob("*") if macho.is_macho(path)}
    main = app / "Contents" / "MacOS" / bundle.PROGRAM
    if main not in code:
        raise SigningFailed(f"{app} has no program at {main.relative_to(app)}. Build the bundle first.")
    frameworks = {
        version
        for path in app.rglob("*.framework")
        for version in (path / "Versions").glob("*")
        if version.is_dir() and not version.is_symlink()
    }
    # A bundle's signature covers its content, so it comes after; the program is signed with the bundle.
    inner = sorted((code | frameworks) - {main}, key=lambda path: (-len(path.parts), str(path)))
    return [*inner, app]


def command(path: Path, app: Path, name: str) -> list[str]:
    """Give the call that signs one of them; only the program asks for rights, what it loads shares them.

    Without a name the signature names nobody. Apple's processors run nothing that has none at all.
    """
    if not name:
        return ["codesign", "--force", "--sign", "-", str(path)]
    rights = ["--entitlements", str(ENTITLEMENTS)] if path == app else []
    return ["codesign", "--force", "--timestamp", "--options", "runtime", "--sign", name, *rights, str(path)]


def sign(app: Path, environ: Mapping[str, str]) -> bool:
    """Sign a bundle and check it; False, after saying so, without an identity. Raises SigningFailed."""
    name = identity(environ)
    for path in signing_order(app):
        run(command(path, app, name))
    run(["codesign", "--verify", "--deep", "--strict", "--verbose=2", str(app)])
    if name:
        say(f"{app.name} is signed by {name}, with the hardened runtime.")
    else:
        say(f"{app.name} is unsigned because {IDENTITY} is not set. macOS warns whoever opens it.")
    return bool(name)


def sign_image(image: Path, environ: Mapping[str, str]) -> bool:
    """Sign a disk image; False without an identity. Raises SigningFailed."""
    name = identity(environ)
    if name:
        run(["codesign", "--force", "--timestamp", "--sign", name, str(image)])
    return bool(name)


def run(line: Sequence[str]) -> str:
    """Run one of Apple's tools and return its output. Raise SigningFailed with its message."""
    try:
        done = subprocess.run(line, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise SigningFailed(
            f"{line[0]} is missing. It comes with macOS and Xcode's command line tools."
        ) from None
    if done.returncode:
        raise SigningFailed(
            f"`{' '.join(line[:2])} … {line[-1]}` failed:\n{done.stdout}{done.stderr}".rstrip()
        )
    return done.stdout


def say(text: str) -> None:
    """Report what was done; in a workflow also on the page of the run."""
    sys.stdout.write(f"macos: {text}\n")
    if page := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(page).open("a", encoding="utf-8") as file:
            file.write(f"- macOS: {text}\n")
