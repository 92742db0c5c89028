"""What the handovers of a session are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping

from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import Translator

tr = Translator("Timeline")


def handover_titles(
    handovers: Mapping[int, HandoverMade], checkpoints: Container[int] = ()
) -> dict[int, str]:
    """Return titles by events, oldest first; one that was edited or written again keeps its number.

    Those of `checkpoints` are counted by themselves.
    """
    titles: dict[int, str] = {}
    numbers: dict[bool, dict[int, int]] = {False: {}, True: {}}
    times: Counter[tuple[bool, int, bool]] = Counter()  # by number: how often it was edited, or written again
    for seq, handover in handovers.items():
        if handover.origin:
            titles[seq] = tr("Handover summary of “{title}”", title=session_title(handover.origin_title))
            continue
        is_checkpoint = seq in checkpoints
        same_kind = numbers[is_checkpoint]
        revised_seq = handover.revises or min(handover.replaces, default=0)
        number = same_kind[seq] = same_kind.get(revised_seq) or max(same_kind.values(), default=0) + 1
        is_repeat = bool(handover.replaces)
        if revised_seq:
            times[is_checkpoint, number, is_repeat] += 1
        title = _title(number, is_checkpoint, is_changed=bool(revised_seq), is_repeat=is_repeat)
        count = times[is_checkpoint, number, is_repeat] if revised_seq else 0
        titles[seq] = title if count < 2 else tr("{title} ({count})", title=title, count=count)  # noqa: PLR2004 - the second
    return titles


def _title(number: int, is_checkpoint: bool, *, is_changed: bool, is_repeat: bool) -> str:
    if is_checkpoint:
        return (
            tr("Prepared summary {number}, edited", number=number)
            if is_changed
            else tr("Prepared summary {number}", number=number)
        )
    if not is_changed:
        return tr("Handover summary {number}", number=number)
    if is_repeat:
        return tr("Handover summary {number}, written again", number=number)
    return tr("Handover summary {number}, edited", number=number)
