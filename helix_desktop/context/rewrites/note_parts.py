"""The parts of a fold's note and of a line of names: their tokens add up to those of the whole text."""

from __future__ import annotations

import re

from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.rewrites.anchors import FOLD_TITLE, SWEEP_TITLE
from helix_desktop.context.rewrites.fold_note import note_lines, render_fold_note
from helix_desktop.domain.events.conversation import UserSpoke

_LINE_END = re.compile(r"\n(?=[^\s/])")
"""Where lines can be cut without changing the tokens: no piece of a vocabulary's pattern goes on behind a
line break but with further white space, or with a slash behind punctuation."""
_LISTS = ("did: ", "did e", "[")
"""How the lines begin whose words come again in others: calls, headings, names."""
_WORD = re.compile(
    r" e(?=\d+[-:])|-e(?=\d+:)|\d+(?=[-:])"  # the events of a group of names
    r"| ?\S*[0-9A-Za-z](?=[!-/:-@[-`{-~]*(?: |\n?\Z))"  # up to the last letter or digit
    r"|(?<=[0-9A-Za-z])(?:[!-/:-@[-`{-~]+(?:(?= )|\n?\Z)|\n\Z)"  # the punctuation behind it, its own piece
    r"| ?\S+(?:\n\Z)?"
)


def note_parts(text: str) -> list[str]:
    """Return the parts of a text: its lines, of those that list something the words."""
    *lines, last = _LINE_END.split(text)
    parts: list[str] = []
    for line in lines:
        _add_parts(parts, f"{line}\n")
    _add_parts(parts, last)
    return parts


def _add_parts(parts: list[str], line: str) -> None:
    words = _WORD.findall(line) if line.startswith(_LISTS) else ()
    if sum(map(len, words)) == len(line):  # else there is more than one space between two words
        parts += words
    else:
        parts.append(line)


_HEADINGS = (*note_parts(f"{render_fold_note((), '', 0)}\n{FOLD_TITLE}"), *note_parts(f"\n{SWEEP_TITLE}"))


def parts_of_message(item: LogItem) -> tuple[str, ...]:
    """Return the parts that notes and lines of names have of a message; of the user's also their headings."""
    lines = note_parts("\n".join([*note_lines([item]), ""]))
    if isinstance(item.event, UserSpoke):
        return *_HEADINGS, *lines
    return f"{item.seq}", *(f" {name}" for name in item.event.identifiers), *lines
