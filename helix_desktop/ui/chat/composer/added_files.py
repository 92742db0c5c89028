"""Files, images and long texts that the user pastes, drops or picks; read and prepared off the UI thread."""

from __future__ import annotations

from pathlib import Path

import msgspec
from PySide6.QtCore import QBuffer, QIODevice, QMimeData, Qt
from PySide6.QtGui import QImage

from helix_desktop.domain.image import MAX_EDGE_PX
from helix_desktop.ui.design.drops import has_mentions

PASTED_IMAGE, DROPPED_IMAGE = "Pasted image", "Dropped image"  # names in the message, as models read them
LONG_TEXT_CHARS, LONG_TEXT_LINES = 2_000, 30
"""What is pasted above either goes along as a chip: some 500 tokens, or four times what the field shows.

Nobody writes a message of that length by hand, and what stays in the text fits into a preview's tokens."""


class AddedFile(msgspec.Struct, frozen=True):
    """A file that is not read yet, or pixels from the clipboard."""

    name: str
    source: Path | QImage

    @property
    def path(self) -> Path | None:
        """The file; None for pixels."""
        return self.source if isinstance(self.source, Path) else None

    def png(self) -> bytes:
        """Return pixels as PNG, no larger than models look at; nothing for a file."""
        return b"" if isinstance(self.source, Path) else _png(self.source)


def files_from_mime(mime: QMimeData, image_name: str = PASTED_IMAGE) -> list[AddedFile]:
    """Return the files or the image in what was pasted or dropped; none if anything else is in it.

    `image_name` names an image that is no file.
    """
    if has_mentions(mime):
        return []
    paths = [Path(url.toLocalFile()) for url in mime.urls() if url.isLocalFile()]
    if mime.hasUrls():
        are_files = len(paths) == len(mime.urls()) and not any(path.is_dir() for path in paths)
        return [AddedFile(path.name, path) for path in paths] if are_files else []
    pixels = mime.imageData() if mime.hasImage() else None
    return [AddedFile(image_name, pixels)] if isinstance(pixels, QImage) and not pixels.isNull() else []


def is_long(text: str) -> bool:
    """Return True if a pasted text goes along with the message instead of standing in it."""
    return len(text) > LONG_TEXT_CHARS or text.count("\n") >= LONG_TEXT_LINES


def _png(pixels: QImage) -> bytes:
    if max(pixels.width(), pixels.height()) > MAX_EDGE_PX:
        mode = Qt.TransformationMode.SmoothTransformation
        pixels = pixels.scaled(MAX_EDGE_PX, MAX_EDGE_PX, Qt.AspectRatioMode.KeepAspectRatio, mode)
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    pixels.save(buffer, "PNG")  # type: ignore[call-overload]  # the stubs know the format only as bytes
    return bytes(buffer.data().data())
