"""A build fetches exactly the pinned file, or nothing."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from release import fetch

GOOD = hashlib.sha256(b"good").hexdigest()


def write_list(
    folder: Path, url: str = "https://helix-desktop.invalid/thing.zip", sha256: str = GOOD
) -> Path:
    path = folder / "fetched.toml"
    path.write_text(f'[thing]\nurl = "{url}"\nsha256 = "{sha256}"\n', encoding="utf-8")
    return path


def test_a_valid_local_file_is_not_fetched_again(tmp_path: Path) -> None:
    """The tests have no network: a fetch would fail here."""
    (tmp_path / "thing.zip").write_bytes(b"good")
    assert fetch.fetch(fetch.read_entry("thing", write_list(tmp_path)), tmp_path).read_bytes() == b"good"


def test_an_invalid_local_file_is_not_used(tmp_path: Path) -> None:
    """It is fetched again; without a network that is an error with the URL in it."""
    (tmp_path / "thing.zip").write_bytes(b"bad")
    url = f"file://{tmp_path}/source/thing.zip"
    with pytest.raises(fetch.FetchFailed, match="cannot be fetched"):
        fetch.fetch(fetch.FetchSource(url, GOOD), tmp_path)


def test_a_download_with_a_wrong_digest_is_not_kept(tmp_path: Path) -> None:
    """The actual digest is reported, the file does not exist."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "thing.zip").write_bytes(b"changed")
    with pytest.raises(fetch.FetchFailed, match=hashlib.sha256(b"changed").hexdigest()):
        fetch.fetch(fetch.FetchSource(f"file://{source}/thing.zip", GOOD), tmp_path / "kept")
    assert not (tmp_path / "kept").exists()
    (source / "thing.zip").write_bytes(b"good")
    fetched = fetch.fetch(fetch.FetchSource(f"file://{source}/thing.zip", GOOD), tmp_path / "kept")
    assert fetched.read_bytes() == b"good"


@pytest.mark.parametrize(
    ("url", "sha256"),
    [
        ("http://helix-desktop.invalid/a", GOOD),
        ("https://helix-desktop.invalid/a", GOOD[:-1]),
        ("https://x/a", ""),
    ],
)
def test_a_list_without_pins_is_refused(tmp_path: Path, url: str, sha256: str) -> None:
    """A URL without TLS, or without a digest, could be anything."""
    with pytest.raises(fetch.FetchFailed, match="thing needs"):
        fetch.read_entry("thing", write_list(tmp_path, url, sha256))


@pytest.mark.parametrize("name", ["python-embed", "appimage-runtime"])
def test_the_entries_of_the_list_are_pinned(name: str) -> None:
    """Each names one version of one file."""
    assert fetch.read_entry(name).url.startswith("https://")


def test_an_unknown_name_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1 and one line."""
    assert fetch.main(["nothing"]) == 1
    assert "It names: appimage-runtime, python-embed." in capsys.readouterr().err
