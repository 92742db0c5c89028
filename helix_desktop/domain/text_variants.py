"""The forms in which a text is found: in JSON, URLs, Base64, cut, or in copies of an output.

Notes, names and summaries repeat a removed output by its lines, with single spaces, and may cut the end of
one.
"""

from __future__ import annotations

import json
import re
import string
from base64 import b64encode, urlsafe_b64encode
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from itertools import chain

from helix_desktop.domain.identifiers import identifiers_in, names_in_line
from helix_desktop.domain.unicode_safety import without_direction_signs

MIN_BASE64_BYTES = 8  # of a text that is looked for in Base64: parts of shorter ones stand anywhere by chance
_BITS = 6  # of a character of Base64
_GROUP = 3  # bytes after which the pattern of Base64 repeats
_UNRESERVED = string.ascii_letters + string.digits + "_.-~"
_EXTRA_UNESCAPED = (
    "",
    "/",
    "!'()*",
    "!'()*/",
)  # what the usual encoders of addresses leave as it is beside these
_MIN_OF_CUT = 8  # characters by which a text is found that was cut, of a short one half of it
SURE = 16
"""Characters by which a part of a text is found also in a longer word."""

_CUT = re.compile(r"\s{0,2}\[?…")  # what stands where a text was cut
_CUT_BEFORE = re.compile(r"…\]?\s?")
_ESCAPE = re.compile("%[0-9A-F]{2}")


def encoded_variants(text: str) -> tuple[str, ...]:
    """Return the text and its encoded variants, each once; replacing them in this order misses none.

    Base64 broken into lines is not among them.
    """
    variants = [text, *_json_variants(text), *_url_variants(text), *_base64_variants(text)]
    return tuple(dict.fromkeys(variants))


def redact_cut_parts(text: str, secret: str, mark: str) -> str:
    """Return a text with `mark` for each part of a secret that a title, a note or a summary cut off.

    Found is what borders the place of the cut: at least half of the secret or eight characters. Less of it
    also begins or ends other words. Space around the secret is not part of it.
    """
    if "…" not in text:
        return text
    secret = secret.strip()
    least = min(_MIN_OF_CUT, -(-len(secret) // 2))
    return redact_cut_rest(_without_beginning(text, secret, mark, least), secret, mark, least)


def _without_beginning(text: str, secret: str, mark: str, least: int) -> str:
    head = secret[:least]
    start = text.find(head)
    while start >= 0:
        end = start + common_length(text[start : start + len(secret)], secret)
        end = start + len(text[start:end].rstrip())
        if _CUT.match(text, end) and (end - start >= SURE or not is_inside_word(text, start, end)):
            text = f"{text[:start]}{mark}{text[end:]}"
            end = start + len(mark)
        start = text.find(head, end)
    return text


def redact_cut_rest(text: str, secret: str, mark: str, least: int) -> str:
    """Return a text without what a cut left of a secret behind it: its end, or all up to the next cut.

    Sixteen characters of it are enough wherever they end.
    """
    rest = secret[1:]
    cut = _CUT_BEFORE.search(text)
    while cut is not None:
        start = cut.end()
        end = _end_of_rest(text, start, rest, least)
        if end > start:
            text = f"{text[:start]}{mark}{text[end:]}"
            start += len(mark)
        cut = _CUT_BEFORE.search(text, start)
    return text


def _end_of_rest(text: str, start: int, rest: str, least: int) -> int:
    """Return where what was left of a secret ends; `start` if nothing of it stands there."""

    def is_other(size: int) -> bool:
        return text[start : start + size] not in rest

    max_size = min(len(rest), len(text) - start)
    if max_size < least or is_other(least):  # mostly so: all else takes time
        return start
    size = bisect_left(range(max_size + 1), True, least, key=is_other) - 1
    if size >= SURE:
        return start + size
    for end in range(start + size, start + least - 1, -1):
        is_end = rest.endswith(text[start:end]) and not is_inside_word(text, start, end)
        if is_end or _CUT.match(text, end):
            return end
    return start


def is_inside_word(text: str, start: int, end: int) -> bool:
    """Return True if what stands there is a part of longer words only."""
    before = text[start - 1 : start]
    after = text[end : end + 1]
    return (before.isalnum() and text[start].isalnum()) or (after.isalnum() and text[end - 1].isalnum())


def common_length(left: str, right: str) -> int:
    return next(
        (n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
    )


def _json_variants(text: str) -> Iterator[str]:
    for ensure_ascii in (False, True):
        once = json.dumps(text, ensure_ascii=ensure_ascii)[1:-1]
        yield json.dumps(once, ensure_ascii=ensure_ascii)[
            1:-1
        ]  # JSON in a string of JSON, as in a call's arguments
        yield once


def _url_variants(text: str) -> Iterator[str]:
    for unescaped in _EXTRA_UNESCAPED:
        encoded = _percent_encode(text, _UNRESERVED + unescaped)
        for variant in (encoded, encoded.replace("%20", "+")):
            yield variant
            yield _ESCAPE.sub(lambda match: match[0].lower(), variant)


def _percent_encode(text: str, unescaped: str) -> str:
    data = text.encode("utf-8", "surrogatepass")
    return "".join(chr(byte) if chr(byte) in unescaped else f"%{byte:02X}" for byte in data)


def _base64_variants(text: str) -> Iterator[str]:
    data = text.encode("utf-8", "surrogatepass")
    if len(data) >= MIN_BASE64_BYTES:
        yield from _base64_of(data)
        yield from _base64_of(text.encode("utf-16-le", "surrogatepass"))  # what PowerShell takes


def _base64_of(data: bytes) -> Iterator[str]:
    for encode in (b64encode, urlsafe_b64encode):
        padded = encode(data).decode()
        yield from (padded, padded.rstrip("="))
        for prefix_size in range(_GROUP):  # bytes that share its first group
            shared = encode(bytes(prefix_size) + data).decode()
            first = -(-8 * prefix_size // _BITS)
            stop = 8 * (prefix_size + len(data)) // _BITS
            yield shared[first:stop]  # the characters that hold nothing of what stands around it


# A line that has fewer is not looked for in all places: it may mean something else there.
_MIN_CHARS = 8
_MIN_LETTERS = 4
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


def join_result(lines: Iterable[str]) -> str:
    """Return the lines of what a call gave as a note or a ledger states them."""
    return " | ".join(lines).replace(": | ", ": ")


def _result_pattern(lines: Collection[str], mark: str) -> re.Pattern[str] | None:
    """Return the pattern of what `join_result` makes of some of these lines.

    The longer ones of them are marks by then.
    """
    ordered = sorted(filter(None, lines), key=len, reverse=True)
    if not ordered:
        return None
    line = "|".join(map(re.escape, (mark, *ordered)))
    return re.compile(
        rf"(→ |\be\d+: )(“?(?:{line})(?:(?: \| |(?<=:) )(?:{line}))*”?)(?=[,;]|\s*$)", re.MULTILINE
    )
