"""Markdown to typed blocks: no HTML, no images, and only links that are safe to open."""

from __future__ import annotations

import dataclasses
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from textwrap import dedent
from typing import Any, Literal, TypeAlias

import msgspec
from markdown_it import MarkdownIt
from markdown_it.parser_block import ParserBlock
from markdown_it.parser_inline import ParserInline
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock, list_block, reference
from markdown_it.rules_block.table import table
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from msgspec.structs import replace

from helix_desktop.words.translation import Translator

tr = Translator("Chat")
_log = logging.getLogger(__name__)

BULLET = "•"
TASKS = {"▢": "- [ ]", "✓": "- [x]"}
"""Markers of tasks that are open and done, and how they are written."""
LINK_SCHEMES = ("http://", "https://", "mailto:")
MAX_MARKDOWN_CHARS = 40_000
"""Characters of a section that are read as Markdown; what people write seldom has a tenth of that."""
_MAX_CELLS = 3_000  # of a table
_MAX_PIECES = 6_000  # runs of words, code and formulas of a section: laying so many out takes about a second
_MAX_NESTED = 20  # levels; a quote is one, a list with its item two
_MIN_STEPS = 20_000  # of reading
_STEPS_PER_CHAR = 6  # what people write takes about one
_STEPS = "steps_left"  # key of what a parser knows of its text

_BARE_LINK = re.compile(r"https?://[^\s<>\"'`]+[^\s<>\"'`.,;:!?)\]}*_]")

_LONGEST = 2_000  # characters of a formula
_ENDS = {"$$": "$$", "\\(": "\\)", "\\[": "\\]", "$": "$"}
_SIGNS = re.compile(r"[\\^_={}+<>*|]")  # without any of these, brackets are text, dollars prices
_VARIABLE = re.compile(r"\w{1,2}")
_DISPLAYED = ("$$", "\\[")  # what begins a formula that stands alone
_BREAKS = ("softbreak", "hardbreak")
FORMULA = "formula"
"""Type of a token whose content is the source of a formula."""


def split_displayed(tokens: Sequence[Token]) -> Iterator[str | Sequence[Token]]:
    """Yield the parts of a paragraph: formulas with lines of their own, and the tokens between them."""
    start = 0
    for at, token in enumerate(tokens):
        lines = str(token.meta.get(FORMULA, ""))
        begins = at == start or tokens[at - 1].type in _BREAKS
        ends = at + 1 == len(tokens) or tokens[at + 1].type in _BREAKS
        if lines and begins and ends:
            if at - 1 > start:
                yield tokens[start : at - 1]
            yield lines
            start = at + 2
    if start < len(tokens):
        yield tokens[start:]


def _take_formula(state: StateInline, silent: bool) -> bool:
    begin = next((sign for sign in _ENDS if state.src.startswith(sign, state.pos)), "")
    if not begin:
        return False
    start = state.pos + len(begin)
    end = state.src.find(_ENDS[begin], start, min(state.posMax, start + _LONGEST))
    if end < 0 or not _is_formula(state.src, begin, start, end):
        return False
    if not silent:
        token = state.push(FORMULA, "", 0)
        token.content = " ".join(state.src[start:end].split())
        token.meta = (
            {FORMULA: dedent(state.src[start:end].strip("\n")).rstrip()} if begin in _DISPLAYED else {}
        )
    state.pos = end + len(_ENDS[begin])
    return True


def _is_formula(text: str, begin: str, start: int, end: int) -> bool:
    """Return True for what has something between its signs, and looks like math where others use them."""
    words = text[start:end]
    if begin == "\\[":
        return _SIGNS.search(words) is not None
    if begin != "$":
        return bool(words.strip())
    before = text[: start - 1][-1:]
    after = text[end + 1 : end + 2]
    touches_words = before.isalnum() or after.isalnum()
    has_space = not words or words[0].isspace() or words[-1].isspace()
    is_math = bool(_SIGNS.search(words) or _VARIABLE.fullmatch(words))
    return is_math and not (touches_words or has_space)


class Span(msgspec.Struct, frozen=True):
    """A run of words in one style; `link` is a target with an allowed scheme, or empty.

    A formula is its source, and code where it can't be drawn. No Markdown makes a warning.
    """

    text: str
    bold: bool = False
    italic: bool = False
    strike: bool = False
    code: bool = False
    formula: bool = False
    link: str = ""
    is_warning: bool = False


class Paragraph(msgspec.Struct, frozen=True):
    """A paragraph, heading, list item line or rule; `indent` is how many lists it is in.

    `quotes` has the indent of each quote it is in; `item_marker` is the marker of the item it continues.
    """

    spans: tuple[Span, ...] = ()
    heading: int = 0
    indent: int = 0
    quotes: tuple[int, ...] = ()
    marker: str = ""
    item_marker: str = ""
    rule: bool = False


class Prose(msgspec.Struct, frozen=True):
    """Leaves that flow as one text."""

    paragraphs: tuple[Paragraph, ...]


class Code(msgspec.Struct, frozen=True):
    text: str
    info: str = ""
    indent: int = 0


class DisplayedFormula(msgspec.Struct, frozen=True):
    source: str
    indent: int = 0


Cell: TypeAlias = tuple[Span, ...]
Alignment: TypeAlias = Literal["left", "center", "right"]


class Table(msgspec.Struct, frozen=True):
    """A table; the first row is its header."""

    rows: tuple[tuple[Cell, ...], ...]
    alignments: tuple[Alignment, ...]
    indent: int = 0


Block: TypeAlias = Prose | Code | DisplayedFormula | Table


@dataclasses.dataclass(frozen=True, slots=True)
class TopLevelBlock:
    """A top-level piece of a text (a list is one chunk per item), with its first line and token."""

    line: int
    blocks: tuple[Block, ...]
    fence: str = dataclasses.field(default="", compare=False)


def _allowed_link(target: str) -> str:
    return target if target.strip().lower().startswith(LINK_SCHEMES) else ""


class _TooComplexError(Exception):
    """A text would take far more work than its length explains, or be nested deeper than is shown."""


def _count_step(state: StateBlock | StateInline, *_: object) -> bool:
    """Take nothing, but end reading that goes over the same text again and again.

    This rule comes first, so each attempt to read a construct is counted, whatever the construct.
    """
    state.env[_STEPS] -= 1
    if state.env[_STEPS] < 0:
        raise _TooComplexError
    return False


class _CountingInlineParser(ParserInline):
    """Counts also what is skipped while the end of a link is searched: brackets in brackets are the worst."""

    def skipToken(self, state: StateInline) -> None:
        _count_step(state)
        super().skipToken(state)


class _BoundedBlockParser(ParserBlock):
    """Refuses what is nested too deep, which the library would leave out without a word."""

    def tokenize(self, state: StateBlock, startLine: int, endLine: int) -> None:
        if state.level >= _MAX_NESTED:
            raise _TooComplexError
        super().tokenize(state, startLine, endLine)


def _take_table(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Read a table as the library does, unless it has so many cells that the window would wait for them."""
    if not silent and table(state, first, last, True):
        columns = state.src.count("|", state.bMarks[first + 1], state.eMarks[first + 1])
        end = next((line for line in range(first, last) if state.isEmpty(line)), last)
        if columns * (end - first) > _MAX_CELLS:
            raise _TooComplexError
    return table(state, first, last, silent)


_BOLD_LINE = re.compile(r"(\*\*|__)(?=\S)(?:(?!\1).)+\1:?\s*")
_NUMBERED = re.compile(r"\d{1,9}[.)][ \t]+\S")


def _take_list(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Read a list as the library does; below a bold line, which is a heading, its numbers begin anywhere.

    Below other words a list has to begin with 1: a line of a paragraph may begin with a year.
    """
    line, above = (
        state.src[state.bMarks[at] + state.tShift[at] : state.eMarks[at]] for at in (first, state.line)
    )
    is_below_one_line = silent and state.parentType == "paragraph" and state.line == first - 1
    if not (is_below_one_line and _NUMBERED.match(line) and _BOLD_LINE.fullmatch(above)):
        return list_block(state, first, last, silent)
    state.parentType = "root"
    begins = list_block(state, first, last, silent)
    state.parentType = "paragraph"
    return begins


def _take_reference(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Read where a link goes as the library does; `[^1]: words` stays as it is written."""
    start = state.bMarks[first] + state.tShift[first]
    if state.src.startswith("[^", start):
        return False
    return reference(state, first, last, silent)


class _PermissiveMarkdownIt(MarkdownIt):
    """Lets every link pass, so that one of a foreign scheme is shown as its words; spans check schemes."""

    def __init__(self, preset: str, options: dict[str, Any]) -> None:
        super().__init__(preset, options)
        self.inline = _CountingInlineParser()
        self.block = _BoundedBlockParser()
        self.configure(preset, options)

    def validateLink(self, url: str) -> bool:
        return True


@cache
def _markdown_it() -> MarkdownIt:
    """Made once, since that takes longer than reading a message; it keeps nothing between texts.

    It takes `$x$`, `$$x$$`, `\\(x\\)` and `\\[x\\]` as formulas.
    """
    options = {"html": False, "maxNesting": _MAX_NESTED}
    parser = _PermissiveMarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    parser.disable(["html_block", "html_inline"])
    interrupts: RuleOptionsType = {"alt": ["paragraph", "reference"]}
    parser.block.ruler.at("table", _take_table, interrupts)
    parser.block.ruler.at("list", _take_list, {"alt": ["paragraph", "reference", "blockquote"]})
    parser.block.ruler.at("reference", _take_reference)
    parser.inline.ruler.before("escape", "formula", _take_formula)
    return _enable_limits(parser)


@cache
def _user_text_markdown_it() -> MarkdownIt:
    return _enable_limits(MarkdownIt("zero").enable(["fence", "backticks"]))


def _enable_limits(parser: MarkdownIt) -> MarkdownIt:
    parser.block.ruler.before(
        "table", "count", _count_step, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    parser.inline.ruler.before("text", "count", _count_step)
    parser.enable("count")
    return parser


class MarkdownParser:
    """Parses text; keeps the link references it has met, so that a stream can use them later."""

    def __init__(self) -> None:
        self._parser = _markdown_it()
        self.references: dict[str, Any] = {}
        self.is_plain = False
        """Whether the last text is shown as it is, because reading it would take too long or failed."""

    def parse(self, text: str) -> list[TopLevelBlock]:
        """Return the chunks of a text, in order; one that can't be read is plain text below a line."""
        chunks = _read_chunks(self._parser, text, self.references)
        self.is_plain = chunks is None
        if chunks is None:
            return [TopLevelBlock(0, plain_blocks(text))]
        return [chunk for chunk in chunks if chunk.blocks]


def parse_user_text(text: str) -> list[TopLevelBlock]:
    """Return the chunks of a user's text: only code is marked up, every other character stays as typed."""
    chunks = _read_chunks(_user_text_markdown_it(), text, {})
    if chunks is None:
        chunks = [TopLevelBlock(0, (Prose((Paragraph((Span(text),)),)),))]
    return [dataclasses.replace(chunk, blocks=tuple(map(_keep_lines, chunk.blocks))) for chunk in chunks]


def _read_chunks(parser: MarkdownIt, text: str, env: dict[str, Any]) -> list[TopLevelBlock] | None:
    """Return the chunks of a text; None when reading it takes too much work, or fails."""
    env[_STEPS] = _MIN_STEPS + _STEPS_PER_CHAR * len(text)
    try:
        tokens = parser.parse(text, env)
        if sum(1 + len(token.children or ()) for token in tokens if not token.nesting) > _MAX_PIECES:
            return None
        return [_to_top_level_block(group) for group in _group_top_level(tokens)]
    except _TooComplexError:
        return None
    except Exception:  # noqa: BLE001 - a model wrote the text, and must not take the window with it
        _log.exception("Markdown of %d characters can't be read", len(text))
        return None


def plain_blocks(text: str) -> tuple[Block, ...]:
    note = tr("Shown as plain text, because it could not be laid out.")
    return Prose((Paragraph((Span(note, italic=True),)),)), Code(text.removesuffix("\n"))


def _keep_lines(block: Block) -> Block:
    if not isinstance(block, Prose):
        return block
    return Prose(tuple(replace(leaf, spans=tuple(_link_bare_urls(leaf.spans))) for leaf in block.paragraphs))


def _group_top_level(tokens: Sequence[Token]) -> Iterable[list[Token]]:
    """Return groups of tokens: one per top-level block, lists split into items."""
    group: list[Token] = []
    opener: Token | None = None
    for token in tokens:
        is_list = token.type in ("bullet_list_open", "ordered_list_open")
        if token.level == 0 and is_list:
            opener = token
        elif token.level == 0 and opener is not None:
            opener = None
        else:
            group.append(token)
            ends = token.nesting != 1 and token.level == (0 if opener is None else 1)
            if ends:
                yield group if opener is None else [opener, *group]
                group = []


def _to_top_level_block(group: list[Token]) -> TopLevelBlock:
    flat = _Flattener()
    for token in group:
        flat.add_token(token)
    first = next((token for token in group if token.map and token.type != "bullet_list_open"), group[0])
    if group[0].type == "ordered_list_open":
        first = group[1]
    line = first.map[0] if first.map else 0
    fence = group[0].markup if group[0].type == "fence" else ""
    return TopLevelBlock(line, flat.blocks(), fence)


class _Flattener:
    """Walks the tokens of one chunk and writes flat blocks with their nesting depths."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._paragraphs: list[Paragraph] = []
        self._indent = 0
        self._quotes: tuple[int, ...] = ()
        self._item_markers: list[str] = []  # of the items around
        self._heading = 0
        self._marker = ""
        self._rows: list[list[Cell]] = []
        self._alignments: list[Alignment] = []
        self._in_cell = False

    def blocks(self) -> tuple[Block, ...]:
        self._close_prose()
        return tuple(self._blocks)

    def add_token(self, token: Token) -> None:
        match token.type:
            case "inline":
                self._inline(token.children or ())
            case "fence" | "code_block":
                self._write_block(Code(token.content.removesuffix("\n"), token.info.strip(), self._indent))
            case "hr":
                self._paragraphs.append(Paragraph(rule=True, indent=self._indent, quotes=self._quotes))
            case "bullet_list_open" | "ordered_list_open":
                self._indent += 1
            case "bullet_list_close" | "ordered_list_close":
                self._indent -= 1
            case "list_item_open":
                self._marker = f"{token.info}{token.markup}" if token.info else BULLET
                self._item_markers.append(self._marker)
            case "list_item_close":
                self._flush_marker()
                self._item_markers.pop()
            case "blockquote_open":
                self._quotes += (self._indent,)
            case "blockquote_close":
                self._quotes = self._quotes[:-1]
            case "heading_open":
                self._heading = int(token.tag[1])
            case "heading_close":
                self._heading = 0
            case "table_open":
                self._flush_marker()
                self._close_prose()
                self._rows = []
                self._alignments = []
            case "tr_open":
                self._rows.append([])
            case "th_open" | "td_open":
                self._in_cell = True
                if len(self._rows) == 1:
                    style = str(token.attrs.get("style", ""))
                    names: tuple[Alignment, ...] = ("right", "center")
                    self._alignments.append(next((name for name in names if name in style), "left"))
            case "table_close":
                rows = tuple(tuple(row) for row in self._rows)
                self._blocks.append(Table(rows, tuple(self._alignments), self._indent))

    def _inline(self, children: Sequence[Token]) -> None:
        if self._in_cell or self._heading or self._quotes:
            self._write_words(children)
            return
        for part in split_displayed(children):
            if isinstance(part, str):
                self._write_block(DisplayedFormula(part, self._indent))
            else:
                self._write_words(part)

    def _write_words(self, tokens: Sequence[Token]) -> None:
        spans = tuple(_spans(tokens))
        if self._marker == BULLET and spans:
            self._marker, spans = _split_task_marker(spans)
        if self._in_cell:
            self._rows[-1].append(spans)
            self._in_cell = False
            return
        around = self._item_markers[-1] if self._item_markers and not self._marker else ""
        self._paragraphs.append(
            Paragraph(spans, self._heading, self._indent, self._quotes, self._marker, around)
        )
        self._marker = ""

    def _flush_marker(self) -> None:
        if self._marker:
            self._paragraphs.append(Paragraph((), 0, self._indent, self._quotes, self._marker))
            self._marker = ""

    def _write_block(self, block: Code | DisplayedFormula) -> None:
        self._flush_marker()
        self._close_prose()
        self._blocks.append(block)

    def _close_prose(self) -> None:
        if self._paragraphs:
            self._blocks.append(Prose(tuple(self._paragraphs)))
            self._paragraphs = []


def _split_task_marker(spans: tuple[Span, ...]) -> tuple[str, tuple[Span, ...]]:
    """Return the marker of a bullet's words, and these without the brackets that made it a task."""
    first, *rest = spans
    for sign, source in TASKS.items():
        if first.text[:4].lower() == source.removeprefix("- ") + " " and not (first.code or first.link):
            return sign, (replace(first, text=first.text[4:]), *rest)
    return BULLET, spans


_STYLES = {"strong": "bold", "em": "italic", "s": "strike"}


def _spans(tokens: Iterable[Token]) -> Iterable[Span]:
    """Return the runs of one inline token, bare web addresses made into links."""
    depth = {"bold": 0, "italic": 0, "strike": 0}
    link = ""
    for token in tokens:
        if token.type == "text" and not link and not any(depth.values()):
            yield from _link_bare_urls((Span(token.content),)) if token.content else ()
            continue
        name, _, edge = token.type.rpartition("_")
        if name in _STYLES:
            depth[_STYLES[name]] += 1 if edge == "open" else -1
        elif name == "link":
            link = _allowed_link(str(token.attrs.get("href", ""))) if edge == "open" else ""
        else:
            style = Span("", depth["bold"] > 0, depth["italic"] > 0, depth["strike"] > 0, link=link)
            yield from _styled_spans(token, style)


def _styled_spans(token: Token, style: Span) -> Iterable[Span]:
    match token.type:
        case "text":
            yield from _link_bare_urls((replace(style, text=token.content),)) if token.content else ()
        case "code_inline":
            yield replace(style, text=token.content, code=True)
        case _ if token.type == FORMULA:
            yield replace(style, text=token.content, code=True, formula=True)
        case "softbreak":
            yield replace(style, text=" ")
        case "hardbreak":
            yield replace(style, text="\n")
        case "image":
            target = _allowed_link(str(token.attrs.get("src", "")))
            words = tr("[image without description]")
            if token.content:
                words = tr("[image: {description}]", description=token.content)
            yield replace(style, text=words, link=target or style.link)


def _link_bare_urls(spans: Iterable[Span]) -> Iterable[Span]:
    for span in spans:
        if span.link or span.code or "http" not in span.text:
            yield span
            continue
        at = 0
        for match in _BARE_LINK.finditer(span.text):
            if match.start() > at:
                yield replace(span, text=span.text[at : match.start()])
            yield replace(span, text=match.group(), link=match.group())
            at = match.end()
        if at < len(span.text):
            yield replace(span, text=span.text[at:])
