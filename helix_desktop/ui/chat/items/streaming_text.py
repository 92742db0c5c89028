"""The end of an answer that still grows: arriving Markdown as parts of a stack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helix_desktop.ui.chat.items.block_stack import BlockStack
from helix_desktop.ui.chat.items.text_and_code_blocks import CodeBlock
from helix_desktop.ui.chat.markdown.parser import Code, TopLevelBlock
from helix_desktop.ui.chat.markdown.stream_parser import MarkdownStream


class StreamingText:
    """Rebuilds only the parts that arriving text may still change; open code grows in place."""

    def __init__(self, stack: BlockStack, references: dict[str, Any]) -> None:
        """Grow an empty stack; `references` are the link references of the text above it."""
        self._stack = stack
        self._stream = MarkdownStream(references)
        self._frozen_chunks = 0
        self._frozen_parts = 0
        self._fence: CodeBlock | None = None

    @property
    def has_references(self) -> bool:
        """Return True if what arrived defines link references."""
        return self._stream.has_references

    @property
    def is_plain(self) -> bool:
        """Whether what arrives is shown as it is; of the whole text, less may have to be."""
        return self._stream.is_plain

    def append(self, delta: str) -> int:
        """Show what arrived; the number of parts, from the top, that it left as they were."""
        stream, kept_count = self._stream, self._frozen_parts
        stream.feed(delta)
        fresh = stream.frozen[self._frozen_chunks :]
        if fresh and self._fence is not None and isinstance(fresh[0].blocks[0], Code):
            self._fence.finish(fresh[0].blocks[0].text)
            self._fence, fresh = None, fresh[1:]
            self._frozen_parts += 1
        if self._fence is None:
            self._stack.truncate(self._frozen_parts)
            self._append_blocks(fresh)
            self._frozen_parts = len(self._stack.blocks)
            self._append_blocks(stream.open)
        self._frozen_chunks = len(stream.frozen)
        self._update_fence()
        return kept_count

    def finish(self) -> int:
        """End code that is still open; the number of parts, from the top, that this leaves as they were."""
        if self._fence is not None and self._stream.fence is not None:
            self._fence.finish(self._stream.fence.text())
        return self._frozen_parts

    def _append_blocks(self, chunks: Sequence[TopLevelBlock]) -> None:
        for chunk in chunks:
            for block in chunk.blocks:
                self._stack.add(block)

    def _update_fence(self) -> None:
        fence = self._stream.fence
        if fence is None:
            return
        if self._fence is None:
            part = self._stack.add(Code("", fence.info))
            self._fence = part if isinstance(part, CodeBlock) else None
        if self._fence is not None:
            self._fence.grow(fence.lines[self._fence.complete_lines :], fence.partial)
