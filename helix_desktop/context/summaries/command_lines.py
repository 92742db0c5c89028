"""A command in one line: what it is about, without what only frames it."""

from __future__ import annotations

import re
from collections.abc import Iterator

_QUOTED_OR_JOIN = re.compile(r'(?<!\\)"(?:\\.|[^"\\])*+"' r"|'[^']*'|(&&|\|\||[;\n])", re.DOTALL)
_PREPARES = re.compile(r"(?:cd|pushd|popd|export|set|source|echo)\b")
# The next two begin only where spaces do: else a long run of them takes the square of its length.
_HIDES_OUTPUT = re.compile(r"(?<!\s)\s*(?:2>&1|[12&]?>\s*/dev/null)(?=[\s;|&]|$)")
_CUTS_OUTPUT = re.compile(r"(?<!\s)\s*\|\s*(?:head|tail)\b[^|;&\n]*$")
_CONTINUES = re.compile(r"\\\s*\n|(?<!\S)\\\s+")
_GAP = "…"


def main_part(command: str) -> str:
    """Return the longest part of a command line that does more than prepare others: what it is about."""
    parts = [" ".join(part.split()) for part in _parts(_without_output_options(command))]
    return max(parts, key=lambda part: (not _PREPARES.match(part), len(part)))


def _without_output_options(command: str) -> str:
    return _CUTS_OUTPUT.sub("", _HIDES_OUTPUT.sub("", _CONTINUES.sub(" ", command)))


def _parts(command: str) -> Iterator[str]:
    """Yield what is run one after the other; a document behind `<<` belongs to its command."""
    start = 0
    for match in _QUOTED_OR_JOIN.finditer(command):
        if match[1]:
            part = command[start : match.start()]
            if "<<" in part:
                break
            yield part
            start = match.end()
    yield command[start:]


def whole_command(command: str) -> str:
    """Return a command in one line without the options that only hide or cut its output."""
    return " ".join(_without_output_options(command).split())


def shown_command(command: str, cap: int) -> str:
    """Return a command in one line of at most `cap` characters: of a longer one its main part."""
    line = whole_command(command)
    if len(line) <= cap:
        return line
    main = main_part(command)
    if not line.startswith(main):
        line = f"{_GAP} {main}"
    return line if len(line) <= cap else f"{line[: cap - 1]}{_GAP}"
