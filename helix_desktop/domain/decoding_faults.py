"""What is wrong with a value that could not be decoded, in the words of whoever wrote it: a user, a model.

The decoding library speaks to programmers, of "`object`" and "`array` - at `$.edits[0]`".
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from helix_desktop.domain.translatable_text import TextContext, TranslatableText, verbatim

text = TextContext("Decoding")

_PLACE = re.compile(r" - at `(?:key in )?\$\.?(.*)`$", re.DOTALL)
_TYPE = re.compile(r"^Expected `([^`]+)`, got `([^`]+)`$")
_BOUND = re.compile(r"^Expected `\w+`( of length)? (>=|<=|>|<) (\S+)$")
_LONE_TYPE = re.compile(r"^Expected `([^`]+)`")
_MISSING = re.compile(r"^Object missing required field `([^`]+)`$")
_UNKNOWN = re.compile(r"^Object contains unknown field `([^`]*)`$", re.DOTALL)
_VALUE = re.compile(r"^Invalid (?:enum )?value (.+)$", re.DOTALL)
_MALFORMED = re.compile(r"^JSON is malformed: (.+) \(byte (\d+)\)$")
_TRUNCATED = "Input data was truncated"

_TYPES: Mapping[str, TranslatableText] = {
    "int": text("a whole number"),
    "float": text("a number"),
    "bool": text("true or false"),
    "str": text("text"),
    "object": text("an object"),
    "array": text("a list"),
    "null": text("nothing"),
}
_WHOLE = text("The value")


def is_cut_off(error: Exception, decoded: str) -> bool:
    """Return True if the object that was decoded ended in the middle."""
    # The library says so of half a character too.
    return str(error) == _TRUNCATED and not decoded.rstrip().endswith("}")


def fault_field(error: Exception) -> str:
    """Return the field at the top in which a fault is; empty if it is in none."""
    message = str(error)
    if place := _PLACE.search(message):
        return re.split(r"[.\[]", place[1])[0]
    match = _UNKNOWN.match(message) or _MISSING.match(message)
    return match[1] if match else ""


def decoding_fault(error: Exception) -> TranslatableText:
    """Return what is wrong and where, as a sentence. Words of our own in an error stay as they are."""
    found = _PLACE.search(str(error))
    place = found[1] if found else ""
    message = _PLACE.sub("", str(error))
    name = verbatim(place) if place else _WHOLE
    inside = f"{place}." if place else ""
    if match := _TYPE.match(message):
        return text(
            "{place} must be {expected} (got {actual}).",
            place=name,
            expected=_types(match[1]),
            actual=_types(match[2]),
        )
    if match := _BOUND.match(message):
        return _bound(name, match)
    if match := _MISSING.match(message):
        return text("{field} is missing.", field=inside + match[1])
    if match := _UNKNOWN.match(message):
        return text("Unknown field {field}.", field=inside + match[1])
    if match := _VALUE.match(message):
        return text("{place} can't be {value}.", place=name, value=match[1])
    if match := _MALFORMED.match(message):
        return text("It isn't valid JSON at byte {number}: {reason}.", number=match[2], reason=match[1])
    if message == _TRUNCATED:
        return text("The JSON isn't complete.")
    if match := _LONE_TYPE.match(message):
        return text("{place} must be {expected}.", place=name, expected=_types(match[1]))
    return verbatim(message if message.endswith((".", "!", "?")) else f"{message}.")


def _bound(name: TranslatableText, match: re.Match[str]) -> TranslatableText:
    is_least = match[2].startswith(">")
    limit = match[3]
    if match[1]:
        return (
            text("The length of {place} must be at least {limit}.", place=name, limit=limit)
            if is_least
            else text("The length of {place} must be at most {limit}.", place=name, limit=limit)
        )
    return (
        text("{place} must be at least {limit}.", place=name, limit=limit)
        if is_least
        else text("{place} must be at most {limit}.", place=name, limit=limit)
    )


def _types(names: str) -> TranslatableText:
    """Return the kinds of value that a fault names, such as "str | null"."""
    first, *others = [_TYPES.get(name, verbatim(name)) for name in names.split(" | ")]
    for other in others:
        first = text("{one} or {other}", one=first, other=other)
    return first
