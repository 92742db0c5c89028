"""What the agent puts before the user out of the cache: a card with the content, open from the start."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter

from helix_desktop.domain.tools import Excerpt
from helix_desktop.ui.chat.actions import ReadExcerpt, ToggleSection
from helix_desktop.ui.chat.items.item import ItemContext
from helix_desktop.ui.chat.items.text_and_code_blocks import CodeBlock, ItemTools
from helix_desktop.ui.chat.markdown.parser import Code
from helix_desktop.ui.chat.rows.row_texts import excerpt_source, excerpt_title
from helix_desktop.ui.chat.rows.row_types import ExcerptContent, ToolRow
from helix_desktop.ui.design.mirror import turn_back
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.kit.boxes import Box, Button, Column, Flow, Frame, Icon, Pen, Row, Text, push_button
from helix_desktop.ui.kit.intents import OpenCacheEntry
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

_MAX_IMAGE_HEIGHT = 560  # pixels


class _Image(Box):
    """An image, no larger than it is and than there is room for."""

    def __init__(self, image: QImage) -> None:
        super().__init__()
        self._image = image

    def _factor(self, width: float) -> float:
        return min(1.0, width / self._image.width(), scaled(_MAX_IMAGE_HEIGHT) / self._image.height())

    def height(self, width: float) -> float:
        return self._image.height() * self._factor(width)

    def paint(self, pen: Pen) -> None:
        wide = self._image.width() * self._factor(self.rect.width())
        place = QRectF(self.rect.x(), self.rect.y(), wide, self.rect.height())
        pen.qt.save()
        pen.qt.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        turn_back(pen.qt, place)
        pen.qt.drawImage(place, self._image)
        pen.qt.restore()


def excerpt_card(row: ToolRow, excerpt: Excerpt, context: ItemContext, tools: ItemTools) -> Box:
    content = row.excerpt_content or ExcerptContent()
    is_open = ("card" in context.expanded) != row.starts_open
    title, source = map(escape_invisible, (excerpt_title(excerpt), excerpt_source(excerpt)))
    label = tr("Hide {title}", title=title) if is_open else tr("Show {title}", title=title)
    words = [
        Icon("eye", "accent"),
        Text(title, 13, "text", 600, shrink=True),
        Text(source, 12, "muted", is_code=True, grow=True, shrink=True),
        Icon("chevron-down" if is_open else "chevron-right", "faint"),
    ]
    head = Button("open:card", ToggleSection("card"), Frame(Row(words, 9), (14, 0, 14, 0)), label, high=40)
    head.look = "words" if is_open else "card"
    parts: list[Box] = []
    if is_open and content.text:
        info = "" if " " in excerpt.target else excerpt.target
        parts.append(CodeBlock(tools, Code(content.text, info)))
    if is_open and content.image is not None:
        parts.append(_Image(content.image))
    if is_open:
        parts.append(_foot(row, excerpt, content))
    body = [Frame(Column(parts, 4), (12, 0, 12, 0))] if parts else []
    return Frame(Column([head, *body], 0), (0, 0, 0, 0), "surface", "border", radius=10)


def _foot(row: ToolRow, excerpt: Excerpt, content: ExcerptContent) -> Box:
    """Return what is not in the card: a problem, or lines that are left out; and buttons."""
    words = content.problem
    if row.excerpt_content is None:
        words = tr("Reading from the cache…")
    elif content.hidden_lines and not words:
        words = tr.plural(content.hidden_lines, "… %n more line", "… %n more lines")
    buttons = []
    if content.can_show_more:
        label = tr.plural(excerpt.lines, "Show %n line", "Show all %n lines")
        buttons.append(push_button("whole:card", ReadExcerpt(row.key, excerpt, in_full=True), label, high=28))
    return card_foot(words, buttons, excerpt.digest)


def card_foot(words: str, buttons: list[Button], digest: str = "") -> Box:
    """Return the last line of a card: a note, and buttons, one of them for its content in the cache."""
    if digest:
        label = tr("Open in cache")
        buttons.append(
            push_button("cache:open", OpenCacheEntry(digest), label, "database", tip=digest, high=28)
        )
    note = Text(words, 12, "faint", grow=True, shrink=True)
    return Frame(Row([note, Flow(buttons, 8, is_at_end=True)], 8), (0, 5, 0, 7))
