"""What the handovers of a session are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import Translator

tr = Translator("Timeline")


def handover_titles(handovers: Mapping[int, HandoverMade]) -> dict[int, str]:
    """Return titles by events, oldest first; one that was edited or written again keeps its number."""
    titles: dict[int, str] = {}
    numbers: dict[int, int] = {}
    times: Counter[tuple[int, bool]] = Counter()  # by number: how often it was edited, or written again
    for seq, handover in handovers.items():
        if handover.origin:
            titles[seq] = tr("Handover of “{title}”", title=session_title(handover.origin_title))
            continue
        revised_seq = handover.revises or min(handover.replaces, default=0)
        number = numbers[seq] = numbers.get(revised_seq) or max(numbers.values(), default=0) + 1
        is_repeat = bool(handover.replaces)
        if revised_seq:
            times[number, is_repeat] += 1
        titles[seq] = _title(
            number, times[number, is_repeat], is_changed=bool(revised_seq), is_repeat=is_repeat
        )
    return titles


def _title(number: int, count: int, *, is_changed: bool, is_repeat: bool) -> str:
    """Return a title; `count` tells those apart that were changed in the same way."""
    if not is_changed:
        return tr("Handover {number}", number=number)
    if is_repeat:
        title = tr("Handover {number}, run again", number=number)
    else:
        title = tr("Handover {number}, edited", number=number)
    return title if count == 1 else tr("{title} ({count})", title=title, count=count)
