"""Lines of Markdown as sentences: without the marks of headings, lists, tables and bold text."""

from __future__ import annotations

import re

_HEADING_MARK = re.compile(r"\A#{1,6} +")
_LIST_MARK = re.compile(r"\A(?:[-*•>] +)+(?:\[[ xX]\] +)?")
_BOLD = re.compile(r"(?<![\w*])\*\*([^*\n]+)\*\*(?![\w*])")
_CELL_END = re.compile(r"(?<!\\)\|")


def is_table_row(line: str) -> bool:
    """Return True for a row of a table."""
    return line.lstrip().startswith("|")


def row_text(line: str) -> str:
    """Return a row of a table as a sentence: what its first cell names, and what the others say of it."""
    cells = [" ".join(cell.split()) for cell in _CELL_END.split(line)]
    first, *others = [cell for cell in cells if cell] or [""]
    if first.isdecimal() and len(others) > 1:  # the row's number
        first, *others = others
    return f"{first}: {'; '.join(others)}" if others else first


def without_heading_mark(line: str) -> str:
    """Return a line without the mark of a heading."""
    return _HEADING_MARK.sub("", line)


def without_bold(line: str) -> str:
    """Return a line without the marks of bold text."""
    return _BOLD.sub(r"\1", line) if "**" in line else line


def without_marks(line: str) -> str:
    """Return what a line says, without its marks."""
    if is_table_row(line):
        return without_bold(row_text(line))
    return without_bold(_LIST_MARK.sub("", without_heading_mark(line)))
