"""The figures of a card that say what its call changed, and the diff that they open onto."""

from __future__ import annotations

from collections.abc import Set

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QTextCharFormat, QTextLayout

from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.ui.chat.actions import OpenChanges, RowSection, ToggleSection
from helix_desktop.ui.chat.items.item import CardPart, ItemTools
from helix_desktop.ui.chat.items.painting import ChatPainter, button_width
from helix_desktop.ui.chat.markdown.text_layout import TextLayout
from helix_desktop.ui.chat.rows.changed_files import (
    FOLDED_LINES,
    SIGNS,
    CardLine,
    ChangedFilesContent,
    FileLines,
)
from helix_desktop.ui.chat.rows.row_types import ToolRow
from helix_desktop.ui.chat.style import MEDIUM, SEMIBOLD, SMALL, TINY
from helix_desktop.ui.design.document_units import count_units
from helix_desktop.ui.design.mirror import is_right_to_left, turn_back
from helix_desktop.ui.kit.boxes import HitArea
from helix_desktop.words.file_changes import changed_files_text, changed_lines_text, line_counts_texts
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

_HEADER, _FOOT = 30.0, 40.0  # heights in pixels
_MARGIN, _GAP = 12.0, 9.0
_NUMBER_PAD = 8.0


class FileBlock:
    """The lines of one file in a frame, below its name; sizes in pixels."""

    def __init__(self, file: FileLines, lines: int, tools: ItemTools) -> None:
        """`lines` is how many of them are shown."""
        self._file, self._lines, self._style = file, file.lines[:lines], tools.style
        self.text: TextLayout | None = None
        if self._lines:
            words = "\n".join(line.text for line in self._lines)
            self.text = tools.writer.write_plain(words, mono=True, size=SMALL)
            self.text.wrap_at_words()  # prose is changed, too
            self.text.hang_wrapped_lines(self._style.width(SIGNS["same"], self._style.font(SMALL, mono=True)))
            self._color_lines(self.text)
        self._frame = QRectF()

    @property
    def words(self) -> str:
        """Return the file and what happened to it."""
        return " · ".join(part for part in (self._file.name, self._file.note) if part)

    def arrange(self, top: float, width: float, margin: float = _MARGIN) -> float:
        """Place it below `top`, with a margin at both sides; where it ends."""
        style, margin = self._style, self._style.px(margin)
        self._frame = QRectF(margin, top, width - 2 * margin, style.px(_HEADER))
        if self.text is not None:
            gutter = self._gutter()
            # The numbers stay left of the lines where everything around them is mirrored.
            self.text.x = margin + (8 if is_right_to_left() else gutter)
            self.text.y = top + style.px(_HEADER)
            self._frame.setHeight(style.px(_HEADER) + self.text.layout(self._frame.width() - gutter - 8) + 5)
        return self._frame.bottom()

    def hit_area(self, capture_id: str, number: int) -> HitArea:
        """Return the head of the file, which leads to Changes."""
        rect = QRectF(self._frame)
        rect.setHeight(self._style.px(_HEADER))
        label = tr("Open {file} in Changes", file=self._file.name)
        return HitArea(
            f"file:{number}", OpenChanges(capture_id, self._file.path), label, rect, radius=10, tip=label
        )

    def paint(self, painter: ChatPainter, *, is_hovered: bool = False) -> None:
        style, theme = self._style, self._style.theme
        painter.box(self._frame, theme.code_surface, theme.border, 10)
        self._paint_head(painter, hovered=is_hovered)
        if self.text is None:
            return
        line = self._frame.y() + style.px(_HEADER)
        painter.fill(QRectF(self._frame.x() + 1, line - 1, self._frame.width() - 2, 1), theme.border)
        painter.qt.save()
        turn_back(painter.qt, self._frame)
        self._paint_backgrounds(painter, painter.state.clip, self.text)
        painter.qt.restore()
        painter.text(self.text)

    def _gutter(self) -> float:
        digits = len(str(max((line.number for line in self._lines), default=0)))
        font = self._style.font(TINY, mono=True)
        return self._style.width("0", font) * max(3, digits) + self._style.px(2 * _NUMBER_PAD)

    def _paint_head(self, painter: ChatPainter, *, hovered: bool) -> None:
        style, theme = self._style, self._style.theme
        head = QRectF(self._frame.x() + 12, self._frame.y(), self._frame.width() - 24, style.px(_HEADER) - 1)
        head.setRight(_paint_counts(painter, head, self._file.added, self._file.removed) - 8)
        color = theme.accent_text if hovered else theme.text
        font = style.font(SMALL, MEDIUM, mono=True)
        left = painter.word(head.x(), head, self._file.name, font, color) + style.px(10)
        if self._file.note and head.right() + 8 - left > style.px(40):
            head.setLeft(left)
            painter.line(head, self._file.note, style.font(SMALL), theme.muted)

    def _paint_backgrounds(self, painter: ChatPainter, clip: QRectF, text: TextLayout) -> None:
        style, theme = self._style, self._style.theme
        backgrounds = {"added": theme.added_line, "removed": theme.removed_line, "gap": theme.no_line}
        layout, block = text.document.documentLayout(), text.document.firstBlock()
        start = text.document.findBlock(text.position_at(text.x, clip.top()))
        block = start if start.isValid() else block
        painter.qt.setFont(style.font(TINY, mono=True))
        while block.isValid():
            box = layout.blockBoundingRect(block).translated(0, text.y)
            if box.top() > clip.bottom():
                break
            line = self._lines[min(block.blockNumber(), len(self._lines) - 1)]
            if line.role in backgrounds:
                below = layout.blockBoundingRect(block.next()).top() + text.y
                height = below - box.top() if block.next().isValid() else box.height()
                row = QRectF(self._frame.x() + 1, box.top(), self._frame.width() - 2, height)
                painter.fill(row, backgrounds[line.role])
            if line.number:
                painter.qt.setPen(style.color(theme.faint if line.role == "same" else theme.muted))
                tall = block.layout().lineAt(0).height() or box.height()
                room = QRectF(self._frame.x(), box.top(), self._gutter() - style.px(_NUMBER_PAD), tall)
                flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
                painter.qt.drawText(room, flags, str(line.number))
            block = block.next()

    def _color_lines(self, text: TextLayout) -> None:
        block = text.document.firstBlock()
        for line in self._lines:
            formats = [*self._formats(line)]
            if formats and block.isValid():
                block.layout().setFormats(formats)
            block = block.next()

    def _formats(self, line: CardLine) -> list[QTextLayout.FormatRange]:
        theme = self._style.theme
        sign = {"added": theme.ok, "removed": theme.error, "gap": theme.muted}.get(line.role, "")
        word = theme.added_word if line.role == "added" else theme.removed_word
        parts = [(0, 1, sign, "")] if sign else []
        parts += [(start, end, str(getattr(theme.code, role)), "") for start, end, role in line.runs]
        parts += [(start, end, theme.text, word) for start, end in line.words]
        parts += [(line.code_end, len(line.text), theme.muted, "")] if line.code_end else []
        return [
            self._format(count_units(line.text[:start]), count_units(line.text[:end]), color, background)
            for start, end, color, background in parts
        ]

    def _format(self, start: int, end: int, color: str, background: str) -> QTextLayout.FormatRange:
        result, style = QTextLayout.FormatRange(), QTextCharFormat()
        style.setForeground(self._style.color(color))
        if background:
            style.setBackground(self._style.color(background))
        result.start, result.length, result.format = start, end - start, style
        return result


class ChangedFiles(CardPart):
    """Figures at the end of a card's bar; opened, the files and their lines below it."""

    def __init__(
        self, row: ToolRow, changes: ChangesRecorded, call: str, expanded: Set[RowSection], tools: ItemTools
    ) -> None:
        super().__init__(tools.style)
        self._changes, self._content, self._call = changes, row.changed_files, call
        self.is_open = "changes" in expanded
        self.strip, self._foot = QRectF(), QRectF()
        self._blocks: list[FileBlock] = []
        self._hidden_lines = 0
        if self.is_open and row.changed_files is not None:
            self._make_blocks(row.changed_files, "changed_lines" in expanded, tools)
        self.texts = [block.text for block in self._blocks if block.text is not None]
        below = [*(block.words for block in self._blocks), self._foot_text()] if self.is_open else []
        self.notes = [note for note in (self.words, *below) if note]

    @property
    def words(self) -> str:
        changes = self._changes
        files = changed_files_text(changes.files, changes.first_path)
        added, removed = changes.added_lines, changes.removed_lines
        lines = changed_lines_text(added, removed, changes.binary, changes.files)
        if not lines:
            return tr("Changed: {files}", files=files)
        return tr("Changed: {files}, {lines}", files=files, lines=lines)

    @property
    def figures_width(self) -> float:
        style = self._style
        return sum(style.width(text, style.font(SMALL)) + style.px(7) for text, _ in self._figures()) + 1

    def arrange(self, top: float, width: float) -> float:
        """Place the figures at the end of the card's line, `strip`, and what they open below `top`."""
        style = self._style
        self.strip.setLeft(self.strip.right() - self.figures_width)
        verb = tr("Hide changes of {call}", call=self._call)
        if not self.is_open:
            verb = tr("Show changes of {call}", call=self._call)
        label = f"{verb}. {self.words}"
        place = self.strip.adjusted(-style.px(4), style.px(3), style.px(4), -style.px(3))
        self.hit_areas = [
            HitArea("open:changes", ToggleSection("changes"), label, place, radius=6, tip=self.words)
        ]
        y = top
        if not self.is_open:
            return y
        for number, block in enumerate(self._blocks):
            y = block.arrange(y, width) + style.px(_GAP)
            self.hit_areas.append(block.hit_area(self._changes.capture, number))
        self._foot = QRectF(
            style.px(_MARGIN), y - style.px(2), width - 2 * style.px(_MARGIN), style.px(_FOOT)
        )
        self._place_buttons()
        return self._foot.bottom()

    def paint(self, painter: ChatPainter) -> None:
        self._paint_strip(painter)
        if not self.is_open:
            return
        for block, area in zip(self._blocks, self.hit_areas[1:], strict=False):
            block.paint(painter, is_hovered=painter.state.hovered == area.name)
        left = self._foot.right()
        for area in self.hit_areas[1 + len(self._blocks) :]:
            painter.button(area)
            left = min(left, area.rect.x())
        room = self._foot.adjusted(0, 0, left - self._foot.right() - 8, 0)
        painter.line(room, self._foot_text(), self._style.font(SMALL), self._style.theme.muted)

    def _make_blocks(self, content: ChangedFilesContent, shows_all: bool, tools: ItemTools) -> None:
        room = content.lines if shows_all else FOLDED_LINES
        for file in content.files:
            if room <= 0 and file.lines:
                break
            self._blocks.append(FileBlock(file, room, tools))
            room -= len(file.lines)
        self._hidden_lines = max(0, -room)
        if not shows_all:
            self._hidden_lines = max(0, content.lines - FOLDED_LINES)

    def _place_buttons(self) -> None:
        style, foot = self._style, self._foot
        label = tr("Open in Changes")
        wide = button_width(style, label)
        rect = QRectF(foot.right() - wide, foot.y() + style.px(5), wide, style.px(28))
        content = self._content
        if self._hidden_lines and content is not None:
            words = tr.plural(content.lines, "Show %n line", "Show all %n lines")
            room = button_width(style, words)
            place = QRectF(rect.x() - style.px(8) - room, rect.y(), room, rect.height())
            self.hit_areas.append(
                HitArea("whole:changes", ToggleSection("changed_lines"), words, place, radius=8)
            )
        self.hit_areas.append(
            HitArea("changes:open", OpenChanges(self._changes.capture), label, rect, radius=8)
        )

    def _foot_text(self) -> str:
        content = self._content
        if content is None:
            return tr("Reading the changes…")
        if content.problem:
            return content.problem
        if self._hidden_lines:
            return tr.plural(self._hidden_lines, "… %n more line", "… %n more lines")
        if content.hidden_files:
            return tr.plural(content.hidden_files, "… %n more file", "… %n more files")
        return tr("More lines are in Changes.") if content.is_cut else ""

    def _paint_strip(self, painter: ChatPainter) -> None:
        style, theme, right = self._style, self._style.theme, self.strip.right()
        if painter.state.hovered == "open:changes":
            painter.box(self.hit_areas[0].rect, theme.hover, radius=6)
        for text, color in reversed(self._figures()):
            right = painter.word_before(right, self.strip, text, style.font(SMALL), getattr(theme, color))
            right -= style.px(6)

    def _figures(self) -> list[tuple[str, str]]:
        """Return what stands in the bar, each with the token of its color."""
        changes = self._changes
        counts = zip(
            line_counts_texts(changes.added_lines, changes.removed_lines),
            (changes.added_lines, changes.removed_lines),
            ("ok", "error"),
            strict=True,
        )
        figures = [(text, color) for text, count, color in counts if count]
        if changes.files > 1 or not figures:
            words = changed_lines_text(0, 0, changes.binary, changes.files) if changes.files == 1 else ""
            figures.insert(0, (words or changed_files_text(changes.files, ""), "muted"))
        return figures


def _paint_counts(painter: ChatPainter, room: QRectF, added: int, removed: int) -> float:
    """Write the lines added and removed at the right end of a line; where they begin."""
    font, right = painter.style.font(SMALL, SEMIBOLD), room.right()
    words, theme = line_counts_texts(added, removed), painter.theme
    for count, text, color in ((removed, words[1], theme.error), (added, words[0], theme.ok)):
        if count:
            right = painter.word_before(right, room, text, font, color) - painter.style.px(6)
    return right
