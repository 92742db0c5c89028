"""Images as they are looked at: decoded no larger than a window shows them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRectF, QSize, Qt
from PySide6.QtGui import QAccessible, QColor, QImage, QImageReader, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from helix_desktop.domain.image import identify_image
from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.design.layout import VerticalScrollArea, column
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.words.translation import Translator

tr = Translator("Controls")

_MAX_EDGE_PX = 2_000  # pixels that are decoded of an edge; more than a window shows
_MAX_SIZE = QSize(_MAX_EDGE_PX, _MAX_EDGE_PX)
_THUMBNAIL = QSize(96, 40)  # pixels at 100 %
_MAX_HEIGHT_PX = 560


class CaptionedPicture(QWidget):
    """An image, below a line that says what it is."""

    def __init__(
        self, start: StartCoroutine | None, caption_of: Callable[[str], str] = lambda words: words
    ) -> None:
        """`start` owns the coroutine that decodes in a thread; without it that is done at once.

        `caption_of` makes the line of what is said of the image.
        """
        super().__init__()
        self._start = start
        self._caption_of = caption_of
        self._data = b""
        self.caption = TextLine("", 12, role="muted")
        self.picture = Picture()
        self.setLayout(column(self.caption, self.picture, None, gap=6))

    def show_data(self, data: bytes, words: str = "") -> None:
        """Show an image, or say that its bytes are damaged; of what is no image show some words."""
        if data and data is self._data:
            return
        self._data = data
        image = identify_image(data, "")
        self._show_caption(image.summary if image is not None else words)
        self.picture.show_image(None)
        if image is None:
            return
        if self._start is not None:
            self._start(self._decode(data), "decode image")
        else:
            self._show_decoded(read_image(data))

    async def _decode(self, data: bytes) -> None:
        image = await asyncio.to_thread(read_image, data)
        if data is self._data:
            self._show_decoded(image)

    def _show_decoded(self, image: QImage | None) -> None:
        self.picture.show_image(image)
        if image is None:
            self._show_caption(tr("Damaged image"))

    def _show_caption(self, words: str) -> None:
        self.caption.set_text(self._caption_of(words))
        self.picture.setAccessibleName(self.caption.text)


class ImageView(VerticalScrollArea):
    def __init__(self, start: StartCoroutine) -> None:
        """`start` owns the coroutine that decodes in a thread."""
        image = CaptionedPicture(start)
        image.setContentsMargins(14, 10, 14, 12)
        super().__init__(image)
        self.setObjectName("image-view")
        self.caption = image.caption
        self.picture = image.picture
        self.show_data = image.show_data


class Picture(Themed, QWidget):
    """An image at the width there is, never larger than it is."""

    accessible_role = QAccessible.Role.Graphic

    def __init__(self) -> None:
        super().__init__()
        self._image: QImage | None = None
        policy = self.sizePolicy()
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def show_image(self, image: QImage | None) -> None:
        self._image = image
        self.updateGeometry()
        self.update()

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._fitting(width).height() + 2

    def sizeHint(self) -> QSize:
        return self._fitting(_MAX_EDGE_PX) + QSize(2, 2)

    def minimumSizeHint(self) -> QSize:
        return QSize(40, 40)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._image is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        size = self._fitting(self.width())
        place = QRectF(1, 1, size.width(), size.height())
        if self._image.hasAlphaChannel():
            painter.fillRect(place, QColor(self._theme.surface))
            painter.fillRect(place, QColor(self._theme.hover))
            painter.fillRect(place, Qt.BrushStyle.Dense4Pattern)
        painter.drawImage(place, self._image)
        painter.setPen(QPen(QColor(self._theme.border_strong), 1))
        painter.drawRect(place.adjusted(-0.5, -0.5, 0.5, 0.5))

    def _fitting(self, width: int) -> QSize:
        if self._image is None:
            return QSize(0, 0)
        size = self._image.size() / self._image.devicePixelRatio()
        return _fit(size, QSize(max(1, width - 2), scaled(_MAX_HEIGHT_PX)))


def thumbnail_size(width: int, height: int) -> QSize:
    """Return the size of an image's thumbnail, pixels at 100 %; an image is never larger than it is."""
    return _fit(QSize(width, height), _THUMBNAIL)


def read_thumbnail(data: bytes) -> QImage | None:
    """Decode an image large enough for its thumbnail at 200 %; None for what is none, or damaged."""
    return read_image(data, _THUMBNAIL * 2)


def read_image(data: bytes | None, max_size: QSize = _MAX_SIZE) -> QImage | None:
    """Decode an image, by default no larger than a window shows it; None for what is none, or damaged."""
    if data is None or identify_image(data, "") is None:
        return None
    buffer = QBuffer()
    buffer.setData(QByteArray(data))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer)
    reader.setAutoTransform(True)
    size = reader.size()
    if (fit := _fit(size, max_size)) != size:
        reader.setScaledSize(fit)
    image = reader.read()
    return None if image.isNull() else image


def png_bytes(image: QImage) -> bytes:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]  # the stubs know the format only as bytes
    return bytes(buffer.data().data())


def _fit(size: QSize, room: QSize) -> QSize:
    if size.width() <= room.width() and size.height() <= room.height():
        return size
    return size.scaled(room, Qt.AspectRatioMode.KeepAspectRatio).expandedTo(QSize(1, 1))
