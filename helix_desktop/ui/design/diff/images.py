"""Images before and after, beside each other or, where it is narrow, one above the other."""

from __future__ import annotations

import asyncio

from PySide6.QtGui import QImage, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QVBoxLayout, QWidget

from helix_desktop.domain.file_history.diff import FileDiff
from helix_desktop.domain.image import identify_image
from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.design.layout.scrolling import VerticalScrollArea
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.themed import Themed
from helix_desktop.ui.design.viewer.picture import Picture, read_image
from helix_desktop.words.file_diffs import describe_state
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

_MIN_SIDE_PX = 260


class ImageSide(Themed, QWidget):
    """One image, scaled down to its place, and what it is."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title
        self.caption = TextLine("", 12, role="muted")
        self.picture = Picture()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(self.caption)
        column.addWidget(self.picture)
        column.addStretch(1)

    def show_text(self, text: str) -> None:
        """Say what the image is, or why there is none."""
        self.caption.set_text(tr("{title}: {content}", title=self._title, content=text))
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
            side.show_text(image.summary if image is not None else describe_state(state))
            side.picture.show_image(None)
        if self._start is not None:
            self._start(self._decode(diff), "decode images")
        else:
            self._show_images(diff, [read_image(data) for data in contents])

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put one above the other where it is narrow."""
        super().resizeEvent(event)
        is_wide = self.viewport().width() >= 2 * scaled(_MIN_SIDE_PX)
        direction = QBoxLayout.Direction.LeftToRight if is_wide else QBoxLayout.Direction.TopToBottom
        self._sides.setDirection(direction)

    async def _decode(self, diff: FileDiff) -> None:
        contents = diff.before_data, diff.after_data
        images = [await asyncio.to_thread(read_image, data) for data in contents]
        if self._diff is diff:
            self._show_images(diff, images)

    def _show_images(self, diff: FileDiff, images: list[QImage | None]) -> None:
        contents = diff.before_data, diff.after_data
        for side, data, image in zip((self.before, self.after), contents, images, strict=True):
            side.picture.show_image(image)
            if data is not None and image is None and identify_image(data, "") is not None:
                side.show_text(tr("Damaged image"))
