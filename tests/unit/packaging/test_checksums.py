"""SHA256SUMS: readable by sha256sum, reproducible, and every difference is named."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from release import checksums


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    """A folder with two products, one of them in a subfolder."""
    (tmp_path / "more").mkdir()
    (tmp_path / "b.deb").write_bytes(b"b")
    (tmp_path / "more" / "a b.zip").write_bytes(b"a")
    return tmp_path


def test_the_written_list_verifies_and_is_sorted(dist: Path) -> None:
    """One line for each product, by name; a second run changes nothing, the list does not include itself."""
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
    """Changed, missing and new files, each with its name; the exit code reports the failure."""
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


@pytest.mark.parametrize("line", ["b.deb", f"{'0' * 63}  b.deb", f"{'g' * 64}  b.deb", f"{'0' * 64}"])
def test_a_damaged_list_is_refused(dist: Path, line: str) -> None:
    """The unreadable line is named, not skipped."""
    (dist / checksums.NAME).write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 1"):
        checksums.complaints(dist)


def test_a_duplicate_name_is_refused(dist: Path) -> None:
    """It is unclear which of two digests is right."""
    line = f"{'0' * 64}  b.deb\n"
    (dist / checksums.NAME).write_text(line * 2, encoding="utf-8")
    with pytest.raises(ValueError, match="twice"):
        checksums.complaints(dist)


def test_an_empty_dist_is_refused(tmp_path: Path) -> None:
    """An empty list would verify anything that was lost."""
    with pytest.raises(ValueError, match="nothing to sum up"):
        checksums.write(tmp_path)
    assert checksums.main([str(tmp_path), "--verify"]) == 1
