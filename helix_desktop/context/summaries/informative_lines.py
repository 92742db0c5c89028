"""Informative lines: those of an output or of source that carry its facts, found without a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from helix_desktop.context.intake.descriptions import MENTION, REPORT, RESULT, find_error
from helix_desktop.context.summaries.message_facts import cut_between_words
from helix_desktop.domain.unicode_safety import without_direction_signs

_CHECKED_CHARS = 20_000  # characters of a text by which it is known as source
_SEARCHED = 2_000  # characters of a line that are searched
MESSAGE = 3  # rank of a line that raises or logs something
_LEAST = 2  # definitions and imports from which on a text is source
_MAX_OPEN = 300  # characters of a line with those up to where its bracket closes
_FENCE = "```"  # in a document that quotes source
_LINE_NUMBER = r"(?:\s*\d{1,6}(?:→|[:|-]|(?=\s)))?[+-]?"  # or the sign of a diff
_NUMBER_ALONE = re.compile(r"\A\s*\d{1,6}(?:→|\t|[:|-] ?| )")
_MODIFIERS = (
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|override|unsafe"
    r"|pub(?:\(\w+\))?) +)*"
)
_DEFINITION = re.compile(
    rf"{_LINE_NUMBER}(?P<indent>\s*){_MODIFIERS}(?:"
    r"(?:class|def|func|fn|function\*?|interface|struct|enum|trait|impl|type|module|namespace) +[A-Za-z_$(]"
    r"(?=.*[({:=<])|(?:const|let|var) +\w+ = (?:async *)?(?:function\b|\([^()]*\)(?: *:[^=]+)? *=>)"
    r"|(?<=[a-z] )[\w<>\[\], .?]{1,80}\(.*[{,(]$)"  # a method: modifiers stand before it
)
_CONSTANT = re.compile(
    rf"{_LINE_NUMBER}(?:#define +[A-Za-z_]\w* +\S"
    rf"|\s*{_MODIFIERS}(?:(?:const|let|var|val) +)?(?:[a-z][\w<>]* +)?[A-Z_][A-Z\d_]{{2,}}\b[^=]{{0,60}}= *\S"
    r"|\s?[A-Za-z_]\w*(?: *:[^=\n]{1,60})? = *(?:[-\d\"'\[({]|[\w.]+\([\"'\[({r\d])"
    r"|\s?(?:const|var) +(?:\($|\w+ *= *[-\d\"'`\[{]))"
)
_IMPORT = re.compile(
    rf"{_LINE_NUMBER}\s*(?:import +[\w{{(*\"'.]+|from +[\w.]+ +import\b|use +\w+::|using +[\w.]+;"
    r"|package +[\w.]+;?$|#include\b)"
)
_REPORTS_A_RUN = re.compile(r"^(?:Traceback \(most recent call|E {3}|={3,} |FAILED |panic: )", re.MULTILINE)
_OPENS_LIST = re.compile(r"[(\[]$|(?:[=:]|\bstruct|\benum \w+|\binterface \w+) *\{$")
_SOURCE_FIGURE = re.compile(
    r"(?:[<>!=]=?|[:%]) ?-?(?:\d{2,}|[2-9])(?![\w\]])|#\d{1,7}\b|[=:] ?\d+\.\d"  # 0 and 1 count and index
)
_MESSAGE = re.compile(
    r"\b(?:raise|throw|panic!?|error|warn(?:ing)?|fatal|Errorf?|Exception)\b.{0,200}[\"'`]\w+ "
)
_SAYS_NOTHING = re.compile(
    rf"{_LINE_NUMBER}\s*(?:"
    r"[\w.\[\]>-]{1,80} *(?:(?:[-+*/%|&^]|<<|>>)= *\S+|:?= *(?:-?[01]|\[\]|\{\}|None|null))"  # a counter
    r"|\w+ *= *\w+\.getLogger\(.*|(?:[\w.]+)?(?:\+\+|--)(?:[\w.]+)?|for\b.*[:{]"
    r"|(?:\} *)?(?:except|catch|rescue|finally|try)\b.*|return -?\d+"
    r"|\[[^\]]*\d more [^\]]*\]|(?:el)?if\b[^\"']*[!=<>]=? ?-?[01]\)?)[;:{ ]*(?:(?:#|//).*)?$"
)


def is_source(text: str) -> bool:
    """Return True for a text that defines and imports, and is no report of a run that shows some source."""
    if _FENCE in text[:_CHECKED_CHARS]:
        return False
    found = 0
    for line in text[:_CHECKED_CHARS].splitlines():
        part = line[:_SEARCHED]
        found += bool(_DEFINITION.match(part) or _IMPORT.match(part))
        if found >= _LEAST:
            return _REPORTS_A_RUN.search(text) is None
    return False


def says_nothing(line: str) -> bool:
    """Return True for a line of source whose number, or name of an error, is no fact: counters, handlers."""
    return _SAYS_NOTHING.match(line[:_SEARCHED]) is not None


def is_definition(line: str) -> bool:
    return _DEFINITION.match(line[:_SEARCHED]) is not None


def states_constant(line: str) -> bool:
    """Return True for a line that names a constant, also behind the number of a line."""
    return _CONSTANT.match(line[:_SEARCHED]) is not None


def opening_lines(text: str, max_chars: int) -> str:
    """Return the whole lines of source before its imports and definitions, at most so many characters."""
    size = 0
    for line in text[:max_chars].splitlines(keepends=True):
        if _IMPORT.match(line) or _DEFINITION.match(line) or _CONSTANT.match(line):
            break
        if size + len(line) >= max_chars:
            break
        size += len(line)
    return text[:size]


def ranked_lines(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the lines of source that carry facts, each with its rank, the most informative 0, and its place.

    One that opens a bracket has the lines up to where that closes: the entries of a list, the parameters of a
    function.
    """
    after = 0  # the first line that does not stand with the one that opens its bracket
    for place, line in enumerate(lines):
        part = line[:_SEARCHED].rstrip()
        rank = _rank(part) if place >= after and part and not says_nothing(part) else None
        if rank is None:
            continue
        if _OPENS_LIST.search(part):
            part, after = _with_what_it_opens(lines, place)
        yield rank, place, " ".join(part.split())


def _rank(line: str) -> int | None:
    definition = _DEFINITION.match(line)
    if _CONSTANT.match(line) or (definition and not definition["indent"]):
        return 0
    if definition:
        return 1
    if _MESSAGE.search(line):
        return MESSAGE
    return 2 if _SOURCE_FIGURE.search(line) else None


def _with_what_it_opens(lines: Sequence[str], place: int) -> tuple[str, int]:
    """Return a line with those up to where its bracket closes, and the place behind them."""
    indent, number = _indent(lines[place]), _line_number(lines[place])
    parts, size = [lines[place].rstrip()], len(lines[place])
    for line in lines[place + 1 :]:
        if number is not None:
            number += 1
            if _line_number(line) != number:  # of a search: the next line that matches, not the next one
                break
        plain = _NUMBER_ALONE.sub("", line[:_SEARCHED]).strip()
        place += 1
        if plain.startswith(("#", "//")):
            continue
        parts.append(plain)
        size += len(plain) + 1
        if size > _MAX_OPEN or (plain and _indent(line) <= indent):
            break
    return " ".join(parts), place + 1


def _line_number(line: str) -> int | None:
    match = _NUMBER_ALONE.match(line)
    return int(re.sub(r"\D", "", match[0])) if match else None


def _indent(line: str) -> int:
    plain = _NUMBER_ALONE.sub("", line)
    return len(plain) - len(plain.lstrip())


_TAIL_CHARS = 20_000  # characters of an output in which an error line is looked for, from its end
_SAME_SHAPE = 3  # lines that differ in numbers only
_GAP = "…"
_SAYS_WHY = re.compile(r"^E {2,}\S|(?:Error|Exception|error|ERROR|fatal|FATAL)\b[^:]{0,40}: *\S")
_FAILED_TEST = re.compile(r"(?:FAILED|ERROR) \S+::|--- FAIL: |test \S+ \.\.\. FAILED|\s*● .+ \u203a ")
_FAILED_TESTS, _FAILED_TEST_CHARS = 3, 160  # of a run, that are named; characters of each line
_FIGURE = re.compile(
    r"[#=:\d](?:"  # begins with one set of characters: the search skips all others at once
    r"(?<=#)\d{1,7}\b|(?<=[=:])\s*-?\d[\d.,]*\b"
    r"|(?<=\b\d)[\d.,]*\s?(?:%|ms|s|seconds|min|h|[KMGT]i?B|bytes|tokens|lines|passed|skipped)(?!\w))"
)
_NOISE = re.compile(
    r"^(?:\[CACHED\]|\[…|exit (?:code|status) \d|--- Observation ---|[-=_*~#.\s]*$)", re.IGNORECASE
)
_DIGITS = re.compile(r"\d+")
_HEAD, _TAIL, _HEAD_OF_SOURCE = 0.4, 0.2, 0.25  # shares of a short form that are its beginning and its end
_MAX_LINE, _LEAST_CUT = 300, 100  # characters of a line between them, and of one that is cut to fit


def last_informative_line(text: str) -> str:
    """Return the last line of an output that says something; empty if none does."""
    end = len(text)
    while end > 0:
        start = text.rfind("\n", 0, end) + 1
        line = text[start:end].strip()
        if line and not _NOISE.match(line):
            return without_direction_signs(line[:_SEARCHED])
        end = start - 1
    return ""


def described_result(about: str, exit_code: int | None) -> str:
    """Return what the description of an output says besides its exit code, without the quotes around it."""
    result = about if exit_code is None else about.removeprefix(f"exit {exit_code}").removeprefix(", ")
    return result[1:].removesuffix('"') if result.startswith('"') else result


def short_text(text: str, max_chars: int) -> str:
    """Return an output on one line if what it says has no more characters; else nothing."""
    if len(text) > 2 * max_chars:
        return ""
    lines = (" ".join(line.split()) for line in without_direction_signs(text).splitlines())
    line = " / ".join(line for line in lines if line and not _NOISE.match(line))
    return line if len(line) <= max_chars else ""


def error_line(text: str) -> str:
    """Return the line of an output that says why it failed, the most informative; empty if none."""
    found: dict[int, str] = {}
    for line in text[-_TAIL_CHARS:].splitlines():
        part = line[:_SEARCHED].rstrip()
        if part and not _NOISE.match(part) and (error := find_error(part)) is not None:
            found[-1 if _SAYS_WHY.search(part) else error.rank] = part.strip()
    informative = next((found[rank] for rank in (-1, REPORT, RESULT, MENTION) if rank in found), "")
    return without_direction_signs(informative)


def reports_failure(result: str) -> bool:
    """Return True for the result of a command that says that something failed, whatever its exit code."""
    error = find_error(result)
    return error is not None and error.rank == RESULT


def failure_lines(text: str) -> list[str]:
    """Return the lines of a command's output that name what failed: of tests up to three, else one line."""
    lines = text[-_TAIL_CHARS:].splitlines()
    failed = [line for line in lines if _FAILED_TEST.match(line)][:_FAILED_TESTS] or [error_line(text)]
    return [without_direction_signs(cut_between_words(line, _FAILED_TEST_CHARS)) for line in failed if line]


def shorten_output(text: str, cap: int) -> str:
    """Return an output in about `cap` characters: head, tail, and between them the lines that carry facts.

    Errors come before figures. Of source it is what stands on top, and its constants and definitions before
    messages and figures. What is left out is marked by an ellipsis; no word is cut.
    """
    if len(text) <= cap:
        return text
    if is_source(text):
        head = opening_lines(text, int(cap * _HEAD_OF_SOURCE))
        lines = _fit_lines(ranked_lines(text[len(head) :].splitlines()), cap - len(head) - len(_GAP))
        if lines:
            return "\n".join(part for part in (head.rstrip(), _GAP, *lines) if part)
    head, tail = _head(text, int(cap * _HEAD)), _tail(text, int(cap * _TAIL))
    between = text[len(head) : len(text) - len(tail)].splitlines()
    lines = _fit_lines(_ranked_lines(between), cap - len(head) - len(tail) - len(_GAP))
    return "\n".join([head, _GAP, *lines, tail]) if lines else f"{head} {_GAP} {tail}"


def informative_source_lines(text: str, max_chars: int) -> str:
    """Return the constants and limits of source in `max_chars` characters; empty if it is none."""
    if not is_source(text):
        return ""
    found = ranked_lines(text.splitlines())
    facts = [line for line in found if line[0] != MESSAGE and not is_definition(line[-1])]
    return "\n".join(_fit_lines(facts, max_chars))


class OutputExtracts(NamedTuple):
    """What summaries extract from an output, in so many characters; a replay remembers what it extracted."""

    shorten: Callable[[str, int], str] = shorten_output
    source_lines: Callable[[str, int], str] = informative_source_lines


UNCACHED = OutputExtracts()
"""Extracts each time anew."""


def _head(text: str, max_chars: int) -> str:
    """Return the beginning of a text that is longer, up to the end of a line, or else of a word."""
    head = text[:max_chars]
    ends = [max_chars if text[len(head)].isspace() else head.rfind(" "), head.rfind("\n")]
    end = ends[1] if ends[1] > max_chars // 2 else ends[0]
    return head[:end] if end > max_chars // 2 else head


def _tail(text: str, max_chars: int) -> str:
    """Return the end of a text that is longer, from the start of a line, or else of a word, on.

    What is left of a line may say the opposite: of `NOT SEEN` the first word was cut.
    """
    start = len(text) - max(1, max_chars)
    word = start if text[start - 1].isspace() else text.find(" ", start) + 1
    for cut in (text.find("\n", start - 1) + 1, word):
        if start <= cut <= start + max_chars // 2:
            return text[cut:]
    return text[start:]


def _ranked_lines(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the lines that carry facts, each with its rank, the most informative 0, and its place."""
    for place, line in enumerate(lines):
        part = line[:_SEARCHED].rstrip()
        if not part or _NOISE.match(part) or says_nothing(part):
            continue
        error = find_error(part)
        if error is not None or _FIGURE.search(part) or states_constant(part):
            yield MENTION + 1 if error is None else error.rank, place, " ".join(part.split())


def _fit_lines(ranked: Iterable[tuple[int, int, str]], max_chars: int) -> list[str]:
    """Return the lines that fit, most informative first, in their order; a long one is cut between words."""
    fitting: dict[int, str] = {}
    shapes: dict[str, int] = {}
    for _, place, line in sorted(ranked):
        part = cut_between_words(line, min(_MAX_LINE, max(_LEAST_CUT, max_chars - 1)))
        shape = _DIGITS.sub("#", part)
        shapes[shape] = shapes.get(shape, 0) + 1
        if shapes[shape] <= _SAME_SHAPE and len(part) + 1 <= max_chars:
            fitting[place] = part
            max_chars -= len(part) + 1
    return [fitting[place] for place in sorted(fitting)]
