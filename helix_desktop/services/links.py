"""Links into Helix Desktop: a link shows what is there; it never fetches, runs or changes anything.

They read `helix:open?workspace=UUID`, `helix:content/SHA-256?workspace=UUID` and
`helix:session/ID?workspace=UUID`, and nothing else.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from helix_desktop.domain.digest import HEX_DIGITS
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import escape_hidden_name, first_hidden

text = TextContext("Services")

SCHEME = "helix:"
FILE_SCHEME = "file:"
MAX_LENGTH = 400  # characters; the longest that there can be has 160
_SHOWN_CHARS = 80  # characters of a wrong link that are told
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_LINK = re.compile(
    rf"(?:open|content/(?P<digest>[0-9a-f]{{{HEX_DIGITS}}})|session/(?P<session>[0-9a-f]{{32}}))"
    rf"\?workspace=(?P<workspace>{_UUID})"
)
_FIX = text("Copy the whole link again, on one line.")


class Link(NamedTuple):
    """The target of a link: a workspace, or one content or session of it."""

    workspace_id: str
    digest: str = ""
    session_id: str = ""

    @property
    def text(self) -> str:
        place = (
            f"content/{self.digest}"
            if self.digest
            else f"session/{self.session_id}"
            if self.session_id
            else ""
        )
        return f"{SCHEME}{place or 'open'}?workspace={self.workspace_id}"


def is_link(text: str) -> bool:
    return text[: len(SCHEME)].lower() == SCHEME


def parse_link(link: str) -> Link:
    """Parse a link. Raises InvalidInput for anything that is not exactly one."""
    if len(link) > MAX_LENGTH:
        raise InvalidInput(
            text("This link is too long."),
            text("A link has at most {limit} characters.", limit=MAX_LENGTH),
            _FIX,
        )
    if first_hidden(link) or not link.isprintable():
        raise InvalidInput(
            text("This link contains hidden characters."),
            text("They could make it open something other than it shows."),
            _FIX,
        )
    match = _LINK.fullmatch(link[len(SCHEME) :]) if is_link(link) else None
    if match is None:
        short_link = escape_hidden_name(link[:_SHOWN_CHARS]) + ("…" if len(link) > _SHOWN_CHARS else "")
        raise InvalidInput(
            text("This link can't be opened."),
            text("It must name a workspace, a session or an output (got {link}).", link=short_link),
            _FIX,
        )
    return Link(match["workspace"], match["digest"] or "", match["session"] or "")
