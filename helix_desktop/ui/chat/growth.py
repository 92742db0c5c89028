"""The end of an answer that still grows: arriving Markdown as parts of a stack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helix_desktop.ui.chat.markdown import Chunk, Code
from helix_desktop.ui.chat.markdown_stream import MarkdownStream
from helix_desktop.ui.chat.parts import CodePart
from helix_desktop.ui.chat.stack import Stack


class Growth:
    """Makes anew only the parts that arriving text may still change; open code grows in place."""

    def __init__(self, stack: Stack, known: dict[str, Any]) -> None:
        """Grow an empty stack; `known` are the link references of the text above it."""
        self._stack = stack
        self._stream = MarkdownStream(known)
        self._frozen_chunks = 0
        self._frozen_parts = 0
        self._fence: CodePart | None = None

    @property
    def has_references(self) -> bool:
        """Whether what arrived defines link references."""
        return self._stream.has_references

    def take(self, delta: str) -> int:
        """Show what arrived; the number of parts, from the top, that it left as they were."""
        stream, kept = self._stream, self._frozen_parts
        stream.feed(delta)
        fresh = stream.frozen[self._frozen_chunks :]
        if fresh and self._fence is not None and isinstance(fresh[0].blocks[0], Code):
            self._fence.close(fresh[0].blocks[0].text)
            self._fence, fresh = None, fresh[1:]
            self._frozen_parts += 1
        if self._fence is None:
            self._stack.cut(self._frozen_parts)
            self._add(fresh)
            self._frozen_parts = len(self._stack.parts)
            self._add(stream.open)
        self._frozen_chunks = len(stream.frozen)
        self._take_fence()
        return kept

    def close(self) -> int:
        """End code that is still open; the number of parts, from the top, that this leaves as they were."""
        if self._fence is not None and self._stream.fence is not None:
            self._fence.close(self._stream.fence.text())
        return self._frozen_parts

    def _add(self, chunks: Sequence[Chunk]) -> None:
        for chunk in chunks:
            for block in chunk.blocks:
                self._stack.add(block)

    def _take_fence(self) -> None:
        fence = self._stream.fence
        if fence is None:
            return
        if self._fence is None:
            part = self._stack.add(Code("", fence.info))
            self._fence = part if isinstance(part, CodePart) else None
        if self._fence is not None:
            self._fence.grow(fence.lines[self._fence.complete :], fence.partial)
