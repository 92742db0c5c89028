"""The words of blocks without a document: what a selection copies and a search looks through."""

from __future__ import annotations

from typing import NamedTuple

from helix_desktop.ui.chat.markdown import Block, Cell, Code, Leaf, Prose, Table
from helix_desktop.ui.chat.plain import clean_output
from helix_desktop.ui.chat.text_piece import TextPiece


class Words(NamedTuple):
    """The words of one text of a sheet; `joins` stands before them, None stands for an empty line."""

    number: int
    text: str
    is_item: bool = False
    joins: str | None = None


def words_of_piece(piece: TextPiece) -> Words:
    """The words of a text that is built."""
    return Words(piece.number, piece.text(), piece.is_item, piece.joins)


def words_of_block(block: Block, number: int, joins: str | None) -> Words:
    """The words that the text of a block will have."""
    match block:
        case Code():
            return Words(number, clean_output(block.text), False, joins)
        case Table():
            return Words(number, _table(block), False, joins)
        case Prose():
            text = "\n".join(_leaf(leaf) for leaf in block.leaves)
            return Words(number, text, bool(block.leaves[0].marker), joins)


def _leaf(leaf: Leaf) -> str:
    if leaf.rule:
        return "---"
    text = _cell(leaf.spans)
    if not leaf.marker:
        return text
    return f"{'  ' * (leaf.indent - 1)}{'-' if leaf.marker == '•' else leaf.marker} {text}"


def _cell(spans: Cell) -> str:
    return "".join(span.text for span in spans).replace("\u2028", "\n").replace("\u2029", "\n")


def _table(table: Table) -> str:
    columns = max(1, len(table.alignments))
    rows = ([*map(_cell, cells[:columns])] for cells in table.rows)
    return "\n".join("\t".join(row + [""] * (columns - len(row))) for row in rows).strip("\n")
