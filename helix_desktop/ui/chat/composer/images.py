"""Images that the user pastes, drops or picks, read and prepared off the UI thread."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice, QMimeData, Qt
from PySide6.QtGui import QImage

from helix_desktop.domain.image import MAX_EDGE_PX, MAX_IMAGE_BYTES

IMAGE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})


@dataclass(frozen=True, slots=True)
class PastedImage:
    """An image that is not read yet: a file, or pixels from the clipboard."""

    label: str
    source: Path | QImage

    def read(self) -> bytes:
        """Return its bytes: a file's own, pixels as PNG no larger than models look at. Raises OSError."""
        if isinstance(self.source, Path):
            with self.source.open("rb") as file:
                return file.read(MAX_IMAGE_BYTES + 1)
        return _png(self.source)


def images_from_mime(mime: QMimeData) -> list[PastedImage]:
    """Return the images in what was pasted or dropped; none unless every file in it is one."""
    paths = [Path(url.toLocalFile()) for url in mime.urls() if url.isLocalFile()]
    if mime.hasUrls():
        fits = len(paths) == len(mime.urls()) and all(path.suffix.lower() in IMAGE_SUFFIXES for path in paths)
        return [PastedImage(path.name, path) for path in paths] if fits else []
    pixels = mime.imageData() if mime.hasImage() else None
    return [PastedImage("Pasted image", pixels)] if isinstance(pixels, QImage) and not pixels.isNull() else []


def _png(pixels: QImage) -> bytes:
    if max(pixels.width(), pixels.height()) > MAX_EDGE_PX:
        mode = Qt.TransformationMode.SmoothTransformation
        pixels = pixels.scaled(MAX_EDGE_PX, MAX_EDGE_PX, Qt.AspectRatioMode.KeepAspectRatio, mode)
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    pixels.save(buffer, "PNG")  # type: ignore[call-overload]  # the stubs know the format only as bytes
    return bytes(buffer.data().data())
