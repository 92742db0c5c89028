"""Passages: what a search finds of a session's log, its messages, handovers and names of files."""

from __future__ import annotations

from typing import Literal

import msgspec

from helix_desktop.domain.files.mention import is_whole_name, name_start
from helix_desktop.domain.text_search import normalize

PassageKind = Literal["message", "handover", "file"]
PASSAGE_KINDS: tuple[PassageKind, ...] = ("message", "handover", "file")
MAX_PASSAGE = 1_000_000
"""Characters of a message that are searched: as many as no model has room for."""


class Passage(msgspec.Struct, frozen=True, gc=False):
    """A part of an event that is found by its text. Calls belong to the answer that made them.

    `speaker` is "user" or "agent" for messages, empty for what a program put into one, and for others. The
    name of a file is a path as the session spells it; each is found once in a session, where it was first
    named.
    """

    kind: PassageKind
    text: str
    speaker: Literal["user", "agent", ""] = ""


class PassageQuery(msgspec.Struct, frozen=True):
    """A search for passages that hold all normalized `terms`, newest first.

    `since` is in ms since 1970. `session`: of this one alone. At most `per_session` hits of each session
    (0: all) beside the files that are called so, at most `limit` in all, from `cursor` on (0: from the
    newest). An excerpt has `room` characters, at most `lead` of them before the first word.
    """

    terms: tuple[str, ...]
    kinds: tuple[PassageKind, ...] = PASSAGE_KINDS
    since: int = 0
    session: str = ""
    per_session: int = 0
    limit: int = 100
    cursor: int = 0
    room: int = 160
    lead: int = 40

    def names_file(self, path: str | None) -> bool:
        """Return True if the words are the name of a file, with or without its ending."""
        if path is None:
            return False
        folded = normalize(path)
        return is_whole_name(" ".join(self.terms), folded[name_start(folded) :])


class PassageHit(msgspec.Struct, frozen=True):
    """A passage with all words of a search: where it is, and a line of it, or pieces, that show them."""

    session: str
    seq: int
    at: int
    kind: PassageKind
    excerpt: str
    speaker: Literal["user", "agent", ""] = ""


class PassagePage(msgspec.Struct, frozen=True):
    """What a search found, and the cursor to go on from (0: all was searched).

    Of the sessions `more` further hits may exist beyond `per_session`. `unindexed` of `events` are not in the
    index yet: what they hold is not found. `unreadable` counts damaged events that were skipped.
    """

    hits: tuple[PassageHit, ...] = ()
    cursor: int = 0
    more: tuple[str, ...] = ()
    unindexed: int = 0
    events: int = 0
    unreadable: int = 0
