"""The figures of a card that say what its call changed, and the diff that they open onto."""

from __future__ import annotations

from collections.abc import Sequence, Set

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QTextLayout

from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.ui.chat.actions import OpenChanges, RowSection, ToggleSection
from helix_desktop.ui.chat.items.item import (
    ItemTools,
    TextBlock,
    all_lines_button,
    card_foot,
    more_lines_text,
)
from helix_desktop.ui.chat.markdown.text_layout import TextLayout
from helix_desktop.ui.chat.rows.changed_file_rows import FOLDED_LINES, SIGNS, CardLine, FileLines
from helix_desktop.ui.chat.rows.row_types import ToolRow
from helix_desktop.ui.chat.style import SMALL
from helix_desktop.ui.design.document_units import count_units
from helix_desktop.ui.design.highlight import colored_range
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.kit.boxes import (
    Box,
    Button,
    Column,
    Frame,
    HitArea,
    Pen,
    Row,
    Space,
    Text,
    face,
    push_button,
)
from helix_desktop.words.file_changes import changed_files_text, changed_lines_text, line_counts_texts
from helix_desktop.words.lines import dotted
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

_HEADER = 30  # pixels
_NUMBER_PAD = 8  # pixels


class FileBlock(TextBlock):
    """The lines of one file in a frame, below its name."""

    def __init__(
        self, file: FileLines, lines: int, tools: ItemTools, link: OpenChanges | None = None, number: int = 0
    ) -> None:
        """`lines` is how many of them are shown, `link` where the name leads."""
        self._file = file
        self._lines = file.lines[:lines]
        self._style = tools.style
        text = tools.writer.write_plain("\n".join(line.text for line in self._lines), mono=True, size=SMALL)
        super().__init__(text)
        text.hang_wrapped_lines(face(SMALL, is_code=True)[1].horizontalAdvance(SIGNS["same"]))
        self._color_lines()
        figures = [Text(words, 12, color, 600) for words, color in _line_counts(file.added, file.removed)]
        note = Text(file.note, 12, "muted", grow=True, shrink=True)
        head = [Text(file.name, 12, "text", 500, is_code=True, shrink=True), note, *figures]
        lit = [Text(file.name, 12, "accent_text", 500, is_code=True, shrink=True), *head[1:]]
        label = tr("Open {file} in Changes", file=file.name)
        self._head = Button(
            f"file:{number}", link, Frame(Row(head, 10), (12, 0, 12, 0)), label, "words", tip=label
        )
        if link is not None:
            self._head.lit = Frame(Row(lit, 10), (12, 0, 12, 0))
        self._link = link

    @property
    def words(self) -> str:
        return " · ".join(part for part in (self._file.name, self._file.note) if part)

    @property
    def row_text(self) -> TextLayout | None:  # type: ignore[override]  # without lines there is none
        return self.text if self._lines else None

    def _wrap(self, width: float) -> float:
        tall = self.text.layout(width - self._gutter() - 8) + 5 if self._lines else 0.0
        return scaled(_HEADER) + tall

    def place(self, rect: QRectF) -> None:
        self.rect = rect
        self.text.x = rect.x() + self._gutter()
        self.text.y = rect.y() + scaled(_HEADER)
        self._head.place(QRectF(rect.x(), rect.y(), rect.width(), scaled(_HEADER) - 1))

    @property
    def areas(self) -> Sequence[HitArea]:
        return self._head.areas if self._link is not None else ()

    def paint(self, pen: Pen) -> None:
        pen.box(self.rect, "code_surface", "border", 10)
        self._head.paint(pen)
        if not self._lines:
            return
        line = self.rect.y() + scaled(_HEADER)
        pen.fill(QRectF(self.rect.x() + 1, line - 1, self.rect.width() - 2, 1), "border")
        self._paint_backgrounds(pen)
        TextBlock.paint(self, pen)

    def _gutter(self) -> float:
        digits = len(str(max((line.number for line in self._lines), default=0)))
        return face(11, is_code=True)[1].horizontalAdvance("0") * max(3, digits) + scaled(2 * _NUMBER_PAD)

    def _paint_backgrounds(self, pen: Pen) -> None:
        backgrounds = {"added": "added_line", "removed": "removed_line", "gap": "no_line"}
        text = self.text
        clip = pen.state.clip
        layout = text.document.documentLayout()
        block = text.document.firstBlock()
        start = text.document.findBlock(text.position_at(text.x, clip.top()))
        block = start if start.isValid() else block
        pen.qt.setFont(face(11, is_code=True)[0])
        while block.isValid():
            box = layout.blockBoundingRect(block).translated(0, text.y)
            if box.top() > clip.bottom():
                break
            line = self._lines[min(block.blockNumber(), len(self._lines) - 1)]
            if line.role in backgrounds:
                below = layout.blockBoundingRect(block.next()).top() + text.y
                height = below - box.top() if block.next().isValid() else box.height()
                pen.fill(
                    QRectF(self.rect.x() + 1, box.top(), self.rect.width() - 2, height),
                    backgrounds[line.role],
                )
            if line.number:
                pen.qt.setPen(pen.color("faint" if line.role == "same" else "muted"))
                tall = block.layout().lineAt(0).height() or box.height()
                room = QRectF(self.rect.x(), box.top(), self._gutter() - scaled(_NUMBER_PAD), tall)
                flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
                pen.qt.drawText(room, flags, str(line.number))
            block = block.next()

    def _color_lines(self) -> None:
        block = self.text.document.firstBlock()
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
            colored_range(count_units(line.text[:start]), count_units(line.text[start:end]), *colors)
            for start, end, *colors in parts
        ]


class ChangedFiles:
    """`figures` stand at the end of a card's line; opened, `body` shows files and lines below it."""

    def __init__(
        self, row: ToolRow, changes: ChangesRecorded, call: str, expanded: Set[RowSection], tools: ItemTools
    ) -> None:
        self._changes = changes
        self._content = row.changed_files
        self._is_of_command = bool(row.command)
        self._state = tr("Reverted", "what a call changed") if row.is_reverted else ""
        is_open = "changes" in expanded
        words = self._words()
        verb = tr("Show changes of {call}", call=call)
        if is_open:
            verb = tr("Hide changes of {call}", call=call)
        figures = Row([Text(text, 12, color) for text, color in self._figures()], 6)
        action = ToggleSection("changes")
        self.figures = Button("open:changes", action, figures, f"{verb}. {words}", tip=words)
        self.body: Box = Space()
        self.notes = [words]
        if is_open:
            blocks, hidden_lines = self._blocks("changed_lines" in expanded, tools)
            foot = self._foot_text(hidden_lines)
            self.notes += [note for note in (*(block.words for block in blocks), foot) if note]
            self.body = Frame(Column([*blocks, self._foot(foot, hidden_lines)], 9), (12, 0, 12, 0))

    def _words(self) -> str:
        changes = self._changes
        files = changed_files_text(changes.files, changes.first_path)
        added = changes.added_lines
        removed = changes.removed_lines
        lines = changed_lines_text(added, removed, changes.binary, changes.files)
        words = tr("Changed: {files}, {lines}", files=files, lines=lines)
        if not lines:
            words = tr("Changed: {files}", files=files)
        return dotted((words, self._state))

    def _blocks(self, shows_all: bool, tools: ItemTools) -> tuple[list[FileBlock], int]:
        blocks = list[FileBlock]()
        content = self._content
        if content is None:
            return blocks, 0
        room = content.lines if shows_all else FOLDED_LINES
        for number, file in enumerate(content.files):
            if room <= 0 and file.lines:
                break
            blocks.append(FileBlock(file, room, tools, OpenChanges(self._changes.capture, file.path), number))
            room -= len(file.lines)
        return blocks, max(0, -room if shows_all else content.lines - FOLDED_LINES)

    def _foot(self, words: str, hidden_lines: int) -> Box:
        buttons = []
        if hidden_lines and self._content is not None:
            buttons.append(all_lines_button("changes", ToggleSection("changed_lines"), self._content.lines))
        action = OpenChanges(self._changes.capture)
        buttons.append(push_button("changes:open", action, tr("Open in Changes"), high=28))
        return Frame(card_foot(words, buttons), (0, -2, 0, 0))

    def _foot_text(self, hidden_lines: int) -> str:
        content = self._content
        if content is None:
            return tr("Reading the changes…")
        if content.problem:
            return content.problem
        if hidden_lines:
            return more_lines_text(hidden_lines)
        if content.hidden_files:
            return tr.plural(content.hidden_files, "… %n more file", "… %n more files")
        return tr("More lines are in Changes.") if content.is_cut else ""

    def _figures(self) -> list[tuple[str, str]]:
        changes = self._changes
        figures = _line_counts(changes.added_lines, changes.removed_lines)
        if changes.files > 1 or not figures:
            words = changed_lines_text(0, 0, changes.binary, changes.files) if changes.files == 1 else ""
            path = changes.first_path.rpartition("/")[2] if self._is_of_command else ""  # perhaps a folder
            files = changed_files_text(changes.files, path)
            if self._is_of_command:
                files = tr("changed {files}", files=files)
            elif changes.files == 1:
                files = tr("no lines", "of a file that changed otherwise, such as an empty one")
            figures.insert(0, (words or files, "muted"))
        if self._state:
            figures.append((f"\N{MIDDLE DOT} {self._state}", "muted"))
        return figures


def _line_counts(added: int, removed: int) -> list[tuple[str, str]]:
    counts = zip(line_counts_texts(added, removed), (added, removed), ("ok", "error"), strict=True)
    return [(text, color) for text, count, color in counts if count]
