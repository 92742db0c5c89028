"""A message of the user in its short form: programs' texts as markers, very long words cut."""

from __future__ import annotations

import msgspec

from helix_desktop.context.intake.marker import marker
from helix_desktop.domain.digest import HEX_DIGITS, bare_marker, digest_of
from helix_desktop.domain.typed_text import ProgramText, message_parts

_LEAST_SAVED_CHARS = 80  # by a marker: one that saves less is not worth a look-up
_CUT_OVER_CHARS = 12_000  # of a message in its short form, some 3,000 tokens: a longer one is cut
_HEAD_CHARS = 6_000
_TAIL_CHARS = 2_000


class StoredText(msgspec.Struct, frozen=True):
    """What a marker stands for: the tool that it is listed under, what it says, and its bytes."""

    digest: str
    tool: str
    about: str
    data: bytes
    text: str


class ShortMessage(msgspec.Struct, frozen=True):
    """A message in its short form, and what its markers stand for. `is_cut`: the user's words are cut."""

    text: str
    stored: tuple[StoredText, ...]
    is_cut: bool = False


def shorten_message(text: str, digits: int = HEX_DIGITS) -> ShortMessage | None:
    """Return a message in its short form, with markers of so many digits; None if it has none."""
    parts: list[str] = []
    stored: list[StoredText] = []
    for part in message_parts(text):
        if isinstance(part, str):
            parts.append(part)
            continue
        content = _stored(part.text, part.kind, part.about)
        line = _marker_line(content, part, digits)
        if len(part.text) - len(line) < _LEAST_SAVED_CHARS:
            parts.append(part.text)
            continue
        parts.append(line)
        stored.append(content)
    short = "".join(parts)
    if len(short) <= _CUT_OVER_CHARS:
        return ShortMessage(short, tuple(stored)) if stored else None
    whole = _stored(text, "message", "a message of the user, whole")
    left_out = len(short) - _HEAD_CHARS - _TAIL_CHARS
    mark = f"[{left_out:,} characters left out; the whole message: {bare_marker(whole.digest, digits)}]"
    cut = f"{short[:_HEAD_CHARS]}\n{mark}\n{short[-_TAIL_CHARS:]}"
    return ShortMessage(cut, (*stored, whole), is_cut=True)


def _stored(text: str, tool: str, about: str) -> StoredText:
    data = text.encode("utf-8", "surrogatepass")
    return StoredText(digest_of(data), tool, about, data, text)


def _marker_line(content: StoredText, program: ProgramText, digits: int) -> str:
    return marker(content.digest, program.kind, "", len(content.data), "", program.about, digits)
