"""Identifiers: the names in a text by which an agent finds things again.

Paths, file names, symbols of code, names of errors, hashes and `#numbers`. Words of a language are none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Any

import msgspec

MAX_IDENTIFIED_CHARS = 256 * 1024  # of one text: reading names takes about 0.1 µs a character
MAX_LENGTH = 160  # characters; what is longer is data
_LEAST_PART = 2  # characters of the longest part of a path: not of `/g`, which ends a pattern
_MAX_ROW = 1_000  # characters of a row of a search without a space
_RUN = re.compile(r"(?<![\w./@~+#:-])[\w./@~+#:-]{3,}+(?!…)")  # what an ellipsis cuts is the name of nothing
_ASCII_RUN = re.compile(r"[\w./@~+#:-]{3,}+", re.ASCII)  # the same in ASCII, in half the time
_SUFFIX = (
    r"\.(?:"
    r"bash|bat|c|cc|cfg|conf|cpp|cs|css|csv|env|gif|go|gradle|h|hpp|html|ini|ipynb|"
    r"java|jpeg|jpg|js|json|jsonl|jsx|kt|lock|log|lua|m|md|mjs|mod|parquet|patch|"
    r"pdf|php|pl|png|proto|ps1|py|pyi|r|rb|rs|rst|sass|scala|scss|sh|sql|sum|"
    r"svelte|svg|swift|tex|toml|ts|tsx|txt|vue|xml|yaml|yml|zip|zsh"
    r")"
)
_FILE = re.compile(rf"[\w@+-][\w.@+-]*{_SUFFIX}", re.IGNORECASE)
_ROW = re.compile(rf"([^:]*{_SUFFIX})(?::\d+:|-\d+-|-\d+\Z)(.*)", re.IGNORECASE)
"""A row of a search: the file, the number of the line, and what stands in it without a space before."""
_PLACE = re.compile(r":\d+(?:[:-]\d*)?:?\Z")  # a line and a column, or lines, after a path
_WORD = re.compile(r"\w{4,}")
_SYMBOL = re.compile(
    r"(?=.*[A-Za-z])(?:\w*[a-z0-9][A-Z]\w*|_*[^\W_]+(?:_+[^\W_]+)+_*|[A-Z]+[a-z]+[A-Z]\w*"
    r"|[A-Z]{2,}[a-z]{3,}\w*)"
)
_TIME = re.compile(r"\d+[TZ]\d*Z?")  # between the signs of a date and its time, as in logs
_HASH = re.compile(r"(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}")
_NUMBER = re.compile(r"#\d{1,7}(?!\w)")
_TERMINAL_ESCAPE = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")
_QUOTED_ESCAPE = re.compile(
    r"\\(?:(?:x1[bB]|033|e|u001[bB])\[[\d;?]*[A-Za-z]|[nrt](?=[A-Z\\/])"
    r"|(?<![\w:.\\]\\)[nrt](?=\w)|[bBsSdDwW](?=[+*?/)\]|\\]))"
)
_NO_PATH_BEFORE = re.compile(r"(?:(?<=[<)\]}*|^\\])|\$\w+)/")  # in a tag, pattern or glob, behind a variable
_STRESSED = re.compile(r"/(?<![\w./~-]/)[A-Za-z-]+[,;!?]?/(?![\w./])")  # a word, or a flag, between slashes
_SED = re.compile(r"\d*s/")  # a substitution, such as 166s/old/new
_DOUBLE = re.compile(r"(?<!:)//[^/.:]*\Z|-/")  # of a division, a public identifier, or a word cut in two
_VERSION = re.compile(r"https?/\d(?:\.\d)?", re.IGNORECASE)
_LEAST_DIGITS = 8  # characters of a name that begins with a digit: not of 3DIGIT
_ERROR = re.compile(r"[A-Z]\w*(?:Error|Exception)|[A-Z]{1,4}\d{3,5}")


def identifiers_in(text: str) -> tuple[str, ...]:
    """Return the identifiers of a text, each once, in the order of their first occurrence."""
    runs = dict.fromkeys(_runs(text))
    return tuple(dict.fromkeys(chain.from_iterable(map(_identifiers_of_run, runs))))


def count_identifiers(text: str) -> Counter[str]:
    """Return how often each identifier occurs in a text, in the order of their first occurrence."""
    counts: Counter[str] = Counter()
    for run, count in Counter(_runs(text)).items():
        for identifier in _identifiers_of_run(run):
            counts[identifier] += count
    return counts


def _runs(text: str) -> list[str]:
    text = without_escapes(text)
    if "/" in text:
        text = _NO_PATH_BEFORE.sub(" ", _STRESSED.sub(" ", text))
    run = _ASCII_RUN if text.isascii() else _RUN
    return run.findall(text)


def without_escapes(text: str) -> str:
    """Return a text without escape sequences: their last letter would be the first of the next word.

    Those of terminals, and in code those of line ends; a backslash in a path stays.
    """
    if "\x1b" in text:
        text = _TERMINAL_ESCAPE.sub(" ", text)
    return _QUOTED_ESCAPE.sub(" ", text) if "\\" in text else text


def names_in_line(line: str) -> list[str]:
    """Return the words of a rewrite's line of names, in which semicolons separate the groups."""
    return line.replace(";", " ").split()


def argument_text(arguments: str) -> str:
    """Return the strings and numbers in a call's arguments, one a line; other than JSON as it is."""
    try:
        value = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return arguments
    return "\n".join(_strings(value)) if isinstance(value, dict) else arguments


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


@lru_cache(maxsize=65_536)
def _identifiers_of_run(run: str) -> tuple[str, ...]:
    """Return the identifiers in a run of characters; a session's texts repeat most of their runs."""
    if len(run) <= _MAX_ROW and (row := _ROW.fullmatch(run)) is not None:
        return (*_identifiers_of_run(row[1]), *_identifiers_of_run(row[2]))
    if "/" in run:
        path = _PLACE.sub("", run).strip(":#").rstrip("./-:") or run
        return (path,) if len(path) <= MAX_LENGTH and _is_path(path) else ()
    name = _PLACE.sub("", run).strip("#:-").rstrip(".")
    if len(name) <= MAX_LENGTH and _FILE.fullmatch(name):
        return (name,)
    numbers = _NUMBER.findall(run) if "#" in run else ()
    return (*numbers, *(word for word in _WORD.findall(run) if _is_identifier(word)))


def _is_identifier(word: str) -> bool:
    if len(word) > MAX_LENGTH or (word.isalpha() and (word.islower() or word.istitle())):
        return False
    if word[0].isdigit() and (_TIME.fullmatch(word) or len(word) < _LEAST_DIGITS):
        return bool(_HASH.fullmatch(word))
    return bool(_SYMBOL.fullmatch(word) or _HASH.fullmatch(word) or _ERROR.fullmatch(word))


def _is_path(path: str) -> bool:
    """Return True if it has a part that looks like the name of a folder or a file."""
    parts = [part for part in path.split("/") if part]
    if _SED.match(path) or _VERSION.fullmatch(path) or _DOUBLE.search(path):
        return False
    if path.startswith("//") or max(map(len, parts), default=0) < _LEAST_PART:
        return False
    if not parts or not any(any(char.isalpha() for char in part) for part in parts):
        return False
    return path.startswith(("/", "~", "./", "../")) or len(parts) > 1
