"""The words of a removed output in later texts: notes, names, summaries, answers of the cache's tools.

They repeat it by its lines, with single spaces, and may cut the end of one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import chain

from helix_desktop.domain.identifiers import identifiers_in, names_in_line
from helix_desktop.domain.redaction.text_variants import SURE, common_length, is_inside_word, redact_cut_rest
from helix_desktop.domain.unicode_safety import without_direction_signs

_MIN_CHARS, _MIN_LETTERS = 8, 4  # of a line that is looked for anywhere: shorter ones mean something else
_MIN_RESULT = 4  # characters of what is looked for only where a note states what a call gave
_HEAD_CHARS = 40  # characters by which a line is found whose end was cut
_MIN_OF_LONG = 160  # characters of a line of which a search can show a part that is not its head
_RESULT_CHARS = 400  # characters of an output that a note can state whole
_NUMBERED = re.compile(r"\A\s*\d+(?:→|\t|: ?|\| ?)")
_QUOTED = re.compile(r'"(.+)"')
_NAMES_LINE = re.compile(r"^\[Names .*$", re.MULTILINE)


class OutputCopies:
    """What is looked for in the texts that came after an output."""

    def __init__(self, texts: Iterable[str], names: Iterable[str], mark: str) -> None:
        """`texts` are its shown forms and what was said of it; `mark` stands for it in other texts.

        `names` are the identifiers in it that lines of names can have, beside those in the texts.
        """
        self._mark = mark
        self.texts = tuple(text for text in dict.fromkeys(texts) if text and mark not in text)
        lines = {line for text in self.texts for line in _lines(text)}
        self._lines = tuple(sorted(filter(_is_informative, lines), key=len, reverse=True))
        self._long_lines = "\n".join(line for line in self._lines if len(line) >= _MIN_OF_LONG)
        self._result = _result_pattern(
            {line for text in self.texts if len(text) <= _RESULT_CHARS for line in _lines(text)}, mark
        )
        self.names = frozenset(chain(names, *map(identifiers_in, self.texts)))

    def remove_from(self, text: str) -> str:
        """Return a text without these words."""
        for line in self._lines:
            text = self._without_line(text, line)
        text = redact_cut_rest(text, self._long_lines, self._mark, SURE)
        if self._result is not None:
            text = self._result.sub(self._without_result, text)
        return _NAMES_LINE.sub(lambda match: self._without_names(match[0]), text)

    def _without_line(self, text: str, line: str) -> str:
        head = line[:_HEAD_CHARS]
        start = text.find(head)
        while start >= 0:
            end = start + common_length(text[start : start + len(line)], line)
            if is_inside_word(text, start, end):
                start = text.find(head, end)
                continue
            text = f"{text[:start]}{self._mark}{text[end:].removeprefix('…')}"
            start = text.find(head, start + len(self._mark))
        return text

    def _without_result(self, match: re.Match[str]) -> str:
        return f"{match[1]}{self._mark}" if len(match[2]) >= _MIN_RESULT else match[0]

    def _without_names(self, line: str) -> str:
        for name in self.names.intersection(names_in_line(line)):
            line = re.sub(rf" {re.escape(name)}(?=[ ;]|$)", "", line)
        return line


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text as notes, summaries and searches repeat them."""
    for raw in without_direction_signs(text).splitlines():
        plain = _NUMBERED.sub("", raw)
        quoted = _QUOTED.search(raw)
        for line in (raw, plain, quoted[1] if quoted else ""):
            one_line = " ".join(line.split())
            yield from (line.strip(), one_line, one_line.replace("“", '"').replace("”", '"'))


def _is_informative(line: str) -> bool:
    return len(line) >= _MIN_CHARS and sum(map(str.isalnum, line)) >= _MIN_LETTERS


def _result_pattern(lines: Collection[str], mark: str) -> re.Pattern[str] | None:
    """Return the pattern of a note's or ledger's statement what a call gave: lines, joined by slashes.

    The longer ones of them are marks by then.
    """
    ordered = sorted(filter(None, lines), key=len, reverse=True)
    if not ordered:
        return None
    line = "|".join(map(re.escape, (mark, *ordered)))
    return re.compile(rf"(→ |\be\d+: )(“?(?:{line})(?: / (?:{line}))*”?)(?=[,;]|\s*$)", re.MULTILINE)
