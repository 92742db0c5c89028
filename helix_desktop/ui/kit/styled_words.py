"""Sentences with the few signs of Markdown that models write in them: code, strong, emphasis."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias, cast

from PySide6.QtGui import QFont, QTextCharFormat, QTextLayout

from helix_desktop.ui.design.style.fonts import ui_font

CODE_PAD_PX = 3
"""Of the background of code, at both sides."""
_STYLED = re.compile(
    r"`(?P<code>[^`]+)`|\*\*(?P<strong>[^*]+)\*\*|(?<![^\s(“\"])\*(?P<emphasis>\w(?:[^*]*\S)?)\*(?![\w*])"
)
"""A star inside a word, or before a dot as in a pattern of file names, is one."""
Style: TypeAlias = Literal["code", "strong", "emphasis"]
StyledPart: TypeAlias = tuple[int, int, Style]
"""Where a part begins, how long it is, and its style."""


def strip_markup(text: str) -> tuple[str, list[StyledPart], list[int]]:
    """Return the text without markup, its styled parts, and where each character and the end are in it."""
    words, at = "", 0
    styles: list[StyledPart] = []
    places: list[int] = []
    for hit in _STYLED.finditer(text):
        style = cast("Style", hit.lastgroup)
        first, last = hit.span(style)
        places += range(len(words), len(words) + hit.start() - at)
        words += text[at : hit.start()]
        places += [len(words)] * (first - hit.start())
        styles.append((len(words), last - first, style))
        places += range(len(words), len(words) + last - first)
        words += hit[style]
        places += [len(words)] * (hit.end() - last)
        at = hit.end()
    places += range(len(words), len(words) + len(text) - at + 1)
    return words + text[at:], styles, places


def formats(start: int, length: int, style: Style, text: str) -> Iterator[QTextLayout.FormatRange]:
    """Yield the formats of a styled part; code has room before and behind it, for its background."""
    form = QTextCharFormat()
    if style != "code":
        if style == "strong":
            form.setFontWeight(600)
        else:
            form.setFontItalic(True)
        yield format_range(start, length, form)
        return
    form.setFont(ui_font(12, is_code=True))
    yield format_range(start, length - 1, form)
    yield format_range(start + length - 1, 1, _padded(form))
    if text[:start].endswith(" "):
        yield format_range(start - 1, 1, _padded(QTextCharFormat()))


def format_range(start: int, length: int, form: QTextCharFormat) -> QTextLayout.FormatRange:
    part = QTextLayout.FormatRange()
    part.start, part.length, part.format = start, length, form
    return part


def _padded(form: QTextCharFormat) -> QTextCharFormat:
    padded = QTextCharFormat(form)
    padded.setFontLetterSpacingType(QFont.SpacingType.AbsoluteSpacing)
    padded.setFontLetterSpacing(CODE_PAD_PX)
    return padded
