"""The static checks find what they are for."""

from __future__ import annotations

from pathlib import Path

from check import static, static_inside

ROOT = Path(__file__).resolve().parents[3]


def test_an_invalid_property_list_is_named(tmp_path: Path) -> None:
    (tmp_path / "packaging").mkdir()
    (tmp_path / "packaging" / "broken.plist").write_text("<plist><dict>", encoding="utf-8")
    (tmp_path / "packaging" / "told.plist").write_text(
        '<?xml version="1.0"?><!-- why --><plist><dict/></plist>', encoding="utf-8"
    )
    first, second = static.plist_complaints(tmp_path)
    assert "packaging/broken.plist cannot be read" in first
    assert "packaging/told.plist holds a comment" in second


def test_the_project_s_property_lists_are_valid() -> None:
    assert static.plist_complaints(ROOT) == []


def test_an_expression_in_a_script_is_found() -> None:
    """Text that somebody else controls, a branch name for one, would be run."""
    complaint = static_inside.script_complaint("shellcheck-is-not-asked", "echo ${{ github.ref_name }}")
    assert "hand it over in `env:`" in complaint
