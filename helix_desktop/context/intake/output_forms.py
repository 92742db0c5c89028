"""The forms of a large output: its preview, the choice of a form, and extraction by a fast model."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, islice
from math import log1p
from typing import Any, Literal

import msgspec

from helix_desktop.context.intake.descriptions import (
    FILE_PART,
    MENTION,
    REPORT,
    RESULT,
    ErrorFinder,
    is_definition,
    lines_worth_reading,
)
from helix_desktop.domain.builtin_tools import MATCHES_HEADER
from helix_desktop.domain.digest import HEX_DIGITS, bare_marker
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.rewrite import Form
from helix_desktop.domain.identifiers import MAX_IDENTIFIED_CHARS, count_identifiers, identifiers_in
from helix_desktop.domain.messages import Message, ModelRequest
from helix_desktop.domain.text_format import ellipsize, one_line, pluralize
from helix_desktop.domain.unicode_safety import escape_hidden

_CHARS_PER_TOKEN = 3  # of identifiers, a low estimate
_NAME_OVERHEAD = 4  # characters
_FIRST_DIGITS = 8  # of a UUID, before its first hyphen: patterns that begin with a sign are found fast
_UUID = re.compile(r"-(?<=[0-9a-f]{8}-)[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![\w-])")
_BLOBS = re.compile(r"^index ([0-9a-f]{7,64})\.\.([0-9a-f]{7,64})", re.MULTILINE)  # of a file in a diff
_FIELD = re.compile(r"=([0-9a-f]{12,})(?![\w-])")
_MAX_ALIKE = 8  # names that differ in numbers only: more are one series
_DIGITS = re.compile(r"\d+")
_FRAGMENT = re.compile(r"(?=\w*[A-Z])\d\w*")  # a number with a letter, as in an address or a serial number
_OPENING = "[Names in the part not shown: "


def insert_names(preview: str, text: str, max_tokens: int) -> str:
    """Return a preview with the names that it lacks above its marker: frequent and short ones first.

    As recorded agents go on, these lines hold 80 % of the names that their next 20 calls take from a large
    output; head and tail alone hold 21 %.
    """
    visible = count_identifiers(preview)
    chars_left = max_tokens * _CHARS_PER_TOKEN - len(_OPENING)
    names: list[str] = []
    part = text[:MAX_IDENTIFIED_CHARS]
    counts = count_identifiers(part)
    for single in _single_ids(part):
        if counts[single] == 1:
            del counts[single]
    counts = _with_series(counts, visible)
    for name in sorted(counts, key=lambda name: (len(name) + _NAME_OVERHEAD) / log1p(counts[name])):
        if name not in visible and len(name) < chars_left:
            chars_left -= len(name) + 1
            names.append(name)
    body, _, marker = preview.rpartition("\n")
    return f"{body}\n{_OPENING}{' '.join(names)}]\n{marker}" if names else preview


def names_tokens(preview: str) -> int:
    """Return about the tokens of a preview's names, as `insert_names` counts them."""
    line = next((line for line in reversed(preview.splitlines()) if line.startswith(_OPENING)), "")
    return -(-len(line) // _CHARS_PER_TOKEN)


def names_in_output(text: str, max_names: int) -> tuple[str, ...]:
    """Return the identifiers of an output in the order of their first occurrence, at most so many.

    Without ids that occur once.
    """
    part = text[:MAX_IDENTIFIED_CHARS]
    if not (singles := _single_ids(part)):
        return identifiers_in(part)[:max_names]
    counts = count_identifiers(part)
    return tuple(islice((name for name in counts if counts[name] > 1 or name not in singles), max_names))


def _with_series(counts: Counter[str], visible: Counter[str]) -> Counter[str]:
    """Return the names with their counts: many that differ in numbers only as one, without fragments.

    A series that is in sight needs no name.
    """
    series: dict[str, list[str]] = {}
    for name in counts:
        if _FRAGMENT.fullmatch(name) is None:
            series.setdefault(_DIGITS.sub("#", name), []).append(name)
    shown_shapes = {_DIGITS.sub("#", name) for name in visible}
    result: Counter[str] = Counter()
    for shape, names in series.items():
        if len(names) <= _MAX_ALIKE:
            result.update({name: counts[name] for name in names})
        elif shape not in shown_shapes:
            result[f"{names[0]} [{len(names)} like this]"] = sum(counts[name] for name in names)
    return result


def _single_ids(text: str) -> set[str]:
    """Return the parts of UUIDs, values such as `trace=` and git blobs that occur once: nobody looks for one.

    Those of single requests fill a log.
    """
    uuids = (text[match.start() - _FIRST_DIGITS : match.end()] for match in _UUID.finditer(text))
    blobs = chain.from_iterable(_BLOBS.findall(text))
    counts = Counter(chain(uuids, _FIELD.findall(text), blobs))
    return {part for value, count in counts.items() if count == 1 for part in value.split("-")}


CHARS_PER_TOKEN = 3  # low estimate for code and logs, so that a preview stays under its budget
MIN_BUDGET = 10  # tokens; less would show nothing
_SHARES = (0.35, 0.25)  # of a preview, for its head and its tail; the rest, at most, is for the lines between
_SOURCE_SHARES = (0.35, 0.15)  # of source: what its lines say, not only what they define
_MENTION_SHARE = 0.2  # of it at most for lines that only mention an error
_LEAST_KEPT = 0.5  # of a head or tail in whole lines: less, and some of the line that its end cuts stays
_CUT_LINE_CHARS = 120  # characters of that line
_LINE_CAP = 200  # characters of an error line
_NUMBER_CAP = 12  # characters of a line's number
_RULE = re.compile(r"^\s*[=_]{3,}|[=_]{3,}\s*$")  # what heads a part of a report is drawn with
_INNER = re.compile(r"(?:\d+(?:→|: ?|\| ?))?\s")  # a line of source, or of one with numbers, that is indented
_HIT = re.compile(r"  \d+:")
_AROUND_HIT = re.compile(r"  \d+-")
_MORE_HITS = re.compile(r"  … ([\d,]+) more matching lines?")
_HIT_CHARS = 120  # of a hit
_REST_CHARS = 24  # of the place of hits that are not shown
_HITS_WAY_BACK = "in brackets: start_line-end_line of what is not shown"
_GAP_WITH_LINES = re.compile(r"^\[… .* not shown.*?; \d+ of \d+ (.*):\]$", re.MULTILINE)  # see `_gap_text`
_FEW_ALIKE = 2  # lines of one shape: both are shown, of more the first
_NUMBERS = re.compile(r"(?<!\w)(?=[a-f]*\d)[0-9a-f]{6,}(?!\w)|\d+|0x[0-9a-f]+")  # ids in hex digits, too
_MAX_ODD = 5  # lines that occur once among others that are alike
_LEAST_ALIKE = 3  # times as many of these
_OWN_WORDS = 2  # that few other lines have: one may be a name
_PLAIN_WORD = re.compile(r"[^\W\d_]{2,}")


class _RankedLine(msgspec.Struct, frozen=True):
    """A line to show between head and tail: its number from 1, its text, and its rank (lowest first).

    One that repeats another but for numbers comes after the others of its rank.
    """

    number: int
    text: str
    rank: int
    is_repeated: bool = False


def preview_output(
    text: str,
    digest: str,
    budget: int,
    exit_code: int | None = None,
    digits: int = HEX_DIGITS,
    lines_before: int = 0,
    is_source: bool = False,
) -> str:
    """Return head, error lines, and tail in about `budget` tokens, then the marker of so many `digits`.

    Of source lines with definitions take the place of error lines. The marker of source and of a part of a
    file says which lines to recall, and the line above such a part which it lacks. Lines between head and
    tail have their numbers, as recall takes them; an exit code that no shown line names is added.
    `lines_before` are those of the content in front of `text`. Of a search each file's first hits are shown.
    """
    max_chars = max(budget, MIN_BUDGET) * CHARS_PER_TOKEN
    marker = bare_marker(digest, digits)
    if len(text) <= max_chars:
        return text
    if MATCHES_HEADER.match(text):
        preview = _shorten_hits(text, marker, max_chars)
    else:
        preview = _shorten(text, marker, max_chars, exit_code, lines_before, is_source)
    return preview if len(preview) < len(text) else text


def preview_parts(preview: str) -> Literal["ends", "errors", "definitions", "matches"]:
    """Return what of an output its preview has: both ends, some lines between them too, or first matches."""
    if MATCHES_HEADER.match(preview) and _HITS_WAY_BACK in preview:
        return "matches"
    between = _GAP_WITH_LINES.search(preview)
    if between is None:
        return "ends"
    return "definitions" if "definitions" in between[1] else "errors"


class _FileHits(msgspec.Struct, frozen=True):
    """What a search found in a file: the line with its name and those below, and the numbers of the hits."""

    number: int
    lines: list[str]
    hits: list[int]

    @property
    def last(self) -> int:
        return self.number + len(self.lines) - 1

    def chars(self, count: int) -> int:
        """Return about the characters of the first `count` hits with the file's name and the rest's place."""
        shown = (self.lines[0], *(self.lines[hit - self.number] for hit in self.hits[:count]))
        return sum(min(len(line), _HIT_CHARS) + 1 for line in shown) + _REST_CHARS

    def render(self, count: int) -> list[str]:
        shown = {self.number, *self.hits[:count]}
        lines = [self.lines[number - self.number] for number in sorted(shown)]
        lines = [line if len(line) <= _HIT_CHARS else f"{line[:_HIT_CHARS]}…" for line in lines]
        missing = [number for number in range(self.number, self.last + 1) if number not in shown]
        if not missing:
            return lines
        rest = len(self.hits) - count
        cut = _MORE_HITS.fullmatch(self.lines[-1])
        rest += int(cut[1].replace(",", "")) if cut is not None else 0
        what = f"{rest:,} more" if rest else "lines around"
        return [*lines, f"  … {what} ({missing[0]}-{self.last})"]


def _shorten_hits(text: str, marker: str, max_chars: int) -> str:
    """Return the first hits of each file, as many as there is room for, and which lines the others are."""
    head, *lines = text.removesuffix("\n").split("\n")
    files = list[_FileHits]()
    has_lines_around = any(map(_AROUND_HIT.match, lines))
    for number, line in enumerate(lines, 2):
        if not line.startswith("  "):
            files.append(_FileHits(number, [], []))
        elif files and _HIT.match(line):
            files[-1].hits.append(number)
        if files:
            files[-1].lines.append(line)
    notes = [file.lines[0] for file in files if not file.hits]
    files = [file for file in files if file.hits]
    chars_left = max_chars - len(head) - sum(len(note) + 1 for note in notes)
    counts = list[int]()
    for file in files:
        chars_left -= file.chars(1)
        if chars_left < 0:
            break
        counts.append(1)
    growing = deque(range(len(counts)) if len(counts) == len(files) else ())
    while growing:
        place = growing.popleft()
        more = files[place].chars(counts[place] + 1) - files[place].chars(counts[place])
        if 0 < more <= chars_left:
            counts[place] += 1
            chars_left -= more
            growing.append(place)
    shown = [line for file, count in zip(files, counts, strict=False) for line in file.render(count)]
    if left := files[len(counts) :]:
        span = f"{left[0].number}-{left[-1].last}"
        shown.append(f"[… {pluralize(len(left), 'file')} not shown ({span}) …]")
    whole = "the whole output, with the lines around matches" if has_lines_around else "the whole output"
    return "\n".join([head, *shown, *notes, f"{marker} {whole}; {_HITS_WAY_BACK}"])


def _shorten(
    text: str, marker: str, max_chars: int, exit_code: int | None, lines_before: int, is_source: bool
) -> str:
    shares = _SOURCE_SHARES if is_source else _SHARES
    tail = _drop_cut_line(text[-int(max_chars * shares[1]) :], from_end=True)
    head = _drop_cut_line(text[: int(max_chars * shares[0])], from_end=False)
    chars_left = max_chars - len(head) - len(tail)
    cap = min(_LINE_CAP, chars_left)
    find_lines = _definition_lines if is_source else _error_lines
    found, ranks = find_lines(text, len(head), len(text) - len(tail), cap, lines_before)
    lines = _select_lines(found, chars_left, int(max_chars * _MENTION_SHARE))
    end = len(text) - len(tail)
    chars_left -= sum(len(line) + 1 for line in lines.values())
    longer = _drop_cut_line(
        text[: len(head) + chars_left], from_end=False
    )  # what nothing told of goes to the head
    head = longer if len(longer) > len(head) else head
    first = text.count("\n", 0, len(head)) + text.startswith("\n", len(head)) + 1 + lines_before
    shown = [line for number, line in lines.items() if number >= first]
    share = f"; {_shares(ranks, lines, first, is_source)}:" if shown else " …"
    gap, missing = _gap_text(text, len(head), end, share, lines_before)
    part = FILE_PART.match(head)
    if part is not None and missing is not None:
        without = f"without{' most of' if shown else ''} {missing[0]}-{missing[1]}"
        head = f"{part[0][:-2]}, {without}:\n{head[part.end() :]}"
    cut = "…" if "\n" in text[len(head) : end] and text[end - 1] != "\n" else ""
    preview = "\n".join(part for part in (head, gap, *shown, cut + tail) if part)
    if exit_code is not None and f"exit code {exit_code}" not in preview:
        preview = f"exit code {exit_code}\n{preview}"
    if missing is None or not (is_source or part is not None):
        return f"{preview}\n{marker} the whole output"
    lines_missing = f"start_line={missing[0]}, end_line={missing[1]}: the lines not shown"
    return f"{preview}\n{marker} the whole output; {lines_missing}"


def _drop_cut_line(text: str, from_end: bool) -> str:
    """Return `text` without the line that was cut through; with a bit of it where little else is left."""
    complete = text.partition("\n")[2] if from_end else text.rpartition("\n")[0]
    if not complete.strip():
        return text
    if len(complete) >= len(text) * _LEAST_KEPT:
        return complete
    chars = len(complete) + _CUT_LINE_CHARS
    return text[-chars:] if from_end else text[:chars]


def _gap_text(
    text: str, start: int, end: int, ending: str, lines_before: int
) -> tuple[str, tuple[int, int] | None]:
    """Return what is not shown, and its first and last line; None if it is a part of one line."""
    start += text.startswith("\n", start)
    end -= text.endswith("\n", start, end)
    first, last = (text.count("\n", 0, place) + 1 + lines_before for place in (start, end))
    is_one = first == last
    what = (
        f"{end - start:,} characters of line {first} not shown"
        if is_one
        else f"{last - first + 1:,} lines not shown ({first}-{last})"
    )
    return f"[… {what}{ending}]", None if is_one else (first, last)


_READ_LINES = 100_000
"""Lines that are read one by one; of more only those with a word that matters, and the first and last."""


def _error_lines(
    text: str, start: int, end: int, cap: int, lines_before: int
) -> tuple[list[_RankedLine], dict[int, int]]:
    """Return error lines between two offsets, few of each shape, and the ranks of all by number.

    The last that is no mention ranks first, one unlike all others as a result. Of a shape with several lines
    the first says how many there are.
    """
    number = text.count("\n", 0, start) + 1 + lines_before
    counts: Counter[str] = Counter()
    shapes: dict[str, list[_RankedLine]] = {}  # the first lines of each
    ranks: dict[int, int] = {}
    finder = ErrorFinder()
    last = None
    for place, line in lines_worth_reading(text[start:end].split("\n"), _READ_LINES):
        if (match := finder.find(line)) is not None:
            index = match.index
            excerpt = _excerpt(line, max(0, index - cap // 4), cap - _NUMBER_CAP) if len(line) > cap else line
            error_line = _RankedLine(number + place, _RULE.sub("", excerpt).rstrip(), match.rank)
            ranks[error_line.number] = match.rank
            last = error_line if match.rank < MENTION else last
            shape = _NUMBERS.sub("#", " ".join(error_line.text.split()))
            counts[shape] += 1
            if counts[shape] <= _FEW_ALIKE:
                shapes.setdefault(shape, []).append(error_line)
    lines = [] if last is None else [msgspec.structs.replace(last, rank=-1)]
    odd = _odd_shapes(counts)
    for shape, (first, *others) in shapes.items():
        count = f" [{counts[shape]} like this]" if counts[shape] > _FEW_ALIKE else ""
        rank = RESULT if shape in odd else first.rank
        lines.append(msgspec.structs.replace(first, text=f"{first.text}{count}", rank=rank))
        if not count:
            lines += [msgspec.structs.replace(other, is_repeated=True) for other in others]
    return lines, ranks


def _odd_shapes(counts: Counter[str]) -> Collection[str]:
    """Return the shapes of the few lines that occur once among many that are alike.

    Lines with other names in them are alike, too: all but one or half of their words are those of many.
    """
    total = counts.total()
    odd = [shape for shape, count in counts.items() if count == 1]
    most = min(_MAX_ODD, total // (1 + _LEAST_ALIKE))
    if len(odd) > most:
        words = {shape: set(_PLAIN_WORD.findall(shape)) for shape in counts}
        uses: Counter[str] = Counter()
        for shape, count in counts.items():
            uses.update(dict.fromkeys(words[shape], count))
        shared = {word for word, count in uses.items() if count > max(_MAX_ODD, total // 10)}
        odd = [shape for shape in odd if len(words[shape] - shared) >= _OWN_WORDS]
        if len(odd) > most:
            odd = [shape for shape in odd if 2 * len(words[shape] & shared) <= len(words[shape])]
    return odd if len(odd) <= most else ()


def _definition_lines(
    text: str, start: int, end: int, cap: int, lines_before: int
) -> tuple[list[_RankedLine], dict[int, int]]:
    """Return the lines of source between two offsets that define something, the top level ranks first.

    And the ranks of all by number.
    """
    first = text.count("\n", 0, start) + 1 + lines_before
    lines = [
        _RankedLine(number, line[:cap].rstrip(), REPORT if _INNER.match(line) else RESULT)
        for number, line in enumerate(text[start:end].split("\n")[:_READ_LINES], first)
        if is_definition(line)
    ]
    return lines, {line.number: line.rank for line in lines}


_SOURCE_KINDS = ("top-level definitions", "nested definitions, such as methods")
_REPORT_KINDS = ("with errors or results", "with warnings or mentions of errors")


def _shares(ranks: dict[int, int], shown: Collection[int], first: int, is_source: bool) -> str:
    """Return how many lines of each kind are shown, of all from line `first` on."""
    inner, kinds = (REPORT, _SOURCE_KINDS) if is_source else (MENTION, _REPORT_KINDS)
    found = Counter[str]()
    seen = Counter[str]()
    for number, rank in ranks.items():
        if number >= first:
            found[kinds[rank >= inner]] += 1
            seen[kinds[rank >= inner]] += number in shown
    return ", ".join(f"{seen[kind]} of {found[kind]} {kind}" for kind in kinds if found[kind])


def _excerpt(line: str, start: int, chars: int) -> str:
    """Return a part of a line, with an ellipsis at each end that was cut."""
    end = start + chars
    return f"{'…' * (start > 0)}{line[start:end]}{'…' * (end < len(line))}"


def _select_lines(ranked_lines: list[_RankedLine], max_chars: int, mention_chars: int) -> dict[int, str]:
    """Return the highest ranked lines that fit in `max_chars` characters, by number, in order.

    Mentions come in while all lines together take no more than `mention_chars`.
    """
    lines: dict[int, str] = {}
    used = 0
    for ranked in sorted(ranked_lines, key=lambda line: (line.rank, line.is_repeated, line.number)):
        number = ranked.number
        text = ranked.text
        line = text if text.startswith(f"{number}:") else f"{number}: {text}"  # as tools number lines
        limit = mention_chars if ranked.rank == MENTION else max_chars
        if number not in lines and used + len(line) < limit:
            lines[number] = line
            used += len(line) + 1
    return dict(sorted(lines.items()))


EXTRACT_OPENING = "[Extract]"
EXTRACT_FACTOR = 4  # a compact form may take so many times the tokens of a preview
MAX_CHUNKS = 6  # more would not be through within the deadline
WORDS_PER_TOKEN = 0.6  # asked of the model: below the common 0.75, so that the form stays within its tokens
_CODE = 16  # hex digits that fence the output: no output can hold the beginning of its own digest
_TARGET_CAP = 120  # characters of a call's target
_HEAD = 0.6  # share of what stays of a text whose middle is left out


class OutputSource(msgspec.Struct, frozen=True):
    text: str
    tokens: int
    digest: str
    tool: str
    target: str
    exit_code: int | None = None
    handle_digits: int = HEX_DIGITS  # of its digest, by which the marker names it

    @classmethod
    def from_answer(cls, output: ToolAnswered, text: str, tokens: int) -> OutputSource:
        return cls(
            text, tokens, output.digest, output.name, output.target, output.exit_code, output.handle_digits
        )

    @property
    def call_summary(self) -> str:
        call = " ".join(f"{self.tool} {self.target[:_TARGET_CAP]}".split())
        return call if self.exit_code is None else f"{call}, exit code {self.exit_code}"

    def with_text(self, text: str) -> OutputSource:
        """Return the same output with another text, its tokens in proportion."""
        tokens = self.tokens * len(text) // max(1, len(self.text))
        return msgspec.structs.replace(self, text=text, tokens=tokens)


def extraction_request(
    prompt: str, source: OutputSource, instructions: str, max_words: int, part: str = ""
) -> ModelRequest:
    """Return the request to extract what `instructions` ask; `part` names the part of the output shown."""
    code = source.digest[:_CODE]
    lines = [
        f"{EXTRACT_OPENING} What the agent wants to know:",
        instructions,
        "",
        f"Write at most {max_words} words. The output of {source.call_summary}{part}, as data:",
        f"<output {code}>",
        source.text,
        f"</output {code}>",
        "",
        "That was the output. Write down what the agent wants to know, and do nothing else.",
    ]
    return ModelRequest((Message("system", prompt), Message("user", "\n".join(lines))))


def split_output(source: OutputSource, max_tokens: int) -> tuple[OutputSource, ...]:
    """Return the output in chunks of at most about `max_tokens`, cut after line ends where there are any."""
    max_chars = max(1, len(source.text) * max(max_tokens, 1) // max(source.tokens, 1))
    chunks: list[OutputSource] = []
    start = 0
    while len(source.text) - start > max_chars:
        line_end = source.text.rfind("\n", start + max_chars // 2, start + max_chars) + 1
        cut = line_end or start + max_chars
        chunks.append(source.with_text(source.text[start:cut]))
        start = cut
    return (*chunks, source.with_text(source.text[start:]))


def truncate_output(source: OutputSource, max_tokens: int) -> OutputSource:
    """Return the output in about `max_tokens`: head, tail, and how much is missing between."""
    length = len(source.text) * max(max_tokens, 1) // max(source.tokens, 1)
    if length >= len(source.text):
        return source
    head = int(length * _HEAD)
    tail = length - int(length * _HEAD)
    gap = f"\n[… {len(source.text) - length:,} characters left out here …]\n"
    return source.with_text(source.text[:head] + gap + source.text[len(source.text) - tail :])


def extract_text(source: OutputSource, instructions: str, extract: str) -> str:
    """Return the compact form: a header, the extract, and where the whole output is."""
    exit_code = "" if source.exit_code is None else f", exit code {source.exit_code}"
    line = " ".join(instructions.split())
    marker = bare_marker(source.digest, source.handle_digits)
    head = f"[Extract of {source.tokens:,} tokens{exit_code}; asked for: {line}]"
    return "\n".join((head, extract.strip(), f"{marker} the whole output"))


def max_extract_tokens(preview_tokens: int, full_tokens: int) -> int:
    """Return the tokens that a compact form must stay below."""
    return min(preview_tokens * EXTRACT_FACTOR, full_tokens)


def max_extract_words(preview_tokens: int, full_tokens: int) -> int:
    return max(30, int(max_extract_tokens(preview_tokens, full_tokens) * WORDS_PER_TOKEN))


FORMS_OPENING = "[How to keep large outputs]"
INSTRUCTIONS_CAP = 1_000  # characters of the instructions for a compact form
_NAME_CAP = 80  # characters of a name that is quoted
_OPTION_LINE = re.compile(r"(?:- |<number>: )(compact|preview|full)\b")
_CHOICE = re.compile(
    r"[\W_]*(?:output\s*)?#?(?P<number>\d{1,4})[\W_]{1,6}(?P<form>compact|preview|full)\b"
    r"[*_`\"']*\s*(?P<mark>[:=,;.(–—-]?)[*_`\s]*(?P<rest>.*)",
    re.IGNORECASE,
)
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_FENCE = re.compile(r"^\s*```\w*\s*$", re.MULTILINE)


class LargeOutput(msgspec.Struct, frozen=True):
    """A large output that the question is about, with the lines of its whole text."""

    answer: ToolAnswered
    lines: int
    is_full_offered: bool

    @property
    def options(self) -> tuple[Form, ...]:
        return ("compact", "preview", "full") if self.is_full_offered else ("compact", "preview")


class FormChoice(msgspec.Struct, frozen=True):
    """The form of one output, the instructions for a compact one, and whether the model chose it."""

    form: Form = "preview"
    instructions: str = ""
    is_chosen_by_model: bool = False


def offer_full_form(extras: Sequence[int], max_tokens: int) -> tuple[bool, ...]:
    """Return for each output whether the full form is offered.

    `extras` are the tokens each would take beyond its preview, `max_tokens` the tokens left for all of them.
    The smallest come first, so that all offered ones can be chosen together.
    """
    offered = [False] * len(extras)
    for index in sorted(range(len(extras)), key=lambda index: (extras[index], index)):
        if extras[index] > max_tokens:
            break
        max_tokens -= extras[index]
        offered[index] = True
    return tuple(offered)


def form_question(
    prompt: str, outputs: Sequence[LargeOutput], free_tokens: int, max_words: int, deadline_s: int
) -> str:
    """Return the user message that asks for the forms; text from tools is quoted as data.

    Lines of `prompt` about a form that no output may have are left out. Beside the previews there is room for
    `free_tokens`; a compact form has at most `max_words`.
    """
    offered = {form for output in outputs for form in output.options}
    prompt_lines = [
        line
        for line in prompt.split("\n")
        if (option := _OPTION_LINE.match(line)) is None or option[1] in offered
    ]
    lines = [_output_line(number, output) for number, output in enumerate(outputs, 1)]
    limits = (
        f"Limits: about {max(0, free_tokens):,} tokens are free beside the previews; a compact form has at "
        f"most {max_words:,} words; without an answer within {deadline_s} s the previews stay."
    )
    return "\n".join([FORMS_OPENING, *prompt_lines, "", limits, "The outputs:", *lines])


def _output_line(number: int, output: LargeOutput) -> str:
    answer = output.answer
    code = "" if answer.exit_code is None else f", exit code {answer.exit_code}"
    about = " ".join(part for part in (_quoted(answer.name), _quoted(answer.target)) if part)
    size = f"about {answer.tokens:,} tokens, {pluralize(output.lines, 'line')}{code}"
    return f"{number}. {about} ({answer.digest[:8]}): {size}. Options: {', '.join(output.options)}"


def _quoted(text: str) -> str:
    """Return a name on one line, in quotes that it cannot break out of."""
    if not text:
        return ""
    short = ellipsize(" ".join(escape_hidden(text).split()), _NAME_CAP)
    return msgspec.json.encode(short.encode("utf-8", "replace").decode()).decode()


def parse_choices(answer: str, full_offered: Sequence[bool]) -> tuple[FormChoice, ...]:
    """Return one choice for each output, in order; `full_offered` says which outputs may be full.

    Anything unreadable, contradictory or not offered becomes a preview that nobody chose.
    """
    choices: dict[int, list[FormChoice]] = {}
    for number, choice in _parse_lines(_plain_lines(answer)):
        if 1 <= number <= len(full_offered):
            choices.setdefault(number, []).append(choice)
    return tuple(
        _agreed_choice(choices.get(number, []), allowed) for number, allowed in enumerate(full_offered, 1)
    )


def _agreed_choice(choices: list[FormChoice], is_full_offered: bool) -> FormChoice:
    if not choices or any(choice != choices[0] for choice in choices):
        return FormChoice()
    return FormChoice() if choices[0].form == "full" and not is_full_offered else choices[0]


def _plain_lines(answer: str) -> str:
    """Return the answer without thoughts and fences; a JSON answer as lines."""
    text = _FENCE.sub("", _THOUGHT.sub("", answer)).strip()
    if text[:1] not in ("{", "["):
        return text
    try:
        return "\n".join(_lines_of(msgspec.json.decode(text)))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text


def _lines_of(value: Any) -> Iterator[str]:
    """Yield a JSON answer as lines: an object keyed by number, or a list of objects with a number each."""
    if isinstance(value, dict):
        numbered = [(key, item) for key, item in value.items() if str(key).isdigit()]
        for key, item in numbered:
            parts = item.values() if isinstance(item, dict) else [item]
            yield f"{key}: " + ": ".join(one_line(word) for word in parts if isinstance(word, str))
        if not numbered:
            for item in value.values():
                yield from _lines_of(item)
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, dict):
                numbers = [str(part) for part in item.values() if str(part).isdigit()]
                parts = [one_line(part) for part in item.values() if isinstance(part, str)]
                texts = [part for part in parts if not part.isdigit()]
                yield f"{''.join(numbers[:1])}: " + ": ".join(texts)


def _parse_lines(text: str) -> Iterator[tuple[int, FormChoice]]:
    """Yield the choices in an answer's lines; instructions may continue below, up to an empty line."""
    blocks: list[tuple[re.Match[str], list[str]]] = []
    rest_lines: list[str] = []
    for line in text.splitlines():
        match = _CHOICE.fullmatch(line)
        if match is not None:
            rest_lines = [match["rest"]]
            blocks.append((match, rest_lines))
        elif line.strip():
            rest_lines.append(line)
        else:
            rest_lines = []
    for match, lines in blocks:
        choice = _parse_choice(match, lines)
        if choice is not None:
            yield int(match["number"]), choice


def _parse_choice(matched: re.Match[str], lines: list[str]) -> FormChoice | None:
    form = matched["form"].lower()
    rest = matched["rest"].strip()
    if form == "compact":
        instructions = " ".join(" ".join(lines).split()).strip(" \"'`)")[:INSTRUCTIONS_CAP]
        return (
            FormChoice("compact", instructions, True)
            if any(char.isalnum() for char in instructions)
            else None
        )
    if rest and not matched["mark"]:
        return None  # a sentence that happens to begin like a choice
    return FormChoice("full" if form == "full" else "preview", is_chosen_by_model=True)
