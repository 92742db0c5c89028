"""Chips above the composer's text: what goes along with the next message, and what each says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from PySide6.QtCore import QEvent, QObject, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QImage,
    QKeyEvent,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QAbstractButton, QApplication, QFrame, QMenu, QScrollArea, QToolButton, QWidget

from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.ui.chat.composer.editor import AddedFile
from helix_desktop.ui.chat.style import SMALL, cut_label, draw_thumbnail
from helix_desktop.ui.design.buttons import EnterActivates, popup_below
from helix_desktop.ui.design.focus import KEYBOARD_REASONS
from helix_desktop.ui.design.layout import FLOW_GAP, flow_height, place_flow
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.ui.design.viewer.picture import thumbnail_size
from helix_desktop.ui.kit.boxes import Icon, Pen, Text, face
from helix_desktop.ui.kit.commands import EntryMenu
from helix_desktop.ui.kit.intents import Intent, perform
from helix_desktop.words.attachments import attachment_facts, attachment_icon, attachment_name
from helix_desktop.words.state_words import OUTDATED, explain_outdated
from helix_desktop.words.translation import Translator, translate

tr = Translator("Composer")

_HEIGHT = 26
_IMAGE_HEIGHT = 48
_MAX_WIDTH = 340
_THUMBNAIL_LEFT = 4  # pixels before one
_LINES = 4  # lines in sight
_FEW_LINES = 2  # lines in sight in a low window
_LOW_WINDOW = 640  # pixels; a window that is lower is a low one
_LEFT = 28  # pixels before the label
_BUTTON = 18  # pixels of a button's edge
_EDGE = 5  # pixels at the right
_MAX_INSERTED_BYTES = 64 * 1024  # of a pasted text; the field lays out more too slowly
_STEP_KEYS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}


def attachment_key(attachment: Attachment) -> str:
    lines = f"{attachment.first_line}-{attachment.last_line}"
    return f"{attachment.digest}:{attachment.label}:{lines}"


@dataclass(frozen=True, slots=True)
class Chip:
    """An attachment, and what is said of it; `is_warning`: it is not sent as it is, or may be refused.

    One that `is_outdated` is of a file that has changed since.
    """

    attachment: Attachment
    note: str
    is_warning: bool = False
    is_outdated: bool = False
    thumbnail: QImage | None = field(default=None, hash=False)

    @property
    def name(self) -> str:
        return attachment_name(self.attachment)

    @property
    def suffix(self) -> str:
        return f" · {self.note}"

    @property
    def has_text(self) -> bool:
        """Return True if it can stand in the message as text: what was pasted, and what was recalled."""
        kind = self.attachment.kind
        attachment = self.attachment
        size = attachment.size if kind == "paste" else len(attachment.text)
        return kind in ("paste", "cached") and not attachment.image and size <= _MAX_INSERTED_BYTES

    @property
    def thumbnail_size(self) -> QSize:
        image = self.attachment.image
        return thumbnail_size(image.width, image.height) if image else QSize(0, 0)


def make_chip(
    attachment: Attachment,
    model: ModelInfo | None,
    thumbnail: QImage | None = None,
    *,
    is_outdated: bool = False,
) -> Chip:
    """Return a chip that says the tokens, or that the model sees no images, or may not see them."""
    note = attachment_facts(attachment)
    is_image = attachment.image is not None
    if is_image and (model is None or not model.images):
        return Chip(attachment, tr("images not supported: left out"), True, thumbnail=thumbnail)
    if is_image and model and not model.images_known:
        return Chip(attachment, f"{note} · {tr('images may not be supported')}", True, thumbnail=thumbnail)
    note = f"{translate(OUTDATED)} · {note}" if is_outdated else note
    return Chip(attachment, note, is_outdated, is_outdated, thumbnail)


# What is to go along with the next message, and what its chips want, each by its key.
# fmt: off

class AttachFiles(Intent, frozen=True):
    files: tuple[AddedFile, ...]
class AttachText(Intent, frozen=True):  # that is too long to stand in the message
    text: str
class AttachEntries(Intent, frozen=True):  # cached contents, by digest
    digests: tuple[str, ...]
class PickFiles(Intent, frozen=True): ...
class OpenAttachment(Intent, frozen=True):  # on the Outputs page
    key: str
class RemoveAttachment(Intent, frozen=True):
    key: str
class UnpackAttachment(Intent, frozen=True):  # put its text into the message
    key: str
class SendAttachmentInFull(Intent, frozen=True):  # of which a preview is sent
    key: str

# fmt: on


class SignButton(EnterActivates, Themed, QToolButton):
    """An icon; without a ground of its own it has one under the pointer, and with the keyboard."""

    def __init__(
        self, parent: QWidget, sign: Icon, words: str, tip: str = "", ground: str = "", edge: str = ""
    ) -> None:
        """`words` are its name for screen readers, `ground` and `edge` tokens."""
        super().__init__(parent)
        self.setAccessibleName(words)
        self.setToolTip(tip)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.show_look(sign, ground, edge)

    def show_look(self, sign: Icon, ground: str, edge: str) -> None:
        self._look = sign, ground, edge
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        sign, ground, edge = self._look
        bounds = QRectF(self.rect())
        is_hovered = self.underMouse() and self.isEnabled()
        if self.hasFocus():
            edge = "text" if ground == "accent" else "accent"
        elif is_hovered and edge:
            edge = "accent_text"
        pen = Pen.of_widget(self, self._theme)
        ground = ground or ("surface" if is_hovered or self.hasFocus() else "")
        pen.box(bounds, ground, edge, min(9, self.height() / 2 - 2), 2)
        sign.place(bounds)
        sign.paint(pen)


class AttachmentChip(EnterActivates, Themed, QAbstractButton):
    """One attachment: pressing it opens its content; a button takes it away, another one makes it text."""

    def __init__(self, chip: Chip, parent: QWidget) -> None:
        super().__init__(parent)
        self.chip = chip
        self.key = attachment_key(chip.attachment)
        self.label = chip.name + chip.suffix
        self.colors = ("warn", "warn_soft") if chip.is_warning else ("accent_text", "accent_soft")
        self._has_ring = False
        self.buttons: list[SignButton] = []
        words = tr("Remove {attachment}", attachment=self.label)
        self._add_button("x", words, tr("Remove"), RemoveAttachment(self.key))
        self.setObjectName("attachment")
        outdated = explain_outdated() if chip.is_outdated else ""
        self.setToolTip("\n".join(filter(None, (self.label, outdated))))
        self.setAccessibleName(tr("Attachment: {attachment}", attachment=self.label))
        self.setAccessibleDescription(tr("Enter opens it, Delete removes it"))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click leaves the keyboard to the text
        self.clicked.connect(partial(perform, self, OpenAttachment(self.key)))

    def _add_button(self, icon_name: str, words: str, tip: str, intent: Intent) -> None:
        self.buttons.append(SignButton(self, Icon(icon_name, self.colors[0], 12), words, tip))
        self.buttons[-1].clicked.connect(partial(perform, self, intent))

    def fit(self, room: float) -> None:
        """Be as wide as the label needs, within so many pixels."""
        around = self._left + self._right
        wide = max(around, min(self._label_width() + around, room))
        self.setFixedSize(round(wide), _IMAGE_HEIGHT if self.chip.attachment.image else _HEIGHT)
        for number, button in enumerate(reversed(self.buttons), 1):
            x = self.width() - _EDGE - number * (_BUTTON + 2) + 2
            place = QRect(x, (self.height() - _BUTTON) // 2, _BUTTON, _BUTTON)
            button.setGeometry(place)

    def _label_width(self) -> float:
        """Return the pixels of the label; a long name is cut, but what follows it has its room."""
        width = face(SMALL, 500)[1].horizontalAdvance
        chip = self.chip
        most = _MAX_WIDTH - _LEFT - self._right
        if chip.attachment.image:
            return min(most, max(map(width, (chip.name, chip.note))) + 6)
        # A third is for the name, as `visible_label` cuts it.
        return min(max(most, 1.5 * width(chip.suffix) + 6), width(self.label) + 6)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Delete takes it away, Enter and Space open it; arrows are left to the bar."""
        key = Qt.Key(event.key())
        if key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            perform(self, RemoveAttachment(self.key))
        elif key in _STEP_KEYS:
            event.ignore()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._has_ring = event.reason() in (*KEYBOARD_REASONS, Qt.FocusReason.OtherFocusReason)
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._has_ring = False
        super().focusOutEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() == event.Reason.Mouse:
            self.menu().popup(event.globalPos())
        else:
            popup_below(self.menu(), self)

    def menu(self) -> QMenu:
        menu = EntryMenu(self)
        menu.setAccessibleName(self.label)
        menu.add("attachment-open", tr("Open"), OpenAttachment(self.key))
        if self.chip.has_text:
            menu.add("attachment-unpack", tr("Insert as text"), UnpackAttachment(self.key))
        if self.chip.attachment.form == "preview":
            menu.add("attachment-full", tr("Send all of it"), SendAttachmentInFull(self.key))
        menu.add("attachment-remove", tr("Remove"), RemoveAttachment(self.key))
        return menu

    def paintEvent(self, event: QPaintEvent) -> None:
        pen = Pen.of_widget(self, self._theme)
        color, fill = self.colors
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        pen.box(box, fill, "accent" if self._has_ring else "", 8)
        chip = self.chip
        label = self._label_rect()
        if chip.attachment.image:
            size = chip.thumbnail_size
            corner = QPointF(_THUMBNAIL_LEFT, (self.height() - size.height()) / 2)
            draw_thumbnail(chip.thumbnail, color, pen, QRectF(corner, size.toSizeF()))
            label.setHeight(self.height() / 2)
            pen.write(Text(chip.note, SMALL, color, 500), label.x(), label.translated(0, label.height() - 3))
            label.translate(0, 3)
        else:
            icon = Icon(attachment_icon(chip.attachment), color, 13)
            icon.place(QRectF(9, (_HEIGHT - 13) / 2, 13, 13))
            icon.paint(pen)
        pen.write(Text(self.visible_label(), SMALL, color, 500), label.x(), label)
        pen.qt.end()

    def visible_label(self) -> str:
        """Return the label as it stands on the chip: its name is cut where room ends, to a third at most.

        Of an image it is the name alone, whose note is in a line of its own.
        """
        suffix = "" if self.chip.attachment.image else self.chip.suffix
        return cut_label(face(SMALL, 500)[1], self.chip.name, suffix, self._label_rect().width())

    def _label_rect(self) -> QRectF:
        return QRectF(self._left, 0, self.width() - self._left - self._right, self.height())

    @property
    def _right(self) -> int:
        return len(self.buttons) * (_BUTTON + 2) + _EDGE

    @property
    def _left(self) -> int:
        is_image = self.chip.attachment.image is not None
        return 2 * _THUMBNAIL_LEFT + self.chip.thumbnail_size.width() + 3 if is_image else _LEFT


class AttachmentBar(Themed, QScrollArea):
    """Chips side by side, in as many lines as they need, some of them in sight; no height without chips."""

    left = Signal()
    """The user went on past the last chip, or took the last one away by a key."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._chips: list[AttachmentChip] = []
        self._board = QWidget()
        self._board.setObjectName("page")
        self.setWidget(self._board)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFixedHeight(0)

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(chip.key for chip in self._chips)

    def show_chips(self, chips: Sequence[Chip]) -> None:
        """Show these chips; one that stays keeps the keyboard, else the one in its place gets it."""
        place = self._focused_place()
        present = {shown.chip: shown for shown in self._chips}
        self._chips = [
            present.pop(chip) if chip in present else AttachmentChip(chip, self._board) for chip in chips
        ]
        for gone in present.values():
            gone.hide()
            gone.deleteLater()
        for shown in self._chips:
            shown.show()
            shown.raise_()  # Tab goes through them as they are stacked, and a new one is on top
        self._arrange()
        if place is not None and self._focused_place() is None:
            self._focus(min(place, len(self._chips) - 1))

    def _focused_place(self) -> int | None:
        focused = QApplication.focusWidget()
        holders = (n for n, chip in enumerate(self._chips) if focused in (chip, *chip.children()))
        return next(holders, None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        place = self._focused_place()
        by = _STEP_KEYS.get(Qt.Key(event.key()), 0)
        if place is not None and by and place + by >= 0:
            self._focus(place + by)

    def _focus(self, place: int) -> None:
        """Give the keyboard to a chip; behind the last one to whoever is next."""
        if 0 <= place < len(self._chips):
            self._chips[place].setFocus(Qt.FocusReason.TabFocusReason)
            self.ensureWidgetVisible(self._chips[place], 0, FLOW_GAP)
        else:
            self.left.emit()

    def apply_theme(self) -> None:
        super().apply_theme()
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.window().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and watched is self.window():
            self._arrange()
        return super().eventFilter(watched, event)

    def _arrange(self) -> None:
        room = self.width()
        lines = _FEW_LINES if self.window().height() < _LOW_WINDOW else _LINES
        max_height = lines * (_HEIGHT + FLOW_GAP) - FLOW_GAP
        for chip in self._chips:
            chip.fit(room - self.verticalScrollBar().sizeHint().width())
        height = flow_height(self._chips, room)
        if height > max_height:
            room -= self.verticalScrollBar().sizeHint().width()
        height = place_flow(self._chips, room)
        self._board.resize(room, height)
        self.setFixedHeight(min(height, max_height) + FLOW_GAP if height else 0)
