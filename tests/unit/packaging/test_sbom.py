"""The bill of materials: complete, the same each time, and true of what is installed."""

from __future__ import annotations

import importlib.metadata
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from release import sbom

ROOT = Path(__file__).resolve().parents[3]
LOCK = (ROOT / "requirements.txt").read_text(encoding="utf-8")
PARTS = tomllib.loads(sbom.PARTS.read_text(encoding="utf-8"))


@pytest.fixture
def bill(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The bill of this checkout at a fixed date."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000000")
    made: dict[str, Any] = json.loads(sbom.text(ROOT))
    return made


def test_every_package_of_the_lock_is_there(bill: dict[str, Any]) -> None:
    """By name, version and address; a package with two versions stands there twice."""
    wanted = set(re.findall(r"^([a-z0-9-]+)==([\w.]+)", LOCK, re.MULTILINE))
    there = {(one["name"], one["version"]) for one in bill["components"] if "purl" in one}
    assert there == wanted
    assert all(
        one["purl"] == f"pkg:pypi/{one['name']}@{one['version']}"
        for one in bill["components"]
        if "purl" in one
    )


def test_what_is_not_python_is_there_with_what_carries_it(bill: dict[str, Any]) -> None:
    """Qt, LevelDB, fonts: each with a licence, each needed by the part it lies in."""
    others = {one["bom-ref"]: one for one in bill["components"] if "purl" not in one}
    assert {"Qt", "LevelDB", "Inter", "Python"} <= {one["name"] for one in others.values()}
    assert all(one["licenses"] for one in bill["components"])
    needed = {name for one in bill["dependencies"] for name in one["dependsOn"]}
    assert others.keys() <= needed


def test_what_the_app_tells_of_its_parts_is_there_under_the_same_licence(bill: dict[str, Any]) -> None:
    """About and the bill name the same things."""
    told = tomllib.loads((ROOT / sbom.TOLD).read_text(encoding="utf-8"))["part"]
    wanted = {(one["name"], one["licence"]) for one in told[1:] if "covers" not in one}
    licences = {
        (one["name"], *(one["licenses"][0].get("license") or one["licenses"][0]).values())
        for one in bill["components"]
    }
    assert wanted <= licences


def test_references_lead_somewhere(bill: dict[str, Any]) -> None:
    """No part stands there twice, and whatever a part needs is in the bill."""
    references = [one["bom-ref"] for one in bill["components"]]
    assert len(references) == len(set(references))
    known = {*references, bill["metadata"]["component"]["bom-ref"]}
    assert {one["ref"] for one in bill["dependencies"]} == known
    assert {name for one in bill["dependencies"] for name in one["dependsOn"]} <= known


def test_the_same_checkout_gives_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also its number; another date is another bill."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000000")
    first = sbom.text(ROOT)
    assert sbom.text(ROOT) == first
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000001")
    assert json.loads(sbom.text(ROOT))["serialNumber"] != json.loads(first)["serialNumber"]


def test_who_asks_for_a_package_is_read_off_the_lock() -> None:
    """Both forms of the lock's notes count, the one for several and the one for a single asker."""
    askers = {one.name: one.asked_by for one in sbom.locked(LOCK)}
    assert "helix-desktop" in askers["httpx"]
    assert askers["mdurl"] == ("markdown-it-py",)
    assert {"jsonschema", "referencing"} <= set(askers["attrs"])


def test_an_entry_that_cannot_be_read_is_no_gap() -> None:
    """A bill with a hole would be worse than none."""
    with pytest.raises(ValueError, match="cannot be read"):
        sbom.locked(LOCK + "\nnohash==1.0\n")


def test_licences_are_those_that_the_packages_publish() -> None:
    """Where a package names an SPDX expression itself, ours is that one; no licence is left over."""
    locked = {one.name for one in sbom.locked(LOCK)}
    assert PARTS["packages"].keys() == locked
    for name, licence in PARTS["packages"].items():
        try:
            published = importlib.metadata.metadata(name).json.get("license_expression")
        except importlib.metadata.PackageNotFoundError:
            continue
        assert licence == (published or licence), name


def test_versions_that_can_be_asked_for_are_right() -> None:
    """Of what lies inside packages: what the libraries say themselves."""
    import zstandard
    from cryptography.hazmat.backends.openssl import backend
    from PySide6.QtCore import qVersion

    cryptography = importlib.metadata.version("cryptography")
    told = {(one["name"], one["within"]): one.get("version", "") for one in PARTS["other"]}
    assert told["Zstandard", "zstandard"] == ".".join(map(str, zstandard.ZSTD_VERSION))
    assert told["OpenSSL", f"cryptography=={cryptography}"] == backend.openssl_version_text().split()[1]
    assert told["Qt", "pyside6-essentials"] == qVersion()
    lock = (ROOT / "packaging" / "requirements-package.txt").read_text(encoding="utf-8")
    assert f"\npyinstaller=={told['PyInstaller bootloader', 'helix-desktop']} " in lock
