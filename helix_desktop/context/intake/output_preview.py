"""Intake: the shown form of an output that is too large to stand whole in the window."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from helix_desktop.domain.digest import bare_marker

CHARS_PER_TOKEN = 3  # low estimate for code and logs, so that a preview stays under its budget
MIN_BUDGET = 10  # tokens; less would show nothing
_HEAD_SHARE, _TAIL_SHARE = 0.55, 0.25  # the rest, at most, is for lines that tell of errors
_LINE_CAP = 200  # characters of a telling line
_NUMBER_CAP = 12  # characters of a line's number
_SEARCHED = 65_536  # characters of a line that are looked at: a search holds up all other threads
_STRONG_ERROR_PATTERN = re.compile(
    r"\b(?:Traceback|fatal|FATAL|panic(?:ked)?|Segmentation fault|FAILED|FAILURES?|ERROR|Error|Exception)\b"
    r"|\b[A-Z]\w*(?:Error|Exception)\b|\berror(?:\[\w+\])?:|\bexit (?:code|status) [1-9]"
)
_ERROR_PATTERN = re.compile(
    r"(?<!no )(?<!\b0 )(?:error|fail)|exception|fatal|traceback|panic|denied|not found|exit code",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"\d+|0x[0-9a-f]+")


class _ErrorLine(msgspec.Struct, frozen=True):
    """A line that tells of an error: its number from 1, its words, and how much it matters (least first)."""

    number: int
    text: str
    rank: int


def preview_output(text: str, digest: str, budget: int, exit_code: int | None = None) -> str:
    """Head, lines that tell of errors, and tail in about `budget` tokens, then the marker.

    Lines between head and tail stand with their numbers, as recall takes them; an exit code that no shown
    line names is added.
    """
    room = max(budget, MIN_BUDGET) * CHARS_PER_TOKEN
    shown = text if len(text) <= room else _shorten(text, digest, room, exit_code)
    return shown if len(shown) < len(text) else text


def _shorten(text: str, digest: str, max_chars: int, exit_code: int | None) -> str:
    tail = _drop_cut_line(text[-int(max_chars * _TAIL_SHARE) :], from_end=True)
    end = len(text) - len(tail)
    head = _drop_cut_line(text[: int(max_chars * _HEAD_SHARE)], from_end=False)
    spare = max_chars - len(head) - len(tail)
    telling = _select_lines(list(_error_lines(text, len(head), end, min(_LINE_CAP, spare))), spare)
    spare -= sum(len(line) + 1 for line in telling.values())
    longer = _drop_cut_line(
        text[: len(head) + spare], from_end=False
    )  # what nothing told of goes to the head
    head = longer if len(longer) > len(head) else head
    first = text.count("\n", 0, len(head)) + text.startswith("\n", len(head)) + 1
    kept = [line for number, line in telling.items() if number >= first]
    gap = _gap_text(text, len(head), end, bool(kept))
    shown = "\n".join(part for part in (head, gap, *kept, tail) if part)
    if exit_code is not None and f"exit code {exit_code}" not in shown:
        shown = f"exit code {exit_code}\n{shown}"
    return f"{shown}\n{bare_marker(digest)} the whole output"


def _drop_cut_line(text: str, from_end: bool) -> str:
    """`text` without the line that the cut went through, unless nothing else would be left."""
    whole = text.partition("\n")[2] if from_end else text.rpartition("\n")[0]
    return whole if whole.strip() else text


def _gap_text(text: str, start: int, end: int, followed: bool) -> str:
    """What is said of the stretch that is not shown."""
    start += text.startswith("\n", start)
    end -= text.endswith("\n", start, end)
    first, last = text.count("\n", 0, start) + 1, text.count("\n", 0, end) + 1
    what = f"{last - first + 1:,} lines not shown ({first}-{last})"
    if first == last:
        what = f"{end - start:,} characters of line {first} not shown"
    return f"[… {what}; of them:]" if followed else f"[… {what} …]"


def _error_lines(text: str, start: int, end: int, cap: int) -> Iterator[_ErrorLine]:
    """Lines between two places that tell of an error, one of each shape; the last loud one ranks first."""
    number = text.count("\n", 0, start) + 1
    seen: set[str] = set()
    last: _ErrorLine | None = None
    for line in text[start:end].split("\n"):
        if (said := _ERROR_PATTERN.search(line, 0, _SEARCHED)) is not None:
            loud = _STRONG_ERROR_PATTERN.search(line, 0, _SEARCHED)
            at = (loud or said).start()
            words = line[max(0, at - cap // 4) :][: cap - _NUMBER_CAP] if len(line) > cap else line
            found = _ErrorLine(number, " ".join(words.split()), 0 if loud else 1)
            last = found if loud else last
            shape = _NUMBERS.sub("#", found.text)
            if shape not in seen:
                seen.add(shape)
                yield found
        number += 1
    if last is not None:
        yield msgspec.structs.replace(last, rank=-1)


def _select_lines(error_lines: list[_ErrorLine], max_chars: int) -> dict[int, str]:
    """The loudest lines that fit in `room` characters, by number, in their order."""
    kept: dict[int, str] = {}
    for one in sorted(error_lines, key=lambda one: (one.rank, one.number)):
        line = f"{one.number}: {one.text}"
        if one.number not in kept and len(line) < max_chars:
            kept[one.number] = line
            max_chars -= len(line) + 1
    return dict(sorted(kept.items()))
