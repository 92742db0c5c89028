"""The files that SQLite keeps for one database."""

from __future__ import annotations

from pathlib import Path


def delete_database(path: Path) -> None:
    """Delete a database with the files beside it, which need not be there. Raise OSError."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
