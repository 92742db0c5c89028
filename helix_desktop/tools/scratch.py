"""A workspace's folder for passing files: the commands' own `/tmp` as long as the workspace is open."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import weakref
from pathlib import Path


class Scratch:
    """Made when it is first needed, removed with this object or at the end of the process."""

    def __init__(self) -> None:
        self._path: Path | None = None

    def folder(self) -> Path:
        """The folder, links resolved; blocks. Raises OSError."""
        if self._path is None or not self._path.is_dir():
            self._path = Path(os.path.realpath(tempfile.mkdtemp(prefix="helix-")))
            weakref.finalize(self, shutil.rmtree, self._path, ignore_errors=True)
        return self._path

    def new_file(self) -> Path:
        """A name for a file in it that is not taken; blocks. Raises OSError."""
        return self.folder() / f"output-{secrets.token_hex(4)}.txt"
