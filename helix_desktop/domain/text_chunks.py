"""The chunks in which the tokens of a long text are counted: the count of the text is the sum of theirs."""

from __future__ import annotations

MAX_CHUNK_CHARS = 50_000
"""Characters counted at once: a million of whitespace overflow the stack of tiktoken's pattern matcher."""


def split_text(text: str, max_chars: int = MAX_CHUNK_CHARS) -> list[str]:
    """Split a text into chunks of at most `max_chars` characters that join to it again.

    Cuts are after the last line, else before the last space, of a chunk's last tenth, where they change a
    count by a token at most; in a run without either they are at `max_chars`.
    """
    chunks: list[str] = []
    start = 0
    while len(text) - start > max_chars:
        low, high = start + max_chars * 9 // 10, start + max_chars
        line, space = text.rfind("\n", low, high) + 1, text.rfind(" ", low, high)
        cut = next((index for index in (line, space) if index > start), high)
        chunks.append(text[start:cut])
        start = cut
    chunks.append(text[start:])
    return chunks
