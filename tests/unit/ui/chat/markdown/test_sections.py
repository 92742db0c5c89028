"""A text that is cut reads the same as the full text."""

from __future__ import annotations

from typing import SupportsIndex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helix_desktop.ui.chat.markdown import sections
from helix_desktop.ui.chat.markdown.parser import Block, Code, MarkdownParser, Prose, Span

_PIECES = (
    "a", "word ", "- ", "* ", "1. ", "2. ", "\n", "\n\n", "  ", "   ", "    ", "```", "```py\n", "~~~\n", "`",
    "**", "> ", "# ", "| a | b |\n|--|--|\n", "---\n", "\n```\n", "\n\n```py\nx\n\ny\n```\n",
    "\n   ```\n", "\n- item\n",
    "\n2. two\n   ```sh\n   run\n   ```\n", "[x][r]", "\n\n[r]: http://a.b\n\n", "\t",
    "[^1]", "[^1]: ", "\n\n[^n]: A note.\n    On.\n\n",
    "- - -\n", "-\n", "$$", "$$\na\\\\\n  b\n$$\n", "**a**\n",
)  # fmt: skip


def _read(text: str) -> list[Block]:
    cuts = sections.split_sections(text)
    references = sections.collect_references(text, cuts)
    return [block for section in cuts for block in sections.parse_section(text, section, references)]


@given(st.lists(st.sampled_from(_PIECES), max_size=30).map("".join))
@example("- a\n```\nx\n\ny\n```\n- b")
@example("text\n2. no item\n   ```\n\nx\n   ```\n\ny")
@example("[x][r]\n\n```\n[r]: http://no.way\n```\n\n- [r]: http://a.b\n")
@example("a\n\n[^n]: A note.\n\n    b\nc\n- ")
def test_sections_read_the_same_as_the_full_text(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sections, "MIN_SECTION_CHARS", 0)
        assert _read(text) == [block for chunk in MarkdownParser().parse(text) for block in chunk.blocks]


@given(st.lists(st.sampled_from(["a" * 30, "b" * 5_000, "c" * 9_000, ""]), max_size=300))
def test_the_parts_of_long_code_join_to_the_code(lines: list[str]) -> None:
    code = "\n".join(lines)
    cuts = sections.split_sections(f"before\n\n```py\n{code}\n```\nafter")[1:-1]
    text = f"before\n\n```py\n{code}\n```\nafter"
    assert [cut.kind for cut in cuts] == ["code"] * len(cuts)
    joined = "".join((cut.joiner or "") + text[cut.start : cut.end] for cut in cuts)
    assert joined == code
    assert all(cut.end - cut.start <= sections.CODE_PART_CHARS for cut in cuts)
    assert [cut.continues_above for cut in cuts] == [False] + [True] * (len(cuts) - 1)
    assert [cut.continues_below for cut in cuts] == [True] * (len(cuts) - 1) + [False]


def test_an_extreme_line_is_text_in_short_parts() -> None:
    line = "**x** " * 5_000
    cuts = sections.split_sections(f"# Head\n{line}\ntail")
    assert [cut.kind for cut in cuts] == ["markdown", *["line"] * 8, "markdown"]
    (block,) = sections.parse_section(f"# Head\n{line}\ntail", cuts[1], {})
    assert isinstance(block, Prose)
    assert block.paragraphs[0].spans == (Span(line[:4_000]),)


def test_short_code_is_one_section() -> None:
    text = "```py title\na\n\nb\n```"
    (section,) = sections.split_sections(text)
    assert sections.parse_section(text, section, {}) == (Code("a\n\nb", "py title"),)
    assert (section.continues_above, section.continues_below) == (False, False)


def test_behind_half_a_million_characters_a_text_is_not_read_line_by_line() -> None:
    line = "- An item that says **something**, again and again.\n"
    text = line * 100_000
    cuts = sections.split_sections(text)
    read = [cut for cut in cuts if cut.kind == "markdown"]
    assert [cut.kind for cut in cuts] == ["markdown"] * len(read) + ["note"] + ["code"] * (
        len(cuts) - len(read) - 1
    )
    assert 400_000 < read[-1].end <= sections.MAX_READ_CHARS + len(line)
    shown = "".join(f"{cut.joiner or ''}{text[cut.start : cut.end]}" for cut in cuts)
    assert shown == text.removesuffix("\n")


class _CountedText(str):
    """A text that counts the characters that are copied out of it, and of what is."""

    copied = 0

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        return self._count(super().__getitem__(key))

    def partition(self, separator: str) -> tuple[str, str, str]:
        before, found, after = super().partition(separator)
        return self._count(before), found, self._count(after)

    def __radd__(self, other: str) -> str:
        return self._count(other + str(self))

    def _count(self, part: str) -> str:
        _CountedText.copied += len(part)
        return _CountedText(part)


def test_a_fence_copies_its_text_once_however_many_lines_arrive_together() -> None:
    stream = sections.MarkdownStream()
    stream.feed("```py\n")
    text = "value = compute(value)\n" * 2_000
    _CountedText.copied = 0
    stream.feed(_CountedText(text))
    assert stream.fence is not None
    assert stream.fence.text() == text.removesuffix("\n")
    assert _CountedText.copied < 4 * len(text)
