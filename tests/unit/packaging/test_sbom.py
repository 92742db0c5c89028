"""The bill of materials: complete, reproducible, and true of what is installed."""

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
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000000")
    document: dict[str, Any] = json.loads(sbom.text(ROOT))
    return document


def test_every_package_of_the_lock_is_listed(bill: dict[str, Any]) -> None:
    expected = set(re.findall(r"^([a-z0-9-]+)==([\w.]+)", LOCK, re.MULTILINE))
    listed_packages = {
        (component["name"], component["version"]) for component in bill["components"] if "purl" in component
    }
    assert listed_packages == expected
    assert all(
        component["purl"] == f"pkg:pypi/{component['name']}@{component['version']}"
        for component in bill["components"]
        if "purl" in component
    )


def test_non_python_parts_are_listed_with_their_carriers(bill: dict[str, Any]) -> None:
    others = {component["bom-ref"]: component for component in bill["components"] if "purl" not in component}
    assert {"Qt", "LevelDB", "Inter", "Python"} <= {component["name"] for component in others.values()}
    assert all(component["licenses"] for component in bill["components"])
    needed = {name for dependency in bill["dependencies"] for name in dependency["dependsOn"]}
    assert others.keys() <= needed


def test_the_parts_in_the_about_dialog_have_the_same_license(bill: dict[str, Any]) -> None:
    parts = tomllib.loads((ROOT / sbom.PARTS_FILE).read_text(encoding="utf-8"))["part"]
    expected = {(part["name"], part["license"]) for part in parts[1:] if "covers" not in part}
    licenses = {
        (component["name"], *(component["licenses"][0].get("license") or component["licenses"][0]).values())
        for component in bill["components"]
    }
    assert expected <= licenses


def test_references_are_valid(bill: dict[str, Any]) -> None:
    references = [component["bom-ref"] for component in bill["components"]]
    assert len(references) == len(set(references))
    known_references = {*references, bill["metadata"]["component"]["bom-ref"]}
    assert {dependency["ref"] for dependency in bill["dependencies"]} == known_references
    assert {
        name for dependency in bill["dependencies"] for name in dependency["dependsOn"]
    } <= known_references


def test_the_same_checkout_gives_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000000")
    first = sbom.text(ROOT)
    assert sbom.text(ROOT) == first
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000001")
    assert json.loads(sbom.text(ROOT))["serialNumber"] != json.loads(first)["serialNumber"]


def test_dependents_are_read_from_the_lock() -> None:
    dependents = {package.name: package.asked_by for package in sbom.read_lock(LOCK)}
    assert "helix-desktop" in dependents["httpx"]
    assert dependents["mdurl"] == ("markdown-it-py",)
    assert {"jsonschema", "referencing"} <= set(dependents["attrs"])


def test_an_unreadable_entry_is_an_error() -> None:
    """A bill with a gap would be worse than none."""
    with pytest.raises(ValueError, match="cannot be read"):
        sbom.read_lock(LOCK + "\nnohash==1.0\n")


def test_licenses_match_the_packages_metadata() -> None:
    """Where a package has an SPDX expression itself, ours is that one; no license is left over."""
    locked = {package.name for package in sbom.read_lock(LOCK)}
    assert PARTS["packages"].keys() == locked
    for name, expression in PARTS["packages"].items():
        try:
            published = importlib.metadata.metadata(name).json.get("license_expression")
        except importlib.metadata.PackageNotFoundError:
            continue
        assert expression == (published or expression), name


def test_versions_match_the_libraries() -> None:
    import zstandard
    from cryptography.hazmat.backends.openssl import backend
    from PySide6.QtCore import qVersion

    cryptography = importlib.metadata.version("cryptography")
    versions = {(part["name"], part["within"]): part.get("version", "") for part in PARTS["other"]}
    assert versions["Zstandard", "zstandard"] == ".".join(map(str, zstandard.ZSTD_VERSION))
    assert versions["OpenSSL", f"cryptography=={cryptography}"] == backend.openssl_version_text().split()[1]
    assert versions["Qt", "pyside6-essentials"] == qVersion()
    lock = (ROOT / "packaging" / "requirements-package.txt").read_text(encoding="utf-8")
    assert f"\npyinstaller=={versions['PyInstaller bootloader', 'helix-desktop']} " in lock
