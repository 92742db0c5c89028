"""Signs that a user cannot see, or that change how others are seen: what is read must be what is run."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Letters and marks by category, yet drawn as nothing (Unicode: Default_Ignorable_Code_Point; blank Braille).
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065\u2800\u3164\uffa0")
# U+FE0E and U+FE0F are left out: they only choose between text and color.
_BLANK_RANGES = (("\ufe00", "\ufe0d"), ("\ufff0", "\ufff8"), ("\U000e0000", "\U000e0fff"))
_PLAIN = frozenset("\n\t")
_ANY_BLANK = re.compile(f"[{''.join(_BLANK)}{''.join(f'{first}-{last}' for first, last in _BLANK_RANGES)}]")
_DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def repair_surrogates(text: str) -> str:
    """Join surrogate pairs in a text; replace lone surrogates by U+FFFD.

    A paste or a file name can bring them; no store could keep and no server could read them.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def is_hidden(char: str) -> bool:
    """Return True if a character is invisible or affects others; line feed and tab are not hidden."""
    if char.isascii():
        return not (char.isprintable() or char in _PLAIN)
    unseen = unicodedata.category(char) in _INVISIBLE_CATEGORIES or char in _BLANK
    return unseen or any(first <= char <= last for first, last in _BLANK_RANGES)


def first_hidden(text: str) -> str:
    is_printable = text.isprintable() or text.replace("\t", "").replace("\n", "").isprintable()
    if is_printable and (text.isascii() or not _ANY_BLANK.search(text)):
        return ""
    return next(filter(is_hidden, text), "")


def without_direction_signs(text: str) -> str:
    """Return the text without the signs that change the order in which it and what follows is drawn.

    For what is foreign and stands on a line of ours, whose rest it must not move.
    """
    return text if text.isascii() else _DIRECTION.sub("", text)


def escape_hidden(text: str) -> str:
    """Return the text with hidden characters as codes, such as \\u202e."""
    if not first_hidden(text):
        return text
    return "".join(_escape(char) if is_hidden(char) else char for char in text)


def escape_hidden_name(name: str) -> str:
    """Return a file's name on one line, with hidden characters as codes."""
    return escape_hidden(name).replace("\n", _escape("\n")).replace("\t", _escape("\t"))


def escape_undecodable(name: str) -> str:
    """Return a file's name with the bytes of it that are no UTF-8, and its control characters, as codes.

    No text could hold the first; the second end lines, or steer the terminal that prints them.
    """
    if name.isprintable():
        return name
    return "".join(
        _escape(char) if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") else char for char in name
    )


_CODE = re.compile(r"\\u([0-9a-f]{4})|\\U([0-9a-f]{8})")
_MAX_CHARACTER = 0x10FFFF


def unescape_name(name: str) -> str:
    """Return the name that `escape_hidden_name` wrote so; other names as they are."""

    def character(match: re.Match[str]) -> str:
        number = int(match[1] or match[2], 16)
        char = chr(number) if number <= _MAX_CHARACTER else match[0]
        return char if char in {"\n", "\t"} or is_hidden(char) else match[0]

    return _CODE.sub(character, name) if "\\" in name else name


def _escape(char: str) -> str:
    number = ord(char)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"  # noqa: PLR2004 - the last of 4 digits
