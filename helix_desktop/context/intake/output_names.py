"""The names in what a preview leaves out: they tell an agent what to recall from it, and by which pattern."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain, islice
from math import log1p

from helix_desktop.domain.identifiers import MAX_IDENTIFIED_CHARS, count_identifiers, identifiers_in

_CHARS_PER_TOKEN = 3  # of identifiers, a low estimate
_NAME_OVERHEAD = 4  # characters
_FIRST_DIGITS = 8  # of a UUID, before its first hyphen: patterns that begin with a sign are found fast
_UUID = re.compile(r"-(?<=[0-9a-f]{8}-)[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![\w-])")
_BLOBS = re.compile(r"^index ([0-9a-f]{7,64})\.\.([0-9a-f]{7,64})", re.MULTILINE)  # of a file in a diff
_FIELD = re.compile(r"=([0-9a-f]{12,})(?![\w-])")
MAX_ALIKE = 8  # names that differ in numbers only: more are one series
_DIGITS = re.compile(r"\d+")
_FRAGMENT = re.compile(r"(?=\w*[A-Z])\d\w*")  # a number with a letter, as in an address or a serial number
_OPENING = "[Names in the part not shown: "


def insert_names(preview: str, text: str, max_tokens: int) -> str:
    """Return a preview with the names that it lacks above its marker: frequent and short ones first.

    As recorded agents go on, these lines hold 80 % of the names that their next 20 calls take from a large
    output; head and tail alone hold 21 %.
    """
    visible = count_identifiers(preview)
    chars_left = max_tokens * _CHARS_PER_TOKEN - len(_OPENING)
    names: list[str] = []
    part = text[:MAX_IDENTIFIED_CHARS]
    counts = count_identifiers(part)
    for single in _single_ids(part):
        if counts[single] == 1:
            del counts[single]
    counts = _with_series(counts, visible)
    for name in sorted(counts, key=lambda name: (len(name) + _NAME_OVERHEAD) / log1p(counts[name])):
        if name not in visible and len(name) < chars_left:
            chars_left -= len(name) + 1
            names.append(name)
    body, _, marker = preview.rpartition("\n")
    return f"{body}\n{_OPENING}{' '.join(names)}]\n{marker}" if names else preview


def names_tokens(preview: str) -> int:
    """Return about the tokens of a preview's names, as `insert_names` counts them."""
    line = next((line for line in reversed(preview.splitlines()) if line.startswith(_OPENING)), "")
    return -(-len(line) // _CHARS_PER_TOKEN)


def names_in_output(text: str, max_names: int) -> tuple[str, ...]:
    """Return the identifiers of an output in the order of their first occurrence, at most so many.

    Without ids that occur once.
    """
    part = text[:MAX_IDENTIFIED_CHARS]
    if not (singles := _single_ids(part)):
        return identifiers_in(part)[:max_names]
    counts = count_identifiers(part)
    return tuple(islice((name for name in counts if counts[name] > 1 or name not in singles), max_names))


def _with_series(counts: Counter[str], visible: Counter[str]) -> Counter[str]:
    """Return the names with their counts: many that differ in numbers only as one, without fragments.

    A series that is in sight needs no name.
    """
    series: dict[str, list[str]] = {}
    for name in counts:
        if _FRAGMENT.fullmatch(name) is None:
            series.setdefault(_DIGITS.sub("#", name), []).append(name)
    shown_shapes = {_DIGITS.sub("#", name) for name in visible}
    result: Counter[str] = Counter()
    for shape, names in series.items():
        if len(names) <= MAX_ALIKE:
            result.update({name: counts[name] for name in names})
        elif shape not in shown_shapes:
            result[f"{names[0]} [{len(names)} like this]"] = sum(counts[name] for name in names)
    return result


def _single_ids(text: str) -> set[str]:
    """Return the parts of UUIDs, values such as `trace=` and git blobs that occur once: nobody looks for one.

    Those of single requests fill a log.
    """
    uuids = (text[match.start() - _FIRST_DIGITS : match.end()] for match in _UUID.finditer(text))
    blobs = chain.from_iterable(_BLOBS.findall(text))
    counts = Counter(chain(uuids, _FIELD.findall(text), blobs))
    return {part for value, count in counts.items() if count == 1 for part in value.split("-")}
