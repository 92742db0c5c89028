"""Where a build tells the app to check for a newer release: the workflow's URL, or nothing."""

from __future__ import annotations

import tomllib
from pathlib import Path

import build_identity
import pytest
from environment import SetupFailed

ROOT = Path(__file__).resolve().parents[3]


def test_a_build_has_the_workflow_s_url(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in the identity that the app reads; without it there is no such line."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000000")
    address = "https://api.github.com/repos/someone/helix-desktop/releases/latest"
    monkeypatch.setenv("HELIX_RELEASES", address)
    assert tomllib.loads(build_identity.identity(ROOT, "deb", "3.11.2"))["releases"] == address
    monkeypatch.delenv("HELIX_RELEASES")
    assert "releases" not in tomllib.loads(build_identity.identity(ROOT, "deb", "3.11.2"))


@pytest.mark.parametrize("address", ["http://example.invalid/", 'https://x/"\nversion = "9', "file:///etc"])
def test_an_invalid_url_is_refused(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Nothing gets into the file but one plain URL."""
    monkeypatch.setenv("HELIX_RELEASES", address)
    with pytest.raises(SetupFailed, match="must be a plain https:// address"):
        build_identity.releases()
