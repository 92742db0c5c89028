"""What the agent puts before the user out of the cache: a card with the content, open from the start."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from helix_desktop.domain.tools import Excerpt
from helix_desktop.ui.chat.actions import ReadExcerpt, ToggleSection
from helix_desktop.ui.chat.items.item import ItemContext, ItemTools, RowItem
from helix_desktop.ui.chat.items.painting import ChatPainter, button_width
from helix_desktop.ui.chat.items.text_and_code_blocks import CodeBlock
from helix_desktop.ui.chat.markdown.parser import Code
from helix_desktop.ui.chat.rows.row_texts import excerpt_source, excerpt_title
from helix_desktop.ui.chat.rows.row_types import ExcerptContent, ToolRow
from helix_desktop.ui.chat.style import SEMIBOLD, SMALL, UI
from helix_desktop.ui.design.mirror import turn_back
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.ui.kit.boxes import HitArea
from helix_desktop.ui.kit.intents import OpenCacheEntry
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

_LINE = 40.0  # pixels, the card's first line
_LEFT, _MARGIN, _ARROW = 38.0, 12.0, 36.0
_FOOT = 40.0
_MAX_IMAGE_HEIGHT = 560.0


class ExcerptCard(RowItem):
    """The card of one show_output call."""

    def __init__(self, row: ToolRow, excerpt: Excerpt, context: ItemContext, tools: ItemTools) -> None:
        super().__init__(row, context, tools)
        self._tool, self._excerpt = row, excerpt
        self._content = row.excerpt_content or ExcerptContent()
        self._is_open = ("card" in context.expanded) != row.starts_open
        self._title, self._source = map(escape_invisible, (excerpt_title(excerpt), excerpt_source(excerpt)))
        self._code: CodeBlock | None = None
        self._image = QRectF()
        self._foot = QRectF()
        if self._is_open and self._content.text:
            info = "" if " " in excerpt.target else excerpt.target
            code = Code(self._content.text, info)
            self._code = CodeBlock(tools.writer, tools.style, code, tools.highlighter)
            self._set_texts([self._code.text])

    def copy_text(self, number: int) -> str | None:
        return self._content.text or None

    def _arrange(self, width: float) -> float:
        style, y = self.style, self.style.px(_LINE)
        title, head = self._title, QRectF(0, 0, width, y)
        label = tr("Hide {title}", title=title) if self._is_open else tr("Show {title}", title=title)
        self.hit_areas = [HitArea("open:card", ToggleSection("card"), label, head, radius=10)]
        if not self._is_open:
            return y
        margin = style.px(_MARGIN)
        if self._code is not None:
            self._code.layout(width - 2 * margin)
            self._code.move(margin, y)
            self.hit_areas += self._code.hit_areas()
            y += self._code.height + style.px(4)
        image = self._content.image
        if image is not None:
            tallest = style.px(_MAX_IMAGE_HEIGHT)
            factor = min(1.0, (width - 2 * margin) / image.width(), tallest / image.height())
            self._image = QRectF(margin, y, image.width() * factor, image.height() * factor)
            y += self._image.height() + style.px(4)
        self._foot = QRectF(margin, y, width - 2 * margin, style.px(_FOOT))
        self._place_buttons()
        return self._foot.bottom()

    def _place_buttons(self) -> None:
        style, foot = self.style, self._foot
        label = tr("Open in cache")
        wide = button_width(style, label, True)
        rect = QRectF(foot.right() - wide, foot.y() + style.px(5), wide, style.px(28))
        open_entry = OpenCacheEntry(self._excerpt.digest)
        self.hit_areas.append(
            HitArea("cache:open", open_entry, label, rect, radius=8, tip=self._excerpt.digest)
        )
        if self._content.can_show_more:
            lines = self._excerpt.lines
            words = tr.plural(lines, "Show %n line", "Show all %n lines")
            room = button_width(style, words)
            place = QRectF(rect.x() - style.px(8) - room, rect.y(), room, rect.height())
            read = ReadExcerpt(self.row.key, self._excerpt, in_full=True)
            self.hit_areas.append(HitArea("whole:card", read, words, place, radius=8))

    def _paint(self, painter: ChatPainter) -> None:
        style, theme = self.style, self.style.theme
        hovered = painter.state.hovered == "open:card" and not self._is_open
        card = QRectF(0, 0, self.width, self.height)
        fill = theme.row_hover if hovered else theme.surface
        painter.box(card, fill, theme.border, 10)
        self._paint_head(painter)
        if not self._is_open:
            return
        if self._code is not None:
            self._code.paint(painter)
        if self._content.image is not None:
            painter.qt.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.qt.save()
            turn_back(painter.qt, self._image)
            painter.qt.drawImage(self._image, self._content.image)
            painter.qt.restore()
        left = self._foot.right()
        for area in self.hit_areas:
            if isinstance(area.action, OpenCacheEntry | ReadExcerpt):
                glyph = "database" if isinstance(area.action, OpenCacheEntry) else ""
                painter.button(area, "outline", glyph)
                left = min(left, area.rect.x())
        room = self._foot.adjusted(0, 0, left - self._foot.right() - 8, -style.px(2))
        painter.line(room, self._foot_text(), style.font(SMALL), theme.faint)

    def _foot_text(self) -> str:
        """Return what is not in the card: a problem, or lines that are left out."""
        content = self._content
        if self._tool.excerpt_content is None:
            return tr("Reading from the cache…")
        if content.problem:
            return content.problem
        if content.hidden_lines:
            return tr.plural(content.hidden_lines, "… %n more line", "… %n more lines")
        return ""

    def _paint_head(self, painter: ChatPainter) -> None:
        style, theme = self.style, self.style.theme
        middle = style.px(_LINE) / 2
        painter.icon("eye", theme.accent, 14, middle, 15)
        rest = QRectF(0, 0, self.width - style.px(_ARROW), style.px(_LINE))
        font = style.font(UI, SEMIBOLD)
        rest.setLeft(painter.word(style.px(_LEFT), rest, self._title, font, theme.text) + style.px(9))
        if rest.width() > style.px(24):
            painter.line(rest, self._source, style.font(SMALL, mono=True), theme.muted)
        arrow = "chevron-down" if self._is_open else "chevron-right"
        painter.icon(arrow, theme.faint, self.width - style.px(29), middle, 15)
