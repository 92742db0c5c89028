"""What a handover without a model says twice: its sentences quote the messages and the ledger below them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from helix_desktop.context.summaries.handover_fallback import ANSWERED_REQUEST, LAST_REQUEST, OPENING
from helix_desktop.domain.events.summary import NO_MODEL, Bullet, HandoverMade, Section

_QUOTED, _LISTED = "Quoted below", "In the ledger below"
_WORD = re.compile(r"[\w./-]+")
_REQUEST_LABELS = (OPENING, LAST_REQUEST, ANSWERED_REQUEST, "Last request covered here")
"""How a sentence begins that quotes a request; the last one in handovers of older versions."""
_LABEL_WORDS = frozenset(["Changed", "Committed", "Opened", "Ran", "exit", "ended", "with", "failed"])
_FROM_LEDGER = ("Completed Work", "Current Issues")


def without_repeats(handover: HandoverMade, verbatim: Sequence[str]) -> HandoverMade:
    """Return the handover as it is sent, where these messages of the user stand `verbatim` below it.

    Of a section whose sentences they or the ledger say whole, where they stand is left. What a model or the
    user wrote stays.
    """
    if handover.edited or handover.model not in ("", NO_MODEL):
        return handover
    texts = [_plain(text) for text in verbatim]
    lines = handover.ledger.splitlines()
    sections = tuple(_without_repeats(section, texts, lines) for section in handover.sections)
    return msgspec.structs.replace(handover, sections=sections)


def _without_repeats(section: Section, texts: Sequence[str], lines: Sequence[str]) -> Section:
    bullets: list[Bullet] = []
    repeated: dict[str, list[int]] = {}
    for bullet in section.bullets:
        label = next((label for label in _REQUEST_LABELS if bullet.text.startswith(f"{label}: ")), "")
        words = _plain(bullet.text.removeprefix(f"{label}: ")).removesuffix("…").rstrip()
        if any(words in text for text in texts):
            if label:
                bullets.append(Bullet(f"{label}: {_QUOTED.lower()}", bullet.sources))
            else:
                repeated.setdefault(_QUOTED, []).extend(bullet.sources)
        elif section.title in _FROM_LEDGER and _is_listed(bullet, lines):
            repeated.setdefault(_LISTED, []).extend(bullet.sources)
        else:
            bullets.append(bullet)
    if not bullets:
        bullets = [Bullet(where, tuple(dict.fromkeys(sources))) for where, sources in repeated.items()]
    return Section(section.title, tuple(bullets))


def _is_listed(bullet: Bullet, lines: Sequence[str]) -> bool:
    """Return True if the ledger's lines of a sentence's sources have all its words."""
    numbers = {f"e{seq}" for seq in bullet.sources}
    found: set[str] = set()
    for line in lines:
        words = _WORD.findall(line)
        if not numbers or not numbers.isdisjoint(words):
            found.update(words)
    return found.issuperset(set(_WORD.findall(bullet.text)) - _LABEL_WORDS)


def _plain(text: str) -> str:
    return " ".join(text.split())
