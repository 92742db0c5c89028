"""Source lines: the lines of source that carry its facts: constants, definitions, messages and limits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

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
_FIGURE = re.compile(
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
    """Return True for a line that defines a function or a type."""
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
    return 2 if _FIGURE.search(line) else None


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
