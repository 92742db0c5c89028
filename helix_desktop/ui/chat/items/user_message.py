"""A message of the user, in a bubble."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, QSizeF

from helix_desktop.ui.chat.actions import EditMessage, ToggleSection
from helix_desktop.ui.chat.items.item import ItemContext, ItemTools, RowItem
from helix_desktop.ui.chat.items.message_actions import BUTTON_EDGE, MessageActions
from helix_desktop.ui.chat.items.painting import (
    CHIP_HEIGHT,
    ChatPainter,
    ChipStyle,
    chip_width,
    elided_line,
    elided_path,
)
from helix_desktop.ui.chat.items.text_and_code_blocks import BlockStack, CodeBlock
from helix_desktop.ui.chat.markdown.parser import parse_user_text
from helix_desktop.ui.chat.rows.row_types import AttachmentNote, UserRow
from helix_desktop.ui.chat.style import MEDIUM, SMALL, TINY, ChatStyle
from helix_desktop.ui.design.viewer.picture import thumbnail_size
from helix_desktop.ui.kit.boxes import HitArea
from helix_desktop.ui.kit.intents import OpenCacheEntry, RewindTo, ShowInTimeline
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

_FOLD_OVER_LINES, _FOLD_OVER_CHARS = 40, 4_000  # a pasted wall of text is folded above
_FOLDED_LINES, _FOLDED_CHARS = 24, 2_500
_MAX_CHIP = 380  # pixels of one attachment, without its thumbnail
_THUMBNAIL_MARGIN = 4  # pixels around one


class UserMessageItem(RowItem):
    """A bubble at the right; only code is marked up, very long texts are folded until opened."""

    def __init__(self, row: UserRow, context: ItemContext, tools: ItemTools) -> None:
        super().__init__(row, context, tools)
        self._row = row
        self._notes = [_NoteChip(note, number) for number, note in enumerate(row.attachments)]
        self.accessible_notes = [tr("Attached: {name}", name=note.label) for note in row.attachments]
        if row.prompt:
            self._notes.insert(0, _NoteChip(AttachmentNote(row.prompt, icon="file-text")))
            self.accessible_notes.insert(0, tr("From {prompt}", "a prompt file", prompt=row.prompt))
        side = tr("Side question: not in context") if row.is_side else ""
        steered = tr("Sent during the turn") if row.steered else ""
        self._context_chip = _NoteChip(AttachmentNote(row.context_note, icon="layers"))
        for words, icon in ((side, "message-square"), (row.context_note, "layers"), (steered, "zap")):
            if words:
                self._notes.append(_NoteChip(AttachmentNote(words, icon=icon)))
                self.accessible_notes.append(words)
        self._actions = MessageActions(
            [EditMessage(row.key.seq), RewindTo(row.key.seq)] if row.is_editable else [],
            row.versions,
            self.style,
        )
        if self._actions.note:
            self.accessible_notes.append(self._actions.note)
        self._stack = BlockStack(tools)
        self._bubble = QRectF()
        self._placed_notes: list[tuple[_NoteChip, QRectF]] = []
        lines = row.text.count("\n") + 1
        self._is_long = lines > _FOLD_OVER_LINES or len(row.text) > _FOLD_OVER_CHARS
        self._show_all_label = (
            tr.plural(lines, "Show %n line", "Show all %n lines")
            if lines > _FOLDED_LINES
            else tr.plural(len(row.text), "Show %n character", "Show all %n characters")
        )
        text = row.text
        if self._is_long and "more" not in context.expanded:
            text = "\n".join(text[:_FOLDED_CHARS].split("\n")[:_FOLDED_LINES]) + " …"
        for chunk in parse_user_text(text):
            for block in chunk.blocks:
                self._stack.add(block)
        self._set_texts([part.text for part in self._stack.blocks])

    def copy_text(self, number: int) -> str | None:
        return self._stack.copy_text(number)

    def _arrange(self, width: float) -> float:
        style = self.style
        pad = style.px(16)
        widest = min(width, max(style.px(280), width * 0.82)) - 2 * pad
        self._stack.arrange(0, 0, widest)
        only_prose = all(not isinstance(part, CodeBlock) for part in self._stack.blocks)
        if only_prose and self.texts:
            ideal = max(text.document.idealWidth() for text in self.texts)
            widest = min(widest, ideal + 1)
        if self._is_long:
            widest = max(widest, style.px(220))
        left = width - widest - pad
        bottom = self._stack.arrange(left, style.px(11), widest)
        self.hit_areas = self._stack.hit_areas()
        if self._is_long:
            rect = QRectF(
                left - 8,
                bottom + 6,
                style.width(self._visible_text(), style.font(SMALL, MEDIUM)) + 16,
                style.px(24),
            )
            self.hit_areas.append(
                HitArea("open:more", ToggleSection("more"), self._visible_text(), rect, radius=6)
            )
            bottom = rect.bottom() - 2
        self._bubble = QRectF(left - pad, 0, widest + 2 * pad, bottom + style.px(12))
        bottom, top = self._bubble.bottom(), self._bubble.bottom() + style.px(4)
        if not self._actions:
            return self._place_notes(bottom, width, width)
        self._actions.place(width - self._actions.width, top)
        self.hit_areas = [*self.hit_areas, *self._actions.hit_areas]
        notes_bottom = self._place_notes(bottom, width, width - self._actions.width - style.px(4))
        return max(notes_bottom, top + style.px(BUTTON_EDGE))

    def _place_notes(self, top: float, width: float, first_width: float) -> float:
        """Place the chips below the bubble, at the right, in as many rows as they need; return the bottom.

        The first row is `first_width` pixels wide.
        """
        gap = self.style.px(6)
        rows: list[list[_NoteChip]] = [[]] if self._notes else []
        room = first_width
        for note in self._notes:
            wide = min(note.width(self.style), first_width)
            if wide > room:
                rows.append([])
                room = width
            rows[-1].append(note)
            room -= wide + gap
        self._placed_notes = []
        for number, row in enumerate(rows):
            top += gap if number else self.style.px(8)
            right = width if number else first_width
            tall = max(note.height(self.style) for note in row)
            for note in reversed(row):
                wide = min(note.width(self.style), first_width)
                height = note.height(self.style)
                place = QRectF(right - wide, top + (tall - height) / 2, wide, height)
                self._placed_notes.append((note, place))
                right -= wide + gap
            top += tall
        self.hit_areas += [
            HitArea(
                f"attachment:{note.number}",
                OpenCacheEntry(note.attachment.digest),
                tr("Open {name}", name=note.label),
                rect,
                radius=note.radius(self.style),
                tip=note.label,
            )
            for note, rect in reversed(self._placed_notes)
            if note.attachment.digest
        ]
        if self._row.cover_seq:
            rect = next(rect for note, rect in self._placed_notes if note == self._context_chip)
            action, label = ShowInTimeline(self._row.cover_seq), tr("Show in timeline")
            self.hit_areas.append(
                HitArea("open:rewrite", action, label, rect, radius=rect.height() / 2, tip=label)
            )
        return top

    def _visible_text(self) -> str:
        return tr("Show less") if "more" in self.context.expanded else self._show_all_label

    def _paint(self, painter: ChatPainter) -> None:
        chat_style, theme = self.style, self.style.theme
        painter.box(self._bubble, theme.user_bubble, radius=14)
        self._stack.paint(painter)
        more = self.hit_area_for(ToggleSection)
        if more is not None:
            if more.name == painter.state.hovered:
                painter.box(more.rect, theme.hover, radius=6)
            rect = more.rect.adjusted(8, 0, 0, 0)
            painter.line(rect, more.label, chat_style.font(SMALL, MEDIUM), theme.accent_text)
        self._actions.paint(painter)
        hovered = self.hit_area(painter.state.hovered) if painter.state.hovered else None
        for note, rect in self._placed_notes:
            is_hovered = bool(note.attachment.digest) and hovered is not None and rect == hovered.rect
            chip = note.style(chat_style)
            note.paint(painter, rect, chip._replace(fill=theme.hover) if is_hovered else chip)


class _NoteChip(NamedTuple):
    """A chip below the bubble: a name, which is cut where it is too long, and what follows."""

    attachment: AttachmentNote
    number: int = 0

    @property
    def label(self) -> str:
        return self.attachment.label

    @property
    def image_size(self) -> tuple[int, int] | None:
        return self.attachment.image_size

    def style(self, style: ChatStyle) -> ChipStyle:
        """Return its colors, and its icon where no thumbnail has its place."""
        theme, icon = style.theme, "" if self.image_size else self.attachment.icon
        if self.attachment.is_left_out:
            return ChipStyle(theme.warn, theme.warn_soft, "", icon)
        return ChipStyle(theme.muted, theme.raised, theme.border, icon)

    def width(self, style: ChatStyle) -> float:
        wide = min(chip_width(style, self.label, self.style(style)), style.px(_MAX_CHIP))
        return wide + self._thumbnail_room(style)

    def height(self, style: ChatStyle) -> float:
        return max(style.px(CHIP_HEIGHT), self._thumbnail(style).height() + 2 * style.px(_THUMBNAIL_MARGIN))

    def radius(self, style: ChatStyle) -> float:
        return style.px(8) if self.image_size else self.height(style) / 2

    def paint(self, painter: ChatPainter, rect: QRectF, chip: ChipStyle) -> None:
        style = painter.style
        place = rect.adjusted(self._thumbnail_room(style), 0, 0, 0)
        text = self.text_in(style, place)
        if not self.image_size:
            painter.chip(rect, text, chip)
            return
        painter.box(rect, chip.fill, chip.border, self.radius(style))
        size = self._thumbnail(style)
        corner = QPointF(rect.x() + style.px(_THUMBNAIL_MARGIN), rect.center().y() - size.height() / 2)
        painter.thumbnail(QRectF(corner, size), self.attachment.thumbnail, chip.color)
        painter.chip(place, text, chip._replace(fill="", border=""))

    def _thumbnail(self, style: ChatStyle) -> QSizeF:
        return QSizeF(thumbnail_size(*self.image_size)) * style.zoom if self.image_size else QSizeF(0, 0)

    def _thumbnail_room(self, style: ChatStyle) -> float:
        """Return how far its text is to the right of where it stands without a thumbnail, pixels."""
        return self._thumbnail(style).width()

    def text_in(self, style: ChatStyle, rect: QRectF) -> str:
        """Return the text for a place; its end stays whole while a third is left for the name."""
        chip = self.style(style)
        frame = chip_width(style, "", chip)
        room, font = rect.width() - frame, style.font(TINY, MEDIUM)
        if style.width(self.label, font) <= room:
            return self.label
        name, end = self.attachment.name, self.label.removeprefix(self.attachment.name)
        room = max(room / 3, room - style.width(end, font))
        # A pasted text, or an output, tells at its beginning what it is.
        elided = elided_line if self.attachment.icon in ("copy", "archive-restore") else elided_path
        return elided(style, name, font, room) + end
