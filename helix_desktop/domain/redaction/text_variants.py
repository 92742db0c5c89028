"""The forms in which a text is found: in JSON, in URLs, in Base64, and cut."""

from __future__ import annotations

import json
import re
import string
from base64 import b64encode, urlsafe_b64encode
from bisect import bisect_left
from collections.abc import Iterator

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
    """Return the number of characters with which both texts begin."""
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
