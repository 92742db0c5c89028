"""The files of one SQLite database."""

from __future__ import annotations

from pathlib import Path


def delete_database(path: Path) -> None:
    """Delete a database with its companion files, which need not exist. Raise OSError."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
