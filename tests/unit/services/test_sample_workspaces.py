"""Samples are copied as they are shipped."""

from __future__ import annotations

from pathlib import Path

from helix_desktop.services.samples import copy_project


def test_a_copy_has_nothing_that_tools_left_in_the_original(tmp_path: Path) -> None:
    source = tmp_path / "source"
    for name in ("src/code.py", "src/__pycache__/code.pyc", ".ruff_cache/0.1/x", ".gitignore"):
        file = source / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    copy_project(source, tmp_path / "copy")
    copied = {str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*")}
    assert copied == {"src", str(Path("src", "code.py")), ".gitignore"}
