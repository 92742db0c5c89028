"""Which folder a drop brings."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMimeData


def dropped_folder(data: QMimeData) -> str:
    """The first local folder among the dropped addresses, or an empty string; one stat call per address."""
    for url in data.urls():
        if url.isLocalFile() and Path(url.toLocalFile()).is_dir():
            return url.toLocalFile()
    return ""
