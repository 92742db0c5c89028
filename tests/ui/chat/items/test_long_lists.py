"""Lists of a hundred items: each number is in sight whole, and the texts stand in one column."""

from __future__ import annotations

import pytest

from helix_desktop.ui.chat.markdown.document_writer import DocumentWriter
from helix_desktop.ui.chat.markdown.parser import Paragraph, Prose, Span
from helix_desktop.ui.chat.style import BODY, ChatStyle
from helix_desktop.ui.design.style.theme import LIGHT


@pytest.mark.usefixtures("qapp")
def test_numbers_from_a_hundred_on_have_room() -> None:
    style = ChatStyle(LIGHT)
    markers = ("9.", "99.", "100.", "111.", "777.", "1000.")
    items = (Paragraph((Span("An item"),), indent=1, marker=marker) for marker in markers)
    document = DocumentWriter(style).write_prose(Prose(tuple(items))).document
    lefts = [document.findBlockByNumber(number).blockFormat().leftMargin() for number in range(len(markers))]
    assert (lefts[0], lefts[2]) == (lefts[1], lefts[3])
    for left, marker in zip(lefts, markers, strict=True):
        assert left >= style.width(marker, style.font(BODY))
