"""What a card shows of stored content: the first lines, all of them on request, or an image."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.image import identify_image
from helix_desktop.domain.tools import Excerpt
from helix_desktop.ui.chat.rows.row_types import MAX_BYTES, ExcerptContent
from helix_desktop.ui.chat.rows.tool_rows import FIRST_BYTES, FIRST_LINES, excerpt_content
from tests.support.image_bytes import minimal_png, png


@given(st.lists(st.text("ab é\r\u2028", max_size=9), min_size=1, max_size=200), st.data(), st.booleans())
def test_a_card_shows_exactly_the_lines_of_the_excerpt(
    lines: list[str], data: st.DataObject, in_full: bool
) -> None:
    """Numbered as recall numbers them; what does not stand there is counted, and can be asked for."""
    start = data.draw(st.integers(1, len(lines)))
    end = data.draw(st.integers(start, len(lines)))
    content = "\n".join(lines).encode() + b"\n"
    excerpt = Excerpt(digest_of(content), start, end, len(content), len(lines), "read_file", "a.txt")
    result = excerpt_content(content, excerpt, in_full)
    count = end - start + 1 if in_full else min(end - start + 1, FIRST_LINES)
    assert result.text == "\n".join(lines[start - 1 : start - 1 + count])
    assert result.hidden_lines == end - start + 1 - count
    assert result.can_show_more == (result.hidden_lines > 0)
    assert not result.problem


def test_what_is_too_large_for_a_card_is_cut_and_left_to_the_cache() -> None:
    content = b"x" * (2 * MAX_BYTES) + b"\nlast\n"
    result = excerpt_content(content, Excerpt("d", 1, 2, len(content), 2), in_full=True)
    assert (len(result.text), result.hidden_lines, result.can_show_more) == (MAX_BYTES, 2, False)


def test_long_lines_come_when_the_user_asks_for_all() -> None:
    """So that a card comes into sight at once."""
    content = b"".join(b"%04d" % number + b" word" * 100 + b"\n" for number in range(70))
    excerpt = Excerpt("d", 1, 70, len(content), 70)
    first = excerpt_content(content, excerpt, in_full=False)
    assert len(first.text) <= FIRST_BYTES
    assert first.text.endswith(" word")
    assert first.text.count("\n") + 1 + first.hidden_lines == 70
    assert first.can_show_more
    assert excerpt_content(content, excerpt, in_full=True).text == content.decode().removesuffix("\n")


@pytest.mark.parametrize("in_full", [True, False])
def test_an_image_is_shown_as_one_and_a_damaged_one_says_so(in_full: bool) -> None:
    """A large one is read no larger than a card can show it."""
    for data, size in ((png(40, 30), (40, 30)), (png(3_000, 30), (2_000, 20)), (minimal_png(9, 9, 1), None)):
        image = identify_image(data, digest_of(data))
        result = excerpt_content(data, Excerpt(digest_of(data), 0, 0, len(data), image=image), in_full)
        if size is None:
            assert result == ExcerptContent(problem="Couldn't read the image.")
        else:
            assert result.image is not None
            assert (result.image.width(), result.image.height()) == size
