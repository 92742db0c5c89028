"""Pages join to the full text and say correctly where the next begins."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.text_format import count_lines
from helix_desktop.tools.cache.lines import Paginator, decode_lines, release_lines
from tests.support.tool_rig import estimate_tokens

TEXTS = st.lists(st.text(st.sampled_from("ab é\r\u2028\x0c"), max_size=3000), max_size=12).map("\n".join)


@given(TEXTS)
def test_lines_join_to_the_text(text: str) -> None:
    assert "".join(decode_lines(text.encode())) == text
    assert count_lines(text) == len(decode_lines(text.encode()))


BYTES = (
    st.binary(max_size=60) | TEXTS.map(str.encode) | st.text(max_size=30).map(lambda text: text.encode()[1:])
)


@given(BYTES, st.integers(1, 40))
def test_bytes_read_in_pieces_have_the_lines_of_their_text(data: bytes, piece: int) -> None:
    lines = data.decode(errors="replace").split("\n")
    assert decode_lines(data, piece) == decode_lines(data)
    assert decode_lines(data) == [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def test_all_released_lines_are_gone() -> None:
    lines = [str(number) for number in range(25_001)]
    release_lines(lines)
    assert lines == []


@given(TEXTS, st.integers(100, 400))
def test_consecutive_pages_have_every_character_once(text: str, max_chars: int) -> None:
    async def walk() -> None:
        lines = decode_lines(text.encode())
        if not lines:
            return
        pages = Paginator(lines, max_chars, estimate_tokens)
        page = await pages.page_at(1, 0)
        text_so_far, number = page.text, 1
        while page.next_line:
            page = await pages.page_at(page.next_line, page.next_char)
            number += 1
            text_so_far += page.text
            assert page.number == number
            assert page.text
        assert (text_so_far, number) == (text, page.count)

    asyncio.run(walk())


async def test_a_start_inside_a_page_is_numbered_from_there() -> None:
    lines = [f"{number:03} {'x' * 36}\n" for number in range(1, 101)]
    page = await Paginator(lines, 100, estimate_tokens).page_at(50, 0)
    assert (page.first, page.last, page.number) == (50, 58, 1)
    assert page.next_line == 59


async def test_a_line_longer_than_a_page_is_cut_inside() -> None:
    pages = Paginator(["x" * 10_000], 100, estimate_tokens)
    page = await pages.page_at(1, 0)
    assert page.count > 20
    assert (page.next_line, page.next_char) == (1, len(page.text))


def test_the_lines_of_a_long_text_join_to_it() -> None:
    text = "".join(f"{number} \u2028 word\r\n" for number in range(60_000)) + "\n\n" + "x" * 600_000 + "\nend"
    lines = decode_lines(text.encode())
    assert "".join(lines) == text
    assert [line.count("\n") for line in lines] == [1] * (len(lines) - 1) + [0]
    assert decode_lines(f"{text}\n".encode())[-1] == "end\n"
