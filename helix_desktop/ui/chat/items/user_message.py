"""A message of the user, in a bubble, with what went along."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from PySide6.QtCore import QRectF
from PySide6.QtGui import QFontMetricsF

from helix_desktop.ui.chat.actions import (
    EditMessage,
    RowAction,
    ToggleSection,
)
from helix_desktop.ui.chat.items.item import BlockStack, CodeBlock, ItemContext, ItemTools, RowItem
from helix_desktop.ui.chat.items.message_buttons import message_buttons, versions_note
from helix_desktop.ui.chat.markdown.parser import parse_user_text
from helix_desktop.ui.chat.rows.row_types import AttachmentNote, UserRow
from helix_desktop.ui.chat.style import cut_label, draw_thumbnail
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.viewer.picture import thumbnail_size
from helix_desktop.ui.kit.boxes import Box, Button, Column, Drawing, Flow, Frame, Icon, Pen, Row, Space, Text
from helix_desktop.ui.kit.intents import OpenCacheEntry, RewindTo, ShowInTimeline
from helix_desktop.words.attachments import attachment_icon, attachment_name
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

_FOLD_OVER_LINES, _FOLD_OVER_CHARS = 40, 4_000  # a pasted wall of text is folded above
_FOLDED_LINES, _FOLDED_CHARS = 24, 2_500
_MAX_CHIP = 380  # pixels of one attachment, without its thumbnail


class _Bubble(Box):
    """The text at the end of the line, as wide as it needs; a link below it shows all of a long one."""

    def __init__(self, stack: BlockStack, more: Button | None) -> None:
        super().__init__()
        self.stack, self._more = stack, more

    def height(self, width: float) -> float:
        """Take a width; `rect` is from then on what the bubble needs of it, at its end."""
        pad, (above, below) = scaled(16), (scaled(11), scaled(12))
        widest = min(width, max(scaled(280), width * 0.82)) - 2 * pad
        self.stack.arrange(0, 0, widest)
        blocks = self.stack.blocks
        if blocks and not any(isinstance(part, CodeBlock) for part in blocks):
            widest = min(widest, max(part.text.document.idealWidth() for part in blocks) + 1)
        if self._more is not None:
            widest, below = max(widest, scaled(220)), below + 4 + round(self._more.height(0))
        left = width - widest - pad
        bottom = self.stack.arrange(left, above, widest)
        if self._more is not None:
            self._more.place(QRectF(left - 8, bottom + 6, self._more.width(), self._more.height(0)))
        self.rect = QRectF(left - pad, 0, widest + 2 * pad, bottom + below)
        return self.rect.height()

    def place(self, rect: QRectF) -> None:
        """Leave it where it is: at the top of its row."""

    def parts(self) -> Iterator[Box]:
        yield from (self, *self.stack.blocks, *([self._more] if self._more is not None else []))

    def paint(self, pen: Pen) -> None:
        pen.box(self.rect, "user_bubble", radius=14)
        self.stack.paint(pen)
        if self._more is not None:
            self._more.paint(pen)


class UserMessageItem(RowItem):
    """A bubble at the right; only code is marked up, very long texts are folded until opened."""

    def __init__(self, row: UserRow, context: ItemContext, tools: ItemTools) -> None:
        notes, text, more = list[str](), row.text, None
        chips = list[Box]()
        if row.prompt:
            chips.append(_chip(row.prompt, row.prompt, "file-text"))
            notes.append(tr("From {prompt}", "a prompt file", prompt=row.prompt))
        for number, note in enumerate(row.attachments):
            name, icon, label = attachment_name(note.attachment), attachment_icon(note.attachment), note.label
            action, words = OpenCacheEntry(note.attachment.digest), tr("Open {name}", name=label)
            chip = _chip(label, name, icon, note)
            chips.append(Button(f"attachment:{number}", action, chip, words, "chip", tip=label))
            notes.append(tr("Attached: {name}", name=label))
        side = tr("Side question: not in context") if row.is_side else ""
        steered = tr("Sent during the turn") if row.steered else ""
        for words, icon in ((side, "message-square"), (row.context_note, "layers"), (steered, "zap")):
            if words:
                chip = _chip(words, words, icon)
                if row.cover_seq and icon == "layers":
                    label = tr("Show in timeline")
                    chip = Button(
                        "open:rewrite", ShowInTimeline(row.cover_seq), chip, label, "chip", tip=label
                    )
                chips.append(chip)
                notes.append(words)
        lines = text.count("\n") + 1
        if lines > _FOLD_OVER_LINES or len(text) > _FOLD_OVER_CHARS:
            label = tr("Show less")
            if "more" not in context.expanded:
                label = tr.plural(len(text), "Show %n character", "Show all %n characters")
                if lines > _FOLDED_LINES:
                    label = tr.plural(lines, "Show %n line", "Show all %n lines")
                text = "\n".join(text[:_FOLDED_CHARS].split("\n")[:_FOLDED_LINES]) + " …"
            words_box = Text(label, 12, "accent_text", 500)
            more = Button("open:more", ToggleSection("more"), words_box, label, "icon", high=24)
        stack = BlockStack(tools)
        for block in (block for chunk in parse_user_text(text) for block in chunk.blocks):
            stack.add(block)
        parts: list[Box] = [_Bubble(stack, more)]
        actions: list[RowAction] = (
            [EditMessage(row.key.seq), RewindTo(row.key.seq)] if row.is_editable else []
        )
        notes += versions_note(row.versions)
        line: list[Box] = []
        if chips:
            flow = Flow(chips, 6, is_at_end=True, line_gap=6)
            line.append(Frame(flow, (0, 4, 0, 0), grow=True, shrink=True))
        if actions or row.versions:
            line += [*([] if chips else [Space(grow=True)]), message_buttons(actions, row.versions)]
        parts += [Row(line, 4, True)] if line else []
        super().__init__(row, context, tools, Column(parts, 4), notes)


def _chip(label: str, name: str, icon: str, note: AttachmentNote | None = None) -> Box:
    """Return a chip below the bubble: a name, which is cut where it is too long, and what follows."""
    is_left_out, image = note is not None and note.is_left_out, note.attachment.image if note else None
    color = "warn" if is_left_out else "muted"
    facts, is_text = label.removeprefix(name), icon in ("copy", "archive-restore")

    def cut(metrics: QFontMetricsF, _label: str, room: float) -> str:
        return cut_label(metrics, name, facts, room, keeps_start=is_text)

    words = Text(label, 11, color, 500, cut=cut, grow=True, shrink=True)
    picture: Box = Icon(icon, color, 12)
    extra = 0.0
    if note is not None and image is not None:
        size = thumbnail_size(image.width, image.height)
        extra = scaled(size.width())
        paint = partial(draw_thumbnail, note.thumbnail, color)
        picture = Drawing((size.width(), size.height()), paint)
    content = Row([picture, Frame(words, (0, 4, 0, 4), grow=True, shrink=True)], 5 if image else 3)
    fill, edge = ("warn_soft", "") if is_left_out else ("raised", "border")
    pad = (4, 4, 9, 4) if image else (8, 0, 6, 0)
    chip = Frame(content, pad, fill, edge, radius=8 if image else 10.5)
    chip.wide = min(chip.width(), scaled(_MAX_CHIP) + extra)
    return chip
