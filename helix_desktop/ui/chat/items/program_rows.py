"""How the program's own rows look: dividers and notices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace
from PySide6.QtCore import QRectF

from helix_desktop.ui.chat.actions import RowAction, ToggleSection, button_name
from helix_desktop.ui.chat.items.item import ItemContext, ItemTools, TextBlock, paragraph
from helix_desktop.ui.chat.markdown.parser import (
    Code,
    DisplayedFormula,
    MarkdownParser,
    Paragraph,
    Prose,
    Span,
)
from helix_desktop.ui.chat.rows.row_texts import divider_text
from helix_desktop.ui.chat.rows.row_types import DividerRow, NoticeRow
from helix_desktop.ui.chat.style import BODY, SMALL, UI
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.kit.boxes import (
    Box,
    Button,
    Column,
    Flow,
    Frame,
    Icon,
    Pen,
    Row,
    Text,
    face,
    push_button,
)
from helix_desktop.ui.kit.intents import Intent, Redo, Undo
from helix_desktop.words.button_labels import ActionName, action_label
from helix_desktop.words.translation import Translator

tr = Translator("Chat")


class _Line(Box):
    """Words, and links behind dots, between two rules; the links stand below where there is no room."""

    def __init__(self, words: TextBlock, wide: float, links: list[Box], spare: float) -> None:
        """Words that are `wide`, and `spare` room that other words need, so that no link moves."""
        super().__init__()
        self._words = words
        self._wide = wide
        self._links = links
        self._spare = spare
        self._dots = [Text(" · ", 12, "faint") for _ in links]

    def _is_one_line(self, width: float) -> bool:
        links = sum(box.width() for box in (*self._links, *self._dots))
        return self._wide + self._spare + links <= width - scaled(16)

    def height(self, width: float) -> float:
        tall = self._words.height(min(self._wide, width - 8)) + scaled(16)
        return tall if not self._links or self._is_one_line(width) else tall + scaled(23)

    def place(self, rect: QRectF) -> None:
        self.rect = rect
        wide = min(self._wide, rect.width() - 8)
        is_one_line = self._is_one_line(rect.width())
        boxes: list[Box] = [box for pair in zip(self._dots, self._links, strict=True) for box in pair]
        boxes = boxes if is_one_line else boxes[1:]
        links = sum(box.width() for box in boxes)
        spare = self._spare if self._links and is_one_line else 0.0
        x = rect.x() + (rect.width() - wide - spare - links * is_one_line) / 2 + spare
        self._words.place(QRectF(x, rect.y() + scaled(8), wide, self._words.height(wide)))
        self._middle = middle = self._words.text.line_rect(0).center().y()
        if not is_one_line:
            middle = self._words.rect.bottom() + scaled(13)
            x = rect.x() + (rect.width() - links) / 2 - wide
        left = x + wide
        for box in boxes:
            tall = box.height(0)
            box.place(QRectF(left, middle - tall / 2, box.width(), tall))
            left += box.width()
        self._end = left if is_one_line else self._words.rect.right()

    def paint(self, pen: Pen) -> None:
        left = round(self._words.rect.x() - scaled(16))
        right = round(self._end + scaled(16))
        for start, end in ((0, left), (right, round(self.rect.width()))):
            if end > start:
                pen.fill(QRectF(start, round(self._middle), end - start, 1), "border")
        for box in (self._words, *self._dots, *self._links):
            box.paint(pen)

    def parts(self) -> Iterator[Box]:
        yield from (self, self._words, *self._links)


def divider(row: DividerRow, context: ItemContext, tools: ItemTools) -> Box:
    theme = tools.style.theme
    is_open = "details" in context.expanded
    color = {"interrupted": theme.warn, "context": theme.muted, "past": theme.muted}.get(
        row.kind, theme.faint
    )
    text = divider_text(row)
    links: list[Box] = [_divider_link(action) for action in row.actions]
    if row.undo_first:
        label = tr("Undo newer first")  # which, says the tip, and the timeline
        links.append(Frame(Text(label, 12, "faint", 500), (0, 3, 0, 3), tip=row.undo_first))
    if row.details:
        label = tr("Hide details") if is_open else tr("Show details")
        links.append(_link("open:details", ToggleSection("details"), label, (label,)))
    spare = 0.0
    if any(isinstance(action, Undo | Redo) for action in row.actions):  # which change the words
        spare = max(0.0, _width(divider_text(replace(row, is_undone=not row.is_undone))) - _width(text))
    line = _Line(paragraph(text, tools, color, SMALL), _width(text), links, spare)
    details = [paragraph(text, tools, theme.muted) for text in row.details if is_open]
    return Column([line, *(Frame(quoted(text), (0, 3, 0, 5)) for text in details)], 0)


def _width(text: str) -> float:
    return face(SMALL)[1].horizontalAdvance(text) + 2


def _divider_link(action: Intent) -> Button:
    name = button_name(action)
    # Undo and Redo are equally wide.
    names: tuple[ActionName, ...] = ("undo", "redo") if isinstance(action, Undo | Redo) else (name,)
    link = _link(f"action:{name}", action, action_label(name), [action_label(each) for each in names])
    if isinstance(action, Undo) and len(action.seqs) > 1:
        link.tip = tr.plural(
            len(action.seqs), "Undoes %n change", "Undoes %n changes that were made together"
        )
    return link


def _link(name: str, action: RowAction, label: str, labels: Sequence[str]) -> Button:
    texts = [Text(words, 12, "accent_text", 500) for words in labels]
    words = Text(label, 12, "accent_text", 500)
    wide = max(text.width() for text in texts)
    return Button(name, action, Frame(words, wide=wide), label, "words")


def quoted(text: TextBlock) -> Box:
    return _Quoted(text, (14, 0, 0, 0))


class _Quoted(Frame):
    def paint(self, pen: Pen) -> None:
        pen.fill(QRectF(self.rect.x(), self.rect.y(), 2, self.rect.height()), "border_strong")
        Frame.paint(self, pen)


_LOOKS = {  # color, ground, edge, icon
    "error": ("error", "error_soft", "error/28", "circle-alert"),
    "warning": ("warn", "warn_soft", "warn/28", "triangle-alert"),
    "info": ("accent_text", "accent_soft", "accent_text/28", "info"),
    "handover": ("accent_text", "surface", "border", "layers"),
}


def notice(row: NoticeRow, context: ItemContext, tools: ItemTools) -> Box:
    """What happened, why, and buttons for what can be done; another program's words on request."""
    theme = tools.style.theme
    color = _LOOKS[row.level][0]
    is_handover = row.level == "handover"
    is_open = bool(row.details) and "details" in context.expanded
    body: list[Box] = [paragraph(row.what, tools, theme.text, BODY - 1, bold=True)]
    if row.why or is_handover:
        body.append(paragraph(row.why, tools, theme.muted))
    content = row.details if is_handover and is_open else row.fix
    if content:
        body.append(_markdown(content, tools) if is_handover else paragraph(content, tools, theme.text))
    buttons = [
        push_button(f"action:{(name := button_name(action))}", action, action_label(name), high=30)
        for action in row.actions
    ]
    if row.details:
        label = tr("Hide details") if is_open else tr("Show details")
        buttons.append(push_button("open:details", ToggleSection("details"), label, look="ghost", high=30))
    if buttons:
        body.append(Frame(Flow(buttons, 8, line_gap=8), (0, 7, 0, 0)))
    if is_open and not is_handover:  # where they are no afterthought
        body.append(Frame(paragraph(row.details, tools, theme.muted), (0, 7, 0, 0)))
    _, fill, edge, icon = _LOOKS[row.level]
    line = Row(
        [Frame(Icon(icon, color, 17), (0, 2, 0, 0)), Column(body, 3, grow=True, shrink=True)], 10, True
    )
    return Frame(line, (16, 12, 16, 14 if buttons else 13), fill, edge, radius=10)


def _markdown(text: str, tools: ItemTools) -> TextBlock:
    """Return Markdown as one text in the size of a card; code of several lines is one paragraph."""
    leaves: list[Paragraph] = []
    for block in (block for part in MarkdownParser().parse(text) for block in part.blocks):
        match block:
            case Prose():
                leaves += block.paragraphs
            case Code(text=source) | DisplayedFormula(source=source):
                leaves.append(Paragraph((Span(source, code=True),)))
            case _:  # a table has no place in a card
                leaves.append(Paragraph((Span("", code=True),)))
    return TextBlock(tools.writer.write_prose(Prose(tuple(leaves)), tools.style.theme.text, UI))
