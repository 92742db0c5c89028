"""Which folder a drop brings."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMimeData


def dropped_folder(data: QMimeData) -> str:
    """Return the first local folder among the dropped addresses, or an empty string; one stat call each."""
    for url in data.urls():
        if url.isLocalFile() and Path(url.toLocalFile()).is_dir():
            return url.toLocalFile()
    return ""
