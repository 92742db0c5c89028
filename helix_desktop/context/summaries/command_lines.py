"""A command in one line: what it is about, without what only frames it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache

from helix_desktop.domain.redaction.report_text import has_form_of_secret

_QUOTED_OR_JOIN = re.compile(r'(?<!\\)"(?:\\.|[^"\\])*+"' r"|'[^']*'|(&&|\|\||[;\n])", re.DOTALL)
_PREPARES = re.compile(r"(?:cd|pushd|popd|export|set|source|echo)\b")
# The next two begin only where spaces do: else a long run of them takes the square of its length.
_HIDES_OUTPUT = re.compile(r"(?<!\s)\s*(?:2>&1|[12&]?>\s*/dev/null)(?=[\s;|&]|$)")
_CUTS_OUTPUT = re.compile(r"(?<!\s)\s*\|\s*(?:head|tail)\b[^|;&\n]*$")
_CONTINUES = re.compile(r"\\\s*\n|(?<!\S)\\\s+")
_SETS = re.compile(
    r"""(?:^|\s)([A-Za-z_]\w*=(?:[^\s"'`$(){};|&]{1,24}|"[^"`$]{1,24}"|'[^']{1,24}'))(?=[\s;&]|$)"""
)
_REMEMBERED_COMMANDS = 1_024  # each stands in one ledger after the other
_COMPARED_CHARS = 4_000  # characters of a command
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


@lru_cache(_REMEMBERED_COMMANDS)
def whole_command(command: str) -> str:
    """Return a command in one line without the options that only hide or cut its output."""
    return " ".join(_without_output_options(command).split())


@lru_cache(_REMEMBERED_COMMANDS)
def short_command(command: str, cap: int) -> str:
    """Return a command in one line of at most `cap` characters: of a longer one its main part.

    What it sets for that by `NAME=value` stands before it: two runs of a script often differ in that alone.
    """
    line = whole_command(command)
    if len(line) <= cap:
        return line
    main = main_part(command)
    if not line.startswith(main):
        before = line.partition(main)[0]
        values = " ".join(value for value in _SETS.findall(before) if not has_form_of_secret(value))
        values = f"{values} " if 0 < len(values) <= cap // 2 else ""
        line = f"{values}{_GAP} {main}"
    return _cut(line, cap)


def tell_apart(command: str, others: Collection[str], cap: int) -> str:
    """Return a shown command with the first words in which it differs from `others` that look the same."""
    short, line = short_command(command, cap), whole_command(command)
    if not others:
        return short
    same = max(_same_chars(line, whole_command(other)) for other in others)
    start, main = line.rfind(" ", 0, same) + 1, line.find(main_part(command))
    if start == main:
        return short
    is_before = start < main
    differs = _cut(line[start : main if is_before else None].rstrip(" &;|"), cap // 3).removesuffix(_GAP)
    if is_before:
        return _cut(f"{differs} {_GAP} {short.rpartition(f'{_GAP} ')[2]}", cap)
    return f"{_cut(short, cap - len(differs) - 3).removesuffix(_GAP)}{_GAP} {differs}{_GAP}"


def _same_chars(left: str, right: str) -> int:
    """Return how many characters are the same in both from the beginning on."""
    pairs = zip(left[:_COMPARED_CHARS], right[:_COMPARED_CHARS], strict=False)
    return next((n for n, (here, there) in enumerate(pairs) if here != there), min(len(left), len(right)))


def _cut(line: str, cap: int) -> str:
    return line if len(line) <= cap else f"{line[: cap - 1]}{_GAP}"
