"""The words of blocks without a document: what a selection copies and a search looks through."""

from __future__ import annotations

from helix_desktop.ui.chat.markdown.parser import Block, Cell, Code, DisplayedFormula, Paragraph, Prose, Table
from helix_desktop.ui.chat.markdown.text_layout import TextLayout
from helix_desktop.ui.design.safe_text import clean_output
from helix_desktop.ui.rows.item import BlockText


def text_of_layout(layout: TextLayout) -> BlockText:
    return BlockText(layout.number, layout.text(), layout.is_list_item, layout.joiner)


def text_of_block(block: Block, number: int, joins: str | None) -> BlockText:
    match block:
        case Code():
            return BlockText(number, clean_output(block.text), False, joins)
        case DisplayedFormula():
            return BlockText(number, block.source, False, joins)
        case Table():
            return BlockText(number, _table_text(block), False, joins)
        case Prose():
            text = "\n".join(_paragraph_text(leaf) for leaf in block.paragraphs)
            return BlockText(number, text, bool(block.paragraphs[0].marker), joins)


def _paragraph_text(paragraph: Paragraph) -> str:
    if paragraph.rule:
        return "---"
    text = _cell_text(paragraph.spans)
    if not paragraph.marker:
        return text
    return f"{'  ' * (paragraph.indent - 1)}{'-' if paragraph.marker == '•' else paragraph.marker} {text}"


def _cell_text(spans: Cell) -> str:
    return "".join(span.text for span in spans).replace("\u2028", "\n").replace("\u2029", "\n")


def _table_text(table: Table) -> str:
    columns = max(1, len(table.alignments))
    rows = ([*map(_cell_text, cells[:columns])] for cells in table.rows)
    return "\n".join("\t".join(row + [""] * (columns - len(row))) for row in rows).strip("\n")
