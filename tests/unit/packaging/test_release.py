"""A release: its notes, its address, SHA256SUMS, and the pinned files that a build fetches."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tomllib
from pathlib import Path

import build_identity
import pytest
from environment import SetupFailed
from release import checksums, fetch, notes

CHANGELOG = """# Changelog

## [Unreleased]

### Added
- Not yet out.

## [0.2.0] - 2026-11-20

### Added
- A thing.

### Fixed
- Another.

## [0.1.0] - 2026-01-01

- The first.
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "helix_desktop").mkdir()
    (tmp_path / "helix_desktop" / "__init__.py").write_text('__version__ = "0.2.0"\n', encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG, encoding="utf-8")
    return tmp_path


def test_only_the_section_of_the_version_is_used(root: Path) -> None:
    assert notes.notes(root, "v0.2.0") == "### Added\n- A thing.\n\n### Fixed\n- Another.\n"
    assert notes.section(CHANGELOG, "0.1.0") == "- The first.\n", "it ends with the file"


@pytest.mark.parametrize(
    ("changelog", "reason"),
    [
        (CHANGELOG.replace("[0.2.0]", "[0.2.0rc1]"), "no section for 0.2.0"),
        (CHANGELOG.replace(" - 2026-11-20", ""), "does not date 0.2.0"),
        (CHANGELOG.replace("[0.1.0]", "[0.2.0]"), "two sections"),
        (CHANGELOG.replace("- A thing.", "").replace("- Another.", ""), "says nothing of 0.2.0"),
    ],
)
def test_a_version_without_its_section_is_refused(changelog: str, reason: str) -> None:
    with pytest.raises(notes.NotReady, match=reason):
        notes.section(changelog, "0.2.0")


@pytest.mark.parametrize("tag", ["v0.1.0", "0.2.0", "v0.2", "main"])
def test_a_tag_other_than_the_code_s_version_is_refused(root: Path, tag: str) -> None:
    """An installer with another version than its release would never be upgraded correctly."""
    with pytest.raises(notes.NotReady, match=r"is not v0\.2\.0"):
        notes.notes(root, tag)


def test_the_changelog_of_this_checkout_can_be_read() -> None:
    text = (notes.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    with pytest.raises(notes.NotReady, match=r"no section for 999\.0\.0"):
        notes.section(text, "999.0.0")
    with pytest.raises(notes.NotReady, match="does not date Unreleased"):
        notes.section(text, "Unreleased")


ROOT = Path(__file__).resolve().parents[3]


def test_a_build_has_the_workflow_s_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000000")
    address = "https://api.github.com/repos/someone/helix-desktop/releases/latest"
    monkeypatch.setenv("HELIX_RELEASES", address)
    assert tomllib.loads(build_identity.identity(ROOT, "deb", "3.11.2"))["releases"] == address
    monkeypatch.delenv("HELIX_RELEASES")
    assert "releases" not in tomllib.loads(build_identity.identity(ROOT, "deb", "3.11.2"))


@pytest.mark.parametrize("address", ["http://example.invalid/", 'https://x/"\nversion = "9', "file:///etc"])
def test_an_invalid_url_is_refused(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("HELIX_RELEASES", address)
    with pytest.raises(SetupFailed, match="must be a plain https:// address"):
        build_identity.releases()


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    (tmp_path / "more").mkdir()
    (tmp_path / "b.deb").write_bytes(b"b")
    (tmp_path / "more" / "a b.zip").write_bytes(b"a")
    return tmp_path


def test_the_written_list_verifies_and_is_sorted(dist: Path) -> None:
    text = checksums.write(dist).read_text(encoding="utf-8")
    assert [line[66:] for line in text.splitlines()] == ["b.deb", "more/a b.zip"]
    assert checksums.complaints(dist) == []
    assert checksums.write(dist).read_text(encoding="utf-8") == text


@pytest.mark.skipif(not shutil.which("sha256sum"), reason="sha256sum is not here to read the list")
def test_sha256sum_reads_the_list(dist: Path) -> None:
    """A user who downloads needs none of our tools to verify."""
    checksums.write(dist)
    subprocess.run(
        ["sha256sum", "--check", "--strict", checksums.NAME], cwd=dist, check=True, capture_output=True
    )


def test_every_difference_is_named(dist: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checksums.write(dist)
    (dist / "b.deb").write_bytes(b"B")
    (dist / "more" / "a b.zip").unlink()
    (dist / "new.dmg").touch()
    assert checksums.main([str(dist), "--verify"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "checksums: more/a b.zip is missing",
        "checksums: new.dmg is not in the list",
        "checksums: b.deb is not what was listed",
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        *((line, "line 1") for line in ("b.deb", f"{'0' * 63}  b.deb", f"{'g' * 64}  b.deb", "0" * 64)),
        (f"{'0' * 64}  b.deb\n" * 2, "twice"),
    ],
)
def test_a_damaged_list_is_refused(dist: Path, text: str, why: str) -> None:
    (dist / checksums.NAME).write_text(f"{text}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=why):
        checksums.complaints(dist)


def test_an_empty_dist_is_refused(tmp_path: Path) -> None:
    """An empty list would verify anything that was lost."""
    with pytest.raises(ValueError, match="nothing to sum up"):
        checksums.write(tmp_path)
    assert checksums.main([str(tmp_path), "--verify"]) == 1


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
    with pytest.raises(fetch.FetchFailed, match="thing needs"):
        fetch.read_entry("thing", write_list(tmp_path, url, sha256))


@pytest.mark.parametrize("name", ["python-embed", "appimage-runtime"])
def test_the_entries_of_the_list_are_pinned(name: str) -> None:
    assert fetch.read_entry(name).url.startswith("https://")


def test_an_unknown_name_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert fetch.main(["nothing"]) == 1
    assert "It names: appimage-runtime, python-embed." in capsys.readouterr().err
