"""Read an index entry: what each of its lines stands for."""

from __future__ import annotations

import re

import msgspec

_CONTENT = re.compile(r"([0-9a-f]{64}) (?:e(\d+) )?(.*)")
_WORDS = re.compile(r"e(\d+) (user|agent|call):? ")
FURTHER = "| "
"""Begins each further line of a message in an index, so that none can pass for an entry."""


class IndexLine(msgspec.Struct, frozen=True):
    """What a line of an index stands for: a content, by its digest, or a message or a call, by its text.

    `seq` is the event, 0 for an earlier index. `label` is a content's description, or who speaks: `user`,
    `agent`, or `call` for a call with its arguments.
    """

    seq: int
    label: str
    digest: str = ""
    text: str = ""


def parse_index(text: str) -> list[IndexLine]:
    """Return the lines of an index in its order; message texts are whole again, line ends included."""
    entries: list[IndexLine] = []
    parts: list[str] = []
    for line in f"{text}\n".splitlines(keepends=True):
        content, words = _CONTENT.match(line), _WORDS.match(line)
        if content or words:
            _end_message(entries, parts)
        if content:
            entries.append(IndexLine(int(content[2] or 0), content[3], content[1]))
        elif words:
            entries.append(IndexLine(int(words[1]), words[2]))
            parts = [line[words.end() :]]
        elif parts:
            parts.append(line.removeprefix(FURTHER))
    _end_message(entries, parts)
    return entries


def _end_message(entries: list[IndexLine], parts: list[str]) -> None:
    """Give the newest entry the text of its parts, if there are any, and empty them."""
    if parts:
        entries[-1] = msgspec.structs.replace(entries[-1], text="".join(parts).removesuffix("\n"))
        parts.clear()
