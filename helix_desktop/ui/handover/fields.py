"""The parts of the handover window that are edited or chosen: a section, a range, a version."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, QSignalBlocker, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QPainter,
    QResizeEvent,
    QStandardItem,
    QSyntaxHighlighter,
    QTextCharFormat,
)
from PySide6.QtWidgets import QWidget

from helix_desktop.domain.events.summary import Bullet
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.cards import Pill
from helix_desktop.ui.design.fields import TextArea
from helix_desktop.ui.design.focus import paint_row_focus
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout import column, row
from helix_desktop.ui.design.quick_picker import LineDelegate, PickerList
from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.design.style.fonts import ui_font
from helix_desktop.ui.design.style.theme import Themed, current_theme
from helix_desktop.ui.handover.versions import Version
from helix_desktop.ui.kit.boxes import Column, Row, Text, paint_box
from helix_desktop.ui.kit.boxes import Pill as BoxPill
from helix_desktop.words.translation import Translator

tr = Translator("Handover")

_FRAME_PX = 20  # of a field, above and below its lines
_MARKUP = re.compile(r"`[^`]+`|\[e\d+(?:, e\d+)*\]|^- ")
_VERSION_ROLE = Qt.ItemDataRole.UserRole + 1
_VERSION_PX, _EDGE_PX = 52, 12


class _Colors(QSyntaxHighlighter):
    """Code in its font, and the signs around sentences pale: what is read is the sentence."""

    def highlightBlock(self, text: str) -> None:
        for hit in _MARKUP.finditer(text):
            form = QTextCharFormat()
            if hit[0].startswith("`"):
                form.setFont(ui_font(12, is_code=True))
            else:
                form.setForeground(QColor(current_theme().faint))
            self.setFormat(hit.start(), hit.end() - hit.start(), form)


class _WrappingField(TextArea):
    """A field as high as its lines, which the page around it scrolls."""

    wrapped = Signal()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.wrapped.emit()  # its document has other lines then, and says nothing


class SectionField(Themed, QWidget):
    """A title, whether its text differs from the original, and the sentences, one on each line."""

    changed = Signal()

    def __init__(self, title: str, text: str, original: str) -> None:
        super().__init__()
        self.title, self._original, self._shown_text = title, original, ""
        self.editor = _WrappingField(text, words=title, placeholder=tr("Nothing recorded"))
        self.editor.setObjectName(f"section:{title}")
        self.editor.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._colors = _Colors(self.editor.document())
        self.pill = Pill(tr("Edited"), "accent")
        self.reset_button = PushButton(tr("Reset"), "link", "undo-2", px=14, name=f"reset:{title}")
        self.reset_button.setToolTip(tr("Back to the text as it was first recorded"))
        self.reset_button.setAccessibleName(tr("Reset {section}", section=title))
        self.reset_button.clicked.connect(self._reset)
        head = row(label(title, "strong"), self.pill, None, self.reset_button)
        self.setLayout(column(head, self.editor, gap=4))
        self.editor.textChanged.connect(self._on_text)
        self.editor.document().documentLayout().documentSizeChanged.connect(lambda _: self._fit())
        self.editor.wrapped.connect(self._fit)
        self.pill.hide()
        self.reset_button.hide()
        self._on_text()
        self._fit()

    @property
    def text(self) -> str:
        return self.editor.toPlainText()

    def apply_theme(self) -> None:
        super().apply_theme()
        self._colors.rehighlight()

    def add_sentence(self, bullet: Bullet) -> None:
        """Add a sentence at the end, as one step of the field's own undo."""
        sources = ", ".join(f"e{seq}" for seq in bullet.sources)
        line = f"- {' '.join(bullet.text.split())}" + (f" [{sources}]" if sources else "")
        cursor = self.editor.textCursor()
        cursor.movePosition(cursor.MoveOperation.End)
        cursor.insertText(f"\n{line}" if self.text.strip() else line)

    def _reset(self) -> None:
        cursor = self.editor.textCursor()  # keeps the field's own undo, which setPlainText would clear
        cursor.select(cursor.SelectionType.Document)
        cursor.insertText(self._original)
        self.editor.setFocus()
        announce(self, tr("{section} is as it was first recorded.", section=self.title))

    def _on_text(self) -> None:
        if self.text == self._shown_text:
            return  # other colors
        self._shown_text = self.text
        differs = self.text.strip() != self._original.strip()
        self.pill.setVisible(differs)
        self.reset_button.setVisible(differs)
        self.changed.emit()

    def _fit(self) -> None:
        layout, block, height = self.editor.document().documentLayout(), self.editor.document().begin(), 0.0
        while block.isValid():
            height += layout.blockBoundingRect(block).height()
            block = block.next()
        self.editor.setFixedHeight(ceil(height) + _FRAME_PX)


class VersionList(Themed, PickerList):
    """The versions, one on two lines each; arrows choose."""

    chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(tr("Versions"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.delegate = _VersionDelegate(self, _VERSION_PX)
        self.setItemDelegate(self.delegate)
        self.versions: Sequence[Version] = ()

    def show_versions(self, versions: Sequence[Version], seq: int) -> None:
        blocker = QSignalBlocker(self)  # rows that come and go are chosen by nobody
        if versions != self.versions:
            self.versions = versions
            self.items.clear()
            for version in versions:
                item = QStandardItem(", ".join(filter(None, (version.title, version.state, version.note))))
                item.setData(version, _VERSION_ROLE)
                item.setToolTip(plain_tooltip("\n".join((version.title, version.note))))
                self.items.appendRow(item)
        place = next((at for at, version in enumerate(versions) if version.seq == seq), 0)
        self.choose(place)
        blocker.unblock()

    def currentChanged(
        self, current: QModelIndex | QPersistentModelIndex, previous: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().currentChanged(current, previous)
        version = current.data(_VERSION_ROLE)
        if version is not None:
            self.chosen.emit(version.seq)

    def apply_theme(self) -> None:
        super().apply_theme()
        self.scheduleDelayedItemsLayout()


class _VersionDelegate(LineDelegate):
    def paint_line(self, painter: QPainter, box: QRectF, index: QModelIndex | QPersistentModelIndex) -> None:
        version: Version = index.data(_VERSION_ROLE)
        if self.view.hasFocus() and index == self.view.currentIndex():
            paint_row_focus(painter, box, current_theme().accent, is_keyboard=True)
        pill = [BoxPill(version.state, "accent")] if version.state else []
        note = Row([Text(version.note, 12, "muted", shrink=True), *pill], 8)
        content = Column([Text(version.title, 13, weight=500, shrink=True), note])
        paint_box(painter, box.adjusted(_EDGE_PX, 0, -_EDGE_PX, 0), current_theme(), content)
