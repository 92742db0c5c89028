"""The forms in which a text is found, in JSON, URLs, Base64, cut; and a bug report without the user's own.

Notes, names and summaries repeat a removed output by its lines, with single spaces, and may cut the end of
one.
"""

from __future__ import annotations

import json
import re
import string
from base64 import b64encode, urlsafe_b64encode
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from helix_desktop.domain.identifiers import identifiers_in, names_in_line
from helix_desktop.domain.unicode_safety import without_direction_signs

MIN_BASE64_BYTES = 8  # of a text that is looked for in Base64: parts of shorter ones stand anywhere by chance
_BITS, _GROUP = 6, 3  # of a character of Base64; bytes after which its pattern repeats
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
    before, after = text[start - 1 : start], text[end : end + 1]
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
            first, stop = -(-8 * prefix_size // _BITS), 8 * (prefix_size + len(data)) // _BITS
            yield shared[first:stop]  # the characters that hold nothing of what stands around it


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


REMOVED = "[removed]"
MIN_SECRET_LENGTH = 4  # characters: a shorter value would be removed from words that mean something else
_NAMED_SECRET = re.compile(
    r"(?i)\b((?:api[_-]?|access[_-]?|secret[_-]?)?(?:key|token|secret|password|passwd)|authorization|bearer)"
    r"(['\"]?\s*[=:\s]\s*['\"]?(?:bearer\s+)?)([^\s'\",;&]{6,})"
)
_ASSIGNED_SECRET = re.compile(  # in a variable of a longer name: DB_PASSWORD, OPENAI_API_KEY, clientSecret
    r"(?i)\b(\w*(?:secret|password|passwd|(?:_|api|access|auth)(?:key|token)))"
    r"(['\"]?\s*[=:]\s*['\"]?)([^\s'\",;&]{6,})"
)
_LOGIN = re.compile(r"(?<=://)[^/\s@]+@")
_KEY = re.compile(r"\b(?:sk|pk|ghp|gho|glpat|xox[a-z]|AKIA|AIza)[-_]?[A-Za-z0-9_-]{12,}")
_LONG_TOKEN = re.compile(r"\b(?=[A-Za-z0-9_-]{0,80}\d)(?=[A-Za-z0-9_-]{0,80}[G-Zg-z])[A-Za-z0-9_-]{32,}\b")
_SHA = re.compile(r"[0-9a-f]{32,64}")
_NAME_OF_WORDS = re.compile(r"(?:[A-Za-z]{1,16}|\d{1,4})(?:[_-]+(?:[A-Za-z]{1,16}|\d{1,4})){3,}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_EMAIL = re.compile(r"[\w.%+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")


Substitution = str | Callable[[re.Match[str]], str]


@dataclass(frozen=True)
class ReportRedaction:
    """What to remove: `secrets` by value in every encoded form, the path of the home folder, and `names`.

    `names` maps a name or path of the user's to what stands for it: whole words, the longest first.
    """

    home: str
    secrets: Sequence[str] = field(default=(), repr=False)
    names: Mapping[str, str] = field(default_factory=dict)

    def redact(self, text: str) -> str:
        """Return the text without any of it, and without what has the form of a key or an address.

        Works line by line, so that a thread that does this lets others run.
        """
        substitutions = tuple(self._substitutions())
        lines = []
        for line in self._without_secrets(text).split("\n"):
            redacted = line
            for pattern, replacement in substitutions:
                redacted = pattern.sub(replacement, redacted)
            lines.append(redacted)
        # What was put in could complete a secret: "~" and a name stand where something else was.
        return self._without_secrets("\n".join(lines))

    def _without_secrets(self, text: str) -> str:
        values = (value for value in self.secrets if len(value.strip()) >= MIN_SECRET_LENGTH)
        variants = {variant for value in values for variant in encoded_variants(value)}
        for variant in sorted(variants, key=len, reverse=True):
            text = text.replace(variant, REMOVED)
        return text

    def _substitutions(self) -> Iterator[tuple[re.Pattern[str], Substitution]]:
        yield from _FORMS
        if self.names:
            yield (re.compile(rf"(?<!\w)(?:{_any_of(self.names)})(?!\w)"), lambda match: self.names[match[0]])
        home = self.home.rstrip("/\\")
        if len(home) >= MIN_SECRET_LENGTH:  # of a user without one it is the root folder
            user = re.split(r"[/\\]", home)[-1]
            yield re.compile(_any_of(encoded_variants(home)), re.IGNORECASE), "~"
            # Another folder of the same user, as on a second disk.
            yield re.compile(rf"(?<=[/\\]){re.escape(user)}(?=[/\\]|$)"), "[user]"


def has_form_of_secret(text: str) -> bool:
    """Return True if something in a text has the form of a key, a token or a login."""
    return any(form.sub(mark, text) != text for form, mark in _SECRETS)


def _any_of(texts: Iterable[str]) -> str:
    return "|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True))


def _token_mark(match: re.Match[str]) -> str:
    """Keep names of several words, and digests and ids of ours: those lead to nothing elsewhere."""
    token = match[0]
    if _SHA.fullmatch(token) or _UUID.fullmatch(token) or _NAME_OF_WORDS.fullmatch(token):
        return token
    return REMOVED


def _named_mark(match: re.Match[str]) -> str:
    """Keep what code sorts by: `key=lambda`, `key=str.lower`."""
    is_code = match[1] == "key" and match[2] == "=" and re.fullmatch(r"[a-z_.]+", match[3])
    return match[0] if is_code else f"{match[1]}{match[2]}{REMOVED}"


_SECRETS: tuple[tuple[re.Pattern[str], Substitution], ...] = (
    (_NAMED_SECRET, _named_mark),
    (_ASSIGNED_SECRET, rf"\1\2{REMOVED}"),
    (_LOGIN, f"{REMOVED}@"),
    (_KEY, REMOVED),
    (_LONG_TOKEN, _token_mark),
)
_FORMS = (*_SECRETS, (_EMAIL, REMOVED))
