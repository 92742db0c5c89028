"""The notes of a release come from its section of the changelog, or there is no release."""

from __future__ import annotations

from pathlib import Path

import pytest
from release import notes

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
    """A checkout of version 0.2.0."""
    (tmp_path / "helix_desktop").mkdir()
    (tmp_path / "helix_desktop" / "__init__.py").write_text('__version__ = "0.2.0"\n', encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG, encoding="utf-8")
    return tmp_path


def test_only_the_section_of_the_version_is_used(root: Path) -> None:
    """Unreleased and earlier changes are left out; so is the heading."""
    assert notes.notes(root, "v0.2.0") == "### Added\n- A thing.\n\n### Fixed\n- Another.\n"


def test_the_last_section_ends_with_the_file() -> None:
    """No heading follows it."""
    assert notes.section(CHANGELOG, "0.1.0") == "- The first.\n"


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
    """Each gap is named with the format of the heading."""
    with pytest.raises(notes.NotReady, match=reason):
        notes.section(changelog, "0.2.0")


@pytest.mark.parametrize("tag", ["v0.1.0", "0.2.0", "v0.2", "main"])
def test_a_tag_other_than_the_code_s_version_is_refused(root: Path, tag: str) -> None:
    """An installer with another version than its release would never be upgraded correctly."""
    with pytest.raises(notes.NotReady, match=r"is not v0\.2\.0"):
        notes.notes(root, tag)


def test_the_changelog_of_this_checkout_can_be_read() -> None:
    """Its headings have the format that a release looks for."""
    text = (notes.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    with pytest.raises(notes.NotReady, match=r"no section for 999\.0\.0"):
        notes.section(text, "999.0.0")
    with pytest.raises(notes.NotReady, match="does not date Unreleased"):
        notes.section(text, "Unreleased")
