"""The project's own files, as its rules read them: a Python file is parsed once, whoever asks."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path


class SourceFile:
    """One Python file: `name` is its path in the project, with slashes."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.name)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))


def tracked_files(root: Path) -> list[Path]:
    """Return the files of the project: tracked by git, or about to be."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root, capture_output=True, text=True, check=True,
    )  # fmt: skip
    paths = (root / name for name in listed.stdout.split("\0") if name)
    return sorted(path for path in paths if path.is_file())


def read_sources(root: Path, paths: Iterable[Path]) -> Iterator[SourceFile]:
    """Yield each file; its tree goes with it, since a thousand trees slow every garbage collection."""
    for path in paths:
        yield SourceFile(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
