"""The lines of long contents: in pages of a number of tokens, and those that match a pattern.

How much of a content stands around its matching lines in an answer: what is left of the tokens decides. The
facts that are looked for stand beside the words that find them: below `case "medium":`, in the list that a
constructor opens. A line more costs a few tokens, another call a whole window.

A pattern of plain characters and dots is looked for here; any other by ripgrep, in all texts at once: its
engine is linear in the text, so no pattern can hang, and a thread that hangs cannot be ended. One without
upper case matches any case. A text is read in pieces, because one call into the interpreter's functions holds
up all other threads.
"""

from __future__ import annotations

import asyncio
import codecs
import io
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice

import msgspec
from msgspec.structs import replace

from helix_desktop.context.intake.descriptions import number_of_first_line
from helix_desktop.domain.files.file_use import TO_THE_END, Lines
from helix_desktop.domain.tools import CountTokens
from helix_desktop.domain.unicode_safety import is_hidden
from helix_desktop.tools.process import Ripgrep

_MAX_COUNTED = 2 * 1024 * 1024  # characters; beyond it a safe estimate saves seconds of counting
_CHUNK_BYTES = 256 * 1024
_RELEASE_LINES = 10_000  # lines
_ESTIMATE = 3  # characters to a token, fewer than in any code or log measured
_MIN_CHUNK = 200  # characters of a part of a long line, at least
_NUMBER_TOKENS = 3  # tokens of a line number and its colon
_MARGIN = 0.85  # share of a page's tokens: those of a line are not spread evenly

LinePosition = tuple[int, int]
"""A place in the text: a line from 1, and a character in it from 0."""


def decode_lines(data: bytes, chunk_size: int = _CHUNK_BYTES) -> list[str]:
    """Split UTF-8 bytes into lines with their line ends, at newlines only; U+FFFD is for what is not UTF-8.

    Decode `chunk_size` bytes at a time: it blocks all other threads until it is done.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    lines: list[str] = []
    chunks: list[str] = []  # chunks of a line whose end has not come yet
    for start in range(0, len(data), chunk_size):
        text = decoder.decode(data[start : start + chunk_size], start + chunk_size >= len(data))
        first, *others = text.split("\n")
        chunks.append(first)
        if others:
            lines.append("".join(chunks) + "\n")
            lines += [line + "\n" for line in others[:-1]]
            chunks = others[-1:]
    if last := "".join(chunks):
        lines.append(last)
    return lines


def release_lines(lines: list[str]) -> None:
    """Empty a list part by part: freeing millions of lines at once holds up all other threads."""
    while lines:
        del lines[-_RELEASE_LINES:]


class TextPage(msgspec.Struct, frozen=True):
    """A page: its text, its lines, its number of how many, and where the next begins (line 0: no next)."""

    text: str
    first: int
    last: int
    first_char: int
    number: int
    count: int
    next_line: int
    next_char: int

    @property
    def is_only(self) -> bool:
        return self.count <= 1

    def moved(self, lines: int) -> TextPage:
        """Return it as a page of a text that has so many lines more in front of it."""
        next_line = self.next_line and self.next_line + lines
        return replace(self, first=self.first + lines, last=self.last + lines, next_line=next_line)


def with_line_numbers(count_tokens: CountTokens) -> CountTokens:
    """Return a count of lines that counts their numbers too."""

    async def count(lines: Sequence[str]) -> list[int]:
        return [tokens + _NUMBER_TOKENS for tokens in await count_tokens(lines)]

    return count


def number_lines(page: TextPage) -> str:
    """Return a page with the number before each line; as it is if a line is cut."""
    if page.first_char or page.next_char:
        return page.text
    lines = io.StringIO(page.text, newline="\n")
    return "".join(f"{number}:{line}" for number, line in enumerate(lines, page.first))


class Paginator:
    def __init__(
        self,
        lines: Sequence[str],
        max_tokens: int,
        count_tokens: CountTokens,
    ) -> None:
        self._lines = lines
        self._max_tokens = max_tokens
        self._count = count_tokens

    async def page_at(self, line: int, char: int) -> TextPage:
        """Return the page that begins at a line (from 1) and a character in it (from 0).

        Its number counts all pages of the text if one begins there, else the pages from there on.
        """
        tokens = await asyncio.to_thread(self._estimate) or await self._count(self._lines)
        return await asyncio.to_thread(self._page_at, tokens, line, char)

    def _page_at(self, tokens: Sequence[int], line: int, char: int) -> TextPage:
        cuts = self._cuts(tokens, (1, 0))
        if (line, char) not in cuts:
            cuts = self._cuts(tokens, (line, min(char, max(len(self._lines[line - 1]) - 1, 0))))
        index = cuts.index((line, char)) if (line, char) in cuts else 0
        return self._page(cuts, index)

    def _estimate(self) -> list[int]:
        """Return an estimate for each line if counting would take too long; else an empty list."""
        left = _MAX_COUNTED
        for line in self._lines:
            left -= len(line)
            if left < 0:
                break
        else:
            return []
        return [len(line.encode()) // _ESTIMATE + 1 for line in self._lines]

    def _cuts(self, tokens: Sequence[int], start: LinePosition) -> list[LinePosition]:
        cuts = [start]
        used = 0
        first_char = start[1]
        for number in range(start[0], len(self._lines) + 1):
            size = tokens[number - 1]
            if used and used + size > self._max_tokens:
                cuts.append((number, 0))
                used = 0
            if size > self._max_tokens:
                length = len(self._lines[number - 1])
                step = max(_MIN_CHUNK, int(length * self._max_tokens / size * _MARGIN))
                cuts += [(number, char) for char in range(first_char + step, length, step)]
            used += size
            first_char = 0
        return cuts

    def _page(self, cuts: Sequence[LinePosition], index: int) -> TextPage:
        first, first_char = cuts[index]
        end = cuts[index + 1] if index + 1 < len(cuts) else (0, 0)
        if end == (0, 0):
            last = len(self._lines)
        elif end[1]:
            last = end[0]
        else:
            last = end[0] - 1
        lines = list(self._lines[first - 1 : last])
        if lines and end[1]:
            lines[-1] = lines[-1][: end[1]]
        if lines:
            lines[0] = lines[0][first_char:]
        return TextPage("".join(lines), first, last, first_char, index + 1, len(cuts), *end)


_READ_TOOL = "read_file"
_HEAD = re.compile(rb"Lines (\d{1,9})-(\d{1,9}) of \d+ of [^\n]*:\n(?=\1:)")
_SHORT_HEAD = re.compile(r"Lines ((\d{1,9})-(\d{1,9})) of (\d+) of ")
_NUMBER = re.compile(rb"^\d+:", re.MULTILINE)
_COUNTED_PIECE = 256 * 1024  # bytes: one call into the interpreter's functions holds up all other threads


def file_lines(tool: str, data: bytes) -> tuple[bytes, int]:
    """Return the lines of a file that an output holds, and the number of the first.

    Else all of it, and 1; or 0 where a header stands above what a command printed.
    """
    match = _HEAD.match(data) if tool == _READ_TOOL else None
    if match is None:
        return data, number_of_first_line(tool, data)
    parts = []
    count = 0
    start = match.end()
    while start < len(data):
        end = data.find(b"\n", start + _COUNTED_PIECE) + 1 or len(data)
        part, replaced = _NUMBER.subn(b"", data[start:end])
        parts.append(part)
        count = count + replaced
        start = end
    first = int(match[1])
    last = int(match[2])
    return (b"".join(parts), first) if count == last - first + 1 else (data, 1)


def part_of_file(tool: str, target: str, first_line: str) -> tuple[str, Lines] | None:
    """Return of which file an output is a part, and which lines; None if it is no part of a file.

    A part with the file's last line has no end: nothing is behind it.
    """
    match = _SHORT_HEAD.match(first_line) if tool == _READ_TOOL else None
    if match is None or not target.endswith(f":{match[1]}"):
        return None
    last = TO_THE_END if match[3] == match[4] else int(match[3])
    return target.removesuffix(f":{match[1]}"), Lines(int(match[2]), last)


MAX_LINE = 200  # characters of a line in an answer
# A content is small if it has few lines, which may be long ones, or few bytes, about 300 tokens.
_SMALL_LINES = 15
_MAX_SMALL_BYTES = 4_000
SMALL_BYTES = 1_200
_MAX_SMALL_LINES = 40
_TINY_LINES = 10
TINY_BYTES = 400  # about 100 tokens


class ContextLines(msgspec.Struct, frozen=True):
    """The lines `before` and `after` each matching one; with `has_all` all lines of a small content."""

    before: int
    after: int
    has_all: bool = False


WIDER = (
    ContextLines(0, 1),
    ContextLines(1, 2),
    ContextLines(1, 2, has_all=True),
    ContextLines(2, 4, has_all=True),
)
"""What an answer with tokens left is widened to, one after the other."""
NEAR = (ContextLines(0, 0), *WIDER[:2])
"""What stands around the matches in an entry that was named of an index: the rest wasn't looked for."""
WIDEST = 4  # lines before or after


def widths(context: int | None) -> list[ContextLines]:
    """Return the context lines to try, the first ones in any case; a `context` of 0 stays."""
    if context == 0:
        return [ContextLines(0, 0)]
    least = context or 0
    wider = [ContextLines(max(least, each.before), max(least, each.after), each.has_all) for each in WIDER]
    return list(dict.fromkeys((ContextLines(least, least), *wider)))


def split_content(data: bytes) -> tuple[bytes, ...]:
    """Return the lines of a content, without the empty one behind the last line end."""
    lines = data.split(b"\n")
    return tuple(lines[:-1] if lines[-1] == b"" else lines)


def lines_if_small(data: bytes) -> tuple[bytes, ...]:
    """Return the lines of a content that is small enough to stand in an answer whole; else none."""
    lines = split_content(data) if len(data) <= _MAX_SMALL_BYTES else ()
    return lines if is_small(lines) else ()


def is_small(lines: Sequence[bytes]) -> bool:
    """Return True if a content of these lines may stand in an answer whole, where there is room."""
    size = sum(map(len, lines))
    has_few_bytes = size <= SMALL_BYTES and len(lines) <= _MAX_SMALL_LINES
    return has_few_bytes or (len(lines) <= _SMALL_LINES and size <= _MAX_SMALL_BYTES)


def is_tiny(lines: Sequence[bytes]) -> bool:
    """Return True if a content says less than the line that names it: it is always whole in an answer."""
    return 0 < len(lines) <= _TINY_LINES and sum(map(len, lines)) <= TINY_BYTES


def clean_line(line: bytes, max_chars: int = MAX_LINE) -> str:
    """Return a line for an answer, at most `max_chars` characters, with a mark for each hidden one."""
    text = line[: 4 * max_chars].decode("utf-8", "ignore").rstrip().replace("\t", " ")
    cut = text if len(text) <= max_chars else f"{text[:max_chars]}…"
    if cut.isprintable():
        return cut
    return "".join("\ufffd" if is_hidden(sign) else sign for sign in cut)


_PIECE = 1024 * 1024  # bytes
_SPECIAL = frozenset("^$*+?()[]{}|")
_ANY = rb"(?:[^\n\x80-\xff]|[\xc0-\xff][\x80-\xbf]*)"  # one character of UTF-8
_ROW = re.compile(rb"\d+:(\d+):(\d+):")
_MAX_LINES = 1_000  # matching lines counted in one text
_MAX_ALTERNATIVES = 12  # that are told apart: each is another search
_LEADING_FLAGS = re.compile(r"(?:\(\?[a-zA-Z-]+\))*")
_FREE_SPACING = re.compile(r"\(\?[a-zA-Z]*x")
_SIGNS = re.compile(r"\\[pP]\{[^}]*\}|\\.|\(\?P<")  # of a regular expression, whose case says nothing


class LineMatch(msgspec.Struct, frozen=True):
    """A matching line: its number from 1, its begin and end in the text, and where the match begins.

    `alternatives` are those of the pattern that it has, if the pattern is made of several.
    """

    number: int
    start: int
    end: int
    match_at: int
    alternatives: frozenset[str] = frozenset()


class PlainPattern(msgspec.Struct, frozen=True):
    """A pattern of plain characters and dots; `literal` is the longest part of it without a dot.

    `whole_words` matches it where it is no part of a longer word; with `is_any_case` all of it is lower case.
    """

    regex: re.Pattern[bytes]
    literal: bytes
    whole_words: re.Pattern[bytes]
    is_any_case: bool

    def find(self, text: bytes) -> Iterator[LineMatch]:
        if self.is_any_case:
            pieces = (text[start : start + _PIECE].lower() for start in range(0, len(text), _PIECE))
            text = b"".join(pieces)
        number = 1
        counted = 0
        position = 0
        while (found := _find(text, self.literal, position)) >= 0:
            start = text.rfind(b"\n", position, found) + 1 or position
            end = text.find(b"\n", found)
            end = len(text) if end < 0 else end
            number += text.count(b"\n", counted, start)
            counted = start
            position = end + 1
            if match := self.regex.search(text, start, end):
                yield LineMatch(number, start, end, match.start())


def is_any_case(pattern: str) -> bool:
    """Return True if a pattern has no upper case, and so matches any."""
    return not any(map(str.isupper, _SIGNS.sub("", pattern)))


def plain_pattern(pattern: str) -> PlainPattern | None:
    """Return a pattern that needs no ripgrep; None if it is not made of plain characters and dots.

    Nor if it is to match any case of letters beyond ASCII, whose bytes are not those of the other case.
    """
    ignores_case = is_any_case(pattern)
    if ignores_case and not pattern.isascii():
        return None
    parts: list[str] = [""]
    signs = iter(pattern)
    for sign in signs:
        if sign == "\\":
            escaped = next(signs, "")
            if not escaped or escaped.isalnum() or not escaped.isascii():
                return None
            parts[-1] += escaped
        elif sign == ".":
            parts.append("")
        elif sign in _SPECIAL or sign == "\n":
            return None
        else:
            parts[-1] += sign
    literals = [part.encode("utf-8", "surrogatepass") for part in parts]
    longest = max(literals, key=len)
    if not longest:
        return None
    joined = _ANY.join(map(re.escape, literals))
    flags = re.IGNORECASE if ignores_case else re.NOFLAG
    whole_words = re.compile(rb"(?<!\w)%b(?!\w)" % joined, flags)
    return PlainPattern(re.compile(joined, flags), longest, whole_words, ignores_case)


def split_alternatives(pattern: str) -> list[str]:
    """Return the patterns that `|` separates outside of groups and classes; empty if there is one alone.

    Each matches the case that the whole pattern does. Too many, and those of a pattern with free spacing,
    whose comments may hold anything, are not told apart.
    """
    if "|" not in pattern or _FREE_SPACING.search(pattern):
        return []
    leading = _LEADING_FLAGS.match(pattern)
    flags = leading[0] if leading else ""
    parts = list[str]()
    begin = len(flags)
    groups = 0
    classes = 0
    position = begin
    while position < len(pattern):
        sign = pattern[position]
        if sign == "\\":
            position += 1
        elif classes:
            classes += (sign == "[") - (sign == "]")
        elif sign == "[":
            classes = 1
            position += pattern.startswith("^", position + 1)
            position += pattern.startswith("]", position + 1)  # the first one stands for itself
        elif sign in "()":
            groups += 1 if sign == "(" else -1
        elif sign == "|" and not groups:
            parts.append(pattern[begin:position])
            begin = position + 1
        position += 1
    parts = [part for part in dict.fromkeys([*parts, pattern[begin:]]) if part]
    if not 1 < len(parts) <= _MAX_ALTERNATIVES:
        return []
    keeps_case = not is_any_case(pattern)
    return [
        f"(?-i:{flags}{part})" if keeps_case and is_any_case(part) else f"{flags}{part}" for part in parts
    ]


async def match_lines(
    texts: Sequence[bytes],
    pattern: str,
    plain: PlainPattern | None,
    ripgrep: Ripgrep,
    limit: int = _MAX_LINES,
) -> tuple[list[list[LineMatch]], bool]:
    """Return the matching lines of each text, at most `limit`, and False if ripgrep's output was cut.

    Raises ToolError if the pattern is invalid.
    """
    if plain is not None:
        return await asyncio.to_thread(
            lambda: [list(islice(plain.find(text), limit)) for text in texts]
        ), True
    joined = b"\n".join((*texts, b""))
    options = ["--column", "--byte-offset", "--text", *(["--ignore-case"] if is_any_case(pattern) else [])]
    result = await ripgrep.run([*options, f"--regexp={pattern}", "--", "-"], ".", joined)
    found = await asyncio.to_thread(_match_rows, result.output, joined, texts, limit)
    return found, not result.dropped_bytes


async def match_alternatives(
    texts: Sequence[bytes], pattern: str, found: Sequence[Sequence[LineMatch]], ripgrep: Ripgrep
) -> list[list[LineMatch]]:
    """Return the lines `found` in each text for a pattern, each with the alternatives of it that it has.

    A line with a rare one stands there too, even if it is behind the lines that are counted.
    """
    lines = [{match.start: match for match in matches} for matches in found]
    for part in split_alternatives(pattern):
        matches, _ = await match_lines(texts, part, plain_pattern(part), ripgrep)
        await asyncio.to_thread(_add_alternative, lines, part, matches)
    return [sorted(each.values(), key=lambda match: match.start) for each in lines]


def _add_alternative(
    lines: Sequence[dict[int, LineMatch]], part: str, matches: Sequence[Sequence[LineMatch]]
) -> None:
    for each, found in zip(lines, matches, strict=True):
        for match in found:
            known = each.get(match.start, match)
            each[match.start] = replace(known, alternatives=known.alternatives | {part})


def _match_rows(output: bytes, joined: bytes, texts: Sequence[bytes], limit: int) -> list[list[LineMatch]]:
    """Return the matches in ripgrep's rows `line:column:offset:text` on texts joined by line ends."""
    starts = [0, *accumulate(len(text) + 1 for text in texts)]
    found: list[list[LineMatch]] = [[] for _ in texts]
    newest = [(1, 0)] * len(texts)  # number and start of the last matching line, to count on from
    for row in output.split(b"\n"):
        match = _ROW.match(row)
        if match is None:
            break  # the end, or the gap where the middle of the output was dropped
        offset = int(match[2])
        index = bisect_right(starts, offset) - 1
        if index >= len(texts) or len(found[index]) >= limit:
            continue
        start = offset - starts[index]
        if start and start == len(texts[index]):
            continue  # the empty line behind a last line end
        number, counted = newest[index]
        number += joined.count(b"\n", starts[index] + counted, offset)
        newest[index] = number, start
        end = joined.find(b"\n", offset) - starts[index]
        found[index].append(LineMatch(number, start, end, min(start + int(match[1]) - 1, end)))
    return found


def _find(text: bytes, literal: bytes, position: int) -> int:
    """Return where a literal occurs next, looked for piece by piece; -1 if it does not."""
    while position < len(text):
        found = text.find(literal, position, position + _PIECE + len(literal))
        if found >= 0:
            return found
        position += _PIECE
    return -1
