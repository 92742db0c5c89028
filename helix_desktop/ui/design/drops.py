"""What a drag brings, and the sign over its target that says what a drop would do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QEvent, QMimeData, QObject, QPoint, QRectF, QSize, Qt, QUrl
from PySide6.QtGui import QColor, QDrag, QDropEvent, QFontMetricsF, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QWidget

from helix_desktop.domain.choices import ARCHIVE_SUFFIX
from helix_desktop.ui.design.cards import paint_pill, tone_colors
from helix_desktop.ui.design.style.fonts import ui_font
from helix_desktop.ui.design.style.theme import Theme, Themed

ENTRIES_FORMAT = "application/x-helix-cache-entries"
"""Digests of cached contents, one per line; only this program brings them."""
_MENTIONS_FORMAT = "application/x-helix-mentions"  # of files of the workspace; others get the files
_MAX_PATHS = 200  # of a drag that are looked at: one stat call each
_MAX_DIGESTS = 100
_DIGEST_CHARS = 64
_EDGE_PX = 10
_PAD_PX = 16
_TEXT_PX = 14
_PILL_TEXT_PX = 12  # at 100 %
_PILL_PAD_PX = 11  # around the words
_PILL_ROOM_PX = 280  # of the words


class DragContent(NamedTuple):
    """What is dragged: cached contents by digest, local folders and files, an image, text, or something else.

    A link is text. `left_out` counts the folders and files beyond those that one drag may bring.
    """

    digests: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    files: tuple[Path, ...] = ()
    has_image: bool = False
    has_text: bool = False
    left_out: int = 0

    @property
    def archive(self) -> Path | None:
        alone = self.files[0] if len(self.files) == 1 and not (self.folders or self.left_out) else None
        return alone if alone is not None and alone.suffix.lower() == ARCHIVE_SUFFIX else None

    @property
    def is_for_message(self) -> bool:
        return bool(self.digests or self.folders or self.files or self.has_image or self.has_text)


def read_drag(data: QMimeData) -> DragContent:
    """Return what is dragged; paths that are on no disk of this computer are left out."""
    if data.hasFormat(ENTRIES_FORMAT):
        lines = bytes(data.data(ENTRIES_FORMAT).data()).decode("ascii", "ignore").split()
        return DragContent(tuple(line for line in lines[:_MAX_DIGESTS] if len(line) == _DIGEST_CHARS))
    if has_mentions(data):
        return DragContent(has_text=True)
    if data.hasUrls():
        names = [url.toLocalFile() for url in data.urls() if url.isLocalFile()]
        paths = [Path(name) for name in names[:_MAX_PATHS]]
        folders = tuple(path for path in paths if path.is_dir())
        files = tuple(path for path in paths if path not in folders)
        return DragContent(folders=folders, files=files, has_text=not paths, left_out=len(names) - len(paths))
    return DragContent(has_image=data.hasImage(), has_text=data.hasText() and not data.hasImage())


def answer_drag(event: QDropEvent, *, is_accepted: bool) -> None:
    """Take what is dragged as a copy, or refuse it: told of a move, its program may delete the original."""
    event.setDropAction(Qt.DropAction.CopyAction)
    event.setAccepted(is_accepted)


def entries_data(digests: Sequence[str], text: str) -> QMimeData:
    """Return what a drag of cached contents brings; other programs get the text."""
    data = QMimeData()
    data.setData(ENTRIES_FORMAT, "\n".join(digests).encode())
    data.setText(text)
    return data


def mentions_data(text: str, files: Sequence[Path]) -> QMimeData:
    """Return what a drag of files of the workspace brings: the text for a message, the files for others."""
    data = QMimeData()
    data.setText(text)
    data.setData(_MENTIONS_FORMAT, text.encode())
    data.setUrls([QUrl.fromLocalFile(str(file)) for file in files])
    return data


def has_mentions(data: QMimeData) -> bool:
    return data.hasFormat(_MENTIONS_FORMAT)


def run_drag(source: QWidget, data: QMimeData, text: str, theme: Theme) -> None:
    """Drag a copy of something until it is dropped, as a pill with its name next to the pointer."""
    drag = QDrag(source)
    drag.setMimeData(data)
    picture = drag_picture(text, theme, source.devicePixelRatioF())
    drag.setPixmap(picture)
    drag.setHotSpot(QPoint(-10, -12))
    drag.exec(Qt.DropAction.CopyAction)


def drag_picture(text: str, theme: Theme, ratio: float = 1.0) -> QPixmap:
    """Return a pill with a text, shortened in its middle; `ratio`: pixels of the screen per logical pixel."""
    font = ui_font(_PILL_TEXT_PX, 500)
    metrics = QFontMetricsF(font)
    words = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, _PILL_ROOM_PX)
    wide = round(metrics.horizontalAdvance(words))
    high = round(metrics.height())
    size = QSize(wide + 2 * _PILL_PAD_PX + 2, high + _PILL_PAD_PX)
    picture = QPixmap(size * ratio)
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    box = QRectF(0.5, 0.5, size.width() - 1, size.height() - 1)
    text_color, fill, _ = tone_colors(theme, "accent")
    paint_pill(painter, box, words, (text_color, fill, theme.accent), font, _PILL_PAD_PX)
    painter.end()
    return picture


class DropHint(Themed, QWidget):
    """Covers its parent while something is dragged over it, and says what a drop does, or why nothing."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("drop_hint")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.words = ""
        self.is_refusal = False
        parent.installEventFilter(self)
        self.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and isinstance(watched, QWidget):
            self.setGeometry(watched.rect())
        return False

    def show_text(self, text: str, *, is_refusal: bool = False) -> None:
        self.words = text
        self.is_refusal = is_refusal
        self.setAccessibleName(text)
        parent = self.parentWidget()
        if parent is not None:
            self.setGeometry(parent.rect())
        self.raise_()
        self.show()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        veil = QColor(theme.surface if self.is_refusal else theme.accent_soft)
        veil.setAlphaF(0.94)
        frame = QRectF(self.rect()).adjusted(2, 2, -2, -2)
        edge = QColor(theme.warn if self.is_refusal else theme.accent)
        painter.setPen(QPen(edge, 2, Qt.PenStyle.DashLine))
        painter.setBrush(veil)
        painter.drawRoundedRect(frame, _EDGE_PX, _EDGE_PX)
        painter.setPen(QColor(theme.warn if self.is_refusal else theme.accent_text))
        painter.setFont(ui_font(_TEXT_PX, 600))
        room = frame.adjusted(_PAD_PX, 4, -_PAD_PX, -4)
        flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
        painter.drawText(room, flags, self.words)
