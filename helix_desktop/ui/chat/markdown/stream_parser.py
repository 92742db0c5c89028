"""Markdown that arrives in pieces: finished chunks are frozen, only the open one is read again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from helix_desktop.ui.chat.markdown.parser import (
    MAX_MARKDOWN_CHARS,
    Code,
    MarkdownParser,
    TopLevelBlock,
    plain_blocks,
)

_NEVER = re.compile(r"(?!)")  # ends no code


@dataclass(slots=True)
class OpenFence:
    """A code fence that is still being written, line by line."""

    info: str
    indent: int
    closing_pattern: re.Pattern[str]
    lines: list[str] = field(default_factory=list)
    partial: str = ""

    def text(self) -> str:
        parts = [*self.lines, self.partial] if self.partial.strip() else self.lines
        return "\n".join(parts)

    def strip_indent(self, line: str) -> str:
        lead = len(line) - len(line.lstrip(" "))
        return line[min(lead, self.indent) :]


class MarkdownStream:
    """Reads a growing text; the cost of a delta depends on the open chunk, never on the whole text."""

    def __init__(self, references: Mapping[str, Any] | None = None) -> None:
        """Start after a text whose link references are `references`."""
        self._parser = MarkdownParser()
        self._parser.references.update(references or {})
        self._tail = ""
        self.frozen: list[TopLevelBlock] = []
        self.open: tuple[TopLevelBlock, ...] = ()
        self.fence: OpenFence | None = None

    @property
    def has_references(self) -> bool:
        """Whether the text defines link references, which may change chunks that are frozen already."""
        return bool(self._parser.references.get("references"))

    @property
    def is_plain(self) -> bool:
        """Whether what arrives is shown as it is, because its Markdown can't be read in a short time."""
        return self.fence is not None and self.fence.closing_pattern is _NEVER

    def feed(self, delta: str) -> None:
        """Take arriving text; `frozen` grows, `open` and `fence` say what may still change."""
        self._tail += delta
        if self.fence is not None:
            self._feed_fence()
        else:
            self._parse_tail()

    def blocks(self) -> list[TopLevelBlock]:
        """Return all chunks as if the text ended here."""
        if self.fence is not None:
            return [*self.frozen, self._fence_block(self.fence)]
        return [*self.frozen, *self.open]

    def _parse_tail(self) -> None:
        while self.fence is None:
            chunks = self._parser.parse(self._tail) if len(self._tail) <= MAX_MARKDOWN_CHARS else []
            if self._parser.is_plain or len(self._tail) > MAX_MARKDOWN_CHARS:
                self._show_plain()
                return
            complete = self._tail.count("\n")
            settled = max((at for at, chunk in enumerate(chunks) if chunk.line < complete), default=0)
            self.frozen += chunks[:settled]
            rest = chunks[settled:]
            if rest:
                self._tail = _text_from_line(self._tail, rest[0].line)
            self.open = tuple(rest)
            if not (rest and rest[0].fence and "\n" in self._tail):
                return
            self._enter_fence(rest[0])

    def _show_plain(self) -> None:
        """Show all that is still open, and what follows, as code: to read it again with each piece of text
        would take more and more time."""
        self.frozen.append(TopLevelBlock(0, plain_blocks("")[:1]))
        self.fence, self.open = OpenFence("", 0, _NEVER), ()
        self._feed_fence()

    def _enter_fence(self, block: TopLevelBlock) -> None:
        code = block.blocks[0]
        opening, _, self._tail = self._tail.partition("\n")
        indent = len(opening) - len(opening.lstrip(" "))
        sign = re.escape(block.fence[0])
        closing = re.compile(rf" {{0,3}}{sign}{{{len(block.fence)},}}[ \t]*$")
        self.fence = OpenFence(code.info if isinstance(code, Code) else "", indent, closing)
        self.open = ()
        self._feed_fence()

    def _feed_fence(self) -> None:
        fence = self.fence
        while fence is not None and "\n" in self._tail:
            line, _, self._tail = self._tail.partition("\n")
            fence.partial = ""
            if fence.closing_pattern.match(line):
                self.frozen.append(self._fence_block(fence))
                self.fence = fence = None
            else:
                fence.lines.append(fence.strip_indent(line))
        if fence is None:
            self._parse_tail()
        else:
            fence.partial = "" if fence.closing_pattern.match(self._tail) else fence.strip_indent(self._tail)

    @staticmethod
    def _fence_block(fence: OpenFence) -> TopLevelBlock:
        return TopLevelBlock(0, (Code(fence.text(), fence.info),))


def _text_from_line(text: str, line: int) -> str:
    """Return the text from a line on, counted from 0."""
    at = 0
    for _ in range(line):
        at = text.index("\n", at) + 1
    return text[at:]
