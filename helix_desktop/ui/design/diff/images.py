"""Images before and after, beside each other or, where it is narrow, one above the other."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRectF, QSize, Qt
from PySide6.QtGui import QAccessible, QColor, QImage, QImageReader, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QVBoxLayout, QWidget

from helix_desktop.domain.file_history.diff import FileDiff
from helix_desktop.domain.image import identify_image
from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.design.layout.scrolling import VerticalScrollArea
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.themed import Themed
from helix_desktop.words.file_diffs import describe_state
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

_MAX_EDGE_PX = 2_000  # pixels that are decoded of an edge; more than a window shows
_MIN_SIDE_PX, _MAX_HEIGHT_PX = 260, 560
_CHECK_PX = 8  # edge of the squares behind what is transparent


class ImageSide(Themed, QWidget):
    """One image, scaled down to its place, and what it is."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title
        self.caption = TextLine("", 12, role="muted")
        self.picture = _Picture()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(self.caption)
        column.addWidget(self.picture)
        column.addStretch(1)

    def show_words(self, words: str) -> None:
        """Say what the image is, or why there is none."""
        self.caption.set_text(tr("{title}: {content}", title=self._title, content=words))
        self.picture.setAccessibleName(self.caption.text)


class ImagePair(VerticalScrollArea):
    """The image of before and that of after."""

    def __init__(self, start: StartCoroutine | None) -> None:
        """`start` owns the coroutine that decodes in a thread; without it that is done at once."""
        page = QWidget()
        super().__init__(page)
        self._start, self._diff = start, FileDiff("image")
        self.before, self.after = ImageSide(tr("Before")), ImageSide(tr("After"))
        self._sides = QBoxLayout(QBoxLayout.Direction.LeftToRight, page)
        self._sides.setContentsMargins(14, 12, 14, 12)
        self._sides.setSpacing(16)
        for side in (self.before, self.after):
            self._sides.addWidget(side, 1)

    def show_diff(self, diff: FileDiff) -> None:
        """Show the images of a diff; a side on which there is none is left out."""
        self._diff = diff
        contents = diff.before_data, diff.after_data
        for side, state, data in zip(
            (self.before, self.after), (diff.before, diff.after), contents, strict=True
        ):
            side.setVisible(state is not None)
            image = identify_image(data, "") if data is not None else None
            side.show_words(image.summary if image is not None else describe_state(state))
            side.picture.show_image(None)
        if self._start is not None:
            self._start(self._decode(diff), "decode images")
        else:
            self._show_images(diff, [_read_image(data) for data in contents])

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put one above the other where it is narrow."""
        super().resizeEvent(event)
        is_wide = self.viewport().width() >= 2 * scaled(_MIN_SIDE_PX)
        direction = QBoxLayout.Direction.LeftToRight if is_wide else QBoxLayout.Direction.TopToBottom
        self._sides.setDirection(direction)

    async def _decode(self, diff: FileDiff) -> None:
        contents = diff.before_data, diff.after_data
        images = [await asyncio.to_thread(_read_image, data) for data in contents]
        if self._diff is diff:
            self._show_images(diff, images)

    def _show_images(self, diff: FileDiff, images: list[QImage | None]) -> None:
        contents = diff.before_data, diff.after_data
        for side, data, image in zip((self.before, self.after), contents, images, strict=True):
            side.picture.show_image(image)
            if data is not None and image is None and identify_image(data, "") is not None:
                side.show_words(tr("Damaged image"))


class _Picture(Themed, QWidget):
    """An image at the width there is, never larger than it is."""

    accessible_role = QAccessible.Role.Graphic

    def __init__(self) -> None:
        super().__init__()
        self._image: QImage | None = None
        policy = self.sizePolicy()
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def show_image(self, image: QImage | None) -> None:
        """Show an image, or nothing."""
        self._image = image
        self.updateGeometry()
        self.update()

    def hasHeightForWidth(self) -> bool:
        """Return True: it is scaled."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return the height at a width."""
        return self._fitting(width).height() + 2

    def sizeHint(self) -> QSize:
        """Return the size at which nothing is scaled, within limits."""
        return self._fitting(_MAX_EDGE_PX) + QSize(2, 2)

    def minimumSizeHint(self) -> QSize:
        """Return a small square."""
        return QSize(40, 40)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw squares, the image over them, and a frame."""
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
        room = QSize(max(1, width - 2), scaled(_MAX_HEIGHT_PX))
        if size.width() <= room.width() and size.height() <= room.height():
            return size
        return size.scaled(room, Qt.AspectRatioMode.KeepAspectRatio)


def _read_image(data: bytes | None) -> QImage | None:
    """Decode an image no larger than a window shows it; None for what is none, or damaged."""
    if data is None or identify_image(data, "") is None:
        return None
    buffer = QBuffer()
    buffer.setData(QByteArray(data))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer)
    reader.setAutoTransform(True)
    size = reader.size()
    if max(size.width(), size.height()) > _MAX_EDGE_PX:
        edge = QSize(_MAX_EDGE_PX, _MAX_EDGE_PX)
        reader.setScaledSize(size.scaled(edge, Qt.AspectRatioMode.KeepAspectRatio))
    image = reader.read()
    return None if image.isNull() else image
