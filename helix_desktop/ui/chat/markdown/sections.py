"""Cuts a finished Markdown text where blocks surely end, so that each section can be read alone and late."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from helix_desktop.ui.chat.markdown.parser import (
    MAX_MARKDOWN_CHARS,
    Block,
    Code,
    MarkdownParser,
    Paragraph,
    Prose,
    Span,
    TopLevelBlock,
    plain_blocks,
)
from helix_desktop.ui.design.safe_text import LINE_LIMIT

MIN_SECTION_CHARS = 400  # characters; shorter sections are joined with the next one
MAX_LINE_CHARS = 4 * LINE_LIMIT  # characters; a longer line is shown word for word, in parts
CODE_PART_CHARS = 2 * LINE_LIMIT  # characters of such a line, or of code, in one section
_CODE_LINES = 80  # lines of code in one section
MAX_READ_CHARS = 500_000  # characters of a text that are read line by line: 20 ms

_FENCE = re.compile(r" {0,3}(`{3,})([^`\n]*)(?:\n|\Z)| {0,3}(~{3,})([^\n]*)(?:\n|\Z)")
_ITEM = re.compile(r"( {0,3})([-+*]|\d{1,9}[.)])(?:( +)(?=[^ \n])|(?=[ \t]*(?:\n|\Z)))")
_RULE = re.compile(r" {0,3}([-*])[ \t]*(?:\1[ \t]*){2,}(?:\n|\Z)")
_FIRST_ITEM = re.compile(r" {0,3}(?:[-+*]|1[.)])")
_DEFINITION = re.compile(r"[ \t>*+\-\d.)]*\[[^\]]*\]:|[ \t>*+\-\d.)]*\[[^\]]*$", re.MULTILINE)
_CODE_GROUP = re.compile(rf"(?:[^\n]*\n){{1,{_CODE_LINES}}}")


class MarkdownSection(NamedTuple):
    """A stretch of a text, from `start` to `end`.

    Code that is cut goes on `above` or `below`; `joins` says what stood between it and the section before.
    A `note` is empty: it says that the code below it is Markdown as it was written.
    `fence` is the stretch of the whole code that it is a part of, `line` its first line in it of `lines`.
    """

    kind: Literal["markdown", "code", "line", "note"]
    start: int
    end: int
    info: str = ""
    continues_above: bool = False
    continues_below: bool = False
    joiner: str | None = None
    fence: tuple[int, int] = (0, 0)
    line: int = 0
    lines: int = 0


def split_sections(text: str) -> list[MarkdownSection]:
    """Return all sections of a normal text, in order; read one by one they give what reading the whole gives.

    The exceptions are lines above 8,000 characters, which are words without any markup, what goes on for
    40,000 without a place to cut, and what stands behind the first 500,000 apart from those lines and from
    fences: the window would wait while it is read, so it is shown as code.
    """
    return list(_SectionSplitter(text).sections())


def collect_references(text: str, sections: list[MarkdownSection]) -> dict[str, Any]:
    """Return the link references that a text defines, which sections need that stand above or below them."""
    reader = MarkdownParser()
    for section in sections:
        if section.kind == "markdown" and text.find("]:", section.start, section.end) >= 0:
            part = text[section.start : section.end]
            if _DEFINITION.search(part):
                reader.parse(part)
    return reader.references


def parse_section(text: str, section: MarkdownSection, references: dict[str, Any]) -> tuple[Block, ...]:
    """Return the blocks of one section; `references` are the link references of the whole text."""
    words = text[section.start : section.end]
    if section.kind == "code":
        return (Code(words, section.info),)
    if section.kind == "note":
        return plain_blocks("")[:1]
    if section.kind == "line":
        return (Prose((Paragraph((Span(words),)),)),)
    reader = MarkdownParser()
    reader.references.update(references)
    return tuple(block for chunk in reader.parse(words) for block in chunk.blocks)


class LazyMarkdown:
    """A text, its sections, and what has been read of them so far: the same in every look."""

    def __init__(self, source: str, *, is_plain: bool = False) -> None:
        self.source = source
        # Markdown knows nothing of other line ends, and of zero signs.
        lines = source.replace("\r\n", "\n").replace("\r", "\n") if "\r" in source else source
        self.text = lines.replace("\0", "\ufffd")
        self.sections = list(
            _plain_sections(self.text, 0, len(self.text)) if is_plain else split_sections(self.text)
        )
        self.references = collect_references(self.text, self.sections)
        self.heights: list[float] = []  # of the sections when they were last seen, pixels at zoom 1
        self._blocks: dict[int, tuple[Block, ...]] = {}

    def blocks(self, index: int) -> tuple[Block, ...]:
        blocks = self._blocks.get(index)
        if blocks is None:
            blocks = self._blocks[index] = parse_section(self.text, self.sections[index], self.references)
        return blocks


class _SectionSplitter:
    """Goes through the lines once, knowing only what can hide a boundary: fences and items of lists."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._begin = 0
        self._at = 0
        self._after_blank = True
        self._item: int | None = None  # columns that the words of the open outermost item are indented by
        self._is_uncertain = False  # whether the open item may have ended already
        self._read_chars = 0
        self._is_empty = False  # whether the last line is an item without words, which an empty line ends

    def sections(self) -> Iterator[MarkdownSection]:
        text = self._text
        while self._at < len(text) and self._read_chars < MAX_READ_CHARS:
            end = text.find("\n", self._at)
            end = len(text) if end < 0 else end
            if end - self._at > MAX_LINE_CHARS:
                yield from self._flush(self._at)
                for at in range(self._at, end, CODE_PART_CHARS):
                    joins = None if at == self._at else ""
                    yield MarkdownSection("line", at, min(end, at + CODE_PART_CHARS), joiner=joins)
                self._at = end + 1
                self._start(min(self._at, len(text)))
            elif text[self._at : end].strip(" \t") == "":
                if self._is_empty:
                    self._item = None
                    self._is_empty = False
                self._after_blank = True
                self._at = end + 1
            else:
                yield from self._take(end)
        if self._at < len(text):
            yield from _plain_sections(text, self._begin, len(text))
        else:
            yield from self._flush(len(text))

    def _flush(self, end: int) -> Iterator[MarkdownSection]:
        if end - self._begin > MAX_MARKDOWN_CHARS:
            yield from _plain_sections(self._text, self._begin, end)
        elif end > self._begin:
            yield MarkdownSection("markdown", self._begin, end)
        self._start(end)

    def _start(self, position: int) -> None:
        self._begin = position
        self._after_blank = True
        self._item = None
        self._is_uncertain = False
        self._is_empty = False

    def _take(self, end: int) -> Iterator[MarkdownSection]:
        fence = None if self._text[self._at].isalpha() else _FENCE.match(self._text, self._at)
        indent = self._indent()
        if fence is not None and (self._is_uncertain or not self._inside(indent)):
            yield from self._fence(fence, indent)
            return
        if self._ends_before(indent, end) and self._at - self._begin >= MIN_SECTION_CHARS:
            yield from self._flush(self._at)
        self._note(indent, end)
        self._after_blank = False
        self._read_chars += end + 1 - self._at
        self._at = end + 1

    def _indent(self) -> int:
        """Columns before the words of the line; a tab counts as four."""
        at = self._at
        while self._text[at] == " ":
            at += 1
        return at - self._at + (4 if self._text[at] == "\t" else 0)

    def _inside(self, indent: int) -> bool:
        return self._item is not None and indent >= self._item

    def _ends_before(self, indent: int, end: int) -> bool:
        """Return True if every block before this line has ended."""
        if indent:
            return False
        if self._after_blank:
            return True
        if self._item is None or self._is_uncertain or self._text[self._at].isalpha():
            return False
        if _RULE.match(self._text, self._at):
            return False
        return _ITEM.match(self._text, self._at, min(len(self._text), end + 1)) is not None

    def _note(self, indent: int, end: int) -> None:
        """Remember whether an item of a list is open after this line."""
        self._is_empty = False
        if self._inside(indent):
            return
        text = self._text
        item = None if text[self._at].isalpha() else _ITEM.match(text, self._at, min(len(text), end + 1))
        if item is not None and not _RULE.match(self._text, self._at):
            # A tab leads to columns that are not worth counting.
            self._is_uncertain = self._is_uncertain or self._text[item.end() : item.end() + 1] == "\t"
            opens = self._after_blank or self._item is not None
            if opens or (item.group(3) and _FIRST_ITEM.match(self._text, self._at)):
                room = len(item.group(3) or " ")
                self._is_empty = item.group(3) is None
                self._item = len(item.group(1) + item.group(2)) + (room if room <= 4 else 1)  # noqa: PLR2004 - by CommonMark
                return
            self._is_uncertain = True
        elif self._after_blank:
            self._item = None
            self._is_uncertain = False
        elif self._item is not None:
            self._is_uncertain = True

    def _fence(self, fence: re.Match[str], indent: int) -> Iterator[MarkdownSection]:
        text = self._text
        if self._is_uncertain and indent:
            # It may belong to an item that has ended or not: what follows is read as one section.
            self._at = len(text)
            return
        sign = fence.group(1) or fence.group(3)
        closing = _closing_fence(text, sign, fence.end())
        after = closing.end() + 1 if closing else len(text)
        if indent or (closing is None and len(text) - fence.end() <= CODE_PART_CHARS):
            if not indent:
                yield from self._flush(self._at)
            self._at = min(after, len(text))
            self._item = None
            self._after_blank = True
            return
        yield from self._flush(self._at)
        start = fence.end()
        stop = max(start, closing.start() - 1) if closing else len(text) - text.endswith("\n")
        info = (fence.group(2) or fence.group(4) or "").strip()
        yield from _code_sections(text, start, max(start, stop), info)
        self._at = min(after, len(text))
        self._start(self._at)


def _closing_fence(text: str, sign: str, start: int) -> re.Match[str] | None:
    """Return the line that ends a fence, found by its marker: lines can have millions of characters."""
    closing = re.compile(rf" {{0,3}}{sign[0]}{{{len(sign)},}}[ \t]*(?=\n|\Z)")
    at = text.find(sign, start)
    while at >= 0:
        line = closing.match(text, max(start, text.rfind("\n", start, at) + 1))
        if line is not None:
            return line
        at = text.find("\n", at)
        at = text.find(sign, at) if at >= 0 else -1
    return None


def _plain_sections(text: str, start: int, end: int) -> Iterator[MarkdownSection]:
    yield MarkdownSection("note", start, start)
    yield from _code_sections(text, start, end - text.endswith("\n", start, end), "")


def _code_sections(text: str, start: int, stop: int, info: str) -> Iterator[MarkdownSection]:
    """Return the sections of a fence: cut after 80 lines, or inside a line that is longer than a section."""
    cuts = list(_code_ranges(text, start, stop))
    last = len(cuts) - 1
    line = 0
    for at, (begin, end, joins) in enumerate(cuts):
        # A part of an extreme line holds no line end; looking for one would take as long as all the rest.
        follows = cuts[at + 1][2] if at < last else "\n"
        lines = 0 if "" in (joins, follows) else text.count("\n", begin, end) + 1
        edges = (at > 0, at < last, joins if at else None)
        yield MarkdownSection("code", begin, end, info, *edges, (start, stop), line, lines)
        line += lines


def _code_ranges(text: str, start: int, stop: int) -> Iterator[tuple[int, int, str]]:
    """Return where the sections of some code begin and end, and what stood before each of them."""
    at = start
    end = -1
    while end < stop:
        line_end = text.find("\n", at, stop)
        line_end = stop if line_end < 0 else line_end
        if line_end - at > CODE_PART_CHARS:
            for part in range(at, line_end, CODE_PART_CHARS):
                yield part, min(line_end, part + CODE_PART_CHARS), "\n" if part == at else ""
            end = line_end
        else:
            end = stop  # or where as many whole lines end as one section takes
            if stop - at > CODE_PART_CHARS or text.count("\n", at, stop) >= _CODE_LINES:
                lines = _CODE_GROUP.match(text, at, min(stop, at + CODE_PART_CHARS + 1))
                end = lines.end() - 1 if lines else stop
            yield at, end, "\n"
        at = end + 1


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
                self._tail = self._tail.split("\n", rest[0].line)[-1]
            self.open = tuple(rest)
            if not (rest and rest[0].fence and "\n" in self._tail):
                return
            self._enter_fence(rest[0])

    def _show_plain(self) -> None:
        """Show all that is still open, and what follows, as code: to read it again with each piece of text
        would take more and more time."""
        self.frozen.append(TopLevelBlock(0, plain_blocks("")[:1]))
        self.fence = OpenFence("", 0, _NEVER)
        self.open = ()
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
        """Take whole lines up to the one that ends the fence; each is copied once, whatever follows it."""
        fence = self.fence
        assert fence is not None
        fence.partial = ""
        start = 0
        while (end := self._tail.find("\n", start)) >= 0:
            line = self._tail[start:end]
            start = end + 1
            if fence.closing_pattern.match(line):
                self._tail = self._tail[start:]
                self._end_fence(fence)
                return
            fence.lines.append(fence.strip_indent(line))

        self._tail = self._tail[start:]
        if not fence.closing_pattern.match(self._tail):
            fence.partial = fence.strip_indent(self._tail)

    def _end_fence(self, fence: OpenFence) -> None:
        self.frozen.append(TopLevelBlock(0, (Code(fence.text(), fence.info),)))
        self.fence = None
        self._parse_tail()
