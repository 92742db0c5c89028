"""Making foreign text fit to be shown: long lines folded, escapes and hidden signs made harmless."""

from __future__ import annotations

import re

from PySide6.QtGui import Qt

from helix_desktop.domain.translatable_text import change_facts
from helix_desktop.domain.unicode_safety import escape_hidden
from helix_desktop.words.translation import translate

LINE_LIMIT = 2_000  # characters; one unbroken line of 200,000 takes seconds to lay out
_TOOLTIP_CHARS = 100  # of a line of a tooltip that stays in one line

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_OTHER_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")


def clean_output(text: str) -> str:
    """Return a program's output without terminal escapes and control signs; lines end with a line feed."""
    text = _ESCAPES.sub("", text.replace("\r\n", "\n"))
    if "\t" in text or _CONTROLS.search(text) is not None:
        return _CONTROLS.sub("", text.replace("\r", "\n")).expandtabs(8)
    return text


def escape_invisible(text: str) -> str:
    """Return a text, in the user's language, whose foreign words have hidden signs as visible codes.

    For what a user is asked to approve: what is read must be what is run.
    """
    return translate(change_facts(text, escape_hidden))


def escape_command(text: str) -> str:
    """Return a command as `escape_invisible` does, and with spaces that only look like plain ones as codes.

    To a shell they are part of a word.
    """
    return translate(change_facts(text, _escape_spaces))


def _escape_spaces(text: str) -> str:
    return _OTHER_SPACES.sub(lambda match: f"\\u{ord(match.group()):04x}", escape_hidden(text))


def plain_tooltip(text: str) -> str:
    """Return a text for a tooltip that shows it as it is, also where Qt would take a name for markup.

    Long lines wrap: Qt does that with markup only, and a sentence in one line is wider than the screen.
    """
    if Qt.mightBeRichText(text) or any(len(line) > _TOOLTIP_CHARS for line in text.splitlines()):
        return Qt.convertFromPlainText(text, Qt.WhiteSpaceMode.WhiteSpaceNormal)
    return text


def wrap_long_line(line: str) -> list[str]:
    """Return a line in parts of at most LINE_LIMIT characters, cut behind a space; joined they are the line.

    Where half of a part has no space, it is cut anywhere.
    """
    parts = list[str]()
    at = 0
    while len(line) - at > LINE_LIMIT:
        space = line.rfind(" ", at + LINE_LIMIT // 2, at + LINE_LIMIT)
        end = space + 1 if space >= 0 else at + LINE_LIMIT
        parts.append(line[at:end])
        at = end
    return [*parts, line[at:]]
