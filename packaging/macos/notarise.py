"""Submits signed files to Apple's notary service and staples its ticket, if there is a key for it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from macos.sign import SigningFailed, run, say

# The path of a key of App Store Connect (a .p8 file), its id, and the id of who issued it.
KEY = ("HELIX_NOTARY_KEY", "HELIX_NOTARY_KEY_ID", "HELIX_NOTARY_ISSUER")


def notarise(product: Path, environ: Mapping[str, str]) -> bool:
    """Have a signed bundle or disk image notarised; False, and a line that says so, without a key.

    Raises SigningFailed, with Apple's list of complaints when it refused.
    """
    credentials = [environ.get(name, "").strip() for name in KEY]
    if not all(credentials):
        lacking = " and ".join(name for name, value in zip(KEY, credentials, strict=True) if not value)
        say(f"{product.name} is not notarised because {lacking} is not set. macOS warns whoever opens it.")
        return False
    key = [part for pair in zip(("--key", "--key-id", "--issuer"), credentials, strict=True) for part in pair]
    with tempfile.TemporaryDirectory() as folder:
        sent = _sendable(product, Path(folder))
        submit = ["xcrun", "notarytool", "submit", "--output-format", "json", str(sent), "--wait"]
        answer = json.loads(run([*submit, "--timeout", "1h", *key]))
    if answer.get("status") != "Accepted":
        log = run(["xcrun", "notarytool", "log", str(answer.get("id")), *key])
        raise SigningFailed(f"Apple answered {answer.get('status')!r} to {product.name}:\n{log}")
    run(["xcrun", "stapler", "staple", str(product)])
    run(["xcrun", "stapler", "validate", str(product)])
    say(f"{product.name} is notarised and carries the ticket.")
    return True


def _sendable(product: Path, folder: Path) -> Path:
    """Return the file to submit: a disk image unchanged, a bundle packed."""
    if product.is_file():
        return product
    packed = folder / f"{product.name}.zip"
    run(["ditto", "-c", "-k", "--keepParent", str(product), str(packed)])
    return packed
